//! `--roofline`: the position of the kernel that `--bench` timed in the roofline of its GPU. A GPU does not tell how many operations it
//! executes: the emulator counts those of one launch with the same inputs.

use cuda_emulator::{FaultKind, Operations};
use cuda_launch::CudaContext;
use serde_json::{Value, json};

use super::bench::Timed;
use super::counted::Launch;
use super::interrupt;
use super::launch::Finished;
use super::roof::{Roof, is_emulated};
use crate::failure::Failure;
use crate::kernel_file::File;
use crate::roofline::{self, Place, Unplaced, digits, operations_json, scaled};
use crate::style;
use crate::table::{numbers, wrap};

/// A command for kernels that have no position here.
const PUBLISHED: &str = "`cuda-launch profile --roof GPU` compares with published peaks";

/// What is counted, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roofline {
    /// `None` if it was not counted.
    work: Option<Work>,
    /// The position, or why there is none and what to do.
    placed: Result<Placed, String>,
}

/// What one launch does.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Work {
    operations: Operations,
    /// Of the sectors that it touches.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    /// Operations per second.
    reached: f64,
    /// If no cache has any of the bytes.
    touched: Place,
    /// If each byte of the arguments is moved once, where this allows more.
    once: Option<Place>,
}

impl Roofline {
    /// `count` runs the kernel on the emulator. It is only called if the result is of use.
    pub(super) fn of(
        context: &CudaContext,
        file: &File,
        timed: &Timed,
        count: impl FnOnce() -> Result<Launch, Failure>,
    ) -> Self {
        let counted = roof(context, timed).and_then(|roof| {
            has_ptx(file)?;
            let launch = count().map_err(|failure| in_one_line(&failure.message));
            let work = launch.and_then(work).map_err(|why| format!("on the emulator: {why}"))?;
            Ok((roof, work))
        });
        match counted {
            Ok((roof, work)) => Self { work: Some(work), placed: Placed::of(roof, work, timed) },
            Err(why) => Self { work: None, placed: Err(why) },
        }
    }

    pub(super) fn text(&self) -> String {
        let name = style::strong("roofline:");
        let mut text = match &self.placed {
            Ok(placed) => placed.text(&name),
            Err(why) => wrap(&format!("{name} not placed: {why}"), ""),
        };
        if let Some(Work { operations, bytes }) = self.work {
            let mut counted = numbers(&roofline::kinds(operations));
            if !counted.is_empty() {
                counted += " operations, ";
            }
            counted += &format!("{bytes} bytes, whether or not a cache has them");
            text += &wrap(&format!("counted in one launch on the emulator: {counted}"), "  ");
        }
        text
    }

    pub(super) fn json(&self) -> Value {
        let placed = self.placed.as_ref().ok();
        json!({
            "operations": self.work.map(|work| operations_json(work.operations)),
            "bytes": self.work.map(|work| work.bytes),
            "operations_per_second": placed.map(|placed| placed.reached),
            "roof": placed.map(|placed| placed.json(placed.touched)),
            "roof_moved_once": placed.and_then(|placed| placed.once.map(|once| placed.json(once))),
            "why_not": self.placed.as_ref().err(),
        })
    }
}

impl Placed {
    fn of(roof: Roof, work: Work, timed: &Timed) -> Result<Self, String> {
        let Work { operations, bytes } = work;
        let peaks = roof.peaks();
        let touched = Place::of(&peaks, operations, bytes).map_err(advice)?;
        let reached = timed.per_second(operations.floating_point());
        let reached =
            reached.ok_or("the launches are too short for the driver's clock; give it more work")?;
        let once = Place::of(&peaks, operations, timed.bytes).ok();
        Ok(Self { reached, touched, once: once.filter(|once| once.roof() > touched.roof()) })
    }

    /// The part of this roof that is reached.
    fn part(&self, place: Place) -> f64 {
        self.reached / place.roof()
    }

