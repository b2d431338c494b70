//! Every object that calls created or mentioned: its name, and whether it is alive.

use crate::kernel::Kernel;
use crate::kind::Kind;
use crate::value::ObjectName;
use std::backtrace::Backtrace;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A hash for handles and addresses, which no adversary chooses.
pub(crate) type Quick = rustc_hash::FxBuildHasher;

/// The number of an object among all that have existed. Numbers are not reused.
pub(crate) type Place = usize;

/// The number of destroyed objects that are remembered, the last ones: a long-running program may create and destroy
/// very many.
const MOST_ENDED: usize = 1 << 16;

/// An object that the driver has created, or that existed before.
pub(crate) struct Object {
    pub(crate) name: ObjectName,
    /// The handle or start address.
    pub(crate) address: u64,
    /// The size of memory; 0 if unknown.
    pub(crate) bytes: u64,
    /// Whether it counts towards the limit of device memory.
    pub(crate) counted: bool,
    /// The call that created it, and its function; `None` if it existed before.
    pub(crate) made_by: Option<(usize, &'static str)>,
    pub(crate) ended_by: Option<usize>,
    /// Whether a call released it directly, and not only an object to which it belonged.
    pub(crate) is_released: bool,
    /// The context that was current at its creation, or that of its owner; 0 if unknown.
    pub(crate) context: u64,
    /// The object with which it is destroyed.
    pub(crate) owner: Option<Place>,
    pub(crate) shares: u64,
    pub(crate) backtrace: Option<Arc<Backtrace>>,
    /// What is known about a function or kernel.
    pub(crate) kernel: Option<Arc<Kernel>>,
}

impl Object {
    pub(crate) fn is_live(&self) -> bool {
        self.ended_by.is_none()
    }

    /// Whether this is a capture that was lost when its stream was destroyed.
    fn is_lost_capture(&self) -> bool {
        let is_open = !self.is_live() && !self.is_released && self.made_by.is_some();
        is_open && self.name.kind() == Kind::Capture
    }

    /// Whether the program must still release it.
    pub(crate) fn is_owed(&self) -> bool {
        self.is_live() && self.made_by.is_some() && self.owner.is_none() && self.name.kind().is_owned()
    }
}

/// The properties of a new object.
pub(crate) struct New {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) counted: bool,
    pub(crate) made_by: Option<(usize, &'static str)>,
    pub(crate) context: u64,
    pub(crate) owner: Option<Place>,
    pub(crate) shares: u64,
}

impl New {
    pub(crate) fn of(kind: Kind, address: u64, made_by: Option<(usize, &'static str)>) -> New {
        New { kind, address, bytes: 0, counted: false, made_by, context: 0, owner: None, shares: 1 }
    }
}

/// All objects of a spy.
#[derive(Default)]
pub(crate) struct Objects {
    all: HashMap<Place, Object, Quick>,
    /// The number of the next object.
    next: Place,
    /// The live objects.
    live: BTreeSet<Place>,
    /// The destroyed objects, oldest first.
    ended: VecDeque<Place>,
    /// The objects that belong to each owner.
    owned: HashMap<Place, BTreeSet<Place>>,
    /// The newest object of each family and address.
    latest: HashMap<(Kind, u64), Place, Quick>,
    /// Device and host memory, by start address. The ranges do not overlap.
    ranges: BTreeMap<u64, Place>,
    numbers: HashMap<Kind, u32>,
    /// The handle of each device's primary context, if a call that returned it was observed.
    pub(crate) primaries: HashMap<u64, u64>,
    /// Bytes of device memory that are allocated.
    pub(crate) counted: u64,
    /// The number of open captures.
    pub(crate) captures: usize,
    backtraces: bool,
}

impl Objects {
    pub(crate) fn new(backtraces: bool) -> Objects {
        Objects { backtraces, ..Objects::default() }
    }

    /// The live objects, in the order of their creation.
    pub(crate) fn live(&self) -> impl Iterator<Item = (Place, &Object)> {
        self.live.iter().filter_map(|place| Some((*place, self.all.get(place)?)))
    }

