//! "Parallel Synchronization and Communication Instructions" on memory: `atom`, `red`, fences.

use cuda_ptx::{Space, Type};

use super::super::code::Exec;
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::atomics::{Operation, atomic};
use super::super::exec::memory::Access;
use super::super::exec::sync;
use super::super::watch::{Event, Note, What};
use super::{Form, Row, build};
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
    build(atomics!("atom", "add.noftz.{f16|f16x2|bf16|bf16x2}"), atom),
    build(atomics!("atom", "exch.{u32|s32|f32|u64|s64|f64}"), atom),
    build(atomics!("atom", "cas.{u16|u32|s32|u64|s64}"), atom),
    build(atomics!("red", "{and|or|xor}.{b32|b64}"), red),
    build(atomics!("red", "{add|inc|dec|min|max}.{u32|s32|u64|s64}"), red),
    build(atomics!("red", "add.{f32|f64}"), red),
    build(atomics!("red", "add.noftz.{f16|f16x2|bf16|bf16x2}"), red),
    build("membar.{cta|gl|sys}", fence),
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

/// `red [a], b`
fn red(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let dest = builder.temporary(class_of(form.ty()))?;
    access(builder, form, dest, 0)
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
    let ordered = form.any(&["acquire", "release", "acq_rel"]).map_or(0, |_| Access::ORDERED);
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
    AddF64<u64>: |old, b, _c, _s| fp64::add::<Nearest>(old, b);
    AddF16<u16>: |old, b, _c, _s| half::add::<F16, false, false>(old, b);
    AddBf16<u16>: |old, b, _c, _s| half::add::<Bf16, false, false>(old, b);
    AddF16x2<u32>: |old, b, _c, _s| half::add_x2::<F16, false, false>(old, b);
    AddBf16x2<u32>: |old, b, _c, _s| half::add_x2::<Bf16, false, false>(old, b);
}

/// What runs for the operation and type of a form.
fn operation(form: &Form<'_>) -> Option<Exec> {
    let name = form.any(&["and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"])?;
    let ty = form.ty();
    let signed = matches!(ty, Type::S32 | Type::S64);
    Some(match (ty, name) {
        (Type::F32, "add") => atomic::<u32, AddF32>(),
        (Type::F64, "add") => atomic::<u64, AddF64>(),
        (Type::F16, "add") => atomic::<u16, AddF16>(),
        (Type::Bf16, "add") => atomic::<u16, AddBf16>(),
        (Type::F16x2, "add") => atomic::<u32, AddF16x2>(),
        (Type::Bf16x2, "add") => atomic::<u32, AddBf16x2>(),
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
