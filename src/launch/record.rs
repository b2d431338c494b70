//! A launch that is recorded instead of run: what a graph keeps of it, and its named arguments.
//!
//! Only the cold path leads here: a stream that is being captured never takes the warm path.

#![allow(unsafe_code)] // Asking the driver for the node of the launch that it has just recorded.

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUgraphNode, CUlaunchConfig};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::args::{Role, Signature};
use super::attributes::Attribute;
use super::config::LaunchConfig;
use super::submit::Request;
use crate::driver::older::{self, RawCaptureInfo};
use crate::driver::{Capture, CudaStream, Keep, Kernel, NamedArgument, PackedArguments, RecordedLaunch};
use crate::error::Error;
use crate::memory::{Allocation, Shared};

/// What the arguments of a recorded launch report, in order.
#[derive(Debug)]
pub struct Report {
    /// Parameters of the launch.
    count: usize,
    named: Vec<NamedArgument>,
    memory: Vec<(Arc<Allocation>, bool)>,
    /// Handles of objects, which the recorded launch uses whenever it runs.
    objects: Vec<Keep>,
    /// Set if the last name belongs to memory that has not been reported yet: how that memory is passed.
    expecting: Option<Role>,
}

impl Report {
    /// An empty report of a launch with `count` parameters.
    pub(super) fn new(count: usize) -> Self {
        Self { count, named: Vec::new(), memory: Vec::new(), objects: Vec::new(), expecting: None }
    }

    /// Reports the name of the argument whose first parameter is the first of `rest`.
    pub(super) fn name(&mut self, name: &str, rest: Option<&'static Signature>) {
        let Some(first) = Signature::parameters(rest).next() else { return };
        self.expecting = first.role.word(false).map(|_| first.role);
        self.named.push(NamedArgument {
            name: name.to_string(),
            parameter: self.count - Signature::parameters(rest).count(),
            type_name: (first.type_name)(),
            size: first.size,
            memory: None,
        });
    }

    /// Reports a named argument, memory or not.
    pub(super) fn named(&mut self, argument: NamedArgument) {
        self.named.push(argument);
    }

    /// Reports the memory of the next argument that passes memory, and whether it may be written.
    pub(super) fn memory(&mut self, allocation: &Arc<Allocation>, written: bool) {
        if let (Some(role), Some(named)) = (self.expecting.take(), self.named.last_mut()) {
            named.memory = role.word(written);
        }
        self.memory.push((allocation.clone(), written));
    }

    /// Reports an object as the next argument. The memory behind it was ordered, and so is already kept.
    pub(super) fn object(&mut self, object: &dyn Shared) {
        self.objects.extend(object.share());
    }

    /// The memory that the arguments pass, and whether it may be written; and the named arguments.
    pub(super) fn into_parts(self) -> (Vec<(Arc<Allocation>, bool)>, Vec<NamedArgument>) {
        (self.memory, self.named)
    }
}

/// Passes to the capture what a launch uses besides memory: its module, and the events that its attributes record. To be called
/// before the driver records the launch, so that nothing is missing if something fails afterwards.
pub(super) fn keep(capture: &Capture, request: &Request<'_>) {
    capture.add_kernel(request.kernel.number, request.kernel.module_share());
    // This thread has the turn, so the capture cannot end meanwhile.
    let _ = capture.add_objects(request.fields.iter().chain(request.attributes).filter_map(Attribute::share));
}

/// Tells the capture where the named arguments of the launch just recorded are.
///
/// Driver call: `cuStreamGetCaptureInfo`, for a launch with named arguments.
///
/// # Safety
/// 1. `params` is the packet of the launch, of arguments of these sizes, which are the kernel's.
pub(super) unsafe fn record(
    capture: &Capture,
    request: &Request<'_>,
    config: &CUlaunchConfig,
    params: *mut *mut c_void,
    sizes: impl Iterator<Item = usize>,
    report: Report,
) -> Result<(), Error> {
    let _ = capture.add_objects(report.objects);
    if report.named.is_empty() {
        return Ok(());
    }
    capture.add_launch(RecordedLaunch {
        kernel: request.kernel.name().to_string(),
        node: last_node(request.stream)?,
        params: node_params(request.kernel, config),
        // SAFETY: 1: the caller's duty 1.
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
    let mut info = RawCaptureInfo::default();
    stream.context().call(
        "cuStreamGetCaptureInfo",
        || stream.label(),
        // SAFETY: 1: the stream lives as long as its handle (`StreamInner`); the outputs, in `info`, outlive the call.
        |driver| unsafe { older::capture_info(driver, stream.raw(), &mut info) },
    )?;
    if info.count == 0 || info.nodes.is_null() {
        return Ok(null_mut());
    }
    // SAFETY: the list is not null, so that the driver wrote it, and has a first node, as the count is not 0. The driver keeps it until the
    // stream is given work or the capture ends: handles of the capture take the turn for that, which this launch's submission has, and
    // others are not used meanwhile, by duty 3 of `begin_capture` or `CudaStream::from_raw`. A launch leaves itself as the only node.
    Ok(unsafe { *info.nodes })
}

impl LaunchConfig {
    /// The configuration of a launch that has no stream.
    pub(super) fn unlaunched(&self) -> CUlaunchConfig {
        self.raw(null_mut())
    }
}
