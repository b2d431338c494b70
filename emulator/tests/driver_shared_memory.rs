//! Memory that host and kernels share, and addresses that programs map themselves.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Checks, InstanceOptions};
use std::ffi::c_void;
use std::ptr::{null, null_mut, without_provenance_mut};
use support::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const GRANULARITY: usize = 2 << 20;

/// Stores a number at an address, by a kernel.
fn store(cuda: &Driver, mut target: u64, mut number: u32) -> CUresult {
    let store = function(cuda, load(cuda, KERNELS), "store");
    let code = launch(cuda, store, null_mut(), &mut [argument(&mut target), argument(&mut number)]);
    if code == CUresult::SUCCESS { unsafe { cuda.cuCtxSynchronize() } } else { code }
}

fn device(id: i32) -> CUmemLocation {
    place(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id)
}

fn place(type_: CUmemLocationType, id: i32) -> CUmemLocation {
    CUmemLocation { type_, __bindgen_anon_1: CUmemLocation__bindgen_ty_1 { id } }
}

#[test]
fn kernels_reach_pinned_memory_at_its_own_address() {
    let (cuda, _) = with_own_context();
    let (mut pinned, mut address) = (null_mut(), 0);
    ok(unsafe { cuda.cuMemHostAlloc(&mut pinned, 64, 2) });
    ok(unsafe { cuda.cuMemHostGetDevicePointer(&mut address, pinned, 0) });
    assert_eq!(address, pinned.addr() as u64);
    ok(store(&cuda, address + 8, 77));
    assert_eq!(unsafe { pinned.cast::<u32>().add(2).read() }, 77);
    ok(unsafe { cuda.cuMemFreeHost(pinned) });
    let mut own = vec![0_u32; 16];
    let pointer = own.as_mut_ptr();
    ok(unsafe { cuda.cuMemHostRegister(pointer.cast(), 64, 0) });
    ok(unsafe { cuda.cuMemHostGetDevicePointer(&mut address, pointer.add(1).cast(), 0) });
    ok(store(&cuda, address, 78));
    ok(unsafe { cuda.cuMemHostUnregister(pointer.cast()) });
    assert_eq!(own[1], 78);
    let code = unsafe { cuda.cuMemHostGetDevicePointer(&mut address, own.as_mut_ptr().cast(), 0) };
    assert_eq!(code, INVALID_VALUE);
    // Nobody has so much, nor so many addresses.
    for bytes in [usize::MAX, usize::MAX - 8191, 1 << 63, 1 << 46, usize::MAX - own.as_ptr().addr() + 1] {
        let code = unsafe { cuda.cuMemHostRegister(own.as_mut_ptr().cast(), bytes, 0) };
        assert_eq!(code, INVALID_VALUE, "{bytes:#x}");
    }
}

#[test]
fn managed_memory_has_one_address() {
    let (cuda, _) = with_own_context();
    let mut address = 0;
    ok(unsafe { cuda.cuMemAllocManaged(&mut address, 4096, 1) });
    let pointer: *mut u32 = std::ptr::with_exposed_provenance_mut(address as usize);
    unsafe { pointer.write(5) };
    ok(store(&cuda, address + 4, 6));
    assert_eq!(unsafe { (pointer.read(), pointer.add(1).read()) }, (5, 6));
    let copy = alloc(&cuda, 8);
    ok(unsafe { cuda.cuMemcpyDtoD(copy, address, 8) });
    assert_eq!(read(&cuda, copy, 8), [5, 0, 0, 0, 6, 0, 0, 0]);
    // What a blocking copy writes there can be read at once.
    ok(unsafe { cuda.cuMemcpyDtoH(pointer.add(2).cast(), copy, 8) });
    assert_eq!(unsafe { pointer.add(3).read() }, 6);
    let attribute = |id, address| {
        let mut value = 9_i32;
        ok(unsafe { cuda.cuPointerGetAttribute(argument(&mut value), id, address) });
        value
    };
    assert_eq!(attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, address + 100), 1);
    assert_eq!(attribute(CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED, copy), 0);
    unsafe {
        assert_eq!(cuda.cuMemAllocManaged(&mut 0, 0, 1), INVALID_VALUE);
        assert_eq!(cuda.cuMemAllocManaged(&mut 0, 64, 4), INVALID_VALUE);
        assert_eq!(cuda.cuMemAllocManaged(&mut 0, usize::MAX, 1), CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(cuda.cuMemFreeHost(pointer.cast()), INVALID_VALUE);
        ok(cuda.cuMemFree(address));
        assert_eq!(cuda.cuMemFree(address), INVALID_VALUE);
    }
}

