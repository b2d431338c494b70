//! Times as text, and the ticks of a time axis.

/// A unit and the microseconds of one.
const UNITS: [(&str, f64); 4] = [("s", 1e6), ("ms", 1e3), ("µs", 1.0), ("ns", 1e-3)];
/// Marks of an axis, about.
const MARKS: f64 = 8.0;

/// A time in microseconds with the unit in which it is at least 1, to three digits or a few more.
pub(super) fn time(us: f64) -> String {
    let (unit, size) = unit(us);
    let value = us / size;
    let digits = if value >= 99.95 { 0 } else { usize::from(value < 9.995) + 1 };
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {unit}")
}

fn unit(us: f64) -> (&'static str, f64) {
    UNITS.into_iter().find(|(_, size)| us.abs() >= *size * 0.9995).unwrap_or(UNITS[3])
}

/// The marks from 0 to `span` microseconds: positions and labels, in one unit.
pub(super) fn marks(span: f64) -> Vec<(f64, String)> {
    let rough = span / MARKS;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|part| part * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let (unit, size) = unit(span);
    // As many digits as distinguish two marks.
    let digits = (-(step / size * 1.000_001).log10().floor()).max(0.0) as usize;
    let count = (span / step * 1.000_001).floor() as usize;
    (0..=count).map(|i| (i as f64 * step, format!("{:.digits$} {unit}", i as f64 * step / size))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_that_fits() {
        let told = [0.0, 0.25, 1.0, 12.345, 999.96, 1500.0, 123_456.0, 2.5e6, 1.0e8].map(time);
        assert_eq!(told, ["0 ns", "250 ns", "1 µs", "12.3 µs", "1 ms", "1.5 ms", "123 ms", "2.5 s", "100 s"]);
    }

    #[test]
    fn marks_are_round_and_told_apart() {
        for span in [1e-3, 0.4, 1.0, 7.0, 99.0, 1234.0, 5e5, 1e6, 3.3e7, 8.64e10] {
            let marks = marks(span);
            assert!((4..=11).contains(&marks.len()), "{span}: {marks:?}");
            let mut words: Vec<&String> = marks.iter().map(|(_, words)| words).collect();
            words.dedup();
            assert_eq!(words.len(), marks.len(), "{marks:?}");
            assert!(marks.iter().all(|(at, _)| *at <= span * 1.001), "{marks:?}");
        }
        let words: Vec<String> = marks(1000.0).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["0.0 ms", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1.0 ms"]);
    }
}
