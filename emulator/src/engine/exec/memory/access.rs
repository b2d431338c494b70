//! The decoded properties of memory instructions.

use cuda_ptx::Space;

/// The properties of a memory access, packed into [`Inst::aux`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access(pub(crate) u32);

impl Access {
    /// Addresses are in a 32-bit register.
    pub(crate) const NARROW: u32 = 1 << 3;
    /// A load that polls for other threads' stores.
    pub(crate) const POLL: u32 = 1 << 7;
    /// A load with acquire, or a store with release semantics.
    pub(crate) const ORDERED: u32 = 1 << 8;
    /// Writes memory.
    pub(crate) const WRITE: u32 = 1 << 9;
    /// Reads and writes at once.
    pub(crate) const ATOMIC: u32 = 1 << 10;
    /// Its scope is the block: other blocks need not see it as one access, or in order.
    pub(crate) const BLOCK: u32 = 1 << 12;
    /// Addresses of the space have 32 bits.
    const SHORT: u32 = 1 << 11;

    /// Without known properties.
    pub(crate) const UNKNOWN: Access = Access(0);

    /// Elements of a vector access in a space; `None` stands for generic addresses.
    pub(crate) fn new(elements: u32, space: Option<Space>, flags: u32) -> Access {
        let space = match space {
            None => GENERIC,
            Some(Space::Shared) => SHARED,
            Some(Space::Local) => LOCAL,
            Some(Space::Param) => PARAM,
            Some(_) => GLOBAL,
        };
        let short = if matches!(space, SHARED | LOCAL | PARAM) { Access::SHORT } else { 0 };
        Access(elements | space << 4 | flags | short)
    }

    /// Elements of a vector access.
    #[inline(always)]
    pub(crate) fn elements(self) -> usize {
        (self.0 & 7) as usize
    }

    #[inline(always)]
    pub(super) fn has(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    /// Whether other threads' stores are awaited.
    #[inline(always)]
    pub(crate) fn polls(self) -> bool {
        self.has(Access::POLL)
    }

    /// Whether the access orders others.
    #[inline(always)]
    pub(crate) fn ordered(self) -> bool {
        self.has(Access::ORDERED)
    }

    /// Whether its scope is the block.
    pub(crate) fn is_of_block(self) -> bool {
        self.has(Access::BLOCK)
    }

    /// Whether the address register has 32 bits.
    #[inline(always)]
    pub(crate) fn narrow(self) -> bool {
        self.has(Access::NARROW)
    }

    #[inline(always)]
    pub(super) fn space(self) -> u32 {
        self.0 >> 4 & 7
    }

    /// The bits of an address that count. Shared, local and parameter memory have 32-bit addresses: sums wrap, and the upper
    /// half of a wider register is ignored, as specified by the ISA ("truncated if the register width exceeds the state
    /// space address width"). Compilers generate such sums, with an index that is negative until the offset is added.
    #[inline(always)]
    pub(crate) fn address_mask(self) -> u64 {
        u64::MAX >> (if self.has(Access::SHORT) { 32 } else { 0 })
    }

    /// Whether it writes memory.
    pub(crate) fn writes(self) -> bool {
        self.has(Access::WRITE)
    }

    /// Whether it is not ordered, does not poll, and is not in the local space.
    pub(crate) fn is_plain(self) -> bool {
        !self.polls() && !self.ordered() && self.space() != LOCAL
    }

    /// Whether it is plain and accesses one number.
    pub(crate) fn is_simple(self) -> bool {
        self.elements() == 1 && self.is_plain()
    }

    /// Whether the space can be local.
    #[inline(always)]
    pub(crate) fn may_be_local(self) -> bool {
        matches!(self.space(), GENERIC | LOCAL)
    }

    pub(super) fn verb(self) -> &'static str {
        match (self.has(Access::ATOMIC), self.has(Access::WRITE)) {
            (true, _) => "atomic access",
            (_, true) => "write",
            _ => "read",
        }
    }
}

pub(super) const GENERIC: u32 = 0;
pub(super) const GLOBAL: u32 = 1;
pub(super) const SHARED: u32 = 2;
pub(super) const LOCAL: u32 = 3;
pub(super) const PARAM: u32 = 4;
