//! Attributes, and limits of launches.

use super::*;
use cuda_emulator::architecture::{Machine, Resources};
use std::ffi::{CStr, c_int};

use CUdevice_attribute as A;

/// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": threads, blocks and KiB of shared memory of a
/// multiprocessor, KiB of a block, whether there are clusters.
const SPECIFICATIONS: &[(Architecture, i32, i32, i32, i32, i32)] = &[
    (Architecture::Sm75, 1024, 16, 64, 64, 0),
    (Architecture::Sm80, 2048, 32, 164, 163, 0),
    (Architecture::Sm86, 1536, 16, 100, 99, 0),
    (Architecture::Sm89, 1536, 24, 100, 99, 0),
    (Architecture::Sm90, 2048, 32, 228, 227, 1),
    (Architecture::Sm100, 2048, 32, 228, 227, 1),
    (Architecture::Sm120, 1536, 24, 100, 99, 1),
];

#[test]
fn attributes_are_those_of_the_architecture() {
    let (_instance, cuda) = instance(Architecture::ALL);
    assert_eq!(SPECIFICATIONS.len(), Architecture::ALL.len());
    for (ordinal, (architecture, threads, blocks, shared, optin, clusters)) in (0..).zip(SPECIFICATIONS) {
        let of = |id| attribute(&cuda, ordinal, id);
        let (mut major, mut minor) = (0, 0);
        ok(unsafe { cuda.cuDeviceComputeCapability(&mut major, &mut minor, ordinal) });
        assert_eq!((major * 10 + minor) as u32, architecture.number());
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR), major);
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), minor);
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR), *threads, "{architecture}");
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR), *blocks, "{architecture}");
        let (all, block) = (
            of(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            of(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        );
        assert_eq!((all, block), (shared << 10, optin << 10), "{architecture}");
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK), 48 << 10);
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH), *clusters, "{architecture}");
        assert_eq!(of(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), ordinal);
        let mut name = [0; 64];
        ok(unsafe { cuda.cuDeviceGetName(name.as_mut_ptr(), 64, ordinal) });
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_str().unwrap();
        let is_default = *architecture == Architecture::default();
        assert!(name.starts_with("cuda-launch emulator (CPU"), "{name}");
        assert_eq!(name.contains(&architecture.to_string()), !is_default, "{name}");
    }
}

#[test]
fn kernels_see_the_multiprocessors_of_their_device() {
    for (architecture, expected) in [(Architecture::Sm75, 40), (Architecture::Sm90, 132)] {
        let (_instance, cuda) = device(architecture);
        let module = load(&cuda, &ptx("7.0", "sm_75"));
        assert_eq!(multiprocessors(&cuda, module), expected);
        assert_eq!(attribute(&cuda, 0, A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) as u32, expected);
    }
}

#[test]
fn dynamic_shared_memory_ends_at_the_limit_of_the_device() {
    for (architecture, .., optin, _) in SPECIFICATIONS {
        let (_instance, cuda) = device(*architecture);
        let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
        let most = optin << 10;
        let set = |bytes: c_int| unsafe {
            let id = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            cuda.cuFuncSetAttribute(room, id, bytes)
        };
        let launch = |bytes: c_int| {
            launch_as(&cuda, room, [1; 3], [1; 3], bytes as u32, null_mut(), null_mut(), null_mut())
        };
        assert_eq!(set(most + 1), CUresult::CUDA_ERROR_INVALID_VALUE, "{architecture}");
        ok(set(most));
        assert_eq!(launch(most + 1), CUresult::CUDA_ERROR_INVALID_VALUE, "{architecture}");
        ok(launch(most));
        ok(unsafe { cuda.cuCtxSynchronize() });
    }
}

