//! Buffers across streams: which calls order them, counted with a driver that does nothing, and what comes out of it on a
//! real one.

#![allow(unsafe_code)] // Foreign streams that live long enough.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/form.rs"]
mod form;
mod support;

use cuda_launch::launch::{slice, slice_mut};
use cuda_launch::memory::SliceParts;
use cuda_launch::{
    CudaContext, CudaFunction, CudaStream, DeviceBuffer, DeviceSlice, DeviceSliceMut, LaunchConfig,
    cuda_launch, sys,
};
use form::{FORMS, Form};
use std::sync::{Arc, Mutex, PoisonError};
use support::{counted, marks, reset};

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));

/// Streams a, b, c and a kernel of two slices, on the driver that does nothing.
struct Rig {
    ctx: CudaContext,
    streams: Vec<CudaStream>,
    f: CudaFunction,
    form: &'static dyn Form,
}

impl Rig {
    fn new(form: &'static dyn Form) -> Self {
        println!("with {}:", form.name());
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        ctx.bind().unwrap();
        support::expect_parameters(&[8, 8, 8, 8]);
        let module = ctx.load_module(".version 7.0\n.target sm_52\n.address_size 64\n").unwrap();
        let f = module.load_function("k").unwrap();
        let streams = (0..3).map(|_| ctx.new_stream().unwrap()).collect();
        Self { ctx, streams, f, form }
    }

    /// A rig for each way to launch.
    fn each() -> impl Iterator<Item = Self> {
        FORMS.iter().map(|form| Self::new(*form))
    }

    fn a(&self) -> &CudaStream {
        &self.streams[0]
    }

    fn b(&self) -> &CudaStream {
        &self.streams[1]
    }

    fn c(&self) -> &CudaStream {
        &self.streams[2]
    }

    /// A buffer that nobody has to wait for.
    fn buffer(&self) -> DeviceBuffer<u32> {
        DeviceBuffer::from_host(self.a(), &[0; 4]).unwrap()
    }

    /// A kernel on `stream` that reads `from` and writes `to`.
    fn launch(&self, stream: &CudaStream, from: &DeviceBuffer<u32>, to: &mut DeviceBuffer<u32>) {
        self.form.collect((&self.f, stream, ONE), to, from).unwrap();
    }

    /// A kernel on `stream` that reads `x`.
    fn read(&self, stream: &CudaStream, x: &DeviceBuffer<u32>) {
        self.form.read((&self.f, stream, ONE), x).unwrap();
    }
}

/// A record on one stream and a wait of the other for it.
fn crossing(earlier: &CudaStream, later: &CudaStream) -> Vec<(&'static str, usize)> {
    vec![("record", earlier.raw().addr()), ("wait", later.raw().addr())]
}

#[test]
fn a_stream_alone_costs_one_call_a_launch() {
    for rig in Rig::each() {
        let (x, mut y) = (rig.buffer(), rig.buffer());
        rig.launch(rig.b(), &x, &mut y);
        reset();
        for _ in 0..10 {
            rig.launch(rig.b(), &x, &mut y);
        }
        assert_eq!(counted(), (10, 10), "only cuLaunchKernelEx, although there are three streams");
        assert_eq!(support::queries(), 0, "and no cuCtxGetCurrent");
    }
}

/// Nor is it asked which context is current.
#[test]
fn what_the_host_has_seen_the_end_of_is_not_waited_for_again() {
    for rig in Rig::each() {
        let (x, mut y, mut z) = (rig.buffer(), rig.buffer(), rig.buffer());
        for wait in [|rig: &Rig| rig.a().synchronize(), |rig: &Rig| rig.ctx.synchronize()] {
            rig.launch(rig.a(), &x, &mut y);
            wait(&rig).unwrap();
            reset();
            rig.launch(rig.b(), &y, &mut z);
            rig.launch(rig.b(), &x, &mut y);
            assert_eq!((marks(), counted()), (vec![], (2, 2)), "a is done with both");
            assert_eq!(support::queries(), 0);
            rig.b().synchronize().unwrap();
        }
        // What was given after the wait, or to another stream, is not done.
        rig.launch(rig.a(), &x, &mut y);
        rig.a().synchronize().unwrap();
        rig.launch(rig.a(), &x, &mut y);
        rig.b().synchronize().unwrap();
        reset();
        rig.launch(rig.b(), &y, &mut z);
        assert_eq!(marks(), crossing(rig.a(), rig.b()));
    }
}

