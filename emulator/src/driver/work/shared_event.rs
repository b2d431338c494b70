//! Events that several processes record and wait for, on pages that all of them have.
//!
//! The pages count the records. Each has a place, which tells its number, how far it is and which process does the work before it. The first
//! place whose record is done is used again. Who waits asks now and then: nobody has to wake a process that may have ended.

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

/// How many records can be pending: more than a stream takes before it is full.
const PLACES: usize = (Board::LEN - FIRST) / NUMBERS;
/// Numbers of a place: how far it is, whose it is (see [`holder`]), and when that process started.
const NUMBERS: usize = 3;
/// The first number of the first place. Before it: how many records were begun, and the last one that others can see.
const FIRST: usize = 2;
/// How often a process is looked after that does not go on.
const CHECK: Duration = Duration::from_millis(20);

/// How far a record is: beside its number, in the lowest bits. A place that was never used has a record that is done.
const DONE: u64 = 0;
const PENDING: u64 = 1;
/// The work before it was not done.
const FAILED: u64 = 2;
const BITS: u32 = 2;

/// How far the record of a place is.
fn progress(state: u64) -> u64 {
    state & ((1 << BITS) - 1)
}

/// Whose a place is: the process's number, below the lowest bits of the record's.
fn holder(record: u64, process: u32) -> u64 {
    record << u32::BITS | u64::from(process)
}

/// A record and its place, as one number: later records have greater ones.
#[derive(Clone, Copy)]
struct Point(u64);

/// Bits of a place.
const PLACE_BITS: u32 = 16;
const _: () = assert!(PLACES < 1 << PLACE_BITS);

impl Point {
    fn new(record: u64, place: usize) -> Point {
        Point(record << PLACE_BITS | place as u64)
    }

    /// The lowest bits of the record's number, as a place has them.
    fn record(self) -> u64 {
        self.0 >> PLACE_BITS
    }

    fn place(self) -> usize {
        (self.0 & ((1 << PLACE_BITS) - 1)) as usize
    }
}

