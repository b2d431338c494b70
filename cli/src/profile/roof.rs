//! The published peak rates of GPUs: the roofline over a kernel's operations per byte.

use cuda_emulator::Operations;

use crate::failure::Failure;

/// Published peaks of a GPU at its boost clock: gigabytes per second, and 10^12 operations per second. A multiply-add is two.
#[derive(Debug)]
pub(super) struct Gpu {
    /// Its name on the command line.
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) memory: f64,
    double: f64,
    single: f64,
    half: f64,
    /// Products of f16, added up in f32, without sparsity.
    matrix: f64,
}

const fn gpu(id: &'static str, name: &'static str, memory: f64, peaks: [f64; 4]) -> Gpu {
    let [double, single, half, matrix] = peaks;
    Gpu { id, name, memory, double, single, half, matrix }
}

/// From NVIDIA's data sheets and white papers.
pub(super) const GPUS: &[Gpu] = &[
    gpu("t4", "T4", 320.0, [0.254, 8.1, 16.2, 65.0]),
    gpu("v100", "V100 SXM2", 900.0, [7.8, 15.7, 31.4, 125.0]),
    gpu("a100", "A100 SXM 80 GB", 2039.0, [9.7, 19.5, 78.0, 312.0]),
    gpu("rtx3090", "GeForce RTX 3090", 936.0, [0.556, 35.6, 35.6, 71.0]),
    gpu("l4", "L4", 300.0, [0.473, 30.3, 30.3, 121.0]),
    gpu("l40s", "L40S", 864.0, [1.43, 91.6, 91.6, 362.0]),
    gpu("rtx4090", "GeForce RTX 4090", 1008.0, [1.29, 82.6, 82.6, 165.2]),
    gpu("h100", "H100 SXM", 3350.0, [34.0, 67.0, 134.0, 989.0]),
    gpu("h200", "H200 SXM", 4800.0, [34.0, 67.0, 134.0, 989.0]),
];

impl Gpu {
    pub(super) fn of(id: &str) -> Result<&'static Gpu, Failure> {
        let same = |gpu: &&Gpu| gpu.id.eq_ignore_ascii_case(id);
        GPUS.iter().find(same).ok_or_else(|| {
            let known: Vec<&str> = GPUS.iter().map(|gpu| gpu.id).collect();
            Failure::usage(format!("no GPU `{id}` is known here; these are: {}", known.join(", ")))
        })
    }

    /// Operations per second of this mix, if the units work at their peaks one after the other.
    fn peak(&self, mix: Operations) -> f64 {
        let seconds =
            [(mix.f64, self.double), (mix.f32, self.single), (mix.f16, self.half), (mix.matrix, self.matrix)];
        let seconds: f64 = seconds.iter().map(|(operations, peak)| *operations as f64 / (peak * 1e12)).sum();
        mix.floating_point() as f64 / seconds
    }
}

/// The position of a kernel in the roofline of a GPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) gpu: &'static Gpu,
    /// Operations for each byte of global memory.
    pub(super) intensity: f64,
    /// Operations per second that arithmetic allows.
    pub(super) peak: f64,
}

impl Place {
    /// `None` without arithmetic, or without global memory.
    pub(super) fn of(gpu: &'static Gpu, mix: Operations, intensity: Option<f64>) -> Option<Place> {
        intensity.filter(|_| mix.floating_point() > 0).map(|intensity| Place {
            gpu,
            intensity,
            peak: gpu.peak(mix),
        })
    }

    /// The operations per byte at which memory and arithmetic are equally limiting.
    pub(super) fn ridge(self) -> f64 {
        self.peak / (self.gpu.memory * 1e9)
    }

    /// Operations per second that memory and arithmetic allow.
    pub(super) fn roof(self) -> f64 {
        self.peak.min(self.intensity * self.gpu.memory * 1e9)
    }

    pub(super) fn limit(self) -> &'static str {
        if self.intensity < self.ridge() { "memory" } else { "arithmetic" }
    }

    pub(super) fn text(self) -> String {
        format!(
            "on {}, {} is the limit: with {} operations per byte at most {}FLOP/s ({} GB/s and {}FLOP/s meet at {})",
            self.gpu.name,
            self.limit(),
            digits(self.intensity),
            scaled(self.roof()),
            self.gpu.memory,
            scaled(self.peak),
            digits(self.ridge()),
        )
    }
}

/// Three digits.
pub(super) fn digits(number: f64) -> String {
    match number {
        n if n >= 100.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n if n >= 0.01 => format!("{n:.2}"),
        n => format!("{n:.1e}"),
    }
}

/// With the prefix of its unit.
fn scaled(number: f64) -> String {
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
        let h100 = Gpu::of("H100").unwrap();
        let mut single = Operations::default();
        single.f32 = 1000;
        let low = Place::of(h100, single, Some(1.0)).unwrap();
        assert_eq!((low.ridge(), low.roof(), low.limit()), (20.0, 3350e9, "memory"));
        let high = Place::of(h100, single, Some(40.0)).unwrap();
        assert_eq!((high.roof(), high.limit()), (67e12, "arithmetic"));
        // As long for one as for the other: half of the harmonic mean's worth each.
        let mut mix = Operations::default();
        (mix.f32, mix.f64) = (67, 34);
        assert!((Place::of(h100, mix, Some(1e6)).unwrap().roof() - 50.5e12).abs() < 1e6);
        assert!(Place::of(h100, Operations::default(), Some(1.0)).is_none());
        assert!(Gpu::of("voodoo").is_err());
    }
}
