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

use std::num::NonZeroUsize;

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

    /// A number that no other queue has as long as this one lives. Work of one queue runs in the order of submission.
    fn id(&self) -> usize;

    /// Whether both are the same queue.
    fn is(&self, other: &Self) -> bool {
        self.id() == other.id()
    }

    /// Whether both are handles of one stream, whose work runs in the order of submission whichever handle it was submitted to.
    fn shares_stream(&self, other: &Self) -> bool;

    /// Makes work submitted to it from now on wait for the work submitted to `earlier` so far.
    fn wait_for(&self, earlier: &Self) -> Result<(), Self::Error>;

    /// Whether the host has seen the end of its first `announced` submissions: work submitted to any queue from now on comes after them.
    fn has_seen_end_of(&self, announced: usize) -> bool;

    /// Whether all work submitted to it so far is done; `false` if that is unknown.
    fn is_done(&self) -> bool;

    /// Whether nothing more is submitted to it, and all that was submitted has finished.
    fn has_ended(&self) -> bool;

    /// Makes this queue, which has ended and is not known to be done, stand for the work of `other`, which has ended too: a wait for this
    /// one is a wait for both, and it is done when both are. `false` if that is not so.
    fn stand_in_for(&self, other: &Self) -> bool;
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
    /// In the order of their queues' numbers, so that a queue finds its own among many.
    entries: Entries<Entry<Q>>,
    /// The length at which the list is searched for entries whose work is done.
    limit: u32,
    /// Where an entry was found last.
    found: u32,
    /// The number of accesses noted so far.
    notes: u64,
    /// The number of the note of the last write.
    last_write: u64,
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
    lost_reading: Option<NonZeroUsize>,
    lost_writing: Option<NonZeroUsize>,
}

/// The list is searched for entries whose work is done only from this length on. It exceeds the number of bits, so that streams which read
/// repeatedly are not removed between two short kernels.
const FEW: u32 = QUEUES + 12;

/// So many handles of one stream have an entry each, and so a bit. If there are more, such as a new one for each access, the last one replaces
/// the others.
const HANDLES: usize = if cfg!(cuda_launch_loom) { 1 } else { 16 };

/// Takes the entry at a place out of a list, or nothing.
type TakesOut<'t, Q> = &'t mut dyn FnMut(&mut List<Q>, usize) -> Option<Entry<Q>>;

impl<Q: Queue> Accesses<Q> {
    /// Memory of this [`owner`] that has not been accessed yet; 0 for memory whose accesses all go through the list.
    pub(crate) fn new(owner: u64) -> Self {
        let list = List { entries: Entries::new(), limit: FEW, found: 0, notes: 0, last_write: 0 };
        Self { readers: AtomicU64::new(owner), writer: AtomicU64::new(owner), owner, list: Mutex::new(list) }
    }

    /// Memory of this owner that an announced submission to `queue` makes; the list has it as a write. No other thread knows of the memory
    /// yet, so nothing is locked.
    pub(crate) fn made_by(queue: Q, owner: u64) -> Self {
        let bits = bits(owner, queue.claim_key());
        let entry = Entry { queue, note: 1, wrote: 1, after: 0, lost_reading: None, lost_writing: None };
        let list = List { entries: Entries::One(entry), limit: FEW, found: 0, notes: 1, last_write: 1 };
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
        let known = match list.find(queue) {
            // Nobody has written since, and no other one can without a note, as none is alone in the list.
            Ok(at) if list.entries[at].after >= list.last_write => {
                list.notes += 1;
                list.entries[at].note = list.notes;
                self.may_read(&mut list, at, queue);
                return Ok(());
            }
            Ok(_) => list.note(queue, false),
            Err(_) => {
                list = self.merge_ended(list);
                if list.entries.len() >= list.limit as usize {
                    list = self.prune(list);
                }
                list.note(queue, false);
                let (handles, known) = list.join_handles(queue);
                if handles > HANDLES {
                    list = self.take_out(list, &mut |list, at| self.replace(list, at, queue));
                }
                known
            }
        };
        self.writer.store(self.owner, Ordering::SeqCst);
        list.entries.iter_mut().for_each(Entry::lose_writing);
        let after = |entry: &Entry<Q>| entry.wrote > known && !entry.queue.is(queue) && !entry.is_over();
        list.name(waits, after, |entry| entry.has_finished(entry.lost_writing, Some(queue)));
        let mut list = self.come_after(list, queue, waits)?;
        // Otherwise this queue is not ordered after everything that one of them writes, or that another queue has
        // written in the meantime.
        let is_last = |entry: &Entry<Q>| !after(entry) || waits.cover(entry.note);
        if list.entries.iter().all(is_last)
            && let Ok(at) = list.find(queue)
        {
            self.may_read(&mut list, at, queue);
        }
        Ok(())
    }

