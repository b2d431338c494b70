//! `cp.async.bulk`, `cp.reduce.async.bulk` and their tensor forms (PTX ISA, "Asynchronous copy"). They are executed at once, which is one
//! of the orders that the ISA allows: committing and waiting have nothing left to do, and a barrier gets the bytes when the instruction
//! runs.
//!
//! The operands are in `a` of a [`Matrix`], all wide, because the instruction has no room for them. `aux` is a
//! [`Bulk`].
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `span`, which checked bounds and alignment.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Matrix, Slot, Step};
use super::super::fault::FaultKind;
use super::super::watch::Side;
use super::address::with_rank;
use super::lanes::{Lanes, bits};
use super::mbarrier;
use super::memory::{Access, EffectiveAddress, Region, effective_address, fetch, live, region};
use super::operand::Source;
use super::reduce::{Number, Operation, Reduce, reduce};
use crate::memory::access;
use crate::tensor::{self, Mode, RANK, TensorMap};

/// Bytes that are swizzled together, and to which sizes and addresses are aligned.
const CHUNK: u64 = 16;
/// Bytes to which a box in shared memory is aligned.
const LINE: u64 = 128;

/// What a bulk instruction does, packed into [`Inst::aux`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bulk {
    /// The source is global memory, not shared.
    pub(crate) from_global: bool,
    /// The target is global memory, not shared.
    pub(crate) to_global: bool,
    /// A mask says which blocks of the cluster get the bytes.
    pub(crate) multicast: bool,
    /// The operation on the target's numbers, instead of replacing them.
    pub(crate) reduce: Option<Reduce>,
    /// For a tensor, the number of dimensions in the instruction's name.
    pub(crate) rank: u8,
    /// For a tensor, whether the name has `.im2col`.
    pub(crate) im2col: bool,
    /// For a tensor, the operation on numbers, whose type is in the map.
    pub(crate) operation: Option<Operation>,
    /// Bytes at both ends of the source may not be there.
    pub(crate) ignores: bool,
}

impl Bulk {
    /// As a number.
    pub(crate) fn word(self) -> u32 {
        let flags = [self.from_global, self.to_global, self.multicast, self.im2col];
        let flags = flags.iter().rev().fold(0, |word, flag| word << 1 | u32::from(*flag));
        let reduce = self.reduce.map_or(0, |reduce| reduce as u32 + 1);
        let operation = self.operation.map_or(0, |operation| operation as u32 + 1);
        flags | u32::from(self.rank) << 4 | reduce << 8 | operation << 16 | u32::from(self.ignores) << 24
    }

    /// Of a number that [`word`](Self::word) made.
    fn read(word: u32) -> Bulk {
        let flag = |at: u32| word >> at & 1 != 0;
        let field = |at: u32| (word >> at & 0xff).checked_sub(1);
        Bulk {
            from_global: flag(0),
            to_global: flag(1),
            multicast: flag(2),
            im2col: flag(3),
            rank: (word >> 4) as u8 & 15,
            reduce: field(8).and_then(Reduce::new),
            operation: field(16).and_then(Operation::new),
            ignores: flag(24),
        }
    }
}

fn space(global: bool) -> Space {
    if global { Space::Global } else { Space::Shared }
}

/// `cp.async.bulk`, `cp.reduce.async.bulk`. Operands: the target's address, the source's, the bytes, the barrier's address, the mask, and
/// the bytes of the source that may not be there, at its beginning and at its end.
pub(crate) const COPY: Exec = |lanes, inst| each(lanes, inst, copy);