#[test]
fn a_crossing_is_one_record_and_one_wait() {
    for rig in Rig::each() {
        let (x, mut y, mut z) = (rig.buffer(), rig.buffer(), rig.buffer());
        rig.launch(rig.a(), &x, &mut y);
        reset();
        rig.launch(rig.b(), &y, &mut z);
        assert_eq!(marks(), crossing(rig.a(), rig.b()), "b reads what a wrote");
        reset();
        rig.launch(rig.b(), &y, &mut z);
        assert_eq!((marks(), counted().1), (vec![], 1), "and knows it now");
        rig.read(rig.a(), &y);
        assert_eq!(marks(), [], "the writer may read beside it");
    }
}

/// Also where it was set by name, after the launch was prepared.
#[test]
fn what_a_prepared_launch_only_reads_has_no_writer() {
    let rig = Rig::new(FORMS[0]);
    let (x, y, mut z) = (rig.buffer(), rig.buffer(), rig.buffer());
    let mut builder = rig.b().launch_builder(&rig.f);
    let mut launch = builder.named("from", slice(&x)).slice_mut(&mut z).prepare(ONE).unwrap();
    launch.set_slice("from", &y).unwrap();
    unsafe { launch.launch_on(rig.b()) }.unwrap();
    reset();
    rig.read(rig.a(), &y);
    assert_eq!(marks(), [], "two readers");
    unsafe { launch.launch_on(rig.b()) }.unwrap();
    assert_eq!(marks(), []);
}

/// The same.
#[test]
fn what_a_prepared_launch_writes_has_a_writer() {
    let rig = Rig::new(FORMS[0]);
    let (x, mut y, mut z) = (rig.buffer(), rig.buffer(), rig.buffer());
    let mut builder = rig.b().launch_builder(&rig.f);
    let mut launch = builder.slice(&x).named("to", slice_mut(&mut z)).prepare(ONE).unwrap();
    launch.set_slice_mut("to", &mut y).unwrap();
    unsafe { launch.launch_on(rig.b()) }.unwrap();
    reset();
    rig.read(rig.a(), &y);
    assert_eq!(marks(), crossing(rig.b(), rig.a()));
}

#[test]
fn readers_do_not_wait_for_each_other_and_a_writer_waits_for_all() {
    for rig in Rig::each() {
        let (x, mut y) = (rig.buffer(), rig.buffer());
        reset();
        rig.read(rig.a(), &x);
        rig.read(rig.b(), &x);
        rig.read(rig.a(), &x);
        assert_eq!(marks(), []);
        let mut x = x;
        rig.launch(rig.c(), &y, &mut x);
        assert_eq!(marks(), [crossing(rig.a(), rig.c()), crossing(rig.b(), rig.c())].concat());
        reset();
        rig.launch(rig.a(), &x, &mut y);
        assert_eq!(
            marks(),
            [crossing(rig.c(), rig.a())].concat(),
            "x was written on c, where y was read: one wait serves both"
        )
    }
}

#[test]
fn copies_and_fills_are_ordered_as_launches_are() {
    for rig in Rig::each() {
        let (x, mut y) = (rig.buffer(), rig.buffer());
        reset();
        y.view_mut().copy_from_device(rig.a(), &x).unwrap();
        y.view_mut().copy_from_device(rig.b(), &x).unwrap();
        assert_eq!(marks(), crossing(rig.a(), rig.b()), "x is only read, y is written twice");
        reset();
        let clone = y.try_clone(rig.a()).unwrap();
        assert_eq!(marks(), crossing(rig.b(), rig.a()), "the copy comes after what wrote y");
        reset();
        drop(clone);
        assert_eq!(marks(), [("free", rig.a().raw().addr())], "on its stream, without a wait");
        reset();
        let mut x = x;
        x.view_mut().set_zero(rig.c()).unwrap();
        assert_eq!(marks(), [crossing(rig.a(), rig.c()), crossing(rig.b(), rig.c())].concat());
    }
}

