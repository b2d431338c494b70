//! Passes over the banks of shared memory, as Nsight Compute counts them for each instruction (`memory_l1_wavefronts_shared`): the model
//! was fitted to its results for 1,000 patterns of addresses on an H200, and agrees with all of them.

use std::collections::BTreeSet;

use super::super::watch::Touch;

/// Banks of shared memory, each of one word.
const BANKS: u64 = 32;
const WORD: u64 = 4;
/// The maximum number of bytes of a pass.
const PASS: u64 = BANKS * WORD;
/// The lane bit that distinguishes two neighbours that may request the same: the next thread, or the next but one.
const NEIGHBOURS: [usize; 2] = [1, 2];

/// How the threads of one instruction share passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sharing {
    /// A word is read once for all threads that request it, and wide loads of neighbours that request the same are
    /// combined.
    Loads,
    /// A word is accessed once for all threads.
    Words,
    /// Each thread needs a pass of its own for a word: atomics, `cp.async`.
    Nothing,
}

/// Passes over the banks, and how many the bytes would need if they lay side by side.
pub(super) fn wavefronts(touches: &[&Touch], sharing: Sharing) -> (u64, u64) {
    let all: u64 = touches.iter().map(|touch| touch.bytes).sum();
    let width = touches.first().map_or(WORD, |touch| touch.bytes.max(WORD));
    // As many lanes at a time as together request no more bytes than one pass over all banks moves.
    let together = (PASS / width).max(1) as usize;
    let passes = if sharing == Sharing::Loads && width > WORD {
        groups(touches, 2 * together).map(|group| pairs(&group, together)).sum()
    } else {
        groups(touches, together).map(|group| conflicts(&group, sharing)).sum::<u64>()
    };
    (passes, all.div_ceil(PASS).min(passes))
}

/// The accesses by so many lanes at a time.
fn groups<'t>(touches: &'t [&'t Touch], lanes: usize) -> impl Iterator<Item = Vec<&'t Touch>> {
    (0..32usize.div_ceil(lanes))
        .map(move |group| touches.iter().copied().filter(|touch| touch.lane / lanes == group).collect())
}

/// Passes for two groups of lanes: one if neighbours ask for the same and no two words are in one bank.
fn pairs(touches: &[&Touch], together: usize) -> u64 {
    let agree = |bit: usize| {
        let partner = |touch: &Touch| touches.iter().find(|other| other.lane == touch.lane ^ bit);
        touches.iter().all(|touch| partner(touch).is_none_or(|other| other.address == touch.address))
    };
    if NEIGHBOURS.into_iter().any(agree) && conflicts(touches, Sharing::Words) <= 1 {
        return u64::from(!touches.is_empty());
    }
    groups(touches, together).map(|group| conflicts(&group, Sharing::Words)).sum()
}

/// The most passes that a bank needs for a group of lanes.
fn conflicts(touches: &[&Touch], sharing: Sharing) -> u64 {
    let mut words: BTreeSet<(u64, usize)> = BTreeSet::new();
    for touch in touches {
        let lane = if sharing == Sharing::Nothing { touch.lane } else { 0 };
        let last = (touch.address + touch.bytes - 1) / WORD;
        words.extend((touch.address / WORD..=last).map(|word| (word, lane)));
    }
    let mut banks = [0u64; BANKS as usize];
    words.iter().for_each(|(word, _)| banks[(word % BANKS) as usize] += 1);
    banks.into_iter().max().unwrap_or(0)
}
