//! Random programs of operations, awaited, dropped, forgotten and failing in all ways, against a sequential reference; with an
//! empty ledger after each. They are alone in their process: what it has is counted.
//!
//! Ten thousand, or as many as one likes:
//!
//! ```text
//! CUDA_LAUNCH_RANDOM_PROGRAMS=1000000 cargo test --release --test operation_random -- --nocapture
//! ```

#![allow(unreachable_pub)]
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "operation_random/program.rs"]
mod program;
#[path = "operation_random/rig.rs"]
mod rig;
#[path = "operation_support/mod.rs"]
mod support;

use cuda_emulator::{LiveHandles, live_handles};
use cuda_launch::Error;
use cuda_launch::operation::{DeviceOperation, block_on, in_flight};
use program::{Bad, End, Form, Item, Op, Place, programs, reference};
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use rig::{Maker, Out, Rig};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::poll_once;

type Given = Result<Vec<u32>, Bad>;

/// What an item gave.
enum Gave {
    Given(Given),
    /// A thread waits for it.
    Later(JoinHandle<Given>),
    /// Nobody waits for it, or not for so long.
    Nothing,
}

/// Something was not so.
fn check(what: bool, why: impl FnOnce() -> String) -> Result<(), TestCaseError> {
    if what { Ok(()) } else { Err(TestCaseError::fail(why())) }
}

fn read(out: Result<Out, Error>) -> Given {
    out.map(|out| support::read(&out.buffer)).map_err(|_| Bad::Error)
}

fn begin(maker: &Maker, item: Item) -> Gave {
    let stream = &maker.rig.stream;
    if item.busy {
        stream.call_host(|| thread::sleep(Duration::from_micros(300))).unwrap();
    }
    let op = if item.busy { Op::At(Place::Single, Box::new(item.op)) } else { item.op };
    let op = maker.make(op);
    match item.end {
        End::Sync => Gave::Given(read(op.sync())),
        End::SyncOn => Gave::Given(read(op.sync_on(stream))),
        End::Await => Gave::Given(read(block_on(op))),
        End::Thread => Gave::Later(thread::spawn(|| caught(|| read(block_on(op))))),
        End::AsyncOn => {
            let out = unsafe { op.async_on(stream) };
            Gave::Given(out.map(|out| out.buffer.to_host_vec(stream).unwrap()).map_err(|_| Bad::Error))
        }
        End::Submit => Gave::Given(read(op.submit_on(stream).map(|(out, event)| {
            event.synchronize().unwrap();
            out
        }))),
        End::Timeout(limit) => match block_on(op.timeout(Duration::from_micros(limit))) {
            Err(error) if error.is_timed_out() => Gave::Nothing,
            out => Gave::Given(read(out)),
        },
        End::Drop(polls) | End::Forget(polls) => {
            let mut future = op.future();
            for _ in 0..polls {
                if let Poll::Ready(out) = poll_once(&mut future) {
                    return Gave::Given(read(out));
                }
            }
            if matches!(item.end, End::Forget(_)) {
                std::mem::forget(future);
            }
            Gave::Nothing
        }
    }
}

fn caught(f: impl FnOnce() -> Given) -> Given {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(Err(Bad::Panic))
}

type Alive = [(Item, Maker)];

struct Lab {
    rig: Arc<Rig>,
    /// What there was before the first program.
    before: Cell<LiveHandles>,
    /// Outputs of earlier programs' futures that were forgotten. Some end late: they are counted each time.
    forgotten: RefCell<Vec<Arc<rig::Alive>>>,
}

impl Lab {
    fn new() -> Self {
        let rig = Arc::new(Rig::new().unwrap());
        let lab = Self { rig, before: Cell::default(), forgotten: RefCell::default() };
        // What driver and crate keep for themselves they have after this.
        for form in [Form::Macro, Form::Builder, Form::Address, Form::Owned] {
            let op = Op::Shared(Box::new(Op::Step(Box::new(Op::Filled(7)), form, 3, 5)));
            let op = Op::Zip(Box::new(op), Box::new(Op::At(Place::Device, Box::new(Op::Zeroed))));
            let item = |end, busy| Item { op: op.clone(), end, busy };
            lab.compare(vec![item(End::Await, true), item(End::Drop(1), true), item(End::Sync, false)])
                .unwrap();
        }
        lab.rig.ctx.synchronize().unwrap();
        lab.before.set(live_handles());
        lab
    }

    /// Runs a program, compares what it gives, and looks at what is left.
    fn run(&self, items: Vec<Item>) -> Result<(), TestCaseError> {
        let alive = self.compare(items)?;
        self.ledger(&alive)
    }