#[test]
fn memory_goes_where_it_was_used_last() {
    for rig in Rig::each() {
        let (x, mut y) = (rig.buffer(), rig.buffer());
        rig.launch(rig.b(), &x, &mut y);
        reset();
        drop(y);
        assert_eq!(marks(), [("free", rig.b().raw().addr())], "b alone used it: no event");
        rig.read(rig.c(), &x);
        reset();
        drop(x);
        let waits = [crossing(rig.b(), rig.a()), crossing(rig.c(), rig.a())].concat();
        assert_eq!(marks(), [waits, vec![("free", rig.a().raw().addr())]].concat(), "both readers");
    }
}

/// Most memory is used by one stream, and goes there without another call; nobody has waited for it here.
#[test]
fn memory_of_one_stream_goes_there_unless_others_may_use_it() {
    for rig in Rig::each() {
        let buffer = || DeviceBuffer::<u32>::zeroed(rig.a(), 4).unwrap();
        let freed_on_a = ("free", rig.a().raw().addr());
        let ends = |x: DeviceBuffer<u32>| {
            reset();
            drop(x);
            marks()
        };
        assert_eq!(ends(buffer()), [freed_on_a]);
        let mut x = buffer();
        x.view_mut().set_zero(rig.b()).unwrap();
        assert_eq!(ends(x), [("free", rig.b().raw().addr())], "b came last");
        let x = buffer();
        rig.read(rig.b(), &x);
        rig.read(rig.c(), &x);
        let waits = [crossing(rig.b(), rig.a()), crossing(rig.c(), rig.a())].concat();
        assert_eq!(ends(x), [waits, vec![freed_on_a]].concat());
        let x = buffer();
        let _ = x.cu_deviceptr();
        assert_eq!(ends(x), [("idle", 0), freed_on_a], "whose number anybody may have");
        let (x, mut busy) = (buffer(), buffer());
        let _ = x.as_device_ptr();
        busy.view_mut().set_zero(rig.b()).unwrap();
        let marks = ends(x);
        assert!(marks.len() > 1 && marks.last() != Some(&freed_on_a), "b may use the address: {marks:?}");
    }
}

#[test]
fn a_stream_that_is_dropped_first_lives_until_the_memory_is_free() {
    for mut rig in Rig::each() {
        let mut x = rig.buffer();
        let c = rig.streams.pop().unwrap();
        let raw = c.raw().addr();
        x.view_mut().set_zero(&c).unwrap();
        reset();
        drop(c);
        assert_eq!(marks(), []);
        drop(x);
        assert_eq!(marks(), [("free", raw), ("destroy", raw)]);
    }
}

#[test]
fn an_address_taken_for_launches_is_freed_in_the_order_of_streams() {
    for rig in Rig::each() {
        let taken = || {
            let x = rig.buffer();
            let _ = x.as_device_ptr();
            rig.ctx.synchronize().unwrap();
            x
        };
        let x = taken();
        reset();
        drop(x);
        assert_eq!(marks(), [("free", rig.a().raw().addr())], "nothing is under way");
        let (x, mut y) = (taken(), rig.buffer());
        y.view_mut().set_zero(rig.b()).unwrap();
        reset();
        drop(x);
        assert_eq!(
            marks(),
            [("free", rig.b().raw().addr())],
            "one stream is busy: what it was given may use the address"
        );
        let x = taken();
        y.view_mut().set_zero(rig.b()).unwrap();
        y.view_mut().set_zero(rig.c()).unwrap();
        reset();
        drop(x);
        let marks = marks();
        let [.., (what, last)] = marks[..] else { panic!("{marks:?}") };
        let others = [rig.a(), rig.b(), rig.c()].map(|stream| stream.raw().addr());
        assert!(
            what == "free" && !others.contains(&last),
            "on a stream of its own: none waits for the others: {marks:?}"
        );
        let mut waits = vec![];
        for stream in [rig.b(), rig.c()] {
            waits.extend([("record", stream.raw().addr()), ("wait", last)]);
        }
        assert_eq!(marks[..4], waits, "after both");
        reset();
        drop((y, rig));
        assert!(support::marks().contains(&("destroy", last)), "it goes with the context");
    }
}