#[test]
fn ranges_of_the_host_that_overlap_are_copied_whole() {
    const ALL: usize = 300_000;
    let (cuda, _) = with_own_context();
    let mut address = 0;
    ok(unsafe { cuda.cuMemAllocManaged(&mut address, ALL, 1) });
    let pointer: *mut u8 = std::ptr::with_exposed_provenance_mut(address as usize);
    let number = |at: usize| (at * 31 / 7) as u8;
    for (from, to) in [(0, 5), (5, 0), (0, 70_001), (70_001, 0)] {
        (0..ALL).for_each(|at| unsafe { pointer.add(at).write(number(at)) });
        let bytes = ALL - from.max(to);
        ok(unsafe { cuda.cuMemcpy(address + to as u64, address + from as u64, bytes) });
        let copied = |at: usize| unsafe { pointer.add(to + at).read() };
        assert_eq!((0..bytes).find(|at| copied(*at) != number(from + at)), None, "{from} to {to}");
    }
    ok(unsafe { cuda.cuMemFree(address) });
}

#[test]
fn what_is_said_about_managed_memory_is_told() {
    use CUmem_advise as A;
    use CUmem_range_attribute as R;
    let (cuda, _) = with_own_context();
    let (mut address, stream) = (0, stream(&cuda, 1));
    ok(unsafe { cuda.cuMemAllocManaged(&mut address, 4 * 4096, 1) });
    let host = place(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST, 0);
    let get = |id, first: u64, bytes| {
        let mut value = 9_i32;
        let code =
            unsafe { cuda.cuMemRangeGetAttribute(argument(&mut value), 4, id, address + first, bytes) };
        (code.0, value)
    };
    unsafe {
        assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 4096), (0, -2));
        ok(cuda.cuMemAdvise(address, 8192, A::CU_MEM_ADVISE_SET_READ_MOSTLY, device(0)));
        ok(cuda.cuMemAdvise(address + 4096, 4096, A::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
        ok(cuda.cuMemAdvise(address, 4 * 4096, A::CU_MEM_ADVISE_SET_ACCESSED_BY, device(0)));
        ok(cuda.cuMemPrefetchAsync(address, 4 * 4096, device(0), 0, stream));
        ok(cuda.cuStreamSynchronize(stream));
    }
    assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 8192), (0, 1));
    assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, 0, 8193), (0, 0));
    assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 4096, 4096), (0, -1));
    assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, 0, 8192), (0, -2));
    assert_eq!(get(R::CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, 0, 4 * 4096), (0, 0));
    let mut devices = [9_i32; 3];
    let accessed = R::CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
    ok(unsafe { cuda.cuMemRangeGetAttribute(argument(&mut devices), 12, accessed, address, 64) });
    assert_eq!(devices, [0, -2, -2]);
    unsafe {
        let advice = A::CU_MEM_ADVISE_SET_READ_MOSTLY;
        assert_eq!(cuda.cuMemAdvise(address, 5 * 4096, advice, device(0)), INVALID_VALUE);
        assert_eq!(cuda.cuMemAdvise(alloc(&cuda, 64), 64, advice, device(0)), INVALID_VALUE);
        let far = cuda.cuMemPrefetchAsync(address, 64, device(99), 0, stream);
        assert_eq!(far, CUresult::CUDA_ERROR_INVALID_DEVICE);
        ok(cuda.cuStreamAttachMemAsync(stream, address, 0, 4));
        assert_eq!(cuda.cuStreamAttachMemAsync(null_mut(), address, 0, 4), INVALID_VALUE);
        ok(cuda.cuStreamAttachMemAsync(CU_STREAM_LEGACY, address, 0, 4));
        assert_eq!(cuda.cuStreamAttachMemAsync(stream, address + 64, 0, 1), INVALID_VALUE);
        ok(cuda.cuMemFree(address));
    }
}

/// Memory and addresses, and how many bytes are free meanwhile.
struct Mapped {
    address: u64,
    handles: [u64; 2],
}

fn properties() -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: device(0),
        win32HandleMetaData: null_mut(),
        allocFlags: CUmemAllocationProp_allocFlags::default(),
    }
}

fn access(flags: CUmemAccess_flags) -> CUmemAccessDesc {
    CUmemAccessDesc { location: device(0), flags }
}

