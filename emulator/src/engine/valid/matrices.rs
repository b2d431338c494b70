//! Whether the vectors of matrix instructions have as many registers as their shapes and types ask for, of those that ptxas 13.0 takes.

use cuda_ptx::{Literal, Operand, Space, Type};

use super::addresses::{Width, address};
use super::forms::Role;
use super::matrix_vectors::{Takes, VectorOperand, no_doubles, no_predicates, vector};
use super::names::Names;
use super::operands::{fits, predicate, register, source, wrong_type};
use super::vectors::{Access, counted};

/// Types of elements, and their bits.
const ELEMENTS: &[(&str, usize)] = &[
    ("f64", 64),
    ("f32", 32),
    ("s32", 32),
    ("tf32", 32),
    ("f16", 16),
    ("bf16", 16),
    ("e4m3", 8),
    ("e5m2", 8),
    ("s8", 8),
    ("u8", 8),
    ("s4", 4),
    ("u4", 4),
    ("b1", 1),
];

/// Rows of A, columns of B, and columns of A.
struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

impl Shape {
    fn of(name: &str) -> Option<Shape> {
        let numbers = |part: &str| {
            let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
            let (n, k) = rest.split_once('k')?;
            Some(Shape { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
        };
        name.split('.').find_map(numbers)
    }
}

/// Checks the operands of a matrix instruction whose name has a form.
pub(super) fn check(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let mut parts = name.split('.');
    let (mnemonic, second) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    match (mnemonic, second) {
        ("mma", _) => product(name, operands, names),
        ("wmma", "mma") => {
            expect(operands, 4)?;
            if let [_, (a, _), (b, _), _] = types(name).as_slice()
                && a != b
            {
                return Err("A and B of `wmma` have the same type".to_owned());
            }
            all(names, operands, &sides(name, true))
        }
        ("wmma", "load") => move_matrix(name, operands, names, (0, 1)),
        ("wmma", "store") => move_matrix(name, operands, names, (1, 0)),
        ("wgmma", "mma_async") => group(name, operands, names),
        ("ldmatrix", _) => rows(name, operands, names, (0, 1)),
        ("stmatrix", _) => rows(name, operands, names, (1, 0)),
        ("movmatrix", _) => {
            expect(operands, 2)?;
            operands.iter().enumerate().try_for_each(|(at, operand)| single(names, at, operand))
        }
        _ => Ok(()),
    }
}

fn expect(operands: &[Operand<'_>], count: usize) -> Result<(), String> {
    match operands.len() {
        found if found == count => Ok(()),
        found => Err(format!("{} expected, {found} found", counted(count, "operand"))),
    }
}

/// The types of a name, in order.
fn types(name: &str) -> Vec<(&'static str, usize)> {
    let known = |part: &str| ELEMENTS.iter().find(|(ty, _)| *ty == part).copied();
    name.split('.').filter_map(known).collect()
}

/// The vectors of D, A, B and C; none where the name does not tell.
fn sides(name: &str, of_wmma: bool) -> Vec<VectorOperand> {
    let Some(Shape { m, n, k }) = Shape::of(name) else { return Vec::new() };
    let (d, a, b, c) = match types(name).as_slice() {
        [d, a, b, c] => (*d, *a, *b, *c),
        // `wmma` of halves names the sums alone.
        [d, c] if of_wmma => (*d, ("f16", 16), ("f16", 16), *c),
        _ => return Vec::new(),
    };
    let vector = |(ty, bits): (&'static str, usize), elements: usize| {
        let count = elements * bits / (32 * bits.clamp(32, 64));
        VectorOperand { count, takes: takes(ty, of_wmma) }
    };
    if !of_wmma && is_quads(m, k, a.0) {
        let sum =
            |(ty, bits): (&'static str, usize)| VectorOperand { count: bits / 4, takes: takes(ty, false) };
        let factor = VectorOperand { count: 2, takes: takes(a.0, false) };
        return vec![sum(d), factor, factor, sum(c)];
    }
    let halves = of_wmma && a.0 == "f16";
    let kept = if is_sparse(name) { 2 } else { 1 };
    let factor = |ty, elements| match halves {
        true => VectorOperand { count: 8, takes: takes("f16", true) },
        false => vector(ty, elements),
    };
    let mut sides = vec![vector(d, m * n), factor(a, m * k / kept), factor(b, k * n), vector(c, m * n)];
    // Alone, a register is not one of bits of whatever type.
    for side in sides.iter_mut().filter(|side| side.count == 1 && matches!(a.0, "s8" | "u8")) {
        side.takes = Takes::Integers;
    }
    sides
}

/// What registers with elements of that type may be.
fn takes(ty: &str, of_wmma: bool) -> Takes {
    match ty {
        "f64" => Takes::Bytes(8),
        "f32" => Takes::Itself(Type::F32),
        "f16" => Takes::Itself(Type::F16x2),
        "s32" => Takes::Integers,
        "bf16" | "tf32" => Takes::Bits,
        "s8" | "u8" if of_wmma => Takes::Integers,
        _ => Takes::Bytes(4),
    }
}

fn all(names: &Names<'_>, operands: &[Operand<'_>], wanted: &[VectorOperand]) -> Result<(), String> {
    let mut pairs = operands.iter().zip(wanted).enumerate();
    pairs.try_for_each(|(at, (operand, wanted))| {
        let access = if at == 0 { Access::Written } else { Access::Read };
        vector(names, at, operand, (*wanted, access))
    })
}

/// Whether a product has a sparse A.
fn is_sparse(name: &str) -> bool {
    name.split('.').any(|part| matches!(part, "sp" | "sp::ordered_metadata"))
}

/// `mma d, a, b, c`, of a sparse A `metadata, selector`, and with `.block_scale` two pairs of `scale, {byte, thread}`.
fn product(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let scales = if name.contains(".block_scale") { 4 } else { 0 };
    let sparse = if is_sparse(name) { 2 } else { 0 };
    expect(operands, 4 + sparse + scales)?;
    sums(name)?;
    all(names, operands, &sides(name, false))?;
    one_by_one(name, operands, names)?;
    match operands {
        [_, _, _, _, metadata, selector, ..] if sparse > 0 => {
            single(names, 4, metadata)?;
            constant(5, selector, &[0, 1, 2, 3])
        }
        _ => Ok(()),
    }
}

/// Whether each quarter of a warp has matrices of its own.
fn is_quads(m: usize, k: usize, a: &str) -> bool {
    (m, k, a) == (8, 4, "f16")
}

/// What each element of the vectors may be. `sm_90` lacks some forms, of which ptxas makes calls, which take no predicates; to the products of
/// floats of 8 bits it adds C in additions of their own, which take singles.
fn one_by_one(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let types = types(name);
    let (Some(Shape { m, k, .. }), [(d, _), (a, _), ..]) = (Shape::of(name), types.as_slice()) else {
        return Ok(());
    };
    let sources = || operands.iter().enumerate().take(4).skip(1);
    let emulated = matches!(*a, "e4m3" | "e5m2" | "s4" | "u4") || name.contains(".xor.popc");
    if emulated || is_quads(m, k, a) {
        sources().try_for_each(|(at, operand)| no_predicates(names, at, operand))?;
    }
    if *d != "f32" || !matches!(*a, "e4m3" | "e5m2") {
        return Ok(());
    }
    sources().take(2).try_for_each(|(at, operand)| no_doubles(at, operand))?;
    let is_single = |part: &Operand<'_>| match register(names, part) {
        Some(ty) => fits(Type::F32, ty, false),
        None => matches!(part, Operand::Literal(Literal::F32(_) | Literal::F64(_))),
    };
    let sums = [0, 3].into_iter().filter_map(|at| Some((at, operands.get(at)?)));
    sums.into_iter().try_for_each(|(at, operand)| match operand {
        Operand::Vector(list) if !list.iter().all(is_single) => {
            Err(format!("operand {}: registers of type .f32 are expected", at + 1))
        }
        _ => Ok(()),
    })
}

/// Whether the types of C and D go together.
fn sums(name: &str) -> Result<(), String> {
    let types = types(name);
    let (Some(Shape { m, k, .. }), [(d, _), (a, _), _, (c, _)]) = (Shape::of(name), types.as_slice()) else {
        return Ok(());
    };
    let quads = is_quads(m, k, a);
    match (*d, *c) {
        ("f16", "f32") if quads => Err("if C is `.f32`, so is D".to_owned()),
        (d, c) if d != c && !quads => Err("C and D of this shape have the same type".to_owned()),
        _ => Ok(()),
    }
}

/// `wmma.load r, [p]{, stride}` and `wmma.store [p], r{, stride}`, with the places of the two.
fn move_matrix(
    name: &str,
    operands: &[Operand<'_>],
    names: &Names<'_>,
    (at, place): (usize, usize),
) -> Result<(), String> {
    if !matches!(operands.len(), 2 | 3) {
        return Err(format!("2 to 3 operands expected, {} found", operands.len()));
    }
    bracketed(name, names, operands, place)?;
    if let Some(stride) = operands.get(2) {
        if register(names, stride) == Some(Type::F16x2) {
            return Err(format!("operand 3: {}", wrong_type(stride, Type::F16x2, "an integer")));
        }
        source(names, stride, Type::U32, false, false).map_err(|message| format!("operand 3: {message}"))?;
    }
    let types = types(name);
    let (Some(Shape { m, n, k }), [(ty, bits)]) = (Shape::of(name), types.as_slice()) else {
        return Ok(());
    };
    let side = name.split('.').nth(2);
    let elements = match side {
        Some("a") => m * k,
        Some("b") => k * n,
        _ => m * n,
    };
    let halves = *ty == "f16" && matches!(side, Some("a" | "b"));
    let count = if halves { 8 } else { elements * bits / (32 * bits.clamp(&32, &64)) };
    match operands.get(at) {
        Some(operand) => {
            no_predicates(names, at, operand)?;
            no_doubles(at, operand)?;
            let elements = VectorOperand { count, takes: takes(ty, true) };
            vector(names, at, operand, (elements, moved(place)))
        }
        None => Ok(()),
    }
}

/// `wgmma.mma_async d, a, b-descriptor, {metadata, selector,} scale-d{, imm-scale-a, imm-scale-b{, {imm-trans-a,} imm-trans-b}}`
fn group(name: &str, operands: &[Operand<'_>], names: &Names<'_>) -> Result<(), String> {
    let types = types(name);
    let (Some(Shape { n, .. }), [(d, bits), (a, _), ..]) = (Shape::of(name), types.as_slice()) else {
        return Ok(());
    };
    let sparse = name.contains(".sp.");
    let in_registers = matches!(operands.get(1), Some(Operand::Vector(_)));
    let transposes = if matches!(*a, "f16" | "bf16") { 2 - usize::from(in_registers) } else { 0 };
    let scales = if *d == "s32" { 0 } else { 2 };
    let before = if sparse { 5 } else { 3 };
    expect(operands, before + 1 + scales + transposes)?;
    let of_group = |ty: &str| match ty {
        "e4m3" | "e5m2" => Takes::Bits,
        ty => takes(ty, false),
    };
    for (at, operand) in operands.iter().enumerate() {
        let wrong = |message: String| format!("operand {}: {message}", at + 1);
        match at {
            0 => {
                let sums = VectorOperand { count: n * bits / 64, takes: of_group(d) };
                // Sums are added to.
                vector(names, at, operand, (sums, Access::Read))?;
                vector(names, at, operand, (sums, Access::Written))?;
            }
            1 if in_registers => {
                let factors = VectorOperand { count: 4, takes: of_group(a) };
                vector(names, at, operand, (factors, Access::Read))?;
            }
            1 | 2 => source(names, operand, Type::U64, false, false).map_err(wrong)?,
            3 if sparse => single(names, at, operand)?,
            4 if sparse => constant(at, operand, &[0, 1])?,
            at if at == before && matches!(operand, Operand::Literal(_)) => constant(at, operand, &[0, 1])?,
            at if at == before => predicate(names, operand, Role::Predicate).map_err(wrong)?,
            at if at <= before + scales => constant(at, operand, &[-1, 1])?,
            _ => constant(at, operand, &[0, 1])?,
        }
    }
    Ok(())
}

/// `ldmatrix r, [p]` and `stmatrix [p], r`, with the places of the two.
fn rows(
    name: &str,
    operands: &[Operand<'_>],
    names: &Names<'_>,
    (at, place): (usize, usize),
) -> Result<(), String> {
    expect(operands, 2)?;
    bracketed(name, names, operands, place)?;
    let matrices = name.split('.').find_map(|part| part.strip_prefix('x')?.parse::<usize>().ok());
    let registers = if name.contains(".m16n16.") { 2 } else { 1 };
    match (operands.get(at), matrices) {
        (Some(operand), Some(matrices)) => {
            let count = registers * matrices;
            vector(names, at, operand, (VectorOperand { count, takes: Takes::Bytes(4) }, moved(place)))
        }
        _ => Ok(()),
    }
}

/// What becomes of the registers: those in front of the address are loaded.
fn moved(place: usize) -> Access {
    if place == 0 { Access::Read } else { Access::Written }
}

/// The address of a matrix or of rows, in the space that the name says.
fn bracketed(name: &str, names: &Names<'_>, operands: &[Operand<'_>], at: usize) -> Result<(), String> {
    let missing = || format!("operand {}: an address in brackets is expected", at + 1);
    let operand = operands.get(at).ok_or_else(missing)?;
    let space = name.split('.').find_map(|part| match Space::from_name(part)? {
        space @ (Space::Global | Space::Shared) => Some(space),
        _ => None,
    });
    let width = if space.is_some() && !name.starts_with("wmma") { Width::Two } else { Width::Four };
    address(names, operand, space, width).map_err(|message| format!("operand {}: {message}", at + 1))
}

/// A register of 32 bits, of whatever type.
fn single(names: &Names<'_>, at: usize, operand: &Operand<'_>) -> Result<(), String> {
    match register(names, operand) {
        // ptxas counts a predicate among these.
        Some(ty) if ty.size() == 4 || ty == Type::Pred => Ok(()),
        _ => Err(format!("operand {}: a register of 32 bits is expected", at + 1)),
    }
}

fn constant(at: usize, operand: &Operand<'_>, possible: &[i64]) -> Result<(), String> {
    match operand {
        Operand::Literal(Literal::Int(number)) if possible.contains(number) => Ok(()),
        _ => Err(format!("operand {}: one of {possible:?} is expected", at + 1)),
    }
}
