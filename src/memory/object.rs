//! Textures, surfaces and tensor maps as kernel arguments: objects that a launch orders and keeps alive, like buffers.
//!
//! The kernel gets a handle, a number; what it means, and what memory is behind it, is here. [`Used`] is the one place that
//! orders that memory.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::device_copy::DeviceCopy;
use crate::driver::{CudaContext, Keep, Resource};
use crate::error::Error;
use crate::ordering::Submission;

/// A texture, a surface or a tensor map: what a kernel of a typed module takes as `&T`.
///
/// The launch waits for the work that wrote the underlying memory, later writers wait for the launch, and a graph keeps
/// it alive. A kernel that writes through it takes `&mut T`, of a [`KernelObjectMut`].
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take a reference to a `{Self}`",
    label = "not a device object",
    note = "declare a value as `x: T`, device memory as `x: &[T]` or `x: &mut [T]` (address and length), or as `x: *const T` or \
            `x: *mut T` (address only)",
    note = "device objects are `&TextureObject`, `&SurfaceObject` or `&mut SurfaceObject`, `&TensorMapObject` or `&mut TensorMapObject`"
)]
pub trait KernelObject: sealed::Sealed {
    /// What the kernel gets.
    type Handle: DeviceCopy;

    /// What a launch needs of it.
    #[doc(hidden)]
    fn parts(&self) -> ObjectParts<'_, Self::Handle>;
}

/// A [`KernelObject`] through which a kernel may write: taken as `&mut T`.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot write through a `{Self}`",
    label = "read-only for kernels",
    note = "kernels can write through `&mut SurfaceObject` and `&mut TensorMapObject`; declare a texture, which is read-only, as \
            `&TextureObject`, and device memory that the kernel writes as `x: &mut [T]`"
)]
pub trait KernelObjectMut: KernelObject {}

pub(super) mod sealed {
    #[doc(hidden)]
    pub trait Sealed {}
}

/// The handle of an object, where it stands, and what is behind it.
#[doc(hidden)]
#[derive(Debug)]
pub struct ObjectParts<'a, H> {
    pub(crate) handle: &'a H,
    pub(crate) of: &'a dyn Shared,
}

impl<H> Clone for ObjectParts<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<H> Copy for ObjectParts<'_, H> {}

/// An object that a launch uses.
pub(crate) trait Shared: Debug + Send + Sync {
    /// What is behind it.
    fn used(&self) -> &Used;

    /// A share in the handle, for work that may run after everybody else has dropped it; none if the handle never ends.
    fn share(&self) -> Option<Keep>;
}

/// What is behind an object.
pub(crate) struct Used {
    context: CudaContext,
    /// Nothing if other code orders it.
    resource: Option<Arc<dyn Resource>>,
    reach: Reach,
    /// Whether safe code of the host may have a reference into it while kernels run.
    host: bool,
    /// Whether the object's handle was handed out: work may use it that is not recorded.
    escaped: AtomicBool,
}

/// Where work with an argument may read or write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Addresses.
    Addresses(Range<u64>),
    /// An array of this owner; all its arrays if none is named.
    Array { owner: usize, array: Option<usize> },
    /// Not known.
    Unknown,
}

impl Used {
    /// Memory of the device that is at these addresses.
    pub(super) fn memory(resource: Arc<dyn Resource>, context: &CudaContext, addresses: Range<u64>) -> Self {
        Self::new(Some(resource), context, Reach::Addresses(addresses))
    }

    /// The same for memory that the host may access, too.
    pub(super) fn seen_by_host(self, host: bool) -> Self {
        Self { host, ..self }
    }

    /// An array of `resource`, or all.
    pub(super) fn array(resource: Arc<dyn Resource>, context: &CudaContext, array: Option<usize>) -> Self {
        let owner = Arc::as_ptr(&resource).cast::<()>() as usize;
        Self::new(Some(resource), context, Reach::Array { owner, array })
    }

    /// What other code orders.
    pub(super) fn unknown(context: &CudaContext) -> Self {
        Self::new(None, context, Reach::Unknown)
    }

    fn new(resource: Option<Arc<dyn Resource>>, context: &CudaContext, reach: Reach) -> Self {
        Self { context: context.clone(), resource, reach, host: false, escaped: AtomicBool::new(false) }
    }

    /// The context it belongs to.
    pub(crate) fn context(&self) -> &CudaContext {
        &self.context
    }

    /// Where it is.
    pub(crate) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Whether safe code of the host may have a reference into it while kernels run.
    pub(crate) fn is_seen_by_host(&self) -> bool {
        self.host
    }

    /// The word that a launch looks at: see [`Memory::words`](crate::foundation::Memory::words). What other code orders
    /// has none.
    #[inline]
    pub(crate) fn word(&self, written: bool) -> u64 {
        self.resource.as_ref().map_or(0, |resource| resource.accesses().word(written))
    }

    /// Notes that `work` uses it.
    pub(crate) fn note(&self, work: &mut Submission<'_>, written: bool) -> Result<(), Error> {
        let Some(resource) = &self.resource else { return Ok(()) };
        work.accesses(resource.accesses(), written, || resource.clone())
    }

    /// Records that the object's handle, a number, is handed out: work may use it that is not recorded.
    #[inline]
    pub(super) fn escape(&self) {
        // Nothing is written where each launch takes the number.
        if !self.escaped.load(Ordering::Relaxed) {
            self.escaped.store(true, Ordering::Relaxed);
            self.resource.iter().for_each(|resource| resource.escape());
        }
    }

    /// Waits on the host before the object is destroyed: for the streams that used the memory behind it, which include those that used
    /// the object; or for all work in the context, if unrecorded work may use it or the driver refuses to wait for less.
    pub(super) fn end(&self) -> Result<(), Error> {
        match &self.resource {
            Some(resource) if !self.escaped.load(Ordering::Relaxed) => {
                resource.accesses().end(&self.context, false)
            }
            _ => self.context.end_of_work(),
        }
    }
}

impl Debug for Used {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Used").field("reach", &self.reach).finish_non_exhaustive()
    }
}

impl Reach {
    /// Whether there is something that both reach, as far as is known.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Addresses(a), Self::Addresses(b)) => a.start < b.end && b.start < a.end,
            (Self::Array { owner: a, array: of_a }, Self::Array { owner: b, array: of_b }) => {
                a == b && (of_a.is_none() || of_b.is_none() || of_a == of_b)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reach;

    #[test]
    fn ranges_meet_where_they_overlap_and_arrays_where_they_are_one() {
        let at = |range| Reach::Addresses(range);
        assert!(at(0..8).meets(&at(7..9)) && at(7..9).meets(&at(0..8)) && at(0..9).meets(&at(3..4)));
        assert!(!at(0..8).meets(&at(8..9)) && !at(8..9).meets(&at(0..8)) && !at(3..3).meets(&at(3..3)));
        let array = |owner, array| Reach::Array { owner, array };
        assert!(array(1, Some(2)).meets(&array(1, Some(2))) && array(1, None).meets(&array(1, Some(2))));
        assert!(!array(1, Some(2)).meets(&array(1, Some(3))) && !array(1, None).meets(&array(2, None)));
        assert!(!array(1, None).meets(&at(0..u64::MAX)) && !Reach::Unknown.meets(&Reach::Unknown));
    }
}