    fn compare(&self, items: Vec<Item>) -> Result<Vec<(Item, Maker)>, TestCaseError> {
        let mut begun = Vec::new();
        for item in items {
            let maker = Maker { rig: self.rig.clone(), outs: Arc::default(), kept: Arc::default() };
            let result = catch_unwind(AssertUnwindSafe(|| begin(&maker, item.clone())));
            begun.push((item, maker, result.unwrap_or(Gave::Given(Err(Bad::Panic)))));
        }
        let mut alive = Vec::new();
        for (item, maker, result) in begun {
            let given = match result {
                Gave::Given(given) => Some(given),
                Gave::Later(thread) => Some(thread.join().unwrap()),
                Gave::Nothing => None,
            };
            let expected = reference(&item.op).map(|words| words.to_vec());
            if let Some(given) = given {
                check(given == expected, || format!("{given:?} instead of {expected:?}: {item:?}"))?;
            }
            alive.push((item, maker));
        }
        settled(&alive)?;
        Ok(alive)
    }

    /// Everything that was made has ended, but for what was forgotten.
    fn ledger(&self, alive: &Alive) -> Result<(), TestCaseError> {
        let start = Instant::now();
        loop {
            self.rig.ctx.synchronize().unwrap();
            // Of a future that was forgotten some may still end: what was in it and failed.
            let new = alive.iter().map(|(_, maker)| &maker.outs);
            let forgotten: usize = self.forgotten.borrow().iter().chain(new).map(|outs| outs.count()).sum();
            let (mut now, mut before) = (live_handles(), self.before.get());
            // Events wait for their next use; a forgotten buffer keeps the stream that it is of and the one that wrote it last.
            (now.events, before.events) = (now.events.saturating_sub(2048), 0);
            let streams = before.streams..=before.streams + 2 * forgotten;
            let allocations = before.allocations + forgotten * usize::from(on_emulator());
            let is_empty = streams.contains(&now.streams) && now.allocations == allocations;
            (now.streams, now.allocations) = (before.streams, before.allocations);
            if is_empty && now == before {
                let mut all = self.forgotten.borrow_mut();
                all.extend(alive.iter().map(|(_, maker)| maker.outs.clone()).filter(|outs| outs.count() > 0));
                return Ok(());
            }
            if start.elapsed() > Duration::from_secs(120) {
                let why =
                    format!("{forgotten} forgotten, but {:?}\nwere {:?}", live_handles(), self.before.get());
                // A smaller program that does the same is looked for from here.
                self.forgotten.borrow_mut().clear();
                self.before.set(live_handles());
                return Err(TestCaseError::fail(why));
            }
            thread::yield_now();
        }
    }
}

/// What nobody waited for has ended, but for what was forgotten.
fn settled(alive: &Alive) -> Result<(), TestCaseError> {
    let left = |(item, maker): &(Item, Maker)| {
        !matches!(item.end, End::Forget(_)) && maker.outs.count() + maker.kept.count() > 0
    };
    let start = Instant::now();
    while in_flight() > 0 || alive.iter().any(left) {
        check(start.elapsed() < Duration::from_secs(120), || {
            let of = alive.iter().map(|(item, maker)| (item.end, maker.outs.count(), maker.kept.count()));
            format!("{} in flight; of each, outputs and kept: {:?}", in_flight(), of.collect::<Vec<_>>())
        })?;
        thread::yield_now();
    }
    Ok(())
}

/// A GPU has no ledger.
fn on_emulator() -> bool {
    live_handles() != LiveHandles::default()
}

fn random(cases: u32) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (lab, start) = (Lab::new(), Instant::now());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let said = Cell::new(false);
    let result = TestRunner::new(config).run(&programs(), |items| {
        let program = items.clone();
        lab.run(items).inspect_err(|why| {
            // At once: whoever stops the search for a smaller program has this one.
            if !said.replace(true) {
                eprintln!("{why}\n{program:#?}");
            }
        })
    });
    println!(
        "{cases} programs in {:.1} s, {} outputs forgotten",
        start.elapsed().as_secs_f64(),
        lab.forgotten.borrow().iter().map(|outs| outs.count()).sum::<usize>()
    );
    println!("left: {:?}", live_handles());
    if let Err(TestError::Fail(why, program)) = &result {
        panic!("{why}\n{program:#?}");
    }
    result.unwrap();
}

#[test]
fn random_programs_give_what_the_reference_gives() {
    let asked = std::env::var("CUDA_LAUNCH_RANDOM_PROGRAMS").ok();
    random(asked.map_or(4_000, |programs| programs.parse().expect("a number of programs")));
}