#[test]
fn an_address_taken_as_a_number_makes_the_end_wait() {
    for rig in Rig::each() {
        let x = rig.buffer();
        let _ = x.cu_deviceptr();
        reset();
        drop(x);
        assert_eq!(marks(), [("idle", 0), ("free", rig.a().raw().addr())]);
        let x = rig.buffer();
        let _ = x.as_device_ptr();
        let stream = rig.ctx.new_stream().unwrap();
        rig.buffer().view_mut().set_zero(&stream).unwrap();
        drop(stream);
        reset();
        drop(x);
        assert_eq!(marks()[0], ("idle", 0), "a stream is gone, whose work nobody has seen the end of");
        let mut x = rig.buffer();
        rig.form.write((&rig.f, rig.b(), ONE), &mut x).unwrap();
        reset();
        drop(x);
        assert_eq!(marks(), [("free", rig.b().raw().addr())], "`ptr` is noted");
    }
}

#[test]
fn foreign_memory_whose_address_was_taken_goes_after_all_work() {
    let rig = Rig::new(FORMS[0]);
    for (taken, waits) in [(0, vec![]), (1, vec![("idle", 0)]), (2, vec![("idle", 0)])] {
        // SAFETY: 1 to 3: the driver of `support` has no memory: nothing ever follows the address, here or on a device.
        let x = unsafe { DeviceBuffer::<u32>::from_foreign(&rig.ctx, 0x1000, 4, ()) };
        match taken {
            0 => {}
            1 => _ = x.as_device_ptr(),
            _ => _ = x.cu_deviceptr(),
        }
        reset();
        drop(x);
        assert_eq!(marks(), waits);
    }
}

/// Whether work makes progress is told to all threads.
static PROGRESS: Mutex<()> = Mutex::new(());

/// More than a list may hold before it is searched for those that are done.
#[test]
fn however_many_read_a_writer_waits_for_all_that_are_not_done() {
    let _alone = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = Rig::new(FORMS[0]);
    let mut x = rig.buffer();
    support::progress(sys::CUresult::CUDA_ERROR_NOT_READY);
    let streams: Vec<_> = (0..80).map(|_| rig.ctx.new_stream().unwrap()).collect();
    streams.iter().for_each(|stream| rig.read(stream, &x));
    reset();
    x.view_mut().set_zero(rig.c()).unwrap();
    support::progress(sys::CUresult::SUCCESS);
    let all: Vec<_> = streams.iter().flat_map(|stream| crossing(stream, rig.c())).collect();
    assert_eq!(marks(), all);
}

#[test]
fn forty_streams_read_one_buffer_and_none_waits() {
    let _alone = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    for rig in Rig::each() {
        let x = rig.buffer();
        support::progress(sys::CUresult::CUDA_ERROR_NOT_READY);
        let streams: Vec<_> = (0..40).map(|_| rig.ctx.new_stream().unwrap()).collect();
        streams.iter().for_each(|stream| rig.read(stream, &x));
        reset();
        for _ in 0..3 {
            streams.iter().for_each(|stream| rig.read(stream, &x));
        }
        assert_eq!((marks(), counted()), (vec![], (120, 120)), "one driver call a launch");
        let mut x = x;
        x.view_mut().set_zero(rig.c()).unwrap();
        support::progress(sys::CUresult::SUCCESS);
        let all: Vec<_> = streams.iter().flat_map(|stream| crossing(stream, rig.c())).collect();
        assert_eq!(marks(), all, "a writer waits for every one of them");
    }
}

