//! `--bench`: how long a launch takes, by the driver's own clock.

use super::argument::Direction;
use super::data::Input;
use super::launch::{Finished, Launcher};
use super::progress::Progress;
use super::roof::Roof;
use super::roofline::Roofline;
use crate::failure::Failure;

/// Microseconds of the launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timed {
    pub(crate) launches: usize,
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
    /// Between the 10th and the 90th of 100.
    pub(crate) spread: (f64, f64),
    /// Bytes of the arguments' memory, read and written once each.
    pub(crate) bytes: u64,
    /// The device's peak; `None` if unknown.
    pub(crate) roof: Option<Roof>,
    /// With `--roofline`.
    pub(crate) roofline: Option<Roofline>,
}

impl Timed {
    /// Bytes in a second.
    pub(crate) fn bandwidth(&self) -> Option<f64> {
        self.per_second(self.bytes).filter(|_| self.bytes > 0)
    }

    /// So many of something in each launch, in a second.
    pub(super) fn per_second(&self, number: u64) -> Option<f64> {
        (self.median > 0.0).then(|| number as f64 / self.median * 1e6)
    }
}

pub(super) fn run(
    launcher: &Launcher,
    inputs: &[Input<'_>],
    count: u32,
) -> Result<(Finished, Timed), Failure> {
    if count == 0 {
        return Err(Failure::usage("--bench needs at least one launch"));
    }
    let progress = Progress::new(count);
    let (finished, times) = launcher.times(inputs, count, |done| progress.at(done))?;
    let moved = |input: &Input<'_>| {
        input.memory().map_or(0, |(direction, _)| {
            input.bytes.len() as u64 * if direction == Direction::InOut { 2 } else { 1 }
        })
    };
    let bytes = inputs.iter().map(moved).sum();
    Ok((finished, Timed { roof: Roof::of(&launcher.context), ..summary(times, bytes) }))
}

fn summary(milliseconds: Vec<f32>, bytes: u64) -> Timed {
    let mut times: Vec<f64> = milliseconds.into_iter().map(|time| f64::from(time) * 1e3).collect();
    times.sort_by(f64::total_cmp);
    // The nearest of the sorted times.
    let at = |percent: usize| {
        times.get((times.len().saturating_sub(1) * percent + 50) / 100).copied().unwrap_or(0.0)
    };
    Timed {
        launches: times.len(),
        median: at(50),
        least: at(0),
        most: at(100),
        spread: (at(10), at(90)),
        bytes,
        roof: None,
        roofline: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_summed_up() {
        let timed = summary((1..=11).rev().map(|n| n as f32).collect(), 6000);
        assert_eq!((timed.launches, timed.median, timed.least, timed.most), (11, 6e3, 1e3, 11e3));
        assert_eq!(timed.spread, (2e3, 10e3));
        assert_eq!(timed.bandwidth(), Some(1e6));
        assert_eq!(summary(Vec::new(), 0).bandwidth(), None);
    }
}
