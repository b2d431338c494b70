//! One program: what there is, what a step does to it, and what it should be afterwards.

#![deny(unsafe_code)]

use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{CopyBatch, PinnedFlags};
use cuda_launch::stream::StreamFlags;
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, DeviceView, DeviceViewMut, Driver, Error,
    GraphExec, LaunchConfig, PinnedBuffer, cuda_module,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

#[cuda_module("tests/kernels/ordering.ptx")]
mod kernels {
    unsafe extern "C" {
        /// x = x * m + a
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
        /// y = y * 31 + x
        pub safe fn collect(y: &mut [u32], x: &[u32]);
    }
}

/// Elements of half a buffer: the two halves may differ, the elements of a half do not.
const HALF: usize = 600;
const CONFIG: LaunchConfig = LaunchConfig::new((3, 1, 1), (256, 1, 1));

/// What a buffer should hold.
type Halves = [u32; 2];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn number(&mut self) -> u32 {
        self.below(1 << 30) as u32
    }
}

struct Buffer {
    memory: DeviceBuffer<u32>,
    /// No other buffer ever has it.
    id: usize,
}

/// What happens to half a buffer.
#[derive(Clone, Copy, Debug)]
enum Change {
    Fill(u32),
    Step(u32, u32),
    /// Of the same half of this buffer.
    Copy,
    Collect,
}

impl Change {
    fn random(random: &mut Random) -> Self {
        match random.below(5) {
            0 => Self::Fill(random.number()),
            1 => Self::Copy,
            2 => Self::Collect,
            _ => Self::Step(2 * random.number() + 1, random.number()),
        }
    }

    /// Does it on a stream.
    fn submit(
        self,
        kernels: &kernels::Module,
        stream: &CudaStream,
        target: &mut DeviceViewMut<'_, u32>,
        source: &DeviceView<'_, u32>,
    ) -> Result<(), Error> {
        match self {
            Self::Fill(value) => target.fill(stream, value),
            Self::Step(m, a) => kernels.step(stream, CONFIG, target, m, a),
            Self::Copy => target.copy_from_device(stream, source),
            Self::Collect => kernels.collect(stream, CONFIG, target, source),
        }
    }

    /// Does it to what should be there.
    fn apply(self, target: &mut u32, source: u32) {
        *target = match self {
            Self::Fill(value) => value,
            Self::Step(m, a) => target.wrapping_mul(m).wrapping_add(a),
            Self::Copy => source,
            Self::Collect => target.wrapping_mul(31).wrapping_add(source),
        }
    }
}

struct Graph {
    exec: GraphExec,
    changes: Vec<Planned>,
}

/// A change of half a buffer, by another one, as a graph remembers it.
#[derive(Clone, Copy)]
struct Planned {
    to: usize,
    from: usize,
    half: usize,
    change: Change,
}

struct Program {
    random: Random,
    ctx: CudaContext,
    far: CudaStream,
    kernels: kernels::Module,
    streams: Vec<CudaStream>,
    /// Of captures that are over.
    stale: Vec<CudaStream>,
    buffers: Vec<Buffer>,
    /// What each buffer should hold, by its id; also those that only graphs still have.
    holds: Vec<Halves>,
    pinned: PinnedBuffer<u32>,
    pinned_holds: u32,
    array: CudaArray<u32>,
    array_holds: u32,
    graphs: Vec<Graph>,
}

/// Runs the program of this seed; how many steps it had.
pub(crate) fn run(driver: &Arc<Driver>, seed: u64) -> usize {
    let mut program = Program::new(driver, seed);
    let steps = 8 + program.random.below(25);
    for step in 0..steps {
        let what = program.random.below(STEPS.len());
        let (name, go) = STEPS[what];
        if std::env::var_os("CUDA_LAUNCH_SEED").is_some() {
            eprintln!("{step}: {name}");
        }
        go(&mut program).unwrap_or_else(|error| panic!("step {step}, {name}: {error}"));
    }
    for index in 0..program.buffers.len() {
        program.check(index);
    }
    // What a graph that was let go still used is given back by a later call.
    let ctx = program.ctx.clone();
    drop(program);
    ctx.synchronize().unwrap();
    steps
}