    fn text(&self, name: &str) -> String {
        let percent = |place| format!("{} %", digits(self.part(place) * 100.0));
        let is_over = self.touched.limit() == "memory" && self.part(self.touched) > 1.0;
        let caches = if is_over { ": caches have some of the bytes" } else { "" };
        let (reached, of_roof) = (scaled(self.reached), percent(self.touched));
        let mut text = wrap(&format!("{name} {}", self.touched.text_with_peaks()), "");
        text += &wrap(&format!("{reached}FLOP/s reached, {of_roof} of that{caches}"), "  ");
        if let Some(once) = self.once {
            let (place, of_roof) = (once.text(), percent(once));
            text += &wrap(
                &format!("if each byte of the arguments is moved once, {place}, {of_roof} reached"),
                "  ",
            );
        }
        text
    }

    fn json(&self, place: Place) -> Value {
        let mut json = place.json();
        json["operations_per_byte"] = place.intensity.into();
        json["reached"] = self.part(place).into();
        json
    }
}

/// The peaks of the device, if it is a GPU.
fn roof(context: &CudaContext, timed: &Timed) -> Result<Roof, String> {
    if is_emulated(context) {
        return Err(format!("the device is no GPU; {PUBLISHED}"));
    }
    timed.roof.ok_or_else(|| format!("the driver does not report the clocks of the device; {PUBLISHED}"))
}

fn has_ptx(file: &File) -> Result<(), String> {
    let has = file.parts.iter().any(|part| part.kind == "ptx");
    has.then_some(()).ok_or_else(|| {
        "the emulator counts the operations of PTX, and the file has none; give the PTX or the source".into()
    })
}

fn work(launch: Launch) -> Result<Work, String> {
    if interrupt::came() {
        return Err("interrupted by a signal; a smaller grid is counted in less time".into());
    }
    if let Finished::Fault(fault) = launch.finished {
        // What follows are the positions of other threads.
        let message = fault.message.split("; block ").next().unwrap_or_default();
        let is_slow = fault.report.is_some_and(|report| report.kind == FaultKind::TimeLimit);
        let next = if is_slow {
            "give it more time, or a smaller grid"
        } else {
            "`cuda-launch run --check` shows more"
        };
        return Err(format!("{}; {next}", in_one_line(message)));
    }
    let profile = launch.profile.ok_or("the kernel was not counted; `cuda-launch profile` shows more")?;
    Ok(Work { operations: profile.operations(), bytes: roofline::bytes(&profile.total()) })
}

fn advice(why: Unplaced) -> String {
    let next = match why {
        Unplaced::NoArithmetic => "compare its GB/s with the memory's peak",
        Unplaced::NoMemory => "compare operations per second with the peak",
        Unplaced::UnknownPeak(_) => PUBLISHED,
    };
    format!("{}; {next}", why.text())
}

