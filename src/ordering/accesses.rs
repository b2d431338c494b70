//! Which streams access a piece of memory, and which of them the next access must wait for. Independent of the driver:
//! loom tests it.
//!
//! Two words let most submissions proceed: a bit for each stream that may read, and one for the stream that may write.
//! They are a summary of a list behind a lock, which all other submissions consult. The invariants:
//!
//! 1. A stream whose work may access the memory is in the list, from before that work is submitted until another stream of
//!    the list is ordered after it, or until the work is done.
//! 2. A stream whose bit is set in `readers` is in the list and is ordered after every write by the others, none of which may
//!    write again without consulting the list.
//! 3. A stream whose bit is in `writer` has written and is alone in the list.
//! 4. A stream of the list is ordered after every write by the others that was noted up to its `after`. A write that proceeds on the bit
//!    in `writer` alone is not noted, but a thread that finds such a writer in the list has cleared that bit before.
//!
//! A bit counts only for an announced submission. A thread that clears a bit therefore waits for the stream only after checking whether
//! all submissions that may have seen the bit have finished (see `submissions`). If not, the wait may miss one of them: the
//! stream stays in the list, without the bit, and the next one waits for it again.
//!
//! Nobody waits for a stream while the lock is held: the stream may be in a host function that waits for another thread's access to
//! this memory. An access is noted, then the others are waited for, then the list is read again: an entry is removed, or a bit set,
//! only if no access that must come first was noted in the meantime.

use super::entries::Entries;
use super::submissions::Submissions;
use super::sync::{AtomicU64, Mutex, MutexGuard, Ordering, PoisonError};
use super::waits::{Waits, have_finished};

/// A queue of work: a stream, or its counterpart in a model.
pub(crate) trait Queue: Clone {
    /// The error of its operations.
    type Error;

    /// Its submissions.
    fn submissions(&self) -> &Submissions;

    /// The submissions among them whose memory is not borrowed (launches of graphs).
    fn unborrowed(&self) -> &Submissions;

    /// Waits until other threads have submitted to `earlier` the work that they have announced there, which `is_so`
    /// tells.
    fn wait_until(&self, earlier: &Self, is_so: impl Fn() -> bool) -> Result<(), Self::Error>;

    /// Its bit, together with the bits of its owner; [`NO_KEY`] if it has no bit.
    fn key(&self) -> u64;

    /// The same, after taking a free bit if it has none.
    fn claim_key(&self) -> u64;

    /// Whether both are the same queue, so that their work runs in the order of submission.
    fn is(&self, other: &Self) -> bool;

    /// Makes work submitted to it from now on wait for the work submitted to `earlier` so far.
    fn wait_for(&self, earlier: &Self) -> Result<(), Self::Error>;

    /// Whether the host has seen the end of its first `announced` submissions: work submitted to any queue from now on comes after them.
    fn has_seen_end_of(&self, announced: usize) -> bool;

    /// Whether all work submitted to it so far is done; `false` if that is unknown.
    fn is_done(&self) -> bool;
}

/// The upper bits of a memory's words, and of a queue's key, identify the owner: each bit of the owner's number and its
/// complement, so that `word & key == key` only if the numbers are equal. The lower bits are for queues.
const OWNER_BITS: u32 = 6;

/// How many queues of an owner can have a bit at the same time.
pub(crate) const QUEUES: u32 = u64::BITS - 2 * OWNER_BITS;

/// The key of a queue that has no bit: no word of memory contains all of its bits.
pub(crate) const NO_KEY: u64 = u64::MAX;

/// How many owners can have a number at the same time.
pub(crate) const OWNERS: u32 = 1 << OWNER_BITS;

/// The bits of the owner with this number, below [`OWNERS`], in words and keys.
pub(crate) const fn owner(number: u32) -> u64 {
    let number = (number % OWNERS) as u64;
    let opposite = !number & (OWNERS as u64 - 1);
    (number | opposite << OWNER_BITS) << QUEUES
}

