//! The limits that a device sets for launches.

use cuda_driver_sys::CUdevice_attribute as A;

use super::device::CudaDevice;
use crate::error::Error;

/// The device's limits on launches, read once when its context is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLimits {
    /// Compute capability, for example `(9, 0)`.
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// Blocks along x, y and z of a grid.
    pub max_grid_dim: (u32, u32, u32),
    /// Threads along x, y and z of a block.
    pub max_block_dim: (u32, u32, u32),
    /// Threads per block in all.
    pub max_threads_per_block: u32,
    /// Bytes of shared memory that a block gets without opting in, static and dynamic together.
    pub max_shared_memory: u32,
    /// Bytes of shared memory that a block can opt in to, static and dynamic together.
    pub max_shared_memory_optin: u32,
    /// Threads per warp.
    pub warp_size: u32,
    /// Cooperative launches are supported.
    pub cooperative_launch: bool,
    /// Cluster launches are supported.
    pub cluster_launch: bool,
    /// Memory can be allocated and freed in stream order.
    pub memory_pools: bool,
}

impl DeviceLimits {
    /// Driver calls: `cuDeviceGetAttribute`, once for each field.
    pub(super) fn query(device: &CudaDevice) -> Result<Self, Error> {
        // Names for error messages: only of the few attributes that every program queries, not of all.
        macro_rules! get {
            ($attribute:ident) => {
                device.named_attribute(A::$attribute, &stringify!($attribute)).map(|v| v.max(0) as u32)
            };
        }
        // At least 1, whatever the driver reports: in the comparison of a warm launch, 0 means too many.
        macro_rules! dim {
            ($($attribute:ident)*) => {
                ($(get!($attribute)?.max(1)),*)
            };
        }
        Ok(Self {
            compute_capability: (
                get!(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
                get!(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
            ),
            multiprocessors: get!(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            max_grid_dim: dim!(
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z
            ),
            max_block_dim: dim!(
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z
            ),
            max_threads_per_block: get!(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_shared_memory: get!(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?,
            max_shared_memory_optin: get!(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            warp_size: get!(CU_DEVICE_ATTRIBUTE_WARP_SIZE)?,
            cooperative_launch: get!(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
            // Unknown to drivers before 11.8: then there are none.
            cluster_launch: get!(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH).is_ok_and(|v| v != 0),
            memory_pools: get!(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0,
        })
    }
}
