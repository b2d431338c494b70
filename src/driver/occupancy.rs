//! How many blocks of a kernel fit on the device at once.

#![allow(unsafe_code)] // Calls of the driver with a function that its handle keeps loaded.

use super::function::CudaFunction;
use crate::error::{Error, check};

impl CudaFunction {
    /// Blocks of `block_threads` threads and `dynamic_shared` bytes that one multiprocessor runs at once.
    ///
    /// Driver call: `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
    ///
    /// ```
    /// use cuda_launch::CudaContext;
    /// let ctx = CudaContext::new(0)?;
    /// let f = ctx.load_module(include_str!("../../examples/kernels/fill.ptx"))?.load_function("fill")?;
    /// assert!(f.max_active_blocks(256, 0)? >= 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuOccupancyMaxActiveBlocksPerMultiprocessor")]
    pub fn max_active_blocks(&self, block_threads: u32, dynamic_shared: usize) -> Result<u32, Error> {
        self.context().bind()?;
        let mut blocks = 0;
        let threads = i32::try_from(block_threads).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded, its context current, `blocks` outlives the call.
        let code = unsafe {
            self.context().driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw(),
                threads,
                dynamic_shared,
            )
        };
        check(code, "cuOccupancyMaxActiveBlocksPerMultiprocessor", || {
            format!("{}: {block_threads} threads, {dynamic_shared} bytes", self.name())
        })?;
        Ok(blocks.max(0) as u32)
    }

    /// The block size, in threads, that keeps the device busiest, and the smallest grid that does so, in blocks.
    ///
    /// Driver call: `cuOccupancyMaxPotentialBlockSize`, with `dynamic_shared` bytes for a block of any size.
    ///
    /// # Errors
    /// Whatever the driver answers.
    #[doc(alias = "cuOccupancyMaxPotentialBlockSize")]
    pub fn max_potential_block_size(&self, dynamic_shared: usize) -> Result<(u32, u32), Error> {
        self.context().bind()?;
        let (mut grid, mut block) = (0, 0);
        // SAFETY: as above; no callback means the same shared memory for every block size, 0 means no upper limit.
        let code = unsafe {
            self.context().driver().cuOccupancyMaxPotentialBlockSize(
                &mut grid,
                &mut block,
                self.raw(),
                None,
                dynamic_shared,
                0,
            )
        };
        check(code, "cuOccupancyMaxPotentialBlockSize", || self.name().to_string())?;
        Ok((block.max(0) as u32, grid.max(0) as u32))
    }
}
