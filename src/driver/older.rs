//! Calls that older drivers have under an older ABI: the newest one is tried first; if the driver does not have it, the
//! older one does the same, as far as it can.
//!
//! On a driver that has the newest, this costs one comparison of its result.

#![allow(unsafe_code)] // Calls of the driver, whose contracts are the callers' duties.

use cuda_driver_sys::*;

/// What a table returns for a function that its driver does not have.
const MISSING: CUresult = CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;

/// The answer, or that of the older function where the newer is missing.
#[inline(always)]
fn or_older(answer: CUresult, older: impl FnOnce() -> CUresult) -> CUresult {
    if answer == MISSING { older() } else { answer }
}

/// `cuCtxCreate_v4`; before CUDA 12.5 `cuCtxCreate_v3`, which takes affinities only.
///
/// # Safety
/// 1. Those of `cuCtxCreate_v4`.
pub(super) unsafe fn create_context(
    driver: &Driver,
    context: &mut CUcontext,
    parameters: &mut CUctxCreateParams,
    flags: u32,
    device: CUdevice,
) -> CUresult {
    // SAFETY: the caller's duty 1, for the same arguments.
    let answer = unsafe { driver.cuCtxCreate_v4(context, parameters, flags, device) };
    let CUctxCreateParams { execAffinityParams, numExecAffinityParams, cigParams } = *parameters;
    or_older(answer, || match cigParams.is_null() {
        // SAFETY: the caller's duty 1: this takes the list that `parameters` have, by its length, and all else as the newer one does.
        true => unsafe {
            driver.cuCtxCreate_v3(context, execAffinityParams, numExecAffinityParams, flags, device)
        },
        false => answer,
    })
}

/// `cuGetProcAddress_v2` without its status; before CUDA 12.0 the first ABI, which has none.
///
/// # Safety
/// 1. Those of `cuGetProcAddress_v2`.
#[cfg(feature = "diagnostics")]
pub(super) unsafe fn get_proc_address(
    driver: &Driver,
    name: &core::ffi::CStr,
    found: &mut *mut core::ffi::c_void,
    version: i32,
) -> CUresult {
    let mut status = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    // SAFETY: the caller's duty 1, with a name that ends in NUL, as a `CStr` does; the status is a local, which outlives the call.
    let answer = unsafe { driver.cuGetProcAddress_v2(name.as_ptr(), found, version, 0, &mut status) };
    // SAFETY: as above; this takes the same arguments, without the status.
    or_older(answer, || unsafe { driver.cuGetProcAddress_v1(name.as_ptr(), found, version, 0) })
}

/// `cuMemAdvise_v2`; before CUDA 12.2 the first ABI, for which a place is a device or the host.
///
/// # Safety
/// 1. Those of `cuMemAdvise_v2`.
pub(crate) unsafe fn advise(
    driver: &Driver,
    address: CUdeviceptr,
    bytes: usize,
    advice: CUmem_advise,
    location: CUmemLocation,
) -> CUresult {
    // SAFETY: the caller's duty 1, for the same arguments.
    let answer = unsafe { driver.cuMemAdvise_v2(address, bytes, advice, location) };
    // SAFETY: 1: the caller's duty 1, as the driver reads the place, too.
    or_older(answer, || match unsafe { device_of(location) } {
        // SAFETY: the caller's duty 1: this takes the same arguments, with the device of the place, or the host's number, instead of the
        // place.
        Some(device) => unsafe { driver.cuMemAdvise_v1(address, bytes, advice, device) },
        None => answer,
    })
}

/// `cuMemPrefetchAsync_v2`; before CUDA 12.2 the first ABI, for which a place is a device or the host.
///
/// # Safety
/// 1. Those of `cuMemPrefetchAsync_v2`.
pub(crate) unsafe fn prefetch(
    driver: &Driver,
    address: CUdeviceptr,
    bytes: usize,
    location: CUmemLocation,
    stream: CUstream,
) -> CUresult {
    // SAFETY: the caller's duty 1, for the same arguments; 0 is the only value of the flags.
    let answer = unsafe { driver.cuMemPrefetchAsync_v2(address, bytes, location, 0, stream) };
    // SAFETY: 1: the caller's duty 1, as the driver reads the place, too.
    or_older(answer, || match unsafe { device_of(location) } {
        // SAFETY: the caller's duty 1: this takes the same arguments, with the device of the place, or the host's number, instead of the
        // place.
        Some(device) => unsafe { driver.cuMemPrefetchAsync_v1(address, bytes, device, stream) },
        None => answer,
    })
}

/// A place as it was before CUDA 12.2; none for a NUMA node.
///
/// # Safety
/// 1. If its type is a device, the member `id` was written.
unsafe fn device_of(location: CUmemLocation) -> Option<CUdevice> {
    match location.type_ {
        // SAFETY: the member was written, by the caller's duty 1.
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => Some(unsafe { location.__bindgen_anon_1.id }),
        CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST => Some(CU_DEVICE_CPU),
        _ => None,
    }
}

