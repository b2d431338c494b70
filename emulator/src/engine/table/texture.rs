//! "Texture Instructions", with 64-bit handles: what compilers make of `tex1D` to `texCubemapLayered` with their `Lod`, `Grad` and
//! `fetch` forms, and of `tex2Dgather`. Queries of surfaces, too.

use cuda_ptx::{Operand as Text, Type};

use super::super::code::Matrix;
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::exec::alu::lane1;
use super::super::exec::operand::Class;
use super::super::exec::texture::{FETCH, Fetch, LEVELS, Levels, PACK, QUERY, TEX, query};
use super::{Form, Row, build, refuse};
use crate::texture::Shape;

pub(super) const ROWS: &[Row] = &[
    build("tex[.{base|level|grad}].{1d|2d|3d|a1d|a2d}.v4.{f32|u32|s32|f16}.{f32|s32}", fetch),
    build("tex[.{base|level|grad}].{1d|2d|3d|a1d|a2d}.v2.f16x2.{f32|s32}", fetch),
    build("tex[.{base|level|grad}].{cube|acube}.v4.{f32|u32|s32|f16}.f32", fetch),
    build("tex[.{base|level|grad}].{cube|acube}.v2.f16x2.f32", fetch),
    build("tld4.{r|g|b|a}.{2d|a2d|cube|acube}.v4.{f32|u32|s32}.f32", fetch),
    refuse("tex[.base].{2dms|a2dms}.v4.{f32|u32|s32|f16}.s32", SAMPLES),
    refuse("tex[.base].{2dms|a2dms}.v2.f16x2.s32", SAMPLES),
    build("txq[.level].{width|height|depth}.b32", ask),
    build("suq.{width|height|depth}.b32", ask),
    refuse(
        "txq.{channel_data_type|channel_order|normalized_coords|array_size|num_mipmap_levels|num_samples}.b32",
        DESCRIPTION,
    ),
    refuse(
        "txq.{force_unnormalized_coords|filter_mode|addr_mode_0|addr_mode_1|addr_mode_2}.b32",
        DESCRIPTION,
    ),
    refuse("suq.{channel_data_type|channel_order|array_size|memory_layout}.b32", DESCRIPTION),
    build("istypep.{texref|samplerref|surfref}", |builder, form| {
        // ptxas tests a bit of the handle.
        builder.lane_in_order(match form.first() {
            "texref" => lane1(|handle: u64| handle >> 61 & 1 != 0),
            "samplerref" => lane1(|handle: u64| handle >> 62 & 1 != 0),
            _ => lane1(|handle: u64| handle >> 63 & 1 != 0),
        })
    }),
];

/// Why multi-sample textures are refused.
const SAMPLES: &str = "only graphics interfaces make textures of several samples, and the emulator has none";
/// Why the other queries are refused.
const DESCRIPTION: &str =
    "a driver does not load kernels that ask for this, as texture and surface objects do not have it";

pub(super) fn shape(form: &Form<'_>) -> Shape {
    let geometry = form.any(&["1d", "2d", "3d", "a1d", "a2d", "cube", "acube"]).unwrap_or("3d");
    let dimensions = match geometry {
        "1d" | "a1d" => 1,
        "2d" | "a2d" => 2,
        _ => 3,
    };
    Shape { dimensions, layered: geometry.starts_with('a'), cube: geometry.ends_with("cube") }
}

/// The words of a vector of at least `count`: `{x, y}`.
fn words<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &'a Text<'a>,
    count: usize,
) -> Result<Vec<Operand>, Refusal> {
    let texts = builder.elements(text)?;
    if texts.len() < count {
        return Err(Refusal::new(format!("{count} coordinates expected, {} found", texts.len())));
    }
    texts.iter().take(count).map(|text| builder.source(text, Class::Word)).collect()
}

/// The handle and the coordinates of `[object, {x, y}]`.
fn object<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &'a Text<'a>,
    shape: Shape,
) -> Result<(Operand, Vec<Operand>), Refusal> {
    let Text::AddressList(parts) = text else {
        return Err(Refusal::new("an object and coordinates in brackets are expected"));
    };
    let [object, coordinates] = parts.as_slice() else {
        return Err(Refusal::new("samplers of their own are not supported"));
    };
    let coordinates = words(builder, coordinates, shape.dimensions + usize::from(shape.layered))?;
    Ok((builder.source(object, Class::Wide)?, coordinates))
}

/// The handle and the packed coordinates of `[object, {x, y}]`, and a level as fourth.
pub(super) fn place<'a>(
    builder: &mut Builder<'_, 'a>,
    text: &'a Text<'a>,
    shape: Shape,
    level: Option<Operand>,
) -> Result<(Operand, Operand), Refusal> {
    let (object, coordinates) = object(builder, text, shape)?;
    let mut words = [builder.constant(Class::Word, 0); 4];
    words.iter_mut().zip(coordinates).for_each(|(word, coordinate)| *word = coordinate);
    words[3] = level.unwrap_or(words[3]);
    let packed = builder.temporary(Class::Quad)?;
    builder.push_helper(Draft::new(PACK, &[packed], &words));
    Ok((object, packed))
}

