//! Operands: the registers of A, B and C in all lanes, and the metadata of a sparse A.

use super::form::{Elem, Form, Kind};
use crate::numeric_support::Random;

/// How many ways there are to choose operands.
pub const MODES: usize = 8;

/// What each of them is.
pub const NAMES: [&str; MODES] = [
    "random bits",
    "near exponents",
    "a few infinities, NaN, subnormals",
    "subnormal results",
    "results near the largest",
    "exponents far apart",
    "many infinities, NaN, subnormals",
    "cancellation",
];

/// The mode whose products cancel.
const CANCELLING: usize = 7;

/// How the elements of one operand are chosen.
#[derive(Clone, Copy)]
struct Choice {
    /// The exponent, biased, in the middle.
    center: i64,
    /// How many exponents there are.
    window: u64,
    /// Of 256, how many are zero.
    zeros: u64,
    /// Of 256, how many are special.
    specials: u64,
    /// How the fraction is chosen.
    fraction: u64,
    /// All bits at random.
    raw: bool,
}

/// The range of unbiased exponents of normal numbers.
fn range(elem: Elem) -> Option<(i64, i64)> {
    let layout = elem.float()?;
    let bias = (1 << (layout.exponent - 1)) - 1;
    Some((1 - bias, if elem == Elem::E4m3 { 8 } else { bias }))
}

/// A number between two, both included; the lower one if they are the wrong way round.
fn between(random: &mut Random, low: i64, high: i64) -> i64 {
    low + random.below((high - low).max(0) as u64 + 1) as i64
}

/// How A, B and C are chosen.
fn choices(form: &Form, mode: usize, random: &mut Random) -> [Choice; 3] {
    let [a, b, c, _] = form.types;
    let mut choice = Choice {
        center: 0,
        window: [0, 1, 2, 4, 8, 16, 32, 64][random.below(8) as usize],
        zeros: [0, 0, 16, 64][random.below(4) as usize],
        specials: 0,
        fraction: random.below(6),
        raw: mode == 0,
    };
    let (Some(ra), Some(rb), Some(rc)) = (range(a), range(b), range(c)) else {
        choice.fraction = mode as u64;
        return [choice; 3];
    };
    match mode {
        2 => choice.specials = 3,
        5 => (choice.zeros, choice.window) = (192, choice.window * 4),
        6 => choice.specials = 96,
        7 => choice.window = random.below(3),
        _ => {}
    }
    let fraction = c.float().unwrap().fraction as i64;
    let (low, high) = (ra.0 + rb.0, ra.1 + rb.1);
    // The exponent of the products.
    let product = match mode {
        3 => between(random, rc.0 - fraction - 14, rc.0 + 12),
        4 => between(random, rc.1 - 6, rc.1 + 4),
        _ => between(random, (rc.0 - fraction).max(low), rc.1.min(high)),
    };
    let product = product.clamp(low, high);
    let ea = between(random, (product - rb.1).max(ra.0), (product - rb.0).min(ra.1));
    let eb = product - ea;
    let ec = (product + between(random, -30, 30)).clamp(rc.0 - 3, rc.1);
    let at = |unbiased: i64, low: i64| Choice { center: unbiased - low + 1, ..choice };
    let mut result = [at(ea, ra.0), at(eb, rb.0), at(ec, rc.0)];
    if random.below(4) == 0 {
        result[2].zeros = 256;
    }
    result
}

/// One element.
fn element(elem: Elem, choice: &Choice, random: &mut Random) -> u64 {
    let mask = u64::MAX >> (64 - elem.bits());
    let Some(layout) = elem.float().filter(|_| !choice.raw) else {
        let ends = [mask >> 1, (mask >> 1) + 1, mask, 0, 1];
        return match choice.fraction % 3 {
            0 => ends[random.below(5) as usize] & mask,
            1 => random.u64() & mask,
            // Near the ends of an accumulator.
            _ if elem == Elem::S32 => (ends[random.below(2) as usize] ^ random.below(1 << 16)) & mask,
            _ => ends[random.below(2) as usize] & mask,
        };
    };
    let sign = random.u64() & layout.sign();
    if random.below(256) < choice.zeros {
        return sign;
    }
    if random.below(256) < choice.specials {
        let specials = layout.specials();
        return specials[random.below(specials.len() as u64) as usize] & mask;
    }
    let offset = random.below(choice.window + 1) as i64 - choice.window as i64 / 2;
    let last = (1 << layout.exponent) - if elem == Elem::E4m3 { 1 } else { 2 };
    let exponent = (choice.center + offset).clamp(0, last) as u64;
    let ones = (1u64 << layout.fraction) - 1;
    let fraction = match choice.fraction {
        0 => random.u64() & random.u64() & random.u64(),
        1 => random.u64() | random.u64() | random.u64(),
        2 => [0, ones, 1, ones - 1][random.below(4) as usize],
        _ => random.u64(),
    } & ones;
    let value = sign | exponent << layout.fraction | fraction;
    // The NaN of `.e4m3` stands where others have numbers.
    if elem == Elem::E4m3 && value & 0x7f == 0x7f { value - 1 } else { value }
}

