//! Launches of kernels.

use cuda_driver_sys::{CUDA_KERNEL_NODE_PARAMS, CUlaunchAttribute, CUresult};
use std::ffi::c_void;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::driver::entry::Outcome;
use crate::driver::function::{FUNCTIONS, Function};
use crate::driver::handles::to_c;
use crate::driver::work::Turn;
use crate::driver::work::updatable::{DeviceNode, Updater};
use crate::driver::{current_work, report, slot};
use crate::engine::{self, Fault, Launch, Launcher, RunControl};
use crate::optimised::{self, OPTIMISED};
use crate::profile::Profiler;
use crate::progress;

/// A checked launch, with everything that the program has passed.
#[derive(Clone)]
pub(in crate::driver) struct KernelCall(Arc<Kept>);

struct Kept {
    function: Arc<Function>,
    /// Grid and block as the program has passed them.
    grid: [u32; 3],
    block: [u32; 3],
    launch: Launch,
    /// Pointers to the parameters in `launch`, for programs that query them. In memory they are plain pointers.
    pointers: OnceLock<Box<[AtomicPtr<c_void>]>>,
    attributes: Attributes,
    children: MakeLauncher,
}

/// Creates the resolver of kernels that a function launches, which are profiled or not; `None` once its module is
/// unloaded.
pub(in crate::driver) type MakeLauncher = fn(&Function, bool) -> Option<Box<dyn Launcher>>;

/// Launch attributes as the program has passed them.
pub(in crate::driver) struct Attributes {
    pub(in crate::driver) all: Vec<CUlaunchAttribute>,
    /// Whether the kernel may begin before the one before it is done.
    pub(in crate::driver) programmatic: bool,
    /// What kernels change, if they may.
    pub(in crate::driver) node: Option<Arc<DeviceNode>>,
}

#[allow(unsafe_code, reason = "pointers that nobody follows")]
// SAFETY: only pointers (of memory windows, of events) prevent this from being `Send` automatically. This driver only compares them, looks
// them up in tables and passes them on, and never dereferences them. The rest are numbers.
unsafe impl Send for Attributes {}
#[allow(unsafe_code, reason = "pointers that nobody follows")]
// SAFETY: nothing in them changes through a shared reference, which only gives copies: these may be sent to other threads, as for
// `Send`.
unsafe impl Sync for Attributes {}

impl KernelCall {
    /// `grid` and `block` are as the program gave them, `launch` as the kernel sees it.
    pub(in crate::driver) fn new(
        function: Arc<Function>,
        grid: [u32; 3],
        block: [u32; 3],
        launch: Launch,
        attributes: Attributes,
        children: MakeLauncher,
    ) -> KernelCall {
        KernelCall(Arc::new(Kept {
            function,
            grid,
            block,
            launch,
            pointers: OnceLock::new(),
            attributes,
            children,
        }))
    }

    /// Whether the kernel still exists.
    pub(super) fn check(&self) -> Outcome {
        let function = &self.0.function;
        if !function.context.is_alive() {
            return Err(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        }
        FUNCTIONS.get(function.handle).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)?;
        Ok(())
    }

    /// Runs it to its end, with the memory of its context and of peers that it may access.
    pub(super) fn run(&self, turn: &Turn) -> Result<(), Box<Fault>> {
        let Some(counted) = &turn.counted else { return self.run_in(turn, None) };
        let own = Arc::<Profiler>::default();
        let outcome = self.run_in(turn, Some(&own));
        for profile in own.take() {
            turn.state.profiler.iter().for_each(|all| all.add(profile.clone()));
            counted.add(profile);
        }
        outcome
    }

