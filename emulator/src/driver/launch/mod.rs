//! `cuLaunch*`: checks a launch and submits it to its stream.

mod children;
pub(super) mod cluster;
pub(super) mod grid;
pub(super) mod parameters;
pub(super) mod steps;

use cuda_driver_sys::*;
use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use super::entry::{INVALID_HANDLE, INVALID_VALUE, In, NOT_SUPPORTED, Outcome, entries};
use super::function::Function;
use super::logs;
use super::module::library::resolve;
use super::state::Call;
use super::stream::{Pace, Stream};
use super::work::Work;
use super::work::kernel::KernelCall;
use crate::engine::Launch;
use cluster::Request;
use grid::{GRID, grid_of, most_resident, within};
use parameters::Packet;

entries! {
    cuLaunchKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, parameters: *mut *mut c_void, extra: *mut *mut c_void) = launch_kernel;
    cuLaunchKernelEx(config: *const CUlaunchConfig, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void) = launch_kernel_ex;
    cuLaunchCooperativeKernel(function: CUfunction, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared: c_uint, stream: CUstream, parameters: *mut *mut c_void) = launch_cooperative;
}

/// A launch as it was asked for.
pub(super) struct Asked<'call> {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: u32,
    pub(super) stream: CUstream,
    pub(super) request: Request,
    pub(super) packet: Packet<'call>,
}

