//! `suld`, `sust`, `sured`: through the objects that the driver made, whose handles kernels take as parameters.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Step};
use super::super::fault::FaultKind;
use super::super::profile::Image;
use super::super::watch::What;
use super::lanes::Lanes;
use super::memory::{Access as Memory, EffectiveAddress, effective_address, live};
use super::operand::Source;
use super::reduce::{self, Reduce};
use super::texture::{Last, count, gone, handle, look, packed, reach, unknown};
use crate::texture::{Edge, Shape, Surface};

/// `suld`. Operands: the destinations, the handle, the packed coordinates; `aux` is an [`Access`].
pub(crate) const LOAD: Exec = load;
/// `sust.b`. Operands: the handle, the packed coordinates, the values; `aux` is an [`Access`].
pub(crate) const STORE: Exec = store;
/// `sust.p`. Operands as of [`STORE`], all words.
pub(crate) const FORMATTED: Exec = store_formatted;
/// `sured`. Operands: the handle, the packed coordinates, the number; `aux` is an [`Access`], `imm` as [`reductions`] says.
pub(crate) const REDUCE: Exec = reduce_one;

/// The encoding of `imm` of [`REDUCE`]: whether coordinates count elements, and the operation for unsigned and for
/// signed numbers.
pub(crate) fn reductions(formatted: bool, unsigned: Reduce, signed: Reduce) -> u64 {
    u64::from(formatted) | (unsigned as u64) << 8 | (signed as u64) << 16
}

/// The modifiers of a surface instruction, packed into a word.
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

/// Has each live lane access its surface at its coordinates, until one faults.
///
/// # Safety
/// 1. `inst` is an instruction of the entered code, whose operand `first` is a wide handle, and the next one what `PACK` wrote.
unsafe fn each_lane(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    first: usize,
    mut one: impl FnMut(&mut Lanes<'_>, usize, &Surface, [u32; 4]) -> Result<(), Step>,
) -> Step {
    let mut last = Last(None);
    for lane in live(lanes) {
        // SAFETY: 1: operands of these kinds: the caller's duty 1; 2: live lanes are below 32.
        let (handle, at) =
            unsafe { (handle(lanes, inst.ops[first], lane), packed(lanes, inst.ops[first + 1], lane)) };
        let Some(surface) = last.find(handle, |handle| lanes.env.memory.objects().surface(handle)) else {
            return unknown(lanes, lane, "surface", handle);
        };
        if let Err(step) = one(lanes, lane, &surface, at) {
            return step;
        }
    }
    Step::Next
}

/// The location of a lane's access to a surface. `Ok(None)` means outside, if that is allowed; an error is recorded.
fn place(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [u32; 4],
) -> Result<Option<u64>, Step> {
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
) -> Result<Option<u64>, Step> {
    if !at[0].unsigned_abs().is_multiple_of(bytes as u64) {
        let message = format!("misaligned surface access of {bytes} bytes at byte {} of a row", at[0]);
        lanes.fail(FaultKind::MisalignedAddress, lane as u32, None, message);
        return Err(Step::Fault);
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
        return Err(Step::Fault);
    }
    count(lanes, Image::Surface, if place.is_some() { bytes as u64 } else { 0 });
    Ok(place)
}

/// Writes for a lane, unless the location is outside.
fn write(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    place: Option<u64>,
    bytes: &[u8],
) -> Result<(), Step> {
    let Some(place) = place else { return Ok(()) };
    reach(lanes, inst, lane, What::Store { wide: false }, &[(place, bytes.len() as u64)], bytes);
    lanes.env.memory.write(place, bytes).map_err(|error| gone(lanes, lane, "surface", &error))
}

unsafe fn load(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let (count, size) = (access.count(), access.bytes());
    let one = |lanes: &mut Lanes<'_>, lane: usize, surface: &Surface, at: [u32; 4]| {
        let mut bytes = [0; 16];
        if let Some(place) = place(lanes, access, lane, surface, at)? {
            let wanted = (count * size) as u64;
            let looks = lanes.watch.is_some() && !lanes.env.memory.is_written(place, wanted);
            look(lanes, inst, lane, looks.then_some(place));
            reach(lanes, inst, lane, What::Load, &[(place, wanted)], &[]);
            let read = lanes.env.memory.read(place, bytes.get_mut(..count * size).unwrap_or_default());
            read.map_err(|error| gone(lanes, lane, "surface", &error))?;
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
        Ok(())
    };
    // SAFETY: 1: the decoder puts the handle, wide, behind the destinations, then what `PACK` wrote (duty 2 of `Exec`).
    unsafe { each_lane(lanes, inst, count, one) }
}

unsafe fn store(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let (count, size) = (access.count(), access.bytes());
    let one = |lanes: &mut Lanes<'_>, lane: usize, surface: &Surface, at: [u32; 4]| {
        let place = place(lanes, access, lane, surface, at)?;
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
        write(lanes, inst, lane, place, bytes.get(..count * size).unwrap_or_default())
    };
    // SAFETY: 1: the decoder puts the handle, wide, first, then what `PACK` wrote (duty 2 of `Exec`).
    unsafe { each_lane(lanes, inst, 0, one) }
}

