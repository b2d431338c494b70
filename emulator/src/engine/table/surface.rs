//! "Surface Instructions", with 64-bit handles.

use cuda_ptx::{Operand as Text, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::operand::Class;
use super::super::exec::reduce::{Number, Operation, Reduce};
use super::super::exec::surface::{Access, FORMATTED, LOAD, REDUCE, STORE, reductions};
use super::texture::{place, shape};
use super::{Form, Row, build};
use crate::texture::Edge;

pub(super) const ROWS: &[Row] = &[
    build("suld.b.{1d|2d|3d|a1d|a2d}[.{ca|cg|cs|cv}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", load),
    build("sust.b.{1d|2d|3d|a1d|a2d}[.{wb|cg|cs|wt}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", store),
    build("sust.p.{1d|2d|3d|a1d|a2d}[.{wb|cg|cs|wt}][.{v2|v4}].b32.{trap|clamp|zero}", store_formatted),
    build("sured.b.add.{1d|2d|3d}.{u32|s32|u64}.{trap|clamp|zero}", reduce),
    build("sured.b.{min|max}.{1d|2d|3d}.{u32|s32|u64|s64}.{trap|clamp|zero}", reduce),
    build("sured.b.{and|or}.{1d|2d|3d}.b32.{trap|clamp|zero}", reduce),
    build("sured.p.{add|min|max|and|or}.{1d|2d|3d}.b32.{trap|clamp|zero}", reduce),
    build("sured.p.{min|max}.{1d|2d|3d}.b64.{trap|clamp|zero}", reduce),
];

fn edge(form: &Form<'_>) -> Edge {
    match form.any(&["trap", "clamp", "zero"]) {
        Some("clamp") => Edge::Clamp,
        Some("zero") => Edge::Zero,
        _ => Edge::Trap,
    }
}

/// The register class, words or wide, and the access of a surface instruction for elements `texts`.
fn access<'a>(
    builder: &Builder<'_, 'a>,
    form: &Form<'_>,
    texts: &[Text<'a>],
) -> Result<(Class, u32), Refusal> {
    let count = match form.any(&["v2", "v4"]) {
        Some("v2") => 2,
        Some(_) => 4,
        None => 1,
    };
    let bytes = form.ty().size();
    if texts.len() != count || count * bytes > 16 {
        return Err(Refusal::new(format!("{count} registers of {bytes} bytes, 16 in all, are expected")));
    }
    let narrow = if bytes == 8 { Class::Wide } else { Class::Word };
    let class = texts.iter().find_map(|text| builder.class_of(text)).unwrap_or(narrow);
    if !matches!(class, Class::Word | Class::Wide) {
        return Err(Refusal::new("an element of a surface is in a register of up to 32 or 64 bits"));
    }
    Ok((class, Access::word(shape(form), edge(form), count, bytes, class == Class::Wide)))
}

/// `suld.b.2d.b32.trap r, [surface, {x, y}]`
fn load(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let elements = builder.elements(builder.operand(0)?)?;
    let (class, access) = access(builder, form, &elements)?;
    let (object, packed) = place(builder, builder.operand(1)?, shape(form), None)?;
    let mut dests = Vec::with_capacity(4);
    for element in &elements {
        dests.push(builder.dest(element, class)?);
    }
    let mut draft = Draft::new(LOAD, &dests, &[object, packed]);
    draft.aux = access;
    builder.push(draft);
    Ok(())
}

/// `sust.b.2d.b32.trap [surface, {x, y}], r`
fn store(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let elements = builder.elements(builder.operand(1)?)?;
    let (class, access) = access(builder, form, &elements)?;
    let (object, packed) = place(builder, builder.operand(0)?, shape(form), None)?;
    let mut sources = vec![object, packed];
    for element in &elements {
        sources.push(builder.source(element, class)?);
    }
    let mut draft = Draft::new(STORE, &[], &sources);
    draft.aux = access;
    builder.push(draft);
    Ok(())
}

/// `sust.p.2d.v4.b32.trap [surface, {x, y}], {r, g, b, a}`
fn store_formatted(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let elements = builder.elements(builder.operand(1)?)?;
    let (class, access) = access(builder, form, &elements)?;
    if class != Class::Word {
        return Err(Refusal::new("an element is in a register of 32 bits"));
    }
    let (object, packed) = place(builder, builder.operand(0)?, shape(form), None)?;
    let mut sources = vec![object, packed];
    for element in &elements {
        sources.push(builder.source(element, class)?);
    }
    let mut draft = Draft::new(FORMATTED, &[], &sources);
    draft.aux = access;
    builder.push(draft);
    Ok(())
}

/// `sured.b.add.2d.u32.trap [surface, {x, y}], c`
fn reduce(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let (ty, formatted) = (form.ty(), form.has("p"));
    let operation = form.values().find_map(Operation::from_name);
    // Of formatted ones the surface says whether they have signs; sums, `and` and `or` are the same for both.
    let number = |signed: bool| match (ty, operation) {
        (_, Some(Operation::And | Operation::Or)) => Number::B32,
        (Type::S32, _) => Number::S32,
        (Type::S64, _) => Number::S64,
        (Type::B32, _) if signed => Number::S32,
        (Type::B64, _) if signed => Number::S64,
        (Type::U64 | Type::B64, _) => Number::U64,
        _ => Number::U32,
    };
    let of = |signed: bool| operation.and_then(|operation| Reduce::of(operation, number(signed)));
    let Some((unsigned, signed)) = of(false).zip(of(true)) else {
        return Err(Refusal::new("no such operation on that type"));
    };
    let class = class_of(ty);
    let (object, packed) = place(builder, builder.operand(0)?, shape(form), None)?;
    let value = builder.source(builder.operand(1)?, class)?;
    let mut draft = Draft::new(REDUCE, &[], &[object, packed, value]);
    draft.aux = Access::word(shape(form), edge(form), 1, ty.size(), class == Class::Wide);
    draft.imm = reductions(formatted, unsigned, signed);
    builder.push(draft);
    Ok(())
}