    /// The queue of the entry at `at` is ordered after all writes of others: sets its bit in `readers`, if it has one.
    fn may_read(&self, list: &mut List<Q>, at: usize, queue: &Q) {
        let own = &mut list.entries[at];
        (own.after, own.lost_reading) = (list.notes, None);
        self.readers.fetch_or(self.bits(queue.claim_key()), Ordering::SeqCst);
    }

    /// Notes that an announced submission to `queue` writes, and makes it wait for all that others read or wrote.
    pub(crate) fn write(&self, queue: &Q, waits: &mut Waits<Q>) -> Result<(), Q::Error> {
        let mut list = self.list();
        if !matches!(&*list.entries, [own] if own.queue.is(queue)) {
            self.take_bits(&mut list);
        }
        // Noted first: this queue waits for the entries that are removed below, so it must be in the list for others to
        // wait for.
        list.note(queue, true);
        if list.entries.len() > 1 {
            list = self.strike(list, &mut |entry| !entry.queue.is(queue) && entry.is_over());
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
        drop(self.strike(list, &mut |_| true));
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

    /// Leaves one entry for all queues that have ended, so that the list does not grow with each of them, and their bits are free again.
    fn merge_ended<'a>(&'a self, list: MutexGuard<'a, List<Q>>) -> MutexGuard<'a, List<Q>> {
        self.take_out(list, &mut |list, at| self.merge(list, at))
    }

    /// Removes the entry at `at` if it is that of another handle of the stream of `queue`, whose submission is in progress: whoever waits for
    /// that waits for the work of the other handle too.
    fn replace(&self, list: &mut List<Q>, at: usize, queue: &Q) -> Option<Entry<Q>> {
        let own = list.find(queue).ok()?;
        let other = list.entries.get_mut(at).filter(|_| at != own)?;
        if !other.queue.shares_stream(queue) {
            return None;
        }
        self.take_bits_of(other);
        // Another thread may be about to submit to it.
        if !other.has_lost_all(Some(queue)) {
            return None;
        }
        let wrote = other.wrote;
        let own = &mut list.entries[own];
        own.wrote = own.wrote.max(wrote);
        list.entries.remove(at)
    }

    /// Removes the entry at `at` if its queue has ended, and is done or another one stands for it from now on.
    fn merge(&self, list: &mut List<Q>, at: usize) -> Option<Entry<Q>> {
        let ended = list.entries.get_mut(at).filter(|entry| entry.queue.has_ended())?;
        // No submission relies on its bits any more.
        self.take_bits_of(ended);
        if !ended.queue.is_done() {
            let (before, rest) = list.entries.split_at_mut(at);
            let ended = rest.first()?;
            let stands_in =
                |entry: &&mut Entry<Q>| entry.queue.has_ended() && entry.queue.stand_in_for(&ended.queue);
            let stand_in = before.iter_mut().find(stands_in)?;
            // A note of its own: a wait that was begun before does not cover it.
            list.notes += 1;
            (stand_in.note, stand_in.wrote) = (list.notes, stand_in.wrote.max(ended.wrote));
        }
        list.entries.remove(at)
    }

    /// Removes entries that are done.
    fn prune<'a>(&'a self, list: MutexGuard<'a, List<Q>>) -> MutexGuard<'a, List<Q>> {
        let mut list = self.strike(list, &mut |entry| {
            // Asked before the bit is cleared, so that a busy queue keeps it, and again afterwards, when no further
            // submission can rely on it.
            if !entry.queue.is_done() {
                return false;
            }
            self.take_bits_of(entry);
            entry.has_lost_all(None) && entry.queue.is_done()
        });
        list.limit = FEW.max(2 * list.entries.len() as u32);
        list
    }

    /// Removes these entries.
    fn strike<'a>(
        &'a self,
        list: MutexGuard<'a, List<Q>>,
        which: &mut dyn FnMut(&mut Entry<Q>) -> bool,
    ) -> MutexGuard<'a, List<Q>> {
        self.take_out(list, &mut |list, at| match which(list.entries.get_mut(at)?) {
            true => list.entries.remove(at),
            false => None,
        })
    }

