//! What a device of each architecture is modelled on besides the limits of its multiprocessors: one board, by its `deviceQuery` as
//! published. What is not published is marked as believed.

use super::{Architecture, Machine};

/// A device.
#[derive(Debug)]
pub(crate) struct Model {
    /// Its name, which cannot be mistaken for that of a GPU.
    pub(crate) name: &'static str,
    /// Multiprocessors.
    pub(crate) multiprocessors: u32,
    /// Core and memory clock, in kHz.
    pub(crate) clocks: (i32, i32),
    /// Bits of the memory bus.
    pub(crate) bus: i32,
    /// Engines that copy while kernels run.
    pub(crate) copy_engines: i32,
    /// Whether its memory corrects errors.
    pub(crate) ecc: bool,
    /// Operations on `f32` for one on `f64` (CUDA C++ Programming Guide, "Arithmetic Instructions").
    pub(crate) single_to_double: i32,
    /// Bytes of the L2 cache.
    pub(crate) l2: i32,
    /// How many sixteenths of it can be set aside; 0 if the device cannot do that.
    pub(crate) persisting: i32,
    /// The largest cluster of blocks; 0 if there are none.
    pub(crate) largest_cluster: u32,
    /// The multiprocessors of each processing cluster, whose blocks a cluster cannot leave.
    pub(crate) processing_clusters: &'static [u32],
    /// The fewest multiprocessors of a green context, and the number that those of a larger one are a multiple of
    /// (`cuDevSmResourceSplitByCount`).
    pub(crate) partition: (u32, u32),
    /// The address of the first parameter in the bank of constants, which ptxas aligns parameters by.
    pub(crate) parameters: usize,
}

/// The largest cluster that every device with clusters takes.
pub(crate) const PORTABLE_CLUSTER: u32 = 8;

/// T4.
const SM_75: Model = Model {
    name: "cuda-launch emulator (CPU, sm_75)",
    multiprocessors: 40,
    clocks: (1_590_000, 5_001_000),
    bus: 256,
    copy_engines: 3,
    ecc: true,
    single_to_double: 32,
    l2: 4 << 20,
    persisting: 0,
    largest_cluster: 0,
    processing_clusters: &[],
    partition: (2, 2),
    parameters: 0x160,
};

/// A100 with 80 GB.
const SM_80: Model = Model {
    name: "cuda-launch emulator (CPU, sm_80)",
    multiprocessors: 108,
    clocks: (1_410_000, 1_593_000),
    bus: 5120,
    single_to_double: 2,
    l2: 40 << 20,
    persisting: 10,
    partition: (4, 2),
    ..SM_75
};

/// RTX 3090.
const SM_86: Model = Model {
    name: "cuda-launch emulator (CPU, sm_86)",
    multiprocessors: 82,
    clocks: (1_695_000, 9_751_000),
    bus: 384,
    copy_engines: 2,
    ecc: false,
    single_to_double: 64,
    l2: 6 << 20,
    persisting: 11,
    ..SM_80
};

/// RTX 4090.
const SM_89: Model = Model {
    name: "cuda-launch emulator (CPU, sm_89)",
    multiprocessors: 128,
    clocks: (2_520_000, 10_501_000),
    l2: 72 << 20,
    ..SM_86
};

/// H200: what one answered with driver 580.
const SM_90: Model = Model {
    name: "cuda-launch emulator (CPU)",
    multiprocessors: 132,
    clocks: (1_980_000, 3_201_000),
    bus: 6016,
    copy_engines: 3,
    ecc: true,
    single_to_double: 2,
    l2: 60 << 20,
    persisting: 10,
    largest_cluster: 16,
    // They differ from one H200 to the next; these are those of the one that was asked.
    processing_clusters: &[16, 16, 18, 18, 18, 16, 14, 16],
    partition: (8, 8),
    parameters: 0x210,
};

/// B200. Believed: copy engines, processing clusters.
const SM_100: Model = Model {
    name: "cuda-launch emulator (CPU, sm_100)",
    multiprocessors: 148,
    clocks: (1_965_000, 3_996_000),
    bus: 7680,
    copy_engines: 4,
    l2: 132_644_864,
    processing_clusters: &[18, 18, 18, 18, 18, 18, 20, 20],
    parameters: 0x380,
    ..SM_90
};

/// RTX 5090. Believed: the largest cluster, processing clusters.
const SM_120: Model = Model {
    name: "cuda-launch emulator (CPU, sm_120)",
    multiprocessors: 170,
    clocks: (2_407_000, 14_001_000),
    bus: 512,
    copy_engines: 2,
    ecc: false,
    single_to_double: 64,
    l2: 96 << 20,
    persisting: 11,
    largest_cluster: PORTABLE_CLUSTER,
    processing_clusters: &[16, 16, 16, 14, 14, 14, 14, 14, 14, 14, 12, 12],
    partition: (8, 8),
    parameters: 0x380,
};

impl Architecture {
    /// What its devices are like.
    pub(crate) const fn model(self) -> &'static Model {
        match self {
            Architecture::Sm75 => &SM_75,
            Architecture::Sm80 => &SM_80,
            Architecture::Sm86 => &SM_86,
            Architecture::Sm89 => &SM_89,
            Architecture::Sm90 => &SM_90,
            Architecture::Sm100 => &SM_100,
            Architecture::Sm120 => &SM_120,
        }
    }

    /// The limits of its multiprocessors.
    pub(crate) fn machine(self) -> Machine {
        Machine::of_number(self.number()).unwrap_or_default()
    }
}

impl Model {
    /// The bytes of the L2 cache that can be set aside, and the steps in which they are.
    pub(crate) fn persisting_bytes(&self) -> (i32, i32) {
        let step = self.l2 / 16;
        (self.persisting * step, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_complete() {
        for architecture in Architecture::ALL {
            let (model, machine) = (architecture.model(), architecture.machine());
            assert!(machine.threads > 0, "{architecture}");
            let clustered: u32 = model.processing_clusters.iter().sum();
            let expected = if model.largest_cluster > 0 { model.multiprocessors } else { 0 };
            assert_eq!(clustered, expected, "{architecture}");
            assert_eq!(model.largest_cluster > 0, *architecture >= Architecture::Sm90, "{architecture}");
            assert!(model.name.contains("emulator"));
        }
    }
}
