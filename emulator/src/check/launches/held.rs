//! Races that are reported when it is certain that nothing orders the two.

use std::collections::VecDeque;

use super::runs::Clash;

/// Places in the code at which races are held, and pairs of pieces of work at each: the last ones.
const MOST_PLACES: usize = 100;
pub(super) const MOST_PAIRS: usize = if cfg!(test) { 64 } else { 4096 };

/// Where in the code a race is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RaceSite {
    /// Kernels or driver calls, and the lines in them: of the earlier one first.
    pub(super) names: [String; 2],
    pub(super) lines: [u32; 2],
    /// Of calls, which have no lines: start and end.
    pub(super) range: Option<(u64, u64)>,
}

/// A race of two pieces of work.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    pub(super) of: [u64; 2],
    pub(super) clash: Clash,
    /// When all is over that has a smaller number, it is certain.
    pub(super) until: u64,
    pub(super) times: u64,
}

/// The races at one place.
#[derive(Clone, Debug)]
pub(super) struct HeldRaces {
    place: RaceSite,
    /// The first ones, and where their bytes are.
    first: [u64; 2],
    bytes: (u64, String),
    pub(super) pairs: VecDeque<Pair>,
}

#[derive(Debug, Default)]
pub(super) struct Held(Vec<HeldRaces>);

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Holds a race, whose bytes are described if it is the first one at its place; `false` if there are too many.
    pub(super) fn add(
        &mut self,
        place: RaceSite,
        pair: Pair,
        describe: impl FnOnce() -> (u64, String),
    ) -> bool {
        let Some(site) = self.0.iter_mut().find(|site| site.place == place) else {
            let is_room = self.0.len() < MOST_PLACES;
            if is_room {
                self.0.push(HeldRaces {
                    place,
                    first: pair.of,
                    bytes: describe(),
                    pairs: VecDeque::from([pair]),
                });
            }
            return is_room;
        };
        let is_room = site.pairs.len() < MOST_PAIRS;
        match site.pairs.back_mut() {
            Some(last) if last.of == pair.of => {
                last.times += pair.times;
                return true;
            }
            _ if !is_room => drop(site.pairs.pop_front()),
            _ => {}
        }
        site.pairs.push_back(pair);
        is_room
    }

    /// Takes out what is certain when all is over before `running`.
    pub(super) fn ripe(&mut self, running: u64) -> Vec<HeldRaces> {
        let mut ripe = Vec::new();
        for site in &mut self.0 {
            let count = site.pairs.partition_point(|pair| pair.until <= running);
            if count > 0 {
                let left = site.pairs.split_off(count);
                let pairs = std::mem::replace(&mut site.pairs, left);
                ripe.push(HeldRaces {
                    pairs,
                    place: site.place.clone(),
                    first: site.first,
                    bytes: site.bytes.clone(),
                });
            }
        }
        self.0.retain(|site| !site.pairs.is_empty());
        ripe
    }
}

impl HeldRaces {
    /// Where the bytes of a pair are, if that is known.
    pub(super) fn bytes(&self, pair: &Pair) -> Option<(u64, String)> {
        Some(self.bytes.clone()).filter(|_| pair.of == self.first)
    }
}
