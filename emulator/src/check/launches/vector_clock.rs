//! What is known to have happened before something.

/// The number of one piece of work: the how manieth of its lane. Work of one lane is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    pub(super) lane: u64,
    pub(super) count: u64,
}

/// A vector clock: for some lanes, how much of their work is over. Whatever the host knew at a point is over as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorClock {
    /// The point in the order of what the host has learned.
    pub(super) host: u64,
    /// Sorted by lane.
    lanes: Vec<Epoch>,
}

impl VectorClock {
    /// All that the host knew then.
    pub(super) fn of_host(host: u64) -> VectorClock {
        VectorClock { host, lanes: Vec::new() }
    }

    /// Whether that work is in it.
    pub(super) fn contains(&self, epoch: Epoch) -> bool {
        self.known(epoch.lane).is_some_and(|known| epoch.count <= known)
    }

    fn known(&self, lane: u64) -> Option<u64> {
        let at = self.lanes.binary_search_by_key(&lane, |epoch| epoch.lane).ok()?;
        self.lanes.get(at).map(|epoch| epoch.count)
    }

    /// Adds that work, and what is before it in its lane.
    pub(super) fn add(&mut self, epoch: Epoch) {
        match self.lanes.binary_search_by_key(&epoch.lane, |known| known.lane) {
            Ok(at) => {
                if let Some(known) = self.lanes.get_mut(at) {
                    known.count = known.count.max(epoch.count);
                }
            }
            Err(at) => self.lanes.insert(at, epoch),
        }
    }

    /// Adds all that is in the other one.
    pub(crate) fn join(&mut self, other: &VectorClock) {
        self.host = self.host.max(other.host);
        if self.lanes.is_empty() {
            self.lanes.clone_from(&other.lanes);
            return;
        }
        other.lanes.iter().for_each(|epoch| self.add(*epoch));
    }

    /// Forgets the other lanes.
    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.lanes.retain(|epoch| keep(epoch.lane));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_of_two_counts_stays() {
        let epoch = |lane, count| Epoch { lane, count };
        let (mut one, mut other) = (VectorClock::of_host(3), VectorClock::of_host(1));
        one.add(epoch(1, 4));
        other.add(epoch(2, 1));
        other.add(epoch(1, 2));
        other.join(&one);
        assert!(other.contains(epoch(1, 4)) && other.contains(epoch(2, 1)) && other.host == 3);
        assert!(!other.contains(epoch(1, 5)) && !other.contains(epoch(3, 0)));
        one.join(&VectorClock::default());
        one.retain(|lane| lane != 1);
        assert_eq!(one, VectorClock::of_host(3));
    }
}
