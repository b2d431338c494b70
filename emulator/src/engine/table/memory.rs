//! "Data Movement and Conversion Instructions" that access memory: `ld`, `st`, prefetches, `cp.async`.

use cuda_ptx::{Operand as Text, Space, Type};

use super::super::code::{Matrix, NOTHING};
use super::super::decode::builder::Builder;
use super::super::decode::draft::{Draft, Operand, Refusal};
use super::super::decode::operands::Address;
use super::super::decode::scope::Symbol;
use super::super::exec::alu::{Lane, lane1, lane2, lane3};
use super::super::exec::atomics::ALIGNED;
use super::super::exec::atomics_quad::{LOAD_QUAD, STORE_QUAD};
use super::super::exec::memory::Access;
use super::super::exec::operand::Class;
use super::super::exec::{copy, indexed, load as loads, load_again, store as stores};
use super::super::watch::{Event, Group, Note, What};
use super::atomic::{dest_halves, source_halves};
use super::control::{event, wait_group};
use super::used_bytes::{self, UsedBytes};
use super::{Form, Row, build, bulk, lane};
use crate::numeric::compare;

/// The most elements that one instruction of the engine moves.
const AT_ONCE: usize = 4;

/// The element types of `ld` and `st`, as they stand in patterns.
macro_rules! with_types {
    ($start:literal) => {
        concat!(
            $start,
            "[.{v2|v4|v8}].{b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f16|bf16|f16x2|bf16x2|f32|f64}"
        )
    };
}

pub(super) const ROWS: &[Row] = &[
    build(
        with_types!(
            "ld[.weak][.{const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster}][.{ca|cg|cs|lu|cv}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}][.unified]"
        ),
        load,
    ),
    build(
        with_types!(
            "ld.global[.{ca|cg|cs}].nc[.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}]"
        ),
        load,
    ),
    build(with_types!("ld.volatile[.{global|local|shared|shared::cta|shared::cluster|const|param}]"), load),
    build(
        with_types!(
            "ld.{relaxed|acquire}.{cta|cluster|gpu|sys}[.{global|shared|shared::cta|shared::cluster}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}]"
        ),
        load,
    ),
    build(with_types!("ld.mmio[.{relaxed|acquire}].sys[.global]"), load),
    build(with_types!("ld.proxy::readonly[.global][.nc]"), load),
    build(with_types!("ldu[.global]"), load),
    build(
        with_types!(
            "st[.weak][.{global|local|param|param::func|shared|shared::cta|shared::cluster}][.{wb|cg|cs|wt}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}]"
        ),
        store,
    ),
    build(with_types!("st.volatile[.{global|local|shared|shared::cta|shared::cluster|param}]"), store),
    build(
        with_types!(
            "st.{relaxed|release}.{cta|cluster|gpu|sys}[.{global|shared|shared::cta|shared::cluster}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}]"
        ),
        store,
    ),
    build(with_types!("st.mmio[.{relaxed|release}].sys[.global]"), store),
    // Weak ones are done in two halves.
    build(
        "ld[.weak][.{const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster}][.{ca|cg|cs|lu|cv}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}][.unified].b128",
        load,
    ),
    build(
        "ld.global[.{ca|cg|cs}].nc[.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}].b128",
        load,
    ),
    build("ldu[.global].b128", load),
    build(
        "st[.weak][.{global|local|param|param::func|shared|shared::cta|shared::cluster}][.{wb|cg|cs|wt}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}].b128",
        store,
    ),
    // Those that other threads may meet are done at once.
    build(
        "ld.{relaxed|acquire}.{cta|cluster|gpu|sys}[.{global|shared|shared::cta|shared::cluster}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}][.{L2::64B|L2::128B|L2::256B}].b128",
        load_quad,
    ),
    build("ld.volatile[.{global|shared|shared::cta|shared::cluster}].b128", load_quad),
    build("ld.mmio.{relaxed|acquire}.sys[.global].b128", load_quad),
    build(
        "st.{relaxed|release}.{cta|cluster|gpu|sys}[.{global|shared|shared::cta|shared::cluster}][.{L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate}].b128",
        store_quad,
    ),
    build("st.volatile[.{global|shared|shared::cta|shared::cluster}].b128", store_quad),
    build("st.mmio.{relaxed|release}.sys[.global].b128", store_quad),
    build("prefetch[.{global|local}].{L1|L2|L2::evict_last|L2::evict_normal}", hint),
    build("prefetchu.L1", hint),
    build("prefetch[.global].valid_addr.L1::32B", hint),
    build(
        "createpolicy.{fractional|range}[.global].{L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged}[.{L2::evict_first|L2::evict_unchanged}].b64",
        policy,
    ),
    lane("createpolicy.cvt.L2.b64", lane1(|a: u64| a)),
    build("applypriority[.global].L2::evict_normal", hint),
    build("discard[.global].L2", hint),
    build("cp.async.{ca|cg}.{shared|shared::cta}.global[.{L2::64B|L2::128B|L2::256B}]", copy_async),
    build("cp.async.commit_group", |builder, _| event(builder, Event::Commit(Group::Copies))),
    build("cp.async.wait_group", |builder, _| wait_group(builder, Group::Copies)),
    build("cp.async.wait_all", |builder, _| event(builder, Event::WaitAll)),
];