    /// The same, counted by that profiler if there is one.
    fn run_in(&self, turn: &Turn, profiler: Option<&Arc<Profiler>>) -> Result<(), Box<Fault>> {
        let Kept { function, launch, children, attributes, .. } = &*self.0;
        let changed = attributes.node.as_ref().and_then(|node| node.changed(launch));
        let launch = changed.as_ref().unwrap_or(launch);
        let (state, context) = (&turn.state, &function.context);
        let memory = context.memory.with_peers(context.peer_devices()).with_heap(Arc::clone(&context.heap));
        let (kernel, memory) = match profiler {
            Some(profiler) => (function.countable.counted(), memory.with_profiler(Arc::clone(profiler))),
            None => (&function.kernel, memory),
        };
        let blocks = launch.grid.iter().map(|extent| u64::from(*extent)).product();
        let entry = progress::begin(state.config.progress, &function.kernel.name, blocks);
        let launches = kernel.launches_kernels();
        let children = launches.then(|| children(function, profiler.is_some())).flatten();
        // Kernels that it launches may change nodes, too.
        let updater = Updater { device: context.device, slot: slot::current() };
        let ongoing = current_work::begin_kernel(turn.stream, &function.kernel.name, attributes.programmatic);
        let graphs = turn.graph.as_ref().map(|graph| Arc::clone(graph).launcher(context.device));
        let ends = RunControl {
            limit: state.config.time_limit,
            unwanted: Some(&function.context.reset),
            progress: entry.as_ref().map(|entry| &*entry.progress),
            launcher: children.as_deref(),
            graphs: graphs.as_deref(),
            nodes: Some(&updater),
            ongoing: ongoing.as_ref(),
        };
        let began = (!OPTIMISED).then(Instant::now);
        let outcome = engine::run_until(kernel, launch, &memory, state.config.workers, ends);
        if let Some(ongoing) = ongoing {
            current_work::end(ongoing, &memory);
        }
        if began.is_some_and(|began| optimised::matters(began.elapsed())) {
            report::line(format_args!("{}; CUDA_LAUNCH_QUIET=1 hides this line", optimised::ADVICE));
        }
        outcome.map(|_| ())
    }

    /// The function.
    pub(in crate::driver) fn function(&self) -> &Arc<Function> {
        &self.0.function
    }

    /// The blocks of its clusters.
    pub(super) fn cluster(&self) -> [u32; 3] {
        self.0.launch.cluster
    }

    /// The threads of a block as the kernel sees it, and its dynamic shared memory.
    pub(super) fn block_and_shared(&self) -> ([u32; 3], u32) {
        (self.0.launch.block, self.0.launch.dynamic_shared)
    }

    /// What kernels change of the node that it is, if they may.
    pub(in crate::driver) fn node(&self) -> Option<&Arc<DeviceNode>> {
        self.0.attributes.node.as_ref()
    }

    /// Whether all blocks are resident at once.
    pub(in crate::driver) fn is_cooperative(&self) -> bool {
        self.0.launch.cooperative
    }

    /// Whether it may begin before the kernel before it is done.
    pub(in crate::driver) fn is_programmatic(&self) -> bool {
        self.0.attributes.programmatic
    }

    /// The launch attributes.
    pub(in crate::driver) fn attributes(&self) -> &[CUlaunchAttribute] {
        &self.0.attributes.all
    }

    /// The addresses of the parameters in the block of the launch, which is never changed and is dropped with the last
    /// copy of this.
    fn pointers(&self) -> &[AtomicPtr<c_void>] {
        self.0.pointers.get_or_init(|| {
            let start = self.0.launch.parameters.as_ptr().cast_mut();
            let of = |offset: usize| AtomicPtr::new(start.wrapping_add(offset).cast());
            self.0.function.kernel.parameters.iter().map(|parameter| of(parameter.offset)).collect()
        })
    }

    /// The parameters in the form of the API. They point to memory of the node, which is valid until the node is
    /// changed.
    pub(in crate::driver) fn parameters(&self) -> CUDA_KERNEL_NODE_PARAMS {
        let Kept { function, grid, block, launch, .. } = &*self.0;
        let pointers = self.pointers();
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
}
