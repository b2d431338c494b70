//! "Asynchronous copy": of whole pieces of memory and of tensors, `cp.async.bulk`; and what goes with tensor maps.

use cuda_ptx::{Operand as Text, Type};

use super::super::code::{Exec, Matrix};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::alu::{lane1, lane2};
use super::super::exec::bulk::{self, Bulk};
use super::super::exec::operand::Class;
use super::super::exec::reduce::{Number, Operation, Reduce};
use super::super::watch::{Event, Group};
use super::super::windows;
use super::control::{event, nothing, wait_group};
use super::{Form, Row, build};
use crate::tensor::RANK;

/// The operations and types of `cp.reduce.async.bulk`.
macro_rules! reducing {
    ($start:literal) => {
        concat!(
            $start,
            "[.relaxed][.{cta|cluster|gpu|sys}].{and|or|xor|add|inc|dec|min|max}[.noftz].{b32|b64|u32|s32|u64|s64|f16|bf16|f32|f64}"
        )
    };
}

/// An operation and the types of `red.async`.
macro_rules! reducing_async {
    ($operation:literal) => {
        concat!("red.async.relaxed.cluster[.shared::cluster].mbarrier::complete_tx::bytes.", $operation)
    };
}

/// A copy with the order that its accesses may have: the type is that of the pieces which are copied at once.
macro_rules! ordered {
    ($copy:literal) => {
        concat!($copy, "[.{weak|relaxed}][.{cta|cluster|gpu|sys}][.b128]")
    };
}