type Step = fn(&mut Program) -> Result<(), Error>;

const STEPS: &[(&str, Step)] = &[
    ("change", Program::change),
    ("change", Program::change),
    ("change", Program::change),
    ("change two halves on two threads", Program::change_on_threads),
    ("change two halves on two threads", Program::change_on_threads),
    ("many read one buffer", Program::many_readers),
    ("look", Program::look),
    ("let go of a buffer", Program::replace),
    ("make a stream", Program::new_stream),
    ("fork a stream", Program::fork),
    ("pinned memory", Program::use_pinned),
    ("an array on two threads", Program::use_array),
    ("capture", Program::capture),
    ("launch a graph beside another thread", Program::launch_graph),
    ("launch a graph beside another thread", Program::launch_graph),
    ("let go of a graph", Program::drop_graph),
    ("a capture that panics", Program::panic_in_capture),
    ("a capture into a graph that panics", Program::panic_in_capture_into),
    ("a stream of a capture that is over", Program::use_stale),
    ("a host function", Program::host_function),
    ("the other device", Program::use_peer),
    ("forget", Program::forget),
    ("wait", Program::wait),
];

impl Program {
    fn new(driver: &Arc<Driver>, seed: u64) -> Self {
        let ctx = CudaContext::with_driver(driver, 0).unwrap();
        let far = CudaContext::with_driver(driver, 1).or_else(|_| CudaContext::with_driver(driver, 0));
        let far = far.unwrap().new_stream().unwrap();
        let streams = vec![ctx.new_stream().unwrap(), ctx.new_stream().unwrap(), ctx.default_stream()];
        let pinned = PinnedBuffer::from_slice(&ctx, &[1; HALF], PinnedFlags::empty()).unwrap();
        let shape = ArrayShape::D2 { width: HALF / 10, height: 10 };
        let array = CudaArray::new(&ctx, shape, ArrayFlags::empty()).unwrap();
        array.copy_from_host(&streams[0], &[1; HALF]).unwrap();
        let mut program = Self {
            random: Random(seed),
            kernels: kernels::load(&ctx).unwrap(),
            ctx,
            far,
            streams,
            stale: Vec::new(),
            buffers: Vec::new(),
            holds: Vec::new(),
            pinned,
            pinned_holds: 1,
            array,
            array_holds: 1,
            graphs: Vec::new(),
        };
        for _ in 0..3 {
            program.add_buffer().unwrap();
        }
        program
    }

    fn stream(&mut self) -> CudaStream {
        self.streams[self.random.below(self.streams.len())].clone()
    }

    /// Two that are not the same.
    fn two_buffers(&mut self) -> (usize, usize) {
        let one = self.random.below(self.buffers.len());
        let other = (one + 1 + self.random.below(self.buffers.len() - 1)) % self.buffers.len();
        (one, other)
    }

    fn add_buffer(&mut self) -> Result<(), Error> {
        let (stream, value) = (self.stream(), self.random.number());
        let memory = DeviceBuffer::filled(&stream, 2 * HALF, value)?;
        self.buffers.push(Buffer { memory, id: self.holds.len() });
        self.holds.push([value; 2]);
        Ok(())
    }

