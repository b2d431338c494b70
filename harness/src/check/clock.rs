//! Vector clocks: how much of the work of each lane is done.
//!
//! A clock may omit what the host knows, because that precedes all later work. It is a tree whose shared nodes are never changed: lanes
//! with the same knowledge share it, entirely or in part. If a lane joins the clock of another and adds to it, only one path of the tree is
//! copied, not a list of all lanes. So a chain of events through many streams takes time and memory proportional to its length.

use std::sync::{Arc, OnceLock};

/// A lane, and how much of its work is done.
pub(super) type Entry = (usize, u64);

/// The number of lanes of a leaf, and of children of every other node.
const WIDTH: usize = 16;
const BITS: usize = WIDTH.trailing_zeros() as usize;

/// A part of a clock: lanes in order.
#[derive(Clone, Debug)]
enum Node {
    /// 0 for a lane about which nothing is known.
    Leaf([u64; WIDTH]),
    Branches([Option<Arc<Node>>; WIDTH]),
}

/// How much work of other lanes is done, beyond what the host knows.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    root: Option<Arc<Node>>,
    /// The number of levels above the leaves: 0 if the root is a leaf.
    height: usize,
}

/// What the host knows of each lane.
#[derive(Debug, Default)]
pub(super) struct Host {
    counts: Vec<u64>,
    /// Incremented whenever the host learns something.
    version: u64,
}

impl Host {
    pub(super) fn at(&self, lane: usize) -> u64 {
        self.counts.get(lane).copied().unwrap_or(0)
    }

    pub(super) fn learns(&mut self, (lane, count): Entry) {
        if self.counts.len() <= lane {
            self.counts.resize(lane + 1, 0);
        }
        if let Some(known) = self.counts.get_mut(lane).filter(|known| **known < count) {
            *known = count;
            self.version += 1;
        }
    }
}

/// The number of lanes below each child of a node of that height.
fn span(height: usize) -> usize {
    1 << (BITS * height)
}

impl Node {
    fn empty(height: usize) -> Node {
        if height == 0 { Node::Leaf([0; WIDTH]) } else { Node::Branches(Default::default()) }
    }

    fn at(&self, lane: usize, height: usize) -> u64 {
        step();
        let place = lane / span(height) % WIDTH;
        match self {
            Node::Leaf(counts) => counts.get(place).copied().unwrap_or(0),
            Node::Branches(branches) => {
                let below = branches.get(place).and_then(Option::as_deref);
                below.map_or(0, |below| below.at(lane, height - 1))
            }
        }
    }

    fn learns(&mut self, (lane, count): Entry, height: usize) {
        step();
        let place = lane / span(height) % WIDTH;
        match self {
            Node::Leaf(counts) => {
                counts.get_mut(place).into_iter().for_each(|known| *known = count.max(*known))
            }
            Node::Branches(branches) => {
                if let Some(below) = branches.get_mut(place) {
                    let below = below.get_or_insert_with(|| Arc::new(Node::empty(height - 1)));
                    Arc::make_mut(below).learns((lane, count), height - 1);
                }
            }
        }
    }

    /// The entries from a lane on, in order.
    fn each(&self, first: usize, height: usize, take: &mut impl FnMut(Entry)) {
        step();
        match self {
            Node::Leaf(counts) => {
                let entries = counts.iter().enumerate().filter(|(_, count)| **count > 0);
                entries.for_each(|(place, count)| take((first + place, *count)));
            }
            Node::Branches(branches) => {
                for (place, below) in branches.iter().enumerate() {
                    let first = first + place * span(height);
                    below.iter().for_each(|below| below.each(first, height - 1, take));
                }
            }
        }
    }

    /// Whether the host knows everything in it.
    fn is_known(&self, first: usize, height: usize, host: &Host) -> bool {
        step();
        match self {
            Node::Leaf(counts) => {
                counts.iter().enumerate().all(|(place, count)| host.at(first + place) >= *count)
            }
            Node::Branches(branches) => branches.iter().enumerate().all(|(place, below)| {
                let first = first + place * span(height);
                below.as_ref().is_none_or(|below| below.is_known(first, height - 1, host))
            }),
        }
    }
}