pub(super) const ROWS: &[Row] = &[
    build(
        ordered!(
            "cp.async.bulk.{shared::cluster|shared::cta}.global.mbarrier::complete_tx::bytes[.{multicast::cluster|multicast::cluster::16b}][.L2::cache_hint]"
        ),
        |builder, form| {
            copy(builder, Bulk { from_global: true, multicast: multicast(form), ..Bulk::default() })
        },
    ),
    build(
        ordered!("cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob[.L2::cache_hint]"),
        |builder, _| copy(builder, Bulk { from_global: true, ignores: true, ..Bulk::default() }),
    ),
    build(
        ordered!("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
        |builder, _| copy(builder, Bulk::default()),
    ),
    build(ordered!("cp.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint]"), |builder, _| {
        copy(builder, Bulk { to_global: true, ..Bulk::default() })
    }),
    build(
        reducing!("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"),
        |builder, form| copy(builder, Bulk { reduce: Some(reduction(form, false)?), ..Bulk::default() }),
    ),
    build(
        reducing!("cp.reduce.async.bulk.global.shared::cta.bulk_group[.L2::cache_hint]"),
        |builder, form| {
            let reduce = Some(reduction(form, true)?);
            copy(builder, Bulk { to_global: true, reduce, ..Bulk::default() })
        },
    ),
    build("cp.async.bulk.prefetch.L2.global[.L2::cache_hint]", nothing),
    build("cp.async.bulk.commit_group", |builder, _| event(builder, Event::Commit(Group::Bulk))),
    build("cp.async.bulk.wait_group[.read]", |builder, form| {
        wait_group(builder, if form.has("read") { Group::BulkReads } else { Group::Bulk })
    }),
    build("cp.async.bulk.wait_group.sync_restrict::proxy::async", |b, _| wait_group(b, Group::Bulk)),
    build(
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.{shared::cluster|shared::cta}.global[.{tile|im2col}].mbarrier::complete_tx::bytes[.{multicast::cluster|multicast::cluster::16b}][.L2::cache_hint]",
        load_tensor,
    ),
    build(
        "cp.async.bulk.tensor.{1d|2d|3d|4d|5d}.global.shared::cta[.{tile|im2col_no_offs}].bulk_group[.L2::cache_hint]",
        store_tensor,
    ),
    build(
        "cp.reduce.async.bulk.tensor.{1d|2d|3d|4d|5d}.global.shared::cta.{add|min|max|inc|dec|and|or|xor}[.{tile|im2col_no_offs}].bulk_group[.L2::cache_hint]",
        store_tensor,
    ),
    build(
        "cp.async.bulk.prefetch.tensor.{1d|2d|3d|4d|5d}.L2.global[.{tile|im2col}][.L2::cache_hint]",
        nothing,
    ),
    build("prefetch[.{param|const}].tensormap", nothing),
    build(
        "st.async[.weak].mbarrier::complete_tx::bytes[.{shared|shared::cta|shared::cluster}][.{v2|v4}].{b32|b64|u32|u64|s32|s64|f32|f64}",
        store,
    ),
    build("st.async[.weak].mbarrier::complete_tx::bytes[.{shared|shared::cta|shared::cluster}].b128", store),
    build(reducing_async!("add.{u32|s32|u64|s64}"), reduce),
    build(reducing_async!("{min|max}.{u32|s32}"), reduce),
    build(reducing_async!("{inc|dec}.u32"), reduce),
    build(reducing_async!("{and|or|xor}.b32"), reduce),
];

/// The operation on numbers of a type: which there are differs between the two targets.
fn reduction(form: &Form<'_>, global: bool) -> Result<Reduce, Refusal> {
    let (operation, number) = (operation(form), form.values().find_map(Number::from_name));
    let Some((operation, number)) = operation.zip(number) else {
        return Err(Refusal::new("an operation and a type are expected"));
    };
    let short = matches!(number, Number::U32 | Number::S32 | Number::B32)
        || (number, operation) == (Number::U64, Operation::Add);
    let reduce = Reduce::of(operation, number);
    let found = reduce.filter(|_| (global || short) && (number, operation) != (Number::S64, Operation::Add));
    let takes = matches!(found, Some(Reduce::AddF16 | Reduce::AddBf16));
    let both = found == Some(Reduce::AddF32) && global;
    match found {
        Some(_) if form.has("noftz") != takes && !both => {
            Err(Refusal::new("`.noftz` goes with sums of `.f16`, `.bf16` and `.f32`, and with no others"))
        }
        Some(reduce) => Ok(reduce),
        None => Err(Refusal::new(format!("there is no {operation:?} of {number:?} in that memory"))),
    }
}

/// Whether a mask of blocks is expected.
fn multicast(form: &Form<'_>) -> bool {
    form.any(&["multicast::cluster", "multicast::cluster::16b"]).is_some()
}

fn operation(form: &Form<'_>) -> Option<Operation> {
    form.values().find_map(Operation::from_name)
}

/// An operand in a register of 64 bits.
fn wide(builder: &mut Builder<'_, '_>, operand: Operand, narrow: bool) -> Result<Operand, Refusal> {
    if !narrow {
        return Ok(operand);
    }
    let result = builder.temporary(Class::Wide)?;
    builder.lane(lane1(|a: u32| u64::from(a)), &[result], &[operand]);
    builder.keeps_address();
    Ok(result)
}

/// An address in a register of 64 bits, offset included.
pub(super) fn address<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &Text<'a>,
    generic: bool,
) -> Result<Operand, Refusal> {
    let address = builder.address(text, generic)?;
    let base = wide(builder, address.base, address.narrow)?;
    if address.offset == 0 {
        return Ok(base);
    }
    let (result, offset) = (builder.temporary(Class::Wide)?, builder.constant(Class::Wide, address.offset));
    builder.lane(lane2(u64::wrapping_add), &[result], &[base, offset]);
    builder.keeps_address();
    Ok(result)
}

/// A number of up to 32 bits in a register of 64 bits.
pub(super) fn number<'a>(builder: &mut Builder<'_, 'a>, text: &Text<'a>) -> Result<Operand, Refusal> {
    let class = builder.class_of(text).unwrap_or(Class::Word);
    if !matches!(class, Class::Word | Class::Wide) {
        return Err(Refusal::new("a number is in a register of up to 64 bits"));
    }
    let operand = builder.source(text, class)?;
    wide(builder, operand, class == Class::Word)
}