#[test]
fn static_shared_memory_ends_at_the_limit_of_the_device() {
    let text = |bytes: u32| {
        format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n.shared .align 4 .b8 s[{bytes}];\n\
             .visible .entry k() {{ .reg .b32 %a; mov.u32 %a, s; st.shared.u32 [%a], %a; ret; }}\n"
        )
    };
    for (architecture, most) in [(Architecture::Sm75, 64 << 10), (Architecture::Sm86, 99 << 10)] {
        let (_instance, cuda) = device(architecture);
        assert_eq!(loads(&cuda, &text(most)).0, CUresult::SUCCESS);
        assert_eq!(loads(&cuda, &text(most + 1024)).0, CUresult::CUDA_ERROR_INVALID_PTX);
    }
}

/// A launch of 16 blocks in clusters of that many.
fn launch_clusters(cuda: &Driver, kernel: CUfunction, size: u32) -> CUresult {
    let mut value = CUlaunchAttributeValue::default();
    value.clusterDim = CUlaunchAttributeValue_clusterDim { x: size, y: 1, z: 1 };
    let mut attribute = CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        value,
        ..Default::default()
    };
    let config = CUlaunchConfig {
        gridDimX: 16,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 32,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 16,
        attrs: &mut attribute,
        numAttrs: 1,
        ..Default::default()
    };
    unsafe { cuda.cuLaunchKernelEx(&config, kernel, null_mut(), null_mut()) }
}

#[test]
fn clusters_are_as_large_as_the_device_has_them() {
    let invalid = CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE;
    let largest = |architecture| match architecture {
        Architecture::Sm90 | Architecture::Sm100 => 16,
        Architecture::Sm120 => 8,
        _ => 1,
    };
    for architecture in Architecture::ALL {
        let (_instance, cuda) = device(*architecture);
        let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
        let config = CUlaunchConfig { blockDimX: 32, blockDimY: 1, blockDimZ: 1, ..Default::default() };
        unsafe {
            let id = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
            ok(cuda.cuFuncSetAttribute(room, id, 1));
        }
        let most = largest(*architecture);
        for size in [1, 2, 8, 16] {
            let expected = if size <= most { CUresult::SUCCESS } else { invalid };
            assert_eq!(launch_clusters(&cuda, room, size), expected, "{architecture}, {size} blocks");
        }
        let mut size = 0;
        let code = unsafe { cuda.cuOccupancyMaxPotentialClusterSize(&mut size, room, &config) };
        let expected = if most == 1 { (invalid, 0) } else { (CUresult::SUCCESS, most as i32) };
        assert_eq!((code, size), expected, "{architecture}");
    }
}

