//! "Parallel Synchronization and Communication Instructions" on memory: `atom`, `red`, fences.

use cuda_ptx::{Operand as Text, Space, Type};

use super::super::code::{Exec, Matrix};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::alu::lane1;
use super::super::exec::atomics::{ALIGNED, Operation, atomic};
use super::super::exec::atomics_quad::{EXCHANGE_QUAD, SWAP_QUAD};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::exec::sync;
use super::super::watch::{Event, Note, What};
use super::{Form, Row, build, bulk};
use crate::numeric::half::{self, Bf16, F16};
use crate::numeric::rounding::Nearest;
use crate::numeric::{fp32, fp64};

/// The rows of `atom` and `red`, which are the same but for `exch` and `cas`.
macro_rules! atomics {
    ($mnemonic:literal, $operations:literal) => {
        concat!(
            $mnemonic,
            "[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.{global|shared|shared::cta|shared::cluster}].",
            $operations
        )
    };
}

pub(super) const ROWS: &[Row] = &[
    build(atomics!("atom", "{and|or|xor|exch|cas}.{b16|b32|b64}"), atom),
    build(atomics!("atom", "{add|inc|dec|min|max}.{u32|s32|u64|s64}"), atom),
    build(atomics!("atom", "add.{f32|f64}"), atom),
    build(atomics!("atom", "add.noftz.{f16|f16x2|bf16|bf16x2|f32}"), atom),
    build(
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].add[.noftz].{v2|v4}.f32",
        atom_vector,
    ),
    build(
        "atom[.{relaxed|acquire|release|acq_rel}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz.{v2|v4|v8}.{f16|f16x2|bf16|bf16x2}",
        atom_vector,
    ),
    build(atomics!("atom", "exch.{u32|s32|f32|u64|s64|f64}"), atom),
    build(atomics!("atom", "cas.{u16|u32|s32|u64|s64}"), atom),
    build(atomics!("atom", "{exch|cas}.b128"), atom_quad),
    build(atomics!("red", "{and|or|xor}.{b32|b64}"), red),
    build(atomics!("red", "{add|inc|dec|min|max}.{u32|s32|u64|s64}"), red),
    build(atomics!("red", "add.{f32|f64}"), red),
    build(atomics!("red", "add.noftz.{f16|f16x2|bf16|bf16x2|f32}"), red),
    build("red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].add[.noftz].{v2|v4}.f32", red_vector),
    build(
        "red[.{relaxed|release}][.{cta|cluster|gpu|sys}][.global].{add|min|max}.noftz.{v2|v4|v8}.{f16|f16x2|bf16|bf16x2}",
        red_vector,
    ),
    build("membar.{cta|gl|sys}", fence),
    build("membar.proxy.alias", fence),
    build(
        "fence.{acquire|release}.{sync_restrict::shared::cta|sync_restrict::shared::cluster}.cluster",
        fence,
    ),
    build("fence.proxy.alias.{acquire|release}.sys", fence),
    build("fence.alias.sync_restrict::read.release.sys", fence),
    build(
        "fence.proxy.async::generic.{acquire|release}.{sync_restrict::shared::cta|sync_restrict::shared::cluster|sync_restrict::shared::cluster::read}.cluster",
        |builder, _| {
            builder.expect_operands(0)?;
            let mut draft = fence_draft();
            draft.event = Some(Event::ProxyFence);
            builder.push(draft);
            Ok(())
        },
    ),
    build("fence[.{sc|acq_rel|acquire|release}].{cta|cluster|gpu|sys}", fence),
    build("fence.mbarrier_init.release.cluster", fence),
    build("fence.proxy.tensormap::generic.release.{cta|cluster|gpu|sys}", fence),
    build("fence.proxy.tensormap::generic.acquire.{cta|cluster|gpu|sys}", |builder, form| {
        // The address and the size of the map.
        builder.expect_operands(2)?;
        push_fence(builder, form)
    }),
    build("fence.proxy.{alias|async}[.{global|shared::cta|shared::cluster}]", |builder, form| {
        builder.expect_operands(0)?;
        let mut draft = fence_draft();
        draft.event = form.has("async").then_some(Event::ProxyFence);
        builder.push(draft);
        Ok(())
    }),
];

