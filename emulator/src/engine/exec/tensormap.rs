//! `tensormap.replace` and `tensormap.cp_fenceproxy`: for kernels that create or change tensor maps.
#![allow(unsafe_code)]
// Relies on: operands as in `lanes`; pointers come from `effective_address`, which checked bounds and alignment.

use cuda_ptx::Space;

use super::super::code::{Exec, Inst, Slot, Step};
use super::super::fault::FaultKind;
use super::bulk::wrote;
use super::lanes::Lanes;
use super::memory::{Access, EffectiveAddress, effective_address, live};
use super::operand::Source;
use crate::memory::access;
use crate::tensor::{Mode, RANK, TensorMap, WORDS};

/// Bytes that are accessed at once.
const PIECE: usize = 16;
/// Bytes of a map.
const BYTES: usize = 8 * WORDS;

macro_rules! fields {
    ($($name:ident: $text:literal;)*) => {
        /// The replaced field.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Field {
            $(#[doc = concat!("`.", $text, "`")] $name),*
        }

        impl Field {
            const ALL: &[Field] = &[$(Field::$name),*];

            /// The one of that name.
            pub(crate) fn from_name(name: &str) -> Option<Field> {
                match name {
                    $($text => Some(Field::$name),)*
                    _ => None,
                }
            }
        }
    };
}

fields! {
    Address: "global_address";
    Rank: "rank";
    BoxSize: "box_dim";
    Size: "global_dim";
    Stride: "global_stride";
    Step: "element_stride";
    Element: "elemtype";
    Interleave: "interleave_layout";
    Swizzle: "swizzle_mode";
    Fill: "fill_mode";
}

impl Field {
    /// Whether there is one for each dimension.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Field::BoxSize | Field::Size | Field::Stride | Field::Step)
    }

    /// Whether its value has 64 bits.
    pub(crate) fn is_wide(self) -> bool {
        matches!(self, Field::Address | Field::Stride)
    }
}

/// `tensormap.replace`. Operands, all wide: the address, the dimension, the value; [`Inst::aux`] is a [`Replaced`].
pub(crate) const REPLACE: Exec = |lanes, inst| each(lanes, inst, replace);

/// `tensormap.cp_fenceproxy`. Operands, wide: the target's address, the source's.
pub(crate) const COPY: Exec = |lanes, inst| each(lanes, inst, copy);

/// What `tensormap.replace` changes, packed into [`Inst::aux`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replaced {
    pub(crate) field: Field,
    /// The space of the map; generic without one.
    pub(crate) space: Option<Space>,
}

impl Replaced {
    /// As a number.
    pub(crate) fn word(self) -> u32 {
        let space = match self.space {
            None => 0,
            Some(Space::Global) => 1,
            Some(_) => 2,
        };
        self.field as u32 | space << 8
    }

    /// Of a number that [`word`](Self::word) made.
    fn read(word: u32) -> Option<Replaced> {
        let space = match word >> 8 {
            0 => None,
            1 => Some(Space::Global),
            _ => Some(Space::Shared),
        };
        Some(Replaced { field: *Field::ALL.get(word as usize & 0xff)?, space })
    }
}

fn each(lanes: &mut Lanes<'_>, inst: &Inst, run: fn(&mut Lanes<'_>, &Inst, usize) -> Option<()>) -> Step {
    for lane in live(lanes) {
        if run(lanes, inst, lane).is_none() {
            return Step::Fault;
        }
    }
    Step::Next
}

fn operand(lanes: &Lanes<'_>, slot: Slot, lane: usize) -> u64 {
    // SAFETY: the decoder made the operands wide (duty 2 of `Exec`, which both instructions have), and the lane is a live one, below 32.
    unsafe { <u64 as Source>::get(<u64 as Source>::place(lanes, slot), lane) }
}

/// Runs `run` for each piece of a map, with its place and the place of its bytes in `map`.
fn pieces(
    lanes: &mut Lanes<'_>,
    lane: usize,
    (space, writes): (Option<Space>, bool),
    address: u64,
    map: &mut [u8; BYTES],
    run: impl Fn(*mut u8, &mut [u8]),
) -> Option<()> {
    let aux = Access::new(1, space, if writes { Access::WRITE } else { 0 });
    let inst = Inst { aux: aux.0, ..Inst::NOTHING };
    let address = address & aux.address_mask();
    for (at, piece) in map.chunks_exact_mut(PIECE).enumerate() {
        let address = address.wrapping_add((at * PIECE) as u64);
        match effective_address(lanes, &inst, lane, address, PIECE as u64)? {
            EffectiveAddress::Host { pointer, .. } => {
                if writes {
                    wrote(lanes, space, address, PIECE as u64);
                }
                run(pointer, piece);
            }
            EffectiveAddress::Local(_) => {
                let message = format!("a tensor map in local memory, at 0x{address:x}");
                lanes.fail(FaultKind::IllegalAddress, lane as u32, Some(address), message);
                return None;
            }
        }
    }
    Some(())
}