#[test]
fn a_refused_cluster_names_the_device() {
    let (_instance, cuda) = device(Architecture::Sm86);
    let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
    assert_eq!(launch_clusters(&cuda, room, 2), CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
    let log = logged(&cuda);
    assert!(log.contains("sm_86, and clusters exist from sm_90 on") && log.contains("`room`"), "{log}");
}

#[test]
fn tensor_maps_exist_from_sm_90_on() {
    for architecture in Architecture::ALL {
        let (_instance, cuda) = device(*architecture);
        let memory = alloc(&cuda, 1024);
        let mut map = CUtensorMap { opaque: [0; 16] };
        let code = unsafe {
            cuda.cuTensorMapEncodeTiled(
                &mut map,
                CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
                1,
                std::ptr::without_provenance_mut(memory as usize),
                [256].as_ptr(),
                [0].as_ptr(),
                [16].as_ptr(),
                [1].as_ptr(),
                CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
                CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
                CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        let exist = *architecture >= Architecture::Sm90;
        let expected = if exist { CUresult::SUCCESS } else { CUresult::CUDA_ERROR_NOT_SUPPORTED };
        assert_eq!(code, expected, "{architecture}");
    }
}

#[test]
fn occupancy_is_that_of_the_published_limits() {
    for architecture in Architecture::ALL {
        let (_instance, cuda) = device(*architecture);
        let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
        let machine = Machine::of_number(architecture.number()).unwrap();
        let mut registers = 0;
        unsafe {
            let id = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
            ok(cuda.cuFuncGetAttribute(&mut registers, id, room));
            let id = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            ok(cuda.cuFuncSetAttribute(room, id, machine.shared_optin as c_int));
        }
        let resources = Resources { registers: registers as u32, shared: 0, max_threads: 1024 };
        for threads in [1, 32, 64, 96, 256, 640, 768, 1024] {
            for shared in [0, 100, 8 << 10, 33 << 10, machine.shared_optin, machine.shared_optin + 1] {
                let (mut blocks, size) = (0, shared as usize);
                ok(unsafe {
                    cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, room, threads, size)
                });
                let fit = machine.fit(&resources, threads as u32, shared);
                assert_eq!(blocks as u32, fit.blocks, "{architecture}, {threads} threads, {shared} bytes");
            }
        }
    }
    // By hand: 1536 threads make one block of 1024, and 2048 two; 1024 make one of 1024 and 16 of 32.
    let blocks = |architecture, threads| {
        let (_instance, cuda) = device(architecture);
        let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
        let mut blocks = 0;
        ok(unsafe { cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, room, threads, 0) });
        blocks
    };
    assert_eq!(blocks(Architecture::Sm86, 1024), 1);
    assert_eq!(blocks(Architecture::Sm80, 1024), 2);
    assert_eq!((blocks(Architecture::Sm75, 1024), blocks(Architecture::Sm75, 32)), (1, 16));
    assert_eq!(blocks(Architecture::Sm120, 32), 24);
}

#[test]
fn a_cooperative_grid_fills_the_device_and_no_more() {
    for (architecture, most) in [(Architecture::Sm86, 82), (Architecture::Sm90, 264)] {
        let (_instance, cuda) = device(architecture);
        let room = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
        let launch = |blocks| unsafe {
            cuda.cuLaunchCooperativeKernel(room, blocks, 1, 1, 1024, 1, 1, 16, null_mut(), null_mut())
        };
        ok(launch(most));
        ok(unsafe { cuda.cuCtxSynchronize() });
        assert_eq!(launch(most + 1), CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "{architecture}");
    }
}

#[test]
fn green_contexts_split_the_multiprocessors_of_their_device() {
    // `cuDevSmResourceSplitByCount`: at least two on 7.x, four on 8.x, eight on 9.0.
    for (architecture, all, least, asked, size) in [
        (Architecture::Sm75, 40, 2, 3, 4),
        (Architecture::Sm80, 108, 4, 1, 4),
        (Architecture::Sm80, 108, 4, 5, 6),
        (Architecture::Sm90, 132, 8, 1, 8),
    ] {
        let (_instance, cuda) = device(architecture);
        let (mut whole, mut part, mut count) = (CUdevResource::default(), CUdevResource::default(), 1);
        let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
        unsafe {
            ok(cuda.cuDeviceGetDevResource(0, &mut whole, kind));
            let sm = whole.__bindgen_anon_1.sm;
            assert_eq!((sm.smCount, sm.minSmPartitionSize), (all, least), "{architecture}");
            ok(cuda.cuDevSmResourceSplitByCount(&mut part, &mut count, &whole, null_mut(), 0, asked));
            assert_eq!((count, part.__bindgen_anon_1.sm.smCount), (1, size), "{architecture}");
        }
    }
}

#[test]
fn the_limits_of_contexts_follow() {
    let persisting = CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE;
    for (architecture, code) in [
        (Architecture::Sm75, CUresult::CUDA_ERROR_UNSUPPORTED_LIMIT),
        (Architecture::Sm80, CUresult::SUCCESS),
    ] {
        let (_instance, cuda) = device(architecture);
        let mut bytes = 0;
        assert_eq!(unsafe { cuda.cuCtxGetLimit(&mut bytes, persisting) }, code, "{architecture}");
        assert_eq!(unsafe { cuda.cuCtxSetLimit(persisting, 1) }, code, "{architecture}");
        let most = attribute(&cuda, 0, A::CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE) as usize;
        assert_ne!(unsafe { cuda.cuCtxSetLimit(persisting, most + 1) }, CUresult::SUCCESS);
    }
}
