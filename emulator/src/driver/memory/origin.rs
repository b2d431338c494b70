//! What memory is of which an executable graph's copy or fill has an address: it can be given another address only of memory like it.

use cuda_driver_sys::CUdevice;

/// Where an operand of a copy or a fill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) struct Origin {
    pub(in crate::driver) kind: Kind,
    /// The device whose memory it is, or that of the context that pinned it; `None` for memory that is nobody's.
    pub(in crate::driver) device: Option<CUdevice>,
    /// Handle of the context; 0 for memory that is of none: pooled, mapped, of graphs.
    pub(in crate::driver) context: usize,
}

/// The kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::driver) enum Kind {
    Device,
    Managed,
    /// Host memory that is allocated by the driver, or registered.
    Pinned,
    /// Host memory that the driver does not know.
    Pageable,
    Array,
}

impl Origin {
    /// Memory of that kind of which no more is known.
    pub(in crate::driver) fn unknown(kind: Kind) -> Origin {
        Origin { kind, device: None, context: 0 }
    }

    /// Whether an operand can be changed from this memory to the other: of the same kind, device and context, as far as they are of one.
    pub(in crate::driver) fn can_become(self, other: Origin) -> bool {
        let same_context = self.context == other.context || self.context == 0 || other.context == 0;
        let same_device = self.device.zip(other.device).is_none_or(|(one, other)| one == other);
        self.kind == other.kind && same_context && same_device
    }
}