fn load(lanes: &mut Lanes<'_>, lane: usize, space: Option<Space>, address: u64) -> Option<[u8; BYTES]> {
    let mut map = [0; BYTES];
    pieces(lanes, lane, (space, false), address, &mut map, |from, piece| {
        // SAFETY: 1, 2: `pieces` found as many bytes to be as `EffectiveAddress::Host` says.
        unsafe { access::load(from, piece) }
    })?;
    Some(map)
}

fn store(
    lanes: &mut Lanes<'_>,
    lane: usize,
    space: Option<Space>,
    address: u64,
    mut map: [u8; BYTES],
) -> Option<()> {
    pieces(lanes, lane, (space, true), address, &mut map, |to, piece| {
        // SAFETY: 1, 2: `pieces` found as many bytes to be as `EffectiveAddress::Host` says.
        unsafe { access::write(to, access::bytes(piece)) }
    })
}

fn copy(lanes: &mut Lanes<'_>, inst: &Inst, lane: usize) -> Option<()> {
    let [target, source] = [0, 1].map(|index: usize| operand(lanes, inst.ops[index], lane));
    let map = load(lanes, lane, Some(Space::Shared), source)?;
    store(lanes, lane, Some(Space::Global), target, map)
}

fn replace(lanes: &mut Lanes<'_>, inst: &Inst, lane: usize) -> Option<()> {
    let [address, at, value] = [0, 1, 2].map(|index: usize| operand(lanes, inst.ops[index], lane));
    let Replaced { field, space } = Replaced::read(inst.aux)?;
    let bytes = load(lanes, lane, space, address)?;
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
    }
    // A kernel that creates a tensor map starts from zeros.
    let known = if words == [0; WORDS] { Some(TensorMap::NOTHING) } else { TensorMap::unchecked(&words) };
    let changed = known.and_then(|map| with(map, field, at, value));
    let Some(map) = changed else {
        let message = match known {
            None => format!("there is no tensor map at 0x{address:x}"),
            Some(_) => format!("a tensor map has no {field:?} {value} in place {at}"),
        };
        lanes.fail(FaultKind::InvalidSync, lane as u32, Some(address), message);
        return None;
    };
    let mut bytes = [0; BYTES];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(map.encode()) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    store(lanes, lane, space, address, bytes)
}

/// The map with one field changed; `None` if it cannot be that.
fn with(map: TensorMap, field: Field, at: u64, value: u64) -> Option<TensorMap> {
    let mut map = map;
    let (at, small) = (usize::try_from(at).ok()?, u8::try_from(value).unwrap_or(u8::MAX));
    match field {
        Field::Address => map.address = value,
        // The ISA counts from 0.
        Field::Rank => map.rank = usize::from(small).checked_add(1).filter(|rank| *rank <= RANK)?,
        Field::BoxSize => match &mut map.mode {
            Mode::Tiled { sizes } => {
                *sizes.get_mut(at)? = u32::try_from(value).ok().filter(|size| *size <= 256)?
            }
            Mode::Im2col { .. } => return None,
        },
        Field::Size => *map.sizes.get_mut(at)? = value,
        Field::Stride => *map.strides.get_mut(at)? = value,
        Field::Step => *map.steps.get_mut(at)? = u32::from(small).min(8),
        // The numbers differ from `CUtensorMapDataType`: `.f32.ftz` comes before `.f64` and `.bf16`.
        Field::Element => {
            map.data_type = match small {
                8 => 10,
                9 => 8,
                10 => 9,
                other => other.lt(&16).then_some(other)?,
            }
        }
        Field::Interleave => map.interleave = small.le(&2).then_some(small)?,
        Field::Swizzle => map.swizzle = small.le(&4).then_some(small)?,
        Field::Fill => map.fill = small.le(&1).then_some(small)?,
    }
    Some(map)
}
