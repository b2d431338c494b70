//! "Texture Instructions" and "Surface Instructions", in the independent mode with 64-bit handles: what compilers make of
//! `tex1D` to `tex3D`, `tex1Dfetch`, the layered and `Lod` forms, and of surface reads and writes.

use cuda_ptx::Operand as Text;

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::operand::Class;
use super::super::exec::texture::{Access, Fetch, LOAD, PACK, STORE, TEX};
use super::{Form, Row, build};
use crate::texture::{Edge, Shape};

pub(super) const ROWS: &[Row] = &[
    build("tex.{1d|2d|3d|a1d|a2d}.v4.{f32|u32|s32}.{f32|s32}", fetch),
    build("tex.level.{1d|2d|3d|a1d|a2d}.v4.{f32|u32|s32}.f32", fetch),
    build("suld.b.{1d|2d|3d|a1d|a2d}[.{ca|cg|cs|cv}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", load),
    build("sust.b.{1d|2d|3d|a1d|a2d}[.{wb|cg|cs|wt}][.{v2|v4}].{b8|b16|b32|b64}.{trap|clamp|zero}", store),
];

fn shape(form: &Form<'_>) -> Shape {
    let (dimensions, layered) = match form.any(&["1d", "2d", "3d", "a1d", "a2d"]) {
        Some("1d") => (1, false),
        Some("2d") => (2, false),
        Some("a1d") => (1, true),
        Some("a2d") => (2, true),
        _ => (3, false),
    };
    Shape { dimensions, layered }
}

/// The handle and the packed coordinates of `[object, {x, y}]`, and a level as fourth.
fn place<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &Text<'a>,
    shape: Shape,
    level: Option<Operand>,
) -> Result<(Operand, Operand), Refusal> {
    let Text::AddressList(parts) = text else {
        return Err(Refusal::new("an object and coordinates in brackets are expected"));
    };
    let [object, coordinates] = parts.as_slice() else {
        return Err(Refusal::new("samplers of their own are not supported"));
    };
    let coordinates = match coordinates {
        Text::Vector(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let count = shape.dimensions + usize::from(shape.layered);
    if coordinates.len() < count {
        return Err(Refusal::new(format!("{count} coordinates expected, {} found", coordinates.len())));
    }
    let object = builder.source(object, Class::Wide)?;
    let mut words = [builder.constant(Class::Word, 0); 4];
    for (word, text) in words.iter_mut().zip(coordinates).take(count) {
        *word = builder.source(text, Class::Word)?;
    }
    words[3] = level.unwrap_or(words[3]);
    let packed = builder.temporary(Class::Quad)?;
    builder.push_helper(Draft::new(PACK, &[packed], &words));
    Ok((object, packed))
}

/// `tex.2d.v4.f32.f32 {r, g, b, a}, [texture, {x, y}]{, level}`
fn fetch(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let level = match form.has("level") {
        true => Some(builder.source(builder.operand(2)?, Class::Word)?),
        false => {
            builder.expect_operands(2)?;
            None
        }
    };
    let (shape, coordinates) = (shape(form), form.source_ty());
    let elements = builder.elements(builder.operand(0)?)?;
    let [_, _, _, _] = elements.as_slice() else {
        return Err(Refusal::new("four destinations are expected"));
    };
    let (object, packed) = place(builder, builder.operand(1)?, shape, level)?;
    let mut dests = Vec::with_capacity(4);
    for element in &elements {
        dests.push(builder.dest(element, Class::Word)?);
    }
    let mut draft = Draft::new(TEX, &dests, &[object, packed]);
    draft.aux = Fetch::word(shape, coordinates == cuda_ptx::Type::S32);
    builder.push(draft);
    Ok(())
}

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
