//! Hints to the driver about managed memory, and what it reports.

use cuda_driver_sys::CUmem_advise as A;

use super::location::MemoryLocation;

/// How managed memory will be used (`CUmem_advise`).
///
/// ```
/// use cuda_launch::memory::{ManagedAttach, MemoryAdvice};
/// use cuda_launch::{CudaContext, ManagedBuffer};
/// let ctx = CudaContext::new(0)?;
/// let memory = ManagedBuffer::<f32>::uninit(&ctx, 1000, ManagedAttach::Global)?;
/// memory.advise(.., MemoryAdvice::ReadMostly(true))?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "CUmem_advise")]
pub enum MemoryAdvice {
    /// Whether it is mostly read, so that each reader gets its own copy.
    ReadMostly(bool),
    /// It should stay there.
    PreferredLocation(MemoryLocation),
    /// It may stay anywhere.
    NoPreferredLocation,
    /// This device or the host will use it, and should always access it without a page fault.
    AccessedBy(MemoryLocation),
    /// The opposite.
    NotAccessedBy(MemoryLocation),
    /// A value that only newer drivers know.
    Other(u32, MemoryLocation),
}

impl MemoryAdvice {
    /// The driver's form. Where no location is needed it ignores the one that it gets.
    pub(super) fn to_raw(self) -> (A, MemoryLocation) {
        let nowhere = MemoryLocation::Device(0);
        match self {
            Self::ReadMostly(true) => (A::CU_MEM_ADVISE_SET_READ_MOSTLY, nowhere),
            Self::ReadMostly(false) => (A::CU_MEM_ADVISE_UNSET_READ_MOSTLY, nowhere),
            Self::PreferredLocation(location) => (A::CU_MEM_ADVISE_SET_PREFERRED_LOCATION, location),
            Self::NoPreferredLocation => (A::CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, nowhere),
            Self::AccessedBy(location) => (A::CU_MEM_ADVISE_SET_ACCESSED_BY, location),
            Self::NotAccessedBy(location) => (A::CU_MEM_ADVISE_UNSET_ACCESSED_BY, location),
            Self::Other(advice, location) => (A(advice), location),
        }
    }
}

/// The properties that hold for all of a range of managed memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RangeState {
    /// It is mostly read.
    pub read_mostly: bool,
    /// Its preferred location.
    pub preferred_location: Option<MemoryLocation>,
    /// The devices, or the host, that will use it.
    pub accessed_by: Vec<MemoryLocation>,
    /// Where a prefetch last moved it.
    pub last_prefetch: Option<MemoryLocation>,
}

impl RangeState {
    /// So many users are asked for: more devices than one host has.
    pub(super) const MOST_LOCATIONS: usize = 64;
}
