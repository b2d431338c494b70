//! The roofline: what memory and arithmetic of a device allow a kernel with its operations per byte. `profile` draws it for published peaks
//! of a GPU, `run --bench --roofline` for the device that ran the kernel.

mod published;

use cuda_emulator::{Counts, Operations};
use serde_json::{Value, json};

pub(crate) use published::Gpu;

/// The highest rates of a device, in a second; `None` if unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Peaks {
    /// Bytes of global memory.
    pub(crate) memory: f64,
    /// Operations; a multiply-add is two.
    pub(crate) double: Option<f64>,
    pub(crate) single: Option<f64>,
    pub(crate) half: Option<f64>,
    pub(crate) matrix: MatrixPeaks,
}

/// Operations of matrix instructions by the type of the factors, without sparsity; sums of floating-point numbers are f32, of f64 f64.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct MatrixPeaks {
    pub(crate) f64: Option<f64>,
    pub(crate) tf32: Option<f64>,
    pub(crate) f16: Option<f64>,
    pub(crate) f8: Option<f64>,
    pub(crate) i8: Option<f64>,
}

/// Why a kernel has no position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unplaced {
    /// It has no operations on floating-point numbers.
    NoArithmetic,
    /// It does not access global memory.
    NoMemory,
    /// The peak of this kind of operations is unknown.
    UnknownPeak(&'static str),
}

impl Unplaced {
    pub(crate) fn text(self) -> String {
        match self {
            Unplaced::NoArithmetic => "it has no operations on floating-point numbers".into(),
            Unplaced::NoMemory => "it does not access global memory".into(),
            Unplaced::UnknownPeak(kind) => {
                format!("the peak of {kind} operations of this device is not known here")
            }
        }
    }
}

impl Peaks {
    /// Operations per second of this mix, if the units work at their peaks one after the other.
    fn arithmetic(&self, mix: Operations) -> Result<f64, Unplaced> {
        let mut seconds = 0.0;
        for ((operations, kind), peak) in
            kinds(mix).into_iter().zip(self.by_kind()).filter(|((number, _), _)| *number > 0)
        {
            seconds += operations as f64 / peak.ok_or(Unplaced::UnknownPeak(kind))?;
        }
        Ok(mix.floating_point() as f64 / seconds)
    }

    /// In the order of [`kinds`].
    fn by_kind(&self) -> [Option<f64>; 9] {
        let MatrixPeaks { f64, tf32, f16, f8, i8 } = self.matrix;
        [self.double, self.single, self.half, f64, tf32, f16, f8, i8, None]
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "memory_bytes_per_second": self.memory,
            "f64_per_second": self.double,
            "f32_per_second": self.single,
            "f16_per_second": self.half,
            "matrix_f64_per_second": self.matrix.f64,
            "matrix_tf32_per_second": self.matrix.tf32,
            "matrix_f16_per_second": self.matrix.f16,
            "matrix_f8_per_second": self.matrix.f8,
            "matrix_i8_per_second": self.matrix.i8,
        })
    }
}

/// The position of a kernel in the roofline of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// Operations for each byte of global memory.
    pub(crate) intensity: f64,
    /// Operations per second that arithmetic allows.
    pub(crate) peak: f64,
    /// Bytes per second.
    pub(crate) memory: f64,
}

impl Place {
    /// Of a kernel that does this with so many bytes of global memory.
    pub(crate) fn of(peaks: &Peaks, mix: Operations, bytes: u64) -> Result<Place, Unplaced> {
        let operations = mix.floating_point();
        match (operations, bytes) {
            (0, _) => Err(Unplaced::NoArithmetic),
            (_, 0) => Err(Unplaced::NoMemory),
            _ => Ok(Place {
                intensity: operations as f64 / bytes as f64,
                peak: peaks.arithmetic(mix)?,
                memory: peaks.memory,
            }),
        }
    }

    /// The operations per byte at which memory and arithmetic are equally limiting.
    pub(crate) fn ridge(self) -> f64 {
        self.peak / self.memory
    }

    /// Operations per second that memory and arithmetic allow.
    pub(crate) fn roof(self) -> f64 {
        self.peak.min(self.intensity * self.memory)
    }

    pub(crate) fn limit(self) -> &'static str {
        if self.intensity < self.ridge() { "memory" } else { "arithmetic" }
    }

    /// The limit and the roof.
    pub(crate) fn text(self) -> String {
        let (intensity, roof) = (digits(self.intensity), scaled(self.roof()));
        format!("{} is the limit: with {intensity} operations per byte at most {roof}FLOP/s", self.limit())
    }

    /// The same with the peaks, for bytes of which caches may have some.
    pub(crate) fn text_with_peaks(self) -> String {
        let (memory, peak, ridge) = (self.memory / 1e9, scaled(self.peak), digits(self.ridge()));
        let caches = if self.limit() == "memory" { " without caches" } else { "" };
        format!("{}{caches} ({memory:.0} GB/s and {peak}FLOP/s meet at {ridge})", self.text())
    }

    pub(crate) fn json(self) -> Value {
        json!({ "limit": self.limit(), "operations_per_second": self.roof(), "ridge": self.ridge() })
    }
}

