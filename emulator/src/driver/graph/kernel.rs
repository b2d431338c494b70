//! Kernel nodes.
//!
//! Relies on the caller as a launch does: `kernelParams` points to one pointer for each parameter, each to a value of
//! the parameter's size; and for the member of the union that an attribute's id names.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::sync::Arc;

use super::nodes::insert;
use super::operation::Operation;
use crate::driver::context::Context;
use crate::driver::entry::{FromC, INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::function::{Function, resolve};
use crate::driver::handles::to_c;
use crate::driver::launch::cluster::Request;
use crate::driver::launch::parameters::Packet;
use crate::driver::launch::{Asked, execute, prepare};
use crate::driver::state::{Call, State};
use crate::engine::{Fault, Launch};
entries! {
    cuGraphAddKernelNode_v2(node: *mut CUgraphNode, graph: CUgraph, after: *const CUgraphNode, count: usize, parameters: *const CUDA_KERNEL_NODE_PARAMS) = add;
    cuGraphKernelNodeGetParams_v2(node: CUgraphNode, parameters: *mut CUDA_KERNEL_NODE_PARAMS) = get_parameters;
    cuGraphKernelNodeSetParams_v2(node: CUgraphNode, parameters: *const CUDA_KERNEL_NODE_PARAMS) = set_parameters;
}

/// A launch that is kept.
#[derive(Clone)]
pub(in crate::driver) struct KernelCall(Arc<Kept>);

/// What is kept: a copy of all that the program gave.
struct Kept {
    function: Arc<Function>,
    /// Grid and block as the program gave them.
    grid: [u32; 3],
    block: [u32; 3],
    launch: Launch,
    /// The addresses of the parameters in `launch`, for programs that ask for them.
    pointers: Box<[usize]>,
    attributes: Attributes,
}

/// Launch attributes, as the program gave them.
struct Attributes(Box<[CUlaunchAttribute]>);

// SAFETY: the pointers in them are numbers to this driver, which follows none.
unsafe impl Send for Attributes {}
// SAFETY: a shared reference only gives copies, which may go to other threads as above.
unsafe impl Sync for Attributes {}

impl KernelCall {
    /// Checks a launch and keeps it.
    pub(in crate::driver) fn new(function: Arc<Function>, asked: Asked<'_>) -> Outcome<KernelCall> {
        let launch = prepare(&function, &asked)?;
        // The program reads them through plain numbers of C.
        let start = launch.parameters.as_ptr().expose_provenance();
        let pointers = function.kernel.parameters.iter().map(|parameter| start + parameter.offset).collect();
        let attributes = Attributes(asked.request.attributes.into());
        let (grid, block) = (asked.grid, asked.block);
        Ok(KernelCall(Arc::new(Kept { function, grid, block, launch, pointers, attributes })))
    }

    /// Whether the kernel is still there.
    pub(super) fn check(&self, state: &State) -> Outcome {
        let function = &self.0.function;
        if !function.context.is_alive() {
            return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
        state.functions.get(function.handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        Ok(())
    }

    pub(super) fn run(&self, state: &State) -> Result<(), Box<Fault>> {
        execute(state, &self.0.function, &self.0.launch)
    }

    /// The function.
    pub(super) fn function(&self) -> &Arc<Function> {
        &self.0.function
    }

    /// Whether all blocks are resident at once.
    pub(super) fn is_cooperative(&self) -> bool {
        self.0.launch.cooperative
    }

    /// The launch attributes.
    pub(super) fn attributes(&self) -> &[CUlaunchAttribute] {
        &self.0.attributes.0
    }

    /// The same launch with other attributes.
    pub(super) fn with_attributes(
        &self,
        call: &Call,
        attributes: &[CUlaunchAttribute],
    ) -> Outcome<KernelCall> {
        KernelCall::read(call, &self.parameters(), attributes)
    }

    /// The parameters as the API tells them. What they point to is the node's, until it is changed.
    pub(super) fn parameters(&self) -> CUDA_KERNEL_NODE_PARAMS {
        let Kept { function, grid, block, launch, pointers, .. } = &*self.0;
        CUDA_KERNEL_NODE_PARAMS {
            func: to_c(function.handle),
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: launch.dynamic_shared,
            kernelParams: if pointers.is_empty() {
                std::ptr::null_mut()
            } else {
                pointers.as_ptr().cast_mut().cast()
            },
            extra: std::ptr::null_mut(),
            kern: to_c(0),
            ctx: to_c(function.context.handle),
        }
    }

    /// The launch that the parameters of a node ask for.
    pub(super) fn read(
        call: &Call,
        parameters: &CUDA_KERNEL_NODE_PARAMS,
        attributes: &[CUlaunchAttribute],
    ) -> Outcome<KernelCall> {
        let function = function(call, parameters)?;
        // SAFETY: by the function's contract these are arrays as for a launch.
        let (values, extra): (In<'_, *mut c_void>, In<'_, *mut c_void>) =
            unsafe { (FromC::from_c(parameters.kernelParams), FromC::from_c(parameters.extra)) };
        let asked = Asked {
            grid: [parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ],
            block: [parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ],
            shared: parameters.sharedMemBytes,
            stream: std::ptr::null_mut(),
            request: Request::of(call, attributes.to_vec())?,
            packet: Packet { parameters: values, extra: Some(extra) },
        };
        KernelCall::new(function, asked)
    }
}

/// The kernel that the parameters of a node name, of the context that they name or of the current one.
fn function(call: &Call, parameters: &CUDA_KERNEL_NODE_PARAMS) -> Outcome<Arc<Function>> {
    let context = || -> Outcome<Arc<Context>> {
        if parameters.ctx.is_null() {
            return call.context();
        }
        let context = call.state()?.contexts.get(parameters.ctx.addr());
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
    let made = |call: &Call| Ok(Operation::Kernel(KernelCall::read(call, &parameters.read()?, &[])?));
    // SAFETY: by the function's contract there are `count` nodes.
    unsafe { insert(call, node, graph, after, count, made) }
}

fn get_parameters(call: &Call, node: CUgraphNode, parameters: Out<CUDA_KERNEL_NODE_PARAMS>) -> Outcome {
    let place = parameters.required()?;
    call.node(node)?.look(|operation| {
        let Operation::Kernel(kernel) = operation else { return Err(INVALID_VALUE) };
        place.set(kernel.parameters());
        Ok(())
    })
}

fn set_parameters(call: &Call, node: CUgraphNode, parameters: In<CUDA_KERNEL_NODE_PARAMS>) -> Outcome {
    let parameters = parameters.read()?;
    call.node(node)?.change(|operation| operation.set_kernel(call, &parameters))
}

impl Operation {
    /// Sets the parameters of a kernel node; its attributes stay.
    pub(super) fn set_kernel(&mut self, call: &Call, parameters: &CUDA_KERNEL_NODE_PARAMS) -> Outcome {
        let Operation::Kernel(kernel) = self else { return Err(INVALID_VALUE) };
        let new = KernelCall::read(call, parameters, &kernel.0.attributes.0)?;
        *kernel = new;
        Ok(())
    }
}