unsafe fn store_formatted(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let one = |lanes: &mut Lanes<'_>, lane: usize, surface: &Surface, at: [u32; 4]| {
        let place = element(lanes, access, lane, surface, at)?;
        let mut numbers = [0; 4];
        for (number, slot) in numbers.iter_mut().take(access.count()).zip(&inst.ops[2..]) {
            // SAFETY: the decoder made the operands from 2 on, as many as the access counts, words (duty 2 of `Exec`); live lanes are below 32.
            *number = unsafe { <u32 as Source>::get(<u32 as Source>::place(lanes, *slot), lane) };
        }
        let mut bytes = [0; 16];
        let bytes = bytes.get_mut(..surface.image.texel.bytes()).unwrap_or_default();
        surface.image.texel.encode(numbers, bytes);
        write(lanes, inst, lane, place, bytes)
    };
    // SAFETY: 1: the decoder puts the handle, wide, first, then what `PACK` wrote (duty 2 of `Exec`).
    unsafe { each_lane(lanes, inst, 0, one) }
}

/// The location of a lane's access whose coordinates count elements.
fn element(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [u32; 4],
) -> Result<Option<u64>, Step> {
    let (bytes, [x, y, z]) = (surface.image.texel.bytes(), access.place(at));
    place_of(lanes, access, lane, surface, [x * bytes as i64, y, z], bytes)
}

unsafe fn reduce_one(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let access = Access(inst.aux);
    let formatted = inst.imm & 1 != 0;
    let one = |lanes: &mut Lanes<'_>, lane: usize, surface: &Surface, at: [u32; 4]| {
        // SAFETY: the decoder puts the number third, wide where the access says so and else a word (duty 2 of `Exec`); live lanes are below 32.
        let number = unsafe {
            match access.is_wide() {
                true => <u64 as Source>::get(<u64 as Source>::place(lanes, inst.ops[2]), lane),
                false => u64::from(<u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane)),
            }
        };
        let texel = surface.image.texel;
        if formatted && texel.bytes() != access.bytes() {
            let message = format!(
                "`sured.p` of {} bytes on a surface whose elements have {} is not supported",
                access.bytes(),
                texel.bytes()
            );
            lanes.fail(FaultKind::UnsupportedInstruction, lane as u32, None, message);
            return Err(Step::Fault);
        }
        let place = match formatted {
            true => element(lanes, access, lane, surface, at)?,
            false => place(lanes, access, lane, surface, at)?,
        };
        let Some(place) = place else { return Ok(()) };
        let shift = if formatted && texel.channel.is_signed() { 16 } else { 8 };
        let with = Reduce::new((inst.imm >> shift) as u32 & 0xff).ok_or(Step::Fault)?;
        let aux = Memory::new(1, Some(Space::Global), Memory::ATOMIC);
        let whole = Inst { aux: aux.0, ..Inst::NOTHING };
        let bytes = access.bytes();
        let Some(EffectiveAddress::Host { pointer, .. }) =
            effective_address(lanes, &whole, lane, place, bytes as u64)
        else {
            return Err(Step::Fault);
        };
        let number = number.to_le_bytes();
        let what = What::Atomic { reads: false, after_guess: false };
        reach(lanes, inst, lane, what, &[(place, bytes as u64)], &[]);
        // SAFETY: 1, 2: `effective_address` found as many bytes as the number has, which is what the decoder took `with` for, aligned to their
        // count, as `EffectiveAddress::Host` says.
        unsafe { reduce::reduce(with, pointer, number.get(..bytes).unwrap_or_default()) };
        Ok(())
    };
    // SAFETY: 1: the decoder puts the handle, wide, first, then what `PACK` wrote (duty 2 of `Exec`).
    unsafe { each_lane(lanes, inst, 0, one) }
}