/// The maximum of two nodes for each lane. If one of them already is the maximum it is returned itself, preferably
/// the second.
fn joined(one: &Arc<Node>, other: &Arc<Node>, first: usize, height: usize, host: &Host) -> Arc<Node> {
    step();
    if Arc::ptr_eq(one, other) {
        return other.clone();
    }
    match (&**one, &**other) {
        (Node::Leaf(own), Node::Leaf(others)) => {
            // Entries that the host knows need not be kept.
            let news = |counts: &[u64; WIDTH]| {
                let mut lane = first..;
                counts.map(|count| if host.at(lane.next().unwrap_or(0)) >= count { 0 } else { count })
            };
            let has =
                |all: &[u64; WIDTH], part: &[u64; WIDTH]| all.iter().zip(part).all(|(all, part)| all >= part);
            let (own_news, others_news) = (news(own), news(others));
            if has(others, &own_news) {
                return other.clone();
            }
            if has(own, &others_news) {
                return one.clone();
            }
            let mut counts = own_news;
            counts.iter_mut().zip(others_news).for_each(|(count, other)| *count = other.max(*count));
            Arc::new(Node::Leaf(counts))
        }
        (Node::Branches(own), Node::Branches(others)) => {
            let mut place = 0..;
            let mut both = own.iter().zip(others);
            let branches = [(); WIDTH].map(|()| {
                let first = first + place.next().unwrap_or(0) * span(height);
                match both.next()? {
                    (Some(own), Some(other)) => Some(joined(own, other, first, height - 1, host)),
                    (own, other) => own.as_ref().or(other.as_ref()).cloned(),
                }
            });
            let is = |all: &[Option<Arc<Node>>; WIDTH]| {
                branches.iter().zip(all).all(|(own, other)| match (own, other) {
                    (Some(own), Some(other)) => Arc::ptr_eq(own, other),
                    (own, other) => own.is_none() && other.is_none(),
                })
            };
            if is(others) {
                other.clone()
            } else if is(own) {
                one.clone()
            } else {
                Arc::new(Node::Branches(branches))
            }
        }
        // Nodes of the same height are of the same kind.
        _ => other.clone(),
    }
}

impl Clock {
    pub(super) fn of(entries: impl IntoIterator<Item = Entry>, host: &Host) -> Clock {
        let mut clock = Clock::default();
        let news = entries.into_iter().filter(|(lane, count)| host.at(*lane) < *count);
        news.for_each(|entry| clock.learns(entry));
        clock
    }

    /// Calls `take` with every known entry, by lane.
    pub(super) fn each(&self, mut take: impl FnMut(Entry)) {
        self.root.iter().for_each(|root| root.each(0, self.height, &mut take));
    }

    pub(super) fn at(&self, lane: usize) -> u64 {
        let root = self.root.as_ref().filter(|_| lane < span(self.height + 1));
        root.map_or(0, |root| root.at(lane, self.height))
    }

    /// Whether both are the same tree.
    pub(super) fn is(&self, other: &Clock) -> bool {
        match (&self.root, &other.root) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// Grows to a height.
    fn grow(&mut self, height: usize) {
        while self.height < height {
            self.height += 1;
            if let Some(below) = self.root.take() {
                let mut below = Some(below);
                let branches = [(); WIDTH].map(|()| below.take());
                self.root = Some(Arc::new(Node::Branches(branches)));
            }
        }
    }

    pub(super) fn learns(&mut self, entry: Entry) {
        let mut height = self.height;
        while entry.0 >= span(height + 1) {
            height += 1;
        }
        self.grow(height);
        let root = self.root.get_or_insert_with(|| Arc::new(Node::empty(height)));
        Arc::make_mut(root).learns(entry, height);
    }

    /// Joins another clock; afterwards it is the other's tree, if that contains everything.
    pub(super) fn join(&mut self, other: &Clock, host: &Host) {
        let (Some(root), false) = (&other.root, self.is(other)) else { return };
        if self.root.is_none() {
            *self = other.clone();
            return;
        }
        self.grow(other.height);
        let mut lifted = other.clone();
        lifted.grow(self.height);
        let other = lifted.root.as_ref().unwrap_or(root);
        self.root = self.root.as_ref().map(|own| joined(own, other, 0, self.height, host));
    }

    fn is_known(&self, host: &Host) -> bool {
        self.root.as_ref().is_none_or(|root| root.is_known(0, self.height, host))
    }
}

/// The work that is done at a moment of a lane: the lane's own, and what its clock says. They are combined into one tree only on
/// demand, once for all users.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Arc<Parts>);

#[derive(Debug, Default)]
struct Parts {
    clock: Clock,
    own: Option<Entry>,
    whole: OnceLock<Clock>,
}

impl Seen {
    pub(super) fn of(clock: Clock, own: Option<Entry>) -> Seen {
        Seen(Arc::new(Parts { clock, own, whole: OnceLock::new() }))
    }

