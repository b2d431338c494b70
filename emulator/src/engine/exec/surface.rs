//! `suld`, `sust`, `sured`: through the objects that the driver made, whose handles kernels take as parameters.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Step};
use super::super::fault::FaultKind;
use super::lanes::Lanes;
use super::memory::{Access as Memory, EffectiveAddress, effective_address, live};
use super::operand::Source;
use super::reduce::{self, Reduce};
use super::texture::{Last, gone, handle, packed, unknown};
use crate::texture::{Edge, Shape, Surface};

/// `suld`. Operands: the destinations, the handle, the packed coordinates; `aux` is an [`Access`].
pub(crate) const LOAD: Exec = load;
/// `sust.b`. Operands: the handle, the packed coordinates, the values; `aux` is an [`Access`].
pub(crate) const STORE: Exec = store;
/// `sust.p`. Operands as of [`STORE`], all words.
pub(crate) const FORMATTED: Exec = store_formatted;
/// `sured`. Operands: the handle, the packed coordinates, the number; `aux` is an [`Access`], `imm` as [`reductions`] says.
pub(crate) const REDUCE: Exec = reduce_one;

/// What `imm` of [`REDUCE`] is: whether coordinates count elements, and what is done to numbers without signs and with.
pub(crate) fn reductions(formatted: bool, unsigned: Reduce, signed: Reduce) -> u64 {
    u64::from(formatted) | (unsigned as u64) << 8 | (signed as u64) << 16
}

/// What a surface instruction's modifiers say, in a word.
#[derive(Clone, Copy)]
pub(crate) struct Access(u32);

impl Access {
    /// `count` elements of `bytes` bytes each; `wide` if their registers have 64 bits.
    pub(crate) fn word(shape: Shape, edge: Edge, count: usize, bytes: usize, wide: bool) -> u32 {
        let edge = match edge {
            Edge::Trap => 0,
            Edge::Clamp => 1,
            Edge::Zero => 2,
        };
        let shape = shape.dimensions as u32 | u32::from(shape.layered) << 2;
        shape | u32::from(wide) << 3 | edge << 4 | (count as u32) << 6 | (bytes as u32) << 10
    }

    fn shape(self) -> Shape {
        Shape { dimensions: (self.0 & 3) as usize, layered: self.0 & 4 != 0, cube: false }
    }

    fn edge(self) -> Edge {
        match self.0 >> 4 & 3 {
            0 => Edge::Trap,
            1 => Edge::Clamp,
            _ => Edge::Zero,
        }
    }

    fn count(self) -> usize {
        (self.0 >> 6 & 7) as usize
    }

    fn bytes(self) -> usize {
        (self.0 >> 10 & 15) as usize
    }

    fn is_wide(self) -> bool {
        self.0 & 8 != 0
    }

    /// The bytes that an access at these coordinates is at: byte of the row, row, plane or layer.
    fn place(self, [first, second, third, _]: [u32; 4]) -> [i64; 3] {
        let [first, second, third] = [first, second, third].map(|at| i64::from(at as i32));
        match (self.shape().dimensions, self.shape().layered) {
            (1, false) => [first, 0, 0],
            (1, true) => [second, 0, first],
            (2, false) => [first, second, 0],
            (2, true) => [second, third, first],
            _ => [first, second, third],
        }
    }
}

/// Where a lane accesses a surface. `Ok(None)` is outside, where that is allowed; the error is recorded.
fn place(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [u32; 4],
) -> Result<Option<u64>, ()> {
    place_of(lanes, access, lane, surface, access.place(at), access.count() * access.bytes())
}

/// The same of `bytes` bytes.
fn place_of(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [i64; 3],
    bytes: usize,
) -> Result<Option<u64>, ()> {
    if !at[0].unsigned_abs().is_multiple_of(bytes as u64) {
        let message = format!("misaligned surface access of {bytes} bytes at byte {} of a row", at[0]);
        lanes.fail(FaultKind::MisalignedAddress, lane as u32, None, message);
        return Err(());
    }
    let place = surface.place(at, bytes, access.edge());
    if place.is_none() && access.edge() == Edge::Trap {
        let [width, height, depth] = surface.image.size;
        let row = width * surface.image.texel.bytes();
        let message = format!(
            "surface access of {bytes} bytes at byte {}, row {}, plane {}, outside {row} bytes, {height} rows, {depth} planes",
            at[0], at[1], at[2]
        );
        lanes.fail(FaultKind::IllegalAddress, lane as u32, None, message);
        return Err(());
    }
    Ok(place)
}

unsafe fn load(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (access, mut last) = (Access(inst.aux), Last(None));
    let (count, size) = (access.count(), access.bytes());
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, behind the destinations, then what `PACK` wrote (duty 2 of `Exec`); live lanes are below 32.
        let (handle, at) =
            unsafe { (handle(lanes, inst.ops[count], lane), packed(lanes, inst.ops[count + 1], lane)) };
        let Some(surface) = last.find(handle, |handle| lanes.env.memory.objects().surface(handle)) else {
            return unknown(lanes, lane, "surface", handle);
        };
        let Ok(place) = place(lanes, access, lane, &surface, at) else { return Step::Fault };
        let mut bytes = [0; 16];
        if let Some(place) = place
            && let Err(error) =
                lanes.env.memory.read(place, bytes.get_mut(..count * size).unwrap_or_default())
        {
            return gone(lanes, lane, "surface", &error);
        }
        for (element, bytes) in bytes.chunks_exact(size).take(count).enumerate() {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            let word = u64::from_le_bytes(word);
            // SAFETY: the decoder made operand `element`, which is below `count`, a destination, wide where the access says so and else a word
            // (duty 2 of `Exec`; it refuses other classes); live lanes are below 32; no reference into the frame is alive.
            unsafe {
                let row = lanes.row(inst.ops[element]);
                if access.is_wide() {
                    row.cast::<u64>().add(lane).write(word);
                } else {
                    row.cast::<u32>().add(lane).write(word as u32);
                }
            }
        }
    }
    Step::Next
}

