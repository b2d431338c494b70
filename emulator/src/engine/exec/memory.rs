//! Where an address leads: the check of every access, and the faults.
#![allow(unsafe_code)]
// Relies on: regions describe memory that lives as long as the launch (device allocations are held by the snapshot,
// shared memory and parameters by the block group and the launch), and that everything accesses through
// `memory::access`.
#![allow(clippy::needless_range_loop)] // Rows of lanes are read and written side by side, by lane.

use cuda_ptx::Space;

use super::super::code::{Inst, Slot};
use super::super::fault::FaultKind;
use super::super::windows;
use super::lanes::{Lanes, Source, bits};

/// A piece of memory: `len` bytes that the device sees at `base` and the host at `host`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// Address of the first byte, in the space it is looked up for.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

// SAFETY: the bytes are accessed through relaxed atomics only; the rest is numbers.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// No bytes.
    pub(crate) const NONE: Region = Region { base: 0, len: 0, host: std::ptr::null_mut(), private: false };

    /// The same bytes seen from another address.
    pub(crate) fn at(self, base: u64) -> Region {
        Region { base, ..self }
    }

    /// Whether `bytes` bytes at `address` lie inside.
    #[inline(always)]
    pub(crate) fn contains(&self, address: u64, bytes: u64) -> bool {
        self.len >= bytes && address.wrapping_sub(self.base) <= self.len - bytes
    }
}

/// What a memory instruction does, packed into [`Inst::aux`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access(pub(crate) u32);

impl Access {
    /// Addresses are in a 32-bit register.
    pub(crate) const NARROW: u32 = 1 << 3;
    /// A load that looks for other threads' stores.
    pub(crate) const POLL: u32 = 1 << 7;
    /// A load with acquire, or a store with release semantics.
    pub(crate) const ORDERED: u32 = 1 << 8;
    /// Writes memory.
    pub(crate) const WRITE: u32 = 1 << 9;
    /// Reads and writes at once.
    pub(crate) const ATOMIC: u32 = 1 << 10;

    /// Elements of a vector access in a space; `None` stands for generic addresses.
    pub(crate) fn new(elements: u32, space: Option<Space>, flags: u32) -> Access {
        let space = match space {
            None => 0,
            Some(Space::Shared) => 2,
            Some(Space::Local) => 3,
            Some(Space::Param) => 4,
            Some(_) => 1,
        };
        Access(elements | space << 4 | flags)
    }

    /// Elements of a vector access.
    #[inline(always)]
    pub(crate) fn elements(self) -> usize {
        (self.0 & 7) as usize
    }

    #[inline(always)]
    fn has(self, flag: u32) -> bool {
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

    /// Whether the address register has 32 bits.
    #[inline(always)]
    pub(crate) fn narrow(self) -> bool {
        self.has(Access::NARROW)
    }

    #[inline(always)]
    fn space(self) -> u32 {
        self.0 >> 4 & 7
    }

    /// Whether the space can be local.
    #[inline(always)]
    pub(crate) fn may_be_local(self) -> bool {
        matches!(self.space(), GENERIC | LOCAL)
    }

    fn verb(self) -> &'static str {
        match (self.has(Access::ATOMIC), self.has(Access::WRITE)) {
            (true, _) => "atomic access",
            (_, true) => "write",
            _ => "read",
        }
    }
}

const GENERIC: u32 = 0;
const GLOBAL: u32 = 1;
const SHARED: u32 = 2;
const LOCAL: u32 = 3;
const PARAM: u32 = 4;

/// Where the bytes of one lane are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    /// In memory that lies in one piece.
    Host {
        /// The first byte.
        pointer: *mut u8,
        /// Whether only the threads of this block group can touch it.
        private: bool,
    },
    /// At a byte of the thread's local memory.
    Local(u32),
}

