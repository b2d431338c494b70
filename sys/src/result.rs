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
        let index = PLACES.binary_search_by_key(&self.0, |place| place.code).ok()?;
        let &Place { start, len, .. } = PLACES.get(index)?;
        let name = TEXT.get(start.into()..)?.get(..len.into())?;
        std::str::from_utf8(name).ok()
    }

    /// Whether the error leaves the process unable to use CUDA: every later call returns it until the process exits.
    ///
    /// True for the codes that the header documents so, all of them faults of a kernel or of the hardware, and for
    /// `CUDA_ERROR_ASSERT`, which the header does not document so but for which driver 580 behaves in the same way.
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

/// Where in [`TEXT`] the name of a code is.
#[derive(Clone, Copy)]
struct Place {
    code: u32,
    start: u16,
    len: u8,
}

const LENGTH: usize = {
    let (mut index, mut length) = (0, 0);
    while index < RESULTS.len() {
        length += RESULTS[index].1.len();
        index += 1;
    }
    length
};

/// The names, one behind the other: pointers to a hundred texts would be relocated at each start.
static TEXT: [u8; LENGTH] = {
    let mut text = [0; LENGTH];
    let mut index = 0;
    while index < RESULTS.len() {
        let (name, start) = (RESULTS[index].1.as_bytes(), PLACES[index].start as usize);
        text.split_at_mut(start).1.split_at_mut(name.len()).0.copy_from_slice(name);
        index += 1;
    }
    text
};

/// In the order of the codes, as [`RESULTS`].
static PLACES: [Place; RESULTS.len()] = {
    let mut places = [Place { code: 0, start: 0, len: 0 }; RESULTS.len()];
    let (mut index, mut start) = (0, 0);
    while index < RESULTS.len() {
        let (code, name) = RESULTS[index];
        assert!(start <= u16::MAX as usize && name.len() <= u8::MAX as usize);
        places[index] = Place { code, start: start as u16, len: name.len() as u8 };
        start += name.len();
        index += 1;
    }
    places
};

/// `CUDA_ERROR_INVALID_VALUE (1)`; a code without a name is `CUresult (12345)`.
impl fmt::Debug for CUresult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name().unwrap_or("CUresult"), self.0)
    }
}
