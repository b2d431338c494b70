//! "Data Movement and Conversion Instructions" between registers: `mov`, `prmt`, and addresses.

use cuda_ptx::{Literal, Operand as Text, Space, Type};

use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Refusal};
use super::super::decode::scope::class_of;
use super::super::exec::address;
use super::super::exec::alu::{Lane, lane1, lane2, lane3, lane4, mask1};
use super::super::exec::operand::Class;
use super::super::windows;
use super::{Form, Row, build, bulk, lane, pick};
use crate::numeric::bits::{self, Permute};

pub(super) const ROWS: &[Row] = &[
    lane("mov.pred", mask1(|a| a)),
    build("mov.{b8|u8|s8|b16|u16|s16|f16|bf16|b32|u32|s32|f32|f16x2|bf16x2|b64|u64|s64|f64}", mov),
    build("mov.b128", mov_quad),
    build("mov.{v2|v4}.{b32|u32|s32|f32|b64|u64|s64|f64}", mov_vector),
    lane("prmt.b32", lane3(bits::prmt)),
    pick("prmt.b32.{f4e|b4e|rc8|ecl|ecr|rc16}", |f| {
        macro_rules! permute {
            ($mode:ident) => {
                lane3(|a: u32, b: u32, c: u32| bits::prmt(a, b, Permute::$mode.control(c)))
            };
        }
        Some(match f.any(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"])? {
            "f4e" => permute!(Forward4),
            "b4e" => permute!(Backward4),
            "rc8" => permute!(Replicate8),
            "ecl" => permute!(EdgeClampLeft),
            "ecr" => permute!(EdgeClampRight),
            _ => permute!(Replicate16),
        })
    }),
    build("cvta.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}.{u32|u64}", cvta),
    build(
        "cvta.to.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}.{u32|u64}",
        cvta,
    ),
    build("isspacep.{global|const|shared|shared::cta|shared::cluster|local|param|param::entry}", isspacep),
    build("mapa[.shared::cluster].{u32|u64}", mapa),
    build("getctarank[.shared::cluster].{u32|u64}", getctarank),
];

/// `mov d, a`: also packs a vector into a register and unpacks one, and takes addresses of variables.
fn mov(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let class = class_of(form.ty());
    let (dest, source) = (builder.operand(0)?, builder.operand(1)?);
    let (to, from) = (builder.elements(dest)?, builder.elements(source)?);
    if to.len() == 1 && from.len() > 1 {
        return pack(builder, form.ty());
    }
    if to.len() > 1 && from.len() == 1 {
        return unpack(builder, form.ty());
    }
    if to.len() > 1 {
        return Err(Refusal::new("vectors on both sides are not supported"));
    }
    let source = builder.source(source, class)?;
    let dest = builder.dest(dest, class)?;
    let mut draft = Draft::new(copy(class)?.exec.pick(), &[dest], &[source]);
    draft.moves = true;
    builder.push(draft);
    Ok(())
}

/// `mov.v4.u32 v, {a, b, c, d}` and the like: all elements are read before the first is written.
fn mov_vector(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let (class, count) = (class_of(form.ty()), if form.has("v2") { 2 } else { 4 });
    let to = builder.elements(builder.operand(0)?)?;
    let from = match builder.operand(1)? {
        Text::Name(name) if of_axes(name).is_some() => of_axes(name).unwrap_or_default(),
        text => builder.elements(text)?,
    };
    if (to.len(), from.len()) != (count, count) {
        return Err(Refusal::new(format!("{count} elements on both sides are expected")));
    }
    let mut read = Vec::with_capacity(count);
    for element in &from {
        let (source, own) = (builder.source(element, class)?, builder.temporary(class)?);
        builder.lane(copy(class)?, &[own], &[source]);
        read.push(own);
    }
    for (element, own) in to.iter().zip(read) {
        let dest = builder.dest(element, class)?;
        builder.lane(copy(class)?, &[dest], &[own]);
    }
    Ok(())
}