/// One that completes with a bulk group if it is `grouped`, else at a barrier.
fn append(builder: &mut Builder<'_, '_>, exec: Exec, aux: u32, a: Vec<Operand>, grouped: bool) {
    append_as(builder, exec, aux, a, Event::Bulk { grouped, plain: false });
}

fn append_as(builder: &mut Builder<'_, '_>, exec: Exec, aux: u32, a: Vec<Operand>, event: Event) {
    let mut draft = Draft::new(exec, &[], &[]);
    draft.event = Some(event);
    (draft.aux, draft.matrix) = (aux, Some(Box::new(Matrix { a, ..Matrix::default() })));
    builder.push(draft);
}

/// `[target], [source], bytes{, left, right}{, [barrier]}{, mask}`
fn copy(builder: &mut Builder<'_, '_>, bulk: Bulk) -> Result<(), Refusal> {
    let ends = if bulk.ignores { 2 } else { 0 };
    builder.expect_operands(3 + ends + usize::from(!bulk.to_global) + usize::from(bulk.multicast))?;
    let mut operands = Vec::with_capacity(7);
    for index in [0, 1] {
        operands.push(address(builder, builder.operand(index)?, false)?);
    }
    operands.push(number(builder, builder.operand(2)?)?);
    if !bulk.to_global {
        operands.push(address(builder, builder.operand(3 + ends)?, false)?);
    }
    if bulk.multicast {
        operands.push(number(builder, builder.operand(4)?)?);
    }
    if bulk.ignores {
        // No mask.
        operands.push(builder.constant(Class::Wide, 0));
        operands.push(number(builder, builder.operand(3)?)?);
        operands.push(number(builder, builder.operand(4)?)?);
    }
    let event = Event::Bulk { grouped: bulk.to_global, plain: true };
    append_as(builder, bulk::COPY, bulk.word(), operands, event);
    Ok(())
}

fn rank(form: &Form<'_>) -> usize {
    match form.any(&["1d", "2d", "3d", "4d"]) {
        Some("1d") => 1,
        Some("2d") => 2,
        Some("3d") => 3,
        Some(_) => 4,
        None => RANK,
    }
}

/// `[map, {coordinates}]`: the map's generic address, and five coordinates.
fn place<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &'a Text<'a>,
    rank: usize,
) -> Result<(Operand, Vec<Operand>), Refusal> {
    let Text::AddressList(list) = text else {
        return Err(Refusal::new("a tensor map and coordinates are expected in brackets"));
    };
    let [map, coordinates] = list.as_slice() else {
        return Err(Refusal::new("a tensor map and a list of coordinates are expected in brackets"));
    };
    let map = Text::Address { base: Box::new(map.clone()), offset: 0 };
    let map = address(builder, &map, true)?;
    let texts = builder.elements(coordinates)?;
    if texts.len() != rank {
        return Err(Refusal::new(format!("{} coordinates, {rank} are expected", texts.len())));
    }
    let mut numbers = Vec::with_capacity(RANK);
    for text in &texts {
        numbers.push(number(builder, text)?);
    }
    numbers.resize(RANK, builder.constant(Class::Wide, 0));
    Ok((map, numbers))
}

/// `[target], [map, {coordinates}], [barrier]{, {offsets}}{, mask}`
fn load_tensor(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (rank, im2col, multicast) = (rank(form), form.has("im2col"), multicast(form));
    if im2col && rank < 3 {
        return Err(Refusal::new("`.im2col` needs three dimensions"));
    }
    builder.expect_operands(3 + usize::from(im2col) + usize::from(multicast))?;
    let (map, coordinates) = place(builder, builder.operand(1)?, rank)?;
    let target = address(builder, builder.operand(0)?, false)?;
    let barrier = address(builder, builder.operand(2)?, false)?;
    let mask = match multicast {
        true => number(builder, builder.operand(3 + usize::from(im2col))?)?,
        false => builder.constant(Class::Wide, 0),
    };
    let mut operands = vec![target, map, barrier, mask];
    operands.extend(coordinates);
    if im2col {
        let offsets = builder.elements(builder.operand(3)?)?;
        if offsets.len() != rank - 2 {
            return Err(Refusal::new(format!("{} offsets, {} are expected", offsets.len(), rank - 2)));
        }
        for text in &offsets {
            let offset = number(builder, text)?;
            operands.push(offset);
        }
    }
    let bulk = Bulk { from_global: true, multicast, im2col, rank: rank as u8, ..Bulk::default() };
    append(builder, bulk::LOAD_TENSOR, bulk.word(), operands, false);
    Ok(())
}

