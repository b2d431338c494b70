//! One program: what there is, and its steps. What a step does is in the file of its kind.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, Halves, Planned, Random, assert_halves, kernels};
use crate::graphs::Graph;
use crate::kinds::Memory;
use crate::levels::Levels;
use crate::mappings::Physical;
use crate::named::Ready;
use crate::pause;
use crate::pictures::Pictures;
use crate::rows::Rows;
use crate::tiles::Tiles;
use crate::trees::Tree;
use crate::variables::Variables;
use cuda_launch::context::ContextOptions;
use cuda_launch::memory::{MemoryPool, PinnedFlags};
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{CudaContext, CudaStream, Driver, Error, PinnedBuffer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

pub(crate) struct Buffer {
    pub(crate) memory: Memory,
    /// Of what it holds: only a variable, and physical memory, is more than one buffer, one after the other.
    pub(crate) id: usize,
}

pub(crate) struct Program {
    pub(crate) random: Random,
    pub(crate) ctx: CudaContext,
    pub(crate) far: CudaStream,
    pub(crate) kernels: kernels::Module,
    pub(crate) streams: Vec<CudaStream>,
    /// Many more, once a step has asked for them.
    pub(crate) crowd: Vec<CudaStream>,
    /// Of captures that are over.
    pub(crate) stale: Vec<CudaStream>,
    pub(crate) buffers: Vec<Buffer>,
    /// What each buffer should hold, by its id; also those that only graphs still have.
    pub(crate) holds: Vec<Halves>,
    pub(crate) pinned: PinnedBuffer<u32>,
    pub(crate) pinned_holds: u32,
    pub(crate) array: CudaArray<u32>,
    pub(crate) array_holds: u32,
    pub(crate) pictures: Pictures,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) trees: Vec<Tree>,
    pub(crate) ready: Vec<Ready>,
    /// Ids of what a graph or a launch has, or had.
    pub(crate) in_graphs: Vec<usize>,
    pub(crate) pools: Vec<MemoryPool>,
    pub(crate) physical: Option<Physical>,
    pub(crate) variables: Option<Variables>,
    pub(crate) rows: Option<Rows>,
    pub(crate) levels: Option<Levels>,
    pub(crate) tiles: Option<Tiles>,
    pub(crate) shared_pools: Vec<MemoryPool>,
    /// Whether work found that a function of the host had not run that it comes after.
    pub(crate) early: Arc<AtomicBool>,
}

/// Of the array.
pub(crate) const ARRAY: ArrayShape = ArrayShape::D2 { width: HALF / 10, height: 10 };

type Step = fn(&mut Program) -> Result<(), Error>;