/// `mov.b128 d, a`, of which one may be the parts of 64 or 32 bits of a register: all are read before the first is written.
fn mov_quad(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let mut from = builder.elements(builder.operand(1)?)?;
    if from.len() == 1 {
        // The upper half of a number or an address is zero.
        from.push(Text::Literal(Literal::Int(0)));
    }
    let mut halves = Vec::with_capacity(2);
    for half in from.chunks(from.len().div_ceil(2)) {
        let own = builder.temporary(Class::Wide)?;
        let (lane, class) = match half.len() {
            1 => (copy(Class::Wide)?, Class::Wide),
            _ => (lane2(|low: u32, high: u32| u64::from(low) | u64::from(high) << 32), Class::Word),
        };
        let sources = half.iter().map(|part| builder.source(part, class)).collect::<Result<Vec<_>, _>>()?;
        builder.lane(lane, &[own], &sources);
        halves.push(own);
    }
    let to = builder.elements(builder.operand(0)?)?;
    let parts: &[Lane] = match to.len() {
        2 => &[lane1(|a: u64| a)],
        4 => &[lane1(|a: u64| a as u32), lane1(|a: u64| (a >> 32) as u32)],
        _ => return Err(Refusal::new("a register of 128 bits or its two or four parts are expected")),
    };
    if halves.len() != 2 || !matches!(from.len(), 2 | 4) {
        return Err(Refusal::new("a register of 128 bits or its two or four parts are expected"));
    }
    for (index, text) in to.iter().enumerate() {
        let lane = parts[index % parts.len()];
        let dest = builder.dest(text, lane.dests[0])?;
        builder.lane(lane, &[dest], &[halves[index / parts.len()]]);
    }
    Ok(())
}

/// The elements of a special register that is a vector.
fn of_axes(name: &str) -> Option<Vec<Text<'static>>> {
    macro_rules! axes {
        ($($family:literal)*) => {
            match name {
                $($family => {
                    let axes = [
                        concat!($family, ".x"),
                        concat!($family, ".y"),
                        concat!($family, ".z"),
                        concat!($family, ".w"),
                    ];
                    Some(axes.map(Text::Name).to_vec())
                })*
                _ => None,
            }
        };
    }
    axes!("%tid" "%ntid" "%ctaid" "%nctaid" "%clusterid" "%nclusterid" "%cluster_ctaid" "%cluster_nctaid")
}

/// A copy of a register.
fn copy(class: Class) -> Result<Lane, Refusal> {
    Ok(match class {
        Class::Word => lane1(|a: u32| a),
        Class::Wide => lane1(|a: u64| a),
        Class::Predicate => mask1(|a| a),
        Class::Quad => return Err(Refusal::new("128-bit registers are not supported")),
    })
}

/// `mov.b32 d, {a, b}` and the like.
fn pack(builder: &mut Builder<'_, '_>, ty: Type) -> Result<(), Refusal> {
    let elements = builder.elements(builder.operand(1)?)?;
    let lane = match (ty.size(), elements.len()) {
        (2, 2) => lane2(|a: u32, b: u32| a & 0xff | b << 8),
        (4, 2) => lane2(|a: u32, b: u32| a & 0xffff | b << 16),
        (4, 4) => {
            lane4(|a: u32, b: u32, c: u32, d: u32| a & 0xff | (b & 0xff) << 8 | (c & 0xff) << 16 | d << 24)
        }
        (8, 2) => lane2(|a: u32, b: u32| u64::from(a) | u64::from(b) << 32),
        (8, 4) => lane4(|a: u16, b: u16, c: u16, d: u16| {
            u64::from(a) | u64::from(b) << 16 | u64::from(c) << 32 | u64::from(d) << 48
        }),
        _ => return Err(Refusal::new("no such vector")),
    };
    let mut sources = Vec::with_capacity(elements.len());
    for element in &elements {
        sources.push(builder.source(element, Class::Word)?);
    }
    let dest = builder.dest(builder.operand(0)?, lane.dests[0])?;
    builder.lane(lane, &[dest], &sources);
    Ok(())
}