/// `cp.async.bulk.tensor` from global memory. Operands: the target's address, the map's generic address, the barrier's address, the mask,
/// five coordinates, three offsets.
pub(crate) const LOAD_TENSOR: Exec = |lanes, inst| each(lanes, inst, load_tensor);

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor` to global memory. Operands: the map's generic address, the source's address, five
/// coordinates.
pub(crate) const STORE_TENSOR: Exec = |lanes, inst| each(lanes, inst, store_tensor);

/// `st.async`. Operands: the target's address, the barrier's address, the numbers; `aux` is the bytes of one.
pub(crate) const STORE: Exec = |lanes, inst| each(lanes, inst, store);

/// `red.async`. Operands: the target's address, the barrier's address, the number; `aux` is a [`Bulk`], and its bytes from bit 24 on.
pub(crate) const REDUCE: Exec = |lanes, inst| each(lanes, inst, reduce_one);

/// The operands of one lane.
struct Operands<'e> {
    matrix: &'e Matrix<Slot>,
    lane: usize,
}

impl Operands<'_> {
    fn get(&self, lanes: &Lanes<'_>, index: usize) -> u64 {
        // SAFETY: the decoder made the operands wide (duty 2 of `Exec`, which all callers have), and the lane is a live one, below 32.
        let value =
            |slot: &Slot| unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, *slot), self.lane) };
        self.matrix.a.get(index).map_or(0, value)
    }
}

/// Runs the instruction for each live lane.
fn each(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    run: fn(&mut Lanes<'_>, &Operands<'_>, u32) -> Option<()>,
) -> Step {
    let Some(matrix) = lanes.matrix(inst) else { return Step::Fault };
    for lane in live(lanes) {
        if run(lanes, &Operands { matrix, lane }, inst.aux).is_none() {
            return Step::Fault;
        }
    }
    Step::Next
}

/// The bytes of a piece of memory, which are valid and used as [`EffectiveAddress::Host`] says, and whose address is a multiple of
/// `align`. `None` after a fault.
fn span(
    lanes: &mut Lanes<'_>,
    lane: usize,
    (space, writes): (Space, bool),
    address: u64,
    bytes: u64,
    align: u64,
) -> Option<*mut u8> {
    let aux = Access::new(1, Some(space), if writes { Access::WRITE } else { 0 });
    let inst = Inst { aux: aux.0, ..Inst::NOTHING };
    let address = address & aux.address_mask();
    // The first bytes, however few there are, and the alignment of all.
    let piece = align.min(CHUNK);
    let EffectiveAddress::Host { pointer, .. } = effective_address(lanes, &inst, lane, address, piece)?
    else {
        return None;
    };
    if !address.is_multiple_of(align) {
        let message = format!("a copy at 0x{address:x}, which is not a multiple of {align}");
        lanes.fail(FaultKind::MisalignedAddress, lane as u32, Some(address), message);
        return None;
    }
    let found = region(lanes, &inst, address)?;
    if !found.contains(address, bytes) {
        // It reports the first byte after the end.
        let end = (found.base + found.len) & !(piece - 1);
        effective_address(lanes, &inst, lane, end, piece)?;
        let message =
            format!("a copy of {bytes} bytes at 0x{address:x} reaches from one allocation into another");
        lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
        return None;
    }
    Some(pointer)
}

/// Reports to the observers that bytes of a tensor map, which were checked, are about to be written.
pub(super) fn wrote(lanes: &mut Lanes<'_>, space: Option<Space>, address: u64, bytes: u64) {
    let Some((region, address)) = seen(lanes, space, address, true) else { return };
    if let Some(mut watch) = lanes.watch.take() {
        watch.wrote(lanes, region, address, bytes);
        lanes.watch = Some(watch);
    }
    note_order(lanes, region, address, bytes);
}

/// Reports to the observers that bytes, which were checked, are about to be accessed.
fn tell(lanes: &mut Lanes<'_>, lane: usize, space: Space, address: u64, bytes: u64, side: Side) {
    let writes = side != Side::Read;
    let Some((region, address)) = seen(lanes, Some(space), address, writes) else { return };
    if let Some(mut watch) = lanes.watch.take() {
        watch.touch(lanes, lane, region, (address, bytes), side);
        lanes.watch = Some(watch);
    }
    if let Some(mut profile) = lanes.profile.take() {
        profile.piece(lanes, lane, region, (address, bytes));
        lanes.profile = Some(profile);
    }
    if writes {
        note_order(lanes, region, address, bytes);
    }
}

/// The location of bytes, for the observers.
fn seen(lanes: &mut Lanes<'_>, space: Option<Space>, address: u64, writes: bool) -> Option<(Region, u64)> {
    if lanes.watch.is_none() && lanes.order.is_none() && lanes.profile.is_none() {
        return None;
    }
    let aux = Access::new(1, space, if writes { Access::WRITE } else { 0 });
    let inst = Inst { aux: aux.0, ..Inst::NOTHING };
    let address = address & aux.address_mask();
    Some((region(lanes, &inst, address)?, address))
}

fn note_order(lanes: &mut Lanes<'_>, region: Region, address: u64, bytes: u64) {
    if let Some(order) = lanes.order.take() {
        order.wrote(lanes, region, address, bytes);
        lanes.order = Some(order);
    }
}

/// Reads a piece of memory.
fn read(
    lanes: &mut Lanes<'_>,
    lane: usize,
    space: Space,
    address: u64,
    bytes: u64,
    align: u64,
) -> Option<Vec<u8>> {
    let from = span(lanes, lane, (space, false), address, bytes, align)?;
    tell(lanes, lane, space, address, bytes, Side::Read);
    let mut buffer = vec![0; bytes as usize];
    // SAFETY: 1, 2: `span` found as many bytes to be as `EffectiveAddress::Host` says.
    unsafe { access::load(from, &mut buffer) };
    Some(buffer)
}

/// Writes a piece of memory, or reduces into it.
fn write(
    lanes: &mut Lanes<'_>,
    lane: usize,
    space: Space,
    address: u64,
    buffer: &[u8],
    align: u64,
    with: Option<Reduce>,
) -> Option<()> {
    let bytes = buffer.len() as u64;
    let to = span(lanes, lane, (space, true), address, bytes, align)?;
    tell(lanes, lane, space, address, bytes, if with.is_some() { Side::Update } else { Side::Write });
    // SAFETY: 1, 2, of both: `span` found as many bytes to be as `EffectiveAddress::Host` says, from a multiple of `align` on. Numbers are
    // reduced by `copy`, whose `align` is 16, and by `store_tensor`, whose `align` is the size of the map's elements: `reduction` takes
    // the type of the numbers from the same `data_type`.
    unsafe {
        match with {
            None => access::write(to, access::bytes(buffer)),
            Some(with) => reduce(with, to, buffer),
        }
    }
    Some(())
}

/// The blocks of the cluster that get the bytes: the shared addresses of target and barrier there.
fn targets(
    lanes: &mut Lanes<'_>,
    lane: usize,
    (bulk, mask): (Bulk, u64),
    target: u64,
    barrier: u64,
) -> Option<Vec<(u64, u64)>> {
    if !bulk.multicast {
        return Some(vec![(target, barrier)]);
    }
    let mask = mask as u32 & 0xffff;
    let blocks = lanes.block().shared.len() as u32;
    if mask.checked_shr(blocks).is_some_and(|absent| absent != 0) {
        let message = format!("a copy to the blocks of mask 0x{mask:x} of a cluster that has {blocks}");
        lanes.fail(FaultKind::InvalidSync, lane as u32, None, message);
        return None;
    }
    let there = |rank: usize| (with_rank(target, rank as u32), with_rank(barrier, rank as u32));
    Some(bits(mask).map(there).collect())
}

fn copy(lanes: &mut Lanes<'_>, operands: &Operands<'_>, aux: u32) -> Option<()> {
    let (bulk, lane) = (Bulk::read(aux), operands.lane);
    let [target, source, bytes, barrier, mask, left, right] =
        std::array::from_fn(|index| operands.get(lanes, index));
    let bytes = bytes & u64::from(u32::MAX);
    if bytes % CHUNK != 0 {
        let message = format!("a bulk copy of {bytes} bytes, which is not a multiple of {CHUNK}");
        lanes.fail(FaultKind::MisalignedAddress, lane as u32, Some(source), message);
        return None;
    }
    if bytes == 0 {
        return Some(());
    }
    if bulk.ignores {
        return copy_inner(lanes, lane, (target, source, bytes), barrier, (left, right));
    }
    let targets = match bulk.to_global {
        true => Vec::new(),
        false => targets(lanes, lane, (bulk, mask), target, barrier)?,
    };
    // Checked before a buffer is allocated, because no shared memory may have that many bytes.
    for (target, _) in &targets {
        span(lanes, lane, (Space::Shared, true), *target, bytes, CHUNK)?;
    }
    if targets.is_empty() && !bulk.to_global {
        return Some(());
    }
    let buffer = read(lanes, lane, space(bulk.from_global), source, bytes, CHUNK)?;
    if bulk.to_global {
        return write(lanes, lane, Space::Global, target, &buffer, CHUNK, bulk.reduce);
    }
    for (target, barrier) in targets {
        write(lanes, lane, Space::Shared, target, &buffer, CHUNK, bulk.reduce)?;
        mbarrier::complete(lanes, lane, barrier, bytes)?;
    }
    Some(())
}

/// `cp.async.bulk` with `.ignore_oob`: what lies between the bytes at both ends that may not be there. What those leave in the target is
/// indeterminate; here it stays as it is.
fn copy_inner(
    lanes: &mut Lanes<'_>,
    lane: usize,
    (target, source, bytes): (u64, u64, u64),
    barrier: u64,
    (left, right): (u64, u64),
) -> Option<()> {
    let (left, right) = (left & u64::from(u32::MAX), right & u64::from(u32::MAX));
    if left.max(right) >= CHUNK {
        let message = format!("a bulk copy that ignores {left} and {right} bytes, of which 15 are possible");
        lanes.fail(FaultKind::InvalidSync, lane as u32, Some(source), message);
        return None;
    }
    if !source.is_multiple_of(CHUNK) {
        let message = format!("a copy at 0x{source:x}, which is not a multiple of {CHUNK}");
        lanes.fail(FaultKind::MisalignedAddress, lane as u32, Some(source), message);
        return None;
    }
    span(lanes, lane, (Space::Shared, true), target, bytes, CHUNK)?;
    let inner = bytes.saturating_sub(left + right);
    if inner > 0 {
        let buffer = read(lanes, lane, Space::Global, source + left, inner, 1)?;
        write(lanes, lane, Space::Shared, target + left, &buffer, 1, None)?;
    }
    mbarrier::complete(lanes, lane, barrier, bytes)
}

/// The map at a generic address.
fn map(lanes: &mut Lanes<'_>, lane: usize, address: u64) -> Option<TensorMap> {
    let refuse = |lanes: &mut Lanes<'_>, kind, message| {
        lanes.fail(kind, lane as u32, Some(address), message);
        None
    };
    let bytes = fetch(lanes, lane, address, 8 * tensor::WORDS, false);
    if bytes.len() < 8 * tensor::WORDS {
        // `fetch` has recorded the fault.
        return None;
    }
    if !address.is_multiple_of(64) {
        let message = format!("the tensor map at 0x{address:x} is not aligned to 64 bytes");
        return refuse(lanes, FaultKind::MisalignedAddress, message);
    }
    let mut words = [0; tensor::WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
    }
    let Some(map) = TensorMap::decode(&words) else {
        let message = format!("there is no tensor map at 0x{address:x}: cuTensorMapEncodeTiled makes one");
        return refuse(lanes, FaultKind::InvalidSync, message);
    };
    let missing = match map {
        TensorMap { swizzle: 4.., .. } => "swizzled in a way that sm_100 introduced",
        _ if map.box_bytes().is_none() => "of elements of less than 8 bits",
        _ => return Some(map),
    };
    let message = format!("the emulator does not copy by tensor maps that are {missing}");
    refuse(lanes, FaultKind::UnsupportedInstruction, message)
}

/// Moves all 16 bytes of a box, dense in `buffer`, from or to their places in shared memory.
fn chunks(
    lanes: &mut Lanes<'_>,
    lane: usize,
    map: &TensorMap,
    (shared, writes): (u64, bool),
    buffer: &mut [u8],
) -> Option<()> {
    let how = (Space::Shared, writes);
    let (row, pitch, bytes) = (map.row_bytes()?, map.pitch()?, map.shared_bytes()?);
    let place = span(lanes, lane, how, shared, bytes, LINE)?;
    // They are swizzled inside a line.
    let is_whole = row == pitch && bytes % LINE == 0;
    let side = if writes { Side::Write } else { Side::Read };
    if is_whole {
        tell(lanes, lane, Space::Shared, shared, bytes, side);
    }
    for (at, chunk) in buffer.chunks_mut(CHUNK as usize).enumerate() {
        let offset = at * CHUNK as usize;
        let dense = shared + (offset / row * pitch + offset % row) as u64;
        let moved = tensor::swizzled(dense, u32::from(map.swizzle));
        let pointer = match is_whole {
            // SAFETY: `span` found `bytes` bytes from `place` on, from a multiple of `LINE`, and they are whole lines; a chunk's dense place
            // is in one of them, and `swizzled` changes bits 4 to 6 alone, so that the chunk stays inside that line.
            true => unsafe { place.add((moved - shared) as usize) },
            false => span(lanes, lane, how, moved, chunk.len() as u64, CHUNK)?,
        };
        if !is_whole {
            tell(lanes, lane, Space::Shared, moved, chunk.len() as u64, side);
        }
        // SAFETY: 1, 2, of both: as many bytes as the chunk has, which `span` found to be as `EffectiveAddress::Host` says.
        unsafe {
            match writes {
                true => access::write(pointer, access::bytes(chunk)),
                false => access::load(pointer, chunk),
            }
        }
    }
    Some(())
}

/// The value of box elements outside of the tensor: zero, or a NaN for floats.
fn outside(map: &TensorMap) -> &'static [u8] {
    match map.fill {
        0 => &[0],
        // The NaN of an H200, for every type.
        _ => &[0xf7, 0x7f],
    }
}

fn coordinates(lanes: &Lanes<'_>, operands: &Operands<'_>, first: usize) -> [i32; RANK] {
    std::array::from_fn(|dim| operands.get(lanes, first + dim) as i32)
}

/// Records a fault if the map is not of the kind in the instruction's name, or if the box has an invalid start.
fn wrong(lanes: &mut Lanes<'_>, lane: usize, map: &TensorMap, corner: [i32; RANK], bulk: Bulk) -> Option<()> {
    let Bulk { im2col, to_global: stores, .. } = bulk;
    let rank = usize::from(bulk.rank);
    let is_im2col = matches!(map.mode, Mode::Im2col { .. });
    let message = if map.rank == rank && is_im2col == im2col {
        map.refusal(corner, stores)?
    } else {
        let kind = |im2col| if im2col { "im2col" } else { "tile" };
        format!(
            "the tensor map has {} dimensions and is for `.{}`, the instruction is `.{rank}d` and `.{}`",
            map.rank,
            kind(is_im2col),
            kind(im2col)
        )
    };
    lanes.fail(FaultKind::InvalidSync, lane as u32, None, message);
    Some(())
}

/// The reduction of a tensor; `None` if there is no such operation on numbers of its type.
fn reduction(map: &TensorMap, operation: Option<Operation>) -> Option<Option<Reduce>> {
    let Some(operation) = operation else { return Some(None) };
    let is_bitwise = matches!(operation, Operation::And | Operation::Or | Operation::Xor);
    let number = match (map.data_type, is_bitwise) {
        (2 | 3, true) => Number::B32,
        (4, true) => Number::B64,
        (_, true) => return None,
        (2, _) => Number::U32,
        (3, _) => Number::S32,
        (4, _) => Number::U64,
        (5, _) => Number::S64,
        (6, _) => Number::F16,
        (7 | 11, _) => Number::F32,
        (8, _) => Number::F64,
        (9, _) => Number::Bf16,
        (10 | 12, _) => Number::FlushedF32,
        _ => return None,
    };
    Reduce::of(operation, number).map(Some)
}

fn load_tensor(lanes: &mut Lanes<'_>, operands: &Operands<'_>, aux: u32) -> Option<()> {
    let (bulk, lane) = (Bulk::read(aux), operands.lane);
    let [target, place, barrier, mask] = std::array::from_fn(|index| operands.get(lanes, index));
    let map = map(lanes, lane, place)?;
    let corner = coordinates(lanes, operands, 4);
    if wrong(lanes, lane, &map, corner, bulk).is_some() {
        return None;
    }
    let offsets = std::array::from_fn(|index| operands.get(lanes, 4 + RANK + index) as u32 & 0xffff);
    let targets = targets(lanes, lane, (bulk, mask), target & u64::from(u32::MAX), barrier)?;
    // Checked before a buffer is allocated, because a box may have terabytes, which no shared memory has.
    for (target, _) in &targets {
        span(lanes, lane, (Space::Shared, true), *target, map.shared_bytes()?, LINE)?;
    }
    if targets.is_empty() {
        return Some(());
    }
    let mut buffer = vec![0; map.box_bytes()?];
    let fill = outside(&map);
    buffer.iter_mut().zip(fill.iter().cycle()).for_each(|(byte, fill)| *byte = *fill);
    map.rows(corner, offsets, |row| {
        let inside = row.inside();
        if inside.is_empty() {
            return Some(());
        }
        let align = tensor::element_bytes(map.data_type)? as u64;
        let mut bytes = read(lanes, lane, Space::Global, row.address, inside.len() as u64, align)?;
        tensor::convert(map.data_type, &mut bytes);
        buffer.get_mut(inside)?.copy_from_slice(&bytes);
        Some(())
    })?;
    let bytes = buffer.len() as u64;
    for (target, barrier) in targets {
        chunks(lanes, lane, &map, (target, true), &mut buffer)?;
        mbarrier::complete(lanes, lane, barrier, bytes)?;
    }
    Some(())
}

fn store_tensor(lanes: &mut Lanes<'_>, operands: &Operands<'_>, aux: u32) -> Option<()> {
    let (bulk, lane) = (Bulk::read(aux), operands.lane);
    let [place, source] = std::array::from_fn(|index| operands.get(lanes, index));
    let map = map(lanes, lane, place)?;
    let corner = coordinates(lanes, operands, 2);
    if wrong(lanes, lane, &map, corner, bulk).is_some() {
        return None;
    }
    let Some(with) = reduction(&map, bulk.operation) else {
        let message = format!("no such reduction of a tensor of data type {}", map.data_type);
        lanes.fail(FaultKind::InvalidSync, lane as u32, None, message);
        return None;
    };
    let source = source & u64::from(u32::MAX);
    // Checked before a buffer is allocated, because no shared memory may have that many bytes.
    span(lanes, lane, (Space::Shared, false), source, map.shared_bytes()?, LINE)?;
    let mut buffer = vec![0; map.box_bytes()?];
    chunks(lanes, lane, &map, (source, false), &mut buffer)?;
    let align = tensor::element_bytes(map.data_type)? as u64;
    map.rows(corner, [0; 3], |row| {
        let inside = row.inside();
        if inside.is_empty() {
            return Some(());
        }
        let bytes = buffer.get(inside)?;
        write(lanes, lane, Space::Global, row.address, bytes, align, with)
    })
}

fn store(lanes: &mut Lanes<'_>, operands: &Operands<'_>, aux: u32) -> Option<()> {
    let (lane, each) = (operands.lane, aux as usize);
    let [target, barrier] = std::array::from_fn(|index| operands.get(lanes, index));
    let mut buffer = Vec::with_capacity(16);
    for index in 2..operands.matrix.a.len() {
        buffer.extend(operands.get(lanes, index).to_le_bytes().into_iter().take(each));
    }
    let bytes = buffer.len() as u64;
    write(lanes, lane, Space::Shared, target, &buffer, bytes, None)?;
    mbarrier::complete(lanes, lane, barrier, bytes)
}

fn reduce_one(lanes: &mut Lanes<'_>, operands: &Operands<'_>, aux: u32) -> Option<()> {
    let (lane, bytes) = (operands.lane, u64::from(aux >> 24));
    let [target, barrier, number] = std::array::from_fn(|index| operands.get(lanes, index));
    let number = number.to_le_bytes();
    let number = number.get(..bytes as usize)?;
    let with = Bulk::read(aux & 0x00ff_ffff).reduce?;
    let to = span(lanes, lane, (Space::Shared, true), target, bytes, bytes)?;
    tell(lanes, lane, Space::Shared, target, bytes, Side::UpdateOne);
    // SAFETY: 1, 2: `span` found as many bytes to be as `EffectiveAddress::Host` says, from a multiple of their count on, which is the size of
    // a number of `with`: the decoder takes both from the same type.
    unsafe { reduce(with, to, number) };
    mbarrier::complete(lanes, lane, barrier, bytes)
}
