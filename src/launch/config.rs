//! Grid, block and dynamic shared memory.

/// Three dimensions, x first.
pub type Dim3 = (u32, u32, u32);

/// The shape of a launch.
///
/// ```
/// use cuda_launch::LaunchConfig;
/// let config = LaunchConfig::for_2d(1920, 1080).with_shared(4096);
/// assert_eq!((config.grid_dim, config.block_dim, config.shared_mem_bytes), ((60, 135, 1), (32, 8, 1), 4096));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LaunchConfig {
    /// Blocks along x, y, z.
    pub grid_dim: Dim3,
    /// Threads per block along x, y, z.
    pub block_dim: Dim3,
    /// Dynamic shared memory per block, in bytes.
    pub shared_mem_bytes: u32,
}

impl LaunchConfig {
    /// Threads per block that [`LaunchConfig::for_num_elems`] chooses.
    pub const DEFAULT_BLOCK: u32 = 256;

    /// `grid_dim` blocks of `block_dim` threads each, without dynamic shared memory.
    pub const fn new(grid_dim: Dim3, block_dim: Dim3) -> Self {
        Self { grid_dim, block_dim, shared_mem_bytes: 0 }
    }

    /// One thread per element, in blocks of 256 threads, rounded up: the kernel must check that its index is below `n`.
    ///
    /// For zero elements this is one block, all of whose threads are past the end, because the driver rejects an empty
    /// grid.
    ///
    /// ```
    /// use cuda_launch::LaunchConfig;
    /// let config = LaunchConfig::for_num_elems(1000);
    /// assert_eq!(config, LaunchConfig::new((4, 1, 1), (256, 1, 1)));
    /// ```
    pub const fn for_num_elems(n: u32) -> Self {
        Self::covering((n, 1, 1), (Self::DEFAULT_BLOCK, 1, 1))
    }

    /// One thread per element of a matrix, in blocks of 32 by 8, rounded up.
    pub const fn for_2d(width: u32, height: u32) -> Self {
        Self::covering((width, height, 1), (32, 8, 1))
    }

    /// One thread per element of a volume, in blocks of 32 by 4 by 2, rounded up.
    pub const fn for_3d(width: u32, height: u32, depth: u32) -> Self {
        Self::covering((width, height, depth), (32, 4, 2))
    }

    /// As many blocks of this shape as cover `extent`, and at least one along each axis: the kernel must check that its
    /// indices are inside the extent.
    ///
    /// ```
    /// use cuda_launch::LaunchConfig;
    /// let config = LaunchConfig::covering((100, 50, 0), (16, 16, 1));
    /// assert_eq!(config, LaunchConfig::new((7, 4, 1), (16, 16, 1)));
    /// ```
    pub const fn covering(extent: Dim3, block_dim: Dim3) -> Self {
        let grid_dim =
            (blocks(extent.0, block_dim.0), blocks(extent.1, block_dim.1), blocks(extent.2, block_dim.2));
        Self::new(grid_dim, block_dim)
    }

    /// The same with `bytes` of dynamic shared memory per block.
    pub const fn with_shared(self, bytes: u32) -> Self {
        Self { shared_mem_bytes: bytes, ..self }
    }
}

/// A block dimension of 0 gives a grid that the launch refuses with an error that names the dimension.
const fn blocks(extent: u32, block: u32) -> u32 {
    match (extent, block) {
        (0, _) | (_, 0) => 1,
        (extent, block) => extent.div_ceil(block),
    }
}