/// `mov.b32 {a, b}, d` and the like: one instruction per element, all reading a copy, as elements may be the source.
fn unpack(builder: &mut Builder<'_, '_>, ty: Type) -> Result<(), Refusal> {
    let elements = builder.elements(builder.operand(0)?)?;
    let (class, lane) = match (ty.size(), elements.len()) {
        (2, 2) => (Class::Word, lane2(|a: u32, shift: u32| a >> shift & 0xff)),
        (4, 2) => (Class::Word, lane2(|a: u32, shift: u32| a >> shift & 0xffff)),
        (4, 4) => (Class::Word, lane2(|a: u32, shift: u32| a >> shift & 0xff)),
        (8, 2) => {
            // No element is the source, which has another width: no copy.
            let source = builder.source(builder.operand(1)?, Class::Wide)?;
            for (element, lane) in
                elements.iter().zip([lane1(|a: u64| a as u32), lane1(|a: u64| (a >> 32) as u32)])
            {
                let dest = builder.dest(element, Class::Word)?;
                builder.lane(lane, &[dest], &[source]);
            }
            return Ok(());
        }
        (8, 4) => (Class::Wide, lane2(|a: u64, shift: u32| (a >> shift) as u16)),
        _ => return Err(Refusal::new("no such vector")),
    };
    let original = builder.source(builder.operand(1)?, class)?;
    let source = builder.temporary(class)?;
    builder.lane(copy(class)?, &[source], &[original]);
    let bits = ty.size() as u64 * 8 / elements.len() as u64;
    for (index, element) in elements.iter().enumerate() {
        let shift = builder.constant(Class::Word, index as u64 * bits);
        let dest = builder.dest(element, Class::Word)?;
        builder.lane(lane, &[dest], &[source, shift]);
    }
    Ok(())
}

/// The space of a form.
fn space(form: &Form<'_>) -> Space {
    let name =
        form.any(&["const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"]);
    name.and_then(Space::from_name).unwrap_or(Space::Global)
}

/// `cvta{.to}.space.u64 d, a`: adds or takes away the start of the space's window.
fn cvta(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    if form.ty() == Type::U32 {
        return Err(Refusal::new("generic addresses have 64 bits"));
    }
    let window = windows::base(space(form));
    let delta = if form.has("to") { window.wrapping_neg() } else { window };
    let source = builder.source(builder.operand(1)?, Class::Wide)?;
    let dest = builder.dest(builder.operand(0)?, Class::Wide)?;
    let delta = builder.constant(Class::Wide, delta);
    builder.lane(lane2(u64::wrapping_add), &[dest], &[source, delta]);
    Ok(())
}

/// `isspacep.space p, a`
fn isspacep(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let source = bulk::number(builder, builder.operand(1)?)?;
    let dest = builder.dest(builder.operand(0)?, Class::Predicate)?;
    builder.whole(address::isspacep(form.first()), &[dest], &[source], 0);
    Ok(())
}

/// `mapa d, a, b`: the address `a` as block `b` of the cluster has it.
fn mapa(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(3)?;
    let class = class_of(form.ty());
    let rank = builder.source(builder.operand(2)?, Class::Word)?;
    let source = builder.source(builder.operand(1)?, class)?;
    let dest = builder.dest(builder.operand(0)?, class)?;
    let lane = match class {
        Class::Word => lane2(|a: u32, rank: u32| address::with_rank(u64::from(a), rank) as u32),
        _ => lane2(address::with_rank),
    };
    builder.lane(lane, &[dest], &[source, rank]);
    Ok(())
}

/// `getctarank d, a`: the block that a shared address belongs to.
fn getctarank(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let class = class_of(form.ty());
    let source = builder.source(builder.operand(1)?, class)?;
    let own = builder.source(&Text::Name("%cluster_ctarank"), Class::Word)?;
    let dest = builder.dest(builder.operand(0)?, Class::Word)?;
    let lane = match class {
        Class::Word => lane2(|a: u32, own: u32| address::rank(u64::from(a), own)),
        _ => lane2(address::rank),
    };
    builder.lane(lane, &[dest], &[source, own]);
    Ok(())
}
