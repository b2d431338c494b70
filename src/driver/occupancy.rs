//! How many blocks of a kernel fit on the device at once.

#![allow(unsafe_code)] // Calls of the driver with a function that its handle keeps loaded, and the callback of one of them.

use super::block_size::with_callback;
use super::function::CudaFunction;
use crate::error::Error;
use crate::flags::flags;
use crate::options::options;

flags! {
    /// How occupancy is computed.
    ///
    /// ```standalone_crate
    /// use cuda_launch::module::OccupancyFlags;
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// let blocks = f.max_active_blocks_with(256, 0, OccupancyFlags::DISABLE_CACHING_OVERRIDE)?;
    /// assert!(blocks >= 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
    #[doc(alias = "CUoccupancy_flags")]
    pub struct OccupancyFlags: u32 {
        /// Does not assume that caching global loads in L1 is off where it would lower the occupancy.
        const DISABLE_CACHING_OVERRIDE = 1;
        // Whatever a newer driver knows.
        const _ = !0;
    }
}

/// The block size with the highest occupancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PotentialBlockSize {
    /// Threads per block.
    pub block_threads: u32,
    /// The number of blocks of the smallest grid that fills the device.
    pub min_grid_blocks: u32,
}

options! {
    /// The parameters of [`CudaFunction::max_potential_block_size_with`]; all zero by default.
    ///
    /// ```standalone_crate
    /// use cuda_launch::module::BlockSizeQuery;
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// // 16 bytes of dynamic shared memory for each thread of a block, and no more than 256 threads.
    /// let query = BlockSizeQuery::new().limit(256);
    /// let best = f.max_potential_block_size_with(query, |threads| threads as usize * 16)?;
    /// assert!(best.block_threads <= 256 && best.min_grid_blocks > 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct BlockSizeQuery {
        /// The maximum number of threads per block; 0 for as many as the kernel and the device allow.
        pub limit: u32,
        /// How occupancy is computed.
        pub flags: OccupancyFlags,
    }
}

