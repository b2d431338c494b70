//! Tables of results: kernels that write result `k` of element `i` to `out[k * n + i]`, and what each must be.

#![allow(clippy::undocumented_unsafe_blocks)] // Every launch: the kernel takes these inputs, the output and n.

use cuda_launch::{CudaModule, DeviceBuffer, DeviceCopy, LaunchConfig, cuda_launch};

use super::float::{F16, F64, Format};
use crate::references::{Bits, Gpu};

/// What one result must be.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// These bits.
    Exactly(u64),
    /// Any NaN of the format: software made it, and no rule says which.
    Nan(Format),
    /// One of these.
    OneOf([u64; 3]),
    /// Two halves of 32 bits, each of these bits or, if none are given, any NaN.
    NanPair(Option<u64>, Option<u64>),
    /// No rule says what.
    Anything,
    /// A number of the format from the first to the second of these, both included; infinities count as numbers.
    Between(Format, f64, f64),
}

impl Want {
    pub fn exactly(value: impl Bits) -> Self {
        Self::Exactly(value.bits())
    }

    /// `exact` within a relative error, and one more unit in the last place for the final rounding.
    pub fn near(format: Format, exact: f64, relative: f64) -> Self {
        Self::within(format, exact, exact.abs() * relative)
    }

    /// `exact` within an absolute error; NaN asks for NaN.
    pub fn within(format: Format, exact: f64, absolute: f64) -> Self {
        if exact.is_nan() {
            return Self::Nan(format);
        }
        if exact.is_infinite() {
            return Self::Between(format, exact, exact);
        }
        Self::Between(format, exact - absolute, exact + absolute)
    }

    /// Within `ulps` units in the last place of `format`, subnormal numbers included, and past the largest also infinity.
    pub fn ulps(format: Format, exact: f64, ulps: f64) -> Self {
        let bias = (1 << (format.width - format.fraction - 2)) - 1;
        let exponent = exponent(exact).max(1 - bias);
        let absolute = ulps * power_of_two(exponent - format.fraction as i32);
        let largest = (2.0 - power_of_two(-(format.fraction as i32))) * power_of_two(bias);
        match Self::within(format, exact, absolute) {
            Self::Between(_, low, high) if high > largest => {
                Self::Between(format, low.min(largest), f64::INFINITY)
            }
            Self::Between(_, low, high) if low < -largest => {
                Self::Between(format, f64::NEG_INFINITY, high.max(-largest))
            }
            want => want,
        }
    }

    pub fn holds(self, got: u64) -> bool {
        match self {
            Self::Exactly(bits) => got == bits,
            Self::Nan(format) => format.is_nan(got),
            Self::OneOf(all) => all.contains(&got),
            Self::NanPair(low, high) => [(low, got & 0xffff), (high, got >> 16)]
                .iter()
                .all(|&(want, got)| want.map_or(F16.is_nan(got), |bits| got == bits)),
            Self::Anything => true,
            Self::Between(format, low, high) => {
                let value = format.to_f64(got);
                low <= value && value <= high
            }
        }
    }

    fn show(self) -> String {
        match self {
            Self::Exactly(bits) => format!("{bits:#x}"),
            Self::Nan(_) => "any NaN".into(),
            Self::OneOf(all) => format!("one of {all:#x?}"),
            Self::NanPair(low, high) => format!("{high:x?} | {low:x?}"),
            Self::Anything => "anything".into(),
            Self::Between(_, low, high) => format!("{low:e} to {high:e}"),
        }
    }
}

/// 2^n, also where it is subnormal or too large.
fn power_of_two(n: i32) -> f64 {
    2f64.powi(n / 2) * 2f64.powi(n - n / 2)
}

/// Of the leading bit.
fn exponent(x: f64) -> i32 {
    let biased = (x.abs().to_bits() >> F64.fraction) as i32;
    // Of subnormal numbers that of the smallest normal one, as `ulps` needs no more.
    biased.max(1) - 1023
}