/// `cuMemcpyBatchAsync_v2`; before CUDA 13.0 the first ABI, which also tells which copy was wrong.
///
/// # Safety
/// 1. Those of `cuMemcpyBatchAsync_v2`: three lists of as many copies, two of as many attributes.
#[allow(clippy::too_many_arguments)] // The driver's.
pub(crate) unsafe fn copy_batch(
    driver: &Driver,
    targets: &mut [CUdeviceptr],
    sources: &mut [CUdeviceptr],
    sizes: &mut [usize],
    attributes: &mut [CUmemcpyAttributes],
    starts: &mut [usize],
    stream: CUstream,
) -> CUresult {
    let (count, runs) = (targets.len(), starts.len());
    let (targets, sources, sizes) = (targets.as_mut_ptr(), sources.as_mut_ptr(), sizes.as_mut_ptr());
    let (attributes, starts) = (attributes.as_mut_ptr(), starts.as_mut_ptr());
    // SAFETY: the caller's duty 1, for the stream and for the lists, whose lengths are passed with them.
    let answer = unsafe {
        driver.cuMemcpyBatchAsync_v2(targets, sources, sizes, count, attributes, starts, runs, stream)
    };
    let mut failed = 0;
    // SAFETY: as above, for the same lists and stream; the index of what failed is a local, which outlives the call.
    or_older(answer, || unsafe {
        driver.cuMemcpyBatchAsync_v1(
            targets,
            sources,
            sizes,
            count,
            attributes,
            starts,
            runs,
            &mut failed,
            stream,
        )
    })
}

/// `cuMemcpy3DBatchAsync_v2`; before CUDA 13.0 the first ABI, which also tells which copy was wrong.
///
/// # Safety
/// 1. Those of `cuMemcpy3DBatchAsync_v2`.
pub(crate) unsafe fn copy_regions(
    driver: &Driver,
    operations: &mut [CUDA_MEMCPY3D_BATCH_OP],
    stream: CUstream,
) -> CUresult {
    let (count, operations) = (operations.len(), operations.as_mut_ptr());
    // SAFETY: the caller's duty 1, for the stream and for the list, whose length is passed with it; 0 is the only value
    // of the flags.
    let answer = unsafe { driver.cuMemcpy3DBatchAsync_v2(count, operations, 0, stream) };
    let mut failed = 0;
    // SAFETY: as above, for the same list and stream; the index of what failed is a local, which outlives the call.
    or_older(answer, || unsafe { driver.cuMemcpy3DBatchAsync_v1(count, operations, &mut failed, 0, stream) })
}

/// What `cuStreamGetCaptureInfo` tells.
pub(crate) struct RawCaptureInfo {
    pub(crate) status: CUstreamCaptureStatus,
    pub(crate) id: cuuint64_t,
    pub(crate) graph: CUgraph,
    /// `count` of them, the driver's own.
    pub(crate) nodes: *const CUgraphNode,
    pub(crate) count: usize,
}

impl Default for RawCaptureInfo {
    fn default() -> Self {
        let status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        Self { status, id: 0, graph: std::ptr::null_mut(), nodes: std::ptr::null(), count: 0 }
    }
}

/// `cuStreamGetCaptureInfo_v3`; before CUDA 12.3 `cuStreamGetCaptureInfo_v2`.
///
/// # Safety
/// 1. Those of `cuStreamGetCaptureInfo_v3`.
pub(crate) unsafe fn capture_info(driver: &Driver, stream: CUstream, info: &mut RawCaptureInfo) -> CUresult {
    let RawCaptureInfo { status, id, graph, nodes, count } = info;
    let mut data = std::ptr::null();
    // SAFETY: the caller's duty 1, for the stream; the outputs are `data`, a local, and the members of `info`, which outlive the call.
    let answer =
        unsafe { driver.cuStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, &mut data, count) };
    // SAFETY: as above, for the same stream and outputs but `data`, which this does not have.
    or_older(answer, || unsafe { driver.cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count) })
}

#[cfg(feature = "graph")]
pub(crate) use graph::*;

/// The older functions for graphs and captures. Before CUDA 12.3 edges had no data: an edge that needs data is refused, as on a
/// driver without the function, and no data are returned.
#[cfg(feature = "graph")]
mod graph {
    use super::*;

    /// `cuGraphAddKernelNode_v2`; before CUDA 12.0 the first ABI.
    ///
    /// # Safety
    /// 1. Those of `cuGraphAddKernelNode_v2`.
    pub(crate) unsafe fn add_kernel_node(
        driver: &Driver,
        node: *mut CUgraphNode,
        graph: CUgraph,
        after: *const CUgraphNode,
        count: usize,
        parameters: &CUDA_KERNEL_NODE_PARAMS,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for the same arguments.
        let answer = unsafe { driver.cuGraphAddKernelNode_v2(node, graph, after, count, parameters) };
        or_older(answer, || match first_members(parameters) {
            // SAFETY: the caller's duty 1: the older function has the same requirements for the same arguments, and for those members
            // of the parameters that existed then; `older` outlives the call.
            Some(older) => unsafe { driver.cuGraphAddKernelNode_v1(node, graph, after, count, &older) },
            None => answer,
        })
    }