/// A cache policy, which nothing here asks for: the number that CUDA's headers have for the first priority of all of a range.
fn policy(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    let value = match form.any(&["L2::evict_last", "L2::evict_normal", "L2::evict_first"]) {
        Some("L2::evict_last") => 0x14f0_0000_0000_0000,
        Some("L2::evict_first") => 0x12f0_0000_0000_0000,
        _ => 0x16f0_0000_0000_0000,
    };
    let dest = builder.dest(builder.operand(0)?, Class::Wide)?;
    let value = builder.constant(Class::Wide, value);
    builder.lane(lane1(|a: u64| a), &[dest], &[value]);
    Ok(())
}

/// The state space of a form; `None` is generic.
fn space(form: &Form<'_>) -> Option<Space> {
    let names = [
        "const",
        "global",
        "local",
        "param",
        "param::entry",
        "param::func",
        "shared",
        "shared::cta",
        "shared::cluster",
    ];
    form.any(&names).and_then(Space::from_name)
}

/// What the modifiers say about an access.
fn flags(form: &Form<'_>) -> u32 {
    let poll = form.any(&["volatile", "relaxed", "acquire", "mmio"]).map_or(0, |_| Access::POLL);
    let ordered = form.any(&["acquire", "release"]).map_or(0, |_| Access::ORDERED);
    poll | ordered | if form.has("cta") { Access::BLOCK } else { 0 }
}

/// A register of 128 bits is a vector of two of 64.
fn count(form: &Form<'_>) -> usize {
    match form.any(&["v2", "v4", "v8", "b128"]) {
        Some("v2" | "b128") => 2,
        Some("v4") => 4,
        Some(_) => 8,
        None => 1,
    }
}

/// The type of an element.
fn element(form: &Form<'_>) -> Type {
    match form.ty() {
        Type::B128 => Type::B64,
        ty => ty,
    }
}

pub(super) fn signed(ty: Type) -> bool {
    ty.name().starts_with('s')
}

/// What a memory operand names.
fn variable<'a>(text: &Text<'a>) -> Option<&'a str> {
    match text {
        Text::Address { base, .. } => match &**base {
            Text::Name(name) => Some(name),
            _ => None,
        },
        Text::Indexed(array, _) | Text::IndexedBy { array, .. } => Some(array),
        _ => None,
    }
}

/// The variable that an address names, if it is a parameter in rows of the frame, and the offset there.
fn row_parameter(builder: &Builder<'_, '_>, text: &Text<'_>) -> Option<(u32, u32, i64)> {
    let name = variable(text)?;
    let offset = match text {
        Text::Address { offset, .. } => *offset,
        Text::Indexed(_, index) => index.wrapping_mul(i64::from(builder.body.element_bytes(name).ok()?)),
        _ => return None,
    };
    match builder.body.symbol(name) {
        Ok(Symbol::Param { row, bytes }) => Some((row, bytes, offset)),
        _ => None,
    }
}

/// The elements of a vector operand, whose number the form says.
fn elements<'a>(builder: &Builder<'_, 'a>, index: usize, form: &Form<'_>) -> Result<Vec<Text<'a>>, Refusal> {
    let elements = builder.elements(builder.operand(index)?)?;
    match elements.len() == count(form) {
        true => Ok(elements),
        false => Err(Refusal::new(format!("{} elements expected, {} found", count(form), elements.len()))),
    }
}

