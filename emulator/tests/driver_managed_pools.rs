//! Pools of managed memory, and graphs that allocate it.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ptr::{null, null_mut, with_exposed_provenance};
use support::*;

const MANAGED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED;
const PINNED: CUmemAllocationType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
const DEVICE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
const HOST: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST;
const NOWHERE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID;
/// No other test asks about it.
const NODE: CUmemLocationType = CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

fn location(kind: CUmemLocationType, id: i32) -> CUmemLocation {
    let mut location = CUmemLocation { type_: kind, ..Default::default() };
    location.__bindgen_anon_1.id = id;
    location
}

fn properties(kind: CUmemLocationType, id: i32) -> CUmemPoolProps {
    CUmemPoolProps { allocType: MANAGED, location: location(kind, id), ..Default::default() }
}

fn default_pool(cuda: &Driver, kind: CUmemLocationType) -> CUmemoryPool {
    let mut pool = null_mut();
    ok(unsafe { cuda.cuMemGetDefaultMemPool(&mut pool, &mut location(kind, 0), MANAGED) });
    pool
}

fn current_pool(cuda: &Driver, kind: CUmemLocationType) -> CUmemoryPool {
    let mut pool = null_mut();
    ok(unsafe { cuda.cuMemGetMemPool(&mut pool, &mut location(kind, 0), MANAGED) });
    pool
}

fn used(cuda: &Driver, pool: CUmemoryPool) -> u64 {
    let mut bytes = u64::MAX;
    let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
    ok(unsafe { cuda.cuMemPoolGetAttribute(pool, attribute, argument(&mut bytes)) });
    bytes
}

/// What the host sees there, at the same address.
fn on_host(address: CUdeviceptr) -> [u8; 4] {
    unsafe { with_exposed_provenance::<[u8; 4]>(address as usize).read() }
}

/// Whether it is managed memory, and where that prefers to be.
fn is_managed(cuda: &Driver, address: CUdeviceptr) -> (bool, i32) {
    let (mut managed, mut preferred) = (0_u32, 9_i32);
    let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED;
    ok(unsafe { cuda.cuPointerGetAttribute(argument(&mut managed), attribute, address) });
    let attribute = CUmem_range_attribute::CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION;
    ok(unsafe { cuda.cuMemRangeGetAttribute(argument(&mut preferred), 4, attribute, address, 4) });
    (managed == 1, preferred)
}

