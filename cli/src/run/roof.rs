//! The peak bandwidth and arithmetic of a GPU, computed from its attributes, for comparison with what `--bench` measures.

use cuda_launch::CudaContext;
use cuda_launch::device::DeviceAttribute;
use serde_json::Value;

use crate::roofline::{Gpu, Peaks};

/// The limits of a device. Clocks are the maximum that it reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Roof {
    memory_megahertz: f64,
    bus_bits: f64,
    l2_bytes: u64,
    multiprocessors: f64,
    megahertz: f64,
    /// Multiply-adds of f32 per clock of a multiprocessor; `None` if this tool does not know the architecture.
    lanes: Option<f64>,
    /// How many times slower f64 is than f32.
    single_to_double: Option<f64>,
    /// What is published about its model.
    published: Option<&'static Gpu>,
}

/// Whether the device is one of the emulator, whose times and attributes are not those of one device.
pub(super) fn is_emulated(context: &CudaContext) -> bool {
    context.device_name().is_ok_and(|name| name.contains("emulator"))
}

impl Roof {
    /// `None` for the emulator, and for drivers that do not report the attributes.
    pub(super) fn of(context: &CudaContext) -> Option<Self> {
        if is_emulated(context) {
            return None;
        }
        let device = context.device();
        let number = |attribute| device.attribute(attribute).ok().filter(|number| *number > 0).map(f64::from);
        let (major, minor) = device.compute_capability().ok()?;
        Some(Self {
            memory_megahertz: number(DeviceAttribute::MEMORY_CLOCK_RATE)? / 1e3,
            bus_bits: number(DeviceAttribute::GLOBAL_MEMORY_BUS_WIDTH)?,
            l2_bytes: number(DeviceAttribute::L2_CACHE_SIZE).unwrap_or(0.0) as u64,
            multiprocessors: number(DeviceAttribute::MULTIPROCESSOR_COUNT)?,
            megahertz: number(DeviceAttribute::CLOCK_RATE)? / 1e3,
            lanes: lanes(major, minor),
            single_to_double: number(DeviceAttribute::SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
            published: context.device_name().ok().and_then(|name| Gpu::of_device(&name)),
        })
    }

    /// For other arithmetic than f32 and f64, devices have no attributes: those are the published peaks of its model.
    pub(super) fn peaks(self) -> Peaks {
        let single = self.arithmetic();
        let published = self.published.map(|gpu| gpu.peaks);
        Peaks {
            memory: self.bandwidth(),
            double: single.zip(self.single_to_double).map(|(single, ratio)| single / ratio),
            single,
            half: published.and_then(|peaks| peaks.half),
            matrix: published.map(|peaks| peaks.matrix).unwrap_or_default(),
        }
    }

    /// Bytes per second: memory moves data at both edges of its clock.
    fn bandwidth(self) -> f64 {
        self.memory_megahertz * 1e6 * 2.0 * self.bus_bits / 8.0
    }

    /// Operations of f32 per second; a multiply-add is two.
    fn arithmetic(self) -> Option<f64> {
        Some(self.lanes? * 2.0 * self.multiprocessors * self.megahertz * 1e6)
    }

    /// A line about memory, and one about arithmetic.
    pub(super) fn lines(self, bytes: u64, measured: Option<f64>) -> Vec<String> {
        let peak = self.bandwidth();
        let mut lines = Vec::new();
        if let Some(measured) = measured {
            let mut line = format!(
                "{:.0} % of the memory's peak of {:.0} GB/s ({:.0} MHz x 2, {} bits)",
                measured / peak * 100.0,
                peak / 1e9,
                self.memory_megahertz,
                self.bus_bits
            );
            if bytes <= self.l2_bytes {
                line += &format!(
                    "; the arguments fit in the L2 cache ({} MiB), which is faster",
                    self.l2_bytes >> 20
                );
            }
            lines.push(line);
        }
        if let Some(arithmetic) = self.arithmetic() {
            lines.push(format!(
                "peak of f32 without tensor cores: {:.1} TFLOP/s at {:.0} MHz; memory is the limit below {:.1} operations per byte \
                 (`--roofline` counts them)",
                arithmetic / 1e12,
                self.megahertz,
                arithmetic / peak
            ));
        }
        lines
    }

    pub(super) fn json(self) -> Value {
        let mut peaks = self.peaks().json();
        peaks["l2_bytes"] = self.l2_bytes.into();
        peaks
    }
}

/// Multiply-adds of f32 per clock and multiprocessor, from the table of throughputs in CUDA's programming guide.
fn lanes(major: u32, minor: u32) -> Option<f64> {
    match (major, minor) {
        (5, _) | (6, 1 | 2) | (8, 6 | 7 | 9) | (9, _) | (10, _) | (12, _) => Some(128.0),
        (6, 0) | (7, _) | (8, 0) => Some(64.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Roof {
        pub(in crate::run) fn h200() -> Self {
            Self {
                memory_megahertz: 3201.0,
                bus_bits: 6016.0,
                l2_bytes: 60 << 20,
                multiprocessors: 132.0,
                megahertz: 1980.0,
                lanes: lanes(9, 0),
                single_to_double: Some(2.0),
                published: Gpu::of_device("NVIDIA H200"),
            }
        }

        pub(in crate::run) fn of_unknown_model(self) -> Self {
            Self { published: None, ..self }
        }
    }

    /// NVIDIA's data sheet of the H200 SXM has 4.8 TB/s and 67 TFLOP/s.
    #[test]
    fn the_roof_of_a_device_that_is_known() {
        let roof = Roof::h200();
        assert!((roof.bandwidth() / 1e12 - 4.8).abs() < 0.05, "{}", roof.bandwidth());
        assert!((roof.arithmetic().unwrap_or(0.0) / 1e12 - 67.0).abs() < 0.2);
        let peaks = roof.peaks();
        assert_eq!(peaks.double, peaks.single.map(|single| single / 2.0));
        assert_eq!((peaks.half, peaks.matrix.f16), (Some(134e12), Some(989e12)));
        let unknown = Roof { single_to_double: None, ..roof.of_unknown_model() }.peaks();
        assert_eq!((unknown.double, unknown.half, unknown.matrix.f16), (None, None, None));
        let lines = roof.lines(1 << 30, Some(2.4e12));
        assert_eq!(lines[0], "50 % of the memory's peak of 4814 GB/s (3201 MHz x 2, 6016 bits)");
        assert!(
            lines[1].contains("66.9 TFLOP/s") && lines[1].contains("below 13.9 operations per byte"),
            "{lines:?}"
        );
        assert!(roof.lines(1 << 20, Some(2.4e12))[0].contains("L2 cache (60 MiB)"));
        // Nothing that moves, an architecture that is not known.
        assert_eq!(Roof { lanes: lanes(99, 0), ..roof }.lines(0, None), Vec::<String>::new());
    }
}