/// `atom d, [a], b{, c}`
fn atom(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let class = class_of(form.ty());
    let dest = builder.dest(builder.operand(0)?, class)?;
    access(builder, form, dest, 1)
}

/// `atom.exch.b128 d, [a], b`, `atom.cas.b128 d, [a], b, c`
fn atom_quad(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let cas = form.has("cas");
    builder.expect_operands(if cas { 4 } else { 3 })?;
    let space = form.any(&["global", "shared", "shared::cta", "shared::cluster"]).and_then(Space::from_name);
    let base = bulk::address(builder, builder.operand(1)?, space.is_none())?;
    let mut read = Vec::with_capacity(4);
    for index in 2..if cas { 4 } else { 3 } {
        read.extend(source_halves(builder, index)?);
    }
    let dests = match builder.operand(0)? {
        Text::Name("_") => vec![builder.temporary(Class::Wide)?, builder.temporary(Class::Wide)?],
        _ => dest_halves(builder, 0)?,
    };
    let mut draft = Draft::new(if cas { SWAP_QUAD } else { EXCHANGE_QUAD }, &[], &[base]);
    let ordered = order(form);
    draft.aux = Access::new(1, space, ordered | Access::POLL | Access::ATOMIC).0;
    draft.site = true;
    draft.matrix = Some(Box::new(Matrix { d: dests, a: read, ..Matrix::default() }));
    draft.note = Some(Note { what: What::Atomic { reads: cas, after_guess: cas }, address: 0, bytes: 16 });
    builder.push(draft);
    Ok(())
}

/// Whether it orders others, and its scope if that is the block.
fn order(form: &Form<'_>) -> u32 {
    let ordered = form.any(&["acquire", "release", "acq_rel"]).map_or(0, |_| Access::ORDERED);
    ordered | if form.has("cta") { Access::BLOCK } else { 0 }
}

/// The halves of operand `index`, a register of 128 bits that is read.
pub(super) fn source_halves(builder: &mut Builder<'_, '_>, index: usize) -> Result<Vec<Operand>, Refusal> {
    let halves = halves(builder, builder.operand(index)?)?;
    halves.iter().map(|half| builder.source(half, Class::Wide)).collect()
}

/// The halves of operand `index`, a register of 128 bits that is written.
pub(super) fn dest_halves(builder: &mut Builder<'_, '_>, index: usize) -> Result<Vec<Operand>, Refusal> {
    let halves = halves(builder, builder.operand(index)?)?;
    halves.iter().map(|half| builder.dest(half, Class::Wide)).collect()
}

/// The two halves of a register of 128 bits.
fn halves<'a>(builder: &Builder<'_, 'a>, text: &'a Text<'a>) -> Result<Vec<Text<'a>>, Refusal> {
    let halves = builder.elements(text)?;
    if matches!(text, Text::Name(_)) && halves.len() == 2 {
        return Ok(halves);
    }
    Err(Refusal::new("a register of 128 bits is expected"))
}

/// `red [a], b`
fn red(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let dest = builder.temporary(class_of(form.ty()))?;
    access(builder, form, dest, 0)
}

/// `atom {d, e}, [a], {b, c}`: each element by itself, as the ISA has it.
fn atom_vector(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(3)?;
    let class = class_of(form.ty());
    let dests = builder.elements(builder.operand(0)?)?;
    let dests = dests.iter().map(|text| builder.dest(text, class)).collect::<Result<Vec<_>, _>>()?;
    vector(builder, form, &dests, 1)
}