/// An event that other processes may have, too.
pub(in crate::driver) struct SharedEvent {
    board: Board,
    own: Process,
    /// What others open it by, and the file that it means; `None` where another process made it.
    handle: Option<(Handle, Arc<SharedFile>)>,
    /// The last record that was made here.
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
        SharedEvent::on(&file, Some((handle, Arc::clone(&file))))
    }

    /// That of another process.
    pub(in crate::driver) fn opened(file: SharedFile) -> Option<SharedEvent> {
        SharedEvent::on(&Arc::new(file), None)
    }

    fn on(file: &Arc<SharedFile>, handle: Option<(Handle, Arc<SharedFile>)>) -> Option<SharedEvent> {
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
        self.handle.as_ref().map(|(handle, _)| *handle)
    }

    fn number(&self, index: usize) -> &AtomicU64 {
        &self.board.numbers()[index % Board::LEN]
    }

    /// The numbers of a place.
    fn place(&self, place: usize) -> [&AtomicU64; NUMBERS] {
        std::array::from_fn(|at| self.number(FIRST + NUMBERS * place + at))
    }

    /// The last record, unless this process made it or there is none.
    pub(in crate::driver) fn elsewhere(self: &Arc<Self>) -> Option<Awaited> {
        let last = self.number(1).load(Ordering::Acquire);
        let is_here = last == self.here.load(Ordering::Acquire);
        (last != 0 && !is_here).then(|| Awaited { event: Arc::clone(self), point: Point(last) })
    }

    /// From now on it stands for a point that is not reached yet.
    pub(super) fn begin(self: &Arc<Self>) -> Recording {
        // Another process may have written any number there.
        let record = self.number(0).fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        let point = Point::new(record, self.claim(Point::new(record, 0).record()));
        let [_, id, start] = self.place(point.place());
        start.store(self.own.start, Ordering::Relaxed);
        id.store(holder(point.record(), self.own.id), Ordering::Release);
        self.here.fetch_max(point.0, Ordering::AcqRel);
        self.number(1).fetch_max(point.0, Ordering::AcqRel);
        Recording { event: Arc::clone(self), point, answer: FAILED }
    }

    /// Takes a place for a record; where all are pending this waits, as where a queue is full. A failed one stays as long as others are
    /// free, for who asks late.
    fn claim(&self, record: u64) -> usize {
        let claims = |place: usize, is_free: &dyn Fn(u64) -> bool| {
            let [state, ..] = self.place(place);
            let before = state.load(Ordering::Acquire);
            let pending = record << BITS | PENDING;
            is_free(before)
                && state.compare_exchange(before, pending, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let is_done = |state: u64| progress(state) == DONE;
        let mut pause = Pause::default();
        loop {
            let free = (0..PLACES).find(|place| claims(*place, &is_done));
            let left =
                |place: usize| move |state| progress(state) == FAILED || self.is_left(place, state >> BITS);
            let free = free.or_else(|| (0..PLACES).find(|place| claims(*place, &left(*place))));
            match free {
                Some(place) => return place,
                None => pause.rest(),
            }
        }
    }

    /// Whether the process that has a place for a record has ended.
    fn is_left(&self, place: usize, record: u64) -> bool {
        let [_, id, start] = self.place(place);
        let word = id.load(Ordering::Acquire);
        let process = Process { id: word as u32, start: start.load(Ordering::Relaxed) };
        // Else it has not said yet who it is, and that is who had the place before.
        word == holder(record, process.id) && process != self.own && !process.is_alive()
    }

    /// How far a record is.
    fn look(&self, point: Point) -> Look {
        let [state, ..] = self.place(point.place());
        let told = |state: u64| match (state >> BITS == point.record(), progress(state)) {
            (true, PENDING) => Look::Pending,
            (true, FAILED) => Look::Lost,
            // A place is used again when what was there is over.
            _ => Look::Done,
        };
        let first = told(state.load(Ordering::Acquire));
        if first != Look::Pending || !self.is_time_to_check() || !self.is_left(point.place(), point.record())
        {
            return first;
        }
        // Whoever asks next is told the same at once. It may have come that far just before it ended.
        let of_record = point.record() << BITS;
        let (pending, failed) = (of_record | PENDING, of_record | FAILED);
        match state.compare_exchange(pending, failed, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Look::Lost,
            Err(other) => told(other),
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
    point: Point,
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
        let [state, ..] = self.event.place(self.point.place());
        let of_record = self.point.record() << BITS;
        // Another process may have written anything there: then that stands.
        let (pending, answer) = (of_record | PENDING, of_record | self.answer);
        let _ = state.compare_exchange(pending, answer, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// A record that another process made.
pub(in crate::driver) struct Awaited {
    event: Arc<SharedEvent>,
    point: Point,
}

impl Awaited {
    /// How far it is.
    pub(in crate::driver) fn look(&self) -> Look {
        self.event.look(self.point)
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
        slot::PROCESS => "process from now on",
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
        let next = one.begin();
        assert_eq!((next.point.place(), awaited.look()), (0, Look::Done));
        drop(next);
        assert_eq!((awaited.look(), look(&other)), (Look::Done, Some(Look::Lost)));
        // One that failed is told as long as there are other places.
        let failed = other.elsewhere().unwrap();
        (0..3).for_each(|_| other.begin().reached());
        assert_eq!((failed.look(), look(&one)), (Look::Lost, Some(Look::Done)));
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
        // Those that failed are used at last.
        drop(pending);
        (0..PLACES).for_each(|_| other.begin().reached());
    }

    /// Any process that has the event can do this.
    #[test]
    fn any_numbers_are_taken() {
        let [one, other] = two();
        one.board.numbers().iter().for_each(|number| number.store(u64::MAX, Ordering::Release));
        assert_eq!(other.elsewhere().map(|other| other.wait()), Some(Look::Done));
        other.number(FIRST).store(DONE, Ordering::Release);
        let recording = other.begin();
        assert_eq!(recording.point.place(), 0);
        recording.reached();
    }

    #[test]
    fn a_record_of_a_process_that_has_ended_is_lost() {
        let [one, other] = two();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let own = Process::own();
        for gone in [Process { id: child.id(), ..own }, Process { start: own.start + 1, ..own }] {
            let recording = one.begin();
            let [state, id, start] = one.place(recording.point.place());
            id.store(holder(recording.point.record(), gone.id), Ordering::Release);
            start.store(gone.start, Ordering::Release);
            assert_eq!(other.elsewhere().unwrap().wait(), Look::Lost);
            assert_eq!(look(&other), Some(Look::Lost));
            // Somebody else has its place before this process comes to tell.
            let next = (recording.point.record() + 1) << BITS | PENDING;
            state.store(next, Ordering::Release);
            recording.reached();
            // Who that is it has not said yet: it is not taken for the one that has ended, whose words are still there.
            assert!(!other.is_left(0, next >> BITS));
            assert_eq!(state.swap(DONE, Ordering::AcqRel), next);
        }
    }
}