unsafe fn store(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (access, mut last) = (Access(inst.aux), Last(None));
    let (count, size) = (access.count(), access.bytes());
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, first, then what `PACK` wrote (duty 2 of `Exec`); live lanes are below 32.
        let (handle, at) = unsafe { (handle(lanes, inst.ops[0], lane), packed(lanes, inst.ops[1], lane)) };
        let Some(surface) = last.find(handle, |handle| lanes.env.memory.objects().surface(handle)) else {
            return unknown(lanes, lane, "surface", handle);
        };
        let Ok(place) = place(lanes, access, lane, &surface, at) else { return Step::Fault };
        let mut bytes = [0; 16];
        for (element, bytes) in bytes.chunks_exact_mut(size).take(count).enumerate() {
            // SAFETY: the decoder made the `count` operands from 2 on wide where the access says so and else words (duty 2 of `Exec`; it refuses
            // other classes); live lanes are below 32.
            let word = unsafe {
                let row = lanes.row(inst.ops[element + 2]);
                if access.is_wide() {
                    row.cast::<u64>().add(lane).read()
                } else {
                    u64::from(row.cast::<u32>().add(lane).read())
                }
            };
            bytes.copy_from_slice(&word.to_le_bytes()[..size]);
        }
        if let Some(place) = place
            && let Err(error) = lanes.env.memory.write(place, bytes.get(..count * size).unwrap_or_default())
        {
            return gone(lanes, lane, "surface", &error);
        }
    }
    Step::Next
}

unsafe fn store_formatted(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (access, mut last) = (Access(inst.aux), Last(None));
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, first, then what `PACK` wrote (duty 2 of `Exec`); live lanes are below 32.
        let (handle, at) = unsafe { (handle(lanes, inst.ops[0], lane), packed(lanes, inst.ops[1], lane)) };
        let Some(surface) = last.find(handle, |handle| lanes.env.memory.objects().surface(handle)) else {
            return unknown(lanes, lane, "surface", handle);
        };
        let Ok(place) = element(lanes, access, lane, &surface, at) else { return Step::Fault };
        let mut numbers = [0; 4];
        for (number, slot) in numbers.iter_mut().take(access.count()).zip(&inst.ops[2..]) {
            // SAFETY: the decoder made the operands from 2 on, as many as the access counts, words (duty 2 of `Exec`); live lanes are below 32.
            *number = unsafe { <u32 as Source>::get(<u32 as Source>::place(lanes, *slot), lane) };
        }
        let mut bytes = [0; 16];
        let bytes = bytes.get_mut(..surface.image.texel.bytes()).unwrap_or_default();
        surface.image.texel.encode(numbers, bytes);
        if let Some(place) = place
            && let Err(error) = lanes.env.memory.write(place, bytes)
        {
            return gone(lanes, lane, "surface", &error);
        }
    }
    Step::Next
}

/// Where a lane accesses an element of a surface that its coordinates count.
fn element(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [u32; 4],
) -> Result<Option<u64>, ()> {
    let (bytes, [x, y, z]) = (surface.image.texel.bytes(), access.place(at));
    place_of(lanes, access, lane, surface, [x * bytes as i64, y, z], bytes)
}

unsafe fn reduce_one(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (access, mut last) = (Access(inst.aux), Last(None));
    let formatted = inst.imm & 1 != 0;
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, first, then what `PACK` wrote, then the number, wide where the access says so and else a
        // word (duty 2 of `Exec`); live lanes are below 32.
        let (handle, at, number) = unsafe {
            let number = match access.is_wide() {
                true => <u64 as Source>::get(<u64 as Source>::place(lanes, inst.ops[2]), lane),
                false => u64::from(<u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane)),
            };
            (handle(lanes, inst.ops[0], lane), packed(lanes, inst.ops[1], lane), number)
        };
        let Some(surface) = last.find(handle, |handle| lanes.env.memory.objects().surface(handle)) else {
            return unknown(lanes, lane, "surface", handle);
        };
        let texel = surface.image.texel;
        if formatted && texel.bytes() != access.bytes() {
            let message = format!(
                "`sured.p` of {} bytes on a surface whose elements have {} is not supported",
                access.bytes(),
                texel.bytes()
            );
            lanes.fail(FaultKind::UnsupportedInstruction, lane as u32, None, message);
            return Step::Fault;
        }
        let place = match formatted {
            true => element(lanes, access, lane, &surface, at),
            false => place(lanes, access, lane, &surface, at),
        };
        let Ok(place) = place else { return Step::Fault };
        let Some(place) = place else { continue };
        let shift = if formatted && texel.channel.is_signed() { 16 } else { 8 };
        let Some(with) = Reduce::new((inst.imm >> shift) as u32 & 0xff) else { return Step::Fault };
        let aux = Memory::new(1, Some(Space::Global), Memory::ATOMIC);
        let whole = Inst { aux: aux.0, ..Inst::NOTHING };
        let bytes = access.bytes();
        let Some(EffectiveAddress::Host { pointer, .. }) =
            effective_address(lanes, &whole, lane, place, bytes as u64)
        else {
            return Step::Fault;
        };
        let number = number.to_le_bytes();
        // SAFETY: 1, 2: `effective_address` found as many bytes as the number has, which is what the decoder took `with` for, aligned to their
        // count, as `EffectiveAddress::Host` says.
        unsafe { reduce::reduce(with, pointer, number.get(..bytes).unwrap_or_default()) };
    }
    Step::Next
}