/// Bytes of the sectors of global memory that a kernel touches, whether or not a cache has them.
pub(crate) fn bytes(total: &Counts) -> u64 {
    32 * total.global_sectors
}

/// The operations on floating-point numbers, and those of matrices, by kind.
pub(crate) fn kinds(mix: Operations) -> [(u64, &'static str); 9] {
    [
        (mix.f64, "f64"),
        (mix.f32, "f32"),
        (mix.f16, "f16"),
        (mix.matrix.f64, "f64 matrix"),
        (mix.matrix.tf32, "tf32 matrix"),
        (mix.matrix.f16, "f16 matrix"),
        (mix.matrix.f8, "f8 matrix"),
        (mix.matrix.i8, "i8 matrix"),
        (mix.matrix.narrow, "narrow matrix"),
    ]
}

pub(crate) fn operations_json(operations: Operations) -> Value {
    json!({
        "f64": operations.f64,
        "f32": operations.f32,
        "f16": operations.f16,
        "matrix": operations.matrix.total(),
        "matrix_f64": operations.matrix.f64,
        "matrix_tf32": operations.matrix.tf32,
        "matrix_f16": operations.matrix.f16,
        "matrix_f8": operations.matrix.f8,
        "matrix_i8": operations.matrix.i8,
        "matrix_narrow": operations.matrix.narrow,
        "integer": operations.integer,
        "bit": operations.bit,
        "conversion": operations.conversion,
    })
}

/// Two or three digits.
pub(crate) fn digits(number: f64) -> String {
    match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n if n >= 0.1 => format!("{n:.2}"),
        n if n >= 0.01 => format!("{n:.3}"),
        n => format!("{n:.1e}"),
    }
}

/// With the prefix of its unit.
pub(crate) fn scaled(number: f64) -> String {
    match number {
        n if n >= 1e12 => format!("{} T", digits(n / 1e12)),
        n => format!("{} G", digits(n / 1e9)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_or_arithmetic_is_the_limit() {
        let h100 = &Gpu::of("H100").unwrap().peaks;
        let mut single = Operations::default();
        single.f32 = 1000;
        let low = Place::of(h100, single, 1000).unwrap();
        assert_eq!((low.intensity, low.ridge(), low.roof(), low.limit()), (1.0, 20.0, 3350e9, "memory"));
        let high = Place::of(h100, single, 25).unwrap();
        assert_eq!((high.intensity, high.roof(), high.limit()), (40.0, 67e12, "arithmetic"));
        // As long for one as for the other: half of the harmonic mean's worth each.
        let mut mix = Operations::default();
        (mix.f32, mix.f64) = (67_000, 34_000);
        assert!((Place::of(h100, mix, 1).unwrap().roof() - 50.5e12).abs() < 1e6);
        assert!(Gpu::of("voodoo").is_err());
    }

    #[test]
    fn numbers_are_short() {
        let shown = [123.4, 12.34, 1.234, 0.1234, 0.0833, 0.001].map(digits);
        assert_eq!(shown, ["123", "12.3", "1.23", "0.12", "0.083", "1.0e-3"]);
        assert_eq!([2.37e12, 4e11, 2e6].map(scaled), ["2.37 T", "400 G", "2.0e-3 G"]);
    }

    #[test]
    fn what_has_no_position_says_why() {
        let h100 = Gpu::of("h100").unwrap().peaks;
        let mut mix = Operations::default();
        mix.integer = 9;
        assert_eq!(Place::of(&h100, mix, 8), Err(Unplaced::NoArithmetic));
        (mix.f32, mix.matrix.tf32) = (1, 1);
        assert_eq!(Place::of(&h100, mix, 0), Err(Unplaced::NoMemory));
        let unknown = Peaks { matrix: MatrixPeaks::default(), half: None, ..h100 };
        assert_eq!(Place::of(&unknown, mix, 8), Err(Unplaced::UnknownPeak("tf32 matrix")));
        // What it does not do need not be known.
        mix.matrix.tf32 = 0;
        assert!(Place::of(&unknown, mix, 8).is_ok());
        mix.matrix.narrow = 1;
        assert_eq!(Place::of(&h100, mix, 8), Err(Unplaced::UnknownPeak("narrow matrix")));
    }

    /// NVIDIA's data sheet of the H100 SXM.
    #[test]
    fn matrices_have_the_peak_of_their_type() {
        let h100 = Gpu::of("h100").unwrap().peaks;
        let peak = |set: fn(&mut Operations)| {
            let mut mix = Operations::default();
            set(&mut mix);
            Place::of(&h100, mix, 1).unwrap().peak / 1e12
        };
        let peaks = [
            peak(|mix| mix.matrix.f64 = 7),
            peak(|mix| mix.matrix.tf32 = 7),
            peak(|mix| mix.matrix.f16 = 7),
            peak(|mix| mix.matrix.f8 = 7),
            peak(|mix| mix.matrix.i8 = 7),
        ];
        for (peak, published) in peaks.into_iter().zip([67.0, 494.5, 989.0, 1979.0, 1979.0]) {
            assert!((peak - published).abs() < 1e-6, "{peaks:?}");
        }
    }
}