/// A message without line ends.
fn in_one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::run::launch::Fault;
    use std::path::Path;

    /// A launch that takes a millisecond on an H200.
    fn placed(mix: impl FnOnce(&mut Operations), bytes: u64, arguments: u64) -> Roofline {
        let mut operations = Operations::default();
        mix(&mut operations);
        let timed = Timed { median: 1e3, bytes: arguments, ..Timed::default() };
        let work = Work { operations, bytes };
        Roofline { work: Some(work), placed: Placed::of(Roof::h200(), work, &timed) }
    }

    #[test]
    fn memory_is_the_limit_and_caches_may_help() {
        // A byte for each operation, at half the peak of memory.
        let half = placed(|mix| mix.f32 = 2_407_152_000, 2_407_152_000, 2_407_152_000);
        let json = half.json();
        assert_eq!((&json["why_not"], &json["roof_moved_once"]), (&Value::Null, &Value::Null));
        assert_eq!(
            (&json["operations_per_second"], &json["roof"]["reached"]),
            (&2.407152e12.into(), &0.5.into())
        );
        let text = anstream::adapter::strip_str(&half.text()).to_string();
        assert_eq!(
            text,
            "roofline: memory is the limit: with 1.00 operations per byte at most 4.81 TFLOP/s without caches (4814 GB/s and 66.9 TFLOP/s meet at 13.9)\n  \
             2.41 TFLOP/s reached, 50.0 % of that\n  \
             counted in one launch on the emulator: 2407152000 f32 operations, 2407152000 bytes, whether or not a cache has them\n"
        );
        // It touches each byte a hundred times.
        let again = placed(|mix| mix.f32 = 9_628_608_000, 4_814_304_000, 48_143_040);
        let json = again.json();
        assert_eq!((&json["roof"]["reached"], &json["roof"]["limit"]), (&1.0.into(), &"memory".into()));
        assert_eq!(
            (&json["roof_moved_once"]["operations_per_byte"], &json["roof_moved_once"]["limit"]),
            (&200.0.into(), &"arithmetic".into())
        );
        assert!(!again.text().contains("caches have"), "{}", again.text());
        let words = "if each byte of the arguments is moved once, arithmetic is the limit: with 200 operations per byte at most 66.9 TFLOP/s, 14.4 % reached";
        assert!(again.text().contains(words), "{}", again.text());
        let over = placed(|mix| mix.f32 = 9_640_000_000, 4_820_000_000, 48_143_040);
        assert!(over.text().contains("100 % of that: caches have some"), "{}", over.text());
    }

    #[test]
    fn arithmetic_is_the_limit() {
        let double = placed(|mix| mix.f64 = 16_727_040_000, 1_000_000, 2_000_000);
        let json = double.json();
        assert_eq!((&json["roof"]["limit"], &json["roof"]["reached"]), (&"arithmetic".into(), &0.5.into()));
        // Memory is no limit in either case.
        assert_eq!(json["roof_moved_once"], Value::Null);
        let matrix = placed(|mix| mix.matrix.f16 = 494_500_000_000, 1, 1);
        assert_eq!(matrix.json()["roof"]["reached"], 0.5);
    }

    #[test]
    fn what_has_no_position_says_why_and_what_to_do() {
        let copy = placed(|mix| mix.integer = 5, 64, 64);
        let json = copy.json();
        assert_eq!(
            (&json["roof"], &json["bytes"], &json["operations"]["integer"]),
            (&Value::Null, &64.into(), &5.into())
        );
        assert!(
            copy.text().contains("roofline:") && copy.text().contains("compare its GB/s"),
            "{}",
            copy.text()
        );
        assert!(
            copy.text().ends_with("on the emulator: 64 bytes, whether or not a cache has them\n"),
            "{}",
            copy.text()
        );
        assert!(placed(|mix| mix.f32 = 5, 0, 64).text().contains("does not access global memory"));
        let timed = Timed { bytes: 8, ..Timed::default() };
        let mut operations = Operations::default();
        operations.f16 = 8;
        let work = Work { operations, bytes: 8 };
        assert!(Placed::of(Roof::h200(), work, &timed).unwrap_err().contains("too short"));
        let why = Placed::of(Roof::h200().of_unknown_model(), work, &timed).unwrap_err();
        assert!(why.starts_with("the peak of f16 operations") && why.contains("profile --roof"), "{why}");
    }

    #[test]
    fn a_launch_that_was_not_counted_says_why_and_what_to_do() {
        let message = "it failed; block (0, 0, 0) thread (0, 0, 0): its turn; block (1, 0, 0)".to_owned();
        let fault = Finished::Fault(Fault { message, report: None });
        let why = work(Launch { finished: fault, addresses: Vec::new(), profile: None }).unwrap_err();
        assert_eq!(why, "it failed; `cuda-launch run --check` shows more");
        let file =
            |name: &str| File::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)).unwrap();
        assert!(has_ptx(&file("tests/kernels/vecadd_sm90.cubin")).unwrap_err().contains("give the PTX"));
        assert_eq!(has_ptx(&file("tests/kernels/vecadd.fatbin")), Ok(()));
        assert_eq!(has_ptx(&file("examples/kernels/vecadd.ptx")), Ok(()));
    }
}
