//! A launch that is recorded instead of run: what a graph keeps of it, and its named arguments.
//!
//! Only the cold path comes here: a stream that is being captured never takes the warm one.

#![allow(unsafe_code)] // Asking the driver for the node of the launch that it has just recorded.

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphNode, CUlaunchConfig, CUstreamCaptureStatus};
use std::any::{TypeId, type_name};
use std::ffi::c_void;
use std::ptr::null_mut;

use super::args::Signature;
use super::config::LaunchConfig;
use crate::driver::{Capture, CudaStream, Keep, Kernel, NamedArgument, PackedArguments, RecordedLaunch};
use crate::error::Error;

/// What the arguments of a recorded launch tell about themselves, in order.
#[derive(Debug, Default)]
pub struct Report {
    parameters: usize,
    pub(super) named: Vec<NamedArgument>,
    pub(crate) kept: Vec<Keep>,
}

impl Report {
    /// `count` parameters that have nothing to tell.
    pub fn skip(&mut self, count: usize) {
        self.parameters += count;
    }

    /// The next parameter is a value of type `T` with this name; the next two, where it `is_slice`.
    pub fn named<T: 'static>(&mut self, name: &str, is_slice: bool) {
        self.named.push(NamedArgument {
            name: name.to_string(),
            parameter: self.parameters,
            ty: TypeId::of::<T>(),
            type_name: type_name::<T>(),
            is_slice,
        });
    }
}

/// Leaves with the capture what the launch just recorded on `stream` uses, and where its named arguments are.
///
/// Driver call: `cuStreamGetCaptureInfo`, for a launch with named arguments.
///
/// # Safety
/// 1. `params` is the packet of the launch, of the types in `signature`, which are the kernel's.
pub(super) unsafe fn record(
    capture: &Capture,
    stream: &CudaStream,
    kernel: &Kernel,
    config: &CUlaunchConfig,
    signature: Option<&'static Signature>,
    params: *mut *mut c_void,
    report: Report,
) -> Result<(), Error> {
    let mut captured = capture.captured();
    captured.kept.extend(kernel.module_share());
    captured.kept.extend(report.kept);
    if report.named.is_empty() {
        return Ok(());
    }
    let sizes = Signature::parameters(signature).map(|p| p.size);
    captured.launches.push(RecordedLaunch {
        kernel: kernel.name().to_string(),
        node: last_node(stream)?,
        params: node_params(kernel, config),
        // SAFETY: the caller's duty 1.
        arguments: unsafe { PackedArguments::copy(params, sizes) },
        named: report.named,
    });
    Ok(())
}

/// The driver's form of a kernel node, without its arguments.
pub(super) fn node_params(kernel: &Kernel, config: &CUlaunchConfig) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: kernel.raw,
        gridDimX: config.gridDimX,
        gridDimY: config.gridDimY,
        gridDimZ: config.gridDimZ,
        blockDimX: config.blockDimX,
        blockDimY: config.blockDimY,
        blockDimZ: config.blockDimZ,
        sharedMemBytes: config.sharedMemBytes,
        kernelParams: null_mut(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    }
}

/// The node that `stream` recorded last.
fn last_node(stream: &CudaStream) -> Result<CUgraphNode, Error> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    let (mut nodes, mut edges, mut count) = (std::ptr::null(), std::ptr::null(), 0);
    // SAFETY: the stream is live, all outputs outlive the call; id and graph are not asked for.
    stream.context().call("cuStreamGetCaptureInfo", || stream.label(), |driver| unsafe {
        let (id, graph) = (null_mut(), null_mut());
        driver.cuStreamGetCaptureInfo(stream.raw(), &mut status, id, graph, &mut nodes, &mut edges, &mut count)
    })?;
    // SAFETY: the driver lists `count` nodes, valid until its next call; a launch leaves itself as the only one.
    Ok(if count == 0 { null_mut() } else { unsafe { *nodes } })
}

impl LaunchConfig {
    /// As the driver has it in a launch on no stream.
    pub(super) fn unlaunched(&self) -> CUlaunchConfig {
        self.raw(null_mut())
    }
}
