//! How many clusters fit on the device at once.

#![allow(unsafe_code)] // A call of the driver with a function that its handle keeps loaded.

use cuda_driver_sys::CUlaunchConfig;

use super::attributes::Attribute;
use super::config::{Dim3, LaunchConfig};
use crate::driver::CudaFunction;
use crate::error::{Error, check};

impl CudaFunction {
    /// Clusters of `cluster_dim` blocks that the device runs at once, for launches of this shape.
    ///
    /// Driver call: `cuOccupancyMaxActiveClusters` (CUDA 11.8).
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` for a shape that the device cannot have.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn max_active_clusters(&self, config: LaunchConfig, cluster_dim: Dim3) -> Result<u32, Error> {
        self.context().bind()?;
        let mut attribute = Attribute::cluster_dimension(cluster_dim).raw();
        let raw = CUlaunchConfig {
            gridDimX: config.grid_dim.0,
            gridDimY: config.grid_dim.1,
            gridDimZ: config.grid_dim.2,
            blockDimX: config.block_dim.0,
            blockDimY: config.block_dim.1,
            blockDimZ: config.block_dim.2,
            sharedMemBytes: config.shared_mem_bytes,
            hStream: std::ptr::null_mut(),
            attrs: &mut attribute,
            numAttrs: 1,
        };
        let mut clusters = 0;
        // SAFETY: the function is loaded, its context current; config, attribute and output outlive the call.
        let code =
            unsafe { self.context().driver().cuOccupancyMaxActiveClusters(&mut clusters, self.raw(), &raw) };
        check(code, "cuOccupancyMaxActiveClusters", || format!("{}: cluster {cluster_dim:?}", self.name()))?;
        Ok(clusters.max(0) as u32)
    }
}
