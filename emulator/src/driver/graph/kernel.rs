//! Kernel nodes.
//!
//! Relies on the caller as a launch does, for its parameters: C8 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::{CONTEXTS, Context};
use crate::driver::entry::{FromC, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::function::Function;
use crate::driver::handles::to_c;
use crate::driver::launch::cluster::Request;
use crate::driver::launch::parameters::Packet;
use crate::driver::launch::{Asked, prepare};
use crate::driver::module::library::resolve;
use crate::driver::state::Call;
use crate::driver::work::Work;
use crate::driver::work::kernel::KernelCall;

entries! {
    cuGraphAddKernelNode_v2(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_KERNEL_NODE_PARAMS) = add;
    cuGraphKernelNodeGetParams_v2(node: CUgraphNode, parameters: *mut CUDA_KERNEL_NODE_PARAMS) = get_parameters;
    cuGraphKernelNodeSetParams_v2(node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS) = set_parameters;
    cuGraphAddKernelNode_v1(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_KERNEL_NODE_PARAMS_v1) = add_v1;
    cuGraphKernelNodeGetParams_v1(node: CUgraphNode, parameters: *mut CUDA_KERNEL_NODE_PARAMS_v1) = get_parameters_v1;
    cuGraphKernelNodeSetParams_v1(node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS_v1) = set_parameters_v1;
}

/// The launch that the parameters of a node ask for.
pub(super) fn read(
    call: &Call,
    parameters: &CUDA_KERNEL_NODE_PARAMS,
    attributes: &[CUlaunchAttribute],
) -> Outcome<KernelCall> {
    let function = function(call, parameters)?;
    // SAFETY: 1: both come from the parameters of a node. Either the caller passed them, and C1 to C6 and C8 hold until
    // the call returns, which these values do not outlive; or `KernelCall::parameters` returned them for a node that
    // its graph keeps unchanged meanwhile: then they are an array of the driver's, of pointers into the node's own
    // block.
    let (values, extra): (In<'_, *mut c_void>, In<'_, *mut c_void>) =
        unsafe { (FromC::from_c(parameters.kernelParams), FromC::from_c(parameters.extra)) };
    let mut asked = Asked {
        grid: [parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ],
        block: [parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ],
        shared: parameters.sharedMemBytes,
        stream: std::ptr::null_mut(),
        request: Request::of(call, attributes.to_vec())?,
        packet: Packet::Lists { parameters: values, extra: Some(extra) },
    };
    prepare(&function, &mut asked)
}

/// The kernel that the parameters of a node name, of the context that they name or of the current one.
fn function(call: &Call, parameters: &CUDA_KERNEL_NODE_PARAMS) -> Outcome<Arc<Function>> {
    let context = || -> Outcome<Arc<Context>> {
        if parameters.ctx.is_null() {
            return call.context();
        }
        let context = CONTEXTS.get(parameters.ctx.addr());
        context.filter(|context| context.is_alive()).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    };
    match (parameters.func.is_null(), parameters.kern.is_null()) {
        (false, true) => resolve(call, parameters.func, context),
        (true, false) => resolve(call, to_c(parameters.kern.addr()), context),
        _ => Err(INVALID_VALUE),
    }
}

fn add(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_KERNEL_NODE_PARAMS>,
) -> Outcome {
    let made = |call: &Call| Ok(Work::Kernel(read(call, &parameters.read()?, &[])?));
    // SAFETY: 1: `after` and `count` are the caller's, so by C1 it is null or has `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_KERNEL_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Work(Work::Kernel(kernel)) = operation else { return Err(INVALID_VALUE) };
        place.set(kernel.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_KERNEL_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_kernel(call, &parameters))
}

/// The parameters of a kernel node as they were before CUDA 12.0, which brought its two last members.
pub(super) fn with_v1(old: &CUDA_KERNEL_NODE_PARAMS_v1) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: old.func,
        gridDimX: old.gridDimX,
        gridDimY: old.gridDimY,
        gridDimZ: old.gridDimZ,
        blockDimX: old.blockDimX,
        blockDimY: old.blockDimY,
        blockDimZ: old.blockDimZ,
        sharedMemBytes: old.sharedMemBytes,
        kernelParams: old.kernelParams,
        extra: old.extra,
        ..Default::default()
    }
}

fn add_v1(
    call: &Call,
    node: Out<CUgraphNode>,
    graph: CUgraph,
    after: In<CUgraphNode>,
    count: usize,
    parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Outcome {
    add(call, node, graph, after, count, In::of(&with_v1(&parameters.read()?)))
}

fn get_parameters_v1(call: &Call, node: CUgraphNode, parameters: Out<CUDA_KERNEL_NODE_PARAMS_v1>) -> Outcome {
    let place = parameters.required()?;
    let mut new = CUDA_KERNEL_NODE_PARAMS::default();
    get_parameters(call, node, Out::to(&mut new))?;
    place.set(CUDA_KERNEL_NODE_PARAMS_v1 {
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
    });
    Ok(())
}

fn set_parameters_v1(call: &Call, node: CUgraphNode, parameters: In<CUDA_KERNEL_NODE_PARAMS_v1>) -> Outcome {
    set_parameters(call, node, In::of(&with_v1(&parameters.read()?)))
}

impl Operation {
    /// Sets the parameters of a kernel node; its attributes stay.
    pub(super) fn set_kernel(&mut self, call: &Call, parameters: &CUDA_KERNEL_NODE_PARAMS) -> Outcome {
        let Operation::Work(Work::Kernel(kernel)) = self else { return Err(INVALID_VALUE) };
        let new = read(call, parameters, kernel.attributes())?;
        *kernel = new;
        Ok(())
    }
}
