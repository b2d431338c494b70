//! `tex`, `suld`, `sust`: through the objects that the driver made, whose handles kernels take as parameters.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use std::sync::Arc;

use super::super::code::{Exec, Inst, Slot, Step};
use super::super::fault::FaultKind;
use super::lanes::Lanes;
use super::memory::live;
use super::operand::Source;
use crate::memory::BadRange;
use crate::texture::{Coordinates, Edge, Shape, Surface, Texture};

/// Packs four words into one operand, so that an instruction has room for its coordinates.
pub(crate) const PACK: Exec = pack;
/// `tex`. Operands: four destinations, the handle, the packed coordinates; `aux` is a [`Fetch`].
pub(crate) const TEX: Exec = tex;
/// `suld`. Operands: the destinations, the handle, the packed coordinates; `aux` is an [`Access`].
pub(crate) const LOAD: Exec = load;
/// `sust`. Operands: the handle, the packed coordinates, the values; `aux` is an [`Access`].
pub(crate) const STORE: Exec = store;

/// What a texture instruction's modifiers say, in a word.
#[derive(Clone, Copy)]
pub(crate) struct Fetch(u32);

impl Fetch {
    /// `integer`: coordinates count elements.
    pub(crate) fn word(shape: Shape, integer: bool) -> u32 {
        shape.dimensions as u32 | u32::from(shape.layered) << 2 | u32::from(integer) << 3
    }

    fn shape(self) -> Shape {
        Shape { dimensions: (self.0 & 3) as usize, layered: self.0 & 4 != 0 }
    }

    fn is_integer(self) -> bool {
        self.0 & 8 != 0
    }
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
        Fetch::word(shape, wide) | edge << 4 | (count as u32) << 6 | (bytes as u32) << 10
    }

    fn shape(self) -> Shape {
        Fetch(self.0).shape()
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
        Fetch(self.0).is_integer()
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

unsafe fn pack(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    for lane in live(lanes) {
        // SAFETY: the decoder made operands 1 to 4 words and operand 0 four rows of the frame (duty 2 of `Exec`), which no word shares; live
        // lanes are below 32.
        unsafe {
            let word =
                |index: usize| <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[index]), lane);
            let words = [word(1), word(2), word(3), word(4)];
            lanes.row(inst.ops[0]).cast::<[u32; 4]>().add(lane).write(words);
        }
    }
    Step::Next
}

/// The packed coordinates of a lane.
///
/// # Safety
/// 1. `slot` is an operand that [`PACK`] wrote.
/// 2. `lane` is below 32.
unsafe fn packed(lanes: &Lanes<'_>, slot: Slot, lane: usize) -> [u32; 4] {
    // SAFETY: `PACK` wrote four words for each of the 32 lanes to these four rows, which are aligned: the caller's
    // duties 1 and 2.
    unsafe { lanes.row(slot).cast::<[u32; 4]>().add(lane).read() }
}

/// The handle of a lane.
///
/// # Safety
/// 1. `slot` is a wide operand of an instruction of the entered code.
/// 2. `lane` is below 32.
unsafe fn handle(lanes: &Lanes<'_>, slot: Slot, lane: usize) -> u64 {
    // SAFETY: of the class that a `u64` has, and a lane of it: the caller's duties 1 and 2.
    unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, slot), lane) }
}

/// Remembers what the last lane's handle meant: mostly all lanes have the same.
struct Last<T>(Option<(u64, Arc<T>)>);

impl<T> Last<T> {
    fn find(&mut self, handle: u64, look: impl FnOnce(u64) -> Option<Arc<T>>) -> Option<Arc<T>> {
        if let Some((known, object)) = &self.0
            && *known == handle
        {
            return Some(Arc::clone(object));
        }
        let object = look(handle)?;
        self.0 = Some((handle, Arc::clone(&object)));
        Some(object)
    }
}

unsafe fn tex(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let mut last = Last(None);
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, behind four results, then what `PACK` wrote (duty 2 of `Exec`); live lanes are below 32.
        let (handle, at) = unsafe { (handle(lanes, inst.ops[4], lane), packed(lanes, inst.ops[5], lane)) };
        let Some(texture) = last.find(handle, |handle| lanes.env.memory.objects().texture(handle)) else {
            return unknown(lanes, lane, "texture", handle);
        };
        let value = match sample(lanes, Fetch(inst.aux), &texture, at) {
            Ok(value) => value,
            Err(error) => return gone(lanes, lane, "texture", &error),
        };
        for channel in 0..4 {
            // SAFETY: the decoder made the first four operands words, the destinations (duty 2 of `Exec`); live lanes are below 32; no reference
            // into the frame is alive, as what was read before are copies.
            unsafe { lanes.row(inst.ops[channel]).cast::<u32>().add(lane).write(value.bits(channel)) };
        }
    }
    Step::Next
}

fn sample(
    lanes: &Lanes<'_>,
    fetch: Fetch,
    texture: &Texture,
    [a, b, c, level]: [u32; 4],
) -> Result<crate::texture::Value, BadRange> {
    let shape = fetch.shape();
    let (layer, at) = if shape.layered { (a, [b, c, 0]) } else { (0, [a, b, c]) };
    let coordinates = match fetch.is_integer() {
        true => Coordinates::Integer(at.map(|at| at as i32)),
        false => Coordinates::Float(at.map(f32::from_bits)),
    };
    texture.sample(lanes.env.memory, shape, coordinates, layer, f32::from_bits(level))
}

/// Where a lane accesses a surface. `Ok(None)` is outside, where that is allowed; the error is recorded.
fn place(
    lanes: &mut Lanes<'_>,
    access: Access,
    lane: usize,
    surface: &Surface,
    at: [u32; 4],
) -> Result<Option<u64>, ()> {
    let (at, bytes) = (access.place(at), access.count() * access.bytes());
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

#[cold]
fn unknown(lanes: &mut Lanes<'_>, lane: usize, what: &str, handle: u64) -> Step {
    let message = format!("0x{handle:x} is no {what} object, or one that was destroyed");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(handle), message);
    Step::Fault
}

#[cold]
fn gone(lanes: &mut Lanes<'_>, lane: usize, what: &str, error: &BadRange) -> Step {
    let message = format!("the memory of a {what} object was freed: {error}");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(error.address), message);
    Step::Fault
}