#[allow(clippy::too_many_arguments, reason = "a C function")]
fn launch_kernel(
    call: &Call,
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Outcome {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let packet = Packet::Lists { parameters, extra: Some(extra) };
    launch(call, function, Asked { grid, block, shared, stream, request: Request::default(), packet })
}

#[allow(clippy::too_many_arguments, reason = "a C function")]
fn launch_cooperative(
    call: &Call,
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    shared: c_uint,
    stream: CUstream,
    parameters: In<*mut c_void>,
) -> Outcome {
    let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
    let request = Request::cooperative();
    launch(
        call,
        function,
        Asked { grid, block, shared, stream, request, packet: Packet::Lists { parameters, extra: None } },
    )
}

fn launch_kernel_ex(
    call: &Call,
    config: In<CUlaunchConfig>,
    function: CUfunction,
    parameters: In<*mut c_void>,
    extra: In<*mut c_void>,
) -> Outcome {
    // A missing context or a fault comes first, as in all launches.
    call.healthy()?;
    let config = config.read()?;
    let asked = Asked {
        grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
        block: [config.blockDimX, config.blockDimY, config.blockDimZ],
        shared: config.sharedMemBytes,
        stream: config.hStream,
        request: Request::default(),
        packet: Packet::Lists { parameters, extra: Some(extra) },
    };
    let (stream, function) = objects(call, config.hStream, function)?;
    let request = Request::read(call, &config)?;
    let node = request.node.clone();
    submit(call, &stream, &function, Asked { request, ..asked })?;
    if let Some(node) = node {
        cluster::tell(&config, &node);
    }
    Ok(())
}

fn launch(call: &Call, function: CUfunction, asked: Asked<'_>) -> Outcome {
    let (stream, function) = objects(call, asked.stream, function)?;
    submit(call, &stream, &function, asked)
}

/// The stream and the function, of one context or of contexts that share their kernels.
fn objects(call: &Call, stream: CUstream, function: CUfunction) -> Outcome<(Arc<Stream>, Arc<Function>)> {
    let stream = call.stream(stream)?;
    let function = resolve(call, function, || Ok(Arc::clone(&stream.context)))?;
    if !function.context.shares_objects(&stream.context) {
        return Err(INVALID_HANDLE);
    }
    Ok((stream, function))
}

/// Gives the kernel to the stream.
fn submit(call: &Call, stream: &Arc<Stream>, function: &Arc<Function>, mut asked: Asked<'_>) -> Outcome {
    let recorded = stream.is_recording()?;
    if asked.request.is_of_a_node() && !recorded {
        logs::because(
            "DEVICE_UPDATABLE_KERNEL_NODE is an attribute of nodes, and this launch is not captured"
                .to_owned(),
        );
        logs::advise("capture the launch, or set it on a kernel node");
        return Err(NOT_SUPPORTED);
    }
    let events = std::mem::take(&mut asked.request.events);
    let kernel = Work::Kernel(prepare(function, &mut asked)?);
    if function.kernel.launches_graphs() && !recorded {
        logs::because(format!(
            "kernel `{}` calls cudaGraphLaunch, and only a graph's kernel can launch graphs",
            function.kernel.name
        ));
        logs::advise("make it a node of a graph (`CudaGraph::add_kernel`)");
        return Err(NOT_SUPPORTED);
    }
    stream.wait_for_room();
    let _turn = (!events.is_empty()).then(|| stream.context.order.recording());
    let point = stream.give_now(call, kernel, Pace::Queued)?;
    events.iter().for_each(|event| event.set(point.clone()));
    Ok(())
}

/// Checks what driver 580 checks, in its order, and copies the parameters. Takes the attributes out of the request.
pub(super) fn prepare(function: &Arc<Function>, asked: &mut Asked<'_>) -> Outcome<KernelCall> {
    let (grid, block) = dimensions(function, asked.grid, asked.block)?;
    if asked.shared > function.settings().dynamic_shared {
        return Err(INVALID_VALUE);
    }
    let cluster = asked.request.cluster(function, grid)?;
    let parameters = asked.packet.read(&function.kernel, function.context.architecture())?;
    let threads = has_registers(function, block)?;
    if asked.request.cooperative {
        if function.kernel.launches_kernels() {
            return Err(CUresult::CUDA_ERROR_NOT_PERMITTED);
        }
        let blocks =
            grid.iter().fold(1_u64, |product, dimension| product.saturating_mul(u64::from(*dimension)));
        if blocks > most_resident(function, threads, asked.shared) {
            return Err(CUresult::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    function.is_complete()?;
    begin(function);
    let launch = Launch {
        grid,
        block,
        cluster: cluster.unwrap_or([1; 3]),
        dynamic_shared: asked.shared,
        cooperative: asked.request.cooperative,
        parameters,
        ..Launch::default()
    };
    Ok(KernelCall::new(
        Arc::clone(function),
        asked.grid,
        asked.block,
        launch,
        asked.request.attributes(),
        children::of,
    ))
}

/// The threads of a block, for which there have to be registers.
fn has_registers(function: &Function, block: [u32; 3]) -> Outcome<u32> {
    let threads: u32 = block.iter().fold(1, |all: u32, extent| all.saturating_mul(*extent));
    let most = function.warps_by_registers() * 32;
    if threads > most {
        let (name, registers) = (&function.kernel.name, function.registers());
        logs::because(format!(
            "kernel `{name}` has {registers} registers per thread, by the emulator's estimate, with which a block has at most {most} threads, \
             not {threads}"
        ));
        logs::advise(
            "use a smaller block, or compile for larger ones: `__launch_bounds__`, or -maxrregcount",
        );
        return Err(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    }
    Ok(threads)
}

/// It is launched now.
fn begin(function: &Function) {
    if function.kernel.uses_heap() {
        function.context.heap.fix_limit();
    }
    function.mark_loaded();
}

/// Most threads in each dimension of a block.
const BLOCK: [u32; 3] = [1024, 1024, 64];

/// Grid and block as the kernel sees them.
fn dimensions(function: &Function, grid: [u32; 3], block: [u32; 3]) -> Outcome<([u32; 3], [u32; 3])> {
    if !within(grid, GRID) || !within(block, BLOCK) {
        return Err(INVALID_VALUE);
    }
    let (grid, mut block) = (grid_of(function, grid)?, block);
    let shape = &function.shape;
    if let (true, Some(_), Some(required), [1, 1, 1]) =
        (shape.blocks_are_clusters, shape.cluster, shape.reqntid, block)
    {
        // A block of one thread stands for the compiled size (`CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM`).
        block = required;
    }
    let threads: u32 = block.iter().fold(1, |all: u32, extent| all.saturating_mul(*extent));
    if threads > function.most_threads() || shape.reqntid.is_some_and(|required| required != block) {
        return Err(INVALID_VALUE);
    }
    Ok((grid, block))
}