/// The bits of `key` that may be set and cleared in memory of `owner`; none but the owner's if the key is of another one.
fn bits(owner: u64, key: u64) -> u64 {
    if owner != 0 && key != NO_KEY && key & owner == owner { key } else { owner }
}

/// The accesses to one piece of memory that later ones may have to wait for.
#[derive(Debug)]
pub(crate) struct Accesses<Q> {
    readers: AtomicU64,
    writer: AtomicU64,
    /// Whose memory it is: only streams of the same owner get bits.
    owner: u64,
    list: Mutex<List<Q>>,
}

#[derive(Debug)]
struct List<Q> {
    entries: Entries<Entry<Q>>,
    /// The length at which the list is searched for entries whose work is done.
    limit: usize,
    /// The number of accesses noted so far.
    notes: u64,
}

#[derive(Debug)]
struct Entry<Q> {
    queue: Q,
    /// The number of its last note.
    note: u64,
    /// The number of the note of its last write; 0 if it has not written.
    wrote: u64,
    /// The queue is ordered after the writes of all others up to the note with this number. So a queue without a bit waits only once for
    /// memory that it reads repeatedly.
    after: u64,
    /// The number of submissions that had been announced on the queue when its bit in `readers` was cleared.
    /// `lost_writing`: the same for `writer`.
    lost_reading: Option<usize>,
    lost_writing: Option<usize>,
}

/// The list is searched for entries whose work is done only from this length on. It exceeds the number of bits, so that streams which read
/// repeatedly are not removed between two short kernels.
const FEW: usize = QUEUES as usize + 12;

impl<Q: Queue> Accesses<Q> {
    /// Memory of this [`owner`] that has not been accessed yet; 0 for memory whose accesses all go through the list.
    pub(crate) fn new(owner: u64) -> Self {
        let list = List { entries: Entries::new(), limit: FEW, notes: 0 };
        Self { readers: AtomicU64::new(owner), writer: AtomicU64::new(owner), owner, list: Mutex::new(list) }
    }

    /// Memory of this owner that an announced submission to `queue` makes; the list has it as a write. No other thread knows of the memory
    /// yet, so nothing is locked.
    pub(crate) fn made_by(queue: Q, owner: u64) -> Self {
        let bits = bits(owner, queue.claim_key());
        let entry = Entry { queue, note: 1, wrote: 1, after: 0, lost_reading: None, lost_writing: None };
        let list = List { entries: Entries::One(entry), limit: FEW, notes: 1 };
        Self { readers: AtomicU64::new(bits), writer: AtomicU64::new(bits), owner, list: Mutex::new(list) }
    }

    /// The word that contains all bits of a queue's key if a submission announced on that queue may read (or write, if
    /// `written`) without waiting for anything.
    #[inline(always)]
    pub(crate) fn word(&self, written: bool) -> u64 {
        // SeqCst, as the announcement before it: see `submissions`.
        if written { self.writer.load(Ordering::SeqCst) } else { self.readers.load(Ordering::SeqCst) }
    }

    /// The bits of `key` that may be set and cleared here.
    fn bits(&self, key: u64) -> u64 {
        bits(self.owner, key)
    }

    /// Notes that an announced submission to `queue` reads, and makes it wait for all that others wrote.
    pub(crate) fn read(&self, queue: &Q, waits: &mut Waits<Q>) -> Result<(), Q::Error> {
        let mut list = self.list();
        if list.entries.len() >= list.limit && !list.entries.iter().any(|entry| entry.queue.is(queue)) {
            list = self.prune(list);
        }
        self.writer.store(self.owner, Ordering::SeqCst);
        let known = list.note(queue, false);
        list.entries.iter_mut().for_each(Entry::lose_writing);
        let after = |entry: &Entry<Q>| entry.wrote > known && !entry.queue.is(queue) && !entry.is_over();
        list.name(waits, after, |entry| entry.has_finished(entry.lost_writing, Some(queue)));
        let mut list = self.come_after(list, queue, waits)?;
        // Otherwise this queue is not ordered after everything that one of them writes, or that another queue has
        // written in the meantime.
        let is_last = |entry: &Entry<Q>| !after(entry) || waits.cover(entry.note);
        let notes = list.notes;
        if list.entries.iter().all(is_last)
            && let Some(own) = list.entries.iter_mut().find(|entry| entry.queue.is(queue))
        {
            (own.after, own.lost_reading) = (notes, None);
            self.readers.fetch_or(self.bits(queue.claim_key()), Ordering::SeqCst);
        }
        Ok(())
    }