/// The address in lane `lane` of a memory instruction.
///
/// # Safety
/// `slot` is the address operand of an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn address(lanes: &Lanes<'_>, inst: &Inst, slot: Slot, lane: usize) -> u64 {
    // SAFETY: passed on to the caller.
    let base = unsafe {
        if Access(inst.aux).narrow() {
            u64::from(<u32 as Source>::get(<u32 as Source>::place(lanes, slot), lane))
        } else {
            <u64 as Source>::get(<u64 as Source>::place(lanes, slot), lane)
        }
    };
    base.wrapping_add(inst.imm)
}

/// The offsets of all lanes in the one region that holds all live ones.
pub(crate) struct Together {
    /// Offsets; those of dead lanes mean nothing.
    pub(crate) offsets: [u64; 32],
    /// First byte of the region.
    pub(crate) host: *mut u8,
    /// Whether only the threads of this block group can touch it.
    pub(crate) private: bool,
}

/// Checks all lanes at once: `None` if they do not all lie, aligned, in one region of directly addressed memory.
///
/// # Safety
/// `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn together(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Together> {
    // SAFETY: passed on to the caller; a live lane exists, or no instruction runs.
    let first = unsafe { address(lanes, inst, slot, lanes.mask().trailing_zeros() as usize & 31) };
    let region = region(lanes, inst, first)?;
    let limit = region.len.checked_sub(bytes)?;
    let shift = inst.imm.wrapping_sub(region.base);
    let (mut offsets, mut bad) = ([0u64; 32], 0u32);
    // SAFETY: passed on to the caller.
    unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = u64::from(<u32 as Source>::get(place, lane)).wrapping_add(shift);
            }
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            for (lane, offset) in offsets.iter_mut().enumerate() {
                *offset = <u64 as Source>::get(place, lane).wrapping_add(shift);
            }
        }
    }
    for (lane, offset) in offsets.iter().enumerate() {
        let wrong = (*offset > limit) | (offset & (bytes - 1) != 0);
        bad |= u32::from(wrong) << lane;
    }
    (bad & lanes.mask() == 0).then_some(Together { offsets, host: region.host, private: region.private })
}

/// Sixteen lanes at one address, or at addresses that follow each other: nearly all accesses of real kernels.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// What the first lane accesses.
    pub(crate) host: *mut u8,
    /// Whether all lanes access that.
    pub(crate) uniform: bool,
}

/// Checks a full warp whose two halves each are such a run: only the ends of a run have to be looked at. `None` if
/// they are not, or not where they may be.
///
/// # Safety
/// `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn runs(lanes: &mut Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<[Run; 2]> {
    if lanes.mask() != !0 {
        return None;
    }
    // SAFETY: passed on to the caller: the operand's row has 32 numbers of the width that the access names.
    let starts = unsafe {
        if Access(inst.aux).narrow() {
            let [low, high] = &*<u32 as Source>::place(lanes, slot).cast::<[[u32; 16]; 2]>();
            [narrow_run(low, bytes as u32)?, narrow_run(high, bytes as u32)?]
        } else {
            let [low, high] = &*<u64 as Source>::place(lanes, slot).cast::<[[u64; 16]; 2]>();
            [wide_run(low, bytes)?, wide_run(high, bytes)?]
        }
    };
    let mut runs = [Run { host: std::ptr::null_mut(), uniform: false }; 2];
    for ((start, uniform), run) in starts.into_iter().zip(&mut runs) {
        let address = start.wrapping_add(inst.imm);
        let region = region(lanes, inst, address)?;
        let offset = address.wrapping_sub(region.base);
        let span = if uniform { bytes } else { 16 * bytes };
        if region.len < span || offset > region.len - span || offset & (bytes - 1) != 0 {
            return None;
        }
        // SAFETY: the offset lies inside the region.
        *run = Run { host: unsafe { region.host.add(offset as usize) }, uniform };
    }
    Some(runs)
}

