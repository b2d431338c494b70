//! The published peak rates of GPUs.

use super::{MatrixPeaks, Peaks};
use crate::failure::Failure;

/// A GPU at its boost clock.
#[derive(Debug, PartialEq)]
pub(crate) struct Gpu {
    /// Its name on the command line.
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) peaks: Peaks,
    /// Its names as drivers tell them, without the name of the maker.
    devices: &'static [&'static str],
}

/// Gigabytes per second; and 10^12 operations per second, of f64, f32 and f16, and of matrices of f64, tf32, f16, 8-bit floats and 8-bit
/// integers, 0 where the GPU has no such instructions or no figure is published.
const fn gpu(
    id: &'static str,
    name: &'static str,
    memory: f64,
    [double, single, half]: [f64; 3],
    [f64, tf32, f16, f8, i8]: [f64; 5],
    devices: &'static [&'static str],
) -> Gpu {
    let matrix = MatrixPeaks { f64: tera(f64), tf32: tera(tf32), f16: tera(f16), f8: tera(f8), i8: tera(i8) };
    let peaks =
        Peaks { memory: memory * 1e9, double: tera(double), single: tera(single), half: tera(half), matrix };
    Gpu { id, name, peaks, devices }
}

const fn tera(number: f64) -> Option<f64> {
    if number > 0.0 { Some(number * 1e12) } else { None }
}

/// From NVIDIA's data sheets and white papers.
const GPUS: &[Gpu] = &[
    gpu("t4", "T4", 320.0, [0.254, 8.1, 16.2], [0.0, 0.0, 65.0, 0.0, 130.0], &["T4", "Tesla T4"]),
    gpu(
        "v100",
        "V100 SXM2",
        900.0,
        [7.8, 15.7, 31.4],
        [0.0, 0.0, 125.0, 0.0, 0.0],
        &["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"],
    ),
    gpu(
        "a100",
        "A100 SXM 80 GB",
        2039.0,
        [9.7, 19.5, 78.0],
        [19.5, 156.0, 312.0, 0.0, 624.0],
        &["A100-SXM4-40GB", "A100-SXM4-80GB"],
    ),
    gpu(
        "rtx3090",
        "GeForce RTX 3090",
        936.0,
        [0.556, 35.6, 35.6],
        [0.0, 35.6, 71.0, 0.0, 284.0],
        &["GeForce RTX 3090"],
    ),
    gpu("l4", "L4", 300.0, [0.473, 30.3, 30.3], [0.0, 60.0, 121.0, 242.0, 242.0], &["L4"]),
    gpu("l40s", "L40S", 864.0, [1.43, 91.6, 91.6], [0.0, 183.0, 362.0, 733.0, 733.0], &["L40S"]),
    gpu(
        "rtx4090",
        "GeForce RTX 4090",
        1008.0,
        [1.29, 82.6, 82.6],
        [0.0, 82.6, 165.2, 330.3, 660.6],
        &["GeForce RTX 4090"],
    ),
    gpu("h100", "H100 SXM", 3350.0, [34.0, 67.0, 134.0], HOPPER, &["H100 80GB HBM3"]),
    gpu("h200", "H200 SXM", 4800.0, [34.0, 67.0, 134.0], HOPPER, &["H200"]),
];

const HOPPER: [f64; 5] = [67.0, 494.5, 989.0, 1979.0, 1979.0];

impl Gpu {
    pub(crate) fn of(id: &str) -> Result<&'static Gpu, Failure> {
        let same = |gpu: &&Gpu| gpu.id.eq_ignore_ascii_case(id);
        GPUS.iter().find(same).ok_or_else(|| {
            let known: Vec<&str> = GPUS.iter().map(|gpu| gpu.id).collect();
            Failure::usage(format!("no GPU `{id}` is known here; these are: {}", known.join(", ")))
        })
    }

    /// One with this compute capability, for comparison; `None` where no peaks are known here.
    pub(crate) fn of_capability(capability: (u32, u32)) -> Option<&'static Gpu> {
        let id = match capability {
            (7, 5) => "t4",
            (8, 0) => "a100",
            (8, 6) => "rtx3090",
            (8, 9) => "rtx4090",
            (9, 0) => "h200",
            _ => return None,
        };
        GPUS.iter().find(|gpu| gpu.id == id)
    }

    /// The one with this name of a device. A part of a GPU (MIG) has another name, and other peaks.
    pub(crate) fn of_device(name: &str) -> Option<&'static Gpu> {
        let name = name.strip_prefix("NVIDIA ").unwrap_or(name);
        GPUS.iter().find(|gpu| gpu.devices.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_the_peaks_of_their_model_only() {
        let id = |name| Gpu::of_device(name).map(|gpu| gpu.id);
        for (name, known) in [
            ("NVIDIA H200", Some("h200")),
            ("NVIDIA H100 80GB HBM3", Some("h100")),
            ("A100-SXM4-40GB", Some("a100")),
            ("Tesla T4", Some("t4")),
            ("NVIDIA L4", Some("l4")),
            ("NVIDIA H200 NVL", None),
            ("NVIDIA H100 PCIe", None),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None),
            ("NVIDIA GeForce RTX 3090 Ti", None),
            ("cuda-launch emulator (CPU)", None),
        ] {
            assert_eq!(id(name), known, "{name}");
        }
    }
}