    /// Notes that an announced submission to `queue` writes, and makes it wait for all that others read or wrote.
    pub(crate) fn write(&self, queue: &Q, waits: &mut Waits<Q>) -> Result<(), Q::Error> {
        let mut list = self.list();
        self.take_bits(&mut list);
        // Noted first: this queue waits for the entries that are removed below, so it must be in the list for others to
        // wait for.
        list.note(queue, true);
        if list.entries.len() > 1 {
            list = self.strike(list, |entry| !entry.queue.is(queue) && entry.is_over());
            list.name(waits, |entry| !entry.queue.is(queue), |entry| entry.has_lost_all(Some(queue)));
            list = self.come_after(list, queue, waits)?;
            // `waits` keeps the queues of the removed entries alive.
            list.entries.retain(|entry| !waits.cover(entry.note));
        }
        if let [own] = &mut *list.entries
            && own.queue.is(queue)
        {
            (own.lost_reading, own.lost_writing) = (None, None);
            let bits = self.bits(queue.claim_key());
            self.readers.store(bits, Ordering::SeqCst);
            self.writer.store(bits, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Makes `queue` wait for the queues that were named. The lock is released meanwhile: the wait may take long, and may end only
    /// after another access to this memory.
    fn come_after<'a>(
        &'a self,
        list: MutexGuard<'a, List<Q>>,
        queue: &Q,
        waits: &mut Waits<Q>,
    ) -> Result<MutexGuard<'a, List<Q>>, Q::Error> {
        if waits.named().next().is_none() {
            return Ok(list);
        }
        drop(list);
        waits.wait(queue)?;
        Ok(self.list())
    }

    /// The queues whose work may use the memory now, to be waited for.
    pub(crate) fn pending(&self) -> Waits<Q> {
        let (mut list, mut waits) = (self.list(), Waits::default());
        self.take_bits(&mut list);
        list.name(&mut waits, |_| true, |entry| entry.has_lost_all(None));
        waits
    }

    /// The host has waited for all of `pending`, which need not be waited for again.
    pub(crate) fn settle(&self, pending: &Waits<Q>) {
        // `pending` keeps the queues of the removed entries alive.
        self.list().entries.retain(|entry| !pending.cover(entry.note));
    }

    /// The host has waited for everything, and the memory cannot have been used in the meantime.
    pub(crate) fn forget(&self) {
        let mut list = self.list();
        self.take_bits(&mut list);
        drop(self.strike(list, |_| true));
    }

    /// The accesses so far, for the next owner of the memory; none are left here.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.owner))
    }

    /// The queues that wrote.
    pub(crate) fn writers(&self) -> Vec<Q> {
        self.list().entries.iter().filter(|entry| entry.wrote != 0).map(|entry| entry.queue.clone()).collect()
    }

    /// The queue, if there is one only, whose work may use the memory. No model needs it, and loom's locks know no `get_mut`.
    #[cfg(not(cuda_launch_loom))]
    pub(crate) fn only(&mut self) -> Option<&Q> {
        match &*self.list.get_mut().unwrap_or_else(PoisonError::into_inner).entries {
            [only] => Some(&only.queue),
            _ => None,
        }
    }

    /// All queues whose work may use the memory.
    pub(crate) fn queues(&self) -> Vec<Q> {
        self.list().entries.iter().map(|entry| entry.queue.clone()).collect()
    }