    /// Captures that were never ended, and were lost with their streams.
    #[cfg(feature = "check")]
    pub(crate) fn lost_captures(&self) -> impl Iterator<Item = &Object> {
        let mut lost: Vec<&Object> = self.all.values().filter(|object| object.is_lost_capture()).collect();
        lost.sort_by_key(|object| object.made_by);
        lost.into_iter()
    }

    pub(crate) fn at(&self, place: Place) -> Option<&Object> {
        self.all.get(&place)
    }

    pub(crate) fn at_mut(&mut self, place: Place) -> Option<&mut Object> {
        self.all.get_mut(&place)
    }

    /// The newest object of the kind's family with that handle.
    pub(crate) fn find(&self, kind: Kind, address: u64) -> Option<Place> {
        let found = self.latest.get(&(kind.family(), address)).copied();
        // The driver accepts kernels of libraries as functions.
        match kind {
            Kind::Function => found.or_else(|| self.latest.get(&(Kind::Kernel, address)).copied()),
            _ => found,
        }
    }

    /// As [`find`](Self::find); an object that was never seen gets a name.
    pub(crate) fn meet(&mut self, kind: Kind, address: u64) -> Place {
        match self.find(kind, address) {
            Some(place) => place,
            None => self.make(New::of(kind, address, None)),
        }
    }

    /// The memory that contains an address, and the offset in it.
    pub(crate) fn memory_at(&self, address: u64) -> Option<(Place, u64)> {
        let (start, place) = self.ranges.range(..=address).next_back()?;
        let object = self.at(*place)?;
        let offset = address - start;
        (offset < object.bytes.max(1)).then_some((*place, offset))
    }

    /// The range from the begin of the first known memory to the end of the last.
    #[cfg(feature = "record")]
    pub(crate) fn span(&self) -> std::ops::Range<u64> {
        let end = |place: &Place| self.at(*place).map(|object| object.address.saturating_add(object.bytes));
        let first = self.ranges.keys().next().copied().unwrap_or(0);
        first..self.ranges.values().next_back().and_then(end).unwrap_or(0)
    }

    /// The live memory that ends before an address, and the distance in bytes.
    #[cfg(feature = "check")]
    pub(crate) fn memory_before(&self, address: u64) -> Option<(&Object, u64)> {
        let (start, place) = self.ranges.range(..=address).next_back()?;
        let object = self.at(*place).filter(|object| object.is_live())?;
        let between = address.checked_sub(start.checked_add(object.bytes)?)?;
        Some((object, between))
    }

    pub(crate) fn make(&mut self, new: New) -> Place {
        let place = self.next;
        self.next += 1;
        let before = self.latest.insert((new.kind.family(), new.address), place);
        if let Some(before) = before.filter(|before| self.live.contains(before)) {
            // It was destroyed without an observed call.
            self.end(before, new.made_by.map_or(0, |(call, _)| call));
            self.all.get_mut(&before).into_iter().for_each(|before| before.is_released = true);
        }
        if matches!(
            new.kind.family(),
            Kind::Memory | Kind::HostMemory | Kind::Reservation | Kind::Registration
        ) {
            self.claim(new.address, new.bytes.max(1), place);
        }
        if new.counted {
            self.counted = self.counted.saturating_add(new.bytes);
        }
        let number = self.numbers.entry(new.kind).or_default();
        *number += 1;
        let wants_backtrace = self.backtraces && new.made_by.is_some() && new.owner.is_none();
        self.all.insert(
            place,
            Object {
                name: ObjectName::new(new.kind, *number),
                address: new.address,
                bytes: new.bytes,
                counted: new.counted,
                made_by: new.made_by,
                ended_by: None,
                is_released: false,
                context: new.context,
                owner: new.owner,
                shares: new.shares,
                backtrace: wants_backtrace.then(|| Arc::new(Backtrace::force_capture())),
                kernel: None,
            },
        );
        self.live.insert(place);
        self.forget_ended();
        self.captures += usize::from(new.kind == Kind::Capture);
        if let Some(owner) = new.owner {
            self.owned.entry(owner).or_default().insert(place);
        }
        place
    }