/// More than there are bits. The one that wrote is a reader by then.
#[test]
fn readers_without_a_bit_wait_once_for_what_was_written_and_then_no_more() {
    let _alone = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    let rig = Rig::new(FORMS[0]);
    let mut x = rig.buffer();
    x.view_mut().set_zero(rig.a()).unwrap();
    support::progress(sys::CUresult::CUDA_ERROR_NOT_READY);
    let mut streams: Vec<_> = (0..60).map(|_| rig.ctx.new_stream().unwrap()).collect();
    streams.push(rig.a().clone());
    reset();
    streams.iter().for_each(|stream| rig.read(stream, &x));
    let once: Vec<_> = streams[..60].iter().flat_map(|stream| crossing(rig.a(), stream)).collect();
    assert_eq!(marks(), once);
    reset();
    streams.iter().for_each(|stream| rig.read(stream, &x));
    assert_eq!((marks(), counted()), (vec![], (61, 61)), "one driver call a launch");
    x.view_mut().set_zero(rig.a()).unwrap();
    support::progress(sys::CUresult::SUCCESS);
    let all: Vec<_> = streams[..60].iter().flat_map(|stream| crossing(stream, rig.a())).collect();
    assert_eq!(marks(), all, "a writer waits for every one of them");
}

/// Only so many streams of a context can have a bit; several contexts, because what stands for a context has bits too.
#[test]
fn more_streams_than_there_are_bits_are_ordered_too() {
    let rigs: Vec<Rig> = (0..4).map(|_| Rig::new(FORMS[0])).collect();
    for rig in &rigs {
        let streams: Vec<_> = (0..60).map(|_| rig.ctx.new_stream().unwrap()).collect();
        let (mut x, mut last) = (rig.buffer(), rig.a());
        x.view_mut().set_zero(last).unwrap();
        for stream in streams.iter().chain(&streams) {
            reset();
            x.view_mut().set_zero(stream).unwrap();
            assert_eq!(marks(), crossing(last, stream));
            last = stream;
        }
    }
}

/// The numbers of contexts and the bits of streams are few, and are given to others once those are gone, not before.
#[test]
fn what_stands_for_contexts_and_streams_comes_back_at_their_end() {
    let goes_ahead = |rig: &Rig, stream: &CudaStream| {
        let x = rig.buffer();
        rig.read(stream, &x);
        reset();
        rig.read(stream, &x);
        counted() == (1, 1) && support::queries() == 0
    };
    let open: Vec<_> = (0..3).map(|_| Rig::new(FORMS[0])).map(|rig| (rig.buffer(), rig)).collect();
    for (x, rig) in &open {
        rig.read(rig.a(), x);
    }
    for _ in 0..4 {
        let many: Vec<Rig> = (0..30).map(|_| Rig::new(FORMS[0])).collect();
        drop(many);
    }
    for rig in [(); 4].map(|()| Rig::new(FORMS[0])) {
        assert!(goes_ahead(&rig, rig.a()));
        for (x, _) in &open {
            let refused = rig.form.read((&rig.f, rig.a(), ONE), x);
            assert!(refused.unwrap_err().is_context_mismatch());
        }
        for _ in 0..100 {
            assert!(goes_ahead(&rig, &rig.ctx.new_stream().unwrap()));
            // A bit that is given to another one too soon stands for both, and neither waits for the other.
            let (mut x, late) = (rig.buffer(), rig.ctx.new_stream().unwrap());
            x.view_mut().set_zero(rig.a()).unwrap();
            for pair in [[rig.a(), &late], [&late, rig.a()], [rig.a(), &late]] {
                reset();
                x.view_mut().set_zero(pair[1]).unwrap();
                assert_eq!(marks(), crossing(pair[0], pair[1]));
            }
        }
    }
}

#[test]
fn memory_of_another_context_stays_so_whatever_copied_it() {
    for rig in Rig::each() {
        let other = CudaContext::with_driver(rig.ctx.driver(), 1).unwrap();
        let far = DeviceBuffer::<u32>::zeroed(&other.new_stream().unwrap(), 4).unwrap();
        let mut near = rig.buffer();
        near.view_mut().copy_from_peer(rig.a(), &far).unwrap();
        let refused = rig.form.read((&rig.f, rig.a(), ONE), &far);
        assert!(refused.unwrap_err().is_context_mismatch());
    }
}