    /// Removes entries that are done.
    fn prune<'a>(&'a self, list: MutexGuard<'a, List<Q>>) -> MutexGuard<'a, List<Q>> {
        let mut list = self.strike(list, |entry| {
            // Asked before the bit is cleared, so that a busy queue keeps it, and again afterwards, when no further
            // submission can rely on it.
            if !entry.queue.is_done() {
                return false;
            }
            self.readers.fetch_and(!self.bits(entry.queue.key()) | self.owner, Ordering::SeqCst);
            entry.lose_reading();
            entry.lose_writing();
            entry.has_lost_all(None) && entry.queue.is_done()
        });
        list.limit = FEW.max(2 * list.entries.len());
        list
    }

    /// Removes these entries. They are dropped while the list is not locked: an entry may hold the last handle of a stream, and with
    /// it user objects that the context owns, whose `Drop` may do anything.
    fn strike<'a>(
        &'a self,
        mut list: MutexGuard<'a, List<Q>>,
        mut which: impl FnMut(&mut Entry<Q>) -> bool,
    ) -> MutexGuard<'a, List<Q>> {
        let mut at = 0;
        while let Some(entry) = list.entries.get_mut(at) {
            if !which(entry) {
                at += 1;
                continue;
            }
            let gone = list.entries.swap_remove(at);
            drop(list);
            drop(gone);
            list = self.list();
        }
        list
    }

    /// Clears all bits, so that from now on every access consults the list.
    fn take_bits(&self, list: &mut List<Q>) {
        self.writer.store(self.owner, Ordering::SeqCst);
        self.readers.store(self.owner, Ordering::SeqCst);
        for entry in list.entries.iter_mut() {
            entry.lose_reading();
            entry.lose_writing();
        }
    }

    // Nothing panics while the lock is held, and every intermediate state of the list is valid.
    fn list(&self) -> MutexGuard<'_, List<Q>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q: Queue> List<Q> {
    /// Tells `waits` which queues to wait for; `is_complete` says whether all accesses of an entry are noted, so that no unnoted
    /// one can follow.
    fn name(
        &self,
        waits: &mut Waits<Q>,
        which: impl Fn(&Entry<Q>) -> bool,
        is_complete: impl Fn(&Entry<Q>) -> bool,
    ) {
        waits.begin();
        for entry in self.entries.iter().filter(|entry| which(entry)) {
            waits.name(&entry.queue, is_complete(entry).then_some(entry.note));
        }
    }

    /// Notes an access. Returns the note up to which the queue was already ordered after all writes of others.
    fn note(&mut self, queue: &Q, wrote: bool) -> u64 {
        self.notes += 1;
        let note = self.notes;
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.queue.is(queue)) else {
            let (queue, lost_reading, lost_writing) = (queue.clone(), None, None);
            let wrote = if wrote { note } else { 0 };
            self.entries.push(Entry { queue, note, wrote, after: 0, lost_reading, lost_writing });
            return 0;
        };
        (entry.note, entry.lost_reading) = (note, None);
        if wrote {
            (entry.wrote, entry.lost_writing) = (note, None);
        }
        entry.after
    }
}

impl<Q: Queue> Entry<Q> {
    /// Records that its bit in `readers` was cleared.
    fn lose_reading(&mut self) {
        self.lost_reading.get_or_insert_with(|| self.queue.submissions().announced());
    }

    /// Records that its bit in `writer` was cleared.
    fn lose_writing(&mut self) {
        self.lost_writing.get_or_insert_with(|| self.queue.submissions().announced());
    }

    /// Whether all submissions that may have seen a bit before it was cleared have finished; `by` is the queue whose
    /// submission in progress asks.
    fn has_finished(&self, lost: Option<usize>, by: Option<&Q>) -> bool {
        lost.is_some_and(|announced| have_finished(&self.queue, announced, by))
    }

    /// Whether the host has seen the end of all work announced on the queue.
    fn is_over(&self) -> bool {
        self.queue.has_seen_end_of(self.queue.submissions().announced())
    }

    /// [`has_finished`](Self::has_finished) for both bits.
    fn has_lost_all(&self, by: Option<&Q>) -> bool {
        self.has_finished(self.lost_reading, by) && self.has_finished(self.lost_writing, by)
    }
}