    /// `cuGraphExecKernelNodeSetParams_v2`; before CUDA 12.0 the first ABI.
    ///
    /// # Safety
    /// 1. Those of `cuGraphExecKernelNodeSetParams_v2`.
    pub(crate) unsafe fn set_kernel_node(
        driver: &Driver,
        exec: CUgraphExec,
        node: CUgraphNode,
        parameters: &CUDA_KERNEL_NODE_PARAMS,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for the same arguments.
        let answer = unsafe { driver.cuGraphExecKernelNodeSetParams_v2(exec, node, parameters) };
        or_older(answer, || match first_members(parameters) {
            // SAFETY: the caller's duty 1: the older function has the same requirements for the same arguments, and for those members
            // of the parameters that existed then; `older` outlives the call.
            Some(older) => unsafe { driver.cuGraphExecKernelNodeSetParams_v1(exec, node, &older) },
            None => answer,
        })
    }

    /// The parameters without the members that CUDA 12.0 brought; none where these say something.
    fn first_members(new: &CUDA_KERNEL_NODE_PARAMS) -> Option<CUDA_KERNEL_NODE_PARAMS_v1> {
        (new.kern.is_null() && new.ctx.is_null()).then_some(CUDA_KERNEL_NODE_PARAMS_v1 {
            func: new.func,
            gridDimX: new.gridDimX,
            gridDimY: new.gridDimY,
            gridDimZ: new.gridDimZ,
            blockDimX: new.blockDimX,
            blockDimY: new.blockDimY,
            blockDimZ: new.blockDimZ,
            sharedMemBytes: new.sharedMemBytes,
            kernelParams: new.kernelParams,
            extra: new.extra,
        })
    }

    /// `cuGraphExecUpdate_v2`; before CUDA 12.0 the first ABI, which does not tell of an edge's first node.
    ///
    /// # Safety
    /// 1. Those of `cuGraphExecUpdate_v2`.
    pub(crate) unsafe fn update(
        driver: &Driver,
        exec: CUgraphExec,
        graph: CUgraph,
        info: &mut CUgraphExecUpdateResultInfo,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for the same arguments.
        let answer = unsafe { driver.cuGraphExecUpdate_v2(exec, graph, info) };
        // SAFETY: as above, for the same graphs; both outputs are members of `info`, which outlive the call.
        or_older(answer, || unsafe {
            driver.cuGraphExecUpdate_v1(exec, graph, &mut info.errorNode, &mut info.result)
        })
    }

    /// `cuGraphAddDependencies_v2` for one edge.
    ///
    /// # Safety
    /// 1. Those of `cuGraphAddDependencies_v2`.
    pub(crate) unsafe fn add_dependency(
        driver: &Driver,
        graph: CUgraph,
        from: &CUgraphNode,
        to: &CUgraphNode,
        edge: &CUgraphEdgeData,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for one edge: each of the three references is to one element, as the count says.
        let answer = unsafe { driver.cuGraphAddDependencies_v2(graph, from, to, edge, 1) };
        or_older(answer, || match is_ordinary(edge) {
            // SAFETY: the caller's duty 1, for the same nodes; what is ordinary needs no data.
            true => unsafe { driver.cuGraphAddDependencies_v1(graph, from, to, 1) },
            false => answer,
        })
    }

    /// `cuGraphRemoveDependencies_v2` for one edge.
    ///
    /// # Safety
    /// 1. Those of `cuGraphRemoveDependencies_v2`.
    pub(crate) unsafe fn remove_dependency(
        driver: &Driver,
        graph: CUgraph,
        from: &CUgraphNode,
        to: &CUgraphNode,
        edge: &CUgraphEdgeData,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for one edge: each of the three references is to one element, as the count says.
        let answer = unsafe { driver.cuGraphRemoveDependencies_v2(graph, from, to, edge, 1) };
        or_older(answer, || match is_ordinary(edge) {
            // SAFETY: the caller's duty 1, for the same nodes; what is ordinary needs no data.
            true => unsafe { driver.cuGraphRemoveDependencies_v1(graph, from, to, 1) },
            false => answer,
        })
    }

    fn is_ordinary(edge: &CUgraphEdgeData) -> bool {
        (edge.from_port, edge.to_port, edge.type_) == (0, 0, 0)
    }

    /// `cuGraphGetEdges_v2`.
    ///
    /// # Safety
    /// 1. Those of `cuGraphGetEdges_v2`; the data, if they are asked for, are ordinary before the call.
    pub(crate) unsafe fn get_edges(
        driver: &Driver,
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        data: *mut CUgraphEdgeData,
        count: &mut usize,
    ) -> CUresult {
        // SAFETY: the caller's duty 1, for the same arguments.
        let answer = unsafe { driver.cuGraphGetEdges_v2(graph, from, to, data, count) };
        // SAFETY: as above, for the same lists but `data`, which this does not have and leaves ordinary.
        or_older(answer, || unsafe { driver.cuGraphGetEdges_v1(graph, from, to, count) })
    }
}
