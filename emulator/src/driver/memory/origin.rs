//! The kind of memory that a copy or fill of an executable graph uses: its address can be changed only to memory of the same kind.

use cuda_driver_sys::CUdevice;

/// Where an operand of a copy or a fill is. Pinned and managed memory that is named by a device address is memory of its context like any
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Origin {
    /// Of device memory: the device whose memory it is, or that of the context that pinned it.
    pub(in crate::driver) device: Option<CUdevice>,
    /// Of device memory: the handle of its context; 0 for memory that is of none: pooled, mapped, of graphs.
    pub(in crate::driver) context: usize,
}

impl Origin {
    /// Memory of which no more is known.
    pub(in crate::driver) const UNKNOWN: Origin = Origin { device: None, context: 0 };

    /// Whether a source can be changed from this memory to the other, named in the same way: of the same device and context.
    pub(in crate::driver) fn can_become(self, other: Origin) -> bool {
        self.context == other.context && self.is_of_device_of(other)
    }

    /// The same of a target, of which a driver compares only whether it is of a context.
    pub(in crate::driver) fn can_become_target(self, other: Origin) -> bool {
        (self.context == 0) == (other.context == 0) && self.is_of_device_of(other)
    }

    fn is_of_device_of(self, other: Origin) -> bool {
        self.device.zip(other.device).is_none_or(|(one, other)| one == other)
    }

    /// A fill's memory, where it is of no context, counts as that of the node's.
    pub(in crate::driver) fn or_of(self, context: usize) -> Origin {
        if self.context == 0 { Origin { context, ..self } } else { self }
    }
}
