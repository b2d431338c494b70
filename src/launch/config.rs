//! Grid, block and dynamic shared memory.

/// Three dimensions, x first.
pub type Dim3 = (u32, u32, u32);

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid_dim: Dim3,
    /// Threads of a block along x, y, z.
    pub block_dim: Dim3,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// Threads of a block that [`LaunchConfig::for_num_elems`] chooses.
    pub const DEFAULT_BLOCK: u32 = 256;

    /// One thread an element, 256 threads a block, rounded up: the kernel must not touch elements past `n`.
    ///
    /// Zero elements give one block, which finds nothing to do: an empty grid is an error to the driver.
    ///
    /// ```
    /// use cuda_launch::LaunchConfig;
    /// let config = LaunchConfig::for_num_elems(1000);
    /// assert_eq!((config.grid_dim, config.block_dim, config.shared_mem_bytes), ((4, 1, 1), (256, 1, 1), 0));
    /// ```
    pub const fn for_num_elems(n: u32) -> Self {
        let blocks = n.div_ceil(Self::DEFAULT_BLOCK);
        let blocks = if blocks == 0 { 1 } else { blocks };
        Self { grid_dim: (blocks, 1, 1), block_dim: (Self::DEFAULT_BLOCK, 1, 1), shared_mem_bytes: 0 }
    }
}
