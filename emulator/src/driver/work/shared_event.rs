//! Events that several processes record and wait for, on a page that all of them have.
//!
//! The page counts the records. Each has a place, which tells its number, how far it is and which process does the work before it; a place
//! is used again when later records come round. Who waits asks now and then: nobody has to wake a process that may have ended.

use cuda_driver_sys::CUresult;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::driver::ipc::handle::{Handle, Kind};
use crate::driver::ipc::process::Process;
use crate::driver::queue::{Elsewhere, Pause};
use crate::driver::state::{self, lock};
use crate::driver::{report, slot};
use crate::memory::{Board, SharedFile};

/// How many records can be before the one that happened last.
const PLACES: usize = 160;
/// Numbers of a place: how far it is, the process's number, and when it started.
const NUMBERS: usize = 3;
/// The first number of the first place. Before it: how many records were begun, and the last one that others can see.
const FIRST: usize = 2;
/// How often a process is looked after that does not go on.
const CHECK: Duration = Duration::from_millis(20);

const _: () = assert!(FIRST + NUMBERS * PLACES <= Board::LEN);

/// How far a record is: beside its number, in the lowest bits.
const PENDING: u64 = 0;
const DONE: u64 = 1;
/// The work before it was not done.
const FAILED: u64 = 2;
const BITS: u32 = 2;

/// An event that other processes may have, too.
pub(in crate::driver) struct SharedEvent {
    board: Board,
    own: Process,
    /// What others open it by; `None` where another process made it.
    handle: Option<Handle>,
    /// The number of the last record that was made here.
    here: AtomicU64,
    /// When a process was last looked after.
    checked: Mutex<Option<Instant>>,
}

/// What the last record of an event is waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Look {
    Pending,
    Done,
    /// The process that did the work before it has ended, or had a fault.
    Lost,
}

impl SharedEvent {
    /// A new event; `None` if the system has no such memory, or none left.
    pub(in crate::driver) fn new(serial: u64, device: u32) -> Option<SharedEvent> {
        let handle = Handle::new(Kind::Event, serial, device, Board::BYTES);
        let file = Arc::new(SharedFile::new(&handle.name(), handle.bytes)?);
        let handle = Handle { number: file.number(), ..handle };
        SharedEvent::on(&file, Some(handle))
    }

    /// That of another process.
    pub(in crate::driver) fn opened(file: SharedFile) -> Option<SharedEvent> {
        SharedEvent::on(&Arc::new(file), None)
    }

    fn on(file: &Arc<SharedFile>, handle: Option<Handle>) -> Option<SharedEvent> {
        let board = Board::new(file)?;
        Some(SharedEvent {
            board,
            own: Process::own(),
            handle,
            here: AtomicU64::new(0),
            checked: Mutex::default(),
        })
    }

    /// What others open it by.
    pub(in crate::driver) fn handle(&self) -> Option<Handle> {
        self.handle
    }

    fn number(&self, index: usize) -> &AtomicU64 {
        &self.board.numbers()[index % Board::LEN]
    }

    /// The numbers of the place of a record.
    fn place(&self, record: u64) -> [&AtomicU64; NUMBERS] {
        let first = FIRST + NUMBERS * (record % PLACES as u64) as usize;
        std::array::from_fn(|at| self.number(first + at))
    }

    /// The last record, unless this process made it or there is none.
    pub(in crate::driver) fn elsewhere(self: &Arc<Self>) -> Option<Awaited> {
        let record = self.number(1).load(Ordering::Acquire);
        let is_here = record == self.here.load(Ordering::Acquire);
        (record != 0 && !is_here).then(|| Awaited { event: Arc::clone(self), record })
    }

    /// From now on it stands for a point that is not reached yet.
    pub(super) fn begin(self: &Arc<Self>) -> Recording {
        let record = self.number(0).fetch_add(1, Ordering::AcqRel) + 1;
        let [state, id, start] = self.place(record);
        // So many are not reached: as where a queue is full.
        let before = state.load(Ordering::Acquire) >> BITS;
        let mut pause = Pause::default();
        while before != 0 && self.look(before) == Look::Pending {
            pause.rest();
        }
        id.store(u64::from(self.own.id), Ordering::Relaxed);
        start.store(self.own.start, Ordering::Relaxed);
        state.store(record << BITS | PENDING, Ordering::Release);
        self.here.fetch_max(record, Ordering::AcqRel);
        self.number(1).fetch_max(record, Ordering::AcqRel);
        Recording { event: Arc::clone(self), record, answer: FAILED }
    }

    /// How far a record is.
    fn look(&self, record: u64) -> Look {
        let [state, id, start] = self.place(record);
        let told = |state: u64| match (state >> BITS == record, state & ((1 << BITS) - 1)) {
            (true, PENDING) => Look::Pending,
            (true, FAILED) => Look::Lost,
            // A place is used again when what was there is over.
            _ => Look::Done,
        };
        let first = told(state.load(Ordering::Acquire));
        if first != Look::Pending || !self.is_time_to_check() {
            return first;
        }
        let process = Process { id: id.load(Ordering::Acquire) as u32, start: start.load(Ordering::Acquire) };
        if process == self.own || process.is_alive() {
            return Look::Pending;
        }
        // It may have come that far just before it ended.
        match told(state.load(Ordering::Acquire)) {
            Look::Pending => Look::Lost,
            other => other,
        }
    }

    fn is_time_to_check(&self) -> bool {
        let mut checked = lock(&self.checked);
        let due = checked.is_none_or(|last| last.elapsed() >= CHECK);
        if due {
            *checked = Some(Instant::now());
        }
        due
    }
}

