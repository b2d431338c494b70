//! How many clusters of a kernel fit on the device at once.

#![allow(unsafe_code)] // Calls of the driver with a function that its handle keeps loaded.

use super::attributes::Attribute;
use super::config::{Dim3, LaunchConfig};
use crate::driver::CudaFunction;
use crate::error::Error;

impl CudaFunction {
    /// The largest cluster size, in blocks, that a launch of this shape can have.
    ///
    /// Clusters of more than 8 blocks count only if
    /// [they are allowed](CudaFunction::set_non_portable_cluster_size_allowed). Driver call:
    /// `cuOccupancyMaxPotentialClusterSize`.
    ///
    /// ```standalone_crate
    /// use cuda_launch::{CudaContext, LaunchConfig};
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// if ctx.limits().cluster_launch {
    ///     let config = LaunchConfig::for_num_elems(1 << 20);
    ///     let blocks = f.max_potential_cluster_size(config)?;
    ///     assert!(blocks >= 8 && f.max_active_clusters(config, (2, 1, 1))? > 0);
    /// }
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// The device does not support clusters, or any error returned by the driver.
    #[doc(alias = "cuOccupancyMaxPotentialClusterSize")]
    pub fn max_potential_cluster_size(&self, config: LaunchConfig) -> Result<u32, Error> {
        let mut size = 0;
        let raw = config.raw(std::ptr::null_mut());
        self.context().call(
            "cuOccupancyMaxPotentialClusterSize",
            || format!("{}: {config:?}", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; the configuration has no attributes; both are locals, which outlive the call.
            |driver| unsafe { driver.cuOccupancyMaxPotentialClusterSize(&mut size, self.raw(), &raw) },
        )?;
        Ok(size.max(0) as u32)
    }

    /// How many clusters of this shape, in blocks, the device can run at once for a launch of this shape.
    ///
    /// Driver call: `cuOccupancyMaxActiveClusters`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` for a shape that cannot be launched.
    #[doc(alias = "cuOccupancyMaxActiveClusters")]
    pub fn max_active_clusters(&self, config: LaunchConfig, cluster_dim: Dim3) -> Result<u32, Error> {
        let mut clusters = 0;
        let mut attribute = Attribute::cluster_dimension(cluster_dim).raw();
        let mut raw = config.raw(std::ptr::null_mut());
        (raw.attrs, raw.numAttrs) = (&mut attribute, 1);
        self.context().call(
            "cuOccupancyMaxActiveClusters",
            || format!("{}: {config:?} in clusters of {cluster_dim:?}", self.name()),
            // SAFETY: the function is loaded as long as this handle exists (`CudaFunction::module`), in the context that `call` made
            // current; `attrs` points to one attribute, as `numAttrs` says; attribute, configuration and output are locals that outlive
            // the call.
            |driver| unsafe { driver.cuOccupancyMaxActiveClusters(&mut clusters, self.raw(), &raw) },
        )?;
        Ok(clusters.max(0) as u32)
    }
}