/// `red [a], {b, c}`
fn red_vector(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let class = class_of(form.ty());
    let count = builder.elements(builder.operand(1)?)?.len();
    let dests = (0..count).map(|_| builder.temporary(class)).collect::<Result<Vec<_>, _>>()?;
    vector(builder, form, &dests, 0)
}

/// The operands from `first` on are the address and the elements.
fn vector(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    dests: &[Operand],
    first: usize,
) -> Result<(), Refusal> {
    let (class, bytes) = (class_of(form.ty()), form.ty().size() as u64);
    let elements = builder.elements(builder.operand(first + 1)?)?;
    let count = form.any(&["v2", "v4", "v8"]).and_then(|v| v[1..].parse().ok()).unwrap_or(0);
    if elements.len() != count || dests.len() != count || count as u64 * bytes > 16 {
        return Err(Refusal::new(format!("{count} elements, of 16 bytes in all at most, are expected")));
    }
    let space = form.has("global").then_some(Space::Global);
    let address = builder.address(builder.operand(first)?, space.is_none())?;
    let exec = operation(form).ok_or_else(|| Refusal::new("no such operation on that type"))?;
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    let mut check = Draft::new(ALIGNED, &[], &[address.base]);
    (check.imm, check.aux) =
        (address.offset, Access::new(1, space, narrow).0 | (bytes as u32 * count as u32) << 16);
    builder.push(check);
    // The address stays as it is until the last element, whichever register is written.
    let (base, copy) = match address.narrow {
        true => (builder.temporary(Class::Word)?, lane1(|a: u32| a)),
        false => (builder.temporary(Class::Wide)?, lane1(|a: u64| a)),
    };
    builder.lane(copy, &[base], &[address.base]);
    let mut read = Vec::with_capacity(count);
    for element in &elements {
        let (source, own) = (builder.source(element, class)?, builder.temporary(class)?);
        builder.lane(
            if class == Class::Wide { lane1(|a: u64| a) } else { lane1(|a: u32| a) },
            &[own],
            &[source],
        );
        read.push(own);
    }
    let ordered = order(form);
    for (index, (dest, b)) in dests.iter().zip(read).enumerate() {
        let mut draft = Draft::new(exec, &[*dest], &[base, b, b]);
        draft.aux = Access::new(1, space, ordered | narrow | Access::ATOMIC).0;
        (draft.imm, draft.site) = (address.offset.wrapping_add(index as u64 * bytes), true);
        let after_guess = form.any(&["min", "max"]).is_some();
        draft.note = Some(Note { what: What::Atomic { reads: true, after_guess }, address: 1, bytes });
        builder.push(draft);
    }
    Ok(())
}

/// The operands from `first` on are the address, `b`, and for `cas` `c`.
fn access(
    builder: &mut Builder<'_, '_>,
    form: &Form<'_>,
    dest: Operand,
    first: usize,
) -> Result<(), Refusal> {
    let cas = form.has("cas");
    builder.expect_operands(first + if cas { 3 } else { 2 })?;
    let class = class_of(form.ty());
    let space = form.any(&["global", "shared", "shared::cta", "shared::cluster"]).and_then(Space::from_name);
    let address = builder.address(builder.operand(first)?, space.is_none())?;
    let b = builder.source(builder.operand(first + 1)?, class)?;
    let c = if cas { builder.source(builder.operand(first + 2)?, class)? } else { b };
    let exec = operation(form).ok_or_else(|| Refusal::new("no such operation on that type"))?;
    let ordered = order(form);
    let poll = form.any(&["cas", "exch"]).map_or(0, |_| Access::POLL);
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    let mut draft = Draft::new(exec, &[dest], &[address.base, b, c]);
    draft.aux = Access::new(1, space, ordered | poll | narrow | Access::ATOMIC).0;
    (draft.imm, draft.site) = (address.offset, true);
    let after_guess = form.any(&["cas", "min", "max", "and", "or"]).is_some();
    let what = What::Atomic { reads: !form.has("exch"), after_guess };
    draft.note = Some(Note { what, address: 1, bytes: form.ty().size() as u64 });
    builder.push(draft);
    Ok(())
}