macro_rules! run_of {
    ($name:ident, $number:ty) => {
        /// The address of a run, and whether it is the same for all its lanes.
        #[inline(always)]
        fn $name(lanes: &[$number; 16], bytes: $number) -> Option<(u64, bool)> {
            let start = lanes[0];
            let uniform = lanes[1] == start;
            let step = if uniform { 0 } else { bytes };
            let mut differs = 0;
            for lane in 0..16 {
                differs |= lanes[lane] ^ start.wrapping_add((lane as $number).wrapping_mul(step));
            }
            (differs == 0).then_some((u64::from(start), uniform))
        }
    };
}
run_of!(narrow_run, u32);
run_of!(wide_run, u64);

/// [`together`] out of line, for instructions that do much more than that.
///
/// # Safety
/// As for [`together`].
#[inline(never)]
pub(crate) unsafe fn together_apart(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    slot: Slot,
    bytes: u64,
) -> Option<Together> {
    // SAFETY: passed on to the caller.
    unsafe { together(lanes, inst, slot, bytes) }
}

/// The region around `address`: nearly always that which the instruction hit last.
#[inline(always)]
fn region(lanes: &mut Lanes<'_>, inst: &Inst, address: u64) -> Option<Region> {
    match lanes.sites.get(inst.site as usize) {
        Some(cached) if address.wrapping_sub(cached.base) < cached.len => Some(*cached),
        _ => look_up(lanes, inst, address),
    }
}

#[inline(never)]
fn look_up(lanes: &mut Lanes<'_>, inst: &Inst, address: u64) -> Option<Region> {
    let access = Access(inst.aux);
    let writes = access.has(Access::WRITE | Access::ATOMIC);
    let region = match access.space() {
        GLOBAL => global(lanes, address),
        SHARED => shared(lanes, address),
        // A kernel's parameters are constant.
        PARAM if !writes => Some(lanes.env.params),
        GENERIC if address < windows::SHARED => global(lanes, address),
        GENERIC if windows::inside(windows::SHARED, address) => {
            let region = shared(lanes, address - windows::SHARED)?;
            Some(region.at(region.base + windows::SHARED))
        }
        GENERIC if windows::inside(windows::PARAM, address) && !writes => {
            Some(lanes.env.params.at(windows::PARAM))
        }
        _ => None,
    }?;
    lanes.remember(inst.site, region);
    Some(region)
}

fn global(lanes: &Lanes<'_>, address: u64) -> Option<Region> {
    let snapshot = &lanes.env.snapshot;
    let allocation = snapshot.get(snapshot.find(address)?)?;
    Some(Region { base: allocation.base(), len: allocation.len(), host: allocation.host(), private: false })
}

fn shared(lanes: &Lanes<'_>, address: u64) -> Option<Region> {
    let tag = address >> windows::RANK_SHIFT;
    let rank = if tag == 0 { u64::from(lanes.block().rank) } else { tag - 1 };
    let region = lanes.block().shared.get(usize::try_from(rank).ok()?)?;
    Some(region.at((tag << windows::RANK_SHIFT) + u64::from(windows::SHARED_START)))
}

/// Checks one lane's access. On failure the reason is recorded and the instruction must return a fault.
#[inline(never)]
pub(crate) fn spot(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    address: u64,
    bytes: u64,
) -> Option<Spot> {
    let local = match Access(inst.aux).space() {
        LOCAL => Some(address),
        GENERIC if windows::inside(windows::LOCAL, address) => Some(address - windows::LOCAL),
        _ => None,
    };
    if let Some(offset) = local {
        let inside = offset >= u64::from(windows::LOCAL_START)
            && offset.checked_add(bytes).is_some_and(|end| end <= u64::from(lanes.local_top));
        if inside && offset % bytes == 0 {
            return Some(Spot::Local(offset as u32));
        }
        return refuse(lanes, inst, lane, address, bytes, inside);
    }
    match region(lanes, inst, address) {
        Some(region) if region.contains(address, bytes) => {
            let offset = address - region.base;
            if !offset.is_multiple_of(bytes) {
                return refuse(lanes, inst, lane, address, bytes, true);
            }
            // SAFETY: the offset lies inside the region.
            let pointer = unsafe { region.host.add(offset as usize) };
            Some(Spot::Host { pointer, private: region.private })
        }
        // The first byte is there: what is wrong is the alignment, if that is wrong too.
        Some(region) if region.contains(address, 1) => {
            refuse(lanes, inst, lane, address, bytes, !address.is_multiple_of(bytes))
        }
        _ => refuse(lanes, inst, lane, address, bytes, false),
    }
}