    /// Calls `take` for each place of the list, until it returns nothing that it has taken out there. That is dropped while the list is not
    /// locked: an entry may hold the last handle of a stream, and with it user objects that the context owns, whose `Drop` may do anything.
    fn take_out<'a>(
        &'a self,
        mut list: MutexGuard<'a, List<Q>>,
        take: TakesOut<'_, Q>,
    ) -> MutexGuard<'a, List<Q>> {
        let mut at = 0;
        while list.entries.get(at).is_some() {
            let Some(gone) = take(&mut list, at) else {
                at += 1;
                continue;
            };
            drop(list);
            drop(gone);
            list = self.list();
        }
        list
    }

    /// Clears the bits of an entry, before it is removed: with it the key may become another queue's.
    fn take_bits_of(&self, entry: &mut Entry<Q>) {
        self.readers.fetch_and(!self.bits(entry.queue.key()) | self.owner, Ordering::SeqCst);
        // A queue has a bit there only if no other one is in the list, and may set it again.
        self.writer.store(self.owner, Ordering::SeqCst);
        entry.lose_reading();
        entry.lose_writing();
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
    /// Where the entry of this queue is; otherwise where it belongs.
    fn find(&mut self, queue: &Q) -> Result<usize, usize> {
        if self.entries.get(self.found as usize).is_none_or(|entry| !entry.queue.is(queue)) {
            self.found = self.entries.binary_search_by_key(&queue.id(), |entry| entry.queue.id())? as u32;
        }
        Ok(self.found as usize)
    }

    /// What one handle of a stream was made to come after, a new one of it, `queue`, comes after too. Returns how many handles there are, and
    /// the note up to which the stream is ordered after all writes of others.
    fn join_handles(&mut self, queue: &Q) -> (usize, u64) {
        let handles = self.entries.iter().filter(|entry| entry.queue.shares_stream(queue));
        let (count, after) =
            handles.fold((0, 0), |(count, after), entry| (count + 1, entry.after.max(after)));
        if let Ok(at) = self.find(queue) {
            self.entries[at].after = after;
        }
        (count, after)
    }

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
        if wrote {
            self.last_write = note;
        }
        let entry = match self.find(queue) {
            Ok(at) => &mut self.entries[at],
            Err(at) => {
                let (queue, lost_reading, lost_writing) = (queue.clone(), None, None);
                let wrote = if wrote { note } else { 0 };
                self.entries.insert(at, Entry { queue, note, wrote, after: 0, lost_reading, lost_writing });
                return 0;
            }
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
        self.lost_reading = self.lost_reading.or_else(|| self.announced());
    }

    /// Records that its bit in `writer` was cleared.
    fn lose_writing(&mut self) {
        self.lost_writing = self.lost_writing.or_else(|| self.announced());
    }

    /// Not 0: the submission that is in the list was announced.
    fn announced(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.queue.submissions().announced())
    }

    /// Whether all submissions that may have seen a bit before it was cleared have finished; `by` is the queue whose
    /// submission in progress asks.
    fn has_finished(&self, lost: Option<NonZeroUsize>, by: Option<&Q>) -> bool {
        lost.is_some_and(|announced| have_finished(&self.queue, announced.get(), by))
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
