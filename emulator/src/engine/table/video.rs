//! "Video Instructions", scalar and SIMD.

use cuda_ptx::{Operand as Text, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Operand, Refusal};
use super::super::exec::alu::{lane3, lane4};
use super::super::exec::operand::Class;
use super::{Form, Row, build};
use crate::numeric::int;
use crate::numeric::video::{self, Mad, Op, Part, Second, Video};

pub(super) const ROWS: &[Row] = &[
    build("vadd.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}]", scalar),
    build("vsub.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}]", scalar),
    build("vabsdiff.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}]", scalar),
    build("vmin.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}]", scalar),
    build("vmax.{u32|s32}.{u32|s32}.{u32|s32}[.sat][.{add|min|max}]", scalar),
    build("vshl.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap}[.{add|min|max}]", scalar),
    build("vshr.{u32|s32}.{u32|s32}.u32[.sat].{clamp|wrap}[.{add|min|max}]", scalar),
    build("vset.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.{add|min|max}]", scalar),
    build("vmad.{u32|s32}.{u32|s32}.{u32|s32}[.po][.sat][.{shr7|shr15}]", mad),
    build("vadd2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vsub2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vavrg2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vabsdiff2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vmin2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vmax2.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vset2.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.add]", simd),
    build("vadd4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vsub4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vavrg4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vabsdiff4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vmin4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vmax4.{u32|s32}.{u32|s32}.{u32|s32}[.{sat|add}]", simd),
    build("vset4.{u32|s32}.{u32|s32}.{eq|ne|lt|le|gt|ge}[.add]", simd),
];

fn op(mnemonic: &str, form: &Form<'_>) -> Op {
    match mnemonic.trim_end_matches(['2', '4']) {
        "vadd" => Op::Add,
        "vsub" => Op::Sub,
        "vabsdiff" => Op::AbsDiff,
        "vmin" => Op::Min,
        "vmax" => Op::Max,
        "vavrg" => Op::Average,
        "vshl" => Op::Shl,
        "vshr" => Op::Shr,
        _ => match form.any(&["eq", "ne", "lt", "le", "gt"]) {
            Some("eq") => Op::Eq,
            Some("ne") => Op::Ne,
            Some("lt") => Op::Lt,
            Some("le") => Op::Le,
            Some(_) => Op::Gt,
            None => Op::Ge,
        },
    }
}

/// The instruction without its operands.
fn video(mnemonic: &str, form: &Form<'_>) -> Video {
    let signed: Vec<bool> = form.types().map(|ty| ty == Type::S32).collect();
    let signed = match signed[..] {
        [d, a, b] => [d, a, b],
        // The result of a comparison meets a third operand of the first one's type.
        [a, b] => [a, a, b],
        _ => [false; 3],
    };
    let second = match form.any(&["add", "min", "max"]) {
        Some("add") => Second::Add,
        Some("min") => Second::Min,
        Some(_) => Second::Max,
        None => Second::Merge,
    };
    let op = op(mnemonic, form);
    Video { op, signed, saturate: form.has("sat"), second, wrap: form.has("wrap") }
}

/// An operand without the selector behind its dot, whether it is negated, and the selector.
fn split<'a>(text: &Text<'a>) -> (Text<'a>, bool, Option<&'a str>) {
    let apart = |name: &'a str| match name.rsplit_once('.') {
        Some((register, selector)) => (register, Some(selector)),
        None => (name, None),
    };
    match text {
        Text::Name(name) => {
            let (register, selector) = apart(name);
            (Text::Name(register), false, selector)
        }
        Text::Negated(name) => {
            let (register, selector) = apart(name);
            (Text::Name(register), true, selector)
        }
        text => (text.clone(), false, None),
    }
}

/// The part that a scalar selector names.
fn part(selector: Option<&str>) -> Result<Part, Refusal> {
    Ok(match selector {
        None => Part::WORD,
        Some("b0") => Part { shift: 0, bits: 8 },
        Some("b1") => Part { shift: 8, bits: 8 },
        Some("b2") => Part { shift: 16, bits: 8 },
        Some("b3") => Part { shift: 24, bits: 8 },
        Some("h0") => Part { shift: 0, bits: 16 },
        Some("h1") => Part { shift: 16, bits: 16 },
        Some(other) => return Err(Refusal::new(format!("`.{other}` selects no part of a word"))),
    })
}

/// The digits of a SIMD selector, the lowest part first; `count` of them below `most`.
fn digits(selector: &str, letter: char, most: u32) -> Result<Vec<u32>, Refusal> {
    let refused = || Refusal::new(format!("`.{selector}` selects nothing"));
    let digits = selector.strip_prefix(letter).ok_or_else(refused)?;
    let parts: Option<Vec<u32>> =
        digits.chars().rev().map(|digit| digit.to_digit(10).filter(|part| *part < most)).collect();
    parts.filter(|parts| !parts.is_empty()).ok_or_else(refused)
}