/// The class of the registers that an access moves: all the same, at least as wide as the type.
fn register_class<'a>(builder: &Builder<'_, 'a>, elements: &[Text<'a>], ty: Type) -> Class {
    let narrow = if ty.size() == 8 { Class::Wide } else { Class::Word };
    elements.iter().find_map(|element| builder.class_of(element)).unwrap_or(narrow)
}

/// `ld`: an optional cache policy as last operand is a hint.
fn load(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let ty = element(form);
    let elements = elements(builder, 0, form)?;
    let text = builder.operand(1)?;
    if let Some(parameter) = row_parameter(builder, text) {
        return load_rows(builder, &elements, ty, parameter);
    }
    let class = register_class(builder, &elements, ty);
    let space = place_of(builder, text, form);
    let address = builder.address(text, space.is_none())?;
    let uniform = matches!(address.base, Operand::Constant(_)) && elements.len() == 1;
    let unsupported = || Refusal::new("a register of that width is not supported here");
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    // Loads that others may see are as they are written.
    if let Some(mask) = used_bytes::mask(builder, elements.len() * ty.size()).filter(|_| flags(form) == 0) {
        let private = note(form, What::Load, 1).is_none();
        let access = Access::new(1, space, narrow);
        let load = UsedBytes { address, access, ty, class, elements: &elements, private };
        return load.decode(builder, mask);
    }
    if elements.len() > AT_ONCE {
        let access = Access::new(AT_ONCE as u32, space, flags(form) | narrow);
        let exec = loads::load(ty.size(), signed(ty), class, access).ok_or_else(unsupported)?.pick();
        for (part, elements) in parts(builder, &address, access, ty, &elements)? {
            let dests = elements.iter().map(|element| builder.dest(element, class));
            let dests = dests.collect::<Result<Vec<_>, _>>()?;
            let mut draft = Draft::new(exec, &dests, &[part.base]);
            (draft.aux, draft.imm, draft.site) = (access.0, part.offset, true);
            draft.note = note(form, What::Load, dests.len());
            builder.push(draft);
        }
        return Ok(());
    }
    let access = Access::new(elements.len() as u32, space, flags(form) | narrow);
    let pair = if uniform {
        loads::load_uniform(ty.size(), signed(ty), class)
    } else {
        loads::load(ty.size(), signed(ty), class, access)
    };
    let exec = pair.ok_or_else(unsupported)?.pick();
    let mut dests = Vec::with_capacity(elements.len());
    for element in &elements {
        dests.push(builder.dest(element, class)?);
    }
    let mut draft = Draft::new(exec, &dests, &[address.base]);
    draft.aux = access.0;
    (draft.imm, draft.site) = (address.offset, true);
    draft.note = note(form, What::Load, dests.len());
    draft.again = load_again::again(ty.size(), class, access).filter(|_| !uniform);
    draft.indexed = indexed::indexed(ty.size(), class, access).filter(|_| !uniform);
    builder.push(draft);
    Ok(())
}

/// The space of an access: a parameter whose address was asked for is in local memory, and so is what a register addresses among the
/// parameters of a function.
fn place_of(builder: &Builder<'_, '_>, text: &Text<'_>, form: &Form<'_>) -> Option<Space> {
    let space = space(form);
    let Some(name) = variable(text) else { return space };
    if space != Some(Space::Param) {
        return space;
    }
    match builder.body.symbol(name) {
        Ok(Symbol::Local(_)) => Some(Space::Local),
        Ok(Symbol::Register { .. }) if builder.is_function() && !form.has("param::entry") => {
            Some(Space::Local)
        }
        _ => space,
    }
}

/// What the watch has to know. Parameters and local memory belong to one thread and are not watched.
fn note(form: &Form<'_>, what: What, elements: usize) -> Option<Note> {
    let private = matches!(space(form), Some(Space::Param | Space::Local));
    (!private).then(|| Note { what, address: elements, bytes: (elements * element(form).size()) as u64 })
}

