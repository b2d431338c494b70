//! The values of launch attributes that are more than a number.

/// How a cluster's blocks are distributed (`CUclusterSchedulingPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum ClusterSchedulingPolicy {
    /// The driver chooses.
    Default = 0,
    /// Distribute the blocks of a cluster over the multiprocessors.
    Spread = 1,
    /// Let the hardware balance the load.
    LoadBalancing = 2,
    /// Keep blocks near each other's shared memory (CUDA 13.4, Rubin).
    RubinDsmemLocality = 3,
}

/// How a thread waits for a stream (`CUsynchronizationPolicy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum SynchronizationPolicy {
    /// The driver chooses.
    Auto = 1,
    /// Spin.
    Spin = 2,
    /// Spin, yielding to other threads.
    Yield = 3,
    /// Sleep.
    BlockingSync = 4,
}

/// Which memory synchronisation domain a launch belongs to (`CUlaunchMemSyncDomain`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum MemSyncDomain {
    /// The default domain.
    Default = 0,
    /// The domain for kernels that work over remote memory.
    Remote = 1,
}

/// Whether clusters of more than 8 blocks are allowed (`CUlaunchAttributePortableClusterMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum PortableClusterMode {
    /// As the function attribute says.
    Default = 0,
    /// Only sizes that every device with clusters supports.
    RequirePortable = 1,
    /// Any size that this device supports.
    AllowNonPortable = 2,
}

/// How much shared memory a block may have (`CUsharedMemoryMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum SharedMemoryMode {
    /// As the function attribute says.
    Default = 0,
    /// Only what every device supports.
    RequirePortable = 1,
    /// As much as a kernel can opt in to on this device.
    AllowNonPortable = 2,
    /// More than that, too (CUDA 13.4).
    AllowOversized = 3,
    /// Preferably more than that (CUDA 13.4).
    PreferOversized = 4,
}

/// What an access does to a line in the L2 cache (`CUaccessProperty`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum AccessProperty {
    /// Nothing special.
    Normal = 0,
    /// Likely to be evicted.
    Streaming = 1,
    /// Likely to stay.
    Persisting = 2,
}

/// A range of device memory whose accesses the L2 cache treats specially (`CUaccessPolicyWindow`).
///
/// ```
/// use cuda_launch::launch::{AccessPolicyWindow, AccessProperty};
/// let window = AccessPolicyWindow::new(0x1000, 4096).hit_ratio(0.6).miss(AccessProperty::Streaming);
/// assert_eq!((window.hit, window.miss), (AccessProperty::Persisting, AccessProperty::Streaming));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct AccessPolicyWindow {
    /// Device address of the first byte.
    pub base: u64,
    /// Bytes; at most the device's `MAX_ACCESS_POLICY_WINDOW_SIZE`.
    pub bytes: usize,
    /// Share of the accesses, from 0 to 1, that get `hit`; the rest get `miss`.
    pub hit_ratio: f32,
    /// What a hit access does.
    pub hit: AccessProperty,
    /// What the others do: `Normal` or `Streaming`.
    pub miss: AccessProperty,
}

impl AccessPolicyWindow {
    /// `bytes` bytes starting at the device address `base`, all of whose accesses are likely to stay in the cache.
    pub const fn new(base: u64, bytes: usize) -> Self {
        Self { base, bytes, hit_ratio: 1.0, hit: AccessProperty::Persisting, miss: AccessProperty::Normal }
    }

    /// Sets the share of accesses that count as hits.
    #[must_use]
    pub const fn hit_ratio(self, hit_ratio: f32) -> Self {
        Self { hit_ratio, ..self }
    }

    /// Sets what a hit does.
    #[must_use]
    pub const fn hit(self, hit: AccessProperty) -> Self {
        Self { hit, ..self }
    }

    /// Sets what the other accesses do.
    #[must_use]
    pub const fn miss(self, miss: AccessProperty) -> Self {
        Self { miss, ..self }
    }
}