/// A record whose point is not reached. Dropped before, it tells others that the work was not done.
pub(in crate::driver) struct Recording {
    event: Arc<SharedEvent>,
    record: u64,
    answer: u64,
}

impl Recording {
    /// The point is reached.
    pub(in crate::driver) fn reached(mut self) {
        self.answer = DONE;
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let [state, ..] = self.event.place(self.record);
        let pending = self.record << BITS | PENDING;
        // Another process may have written anything there: then that stands.
        let _ = state.compare_exchange(
            pending,
            self.record << BITS | self.answer,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}

/// A record that another process made.
pub(in crate::driver) struct Awaited {
    event: Arc<SharedEvent>,
    record: u64,
}

impl Awaited {
    /// How far it is.
    pub(in crate::driver) fn look(&self) -> Look {
        self.event.look(self.record)
    }

    /// Waits until it is over.
    pub(in crate::driver) fn wait(&self) -> Look {
        let mut pause = Pause::default();
        loop {
            match self.look() {
                Look::Pending => pause.rest(),
                over => return over,
            }
        }
    }
}

impl Elsewhere for Awaited {
    /// Work that waits for what will never come would use what nobody made: a fault, as where an external device fails.
    fn is_over(&self) -> bool {
        match self.look() {
            Look::Pending => false,
            Look::Done => true,
            Look::Lost => {
                lost();
                true
            }
        }
    }
}

/// What is answered for a record whose process has ended.
pub(in crate::driver) const LOST: CUresult = CUresult::CUDA_ERROR_EXTERNAL_DEVICE;

/// A stream was to wait for such a record.
fn lost() {
    let Some(state) = state::get() else { return };
    let place = match slot::current() {
        slot::PROCESS => "process from here on",
        _ => "emulator's instance until it is reset",
    };
    state.fault.latch_first(LOST, || {
        report::line(format_args!(
            "a stream waits for an event of a process that has ended, or had a fault, before it was done\n  {LOST:?}: CUDA is unusable in this {place}; \
             start that process again, and this one"
        ));
    });
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// An event as two processes have it.
    fn two() -> [Arc<SharedEvent>; 2] {
        let file = Arc::new(SharedFile::new("two", Board::BYTES).unwrap());
        [0; 2].map(|_| Arc::new(SharedEvent::on(&file, None).unwrap()))
    }

    fn look(event: &Arc<SharedEvent>) -> Option<Look> {
        event.elsewhere().map(|other| other.look())
    }

    #[test]
    fn who_did_not_record_it_looks_how_far_it_is() {
        let [one, other] = two();
        assert_eq!([look(&one), look(&other)], [None; 2]);
        let first = one.begin();
        assert_eq!([look(&one), look(&other)], [None, Some(Look::Pending)]);
        first.reached();
        assert_eq!([look(&one), look(&other)], [None, Some(Look::Done)]);
        drop(one.begin());
        assert_eq!([look(&one), look(&other)], [None, Some(Look::Lost)]);
        // It stands for what came last, here and elsewhere.
        let last = other.begin();
        assert_eq!([look(&one), look(&other)], [Some(Look::Pending), None]);
        drop(last);
    }

    #[test]
    fn records_are_told_apart() {
        let [one, other] = two();
        let first = one.begin();
        let awaited = other.elsewhere().unwrap();
        let second = one.begin();
        second.reached();
        assert_eq!((awaited.look(), look(&other)), (Look::Pending, Some(Look::Done)));
        first.reached();
        assert_eq!(awaited.look(), Look::Done);
        // Where the place of a record has another one, it is over, whatever becomes of that.
        (0..PLACES - 2).for_each(|_| one.begin().reached());
        let next = one.begin();
        assert_eq!(awaited.look(), Look::Done);
        drop(next);
        assert_eq!((awaited.look(), look(&other)), (Look::Done, Some(Look::Lost)));
    }

    #[test]
    fn records_wait_for_a_place() {
        let [one, other] = two();
        let mut pending: Vec<Recording> = (0..PLACES).map(|_| one.begin()).collect();
        let first = pending.remove(0);
        let is_reached = Arc::new(AtomicBool::new(false));
        let thread = {
            let (other, is_reached) = (Arc::clone(&other), Arc::clone(&is_reached));
            std::thread::spawn(move || {
                let recording = other.begin();
                assert!(is_reached.load(Ordering::Acquire), "the place of a record that is pending");
                recording.reached();
            })
        };
        std::thread::sleep(2 * CHECK);
        is_reached.store(true, Ordering::Release);
        first.reached();
        thread.join().unwrap();
        assert_eq!(look(&one), Some(Look::Done));
    }

    #[test]
    fn a_record_of_a_process_that_has_ended_is_lost() {
        let [one, other] = two();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let own = Process::own();
        for gone in [Process { id: child.id(), ..own }, Process { start: own.start + 1, ..own }] {
            let recording = one.begin();
            let [state, id, start] = one.place(recording.record);
            id.store(gone.id.into(), Ordering::Release);
            start.store(gone.start, Ordering::Release);
            assert_eq!(other.elsewhere().unwrap().wait(), Look::Lost);
            // Somebody else has its place before this process comes to tell.
            let next = (recording.record + PLACES as u64) << BITS | PENDING;
            state.store(next, Ordering::Release);
            recording.reached();
            assert_eq!(state.swap(DONE, Ordering::AcqRel), next);
        }
    }
}
