//! `tex`, `tld4`, `txq`: through the objects that the driver made, whose handles kernels take as parameters.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`.

use std::sync::Arc;

use super::super::code::{Exec, Inst, Slot, Step};
use super::super::fault::FaultKind;
use super::super::profile::Image;
use super::super::watch::What;
use super::lanes::Lanes;
use super::memory::live;
use super::operand::Source;
use crate::memory::BadRange;
use crate::numeric::half::f32_to_f16;
use crate::texture::{Coordinates, Lod, Query, Reader, Shape, Texture};

/// Packs four words into one operand, so that an instruction has room for its coordinates.
pub(crate) const PACK: Exec = pack;
/// `tex` in its simple forms. Operands: four destinations, the handle, the packed coordinates; `aux` is a [`Fetch`].
pub(crate) const TEX: Exec = tex;
/// `tex` and `tld4` in all forms. Operand 0 is the handle; the matrix has the destinations, and as `a` four coordinates, from
/// [`LEVELS`] on the level or six words of gradients, three offsets; `aux` is a [`Fetch`].
pub(crate) const FETCH: Exec = fetch;
/// `txq` and `suq`. Operands: the destination, the handle, the level; `aux` as [`query`] says.
pub(crate) const QUERY: Exec = ask;

/// The index of the level or the gradients among the words of [`FETCH`].
pub(crate) const LEVELS: usize = 4;
const OFFSETS: usize = LEVELS + 6;

/// How an instruction selects the levels that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Levels {
    /// The largest.
    Base,
    /// By a number.
    Level,
    /// By the distance of neighbours.
    Gradients,
}

/// The modifiers of a texture instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fetch {
    pub(crate) shape: Shape,
    /// Coordinates count elements.
    pub(crate) integer: bool,
    pub(crate) levels: Levels,
    /// 1: results are `.f16`; 2: two of them to a word.
    pub(crate) halves: u8,
    /// `tld4`, of that channel.
    pub(crate) gathers: Option<u8>,
}

impl Fetch {
    /// As a number.
    pub(crate) fn word(self) -> u32 {
        let flags = [self.shape.layered, self.shape.cube, self.integer];
        let flags = flags.iter().rev().fold(0, |word, flag| word << 1 | u32::from(*flag));
        let gathers = self.gathers.map_or(0, |channel| u32::from(channel) + 1);
        self.shape.dimensions as u32
            | flags << 2
            | (self.levels as u32) << 5
            | u32::from(self.halves) << 7
            | gathers << 9
    }

    /// Of a number that [`word`](Self::word) made.
    pub(super) fn read(word: u32) -> Fetch {
        let flag = |at: u32| word >> at & 1 != 0;
        Fetch {
            shape: Shape { dimensions: (word & 3) as usize, layered: flag(2), cube: flag(3) },
            integer: flag(4),
            levels: match word >> 5 & 3 {
                0 => Levels::Base,
                1 => Levels::Level,
                _ => Levels::Gradients,
            },
            halves: (word >> 7 & 3) as u8,
            gathers: (word >> 9 & 7).checked_sub(1).map(|channel| channel as u8),
        }
    }

    /// The query for these coordinates, levels and offsets.
    fn query(self, [a, b, c, d]: [u32; 4], levels: [u32; 6], offset: [u32; 3]) -> Query {
        let (layer, at) = if self.shape.layered { (a, [b, c, d]) } else { (0, [a, b, c]) };
        let number = |bits: u32| if self.integer { bits as i32 as f32 } else { f32::from_bits(bits) };
        let [p, q, r, s, t, u] = levels;
        Query {
            shape: self.shape,
            at: match self.integer {
                true => Coordinates::Integer(at.map(|at| at as i32)),
                false => Coordinates::Float(at.map(f32::from_bits)),
            },
            layer,
            lod: match self.levels {
                Levels::Base => Lod::Base,
                Levels::Level => Lod::Level(number(p)),
                Levels::Gradients => Lod::Gradients([[p, q, r], [s, t, u]].map(|at| at.map(f32::from_bits))),
            },
            // ptxas keeps four bits of each, and six for `tld4`.
            offset: offset.map(|offset| match self.gathers {
                None => (offset as i32) << 28 >> 28,
                Some(_) => (offset as i32) << 26 >> 26,
            }),
        }
    }
}