#[test]
fn many_readers_are_not_kept_for_ever() {
    let _alone = PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    for rig in Rig::each() {
        let x = rig.buffer();
        reset();
        for _ in 0..1000 {
            rig.read(&rig.ctx.new_stream().unwrap(), &x);
        }
        let destroyed = marks().iter().filter(|(what, _)| *what == "destroy").count();
        assert!(
            destroyed >= 900,
            "{destroyed} of 1000 streams are gone, and the next writer still waits for all readers"
        );
    }
}

#[test]
fn each_thread_has_its_own_per_thread_stream() {
    for rig in Rig::each() {
        // SAFETY: 1: a special handle; 2: which never ends; 3: nobody captures it.
        let stream = unsafe { CudaStream::from_raw(&rig.ctx, sys::CU_STREAM_PER_THREAD) };
        let mut x = rig.buffer();
        x.view_mut().set_zero(&stream).unwrap();
        reset();
        x.view_mut().set_zero(&stream).unwrap();
        assert_eq!(marks(), [], "the same stream on the same thread");
        let marks = std::thread::spawn(move || {
            reset();
            x.view_mut().set_zero(&stream).unwrap();
            let marks = marks();
            drop(x);
            marks
        });
        assert_eq!(
            marks.join().unwrap(),
            [("idle", 0)],
            "on another thread it is another one, which nobody can name"
        );
    }
}

/// Also what a thread gave its own stream by the short way is waited for, and not what it waited for itself.
#[test]
fn launches_on_a_per_thread_stream_are_waited_for_unless_the_thread_has_waited() {
    for rig in Rig::each() {
        for (waits, more) in [(true, false), (true, true), (false, true)] {
            let (x, mut z) = (rig.buffer(), rig.buffer());
            let stream = rig.ctx.per_thread_stream();
            let elsewhere = || {
                rig.ctx.bind().unwrap();
                let mut y = rig.buffer();
                let mut launch = || (0..3).for_each(|_| rig.launch(&stream, &x, &mut y));
                launch();
                if waits {
                    stream.synchronize().unwrap();
                }
                if more {
                    launch();
                }
                std::mem::forget(y);
            };
            std::thread::scope(|scope| scope.spawn(elsewhere).join().unwrap());
            rig.launch(rig.a(), &z, &mut rig.buffer());
            let mut x = x;
            reset();
            rig.launch(rig.a(), &z, &mut x);
            let waited: &[_] = if more { &[("idle", 0)] } else { &[] };
            assert_eq!(marks(), waited, "the thread has waited: {waits}, and launched more: {more}");
            z.view_mut().set_zero(rig.a()).unwrap();
        }
    }
}

#[test]
fn handles_of_one_stream_do_not_wait_for_each_other() {
    for rig in Rig::each() {
        // SAFETY: 1: a live stream of `rig.ctx`; 2: `rig`, declared first, keeps it beyond `again` and the buffers; 3:
        // nobody captures it.
        let again = unsafe { CudaStream::from_raw(&rig.ctx, rig.a().raw()) };
        let (x, mut y) = (rig.buffer(), rig.buffer());
        rig.launch(rig.a(), &x, &mut y);
        reset();
        rig.launch(&again, &x, &mut y);
        assert_eq!(marks(), []);
    }
}