/// The destination, the sources, their selectors, and whether the sources are negated.
type Operands<'a> = (Operand, Vec<Operand>, [Option<&'a str>; 3], [bool; 3]);

fn operands<'a>(builder: &mut Builder<'_, 'a>, sources: usize) -> Result<Operands<'a>, Refusal> {
    builder.expect_operands(sources + 1)?;
    let (d, _, to) = split(builder.operand(0)?);
    let (mut words, mut selectors, mut minus) = (Vec::new(), [to, None, None], [false; 3]);
    for index in 0..sources {
        let (text, is_negated, selector) = split(builder.operand(index + 1)?);
        words.push(builder.source(&text, Class::Word)?);
        minus[index] = is_negated;
        if index < 2 {
            selectors[index + 1] = selector;
        }
    }
    Ok((builder.dest(&d, Class::Word)?, words, selectors, minus))
}

/// `vadd.. d{.dsel}, a{.asel}, b{.bsel}{, c}`
fn scalar(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mnemonic = builder.name().split('.').next().unwrap_or_default();
    let video = video(mnemonic, form);
    let merges = split(builder.operand(0)?).2.is_some();
    if merges && video.second != Second::Merge {
        return Err(Refusal::new("a second operation and a destination with a selector exclude each other"));
    }
    // Without a use a third operand may be there as well.
    let third = merges || video.second != Second::Merge || builder.operands().len() > 3;
    let (d, words, [to, from, other], _) = operands(builder, 2 + usize::from(third))?;
    let c = match words.get(2) {
        Some(c) => *c,
        None => builder.constant(Class::Word, 0),
    };
    let parts = video::parts(part(to)?, part(from)?, part(other)?);
    let control = builder.constant(Class::Wide, video.bits() | parts);
    builder.lane(lane4(video::scalar), &[d], &[words[0], words[1], c, control]);
    Ok(())
}

/// `vmad.. d, {-}a{.asel}, {-}b{.bsel}, {-}c`
fn mad(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let (d, words, [_, from, other], [minus_a, minus_b, minus_c]) = operands(builder, 3)?;
    let signed: Vec<bool> = form.types().skip(1).map(|ty| ty == Type::S32).collect();
    let mad = Mad {
        signed: [signed.first() == Some(&true), signed.get(1) == Some(&true)],
        minus_product: minus_a != minus_b,
        minus_c,
        plus_one: form.has("po"),
        saturate: form.has("sat"),
        shift: match form.any(&["shr7", "shr15"]) {
            Some("shr7") => 7,
            Some(_) => 15,
            None => 0,
        },
    };
    if mad.minus_product && minus_c || mad.plus_one && (mad.minus_product || minus_c) {
        return Err(Refusal::new(
            "either the product or the third operand is negated, and nothing with `.po`",
        ));
    }
    let parts = video::parts(Part::WORD, part(from)?, part(other)?);
    let control = builder.constant(Class::Wide, mad.bits() | parts);
    builder.lane(lane4(video::mad), &[d], &[words[0], words[1], words[2], control]);
    Ok(())
}

/// `vadd2.. d{.mask}, a{.asel}, b{.bsel}, c`
fn simd(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let mnemonic = builder.name().split('.').next().unwrap_or_default();
    let video = video(mnemonic, form);
    let (d, words, [to, from, other], _) = operands(builder, 3)?;
    let (a, b, c) = (words[0], words[1], words[2]);
    if video.op == Op::AbsDiff
        && mnemonic.ends_with('4')
        && [to, from, other] == [None; 3]
        && !video.saturate
        && !video.signed[0]
        && video.signed[1] == video.signed[2]
    {
        // What compilers emit.
        let lane = match (video.signed[1], video.second == Second::Add) {
            (false, false) => lane3(int::vabsdiff4::<false, false>),
            (false, true) => lane3(int::vabsdiff4::<false, true>),
            (true, false) => lane3(int::vabsdiff4::<true, false>),
            (true, true) => lane3(int::vabsdiff4::<true, true>),
        };
        builder.lane(lane, &[d], &[a, b, c]);
        return Ok(());
    }
    let halves = mnemonic.ends_with('2');
    let (letter, all, defaults, count) =
        if halves { ('h', "h10", ["h10", "h32"], 2) } else { ('b', "b3210", ["b3210", "b7654"], 4) };
    let mask = digits(to.unwrap_or(all), letter, count)?.iter().fold(0, |mask, part| mask | 1 << part);
    let from = digits(from.unwrap_or(defaults[0]), letter, 2 * count)?;
    let other = digits(other.unwrap_or(defaults[1]), letter, 2 * count)?;
    if from.len() != count as usize || other.len() != count as usize {
        return Err(Refusal::new(format!("{count} parts are expected behind the dot")));
    }
    let control = builder.constant(Class::Wide, video.bits() | video::lanes(mask, &from, &other));
    let lane = if halves { lane4(video::simd::<16>) } else { lane4(video::simd::<8>) };
    builder.lane(lane, &[d], &[a, b, c, control]);
    Ok(())
}