const STEPS: &[(&str, Step)] = &[
    // memory.rs
    ("change", Program::change),
    ("change", Program::change),
    ("change", Program::change),
    ("change two halves on two threads", Program::change_on_threads),
    ("change two halves on two threads", Program::change_on_threads),
    ("many read one buffer", Program::many_readers),
    ("look", Program::look),
    ("pinned memory", Program::use_pinned),
    ("an array on two threads", Program::use_array),
    ("the other device", Program::use_peer),
    // chunks.rs
    ("chunks on threads", Program::use_chunks),
    ("many streams read one buffer", Program::crowd_reads),
    // kinds.rs
    ("let go of a buffer", Program::replace),
    // copies.rs
    ("copies in a batch", Program::copy_batch),
    ("copies of regions", Program::copy_regions),
    ("forget a batch", Program::forget_batch),
    ("clone a buffer", Program::clone_buffer),
    ("copies through the host", Program::copy_through_host),
    ("copies of what ends", Program::copy_from_ended),
    // rows.rs
    ("pitched memory", Program::use_rows),
    // host_memory.rs
    ("memory that the host sees", Program::use_on_host),
    ("memory that moves", Program::move_managed),
    // lent.rs
    ("memory that is lent", Program::lend),
    // variables.rs
    ("a constant", Program::use_constant),
    ("load variables again", Program::reload_variables),
    // pools.rs
    ("pools", Program::use_pools),
    ("memory that comes and goes", Program::reuse_memory),
    // shared_pools.rs
    ("a pool that devices share", Program::use_shared_pool),
    // mappings.rs
    ("grow", Program::grow),
    // tensors.rs
    ("a tensor and back", Program::use_tensor),
    // streams.rs
    ("make a stream", Program::new_stream),
    ("fork a stream", Program::fork),
    ("close a stream", Program::close_stream),
    ("a host function", Program::host_function),
    ("wait", Program::wait),
    // events.rs
    ("order streams by events", Program::order_streams),
    // own_streams.rs
    ("per-thread streams of some threads", Program::per_thread),
    ("a thread that takes turns", Program::take_turns),
    ("a thread that works until its end", Program::end_with_work),
    // pictures.rs
    ("write a picture", Program::write_picture),
    ("textures on two threads", Program::read_picture),
    ("a texture of a buffer", Program::linear_texture),
    ("surfaces on two threads", Program::add_through_surfaces),
    ("a graph of objects", Program::graph_of_objects),
    ("an operation of objects", Program::operation_of_objects),
    ("close objects", Program::close_objects),
    // levels.rs
    ("levels of an array", Program::use_levels),
    ("a texture of levels", Program::show_levels),
    ("a texture of rows", Program::texture_of_rows),
    // tiles.rs
    ("tiles of a tensor map", Program::use_tiles),
    ("load tiles on two threads", Program::load_on_threads),
    // graphs.rs
    ("capture", Program::capture),
    ("build a graph", Program::build_graph),
    ("launch a graph beside another thread", Program::launch_graph),
    ("launch a graph beside another thread", Program::launch_graph),
    ("update a graph", Program::update_graph),
    ("change nodes of a graph", Program::change_nodes),
    ("let go of a graph", Program::drop_graph),
    ("a capture that panics", Program::panic_in_capture),
    ("a capture into a graph that panics", Program::panic_in_capture_into),
    ("a stream of a capture that is over", Program::use_stale),
    // trees.rs
    ("build a graph of graphs", Program::build_tree),
    // tree_launches.rs
    ("launch a graph of graphs", Program::launch_tree),
    ("launch a graph of graphs", Program::launch_tree),
    ("change a graph of graphs", Program::change_tree),
    ("let go of a graph of graphs", Program::drop_tree),
    // named.rs
    ("make a plan", Program::make_plan),
    ("prepare a launch", Program::prepare),
    ("change what is ready", Program::change_ready),
    ("change what is ready", Program::change_ready),
    ("launch what is ready", Program::launch_ready),
    ("let go of what is ready", Program::drop_ready),
    // operations.rs
    ("an operation", Program::operation),
    ("an operation", Program::operation),
    ("whichever operation is first", Program::select_operations),
    ("an operation that nobody waits for", Program::abandoned_operation),
    ("an operation that panics", Program::panic_in_operation),
    ("operations of a scope", Program::scope),
    // replays.rs
    ("replay an operation", Program::replay_operation),
    ("an operation that is shared", Program::share_operation),
    // transfers.rs
    ("operations that copy", Program::transfer),
    ("two parts of an operation", Program::unzip_operation),
    ("a list of operations", Program::list_operations),
    ("an operation after other work", Program::operation_after),
];

/// Runs the program of this seed, of the steps whose names contain one of `only`; how many steps it had.
pub(crate) fn run(driver: &Arc<Driver>, seed: u64, only: &[String], tell: bool) -> usize {
    let chosen: Vec<_> = STEPS
        .iter()
        .filter(|(name, _)| only.is_empty() || only.iter().any(|only| name.contains(only.as_str())))
        .collect();
    assert!(!chosen.is_empty(), "no step is named like one of {only:?}");
    let mut program = Program::new(driver, seed);
    let steps = 10 + program.random.below(31);
    for step in 0..steps {
        let (name, go) = chosen[program.random.below(chosen.len())];
        if tell {
            eprintln!("{step}: {name}");
        }
        go(&mut program).unwrap_or_else(|error| panic!("step {step}, {name}: {error}"));
    }
    for index in 0..program.buffers.len() {
        program.check(index);
    }
    program.check_trees().unwrap_or_else(|error| panic!("graphs at the end: {error}"));
    // What a graph that was let go still used is given back by a later call.
    let (ctx, early) = (program.ctx.clone(), program.early.clone());
    drop(program);
    ctx.synchronize().unwrap();
    pause::nothing_ended_early();
    assert!(
        !early.load(Ordering::SeqCst),
        "a function of the host had not run when work that comes after it did"
    );
    steps
}

