//! The runs of one launch: after the one in the ordinary order, one for each seed.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::super::env::Env;
use super::super::fault::Fault;
use super::super::kernel::Kernel;
use super::super::launch::{Launch, Printer, RunControl, Stats};
use super::driver::{Driver, End};
use super::{TICK, Undo};
use crate::check::{Checker, Finding};
use crate::interrupt;
use crate::memory::Memory;
use crate::schedule::{DifferenceKind, ScheduleDifference, Scheduler};

/// The undo log for the writes of a launch, if it runs under several orders.
pub(in crate::engine) fn undo_of(kernel: &Kernel, memory: &Memory) -> Option<Arc<Mutex<Undo>>> {
    let scheduler = memory.scheduler().filter(|scheduler| scheduler.schedules().count() > 0)?;
    (!kernel.scheduled.is_empty()).then(|| Arc::new(Mutex::new(Undo::at(scheduler.now()))))
}

/// Runs a launch again under each seed, after the ordinary order has ended with that result, and leaves memory in the state of the
/// ordinary order. After a fault there is nothing to compare with.
pub(in crate::engine) fn run_others(env: &Env<'_>, result: &Result<Stats, Box<Fault>>, ends: RunControl<'_>) {
    let (Ok(stats), Some(scheduler)) = (result, env.memory.scheduler()) else { return };
    let Some(undo) = &env.undo else {
        let reason = env.kernel.one_order.filter(|_| scheduler.schedules().count() > 0);
        reason.into_iter().for_each(|reason| scheduler.ran_once(&env.kernel.name, reason));
        return;
    };
    scheduler.pass(stats.instructions.saturating_mul(TICK));
    let unwanted = || interrupt::is_asked() || ends.unwanted.is_some_and(|unwanted| unwanted.load(Relaxed));
    if unwanted() {
        return;
    }
    let lock = || undo.lock().unwrap_or_else(PoisonError::into_inner);
    lock().end_first(env.memory, &env.snapshot);
    let mut found = Found { env, scheduler, orders: 0, list: Vec::new(), checks: known_places(env) };
    // An order of a few instructions ends before it asks.
    for seed in scheduler.schedules().seeds().take_while(|_| !unwanted()) {
        if let Some(progress) = ends.progress {
            progress.orders.fetch_add(1, Relaxed);
        }
        let checker = env.memory.checker().map(|checker| Arc::new(Checker::new(checker.checks())));
        let (end, unseen) = run(env, checker.clone(), seed, stats.instructions, ends, &unwanted);
        let different = lock().rewind(env.memory, &env.snapshot);
        match end {
            End::Unwanted => break,
            End::Fault(fault) => found.add(seed, DifferenceKind::Fault(*fault), &unseen),
            End::Hang(fault) => found.add(seed, DifferenceKind::Hang(*fault), &unseen),
            End::Done => {
                if let Some(bytes) = different {
                    found.add(seed, DifferenceKind::Memory(bytes), &unseen);
                }
            }
        }
        found.orders += 1;
        scheduler.count_order();
        for finding in checker.map(|checker| checker.take().list).unwrap_or_default() {
            if !found.checks.contains(&place(&finding)) {
                found.add(seed, DifferenceKind::Check(finding.into()), &unseen);
            }
        }
    }
    lock().settle(&env.snapshot);
    found.tell();
}

/// One order.
fn run(
    env: &Env<'_>,
    checker: Option<Arc<Checker>>,
    seed: u64,
    usual: u64,
    ends: RunControl<'_>,
    unwanted: &dyn Fn() -> bool,
) -> (End, Vec<[u32; 2]>) {
    let late_stores = env.memory.scheduler().is_some_and(|scheduler| scheduler.schedules().has_late_stores());
    let memory = env.memory.apart(checker);
    // Its output was already printed.
    let launch = Launch { printer: Printer::new(|_| {}), ..env.launch.clone() };
    let again = Env {
        kernel: env.kernel,
        launch: &launch,
        cluster: env.cluster,
        memory: &memory,
        snapshot: Arc::clone(&env.snapshot),
        params: env.params,
        workspace: env.workspace,
        stop: AtomicBool::new(false),
        deadline: ends.limit.and_then(|limit| Some((Instant::now().checked_add(limit)?, limit))),
        ends,
        undo: env.undo.clone(),
        // Kernels that launch others, or graphs, have one order.
        runtime: None,
        grid_id: env.grid_id,
    };
    Driver::new(&again, seed, late_stores, usual, unwanted).map_or((End::Done, Vec::new()), Driver::run)
}

/// Kind and lines of what a check found.
type CheckedPlace = (&'static str, u32, u32);

fn place(finding: &Finding) -> CheckedPlace {
    let (mine, other) = (finding.access.ptx_line, finding.other.as_ref().map_or(0, |other| other.ptx_line));
    (finding.kind.name(), mine.min(other), mine.max(other))
}

/// The findings of the checks in the kernel so far, in the ordinary order.
fn known_places(env: &Env<'_>) -> HashSet<CheckedPlace> {
    let Some(checker) = env.memory.checker() else { return HashSet::new() };
    checker.peek().iter().filter(|finding| finding.kernel == env.kernel.name).map(place).collect()
}

/// The differences that the orders of a launch have shown.
struct Found<'f> {
    env: &'f Env<'f>,
    scheduler: &'f Scheduler,
    orders: u64,
    list: Vec<ScheduleDifference>,
    checks: HashSet<CheckedPlace>,
}

impl Found<'_> {
    fn add(&mut self, seed: u64, kind: DifferenceKind, unseen: &[[u32; 2]]) {
        let same = |known: &&mut ScheduleDifference| match (&known.kind, &kind) {
            (DifferenceKind::Check(known), DifferenceKind::Check(new)) => place(known) == place(new),
            (known, new) => known.name() == new.name(),
        };
        match self.list.iter_mut().find(same) {
            Some(known) => known.times += 1,
            None => {
                let kernel = self.env.kernel.name.clone();
                let unseen_stores = unseen.to_vec();
                self.list.push(ScheduleDifference { kernel, seed, times: 1, orders: 0, kind, unseen_stores });
            }
        }
    }

    fn tell(self) {
        for difference in self.list {
            self.scheduler.add(ScheduleDifference { orders: self.orders, ..difference });
        }
    }
}
