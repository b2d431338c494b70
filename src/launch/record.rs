//! A launch that is recorded instead of run: what a graph keeps of it, and its named arguments.
//!
//! Only the cold path comes here: a stream that is being captured never takes the warm one.

#![allow(unsafe_code)] // Asking the driver for the node of the launch that it has just recorded.

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphNode, CUlaunchConfig, CUstreamCaptureStatus};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::args::Signature;
use super::config::LaunchConfig;
use super::submit::Request;
use crate::driver::{
    ArgumentShape, Capture, CudaStream, Kernel, NamedArgument, PackedArguments, RecordedLaunch,
};
use crate::error::Error;
use crate::memory::Home;

/// What the arguments of a recorded launch tell about themselves, in order.
#[derive(Debug, Default)]
pub struct Report {
    parameters: usize,
    name: Option<String>,
    named: Vec<NamedArgument>,
    memory: Vec<(Arc<Home>, bool)>,
}

impl Report {
    /// The next argument has this name.
    pub(super) fn name(&mut self, name: &str) {
        self.name = Some(name.to_string());
    }

    /// The next argument: what it is, how many parameters it fills, and which memory it passes, to be written or only read.
    pub(super) fn argument(
        &mut self,
        type_name: &'static str,
        shape: ArgumentShape,
        parameters: usize,
        memory: Option<(&Arc<Home>, bool)>,
    ) {
        if let Some(name) = self.name.take() {
            self.named.push(NamedArgument { name, parameter: self.parameters, type_name, shape });
        }
        self.memory.extend(memory.map(|(home, written)| (home.clone(), written)));
        self.parameters += parameters;
    }

    /// The memory that the arguments pass, and whether it may be written.
    pub(crate) fn into_memory(self) -> Vec<(Arc<Home>, bool)> {
        self.memory
    }
}

/// Leaves with the capture what the launch just recorded uses besides memory, and where its named arguments are.
///
/// Driver call: `cuStreamGetCaptureInfo`, for a launch with named arguments.
///
/// # Safety
/// 1. `params` is the packet of the launch, of the types in `signature`, which are the kernel's.
pub(super) unsafe fn record(
    capture: &Capture,
    request: &Request<'_>,
    config: &CUlaunchConfig,
    signature: Option<&'static Signature>,
    params: *mut *mut c_void,
    report: Report,
) -> Result<(), Error> {
    capture.keep(request.kernel.module_share());
    if report.named.is_empty() {
        return Ok(());
    }
    let sizes = Signature::parameters(signature).map(|p| p.size);
    capture.add_launch(RecordedLaunch {
        kernel: request.kernel.name().to_string(),
        node: last_node(request.stream)?,
        params: node_params(request.kernel, config),
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
    stream.context().call(
        "cuStreamGetCaptureInfo",
        || stream.label(),
        |driver| unsafe {
            let (id, graph) = (null_mut(), null_mut());
            driver.cuStreamGetCaptureInfo(
                stream.raw(),
                &mut status,
                id,
                graph,
                &mut nodes,
                &mut edges,
                &mut count,
            )
        },
    )?;
    // SAFETY: the driver lists `count` nodes, valid until its next call; a launch leaves itself as the only one.
    Ok(if count == 0 { null_mut() } else { unsafe { *nodes } })
}

impl LaunchConfig {
    /// As the driver has it in a launch on no stream.
    pub(super) fn unlaunched(&self) -> CUlaunchConfig {
        self.raw(null_mut())
    }
}