impl Program {
    fn new(driver: &Arc<Driver>, seed: u64) -> Self {
        let ctx = CudaContext::with_driver(driver, 0).unwrap();
        let far = Self::far(&ctx, seed);
        let [a, b] = std::array::from_fn(|_| ctx.new_stream().unwrap());
        let streams = vec![a, b, ctx.default_stream(), ctx.per_thread_stream()];
        let pinned = PinnedBuffer::from_slice(&ctx, &[1; HALF], PinnedFlags::empty()).unwrap();
        let array = CudaArray::new(&ctx, ARRAY, ArrayFlags::empty()).unwrap();
        array.copy_from_host(&streams[0], &[1; HALF]).unwrap();
        let mut program = Self {
            random: Random(seed),
            kernels: kernels::load(&ctx).unwrap(),
            pictures: Pictures::new(&streams[0]),
            ctx,
            far,
            streams,
            crowd: Vec::new(),
            stale: Vec::new(),
            buffers: Vec::new(),
            holds: Vec::new(),
            pinned,
            pinned_holds: 1,
            array,
            array_holds: 1,
            graphs: Vec::new(),
            trees: Vec::new(),
            ready: Vec::new(),
            in_graphs: Vec::new(),
            pools: Vec::new(),
            physical: None,
            variables: None,
            rows: None,
            levels: None,
            tiles: None,
            shared_pools: Vec::new(),
            early: Arc::default(),
        };
        for _ in 0..3 {
            program.add_buffer().unwrap();
        }
        program
    }

    /// A stream of another device, where there is one, or of another context of the device.
    fn far(ctx: &CudaContext, seed: u64) -> CudaStream {
        let beside = || ctx.device().create_context(&ContextOptions::default()).unwrap();
        let device = if seed.is_multiple_of(2) { 1 } else { 0 };
        let far = match device {
            1 => CudaContext::with_driver(ctx.driver(), 1).unwrap_or_else(|_| beside()),
            _ => beside(),
        };
        match seed / 2 % 3 {
            0 => far.default_stream(),
            1 => far.per_thread_stream(),
            _ => far.new_stream().unwrap(),
        }
    }

    /// The other context, if it is on another device that this one can access.
    pub(crate) fn peer(&self) -> Result<Option<CudaContext>, Error> {
        let (near, far) = (self.ctx.device(), self.far.context().device());
        let is_peer = near.ordinal() != far.ordinal() && far.can_access_peer(&near)?;
        Ok(is_peer.then(|| self.far.context().clone()))
    }

    /// One of the streams; it may be busy for a while, so that work that does not wait for it is too early.
    pub(crate) fn stream(&mut self) -> CudaStream {
        let stream = self.streams[self.random.below(self.streams.len())].clone();
        if self.random.one_in(3) {
            self.keep_busy(&stream);
        }
        stream
    }

    pub(crate) fn keep_busy(&mut self, stream: &CudaStream) {
        let time = Duration::from_micros(100 + 100 * self.random.below(4) as u64);
        stream.call_host(move || thread::sleep(time)).unwrap();
    }

    /// Two that are not the same.
    pub(crate) fn two_buffers(&mut self) -> (usize, usize) {
        let one = self.random.below(self.buffers.len());
        let other = (one + 1 + self.random.below(self.buffers.len() - 1)) % self.buffers.len();
        (one, other)
    }

    /// A change by places.
    pub(crate) fn plan(&mut self, change: impl FnOnce(&mut Random) -> Change) -> Planned {
        let (to, from) = self.two_buffers();
        Planned { to, from, half: self.random.below(2), change: change(&mut self.random) }
    }

    /// The same by ids.
    pub(crate) fn by_id(&self, planned: Planned) -> Planned {
        Planned { to: self.buffers[planned.to].id, from: self.buffers[planned.from].id, ..planned }
    }

    /// The same for what a graph or a launch has from now on.
    pub(crate) fn kept(&mut self, planned: Planned) -> Planned {
        let planned = self.by_id(planned);
        self.in_graphs.extend([planned.to, planned.from]);
        planned
    }

    pub(crate) fn check(&mut self, index: usize) {
        let stream = self.stream();
        let buffer = &self.buffers[index];
        let host =
            buffer.memory.view().to_host_vec(&stream).unwrap_or_else(|error| panic!("a look: {error}"));
        assert_halves(&host, self.holds[buffer.id], &format!("buffer {}", buffer.id));
    }
}