impl Mapped {
    /// Two pieces of memory side by side.
    fn new(cuda: &Driver) -> Mapped {
        let (mut address, mut handles) = (0, [0; 2]);
        ok(unsafe { cuda.cuMemAddressReserve(&mut address, 4 * GRANULARITY, 0, 0, 0) });
        for (index, handle) in handles.iter_mut().enumerate() {
            ok(unsafe { cuda.cuMemCreate(handle, GRANULARITY, &properties(), 0) });
            let at = address + (index * GRANULARITY) as u64;
            ok(unsafe { cuda.cuMemMap(at, GRANULARITY, 0, *handle, 0) });
        }
        Mapped { address, handles }
    }

    fn set_access(&self, cuda: &Driver, flags: CUmemAccess_flags) -> CUresult {
        unsafe { cuda.cuMemSetAccess(self.address, 2 * GRANULARITY, &access(flags), 1) }
    }
}

/// An address that leads from one of them into the next is no mistake.
#[test]
fn mappings_side_by_side_are_one_range_for_the_checks() {
    const NEXT: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
        .visible .entry next(.param .u64 p) {\n.reg .b64 %a;\nld.param.u64 %a, [p]; st.global.u32 [%a+2097152], 7;\nret; }";
    let instance = InstanceOptions::new().checks(Checks::KERNELS).start().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let mapped = Mapped::new(&cuda);
    ok(mapped.set_access(&cuda, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    let (next, mut address) = (function(&cuda, load(&cuda, NEXT), "next"), mapped.address);
    ok(launch(&cuda, next, null_mut(), &mut [argument(&mut address)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(instance.take_findings().list, []);
    assert_eq!(read(&cuda, address + GRANULARITY as u64, 4), [7, 0, 0, 0]);
}

#[test]
fn mapped_memory_is_one_range() {
    let (cuda, _) = with_own_context();
    let mapped = Mapped::new(&cuda);
    let seam = mapped.address + GRANULARITY as u64;
    // Nobody reaches it before access is set.
    assert_eq!(unsafe { cuda.cuMemsetD8(mapped.address, 1, 16) }, INVALID_VALUE);
    ok(mapped.set_access(&cuda, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    let data: Vec<u8> = (0..64).collect();
    write(&cuda, seam - 32, &data);
    assert_eq!(read(&cuda, seam - 32, 64), data);
    ok(unsafe { cuda.cuMemcpyDtoD(seam - 16, seam - 32, 48) });
    assert_eq!(read(&cuda, seam - 16, 48), data[..48]);
    ok(unsafe { cuda.cuMemcpyDtoD(seam - 40, seam - 32, 48) });
    ok(unsafe { cuda.cuMemsetD32(seam - 8, 0x0101_0101, 4) });
    assert_eq!(read(&cuda, seam - 8, 16), [1; 16]);
    ok(store(&cuda, seam, 99));
    assert_eq!(read(&cuda, seam, 4), 99_u32.to_ne_bytes());
    let mut flags = 9;
    ok(unsafe { cuda.cuMemGetAccess(&mut flags, &device(0), seam + 5) });
    assert_eq!(flags, 3);
    unsafe {
        // Memory stays while it is mapped, and its handle can be had again.
        mapped.handles.iter().for_each(|handle| ok(cuda.cuMemRelease(*handle)));
        assert_eq!(cuda.cuMemRelease(mapped.handles[0]), INVALID_VALUE);
        let mut again = 0;
        ok(cuda.cuMemRetainAllocationHandle(&mut again, without_provenance_mut(seam as usize + 5)));
        let mut told = properties();
        ok(cuda.cuMemGetAllocationPropertiesFromHandle(&mut told, again));
        assert_eq!(told.location.__bindgen_anon_1.id, 0);
        ok(cuda.cuMemRelease(again));
        assert_eq!(read(&cuda, seam, 4), 99_u32.to_ne_bytes());
        // Whole mappings only, and nothing mapped in what is given back.
        assert_eq!(cuda.cuMemUnmap(mapped.address, GRANULARITY / 2), INVALID_VALUE);
        assert_eq!(cuda.cuMemAddressFree(mapped.address, 4 * GRANULARITY), INVALID_VALUE);
        ok(cuda.cuMemUnmap(mapped.address, 2 * GRANULARITY));
        assert_eq!(cuda.cuMemsetD8(mapped.address, 1, 16), INVALID_VALUE);
        ok(cuda.cuMemAddressFree(mapped.address, 4 * GRANULARITY));
        assert_eq!(cuda.cuMemAddressFree(mapped.address, 4 * GRANULARITY), INVALID_VALUE);
    }
}

#[test]
fn one_memory_at_two_addresses() {
    let (cuda, _) = with_own_context();
    let mapped = Mapped::new(&cuda);
    let other = mapped.address + 2 * GRANULARITY as u64;
    let both = access(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    unsafe {
        ok(cuda.cuMemMap(other, GRANULARITY, 0, mapped.handles[1], 0));
        ok(cuda.cuMemSetAccess(mapped.address, 3 * GRANULARITY, &both, 1));
        write(&cuda, other + 100, &[1, 2, 3]);
        assert_eq!(read(&cuda, mapped.address + GRANULARITY as u64 + 100, 3), [1, 2, 3]);
        assert_eq!(cuda.cuMemMap(other, GRANULARITY, 0, mapped.handles[0], 0), INVALID_VALUE);
        let behind = other + 2 * GRANULARITY as u64;
        assert_eq!(cuda.cuMemMap(behind, GRANULARITY, 0, mapped.handles[0], 0), INVALID_VALUE);
        assert_eq!(cuda.cuMemCreate(&mut 0, 4096, &properties(), 0), INVALID_VALUE);
        let mut bytes = 0;
        let minimum = CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        ok(cuda.cuMemGetAllocationGranularity(&mut bytes, &properties(), minimum));
        assert_eq!(bytes, GRANULARITY);
        ok(cuda.cuMemUnmap(mapped.address, 3 * GRANULARITY));
        ok(cuda.cuMemAddressFree(mapped.address, 4 * GRANULARITY));
        mapped.handles.iter().for_each(|handle| ok(cuda.cuMemRelease(*handle)));
    }
}

#[test]
fn a_kernel_cannot_write_what_is_mapped_for_reading() {
    const VARIABLE: &str = "DRIVER_SHARED_READ_ONLY";
    if std::env::var_os(VARIABLE).is_some() {
        let (cuda, _) = with_own_context();
        let mapped = Mapped::new(&cuda);
        ok(mapped.set_access(&cuda, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ));
        assert_eq!(read(&cuda, mapped.address, 4), [0; 4]);
        assert_eq!(store(&cuda, mapped.address, 1), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        return;
    }
    let output = child("a_kernel_cannot_write_what_is_mapped_for_reading", &[(VARIABLE, "1")]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(on_system() || text.contains("mapped for reading only"), "{text}");
}

#[test]
fn pools_count_what_they_hand_out() {
    use CUmemPool_attribute as A;
    let (cuda, _) = with_own_context();
    let stream = stream(&cuda, 1);
    let mut properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: device(0),
        win32SecurityAttributes: null_mut(),
        maxSize: 0,
        usage: 0,
        gpuDirectRDMACapable: 0,
        reserved: [0; 53],
    };
    let (mut pool, mut default, mut memory) = (null_mut(), null_mut(), 0);
    unsafe {
        ok(cuda.cuMemPoolCreate(&mut pool, &properties));
        ok(cuda.cuDeviceGetDefaultMemPool(&mut default, 0));
        assert_ne!(pool, default);
        let get = |id| {
            let mut value = 99_u64;
            ok(cuda.cuMemPoolGetAttribute(pool, id, argument(&mut value)));
            value
        };
        ok(cuda.cuMemAllocFromPoolAsync(&mut memory, GRANULARITY, pool, stream));
        assert_eq!(get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT), GRANULARITY as u64);
        assert!(get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= GRANULARITY as u64);
        let mut of = 0_u64;
        let handle = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
        ok(cuda.cuPointerGetAttribute(argument(&mut of), handle, memory));
        assert_eq!(of, pool.addr() as u64);
        ok(cuda.cuMemFreeAsync(memory, stream));
        ok(cuda.cuStreamSynchronize(stream));
        ok(cuda.cuMemPoolTrimTo(pool, 0));
        assert_eq!(get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
        assert_eq!(get(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH), GRANULARITY as u64);
        ok(cuda.cuMemPoolSetAttribute(pool, A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, argument(&mut 0_u64)));
        assert_eq!(get(A::CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
        let set = cuda.cuMemPoolSetAttribute(pool, A::CU_MEMPOOL_ATTR_USED_MEM_HIGH, argument(&mut 1_u64));
        assert_eq!(set, INVALID_VALUE);
        // Of an attribute that cannot be set the value is not looked at: it may be of any type.
        if !on_system() {
            let nowhere = std::ptr::dangling_mut();
            for id in [A::CU_MEMPOOL_ATTR_ALLOCATION_TYPE, CUmemPool_attribute(99)] {
                assert_eq!(cuda.cuMemPoolSetAttribute(pool, id, nowhere), INVALID_VALUE);
            }
            let code = cuda.cuDeviceSetGraphMemAttribute(0, CUgraphMem_attribute(99), nowhere);
            assert_eq!(code, INVALID_VALUE);
        }
        // A device's default pool stays; one that is destroyed is nobody's current pool.
        assert_eq!(cuda.cuMemPoolDestroy(default), INVALID_VALUE);
        let mut current = null_mut();
        ok(cuda.cuDeviceSetMemPool(0, pool));
        ok(cuda.cuDeviceGetMemPool(&mut current, 0));
        assert_eq!(current, pool);
        ok(cuda.cuMemAllocAsync(&mut memory, 64, stream));
        ok(cuda.cuMemPoolDestroy(pool));
        ok(cuda.cuDeviceGetMemPool(&mut current, 0));
        assert_eq!(current, default);
        assert_eq!(cuda.cuMemPoolTrimTo(pool, 0), INVALID_VALUE);
        ok(cuda.cuMemFreeAsync(memory, stream));
        ok(cuda.cuStreamSynchronize(stream));
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_INVALID;
        assert_eq!(cuda.cuMemPoolCreate(&mut pool, &properties), INVALID_VALUE);
    }
}

/// `p[0] = q[0]`
const MOVE: &str = "
.version 7.8
.target sm_75
.address_size 64
.visible .entry move(.param .u64 p, .param .u64 q)
{
    .reg .u64 %rd<3>;
    .reg .u32 %r<2>;
    ld.param.u64 %rd1, [p];
    ld.param.u64 %rd2, [q];
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd1], %r1;
    ret;
}
";

/// In pages that the host cannot write either: whoever did would end the process.
static CONSTANT: [u32; 16] = [7; 16];

#[test]
fn what_is_registered_for_reading_only_is_never_written() {
    const VARIABLE: &str = "DRIVER_SHARED_REGISTERED_READ_ONLY";
    let (cuda, context) = with_own_context();
    let host = CONSTANT.as_ptr().cast_mut().cast::<c_void>();
    let mut constant = 0;
    ok(unsafe { cuda.cuMemHostRegister(host, 64, CU_MEMHOSTREGISTER_READ_ONLY) });
    ok(unsafe { cuda.cuMemHostGetDevicePointer(&mut constant, host, 0) });
    let mut access = 0_u32;
    let flags = CUpointer_attribute::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS;
    ok(unsafe { cuda.cuPointerGetAttribute(argument(&mut access), flags, constant) });
    assert_eq!(access, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ.0);
    // It is read by kernels and copies.
    let function = function(&cuda, load(&cuda, MOVE), "move");
    let mut memory = alloc(&cuda, 64);
    let mut launch_to = |mut target: CUdeviceptr| {
        let mut arguments = [argument(&mut target), argument(&mut constant)];
        ok(launch(&cuda, function, null_mut(), &mut arguments));
        unsafe { cuda.cuCtxSynchronize() }
    };
    ok(launch_to(memory));
    assert_eq!(read(&cuda, memory, 4), 7_u32.to_ne_bytes());
    ok(unsafe { cuda.cuMemcpyHtoD(memory + 4, host, 60) });
    assert_eq!(read(&cuda, memory + 60, 4), 7_u32.to_ne_bytes());
    // Every call that would write it is refused.
    let (own, stream) = (argument(&mut memory), stream(&cuda, 1));
    let graph = graphs::graph(&cuda);
    let (copy, constant) = (graphs::to_host(host, memory, 4), host.expose_provenance() as u64);
    for (what, code) in [
        ("to the device", unsafe { cuda.cuMemcpyHtoD(constant, own, 8) }),
        ("to the host", unsafe { cuda.cuMemcpyDtoH(host, memory, 8) }),
        ("on the device", unsafe { cuda.cuMemcpyDtoD(constant + 8, memory, 8) }),
        ("anywhere", unsafe { cuda.cuMemcpy(constant, memory, 8) }),
        ("in a stream", unsafe { cuda.cuMemcpyDtoHAsync(host, memory, 8, stream) }),
        ("rows", unsafe { cuda.cuMemcpy3D(&copy) }),
        ("fill", unsafe { cuda.cuMemsetD8(constant, 1, 8) }),
        ("node", unsafe { cuda.cuGraphAddMemcpyNode(&mut null_mut(), graph, null(), 0, &copy, context) }),
    ] {
        assert_eq!(code, INVALID_VALUE, "{what}");
    }
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(CONSTANT, [7; 16]);
    if std::env::var_os(VARIABLE).is_some() {
        assert_eq!(launch_to(constant), CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
        return;
    }
    let output = child("what_is_registered_for_reading_only_is_never_written", &[(VARIABLE, "1")]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("registered for reading only"), "{told}");
}