    pub(super) fn each(&self, mut take: impl FnMut(Entry)) {
        self.0.clock.each(&mut take);
        self.0.own.into_iter().for_each(take);
    }

    fn whole(&self) -> &Clock {
        self.0.whole.get_or_init(|| {
            let mut clock = self.0.clock.clone();
            self.0.own.into_iter().for_each(|own| clock.learns(own));
            clock
        })
    }
}

/// What a lane knows of others.
#[derive(Default)]
pub(super) struct Known {
    pub(super) clock: Clock,
    /// A clock that is contained in `clock` completely.
    part: Clock,
    /// The host's version when it did not know everything in the clock.
    unknown_at: Option<u64>,
}

impl Known {
    /// Joins `seen`, for the lane `lane`, which knows all of its own work.
    pub(super) fn learns(&mut self, lane: usize, seen: &Seen, host: &Host) {
        let Parts { clock: other, own, .. } = &*seen.0;
        let is_new = |(number, count): &Entry| {
            *number != lane && host.at(*number) < *count && self.clock.at(*number) < *count
        };
        let own = own.filter(is_new);
        match (own, self.part.is(other)) {
            (None, true) => return,
            (Some(own), true) => self.clock.learns(own),
            (None, false) => self.clock.join(other, host),
            // Many lanes may learn the same, so the combined tree is shared.
            (Some(_), false) => self.clock.join(seen.whole(), host),
        }
        self.part = other.clone();
        self.unknown_at = None;
    }

    /// Clears the clock if the host knows everything in it.
    pub(super) fn forget_known(&mut self, host: &Host) {
        if self.unknown_at == Some(host.version) {
            return;
        }
        self.unknown_at = Some(host.version);
        if self.clock.is_known(host) {
            (self.clock, self.part) = (Clock::default(), Clock::default());
        }
    }
}

/// Counts the visited nodes, in tests.
fn step() {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + 1);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::{BTreeMap, HashSet};

    thread_local! {
        pub(in super::super) static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// The nodes of clocks; a node that several clocks share is listed once.
    pub(in super::super) fn nodes<'a>(clocks: impl Iterator<Item = &'a Clock>) -> usize {
        fn all(node: &Arc<Node>, found: &mut HashSet<*const Node>) {
            if found.insert(Arc::as_ptr(node))
                && let Node::Branches(branches) = &**node
            {
                branches.iter().flatten().for_each(|below| all(below, found));
            }
        }
        let mut found = HashSet::new();
        clocks.filter_map(|clock| clock.root.as_ref()).for_each(|root| all(root, &mut found));
        found.len()
    }

    fn entries(clock: &Clock) -> Vec<Entry> {
        let mut entries = Vec::new();
        clock.each(|entry| entries.push(entry));
        entries
    }

    fn seen(entries: &[Entry], own: Option<Entry>, host: &Host) -> Seen {
        Seen::of(Clock::of(entries.iter().copied(), host), own)
    }