#[test]
fn managed_memory_comes_from_pools_of_each_location() {
    let (cuda, _) = with_own_context();
    let stream = stream(&cuda, 1);
    for (kind, preferred) in [(DEVICE, 0), (HOST, CU_DEVICE_CPU), (NOWHERE, CU_DEVICE_INVALID)] {
        let pool = default_pool(&cuda, kind);
        assert_eq!((pool, used(&cuda, pool)), (current_pool(&cuda, kind), 0));
        let (mut address, mut of) = (0, 0_u64);
        unsafe {
            ok(cuda.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
            let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
            ok(cuda.cuPointerGetAttribute(argument(&mut of), attribute, address));
            assert_eq!(of, pool.addr() as u64);
            assert_eq!(is_managed(&cuda, address), (true, preferred));
            assert!(used(&cuda, pool) >= 64);
            ok(cuda.cuMemsetD8Async(address, 7, 64, stream));
            ok(cuda.cuStreamSynchronize(stream));
            assert_eq!(on_host(address), [7; 4]);
            ok(cuda.cuMemFreeAsync(address, stream));
            assert_eq!(cuda.cuMemFreeAsync(address, stream), INVALID_VALUE, "once");
            ok(cuda.cuStreamSynchronize(stream));
        }
        assert_eq!(used(&cuda, pool), 0);
        assert_eq!(unsafe { cuda.cuMemPoolDestroy(pool) }, INVALID_VALUE, "a default pool stays");
    }
    assert_ne!(default_pool(&cuda, DEVICE), default_pool(&cuda, HOST));
    let mut device = null_mut();
    ok(unsafe { cuda.cuDeviceGetDefaultMemPool(&mut device, 0) });
    assert_ne!(default_pool(&cuda, DEVICE), device);
}

#[test]
fn a_location_uses_the_pool_that_it_is_given() {
    let (cuda, _) = with_own_context();
    let (mut pool, mut other) = (null_mut(), null_mut());
    unsafe {
        ok(cuda.cuMemPoolCreate(&mut pool, &properties(NODE, 0)));
        ok(cuda.cuMemSetMemPool(&mut location(NODE, 0), MANAGED, pool));
        assert_eq!(current_pool(&cuda, NODE), pool);
        // For another place, or another kind of memory.
        assert_eq!(cuda.cuMemSetMemPool(&mut location(DEVICE, 0), MANAGED, pool), INVALID_VALUE);
        assert_eq!(cuda.cuMemSetMemPool(&mut location(DEVICE, 0), PINNED, pool), INVALID_VALUE);
        assert_eq!(cuda.cuDeviceSetMemPool(0, pool), INVALID_VALUE);
        ok(cuda.cuDeviceGetMemPool(&mut other, 0));
        assert_eq!(cuda.cuMemSetMemPool(&mut location(DEVICE, 0), MANAGED, other), INVALID_VALUE);

        // Freed by the function that waits, and counted until then, though the pool is gone.
        let (mut address, stream) = (0, stream(&cuda, 1));
        ok(cuda.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
        let mut flags = CUmemAccess_flags(9);
        ok(cuda.cuMemPoolGetAccess(&mut flags, pool, &mut location(DEVICE, 0)));
        assert_eq!(flags, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
        ok(cuda.cuMemPoolDestroy(pool));
        assert_eq!(current_pool(&cuda, NODE), default_pool(&cuda, NODE));
        assert_eq!(is_managed(&cuda, address), (true, CU_DEVICE_CPU));
        ok(cuda.cuMemFree(address));

        for wrong in [properties(DEVICE, 9), properties(CUmemLocationType(77), 0)] {
            assert_ne!(cuda.cuMemPoolCreate(&mut pool, &wrong), CUresult::SUCCESS);
        }
    }
}

/// A node of a graph allocates it, as a capture of an allocation from a pool does.
#[test]
fn a_graph_allocates_managed_memory() {
    let (cuda, _) = with_own_context();
    let (mut graph, mut exec, stream) = (null_mut(), null_mut(), stream(&cuda, 1));
    let mut node = null_mut();
    let mut wanted =
        CUDA_MEM_ALLOC_NODE_PARAMS { poolProps: properties(DEVICE, 0), bytesize: 64, ..Default::default() };
    unsafe {
        ok(cuda.cuGraphCreate(&mut graph, 0));
        ok(cuda.cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut wanted));
        let mut told = CUDA_MEM_ALLOC_NODE_PARAMS::default();
        ok(cuda.cuGraphMemAllocNodeGetParams(node, &mut told));
        assert_eq!((told.poolProps.allocType, told.dptr), (MANAGED, wanted.dptr));
        let (mut context, mut fill) = (null_mut(), null_mut());
        ok(cuda.cuCtxGetCurrent(&mut context));
        let set = CUDA_MEMSET_NODE_PARAMS {
            dst: wanted.dptr,
            value: 9,
            elementSize: 1,
            width: 64,
            height: 1,
            ..Default::default()
        };
        ok(cuda.cuGraphAddMemsetNode(&mut fill, graph, &node, 1, &set, context));
        ok(cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(cuda.cuGraphLaunch(exec, stream));
        ok(cuda.cuStreamSynchronize(stream));
        assert_eq!(is_managed(&cuda, wanted.dptr), (true, 0));
        assert_eq!(on_host(wanted.dptr), [9; 4]);
        ok(cuda.cuMemFreeAsync(wanted.dptr, stream));
        ok(cuda.cuStreamSynchronize(stream));
        ok(cuda.cuGraphExecDestroy(exec));
        ok(cuda.cuGraphDestroy(graph));

        // The same by capture.
        let (mut address, mode) = (0, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED);
        let pool = default_pool(&cuda, HOST);
        ok(cuda.cuStreamBeginCapture(stream, mode));
        ok(cuda.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream));
        ok(cuda.cuMemsetD8Async(address, 3, 64, stream));
        ok(cuda.cuStreamEndCapture(stream, &mut graph));
        ok(cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        ok(cuda.cuGraphLaunch(exec, stream));
        ok(cuda.cuStreamSynchronize(stream));
        assert_eq!((on_host(address), is_managed(&cuda, address)), ([3; 4], (true, CU_DEVICE_CPU)));
        ok(cuda.cuMemFree(address));
    }
}
