//! The published peak rates of GPUs.

use super::Peaks;
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

/// Gigabytes per second, and 10^12 operations per second: f64, f32, f16, matrices.
const fn gpu(
    id: &'static str,
    name: &'static str,
    memory: f64,
    peaks: [f64; 4],
    devices: &'static [&'static str],
) -> Gpu {
    let [double, single, half, matrix] = peaks;
    let peaks = Peaks {
        memory: memory * 1e9,
        double: Some(double * 1e12),
        single: Some(single * 1e12),
        half: Some(half * 1e12),
        matrix: Some(matrix * 1e12),
    };
    Gpu { id, name, peaks, devices }
}

/// From NVIDIA's data sheets and white papers.
const GPUS: &[Gpu] = &[
    gpu("t4", "T4", 320.0, [0.254, 8.1, 16.2, 65.0], &["T4", "Tesla T4"]),
    gpu(
        "v100",
        "V100 SXM2",
        900.0,
        [7.8, 15.7, 31.4, 125.0],
        &["Tesla V100-SXM2-16GB", "Tesla V100-SXM2-32GB"],
    ),
    gpu("a100", "A100 SXM 80 GB", 2039.0, [9.7, 19.5, 78.0, 312.0], &["A100-SXM4-40GB", "A100-SXM4-80GB"]),
    gpu("rtx3090", "GeForce RTX 3090", 936.0, [0.556, 35.6, 35.6, 71.0], &["GeForce RTX 3090"]),
    gpu("l4", "L4", 300.0, [0.473, 30.3, 30.3, 121.0], &["L4"]),
    gpu("l40s", "L40S", 864.0, [1.43, 91.6, 91.6, 362.0], &["L40S"]),
    gpu("rtx4090", "GeForce RTX 4090", 1008.0, [1.29, 82.6, 82.6, 165.2], &["GeForce RTX 4090"]),
    gpu("h100", "H100 SXM", 3350.0, [34.0, 67.0, 134.0, 989.0], &["H100 80GB HBM3"]),
    gpu("h200", "H200 SXM", 4800.0, [34.0, 67.0, 134.0, 989.0], &["H200"]),
];

impl Gpu {
    pub(crate) fn of(id: &str) -> Result<&'static Gpu, Failure> {
        let same = |gpu: &&Gpu| gpu.id.eq_ignore_ascii_case(id);
        GPUS.iter().find(same).ok_or_else(|| {
            let known: Vec<&str> = GPUS.iter().map(|gpu| gpu.id).collect();
            Failure::usage(format!("no GPU `{id}` is known here; these are: {}", known.join(", ")))
        })
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