/// Random steps on random streams, launched in random ways, with nothing between them but what the buffers remember.
#[test]
fn results_are_those_of_one_stream() {
    const N: usize = 1000;
    const STEPS: u32 = 400;
    let ctx = CudaContext::new(0).unwrap();
    let module = ctx.load_module(include_str!("kernels/ordering.ptx")).unwrap();
    let (collect, step) = (module.load_function("collect").unwrap(), module.load_function("step").unwrap());
    let mut streams: Vec<_> = (0..4).map(|_| ctx.new_stream().unwrap()).collect();
    streams.push(ctx.default_stream());
    let config = LaunchConfig::for_num_elems(N as u32);
    let mut buffers: Vec<_> =
        (0..3).map(|i| DeviceBuffer::from_host(&streams[i], &[i as u32; N]).unwrap()).collect();
    let mut model = [0u32, 1, 2];
    let mut seed = 12345u32;
    let mut random = |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % n
    };
    for i in 0..STEPS {
        let stream = &streams[random(5) as usize];
        let (to, from) = (random(3) as usize, random(3) as usize);
        let mut target = buffers.remove(to);
        let (m, a) = (2 * i + 1, random(1000));
        let form = FORMS[random(FORMS.len() as u32) as usize];
        match random(4) {
            0 => {
                let source = DeviceBuffer::from_host(stream, &[a; N]).unwrap();
                target.view_mut().copy_from_device(stream, &source).unwrap();
                model[to] = a;
            }
            1 if from != to => {
                let source = &buffers[if from < to { from } else { from - 1 }];
                form.collect((&collect, stream, config), &mut target, source).unwrap();
                model[to] = model[to].wrapping_mul(31).wrapping_add(model[from]);
            }
            _ => {
                form.step((&step, stream, config), &mut target, m, a).unwrap();
                model[to] = model[to].wrapping_mul(m).wrapping_add(a);
            }
        }
        buffers.insert(to, target);
    }
    for (buffer, value) in buffers.iter().zip(model) {
        // A stream that none of the steps ran on.
        assert_eq!(buffer.to_host_vec(&ctx.new_stream().unwrap()).unwrap(), vec![value; N]);
    }
}

#[test]
fn a_buffer_may_move_to_another_thread_and_stream() {
    let ctx = CudaContext::new(0).unwrap();
    let shared = Arc::new(DeviceBuffer::from_host(&ctx.new_stream().unwrap(), &[7u32; 1000]).unwrap());
    let threads: Vec<_> = (0..4u32)
        .map(|i| {
            let (ctx, shared) = (ctx.clone(), shared.clone());
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let stream = ctx.new_stream().unwrap();
                    let mut own = DeviceBuffer::<u32>::zeroed(&stream, 1000).unwrap();
                    own.view_mut().copy_from_device(&stream, &*shared).unwrap();
                    drop(stream);
                    let other = ctx.new_stream().unwrap();
                    assert_eq!(own.to_host_vec(&other).unwrap(), [7; 1000], "thread {i}");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(Arc::strong_count(&shared), 1);
}

/// One of several tensors in an allocation: memory of a user's own.
struct Tensor {
    memory: Arc<DeviceBuffer<u8>>,
    address: u64,
    len: usize,
}

unsafe impl DeviceSlice for Tensor {
    type Element = u32;

    fn parts(&self) -> SliceParts<'_, u32> {
        unsafe { SliceParts::part_of(&self.memory, &self.address, &self.len) }
    }
}

unsafe impl DeviceSliceMut for Tensor {
    fn parts_mut(&mut self) -> SliceParts<'_, u32> {
        (*self).parts()
    }
}

#[test]
fn memory_of_ones_own_is_ordered_and_kept_like_a_buffer() {
    let rig = Rig::new(FORMS[0]);
    let memory = Arc::new(DeviceBuffer::<u8>::from_host(rig.a(), &[0; 32]).unwrap());
    let start = *memory.parts().address();
    let tensor = |at| Tensor { memory: memory.clone(), address: start + at, len: 4 };
    let (x, mut y) = (tensor(0), tensor(16));
    let launch = |stream: &CudaStream, to: &mut Tensor, from: &Tensor| {
        unsafe {
            cuda_launch! { function: rig.f, stream: stream, config: ONE, args: [slice_mut(to), slice(from)] }
        }
        .unwrap();
        support::packet()
    };
    reset();
    let packet = launch(rig.a(), &mut y, &x);
    let numbers = [start + 16, 4, start, 4].map(|number| number.to_ne_bytes().to_vec());
    assert_eq!((packet, marks()), (numbers.to_vec(), vec![]));
    launch(rig.b(), &mut y, &x);
    assert_eq!(marks(), crossing(rig.a(), rig.b()), "the memory of both");
    reset();
    drop((x, y, memory));
    assert_eq!(
        marks(),
        [("free", rig.b().raw().addr())],
        "where it was used last, without a wait of the host"
    );
}