/// Records a fault.
#[cold]
fn refuse(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    address: u64,
    bytes: u64,
    misaligned: bool,
) -> Option<Spot> {
    let access = Access(inst.aux);
    let verb = access.verb();
    let (kind, message) = if misaligned {
        let message = format!("misaligned {verb} of {bytes} bytes at {}0x{address:x}", space_name(access));
        (FaultKind::MisalignedAddress, message)
    } else {
        let place = describe(lanes, access, address, bytes);
        let message =
            format!("illegal {verb} of {bytes} bytes at {}0x{address:x}, {place}", space_name(access));
        (FaultKind::IllegalAddress, message)
    };
    lanes.fail(kind, lane as u32, Some(address), message);
    None
}

fn space_name(access: Access) -> &'static str {
    match access.space() {
        SHARED => "shared address ",
        LOCAL => "local address ",
        PARAM => "parameter address ",
        _ => "",
    }
}

/// Says where an illegal address lies.
fn describe(lanes: &Lanes<'_>, access: Access, address: u64, bytes: u64) -> String {
    let (space, offset) = match access.space() {
        GENERIC if windows::inside(windows::SHARED, address) => (SHARED, address - windows::SHARED),
        GENERIC if windows::inside(windows::LOCAL, address) => (LOCAL, address - windows::LOCAL),
        GENERIC if windows::inside(windows::PARAM, address) => (PARAM, address - windows::PARAM),
        GENERIC => (GLOBAL, address),
        space => (space, address),
    };
    let outside = |what: &str, start: u32, len: u64| {
        let (start, end) = (u64::from(start), u64::from(start) + len);
        if offset < start {
            return format!("{} bytes before the {what} memory of {len} bytes", start - offset);
        }
        // As for allocations: how far behind the end it starts, or by how much it sticks out.
        let past =
            if offset >= end { offset - end } else { offset.saturating_add(bytes).saturating_sub(end) };
        format!("{past} bytes past the end of the {what} memory of {len} bytes")
    };
    match space {
        SHARED if offset >> windows::RANK_SHIFT != 0 => "outside the shared memory of the cluster".to_owned(),
        SHARED => {
            let len = lanes.block().shared.get(lanes.block().rank as usize).map_or(0, |region| region.len);
            outside("block's shared", windows::SHARED_START, len)
        }
        LOCAL => {
            outside("thread's local", windows::LOCAL_START, u64::from(lanes.local_top - windows::LOCAL_START))
        }
        PARAM if lanes.env.params.contains(offset, bytes) => {
            "a kernel's parameters, which are constant".to_owned()
        }
        PARAM => outside("parameter", 0, lanes.env.params.len),
        _ => lanes.env.memory.describe(address, bytes),
    }
}

/// Whether the first live lane addresses local memory.
///
/// # Safety
/// `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn is_local(lanes: &Lanes<'_>, inst: &Inst, slot: Slot) -> bool {
    if Access(inst.aux).space() == LOCAL {
        return true;
    }
    // SAFETY: passed on to the caller.
    let first = unsafe { address(lanes, inst, slot, lanes.mask().trailing_zeros() as usize & 31) };
    windows::inside(windows::LOCAL, first)
}