macro_rules! operations {
    ($($name:ident<$number:ty>: |$old:ident, $b:ident, $c:ident, $shared:ident| $new:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;

        impl Operation<$number> for $name {
            #[inline(always)]
            fn apply($old: $number, $b: $number, $c: $number, $shared: bool) -> $number {
                $new
            }
        }
    )*};
}

/// The operations that are the same for each width.
macro_rules! integer_operations {
    ($unsigned:ty, $signed:ty) => {
        operations! {
            And<$unsigned>: |old, b, _c, _s| old & b;
            Or<$unsigned>: |old, b, _c, _s| old | b;
            Xor<$unsigned>: |old, b, _c, _s| old ^ b;
            Exchange<$unsigned>: |_old, b, _c, _s| b;
            CompareAndSwap<$unsigned>: |old, b, c, _s| if old == b { c } else { old };
            Add<$unsigned>: |old, b, _c, _s| old.wrapping_add(b);
            Increment<$unsigned>: |old, b, _c, _s| if old >= b { 0 } else { old + 1 };
            Decrement<$unsigned>: |old, b, _c, _s| if old == 0 || old > b { b } else { old - 1 };
            Min<$unsigned>: |old, b, _c, _s| old.min(b);
            Max<$unsigned>: |old, b, _c, _s| old.max(b);
            MinSigned<$unsigned>: |old, b, _c, _s| (old as $signed).min(b as $signed) as $unsigned;
            MaxSigned<$unsigned>: |old, b, _c, _s| (old as $signed).max(b as $signed) as $unsigned;
        }
    };
}

mod word {
    use super::Operation;
    integer_operations!(u32, i32);
}
mod wide {
    use super::Operation;
    integer_operations!(u64, i64);
}

operations! {
    And16<u16>: |old, b, _c, _s| old & b;
    Or16<u16>: |old, b, _c, _s| old | b;
    Xor16<u16>: |old, b, _c, _s| old ^ b;
    Exchange16<u16>: |_old, b, _c, _s| b;
    CompareAndSwap16<u16>: |old, b, c, _s| if old == b { c } else { old };
    // PTX ISA, "atom": additions flush subnormal numbers in global memory and keep them in shared memory.
    AddF32<u32>: |old, b, _c, shared| match shared {
        true => fp32::add::<Nearest, false, false>(old, b),
        false => fp32::add::<Nearest, true, false>(old, b),
    };
    AddF32Unflushed<u32>: |old, b, _c, _s| fp32::add::<Nearest, false, false>(old, b);
    AddF64<u64>: |old, b, _c, _s| fp64::add::<Nearest>(old, b);
    AddF16<u16>: |old, b, _c, _s| half::add::<F16, false, false>(old, b);
    AddBf16<u16>: |old, b, _c, _s| half::add::<Bf16, false, false>(old, b);
    AddF16x2<u32>: |old, b, _c, _s| half::add_x2::<F16, false, false>(old, b);
    AddBf16x2<u32>: |old, b, _c, _s| half::add_x2::<Bf16, false, false>(old, b);
    MinF16<u16>: |old, b, _c, _s| half::min::<F16, false, false, false>(old, b);
    MaxF16<u16>: |old, b, _c, _s| half::max::<F16, false, false, false>(old, b);
    MinBf16<u16>: |old, b, _c, _s| half::min::<Bf16, false, false, false>(old, b);
    MaxBf16<u16>: |old, b, _c, _s| half::max::<Bf16, false, false, false>(old, b);
    MinF16x2<u32>: |old, b, _c, _s| both(old, b, half::min::<F16, false, false, false>);
    MaxF16x2<u32>: |old, b, _c, _s| both(old, b, half::max::<F16, false, false, false>);
    MinBf16x2<u32>: |old, b, _c, _s| both(old, b, half::min::<Bf16, false, false, false>);
    MaxBf16x2<u32>: |old, b, _c, _s| both(old, b, half::max::<Bf16, false, false, false>);
}

