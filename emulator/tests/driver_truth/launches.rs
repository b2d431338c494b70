//! Dimensions, resources, parameters, launch attributes, cooperative launches.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("launch_dims", launch_dims),
    ("launch_res", launch_res),
    ("args_extra", args_extra),
    ("extra_lists", extra_lists),
    ("args_null", args_null),
    ("args_many", args_many),
    ("short_buffer_values", short_buffer_values),
    ("launches", launches),
    ("coop", coop),
    ("attrs", attrs),
    ("clusters", clusters),
];

fn launch_dims(row: &mut Row) {
    let (cuda, _) = with_context();
    let nop = function(&cuda, load(&cuda, KERNELS), "nop");
    let one = [1; 3];
    for (label, grid, block) in [
        ("grid0", [0, 1, 1], one),
        ("gridy0", [1, 0, 1], one),
        ("block0", one, [0, 1, 1]),
        ("block1025", one, [1025, 1, 1]),
        ("block1024x2", one, [1024, 2, 1]),
        ("blockz65", one, [1, 1, 65]),
        ("gridx2^31", [1 << 31, 1, 1], one),
        ("gridy65536", [1, 65536, 1], one),
        ("good", one, one),
    ] {
        row.code(label, launch_as(&cuda, nop, grid, block, 0, null_mut(), null_mut(), null_mut()));
    }
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn launch_res(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let shared = function(&cuda, module, "shared");
    let dynamic = |bytes| launch_as(&cuda, shared, [1; 3], [1; 3], bytes, null_mut(), null_mut(), null_mut());
    for (label, bytes) in [
        ("dyn48128+1024static", 48_128),
        ("dyn48129+1024static", 48_129),
        ("dyn49152+1024static", 49_152),
        ("dyn60000+1024static", 60_000),
        ("dyn232448+1024static", 232_448),
    ] {
        row.code(label, dynamic(bytes));
    }
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    for (label, bytes) in [
        ("setattr100000", 100_000),
        ("setattr231424", 231_424),
        ("setattr231425", 231_425),
        ("setattr300000", 300_000),
    ] {
        row.code(label, unsafe { cuda.cuFuncSetAttribute(shared, attribute, bytes) });
    }
    row.code("dyn231424", dynamic(231_424));
    let threads = |name, block| {
        launch_as(&cuda, function(&cuda, module, name), [1; 3], block, 0, null_mut(), null_mut(), null_mut())
    };
    row.code("maxntid256_b512", threads("bounded", [512, 1, 1]));
    row.code("reqntid128_b64", threads("required", [64, 1, 1]));
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
    let nop = function(&cuda, module, "nop");
    row.code("coop_huge", unsafe {
        cuda.cuLaunchCooperativeKernel(nop, 1 << 30, 1, 1, 1024, 1, 1, 0, null_mut(), null_mut())
    });
}

/// A launch with a packed buffer.
fn packed(cuda: &Driver, kernel: CUfunction, buffer: *mut c_void, size: &mut usize) -> CUresult {
    let mut extra = [
        CU_LAUNCH_PARAM_BUFFER_POINTER,
        buffer,
        CU_LAUNCH_PARAM_BUFFER_SIZE,
        argument(size),
        CU_LAUNCH_PARAM_END,
    ];
    launch_as(cuda, kernel, [1; 3], [1; 3], 0, null_mut(), null_mut(), extra.as_mut_ptr())
}

fn args_extra(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let mut target = alloc(&cuda, 64);
    let mut buffer = [0_u64; 16];
    buffer[0] = target;
    for (label, kernel, sizes) in [
        ("p2/12", "store", &[0, 1, 11, 12, 13, 16, 18, 64][..]),
        ("p3/10", "short_tail", &[0, 1, 9, 10, 11, 14, 16, 64]),
        ("al/40", "mixed", &[0, 1, 39, 40, 41, 44, 46, 64]),
        ("nop/0", "nop", &[0, 1, 4, 6, 64]),
    ] {
        for size in sizes {
            // A pointer that is cut would be a wild one: only the checks count here.
            let kernel = if label == "p2/12" && *size < 8 {
                function(&cuda, module, "short_tail")
            } else {
                function(&cuda, module, kernel)
            };
            let code = packed(&cuda, kernel, buffer.as_mut_ptr().cast(), &mut size.clone());
            row.code(&format!("{label}:size{size}"), code);
        }
    }
    let (mut number, mut size) = (1_u32, 12_usize);
    let mut both = [argument(&mut target), argument(&mut number)];
    let mut extra = [
        CU_LAUNCH_PARAM_BUFFER_POINTER,
        buffer.as_mut_ptr().cast(),
        CU_LAUNCH_PARAM_BUFFER_SIZE,
        argument(&mut size),
        CU_LAUNCH_PARAM_END,
    ];
    let store = function(&cuda, module, "store");
    row.code(
        "both",
        launch_as(&cuda, store, [1; 3], [1; 3], 0, null_mut(), both.as_mut_ptr(), extra.as_mut_ptr()),
    );
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn extra_lists(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let (store, nop) = (function(&cuda, module, "store"), function(&cuda, module, "nop"));
    let mut buffer = [alloc(&cuda, 64), 5];
    let mut size = 12_usize;
    let (pointer, bytes) = (buffer.as_mut_ptr().cast::<c_void>(), argument(&mut size));
    let (p, s) = (CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE);
    let unknown = std::ptr::without_provenance_mut::<c_void>(3);
    let end = CU_LAUNCH_PARAM_END;
    let mut ask = |label: &str, kernel, list: &[*mut c_void]| {
        let mut list = list.to_vec();
        row.code(
            label,
            launch_as(&cuda, kernel, [1; 3], [1; 3], 0, null_mut(), null_mut(), list.as_mut_ptr()),
        );
    };
    ask("ptr+size", store, &[p, pointer, s, bytes, end]);
    ask("size+ptr", store, &[s, bytes, p, pointer, end]);
    ask("ptr_only", store, &[p, pointer, end]);
    ask("size_only", store, &[s, bytes, end]);
    ask("empty_extra", store, &[end]);
    ask("unknown3", store, &[unknown, pointer, end]);
    ask("ptr+size+unknown", store, &[p, pointer, s, bytes, unknown, pointer, end]);
    ask("ptrNULL+size", store, &[p, null_mut(), s, bytes, end]);
    ask("dup", store, &[p, pointer, p, pointer, s, bytes, end]);
    ask("nop_ptronly", nop, &[p, pointer, end]);
}

fn args_null(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let (store, nop) = (function(&cuda, module, "store"), function(&cuda, module, "nop"));
    let mut target = alloc(&cuda, 64);
    row.code("NULL both", launch_as(&cuda, store, [1; 3], [1; 3], 0, null_mut(), null_mut(), null_mut()));
    row.code("2nd ptr null", launch(&cuda, store, null_mut(), &mut [argument(&mut target), null_mut()]));
    row.code("nop", launch_as(&cuda, nop, [1; 3], [1; 3], 0, null_mut(), null_mut(), null_mut()));
}

fn args_many(row: &mut Row) {
    let (cuda, _) = with_context();
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let (mut target, mut number) = (alloc(&cuda, 64), 7_u32);
    let mut arguments = [argument(&mut target), argument(&mut number), null_mut(), null_mut(), null_mut()];
    row.code("5 ptrs for 2 params", launch(&cuda, store, null_mut(), &mut arguments));
}

fn short_buffer_values(row: &mut Row) {
    let (cuda, _) = with_context();
    let store = function(&cuda, load(&cuda, KERNELS), "store");
    let target = alloc(&cuda, 64);
    for full in [0x11_u64, 0x22] {
        let mut buffer = [target, full];
        ok(packed(&cuda, store, buffer.as_mut_ptr().cast(), &mut 12));
        row.code(
            &format!("after full({full:#x}): short launch"),
            packed(&cuda, store, buffer.as_mut_ptr().cast(), &mut 8),
        );
        row.text(format!("kernel saw b={:?}", &read(&cuda, target, 4)));
    }
}

fn launches(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let f = |name| function(&cuda, module, name);
    let block =
        |kernel, block| launch_as(&cuda, kernel, [1; 3], block, 0, null_mut(), null_mut(), null_mut());
    row.code("NULLf", block(null_mut(), [1; 3]));
    row.code("st1", launch(&cuda, f("nop"), CU_STREAM_LEGACY, &mut []));
    row.code("st2", launch(&cuda, f("nop"), CU_STREAM_PER_THREAD, &mut []));
    row.code("b3d", block(f("nop"), [16, 8, 8]));
    row.code("bz64", block(f("nop"), [1, 1, 64]));
    row.code("mx_16x17", block(f("bounded2"), [16, 17, 1]));
    row.code("mx2_256x1", block(f("bounded2"), [256, 1, 1]));
    row.code("mx2_257", block(f("bounded2"), [257, 1, 1]));
    row.code("rq_64x2", block(f("required"), [64, 2, 1]));
    row.code("rq_128", block(f("required"), [128, 1, 1]));
    row.code("rq2_128", block(f("required2"), [128, 1, 1]));
    row.code("rq2_16x8", block(f("required2"), [16, 8, 1]));
    row.code(
        "grid_over_before_fn",
        launch_as(&cuda, null_mut(), [0, 1, 1], [1; 3], 0, null_mut(), null_mut(), null_mut()),
    );
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn coop(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let (nop, store) = (function(&cuda, module, "nop"), function(&cuda, module, "store"));
    let cooperative = |kernel, [x, y]: [u32; 2], threads, shared| unsafe {
        cuda.cuLaunchCooperativeKernel(kernel, x, y, 1, threads, 1, 1, shared, null_mut(), null_mut())
    };
    row.code("ok", cooperative(nop, [10, 1], 32, 0));
    row.code("max264", cooperative(nop, [264, 1], 1024, 0));
    row.code("max265", cooperative(nop, [265, 1], 1024, 0));
    row.code("max4224", cooperative(nop, [4224, 1], 64, 0));
    row.code("max4225", cooperative(nop, [4225, 1], 64, 0));
    row.code("dim0", cooperative(nop, [0, 1], 32, 0));
    row.code("b1025", cooperative(nop, [1, 1], 1025, 0));
    row.code("NULLf", cooperative(null_mut(), [1, 1], 1, 0));
    row.code("noargs", cooperative(store, [1, 1], 1, 0));
    row.code("y", cooperative(nop, [132, 2], 1024, 0));
    row.code("y3", cooperative(nop, [132, 3], 1024, 0));
    row.code("sm48k_4", cooperative(nop, [132 * 4, 1], 32, 49_152));
    row.code("sm48k_5", cooperative(nop, [132 * 4 + 1, 1], 32, 49_152));
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

/// A launch with attributes, each an id and the first words of its value.
fn with_attributes(
    cuda: &Driver,
    kernel: CUfunction,
    grid: [u32; 3],
    block: [u32; 3],
    attributes: &[(u32, &[u32])],
) -> CUresult {
    let mut list: Vec<CUlaunchAttribute> = attributes
        .iter()
        .map(|(id, words)| {
            let mut attribute = CUlaunchAttribute { id: CUlaunchAttributeID(*id), ..Default::default() };
            for (index, word) in words.iter().enumerate() {
                unsafe { (&raw mut attribute.value).cast::<u32>().add(index).write(*word) };
            }
            attribute
        })
        .collect();
    let config = CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        attrs: list.as_mut_ptr(),
        numAttrs: list.len() as u32,
        ..Default::default()
    };
    unsafe { cuda.cuLaunchKernelEx(&config, kernel, null_mut(), null_mut()) }
}

fn attrs(row: &mut Row) {
    let (cuda, _) = with_context();
    let nop = function(&cuda, load(&cuda, KERNELS), "nop");
    let one = |attributes: &[(u32, &[u32])]| with_attributes(&cuda, nop, [1; 3], [1; 3], attributes);
    row.code("plain", one(&[]));
    row.code("NULLcfg", unsafe { cuda.cuLaunchKernelEx(null(), nop, null_mut(), null_mut()) });
    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        numAttrs: 2,
        ..Default::default()
    };
    row.code("NULLattrs_n2", unsafe { cuda.cuLaunchKernelEx(&config, nop, null_mut(), null_mut()) });
    for id in 0..22 {
        row.code(&format!("id{id}=0"), one(&[(id, &[])]));
        // A wild pointer is no event to any driver.
        if id != 7 && id != 12 {
            row.code(&format!("id{id}=1"), one(&[(id, &[1, 1, 1])]));
        }
    }
    row.code("id999", one(&[(999, &[])]));
    for (label, id, values) in [
        ("prio", 8, &[-99, -5, 0, 3, 99][..]),
        ("sched", 5, &[0, 1, 2, 3, 4]),
        ("dom", 10, &[0, 1, 2]),
        ("carve", 14, &[0, 50, 100, 101, -1]),
        ("nvl", 16, &[0, 1, 2]),
    ] {
        for value in values {
            row.code(&format!("{label}{value}"), one(&[(id, &[*value as u32])]));
        }
    }
    let words = |event: CUevent| [event.addr() as u32, (event.addr() >> 32) as u32];
    let ([t0, t1], [p0, p1]) = (words(event(&cuda, 0)), words(event(&cuda, 2)));
    row.code("progev_timing", one(&[(7, &[t0, t1, 0, 0])]));
    row.code("progev", one(&[(7, &[p0, p1, 0, 0])]));
    row.code("progev_f1", one(&[(7, &[p0, p1, 1, 0])]));
    row.code("progev_tb", one(&[(7, &[p0, p1, 0, 1])]));
    row.code("complev_timing", one(&[(12, &[t0, t1, 0])]));
    row.code("complev", one(&[(12, &[p0, p1, 0])]));
    row.code("both_ev", one(&[(7, &[p0, p1, 0, 0]), (12, &[p0, p1, 0])]));
    row.code("map", one(&[(9, &[0x0101])]));
    row.code("map9", one(&[(9, &[0x0909])]));
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn clusters(row: &mut Row) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let nop = function(&cuda, module, "nop");
    let ask = |kernel: &str, grid, block, attributes: &[(u32, &[u32])]| {
        with_attributes(&cuda, function(&cuda, module, kernel), grid, block, attributes)
    };
    let nops = |grid, attributes: &[(u32, &[u32])]| ask("nop", grid, [1; 3], attributes);
    row.code("cl2g4", nops([4, 1, 1], &[(4, &[2, 1, 1])]));
    row.code("cl3g4", nops([4, 1, 1], &[(4, &[3, 1, 1])]));
    row.code("cl8", nops([8, 1, 1], &[(4, &[8, 1, 1])]));
    row.code("cl9", nops([9, 1, 1], &[(4, &[9, 1, 1])]));
    row.code("cl16", nops([16, 1, 1], &[(4, &[16, 1, 1])]));
    row.code("cl2x2x2", nops([2, 2, 2], &[(4, &[2, 2, 2])]));
    row.code("cl0", nops([4, 1, 1], &[(4, &[0, 1, 1])]));
    row.code("cl2x0", nops([4, 1, 1], &[(4, &[2, 0, 1])]));
    row.code("cl1", nops([4, 1, 1], &[(4, &[1, 1, 1])]));
    let portable = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    row.code("np", unsafe { cuda.cuFuncSetAttribute(nop, portable, 1) });
    row.code("np_cl16", nops([16, 1, 1], &[(4, &[16, 1, 1])]));
    row.code("np_cl12", nops([12, 1, 1], &[(4, &[12, 1, 1])]));
    row.code("np_cl32", nops([32, 1, 1], &[(4, &[32, 1, 1])]));
    ok(unsafe { cuda.cuFuncSetAttribute(nop, portable, 0) });
    row.code("coop", nops([4, 1, 1], &[(2, &[1])]));
    row.code("coop_big", ask("nop", [1 << 20, 1, 1], [1024, 1, 1], &[(2, &[1])]));
    row.code("coop_cl", nops([4, 1, 1], &[(2, &[1]), (4, &[2, 1, 1])]));
    row.code("coop_cl_bad", nops([3, 1, 1], &[(2, &[1]), (4, &[2, 1, 1])]));
    row.code("pref4", nops([8, 1, 1], &[(4, &[2, 1, 1]), (11, &[4, 1, 1])]));
    row.code("pref_alone", nops([8, 1, 1], &[(11, &[4, 1, 1])]));
    row.code("pref3", nops([12, 1, 1], &[(4, &[2, 1, 1]), (11, &[3, 1, 1])]));
    row.code("pref_nodiv", nops([6, 1, 1], &[(4, &[2, 1, 1]), (11, &[4, 1, 1])]));
    row.code("pref_z", nops([4, 1, 2], &[(4, &[2, 1, 1]), (11, &[4, 1, 2])]));
    row.code("pref16", nops([16, 1, 1], &[(4, &[2, 1, 1]), (11, &[16, 1, 1])]));
    row.code("k2_g4", ask("pair", [4, 1, 1], [1; 3], &[]));
    row.code("k2_g3", ask("pair", [3, 1, 1], [1; 3], &[]));
    row.code("k2_attr2", ask("pair", [4, 1, 1], [1; 3], &[(4, &[2, 1, 1])]));
    row.code("k2_attr4", ask("pair", [4, 1, 1], [1; 3], &[(4, &[4, 1, 1])]));
    row.code("clx_plain", ask("any_cluster", [4, 1, 1], [1; 3], &[]));
    row.code("clx_attr", ask("any_cluster", [4, 1, 1], [1; 3], &[(4, &[2, 1, 1])]));
    row.code("clm_4", ask("small_cluster", [4, 1, 1], [1; 3], &[(4, &[4, 1, 1])]));
    row.code("clm_8", ask("small_cluster", [8, 1, 1], [1; 3], &[(4, &[8, 1, 1])]));
    row.code("bac_b128", ask("blocks", [2, 1, 1], [128, 1, 1], &[]));
    row.code("bac_b1", ask("blocks", [2, 1, 1], [1; 3], &[]));
    row.code("bac_b64", ask("blocks", [2, 1, 1], [64, 1, 1], &[]));
    row.code("bac_g3", ask("blocks", [3, 1, 1], [1; 3], &[]));
    row.code("cl_g_y", nops([4, 2, 1], &[(4, &[2, 2, 1])]));
    row.code("cl_g_ybad", nops([4, 3, 1], &[(4, &[2, 2, 1])]));
    row.code("dim0_cl", nops([0, 1, 1], &[(4, &[2, 1, 1])]));
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}