/// Whether the live lanes all address the same place in local memory, and which.
///
/// # Safety
/// `slot` is the address operand of `inst`, an instruction of the entered code.
#[inline(always)]
pub(crate) unsafe fn uniform_local(lanes: &Lanes<'_>, inst: &Inst, slot: Slot, bytes: u64) -> Option<u32> {
    let mask = lanes.mask();
    // SAFETY: passed on to the caller.
    let first = unsafe { address(lanes, inst, slot, mask.trailing_zeros() as usize & 31) };
    let offset = match Access(inst.aux).space() {
        LOCAL => first,
        GENERIC if windows::inside(windows::LOCAL, first) => first - windows::LOCAL,
        _ => return None,
    };
    let end = offset.checked_add(bytes)?;
    if offset < u64::from(windows::LOCAL_START)
        || end > u64::from(lanes.local_top)
        || !offset.is_multiple_of(bytes)
    {
        return None;
    }
    // SAFETY: passed on to the caller.
    let same = unsafe {
        if Access(inst.aux).narrow() {
            let place = <u32 as Source>::place(lanes, slot);
            let first = <u32 as Source>::get(place, mask.trailing_zeros() as usize & 31);
            (0..32).fold(0, |same, lane| same | u32::from(<u32 as Source>::get(place, lane) == first) << lane)
        } else {
            let place = <u64 as Source>::place(lanes, slot);
            let first = <u64 as Source>::get(place, mask.trailing_zeros() as usize & 31);
            (0..32).fold(0, |same, lane| same | u32::from(<u64 as Source>::get(place, lane) == first) << lane)
        }
    };
    (same & mask == mask).then_some(offset as u32)
}

/// Index of a lane's local word in the warp's local memory.
#[inline(always)]
pub(crate) fn local_index(offset: u32, lane: usize) -> usize {
    ((offset - windows::LOCAL_START) / 4) as usize * 32 + lane
}

/// Reads `N` bytes of one lane's local memory, zero-extended. `bytes` is 1, 2, 4 or 8 and divides `offset`.
#[inline(always)]
pub(crate) fn local_read(local: &[u32], offset: u32, lane: usize, bytes: u32) -> u64 {
    let word = |offset| local.get(local_index(offset, lane)).copied().unwrap_or(0);
    let low = u64::from(word(offset));
    match bytes {
        8 => low | u64::from(word(offset + 4)) << 32,
        4 => low,
        _ => low >> (offset % 4 * 8) & ((1 << (bytes * 8)) - 1),
    }
}

/// Writes `bytes` bytes of one lane's local memory: 1, 2, 4 or 8, which divides `offset`.
#[inline(always)]
pub(crate) fn local_write(local: &mut [u32], offset: u32, lane: usize, bytes: u32, value: u64) {
    let mut put = |offset: u32, mask: u32, value: u32| {
        if let Some(word) = local.get_mut(local_index(offset, lane)) {
            *word = *word & !mask | value & mask;
        }
    };
    match bytes {
        8 => {
            put(offset, !0, value as u32);
            put(offset + 4, !0, (value >> 32) as u32);
        }
        4 => put(offset, !0, value as u32),
        _ => {
            let shift = offset % 4 * 8;
            put(offset, ((1 << (bytes * 8)) - 1) << shift, (value as u32) << shift);
        }
    }
}

/// The first `len` bytes, or those before a zero byte if `text`, at a generic address as one thread sees it; fewer
/// where memory ends. For functions of the device runtime.
pub(crate) fn fetch(lanes: &mut Lanes<'_>, lane: usize, address: u64, len: usize, text: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let inst = Inst { aux: Access::new(1, None, 0).0, site: u32::MAX, ..Inst::NOTHING };
    for at in 0..len as u64 {
        let byte = match spot(lanes, &inst, lane, address.wrapping_add(at), 1) {
            // SAFETY: `spot` checked the byte.
            Some(Spot::Host { pointer, .. }) => unsafe { crate::memory::access::Word::load(pointer) },
            Some(Spot::Local(offset)) => local_read(lanes.local(), offset, lane, 1) as u8,
            None => break,
        };
        if text && byte == 0 {
            break;
        }
        bytes.push(byte);
    }
    bytes
}

/// All live lanes, lowest first.
#[inline(always)]
pub(crate) fn live(lanes: &Lanes<'_>) -> impl Iterator<Item = usize> + use<> {
    bits(lanes.mask())
}