/// An operation on two halves.
#[inline(always)]
fn both(a: u32, b: u32, one: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(one(a as u16, b as u16)) | u32::from(one((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// What runs for the operation and type of a form.
fn operation(form: &Form<'_>) -> Option<Exec> {
    let name = form.any(&["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"])?;
    let ty = form.ty();
    let signed = matches!(ty, Type::S32 | Type::S64);
    Some(match (ty, name) {
        (Type::F32, "add") if form.has("noftz") => atomic::<u32, AddF32Unflushed>(),
        (Type::F32, "add") => atomic::<u32, AddF32>(),
        (Type::F64, "add") => atomic::<u64, AddF64>(),
        (Type::F16, "add") => atomic::<u16, AddF16>(),
        (Type::Bf16, "add") => atomic::<u16, AddBf16>(),
        (Type::F16x2, "add") => atomic::<u32, AddF16x2>(),
        (Type::Bf16x2, "add") => atomic::<u32, AddBf16x2>(),
        (Type::F16, "min") => atomic::<u16, MinF16>(),
        (Type::F16, "max") => atomic::<u16, MaxF16>(),
        (Type::Bf16, "min") => atomic::<u16, MinBf16>(),
        (Type::Bf16, "max") => atomic::<u16, MaxBf16>(),
        (Type::F16x2, "min") => atomic::<u32, MinF16x2>(),
        (Type::F16x2, "max") => atomic::<u32, MaxF16x2>(),
        (Type::Bf16x2, "min") => atomic::<u32, MinBf16x2>(),
        (Type::Bf16x2, "max") => atomic::<u32, MaxBf16x2>(),
        _ => match ty.size() {
            2 => short(name)?,
            4 => word(name, signed),
            _ => wide(name, signed),
        },
    })
}

fn short(name: &str) -> Option<Exec> {
    Some(match name {
        "and" => atomic::<u16, And16>(),
        "or" => atomic::<u16, Or16>(),
        "xor" => atomic::<u16, Xor16>(),
        "exch" => atomic::<u16, Exchange16>(),
        "cas" => atomic::<u16, CompareAndSwap16>(),
        _ => return None,
    })
}

macro_rules! by_width {
    ($function:ident, $module:ident, $number:ty) => {
        fn $function(name: &str, signed: bool) -> Exec {
            match (name, signed) {
                ("and", _) => atomic::<$number, $module::And>(),
                ("or", _) => atomic::<$number, $module::Or>(),
                ("xor", _) => atomic::<$number, $module::Xor>(),
                ("exch", _) => atomic::<$number, $module::Exchange>(),
                ("cas", _) => atomic::<$number, $module::CompareAndSwap>(),
                ("add", _) => atomic::<$number, $module::Add>(),
                ("inc", _) => atomic::<$number, $module::Increment>(),
                ("dec", _) => atomic::<$number, $module::Decrement>(),
                ("min", false) => atomic::<$number, $module::Min>(),
                ("max", false) => atomic::<$number, $module::Max>(),
                ("min", true) => atomic::<$number, $module::MinSigned>(),
                (_, _) => atomic::<$number, $module::MaxSigned>(),
            }
        }
    };
}
by_width!(word, word, u32);
by_width!(wide, wide, u64);

/// Fences: workers are host threads, so a host fence orders what they see.
fn fence(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(0)?;
    push_fence(builder, form)
}

fn push_fence(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mut draft = fence_draft();
    draft.imm = u64::from(form.has("cta"));
    builder.push(draft);
    Ok(())
}

/// Its `imm` says whether it concerns the threads of a block only.
fn fence_draft() -> Draft {
    let mut draft = Draft::new(sync::FENCE, &[], &[]);
    draft.note = Some(Note { what: What::Fence, address: 0, bytes: 0 });
    draft
}