/// `tex.2d.v4.f32.f32 {r, g, b, a}{|p}, [texture, {x, y}]{, level | dx, dy}{, offsets}`, and `tld4`
fn fetch(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (shape, ty, operands) = (shape(form), form.ty(), builder.operands());
    let integer = form.source_ty() == Type::S32;
    let levels = match form.any(&["level", "grad"]) {
        Some("level") => Levels::Level,
        Some(_) => Levels::Gradients,
        None => Levels::Base,
    };
    if integer && levels == Levels::Gradients {
        return Err(Refusal::new(
            "gradients with integer coordinates are not supported: ptxas passes the integers on as floats",
        ));
    }
    let count = 2 + [0, 1, 2][levels as usize];
    let offsets = match operands.get(count..) {
        Some([]) => None,
        Some([offsets @ Text::Vector(_)]) if !shape.cube => Some(offsets),
        _ => {
            return Err(Refusal::new(
                "comparisons with depths are not supported: no texture object says what is compared",
            ));
        }
    };
    let (texts, resident) = match builder.operand(0)? {
        Text::Pair(texts, predicate) => (&**texts, Some(&**predicate)),
        texts => (texts, None),
    };
    let (texts, expected) = (builder.elements(texts)?, if ty == Type::F16x2 { 2 } else { 4 });
    if texts.len() != expected {
        return Err(Refusal::new(format!("{expected} destinations are expected")));
    }
    let halves = if ty == Type::F16 { 1 } else { 2 * u32::from(ty == Type::F16x2) };
    let mut fetch = Fetch { shape, integer, levels, halves: halves as u8, gathers: None };
    fetch.gathers = form.any(&["r", "g", "b", "a"]).and_then(|name| "rgba".find(name)).map(|at| at as u8);
    let simple = !shape.cube
        && levels != Levels::Gradients
        && offsets.is_none()
        && halves == 0
        && fetch.gathers.is_none();
    let level = match levels {
        Levels::Level => Some(builder.source(builder.operand(2)?, Class::Word)?),
        _ => None,
    };
    if simple {
        let (object, packed) = place(builder, builder.operand(1)?, shape, level)?;
        let dests =
            texts.iter().map(|text| builder.dest(text, Class::Word)).collect::<Result<Vec<_>, _>>()?;
        let mut draft = Draft::new(TEX, &dests, &[object, packed]);
        draft.aux = fetch.word();
        builder.push(draft);
    } else {
        let (object, coordinates) = object(builder, builder.operand(1)?, shape)?;
        let mut words = [builder.constant(Class::Word, 0); LEVELS + 9];
        words.iter_mut().zip(coordinates).for_each(|(word, coordinate)| *word = coordinate);
        words[LEVELS] = level.unwrap_or(words[LEVELS]);
        if levels == Levels::Gradients {
            for (index, at) in [(2, LEVELS), (3, LEVELS + 3)] {
                let gradient = self::words(builder, builder.operand(index)?, shape.dimensions)?;
                words[at..].iter_mut().zip(gradient).for_each(|(word, gradient)| *word = gradient);
            }
        }
        if let Some(offsets) = offsets {
            let offsets = self::words(builder, offsets, shape.dimensions)?;
            words[LEVELS + 6..].iter_mut().zip(offsets).for_each(|(word, offset)| *word = offset);
        }
        let dests =
            texts.iter().map(|text| builder.dest(text, Class::Word)).collect::<Result<Vec<_>, _>>()?;
        let mut draft = Draft::new(FETCH, &[], &[object]);
        draft.aux = fetch.word();
        draft.matrix = Some(Box::new(Matrix { d: dests, a: words.to_vec(), ..Matrix::default() }));
        builder.push(draft);
    }
    if let Some(predicate) = resident {
        // All memory is there: there are no sparse arrays.
        let predicate = builder.dest(predicate, Class::Predicate)?;
        let zero = builder.constant(Class::Word, 0);
        builder.lane(lane1(|_: u32| true), &[predicate], &[zero]);
    }
    Ok(())
}

/// `txq.width.b32 d, [texture]`, `txq.level.width.b32 d, [texture], level`, `suq.width.b32 d, [surface]`
fn ask(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let level = form.has("level");
    builder.expect_operands(if level { 3 } else { 2 })?;
    let Text::Address { base, offset: 0 } = builder.operand(1)? else {
        return Err(Refusal::new("an object in brackets is expected"));
    };
    let object = builder.source(base, Class::Wide)?;
    let level = match level {
        true => builder.source(builder.operand(2)?, Class::Word)?,
        false => builder.constant(Class::Word, 0),
    };
    let dest = builder.dest(builder.operand(0)?, Class::Word)?;
    let mut draft = Draft::new(QUERY, &[dest], &[object, level]);
    let dimension = match form.any(&["width", "height"]) {
        Some("width") => 0,
        Some(_) => 1,
        None => 2,
    };
    draft.aux = query(dimension, builder.name().starts_with("suq"));
    builder.push(draft);
    Ok(())
}