/// The encoding of `aux` of [`QUERY`]: the dimension, and whether it is for a surface.
pub(crate) fn query(dimension: u32, surface: bool) -> u32 {
    dimension | u32::from(surface) << 2
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
pub(super) unsafe fn packed(lanes: &Lanes<'_>, slot: Slot, lane: usize) -> [u32; 4] {
    // SAFETY: `PACK` wrote four words for each of the 32 lanes to these four rows, which are aligned: the caller's
    // duties 1 and 2.
    unsafe { lanes.row(slot).cast::<[u32; 4]>().add(lane).read() }
}

/// The handle of a lane.
///
/// # Safety
/// 1. `slot` is a wide operand of an instruction of the entered code.
/// 2. `lane` is below 32.
pub(super) unsafe fn handle(lanes: &Lanes<'_>, slot: Slot, lane: usize) -> u64 {
    // SAFETY: of the class that a `u64` has, and a lane of it: the caller's duties 1 and 2.
    unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, slot), lane) }
}

/// Caches the object of the last lane's handle, because usually all lanes have the same.
pub(super) struct Last<T>(pub(super) Option<(u64, Arc<T>)>);

impl<T> Last<T> {
    pub(super) fn find(&mut self, handle: u64, look: impl FnOnce(u64) -> Option<Arc<T>>) -> Option<Arc<T>> {
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
    let (fetch, mut last) = (Fetch::read(inst.aux), Last(None));
    let looks = lanes.watch.is_some() || lanes.profile.is_some();
    for lane in live(lanes) {
        // SAFETY: the decoder puts the handle, wide, behind four results, then what `PACK` wrote (duty 2 of `Exec`); live lanes are below 32.
        let (handle, [a, b, c, level]) =
            unsafe { (handle(lanes, inst.ops[4], lane), packed(lanes, inst.ops[5], lane)) };
        let Some(texture) = last.find(handle, |handle| lanes.env.memory.objects().texture(handle)) else {
            return unknown(lanes, lane, "texture", handle);
        };
        let query = fetch.query([a, b, c, 0], [level, 0, 0, 0, 0, 0], [0; 3]);
        let reader = Reader::new(lanes.env.memory, looks);
        let value = match texture.sample(&reader, &query) {
            Ok(value) => value,
            Err(error) => return gone(lanes, lane, "texture", &error),
        };
        if looks {
            tell(lanes, inst, lane, reader);
        }
        for channel in 0..4 {
            // SAFETY: the decoder made the first four operands words, the destinations (duty 2 of `Exec`); live lanes are below 32; no reference
            // into the frame is alive, as what was read before are copies.
            unsafe { lanes.row(inst.ops[channel]).cast::<u32>().add(lane).write(value.bits(channel)) };
        }
    }
    Step::Next
}

unsafe fn fetch(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let Some(matrix) = lanes.matrix(inst) else { return Step::Fault };
    let (fetch, mut last) = (Fetch::read(inst.aux), Last::<Texture>(None));
    let looks = lanes.watch.is_some() || lanes.profile.is_some();
    for lane in live(lanes) {
        // SAFETY: the decoder made operand 0 wide and the matrix's `a` words (duty 2 of `Exec`); live lanes are below 32.
        let (handle, word) = unsafe {
            let word = |index: usize| match matrix.a.get(index) {
                Some(slot) => <u32 as Source>::get(<u32 as Source>::place(lanes, *slot), lane),
                None => 0,
            };
            let words: [u32; OFFSETS + 3] = std::array::from_fn(word);
            (handle(lanes, inst.ops[0], lane), words)
        };
        let Some(texture) = last.find(handle, |handle| lanes.env.memory.objects().texture(handle)) else {
            return unknown(lanes, lane, "texture", handle);
        };
        let levels = std::array::from_fn(|index| word[LEVELS + index]);
        let offset = std::array::from_fn(|index| word[OFFSETS + index]);
        let query = fetch.query([word[0], word[1], word[2], word[3]], levels, offset);
        let reader = Reader::new(lanes.env.memory, looks);
        let value = match fetch.gathers {
            None => texture.sample(&reader, &query),
            Some(channel) => texture.gather(&reader, &query, usize::from(channel)),
        };
        let value = match value {
            Ok(value) => value,
            Err(error) => return gone(lanes, lane, "texture", &error),
        };
        if looks {
            tell(lanes, inst, lane, reader);
        }
        for (index, slot) in matrix.d.iter().enumerate() {
            let half = |channel: usize| u32::from(f32_to_f16(f32::from_bits(value.bits(channel))));
            let word = match fetch.halves {
                0 => value.bits(index),
                1 => half(index),
                _ => half(2 * index) | half(2 * index + 1) << 16,
            };
            // SAFETY: the decoder made the matrix's `d` words, the destinations (duty 2 of `Exec`); live lanes are below 32; no reference into
            // the frame is alive, as what was read before are copies.
            unsafe { lanes.row(*slot).cast::<u32>().add(lane).write(word) };
        }
    }
    Step::Next
}

unsafe fn ask(lanes: &mut Lanes<'_>, inst: &Inst) -> Step {
    let (dimension, of_surface) = ((inst.aux & 3) as usize, inst.aux & 4 != 0);
    for lane in live(lanes) {
        // SAFETY: the decoder made operand 1 wide and operand 2 a word (duty 2 of `Exec`); live lanes are below 32.
        let (handle, level) = unsafe {
            let level = <u32 as Source>::get(<u32 as Source>::place(lanes, inst.ops[2]), lane);
            (handle(lanes, inst.ops[1], lane), level)
        };
        let objects = lanes.env.memory.objects();
        let size = match of_surface {
            true => objects.surface(handle).map(|surface| surface.image.queried(true)),
            // There is nothing of levels that do not exist.
            false => objects.texture(handle).map(|texture| {
                texture.levels.get(level as usize).map_or([0; 3], |image| image.queried(false))
            }),
        };
        let Some(size) = size else {
            return unknown(lanes, lane, if of_surface { "surface" } else { "texture" }, handle);
        };
        // SAFETY: the decoder made operand 0 a word, the destination (duty 2 of `Exec`); live lanes are below 32; no reference into the frame
        // is alive.
        unsafe { lanes.row(inst.ops[0]).cast::<u32>().add(lane).write(size[dimension.min(2)] as u32) };
    }
    Step::Next
}

/// Tells the watch and the profile of elements that were read.
#[cold]
fn tell(lanes: &mut Lanes<'_>, inst: &Inst, lane: usize, reader: Reader<'_>) {
    look(lanes, inst, lane, reader.unwritten());
    let read = reader.into_read();
    count(lanes, Image::Texture, read.iter().map(|(_, bytes)| bytes).sum());
    reach(lanes, inst, lane, What::Fetch, &read, &[]);
}

/// Tells the profile that a lane accesses elements of so many bytes.
pub(super) fn count(lanes: &mut Lanes<'_>, image: Image, bytes: u64) {
    if let Some(profile) = &mut lanes.profile {
        profile.elements(image, bytes);
    }
}

/// Tells the watch of elements that were read and not written before.
pub(super) fn look(lanes: &mut Lanes<'_>, inst: &Inst, lane: usize, unwritten: Option<u64>) {
    if let Some(address) = unwritten
        && let Some(mut watch) = lanes.watch.take()
    {
        watch.fetched(lanes, inst, (lane, address));
        lanes.watch = Some(watch);
    }
}

/// Tells the watch of elements that a lane is about to access, or has just read. `new` is what a store puts there.
pub(super) fn reach(
    lanes: &mut Lanes<'_>,
    inst: &Inst,
    lane: usize,
    what: What,
    places: &[(u64, u64)],
    new: &[u8],
) {
    if let Some(mut watch) = lanes.watch.take() {
        watch.reached(lanes, inst, (lane, what), places, new);
        lanes.watch = Some(watch);
    }
}

#[cold]
pub(super) fn unknown(lanes: &mut Lanes<'_>, lane: usize, what: &str, handle: u64) -> Step {
    let message = format!("0x{handle:x} is no {what} object, or one that was destroyed");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(handle), message);
    Step::Fault
}

#[cold]
pub(super) fn gone(lanes: &mut Lanes<'_>, lane: usize, what: &str, error: &BadRange) -> Step {
    let message = format!("the memory of a {what} object was freed: {error}");
    lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(error.address), message);
    Step::Fault
}