    /// Assigns the range to the new object; earlier objects there were destroyed, or are the same memory under
    /// another name.
    fn claim(&mut self, start: u64, bytes: u64, place: Place) {
        for (at, _) in self.overlapping(start, bytes) {
            self.ranges.remove(&at);
        }
        self.ranges.insert(start, place);
    }

    /// What is known of a range: start addresses and objects.
    fn overlapping(&self, start: u64, bytes: u64) -> Vec<(u64, Place)> {
        let reaches = |place: &Place| {
            let object = self.all.get(place);
            object.is_some_and(|object| object.address.saturating_add(object.bytes.max(1)) > start)
        };
        let before = self.ranges.range(..start.saturating_add(bytes)).rev();
        before.take_while(|(_, place)| reaches(place)).map(|(at, place)| (*at, *place)).collect()
    }

    /// Forgets freed memory in a range where there is something else now, that no call made.
    pub(crate) fn forget_freed(&mut self, start: u64, bytes: u64) {
        for (at, place) in self.overlapping(start, bytes.max(1)) {
            let Some(object) = self.all.get(&place).filter(|object| !object.is_live()) else { continue };
            let key = (object.name.kind().family(), object.address);
            self.ranges.remove(&at);
            if self.latest.get(&key) == Some(&place) {
                self.latest.remove(&key);
            }
        }
    }

    /// Marks an object and everything that belongs to it as destroyed.
    pub(crate) fn end(&mut self, place: Place, call: usize) {
        let Some(object) = self.all.get_mut(&place).filter(|object| object.is_live()) else { return };
        object.ended_by = Some(call);
        self.live.remove(&place);
        self.ended.push_back(place);
        if object.counted {
            self.counted = self.counted.saturating_sub(object.bytes);
        }
        let (kind, address) = (object.name.kind(), object.address);
        self.captures -= usize::from(kind == Kind::Capture);
        if kind == Kind::Stream {
            // A capture on the stream is lost with it.
            self.latest
                .get(&(Kind::Capture, address))
                .copied()
                .into_iter()
                .for_each(|capture| self.end(capture, call));
        }
        // The list is kept, because `revive` needs it.
        for owned in self.owned.get(&place).cloned().unwrap_or_default() {
            self.end(owned, call);
        }
    }

    /// Forgets the objects that were destroyed first, so that they are no longer reported.
    fn forget_ended(&mut self) {
        while self.ended.len() > MOST_ENDED
            && let Some(place) = self.ended.pop_front()
        {
            let is_over = |object: &&Object| !object.is_live() && !object.is_lost_capture();
            let Some(object) = self.all.get(&place).filter(is_over) else { continue };
            let (key, address) = ((object.name.kind().family(), object.address), object.address);
            if let Some(siblings) = object.owner.and_then(|owner| self.owned.get_mut(&owner)) {
                siblings.remove(&place);
            }
            // There may be another object with the handle or address.
            if self.latest.get(&key) == Some(&place) {
                self.latest.remove(&key);
            }
            if self.ranges.get(&address) == Some(&place) {
                self.ranges.remove(&address);
            }
            self.owned.remove(&place);
            self.all.remove(&place);
        }
    }