    #[test]
    fn who_learns_something_knows_the_larger_of_each_lane() {
        let mut host = Host::default();
        let clock = Clock::of([(3, 4), (1, 2), (3, 9)], &host);
        assert_eq!(entries(&clock), [(1, 2), (3, 9)]);
        let mut one = Known { clock, ..Known::default() };
        one.learns(7, &seen(&[(1, 5)], Some((2, 1)), &host), &host);
        assert_eq!(entries(&one.clock), [(1, 5), (2, 1), (3, 9)]);
        // A lane that knows less takes over the same tree, and so does the next.
        let whole = seen(&entries(&one.clock), Some((7, 1)), &host);
        let [mut less, mut none] = [(); 2].map(|()| Known::default());
        less.learns(8, &seen(&[(1, 1)], None, &host), &host);
        less.learns(8, &whole, &host);
        none.learns(9, &whole, &host);
        assert!(less.clock.is(&none.clock) && less.clock.at(7) == 1);
        // One more entry, which the other does not get.
        less.learns(8, &seen(&[(1, 5)], Some((4, 6)), &host), &host);
        assert_eq!((less.clock.at(4), none.clock.at(4), less.clock.at(3)), (6, 0, 9));
        // A lane knows all of its own work, and what the host knows need not be recorded.
        none.learns(9, &seen(&[], Some((9, 3)), &host), &host);
        assert_eq!(none.clock.at(9), 0);
        host.learns((3, 9));
        host.learns((3, 1));
        assert!(entries(&Clock::of([(3, 9)], &host)).is_empty());
        one.forget_known(&host);
        assert_eq!(one.clock.at(3), 9);
        host.learns((1, 5));
        host.learns((2, 1));
        one.forget_known(&host);
        assert_eq!((one.clock.at(3), entries(&one.clock).len()), (0, 0));
        // Entries that are learned later are examined, although the host has learned nothing since.
        one.learns(7, &seen(&[(5, 1)], None, &host), &host);
        one.forget_known(&host);
        assert_eq!(entries(&one.clock), [(5, 1)]);
    }

    /// Compares clocks with maps, with lanes far apart, and with a host that learns their entries.
    #[test]
    fn clocks_are_maps_of_the_larger_count() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for most in [3, 16, 17, 300, 5000] {
            let mut host = Host::default();
            let mut clocks = vec![(Clock::default(), BTreeMap::<usize, u64>::new()); 4];
            for round in 0..2000 {
                let (to, from) = (next(4) as usize, next(4) as usize);
                let entry = (next(most) as usize, next(50) + 1);
                match next(20) {
                    0 => host.learns(entry),
                    1..12 => {
                        clocks[to].0.learns(entry);
                        let known = clocks[to].1.entry(entry.0).or_default();
                        *known = entry.1.max(*known);
                    }
                    _ => {
                        let (clock, map) = clocks[from].clone();
                        clocks[to].0.join(&clock, &host);
                        for (lane, count) in map {
                            let known = clocks[to].1.entry(lane).or_default();
                            *known = count.max(*known);
                        }
                    }
                }
                // Entries that the host knows may be missing.
                if round % 8 > 0 {
                    continue;
                }
                let (clock, map) = &clocks[to];
                for (lane, count) in map {
                    let known = clock.at(*lane);
                    assert!(
                        known == *count || known < *count && *count <= host.at(*lane),
                        "{lane} {known} {count}"
                    );
                }
                clock.each(|(lane, count)| assert!(map.get(&lane).is_some_and(|most| count <= *most)));
            }
        }
    }

    /// A chain of events with a new lane for each.
    #[test]
    fn a_chain_takes_steps_and_memory_of_its_length() {
        let of_chain = |length: usize| {
            let host = Host::default();
            STEPS.set(0);
            let mut clocks = vec![Known::default()];
            for lane in 1..length {
                let before = Seen::of(clocks[lane - 1].clock.clone(), Some((lane - 1, 1)));
                let mut known = Known::default();
                known.learns(lane, &before, &host);
                known.forget_known(&host);
                clocks.push(known);
            }
            assert!((0..length - 1).all(|lane| clocks[length - 1].clock.at(lane) == 1));
            (STEPS.get(), nodes(clocks.iter().map(|known| &known.clock)))
        };
        let (few, many) = (of_chain(1000), of_chain(8000));
        assert!(many.0 < 12 * few.0 && many.1 < 12 * few.1, "{few:?} {many:?}");
    }
}