    fn change(&mut self) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let (stream, half) = (self.stream(), self.random.below(2));
        let change = Change::random(&mut self.random);
        let Self { buffers, kernels, holds, .. } = self;
        let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
        let range = half * HALF..(half + 1) * HALF;
        let view = &mut target.memory.slice_mut(range.clone());
        change.submit(kernels, &stream, view, &source.memory.slice(range))?;
        Planned { to: target.id, from: source.id, half, change }.apply(holds);
        Ok(())
    }

    fn change_on_threads(&mut self) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let streams = [self.stream(), self.stream()];
        let changes: [Vec<Change>; 2] = std::array::from_fn(|_| {
            (0..1 + self.random.below(3)).map(|_| Change::random(&mut self.random)).collect()
        });
        let Self { buffers, kernels, holds, .. } = self;
        let [target, source] = buffers.get_disjoint_mut([to, from]).unwrap();
        let (to, from) = (target.id, source.id);
        let (left, right) = target.memory.split_at_mut(HALF);
        let (kernels, whole) = (&*kernels, &source.memory);
        thread::scope(|scope| {
            let halves = [left, right].into_iter().enumerate().zip(&streams).zip(&changes);
            let threads: Vec<_> = halves
                .map(|(((half, mut target), stream), changes)| {
                    scope.spawn(move || {
                        let source = whole.slice(half * HALF..(half + 1) * HALF);
                        changes.iter().try_for_each(|c| c.submit(kernels, stream, &mut target, &source))
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        for (half, changes) in changes.iter().enumerate() {
            changes.iter().for_each(|change| Planned { to, from, half, change: *change }.apply(holds));
        }
        Ok(())
    }

    fn many_readers(&mut self) -> Result<(), Error> {
        let (index, readers) = (self.random.below(self.buffers.len()), 1 + self.random.below(14));
        let buffer = &self.buffers[index];
        let streams: Vec<_> = (0..readers).map(|_| self.ctx.new_stream()).collect::<Result<_, _>>()?;
        let copies: Vec<DeviceBuffer<u32>> = thread::scope(|scope| {
            let read = |stream: &CudaStream| {
                let mut copy = DeviceBuffer::uninit(stream, 2 * HALF)?;
                copy.view_mut().copy_from_device(stream, &buffer.memory).map(|()| copy)
            };
            let threads: Vec<_> = streams.iter().map(|stream| scope.spawn(move || read(stream))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, Error>>()
        })?;
        let expected = self.holds[buffer.id];
        // It is written while they read.
        let (stream, value) = (self.stream(), self.random.number());
        let buffer = &mut self.buffers[index];
        buffer.memory.fill(&stream, value)?;
        self.holds[buffer.id] = [value; 2];
        copies.iter().zip(&streams).try_for_each(|(copy, stream)| {
            assert_halves(&copy.to_host_vec(stream)?, expected, "a reader's copy");
            Ok(())
        })
    }

    fn look(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        self.check(index);
        Ok(())
    }

    fn check(&mut self, index: usize) {
        let stream = self.stream();
        let buffer = &self.buffers[index];
        let host = buffer.memory.to_host_vec(&stream).unwrap_or_else(|error| panic!("a look: {error}"));
        assert_halves(&host, self.holds[buffer.id], &format!("buffer {}", buffer.id));
    }

    fn replace(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        let buffer = self.buffers.swap_remove(index);
        match self.random.below(3) {
            0 => buffer.memory.close()?,
            1 => {
                // An address that was only looked at changes when the memory goes, not whether.
                let _ = buffer.memory.as_device_ptr();
            }
            _ => thread::spawn(move || drop(buffer)).join().unwrap(),
        }
        self.add_buffer()
    }

    fn new_stream(&mut self) -> Result<(), Error> {
        let flags = if self.random.below(2) == 0 { StreamFlags::NON_BLOCKING } else { StreamFlags::empty() };
        let stream = CudaStream::new(&self.ctx, flags, 0)?;
        if self.streams.len() > 5 {
            let index = self.random.below(self.streams.len());
            self.streams.swap_remove(index);
        }
        self.streams.push(stream);
        Ok(())
    }

    fn fork(&mut self) -> Result<(), Error> {
        let fork = self.stream().fork()?;
        let index = self.random.below(self.streams.len());
        self.streams[index] = fork;
        Ok(())
    }

    fn use_pinned(&mut self) -> Result<(), Error> {
        let (stream, half) = (self.stream(), self.random.below(2));
        let (index, value) = (self.random.below(self.buffers.len()), self.random.number());
        let buffer = &mut self.buffers[index];
        let range = half * HALF..(half + 1) * HALF;
        match self.random.below(4) {
            0 => {
                buffer.memory.slice(range).copy_to_pinned(&stream, &mut self.pinned)?;
                self.pinned_holds = self.holds[buffer.id][half];
            }
            1 => {
                buffer.memory.slice_mut(range).copy_from_pinned(&stream, &self.pinned)?;
                self.holds[buffer.id][half] = self.pinned_holds;
            }
            2 => {
                self.pinned.as_mut_slice()?.fill(value);
                self.pinned_holds = value;
            }
            _ => {}
        }
        assert_all(self.pinned.as_slice()?, self.pinned_holds, "pinned memory");
        Ok(())
    }

    fn use_array(&mut self) -> Result<(), Error> {
        let (streams, value) = ([self.stream(), self.stream()], 2 * self.random.number());
        if self.random.below(2) == 0 {
            thread::scope(|scope| {
                let write = |stream, value| {
                    let array = self.array.clone();
                    scope.spawn(move || array.copy_from_host(stream, &[value; HALF]))
                };
                let threads = [write(&streams[0], value), write(&streams[1], value + 1)];
                threads.into_iter().try_for_each(|thread| thread.join().unwrap())
            })?;
            let seen = self.array.to_host_vec(&self.ctx.new_stream()?)?;
            assert_eq!(seen[0] & !1, value & !1, "an array holds what was written first or second");
            self.array_holds = seen[0];
        }
        assert_all(&self.array.to_host_vec(&streams[0])?, self.array_holds, "an array");
        Ok(())
    }

    fn capture(&mut self) -> Result<(), Error> {
        let (mode, steps) =
            ([CaptureMode::Global, CaptureMode::ThreadLocal, CaptureMode::Relaxed], 1 + self.random.below(4));
        let mode = mode[self.random.below(3)];
        let mut planned = Vec::new();
        for _ in 0..steps {
            let (to, from) = self.two_buffers();
            let (half, change) = (self.random.below(2), Change::random(&mut self.random));
            planned.push(Planned { to, from, half, change });
        }
        let (forked, keep) = (self.random.below(3) == 0, self.random.below(2) == 0);
        let Self { buffers, kernels, ctx, stale, .. } = self;
        let graph = CudaGraph::capture(ctx, mode, |stream| {
            for (number, Planned { to, from, half, change }) in planned.iter().enumerate() {
                let fork = if forked && number % 2 == 1 { Some(stream.fork()?) } else { None };
                let [target, source] = buffers.get_disjoint_mut([*to, *from]).unwrap();
                let range = half * HALF..(half + 1) * HALF;
                let (mut view, source) = (target.memory.slice_mut(range.clone()), source.memory.slice(range));
                change.submit(kernels, fork.as_ref().unwrap_or(stream), &mut view, &source)?;
            }
            if keep {
                stale.push(stream.clone());
            }
            Ok(())
        })?;
        let exec = graph.instantiate(InstantiateFlags::empty())?;
        for planned in &mut planned {
            (planned.to, planned.from) = (self.buffers[planned.to].id, self.buffers[planned.from].id);
        }
        self.graphs.push(Graph { exec, changes: planned });
        Ok(())
    }

    fn launch_graph(&mut self) -> Result<(), Error> {
        if self.graphs.is_empty() {
            return Ok(());
        }
        let index = self.random.below(self.graphs.len());
        let streams = [self.stream(), self.stream()];
        // Another thread gives work to a buffer that the graph does not use, if there is one.
        let used = |graph: &Graph, id: usize| graph.changes.iter().any(|p| p.to == id || p.from == id);
        let free = self.buffers.iter().position(|buffer| !used(&self.graphs[index], buffer.id));
        let value = self.random.number();
        let Self { graphs, buffers, holds, .. } = self;
        let graph = &mut graphs[index];
        thread::scope(|scope| {
            let other = free.map(|free| {
                let memory = &mut buffers[free].memory;
                scope.spawn(|| memory.fill(&streams[1], value))
            });
            graph.exec.launch(&streams[0])?;
            other.map_or(Ok(()), |other| other.join().unwrap())
        })?;
        if let Some(free) = free {
            holds[buffers[free].id] = [value; 2];
        }
        graph.changes.iter().for_each(|planned| planned.apply(holds));
        Ok(())
    }

    fn drop_graph(&mut self) -> Result<(), Error> {
        if !self.graphs.is_empty() {
            let index = self.random.below(self.graphs.len());
            self.graphs.swap_remove(index).exec.close()?;
        }
        Ok(())
    }

    fn panic_in_capture(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        let Self { buffers, ctx, .. } = self;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
                buffers[index].memory.fill(stream, 1)?;
                panic!("in a capture")
            })
        }));
        assert!(caught.is_err());
        Ok(())
    }

    fn panic_in_capture_into(&mut self) -> Result<(), Error> {
        let (stream, mut graph) = (self.stream(), CudaGraph::new(&self.ctx)?);
        let mut gone = DeviceBuffer::filled(&stream, HALF, 1u32)?;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                gone.fill(stream, 2)?;
                panic!("in a capture")
            })
        }));
        assert!(caught.is_err());
        drop(gone);
        graph.instantiate(InstantiateFlags::empty())?.launch(&stream)?;
        Ok(())
    }

    fn use_stale(&mut self) -> Result<(), Error> {
        let index = self.random.below(self.buffers.len());
        for stream in &self.stale {
            let error = self.buffers[index].memory.fill(stream, 3).expect_err("its capture is over");
            assert!(error.is_capture_error(), "{error}");
        }
        Ok(())
    }

    fn host_function(&mut self) -> Result<(), Error> {
        let stream = self.ctx.new_stream()?;
        if self.random.below(2) == 0 {
            stream.call_host(|| panic!("in a host function"))?;
            assert!(
                stream.synchronize().is_err_and(|error| error.to_string().contains("in a host function"))
            );
        }
        let (tell, told) = std::sync::mpsc::channel();
        stream.call_host(move || tell.send(()).unwrap())?;
        stream.synchronize()?;
        assert!(told.try_recv().is_ok());
        Ok(())
    }

    fn use_peer(&mut self) -> Result<(), Error> {
        let (stream, index, half) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.below(2));
        let value = self.random.number();
        let mut far = DeviceBuffer::filled(&self.far, HALF, value)?;
        let buffer = &mut self.buffers[index];
        let range = half * HALF..(half + 1) * HALF;
        if self.random.below(2) == 0 {
            buffer.memory.slice_mut(range).copy_from_peer(&stream, &far)?;
            self.holds[buffer.id][half] = value;
        } else {
            far.view_mut().copy_from_peer(&stream, &buffer.memory.slice(range))?;
            assert_all(&far.to_host_vec(&self.far)?, self.holds[buffer.id][half], "the other device's copy");
        }
        if self.far.context().ordinal() != 0 {
            // The copy does not make it memory of this device.
            let refused = self.kernels.step(&stream, CONFIG, &mut far, 1, 1);
            assert!(refused.is_err_and(|error| error.is_context_mismatch()));
        }
        Ok(())
    }

    fn forget(&mut self) -> Result<(), Error> {
        let (to, from) = self.two_buffers();
        let [target, source] = self.buffers.get_disjoint_mut([to, from]).unwrap();
        let mut batch = CopyBatch::new();
        batch.push(&mut target.memory, &source.memory)?;
        // What it borrowed is free again, and nothing was copied.
        std::mem::forget(batch);
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Error> {
        if self.random.below(2) == 0 { self.ctx.synchronize() } else { self.stream().synchronize() }
    }
}

impl Planned {
    /// Does it to what should be there.
    fn apply(self, holds: &mut [Halves]) {
        let source = holds[self.from][self.half];
        self.change.apply(&mut holds[self.to][self.half], source);
    }
}

fn assert_all(seen: &[u32], expected: u32, what: &str) {
    if let Some(wrong) = seen.iter().position(|x| *x != expected) {
        panic!("{what}: element {wrong} is {}, not {expected}", seen[wrong]);
    }
}

fn assert_halves(seen: &[u32], expected: Halves, what: &str) {
    for (half, expected) in expected.into_iter().enumerate() {
        assert_all(&seen[half * HALF..(half + 1) * HALF], expected, &format!("half {half} of {what}"));
    }
}