/// `st`
fn store(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let ty = element(form);
    let elements = elements(builder, 1, form)?;
    let text = builder.operand(0)?;
    if let Some(parameter) = row_parameter(builder, text) {
        return store_rows(builder, &elements, ty, parameter);
    }
    if space(form) == Some(Space::Param) {
        return Err(Refusal::new("the parameters of a kernel are constant"));
    }
    let class = register_class(builder, &elements, ty);
    let address = builder.address(text, space(form).is_none())?;
    let unsupported = || Refusal::new("a register of that width is not supported here");
    let narrow = if address.narrow { Access::NARROW } else { 0 };
    let flags = flags(form) | narrow | Access::WRITE;
    if elements.len() > AT_ONCE {
        let access = Access::new(AT_ONCE as u32, space(form), flags);
        let exec = stores::store(ty.size(), class, access).ok_or_else(unsupported)?.pick();
        for (part, elements) in parts(builder, &address, access, ty, &elements)? {
            let sources = elements.iter().map(|element| builder.source(element, class));
            let mut sources = sources.collect::<Result<Vec<_>, _>>()?;
            sources.push(part.base);
            let mut draft = Draft::new(exec, &[], &sources);
            (draft.aux, draft.imm, draft.site) = (access.0, part.offset, true);
            draft.note = note(form, What::Store { wide: class == Class::Wide }, elements.len());
            builder.push(draft);
        }
        return Ok(());
    }
    let access = Access::new(elements.len() as u32, space(form), flags);
    let exec = stores::store(ty.size(), class, access).ok_or_else(unsupported)?.pick();
    let mut sources = Vec::with_capacity(elements.len() + 1);
    for element in &elements {
        sources.push(builder.source(element, class)?);
    }
    sources.push(address.base);
    let mut draft = Draft::new(exec, &[], &sources);
    draft.aux = access.0;
    (draft.imm, draft.site) = (address.offset, true);
    draft.note = note(form, What::Store { wide: class == Class::Wide }, elements.len());
    draft.indexed = indexed::indexed(ty.size(), class, access);
    builder.push(draft);
    Ok(())
}

/// A vector of more elements than are moved at once, in parts: the address of each and its elements. It is refused where it is not aligned.
#[allow(clippy::type_complexity)] // a list of pairs
fn parts<'a, 'e>(
    builder: &mut Builder<'_, 'a>,
    address: &Address,
    access: Access,
    ty: Type,
    elements: &'e [Text<'a>],
) -> Result<Vec<(Address, &'e [Text<'a>])>, Refusal> {
    let base = aligned_base(builder, address, access, elements.len() * ty.size())?;
    let part = |(index, elements): (usize, &'e [Text<'a>])| {
        let offset = address.offset.wrapping_add((index * AT_ONCE * ty.size()) as u64);
        (Address { base, offset, narrow: address.narrow }, elements)
    };
    Ok(elements.chunks(AT_ONCE).enumerate().map(part).collect())
}

/// A register of its own with the base of an address, which is refused where it is not aligned to `bytes`: it stays as it is until the last
/// part is accessed, whichever register is written.
pub(super) fn aligned_base(
    builder: &mut Builder<'_, '_>,
    address: &Address,
    access: Access,
    bytes: usize,
) -> Result<Operand, Refusal> {
    let mut check = Draft::new(ALIGNED, &[], &[address.base]);
    (check.imm, check.aux) = (address.offset, access.0 & 0xffff | (bytes as u32) << 16);
    builder.push(check);
    let (base, copy) = match address.narrow {
        true => (builder.temporary(Class::Word)?, lane1(|a: u32| a)),
        false => (builder.temporary(Class::Wide)?, lane1(|a: u64| a)),
    };
    builder.lane(copy, &[base], &[address.base]);
    Ok(base)
}

/// `ld.relaxed.gpu.b128 d, [a]` and the like.
fn load_quad(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let base = bulk::address(builder, builder.operand(1)?, space(form).is_none())?;
    let d = dest_halves(builder, 0)?;
    let mut draft = Draft::new(LOAD_QUAD, &[], &[base]);
    draft.aux = Access::new(1, space(form), flags(form) | Access::POLL).0;
    draft.note = Some(Note { what: What::Load, address: 0, bytes: 16 });
    (draft.site, draft.matrix) = (true, Some(Box::new(Matrix { d, ..Matrix::default() })));
    builder.push(draft);
    Ok(())
}

/// `st.relaxed.gpu.b128 [a], b` and the like.
fn store_quad(builder: &mut Builder<'_, '_>, form: &Form<'_>) -> Result<(), Refusal> {
    builder.expect_operands(2)?;
    let base = bulk::address(builder, builder.operand(0)?, space(form).is_none())?;
    let a = source_halves(builder, 1)?;
    let mut draft = Draft::new(STORE_QUAD, &[], &[base]);
    draft.aux = Access::new(1, space(form), flags(form) | Access::WRITE).0;
    // As an exchange whose old number nobody takes.
    draft.note =
        Some(Note { what: What::Atomic { reads: false, after_guess: false }, address: 0, bytes: 16 });
    (draft.site, draft.matrix) = (true, Some(Box::new(Matrix { a, ..Matrix::default() })));
    builder.push(draft);
    Ok(())
}