    /// Undoes `end`, because the call failed to destroy the object and what belongs to it.
    pub(crate) fn revive(&mut self, place: Place, call: usize) {
        if let Some(object) = self.all.get_mut(&place).filter(|object| object.ended_by == Some(call)) {
            object.ended_by = None;
            object.is_released = false;
            self.live.insert(place);
            // It is one of the last, because the call that marked it is still in progress.
            if let Some(at) = self.ended.iter().rposition(|ended| *ended == place) {
                self.ended.remove(at);
            }
            self.captures += usize::from(object.name.kind() == Kind::Capture);
            if object.counted {
                self.counted = self.counted.saturating_add(object.bytes);
            }
            for owned in self.owned.get(&place).cloned().unwrap_or_default() {
                self.revive(owned, call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creating and destroying objects for days takes bounded memory, and live objects that were created before are still known.
    #[test]
    fn only_the_last_objects_that_ended_are_remembered() {
        let mut objects = Objects::default();
        let made = |objects: &mut Objects, kind, address: u64, call| {
            objects.make(New { bytes: 16, ..New::of(kind, address, Some((call, "cuMemAlloc_v2"))) })
        };
        let old = made(&mut objects, Kind::Memory, 16, 1);
        let module = made(&mut objects, Kind::Module, 1, 2);
        let stream = made(&mut objects, Kind::Stream, 5, 3);
        let lost = made(&mut objects, Kind::Capture, 5, 4);
        objects.end(stream, 5);
        // The handle of a destroyed object, which a live object then keeps.
        let gone = made(&mut objects, Kind::Memory, 48, 4);
        objects.end(gone, 5);
        let again = made(&mut objects, Kind::Memory, 48, 6);
        let mut last = Vec::new();
        for round in 0..2 * MOST_ENDED as u64 {
            // Handles that are reused, and handles that are not.
            for address in [32, 80 + 16 * round] {
                let place = made(&mut objects, Kind::Memory, address, 6);
                objects.end(place, 7);
                last.push(place);
            }
        }
        let kept = MOST_ENDED + 5;
        let sizes = [objects.all.len(), objects.latest.len(), objects.ranges.len()];
        assert!(sizes.iter().all(|size| *size <= kept), "{sizes:?}");
        assert!([old, module].into_iter().all(|place| objects.at(place).is_some_and(Object::is_live)));
        assert_eq!(objects.memory_at(20), Some((old, 4)));
        assert_eq!((objects.find(Kind::Memory, 48), objects.memory_at(50)), (Some(again), Some((again, 2))));
        assert!(objects.at(lost).is_some_and(Object::is_lost_capture) && objects.at(stream).is_none());
        // The objects destroyed last, by their handle.
        let recent = last.last().copied();
        assert_eq!(objects.find(Kind::Memory, 80 + 16 * (2 * MOST_ENDED as u64 - 1)), recent);
        assert_eq!(objects.find(Kind::Memory, 80), None);
        // The driver has not destroyed this one after all.
        recent.into_iter().for_each(|place| objects.revive(place, 7));
        assert!(recent.and_then(|place| objects.at(place)).is_some_and(Object::is_live));
        assert!(recent.is_some_and(|place| !objects.ended.contains(&place)));
    }

    /// For example nodes that are added to a graph and removed for days.
    #[test]
    fn an_owner_forgets_what_is_forgotten() {
        let mut objects = Objects::default();
        let graph = objects.make(New::of(Kind::Graph, 1, Some((1, "cuGraphCreate"))));
        let node = |objects: &mut Objects, handle| {
            let new = New::of(Kind::GraphNode, handle, Some((2, "cuGraphAddEmptyNode")));
            objects.make(New { owner: Some(graph), ..new })
        };
        let kept = node(&mut objects, 2);
        for round in 0..2 * MOST_ENDED as u64 {
            let place = node(&mut objects, 3 + round);
            objects.end(place, 3);
        }
        let owned = objects.owned.get(&graph).map_or(0, BTreeSet::len);
        assert!(owned <= MOST_ENDED + 2, "{owned}");
        objects.end(graph, 4);
        assert!(objects.at(kept).is_some_and(|node| !node.is_live()));
    }

    /// Another capture may begin on a stream with the handle of the destroyed one.
    #[test]
    fn a_capture_that_went_with_its_stream_is_lost_whatever_comes_after_it() {
        let mut objects = Objects::default();
        for call in [1, 4] {
            let stream = objects.make(New::of(Kind::Stream, 5, Some((call, "cuStreamCreate"))));
            objects.make(New::of(Kind::Capture, 5, Some((call + 1, "cuStreamBeginCapture_v2"))));
            objects.end(stream, call + 2);
        }
        let lost: Vec<&Object> = objects.all.values().filter(|object| object.is_lost_capture()).collect();
        assert_eq!(lost.len(), 2);
    }
}
