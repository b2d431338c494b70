//! [`CUresult`]: names and predicates that need no driver.

use crate::generated::names::RESULTS;
use crate::generated::types::CUresult;
use std::fmt;

impl CUresult {
    /// `CUDA_SUCCESS` under a shorter name.
    pub const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;

    /// The name in the header (`CUDA_ERROR_INVALID_VALUE`), or `None` for a code that it does not know, from a newer
    /// driver.
    pub fn name(self) -> Option<&'static str> {
        let index = RESULTS.binary_search_by_key(&self.0, |(code, _)| *code).ok()?;
        RESULTS.get(index).map(|(_, name)| *name)
    }

    /// Whether the error leaves the process unable to use CUDA: every later call returns it until the process exits.
    ///
    /// True for the codes that the header documents so, all of them faults of a kernel or of the hardware, and for
    /// `CUDA_ERROR_ASSERT`, for which it does not: driver 580 behaves the same way there.
    pub const fn is_sticky(self) -> bool {
        matches!(
            self,
            CUresult::CUDA_ERROR_CONTAINED
                | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                | CUresult::CUDA_ERROR_ASSERT
                | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                | CUresult::CUDA_ERROR_INVALID_PC
                | CUresult::CUDA_ERROR_LAUNCH_FAILED
                | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
                | CUresult::CUDA_ERROR_EXTERNAL_DEVICE
        )
    }
}

/// `CUDA_ERROR_INVALID_VALUE (1)`; a code without a name is `CUresult (12345)`.
impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("CUresult"), self.0)
    }
}