/// The registers of one operand, first all lanes of the first register.
fn operand(
    form: &Form,
    elem: Elem,
    registers: usize,
    choice: &Choice,
    pair: bool,
    random: &mut Random,
) -> Vec<u64> {
    let (bits, width) = (elem.bits(), 8 * form.width());
    let mut values = vec![0u64; registers * 32];
    for lane in 0..32 {
        let mut before = [0u64; 2];
        for index in 0..registers * width / bits {
            let mut value = element(elem, choice, random);
            if pair && index % 4 >= 2 && elem.float().is_some() {
                // Of four, the last two nearly cancel the first.
                let flipped = before[index % 2] ^ 1 << (bits - 1);
                value = if random.below(4) == 0 { flipped ^ 1 } else { flipped };
            }
            before[index % 2] = value;
            values[index * bits / width * 32 + lane] |= value << (index * bits % width);
        }
    }
    values
}

/// Metadata of so many lanes that says which elements of A there are.
pub fn metadata(form: &Form, lanes: usize, random: &mut Random) -> Vec<u64> {
    let codes: &[u64] =
        if form.types[0] == Elem::Tf32 { &[0x4, 0xe] } else { &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe] };
    let mut word = || (0..8).fold(0, |word, _| word << 4 | codes[random.below(codes.len() as u64) as usize]);
    (0..lanes).map(|_| word()).collect()
}

/// Registers of an instance in memory: A, B, C and, if there is one, the metadata.
pub fn inputs(form: &Form) -> usize {
    let [a, b, c, _] = form.registers();
    a + b + c + usize::from(matches!(form.kind, Kind::Sparse(_)))
}

/// A by rows, B by columns and C by rows, without layouts; a sparse A is what it has.
pub fn matrices(form: &Form, mode: usize, random: &mut Random) -> [Vec<u32>; 3] {
    let [ca, cb, cc] = choices(form, mode, random);
    let sparse = matches!(form.kind, Kind::Sparse(_));
    let columns = if sparse { form.k / 2 } else { form.k };
    let mut matrix = |elem, choice: &Choice, count| -> Vec<u64> {
        (0..count).map(|_| element(elem, choice, random)).collect()
    };
    let mut a = matrix(form.types[0], &ca, form.m * columns);
    let mut b = matrix(form.types[1], &cb, form.n * form.k);
    let c = matrix(form.types[2], &cc, form.m * form.n);
    if mode == CANCELLING && form.types[0].float().is_some() {
        // Of four, the last two nearly cancel the first, in columns of B that have the same factors for them.
        let sign = 1 << (form.types[0].bits() - 1);
        for four in a.chunks_exact_mut(4) {
            four[2] = four[0] ^ sign;
            four[3] = four[1] ^ sign ^ u64::from(random.below(4) == 3);
        }
        let same = if sparse { 8 } else { 4 };
        for column in b.chunks_exact_mut(form.k).step_by(2) {
            column.chunks_exact_mut(same).for_each(|factors| factors.fill(factors[0]));
        }
    }
    [a, b, c].map(|matrix| matrix.into_iter().map(|value| value as u32).collect())
}

/// The registers of `count` instances.
pub fn operands(form: &Form, seed: u64, count: usize) -> Vec<u64> {
    let hash = form.name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let mut random = Random::new(hash);
    let [a, b, c, _] = form.registers();
    let mut all = Vec::with_capacity(count * inputs(form) * 32);
    for instance in 0..count {
        let mode = instance % MODES;
        let [ca, cb, cc] = choices(form, mode, &mut random);
        all.extend(operand(form, form.types[0], a, &ca, mode == CANCELLING, &mut random));
        all.extend(operand(form, form.types[1], b, &cb, false, &mut random));
        all.extend(operand(form, form.types[2], c, &cc, false, &mut random));
        if matches!(form.kind, Kind::Sparse(_)) {
            all.extend(metadata(form, 32, &mut random));
        }
    }
    all
}
