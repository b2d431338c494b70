//! How operands are read from and results written to a frame.
#![allow(unsafe_code)]
// Relies on: operands come from the decoder, which only creates offsets inside the frame and pool that the code declares, and gives
// every instruction operands of the classes that it requires. One thread runs a warp. Results are written when references into the
// frame are no longer used: sources are read as values, or as rows by functions that write after reading.

use super::super::code::Slot;
use super::lanes::Lanes;
use super::vector::{another, signs};

/// A value that operands can hold: how a lane of it is read from a frame.
pub(crate) trait Source: Copy {
    /// Register class.
    const CLASS: Class;
    /// The location of an operand's lanes.
    type Place: Copy;

    /// The operand's place.
    ///
    /// # Safety
    /// 1. `slot` is an operand of class `CLASS` of an instruction of the entered code.
    unsafe fn place(lanes: &Lanes<'_>, slot: Slot) -> Self::Place;

    /// The value of lane `lane` (below 32).
    ///
    /// # Safety
    /// 1. `place` comes from [`Self::place`], and the same frame is still entered, as it is until an instruction returns.
    /// 2. `lane` is below 32.
    unsafe fn get(place: Self::Place, lane: usize) -> Self;
}

/// A value that an instruction can produce.
pub(crate) trait Dest: Copy {
    /// Register classes of the operands to which it is written.
    const CLASSES: &'static [Class];
    /// All lanes of a result.
    type Rows;

    /// Room for a result.
    fn empty() -> Self::Rows;

    /// Sets lane `lane` (below 32).
    fn put(rows: &mut Self::Rows, lane: usize, value: Self);