/// Element types of the tables.
pub trait Word: DeviceCopy + Bits {
    fn of(bits: u64) -> Self;
}

macro_rules! words {
    ($($ty:ty)*) => {$(impl Word for $ty {
        fn of(bits: u64) -> Self {
            bits as $ty
        }
    })*};
}
words!(u16 u32 u64);

/// What is after the last result, to see that nothing is written there.
const AFTER: u64 = 0xa5a5_a5a5_a5a5_a5a5;

/// Runs `kernel` over the columns of `inputs` as elements of type `I`, and compares its results, one name each, with what
/// `reference` says about each element.
pub fn table<I: Word, O: Word>(
    gpu: &Gpu,
    module: &CudaModule,
    kernel: &str,
    names: &[&str],
    inputs: &[Vec<u64>],
    reference: impl Fn(&[u64]) -> Vec<Want>,
) {
    let n = inputs[0].len();
    let out = launch::<I, O>(gpu, module, kernel, inputs, n * names.len());
    let mut wrong = vec![(0, String::new()); names.len()];
    for i in 0..n {
        let operands: Vec<u64> = inputs.iter().map(|column| column[i]).collect();
        let wants = reference(&operands);
        assert_eq!(wants.len(), names.len(), "{kernel}: a name for each result");
        for (k, want) in wants.into_iter().enumerate() {
            let got = out[k * n + i].bits();
            if want.holds(got) {
                continue;
            }
            wrong[k].0 += 1;
            if wrong[k].0 <= 3 {
                let line = format!("\n    of {operands:x?}: {got:#x}, expected {}", want.show());
                wrong[k].1.push_str(&line);
            }
        }
    }
    let report: Vec<String> = wrong
        .iter()
        .enumerate()
        .filter(|(_, (count, _))| *count > 0)
        .map(|(k, (count, text))| format!("  {} (result {k}): {count} of {n}{text}", names[k]))
        .collect();
    assert!(report.is_empty(), "{kernel}: {} results differ\n{}", report.len(), report.join("\n"));
}

fn launch<I: Word, O: Word>(
    gpu: &Gpu,
    module: &CudaModule,
    kernel: &str,
    inputs: &[Vec<u64>],
    results: usize,
) -> Vec<O> {
    let put = |column: &Vec<u64>| gpu.put(&column.iter().map(|&bits| I::of(bits)).collect::<Vec<_>>());
    let buffers: Vec<DeviceBuffer<I>> = inputs.iter().map(put).collect();
    let mut out = gpu.put(&vec![O::of(AFTER); results + 16]);
    let n = inputs[0].len() as u32;
    let (config, stream) = (LaunchConfig::for_num_elems(n), &gpu.stream);
    let (p, pointers) = (out.as_mut_device_ptr(), buffers.iter().map(DeviceBuffer::as_device_ptr));
    let launched = match pointers.collect::<Vec<_>>()[..] {
        [a] => unsafe {
            cuda_launch! { kernel: (kernel), module: module, stream: stream, config: config, args: [a, p, n] }
        },
        [a, b] => unsafe {
            cuda_launch! { kernel: (kernel), module: module, stream: stream, config: config, args: [a, b, p, n] }
        },
        [a, b, c] => unsafe {
            cuda_launch! { kernel: (kernel), module: module, stream: stream, config: config, args: [a, b, c, p, n] }
        },
        _ => panic!("one to three inputs"),
    };
    launched.unwrap();
    let mut got = gpu.get(&out);
    let after = got.split_off(results);
    assert!(after.iter().all(|w| w.bits() == O::of(AFTER).bits()), "{kernel}: more results than names");
    let last = got.iter().rposition(|w| w.bits() != O::of(AFTER).bits());
    assert!(last.is_some_and(|last| last + n as usize >= results), "{kernel}: fewer results than names");
    got
}