/// An element of a parameter that does not lie in whole words, from that bit of that row on.
fn store_bytes(
    builder: &mut Builder<'_, '_>,
    (row, bit): (u32, u32),
    source: Operand,
    (size, class): (usize, Class),
) -> Result<(), Refusal> {
    for byte in 0..size as u32 {
        let (shifted, at) = (builder.temporary(class)?, bit + 8 * byte);
        let by = builder.constant(Class::Word, u64::from(8 * byte));
        let shift = match class {
            Class::Wide => lane2(|a: u64, by: u32| a >> (by & 63)),
            _ => lane2(|a: u32, by: u32| a >> (by & 31)),
        };
        builder.lane(shift, &[shifted], &[source, by]);
        let (row, bit) = (Operand::Row(row + at / 32), builder.constant(Class::Word, u64::from(at % 32)));
        builder.lane(insert(1, class), &[row], &[shifted, row, bit]);
    }
    Ok(())
}

/// Where an element of a parameter lies: its row and its bit in the word. Compilers move parts of packed structures at any offset.
fn place(parameter: (u32, u32, i64), index: usize, size: usize) -> Result<(u32, u32), Refusal> {
    let (row, bytes, offset) = parameter;
    let offset = offset.saturating_add((index * size) as i64);
    let inside = offset >= 0 && offset.saturating_add(size as i64) <= i64::from(bytes);
    if !inside {
        return Err(Refusal::new(format!("offset {offset} does not lie in a parameter of {bytes} bytes")));
    }
    let offset = offset as u32;
    Ok((row + offset / 4, offset % 4 * 8))
}

/// `ld.param` of a parameter of a device function or the result of a call.
fn load_rows<'a>(
    builder: &mut Builder<'_, 'a>,
    elements: &[Text<'a>],
    ty: Type,
    parameter: (u32, u32, i64),
) -> Result<(), Refusal> {
    for (index, element) in elements.iter().enumerate() {
        let (mut row, mut shift) = place(parameter, index, ty.size())?;
        let class = register_class(builder, elements, ty);
        let dest = builder.dest(element, class)?;
        let mut rows = [Operand::Row(row), Operand::Row(row + 1)];
        if shift as usize + 8 * ty.size().min(4) > 32 {
            let bit = builder.constant(Class::Word, u64::from(shift));
            for half in rows.iter_mut().take(ty.size().div_ceil(4)) {
                let word = builder.temporary(Class::Word)?;
                let join = |low: u32, high: u32, bit: u32| {
                    ((u64::from(high) << 32 | u64::from(low)) >> (bit & 31)) as u32
                };
                builder.lane(lane3(join), &[word], &[Operand::Row(row), Operand::Row(row + 1), bit]);
                (*half, row, shift) = (word, row + 1, 0);
            }
        }
        if ty.size() == 8 {
            let join = lane2(|low: u32, high: u32| u64::from(low) | u64::from(high) << 32);
            builder.lane(join, &[dest], &rows);
            continue;
        }
        let shift = builder.constant(Class::Word, u64::from(shift));
        let lane = match (ty.size(), signed(ty), class) {
            (1, true, Class::Word) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as i8 as u32),
            (1, false, Class::Word) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as u8 as u32),
            (2, true, Class::Word) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as i16 as u32),
            (2, false, Class::Word) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as u16 as u32),
            (_, _, Class::Word) => lane2(|word: u32, _: u32| word),
            (1, true, _) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as i8 as u64),
            (1, false, _) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as u8 as u64),
            (2, true, _) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as i16 as u64),
            (2, false, _) => lane2(|word: u32, shift: u32| (word >> (shift & 31)) as u16 as u64),
            (_, true, _) => lane2(|word: u32, _: u32| word as i32 as u64),
            (_, false, _) => lane2(|word: u32, _: u32| u64::from(word)),
        };
        builder.lane(lane, &[dest], &[rows[0], shift]);
    }
    Ok(())
}