    /// Writes the live lanes of a result to the frame.
    ///
    /// # Safety
    /// 1. The first `CLASSES.len()` slots are operands of those classes of an instruction of the entered code: its destinations, so
    ///    that none is a constant.
    unsafe fn commit(lanes: &Lanes<'_>, slots: &[Slot], rows: &Self::Rows);

    /// All lanes of a result, in the form that vector code produces.
    type Vector;

    /// Room for a result.
    fn vector() -> Self::Vector;

    /// Sets lane `lane` (below 32).
    fn put_vector(rows: &mut Self::Vector, lane: usize, value: Self);

    /// Writes the live lanes of a result to the frame.
    ///
    /// # Safety
    /// 1. As of [`Self::commit`].
    /// 2. The CPU, if it is an x86, has AVX2.
    unsafe fn commit_vector(lanes: &Lanes<'_>, slots: &[Slot], rows: &Self::Vector);

    /// Writes one lane of a result to the frame.
    ///
    /// # Safety
    /// 1. The first `CLASSES.len()` slots are operands of those classes of an instruction of the entered code: its destinations, so
    ///    that none is a constant.
    /// 2. `lane` is below 32.
    unsafe fn set(lanes: &Lanes<'_>, slots: &[Slot], lane: usize, value: Self);
}

/// Register classes: what a virtual register needs in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// A row: registers of 8, 16 and 32 bits. The bits above those of a short register are meaningless.
    Word,
    /// Two rows: registers of 64 bits.
    Wide,
    /// A mask: predicates.
    Predicate,
    /// Four rows: the coordinates of a texture, of 128 bits, within an instruction. A register of 128 bits is two of 64.
    Quad,
}

macro_rules! register {
    ($raw:ty, $class:expr, $($value:ty)*) => {$(
        impl Source for $value {
            const CLASS: Class = $class;
            type Place = *const $raw;

            #[inline(always)]
            unsafe fn place(lanes: &Lanes<'_>, slot: Slot) -> *const $raw {
                // SAFETY: words and wide operands are rows: the caller's duty 1.
                unsafe { lanes.row(slot).cast() }
            }

            #[inline(always)]
            unsafe fn get(place: *const $raw, lane: usize) -> $value {
                // SAFETY: `place` returned an aligned row of this class in a frame or pool that is still valid (the
                // caller's duty 1), and `lane` is one of its 32 (duty 2); no `&mut` into the frame is alive.
                unsafe { *place.add(lane) as $value }
            }
        }

        impl Dest for $value {
            const CLASSES: &'static [Class] = &[$class];
            type Rows = [$raw; 32];

            #[inline(always)]
            fn empty() -> [$raw; 32] {
                [0; 32]
            }

            #[inline(always)]
            fn put(rows: &mut [$raw; 32], lane: usize, value: $value) {
                rows[lane] = value as $raw;
            }

            #[inline(always)]
            unsafe fn commit(lanes: &Lanes<'_>, slots: &[Slot], rows: &[$raw; 32]) {
                // SAFETY: a row of this class in the frame, the caller's duty 1, aligned as rows are; `rows` is not in the frame, and no
                // other reference into the frame is alive (the head of this file).
                let target = unsafe { &mut *lanes.row(slots[0]).cast::<[$raw; 32]>() };
                if lanes.mask() == !0 {
                    *target = *rows;
                } else {
                    blend(target, rows, lanes.mask_halves());
                }
            }

            type Vector = [$raw; 32];

            #[inline(always)]
            fn vector() -> [$raw; 32] {
                [0; 32]
            }

            #[inline(always)]
            fn put_vector(rows: &mut [$raw; 32], lane: usize, value: $value) {
                rows[lane] = value as $raw;
            }

            #[inline(always)]
            unsafe fn commit_vector(lanes: &Lanes<'_>, slots: &[Slot], rows: &[$raw; 32]) {
                // SAFETY: a row of this class in the frame, the caller's duty 1, aligned as rows are, which no reference points into (the head of this
                // file); the CPU has AVX2: duty 2.
                unsafe {
                    let target = lanes.row(slots[0]).cast::<$raw>();
                    if lanes.mask() == !0 {
                        *target.cast() = *rows;
                    } else {
                        <$raw as Element>::blend_vector(target, rows, lanes.mask());
                    }
                }
            }

            #[inline(always)]
            unsafe fn set(lanes: &Lanes<'_>, slots: &[Slot], lane: usize, value: $value) {
                // SAFETY: a row of this class in the frame, the caller's duty 1, that has 32 lanes, duty 2; no reference into the frame is alive.
                unsafe { *lanes.row(slots[0]).cast::<$raw>().add(lane) = value as $raw }
            }
        }
    )*};
}

register!(u32, Class::Word, u32 i32 u16 i16 u8 i8);
register!(u64, Class::Wide, u64 i64);

impl Source for bool {
    const CLASS: Class = Class::Predicate;
    type Place = u32;

    #[inline(always)]
    unsafe fn place(lanes: &Lanes<'_>, slot: Slot) -> u32 {
        // SAFETY: `CLASS` is that of predicates: the caller's duty 1. No `&mut` into the frame is alive.
        unsafe { *lanes.predicate(slot) }
    }

    #[inline(always)]
    unsafe fn get(place: u32, lane: usize) -> bool {
        place >> lane & 1 != 0
    }
}

impl Dest for bool {
    const CLASSES: &'static [Class] = &[Class::Predicate];
    type Rows = u32;

    #[inline(always)]
    fn empty() -> u32 {
        0
    }

    #[inline(always)]
    fn put(rows: &mut u32, lane: usize, value: bool) {
        *rows |= (value as u32) << lane;
    }

    #[inline(always)]
    unsafe fn commit(lanes: &Lanes<'_>, slots: &[Slot], rows: &u32) {
        // SAFETY: the slot is a predicate of the frame: the caller's duty 1. No other reference into the frame is alive (the head of this
        // file).
        let target = unsafe { &mut *lanes.predicate(slots[0]) };
        *target = *target & !lanes.mask() | *rows & lanes.mask();
    }

    /// All bits set for lanes that are true.
    type Vector = [u32; 32];

    #[inline(always)]
    fn vector() -> [u32; 32] {
        [0; 32]
    }

    #[inline(always)]
    fn put_vector(rows: &mut [u32; 32], lane: usize, value: bool) {
        rows[lane] = u32::from(value).wrapping_neg();
    }

    #[inline(always)]
    unsafe fn commit_vector(lanes: &Lanes<'_>, slots: &[Slot], rows: &[u32; 32]) {
        // SAFETY: 1 of `commit`: the caller's duty 1, which is the same; 1 of `signs`: its duty 2.
        unsafe { Self::commit(lanes, slots, &signs(rows)) }
    }

    #[inline(always)]
    unsafe fn set(lanes: &Lanes<'_>, slots: &[Slot], lane: usize, value: bool) {
        // SAFETY: the slot is a predicate of the frame: the caller's duty 1. No other reference into the frame is alive (the head of this
        // file).
        let target = unsafe { &mut *lanes.predicate(slots[0]) };
        *target = *target & !(1 << lane) | (value as u32) << lane;
    }
}

/// Two results: the first value and the second go to consecutive operands.
impl<A: Dest, B: Dest> Dest for (A, B) {
    const CLASSES: &'static [Class] = &[A::CLASSES[0], B::CLASSES[0]];
    type Rows = (A::Rows, B::Rows);

    #[inline(always)]
    fn empty() -> Self::Rows {
        (A::empty(), B::empty())
    }

    #[inline(always)]
    fn put(rows: &mut Self::Rows, lane: usize, value: Self) {
        A::put(&mut rows.0, lane, value.0);
        B::put(&mut rows.1, lane, value.1);
    }

    #[inline(always)]
    unsafe fn commit(lanes: &Lanes<'_>, slots: &[Slot], rows: &Self::Rows) {
        // SAFETY: `CLASSES` are those of `A`, which has one, then those of `B`: the caller's duty 1 for each.
        unsafe {
            A::commit(lanes, slots, &rows.0);
            B::commit(lanes, &slots[1..], &rows.1);
        }
    }

    type Vector = (A::Vector, B::Vector);

    #[inline(always)]
    fn vector() -> Self::Vector {
        (A::vector(), B::vector())
    }

    #[inline(always)]
    fn put_vector(rows: &mut Self::Vector, lane: usize, value: Self) {
        A::put_vector(&mut rows.0, lane, value.0);
        B::put_vector(&mut rows.1, lane, value.1);
    }

    #[inline(always)]
    unsafe fn commit_vector(lanes: &Lanes<'_>, slots: &[Slot], rows: &Self::Vector) {
        // SAFETY: `CLASSES` are those of `A`, which has one, then those of `B`: the caller's duties 1 and 2 for each.
        unsafe {
            A::commit_vector(lanes, slots, &rows.0);
            B::commit_vector(lanes, &slots[1..], &rows.1);
        }
    }

    #[inline(always)]
    unsafe fn set(lanes: &Lanes<'_>, slots: &[Slot], lane: usize, value: Self) {
        // SAFETY: `CLASSES` are those of `A`, which has one, then those of `B`: the caller's duties 1 and 2 for each.
        unsafe {
            A::set(lanes, slots, lane, value.0);
            B::set(lanes, &slots[1..], lane, value.1);
        }
    }
}

/// Copies the lanes of a mask, sixteen to a number, from `rows` to `target`.
#[inline(always)]
pub(crate) fn blend<T: Element>(target: &mut [T; 32], rows: &[T; 32], mask: [u32; 2]) {
    let (before, mut after) = (*target, *rows);
    for lane in 0..32 {
        after[lane] = T::choose(mask[lane / 16] & 1 << (lane % 16) != 0, rows[lane], before[lane]);
    }
    // SAFETY: the address is that of the target, which is mutably borrowed, and whose bytes were read before.
    unsafe { *another(target) = after };
}

/// An element of a row.
pub(crate) trait Element: Copy {
    /// `a` if `first`, else `b`.
    fn choose(first: bool, a: Self, b: Self) -> Self;

    /// Copies the lanes of a mask from `rows` to `target`.
    ///
    /// # Safety
    /// 1. `target` is aligned, and valid for reads and writes of 32 numbers, which nobody else uses meanwhile.
    /// 2. The CPU, if it is an x86, has AVX2.
    unsafe fn blend_vector(target: *mut Self, rows: &[Self; 32], mask: u32);
}

macro_rules! element {
    ($number:ty, $blend:path) => {
        impl Element for $number {
            #[inline(always)]
            fn choose(first: bool, a: $number, b: $number) -> $number {
                if first { a } else { b }
            }

            #[inline(always)]
            unsafe fn blend_vector(target: *mut $number, rows: &[$number; 32], mask: u32) {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                // SAFETY: 1, 2: the caller's duties.
                unsafe {
                    $blend(target, rows, mask);
                }
                #[cfg(not(all(target_arch = "x86_64", not(miri))))]
                // SAFETY: the caller's duty 1.
                unsafe {
                    blend(&mut *target.cast(), rows, super::lanes::halves(mask));
                }
            }
        }
    };
}

element!(u32, super::vector::blend_words);
element!(u64, super::vector::blend_wide);