impl CudaFunction {
    /// The number of blocks of `block_threads` threads and `dynamic_shared` bytes that one multiprocessor can run at
    /// once.
    ///
    /// Driver call: `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
    ///
    /// ```standalone_crate
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// assert!(f.max_active_blocks(256, 0)? >= 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for zero threads.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn max_active_blocks(&self, block_threads: u32, dynamic_shared: usize) -> Result<u32, Error> {
        let mut blocks = 0;
        let threads = int(block_threads);
        self.context().call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            || format!("{}: {block_threads} threads, {dynamic_shared} bytes", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; `blocks` is a local, which outlives the call.
            |driver| unsafe {
                driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    self.raw(),
                    threads,
                    dynamic_shared,
                )
            },
        )?;
        Ok(blocks.max(0) as u32)
    }

    /// Like [`CudaFunction::max_active_blocks`], computed according to `flags`.
    ///
    /// Driver call: `cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for zero threads, or flags that this driver does not know.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")]
    pub fn max_active_blocks_with(
        &self,
        block_threads: u32,
        dynamic_shared: usize,
        flags: OccupancyFlags,
    ) -> Result<u32, Error> {
        let mut blocks = 0;
        let threads = int(block_threads);
        self.context().call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
            || format!("{}: {block_threads} threads, {dynamic_shared} bytes, {flags:?}", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; `blocks` is a local, which outlives the call; the driver checks the flags.
            |driver| unsafe {
                driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                    &mut blocks,
                    self.raw(),
                    threads,
                    dynamic_shared,
                    flags.bits(),
                )
            },
        )?;
        Ok(blocks.max(0) as u32)
    }

    /// The block size with the highest occupancy, and the smallest grid that reaches it.
    ///
    /// Driver call: `cuOccupancyMaxPotentialBlockSize`, with `dynamic_shared` bytes for a block of any size.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, LaunchConfig, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let best = f.max_potential_block_size(0)?;
    /// let config = LaunchConfig::covering((1000, 1, 1), (best.block_threads, 1, 1));
    /// assert_eq!(config.grid_dim.0, 1000_u32.div_ceil(best.block_threads));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuOccupancyMaxPotentialBlockSize")]
    pub fn max_potential_block_size(&self, dynamic_shared: usize) -> Result<PotentialBlockSize, Error> {
        let (mut grid, mut block) = (0, 0);
        self.context().call(
            "cuOccupancyMaxPotentialBlockSize",
            || format!("{}: {dynamic_shared} bytes", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; both outputs are locals, which outlive the call; no callback means the same shared memory for every block size, 0
            // means no upper limit.
            |driver| unsafe {
                driver.cuOccupancyMaxPotentialBlockSize(
                    &mut grid,
                    &mut block,
                    self.raw(),
                    None,
                    dynamic_shared,
                    0,
                )
            },
        )?;
        Ok(PotentialBlockSize { block_threads: block.max(0) as u32, min_grid_blocks: grid.max(0) as u32 })
    }

    /// The block size with the highest occupancy, if a block's dynamic shared memory depends on its size.
    ///
    /// `shared` returns the number of bytes that a block of the given number of threads needs; it is only called during
    /// the call, and a panic in it is resumed here. Driver call: `cuOccupancyMaxPotentialBlockSizeWithFlags`.
    ///
    /// # Errors
    /// Any error returned by the driver.
    #[doc(alias = "cuOccupancyMaxPotentialBlockSizeWithFlags")]
    pub fn max_potential_block_size_with(
        &self,
        query: BlockSizeQuery,
        shared: impl FnMut(u32) -> usize,
    ) -> Result<PotentialBlockSize, Error> {
        let (mut grid, mut block) = (0, 0);
        let limit = int(query.limit);
        with_callback(shared, |callback| {
            self.context().call(
                "cuOccupancyMaxPotentialBlockSizeWithFlags",
                || format!("{}: {query:?}", self.name()),
                // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call`
                // made current; both outputs are locals, which outlive the call; the callback takes any number, and finds its closure as
                // long as `with_callback` runs, which this call is inside of.
                |driver| unsafe {
                    driver.cuOccupancyMaxPotentialBlockSizeWithFlags(
                        &mut grid,
                        &mut block,
                        self.raw(),
                        callback,
                        0,
                        limit,
                        query.flags.bits(),
                    )
                },
            )
        })?;
        Ok(PotentialBlockSize { block_threads: block.max(0) as u32, min_grid_blocks: grid.max(0) as u32 })
    }

    /// Dynamic shared memory, in bytes, that each of `blocks` blocks of `block_threads` threads on one multiprocessor can
    /// have.
    ///
    /// Driver call: `cuOccupancyAvailableDynamicSMemPerBlock`.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, load_kernel_module};
    /// # let ctx = CudaContext::new(0)?;
    /// # let f = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
    /// let bytes = f.available_dynamic_shared_memory(2, 256)?; // with two blocks per multiprocessor
    /// assert!(bytes > 0);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if that many blocks do not fit.
    #[doc(alias = "cuOccupancyAvailableDynamicSMemPerBlock")]
    pub fn available_dynamic_shared_memory(&self, blocks: u32, block_threads: u32) -> Result<usize, Error> {
        let mut bytes = 0;
        self.context().call(
            "cuOccupancyAvailableDynamicSMemPerBlock",
            || format!("{}: {blocks} blocks of {block_threads} threads", self.name()),
            // SAFETY: the function is loaded as long as this handle is there (`CudaFunction::module`), in the context that `call` made
            // current; `bytes` is a local, which outlives the call.
            |driver| unsafe {
                driver.cuOccupancyAvailableDynamicSMemPerBlock(
                    &mut bytes,
                    self.raw(),
                    int(blocks),
                    int(block_threads),
                )
            },
        )?;
        Ok(bytes)
    }
}

/// As the driver takes numbers; what is too large for it is refused there.
fn int(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