/// `st.param` of an argument of a call or the result of a device function.
fn store_rows<'a>(
    builder: &mut Builder<'_, 'a>,
    elements: &[Text<'a>],
    ty: Type,
    parameter: (u32, u32, i64),
) -> Result<(), Refusal> {
    for (index, element) in elements.iter().enumerate() {
        let (row, shift) = place(parameter, index, ty.size())?;
        let class = register_class(builder, elements, ty);
        let source = builder.source(element, class)?;
        if shift as usize + 8 * ty.size().min(4) > 32 {
            store_bytes(builder, (row, shift), source, (ty.size(), class))?;
            continue;
        }
        if ty.size() == 8 {
            let split = lane1(|a: u64| (a as u32, (a >> 32) as u32));
            builder.lane(split, &[Operand::Row(row), Operand::Row(row + 1)], &[source]);
            continue;
        }
        let lane = match (ty.size(), class) {
            (4, Class::Word) => lane1(|a: u32| a),
            (4, _) => lane1(|a: u64| a as u32),
            (size, class) => {
                let shift = builder.constant(Class::Word, u64::from(shift));
                let lane = insert(size, class);
                builder.lane(lane, &[Operand::Row(row)], &[source, Operand::Row(row), shift]);
                continue;
            }
        };
        builder.lane(lane, &[Operand::Row(row)], &[source]);
    }
    Ok(())
}

/// Puts one or two bytes into a word.
fn insert(size: usize, class: Class) -> Lane {
    match (size, class) {
        (1, Class::Word) => lane3(|a: u32, word: u32, shift: u32| put(word, a, 0xff, shift)),
        (1, _) => lane3(|a: u64, word: u32, shift: u32| put(word, a as u32, 0xff, shift)),
        (_, Class::Word) => lane3(|a: u32, word: u32, shift: u32| put(word, a, 0xffff, shift)),
        (_, _) => lane3(|a: u64, word: u32, shift: u32| put(word, a as u32, 0xffff, shift)),
    }
}

#[inline(always)]
fn put(word: u32, value: u32, mask: u32, shift: u32) -> u32 {
    word & !(mask << (shift & 31)) | (value & mask) << (shift & 31)
}

/// An instruction that changes nothing a program can see.
fn hint(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    builder.whole(NOTHING, &[], &[], 0);
    Ok(())
}

/// `cp.async.{ca,cg}.shared.global [dst], [src], size{, src-size}`
fn copy_async(builder: &mut Builder<'_, '_>, _: &Form<'_>) -> Result<(), Refusal> {
    let Text::Literal(cuda_ptx::Literal::Int(size @ (4 | 8 | 16))) = builder.operand(2)? else {
        return Err(Refusal::new("the size is 4, 8 or 16"));
    };
    let read = match builder.operands().get(3) {
        Some(text) if builder.class_of(text) == Some(Class::Predicate) => {
            // The source is ignored where it holds.
            let (ignored, read) = (builder.source(text, Class::Predicate)?, builder.temporary(Class::Word)?);
            let (none, all) = (builder.constant(Class::Word, 0), builder.constant(Class::Word, *size as u64));
            builder.push_helper(Draft::new(
                lane3(compare::selp::<u32>).exec.pick(),
                &[read],
                &[none, all, ignored],
            ));
            read
        }
        Some(text) => builder.source(text, Class::Word)?,
        None => builder.constant(Class::Word, *size as u64),
    };
    let mut sides = [Operand::None; 2];
    let mut narrow = [false; 2];
    for (index, side) in sides.iter_mut().enumerate() {
        let address = builder.address(builder.operand(index)?, false)?;
        let class = if address.narrow { Class::Word } else { Class::Wide };
        narrow[index] = address.narrow;
        *side = address.base;
        if address.offset != 0 {
            let offset = builder.constant(class, address.offset);
            let add = if address.narrow { lane2(u32::wrapping_add) } else { lane2(u64::wrapping_add) };
            *side = builder.temporary(class)?;
            builder.lane(add, &[*side], &[address.base, offset]);
            builder.keeps_address();
        }
    }
    let mut draft = Draft::new(copy::COPY, &[], &[sides[0], sides[1], read]);
    (draft.imm, draft.aux, draft.site) = (*size as u64, copy::sides(narrow[0], narrow[1]), true);
    draft.note = Some(Note { what: What::Copy, address: 0, bytes: *size as u64 });
    builder.push(draft);
    Ok(())
}