/// `[map, {coordinates}], [source]`
fn store_tensor(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let rank = rank(form);
    let (map, coordinates) = place(builder, builder.operand(0)?, rank)?;
    let source = address(builder, builder.operand(1)?, false)?;
    let mut operands = vec![map, source];
    operands.extend(coordinates);
    let (rank, im2col, operation) = (rank as u8, form.has("im2col_no_offs"), operation(form));
    let bulk = Bulk { to_global: true, rank, im2col, operation, ..Bulk::default() };
    append(builder, bulk::STORE_TENSOR, bulk.word(), operands, true);
    Ok(())
}

/// The shared address that operand `index` is: without a space in the name a generic one stands there, or, in 32 bits, the part of one
/// that counts.
fn remote(builder: &mut Builder<'_, '_>, form: &Form<'_>, index: usize) -> Result<Operand, Refusal> {
    let text = builder.operand(index)?;
    let narrow = matches!(text, Text::Address { base, .. } if builder.class_of(base) == Some(Class::Word));
    let named = form.any(&["shared", "shared::cta", "shared::cluster"]).is_some();
    let generic = !named && !narrow;
    let place = address(builder, text, generic)?;
    if !generic {
        return Ok(place);
    }
    // What is no shared address becomes none of shared memory.
    let (result, window) = (builder.temporary(Class::Wide)?, builder.constant(Class::Wide, windows::SHARED));
    builder.lane(lane2(u64::wrapping_sub), &[result], &[place, window]);
    Ok(result)
}

/// `[target], value, [barrier]`
fn store(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(3)?;
    let count = match form.any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    // A register of 128 bits is a vector of two of 64.
    let (count, bytes) = if form.has("b128") { (2, 8) } else { (count, form.ty().size()) };
    let class = if bytes == 8 { Class::Wide } else { Class::Word };
    let texts = builder.elements(builder.operand(1)?)?;
    if texts.len() != count || count * bytes > 16 {
        return Err(Refusal::new(format!("{count} registers of {bytes} bytes, 16 in all, are expected")));
    }
    let mut operands = vec![remote(builder, form, 0)?, remote(builder, form, 2)?];
    for text in &texts {
        let value = builder.source(text, class)?;
        operands.push(wide(builder, value, class == Class::Word)?);
    }
    append(builder, bulk::STORE, bytes as u32, operands, false);
    Ok(())
}

/// `[target], value, [barrier]`
fn reduce(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(3)?;
    let number = match form.ty() {
        // Sums of both wrap alike.
        Type::S64 => Some(Number::U64),
        _ => form.values().find_map(Number::from_name),
    };
    let reduce = operation(form).zip(number).and_then(|(operation, number)| Reduce::of(operation, number));
    let Some(reduce) = reduce else { return Err(Refusal::new("no such operation on that type")) };
    let class = class_of(form.ty());
    let (target, barrier) = (remote(builder, form, 0)?, remote(builder, form, 2)?);
    let value = builder.source(builder.operand(1)?, class)?;
    let value = wide(builder, value, class == Class::Word)?;
    let bulk = Bulk { reduce: Some(reduce), ..Bulk::default() };
    let aux = bulk.word() | (form.ty().size() as u32) << 24;
    append(builder, bulk::REDUCE, aux, vec![target, barrier, value], false);
    Ok(())
}
