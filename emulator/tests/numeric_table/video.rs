//! Video instructions: SIMD ones by the pseudocode of the ISA, scalar ones by what ptxas 13.0 makes of them for sm_90, in two words as
//! there. The names say what is computed.

use super::{Table, W};

/// What an instruction computes whose operands have these selectors, `""` for none: the destination's, and those of `a` and `b`.
fn model(name: &str, selectors: [&str; 3], [a, b, c]: [u32; 3]) -> u32 {
    let words: Vec<&str> = name.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let types: Vec<bool> =
        words[1..].iter().filter(|w| matches!(**w, "u32" | "s32")).map(|w| *w == "s32").collect();
    let set = words[0].starts_with("vset");
    let (d_signed, a_signed, b_signed) =
        if set { (false, types[0], types[1]) } else { (types[0], types[1], types[2]) };
    let (bits, count): (u32, usize) = match words[0].chars().last() {
        Some('2') => (16, 2),
        Some('4') => (8, 4),
        _ => (32, 1),
    };
    let limit = |value: i128, bits: u32| match (has("sat"), d_signed) {
        (false, _) => value,
        (true, true) => value.max(-(1 << (bits - 1))).min((1 << (bits - 1)) - 1),
        (true, false) => value.max(0).min((1 << bits) - 1),
    };
    if count == 1 {
        let (ta, tb) = (scalar_part(a, selectors[1], a_signed), scalar_part(b, selectors[2], b_signed));
        let d_signed = if set { types[0] } else { d_signed };
        return scalar(&words, d_signed, selectors[0], first(&words, ta, tb), c);
    }
    let parts: Vec<u32> =
        [a, b].iter().flat_map(|word| (0..count as u32).map(move |i| word >> (i * bits))).collect();
    let take = |selector: &str, index: usize, signed: bool| {
        let digit = selector.as_bytes()[count - index] - b'0';
        let value = i128::from(parts[digit as usize] & ((1 << bits) - 1));
        if signed && value >> (bits - 1) != 0 { value - (1 << bits) } else { value }
    };
    let default =
        |given: &str, other: &'static str| if given.is_empty() { other.to_owned() } else { given.to_owned() };
    let defaults = if count == 2 { ["h10", "h10", "h32"] } else { ["b3210", "b3210", "b7654"] };
    let [mask, from, other] = [0, 1, 2].map(|i| default(selectors[i], defaults[i]));
    let mut d = if has("add") { c } else { 0 };
    for i in 0..count {
        let t = limit(first(&words, take(&from, i, a_signed), take(&other, i, b_signed)), bits);
        let masked = mask.contains(char::from(b'0' + i as u8));
        if has("add") {
            d = d.wrapping_add(if masked { t as u32 } else { 0 });
        } else {
            let part = if masked { t as u32 } else { c >> (i as u32 * bits) };
            d |= (part & ((1 << bits) - 1)) << (i as u32 * bits);
        }
    }
    d
}

/// What becomes of a first result whose two words are `low` and `high`.
fn scalar(words: &[&str], d_signed: bool, to: &str, result: i128, c: u32) -> u32 {
    let has = |word: &str| words.contains(&word);
    let (mut low, mut high) = (result as u32, (result >> 32) as i32);
    let sign = |low: u32| low as i32 >> 31;
    let (shift, sum) = (words[0].starts_with("vsh"), matches!(words[0], "vadd" | "vsub"));
    if has("sat") && (to.is_empty() || shift) {
        if shift {
            high = [0, 1, -2, -1][(high & 3) as usize];
        }
        if d_signed && sign(low) != high {
            low = if high < 0 { 0x8000_0000 } else { 0x7fff_ffff };
        } else if !d_signed && high < 0 {
            (low, high) = (0, 0);
        } else if !d_signed && shift && high != 0 {
            low = u32::MAX;
        }
    } else if has("sat") {
        let most = [[0xff, 0x7f], [0xffff, 0x7fff]][usize::from(to.starts_with('h'))][usize::from(d_signed)];
        low = if high != 0 || low > most { most } else { low };
    }
    if sum || has("sat") && (shift || d_signed) {
        high = sign(low);
    }
    let third = if d_signed { sign(c) } else { 0 };
    let less = if d_signed { (high, low) < (third, c) } else { (high as u32, low) < (0, c) };
    let mut bytes = c.to_le_bytes();
    let source = low.to_le_bytes();
    match (words.last(), to) {
        _ if has("add") => return low.wrapping_add(c),
        (Some(&"min"), _) => return if less { low } else { c },
        (Some(&"max"), _) => return if less { c } else { low },
        (_, "") => return low,
        (_, "h0") => bytes[..2].copy_from_slice(&source[..2]),
        // Not the lower half.
        (_, "h1") => bytes[2..].copy_from_slice(&source[2..]),
        (_, byte) => bytes[byte[1..].parse::<usize>().unwrap()] = source[0],
    }
    u32::from_le_bytes(bytes)
}

fn scalar_part(word: u32, selector: &str, signed: bool) -> i128 {
    let bytes = word.to_le_bytes();
    match (selector, signed) {
        ("", false) => word.into(),
        ("", true) => (word as i32).into(),
        ("h0", false) => u16::from_le_bytes([bytes[0], bytes[1]]).into(),
        ("h0", true) => i16::from_le_bytes([bytes[0], bytes[1]]).into(),
        ("h1", false) => u16::from_le_bytes([bytes[2], bytes[3]]).into(),
        ("h1", true) => i16::from_le_bytes([bytes[2], bytes[3]]).into(),
        (byte, signed) => {
            let byte = bytes[byte[1..].parse::<usize>().unwrap()];
            if signed { (byte as i8).into() } else { byte.into() }
        }
    }
}

fn first(words: &[&str], a: i128, b: i128) -> i128 {
    let shift = if words.contains(&"wrap") { b & 31 } else { b.min(32) };
    match words[0].trim_end_matches(['2', '4']) {
        "vadd" => a + b,
        "vsub" => a - b,
        "vabsdiff" => {
            if a > b {
                a - b
            } else {
                b - a
            }
        }
        "vmin" => {
            if a < b {
                a
            } else {
                b
            }
        }
        "vmax" => {
            if a > b {
                a
            } else {
                b
            }
        }
        "vavrg" => {
            if a + b >= 0 {
                (a + b + 1).div_euclid(2)
            } else {
                (a + b).div_euclid(2)
            }
        }
        "vshl" => a * (1i128 << shift),
        "vshr" => a.div_euclid(1i128 << shift),
        _ => {
            i128::from(match words.iter().find(|w| matches!(**w, "eq" | "ne" | "lt" | "le" | "gt" | "ge")) {
                Some(&"eq") => a == b,
                Some(&"ne") => a != b,
                Some(&"lt") => a < b,
                Some(&"le") => a <= b,
                Some(&"gt") => a > b,
                _ => a >= b,
            })
        }
    }
}

/// `vmad` with signs before its operands.
fn mad(name: &str, [asel, bsel]: [&str; 2], minus: [bool; 3], [a, b, c]: [u32; 3]) -> u32 {
    let words: Vec<&str> = name.split('.').collect();
    let has = |word: &str| words.contains(&word);
    let (a_signed, b_signed) = (words[2] == "s32", words[3] == "s32");
    let negated = minus[0] != minus[1];
    let signed = a_signed || b_signed || negated || minus[2];
    let factor = |word, part, signed| i128::from(scalar_part(word, part, signed) as i32);
    let product = factor(a, asel, a_signed) * factor(b, bsel, b_signed);
    let extended = |c: u32| i128::from(c as i32);
    let sum = match (has("po"), negated, minus[2]) {
        (true, ..) => product + extended(c) + 1,
        (_, true, _) => extended(c) - product,
        (.., true) => product - extended(c),
        _ => product + extended(c),
    };
    let sum = if signed { sum } else { sum & i128::from(u64::MAX) };
    let scaled = sum >> if has("shr7") { 7 } else { 15 * u32::from(has("shr15")) };
    match (has("sat"), signed) {
        (false, _) => scaled as u32,
        (true, true) => scaled.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
        (true, false) => (scaled as i64).clamp(0, u32::MAX.into()) as u32,
    }
}

fn row(t: &mut Table, name: String, selectors: [&'static str; 3], third: bool) {
    let dotted = |selector: &str| if selector.is_empty() { String::new() } else { format!(".{selector}") };
    let [d, a, b] = selectors.map(dotted);
    let third = third || !d.is_empty();
    let ptx = format!("{name} {{d}}{d}, {{a}}{a}, {{b}}{b}{};", if third { ", {c}" } else { "" });
    let inputs = &[W, W, W][..if third { 3 } else { 2 }];
    // Where part of the destination is written, the rest of `{d}` comes from `{c}`.
    let ours =
        move |a: u64, b: u64, c: u64| u64::from(model(&name, selectors, [a as u32, b as u32, c as u32]));
    t.row(ptx, inputs, W, Box::new(ours));
}

/// All operations and types; of selectors and what follows, each with some of them.
pub fn table(t: &mut Table) {
    const TYPES: [&str; 2] = ["u32", "s32"];
    const PARTS: [&str; 7] = ["", "b0", "b1", "b2", "b3", "h0", "h1"];
    let mut turn = 0;
    let mut next = |count: usize| {
        turn += 1;
        turn * 5 / 3 % count
    };
    for op in
        ["vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl.clamp", "vshl.wrap", "vshr.clamp", "vshr.wrap"]
    {
        let (op, mode) =
            op.split_once('.').map_or((op, String::new()), |(op, mode)| (op, format!(".{mode}")));
        for types in 0..8 {
            let [d, a, b] = [4, 2, 1].map(|bit| TYPES[usize::from(types & bit != 0)]);
            if !mode.is_empty() && b == "s32" {
                continue;
            }
            for sat in ["", ".sat"] {
                let name = format!("{op}.{d}.{a}.{b}{sat}{mode}");
                row(t, name.clone(), ["", "", ""], false);
                row(t, name.clone(), ["", PARTS[1 + next(6)], PARTS[next(7)]], false);
                for to in PARTS {
                    row(t, name.clone(), [to, PARTS[next(7)], ["", PARTS[next(7)]][next(2)]], true);
                }
                for second in ["add", "min", "max"] {
                    row(t, format!("{name}.{second}"), ["", "", ""], true);
                    row(t, format!("{name}.{second}"), ["", PARTS[next(7)], ""], true);
                }
            }
        }
    }
    for (index, cmp) in ["eq", "ne", "lt", "le", "gt", "ge"].into_iter().enumerate() {
        for types in 0..4 {
            let name = format!("{}.{}.{cmp}", TYPES[types / 2], TYPES[types % 2]);
            let scalar = format!("vset.{name}");
            row(t, scalar.clone(), ["", PARTS[next(7)], PARTS[next(7)]], false);
            row(t, scalar.clone(), ["", "", ""], false);
            row(t, scalar.clone(), [PARTS[1 + next(6)], "", PARTS[next(7)]], true);
            for second in ["add", "min", "max"] {
                row(t, format!("{scalar}.{second}"), ["", "", PARTS[next(7)]], true);
            }
            row(t, format!("vset2.{name}"), [["", "h0", "h1"][index % 3], "", "h03"], true);
            row(t, format!("vset2.{name}.add"), ["", "h21", ""], true);
            row(t, format!("vset4.{name}"), [["", "b20", "b3"][index % 3], "", "b1357"], true);
            row(t, format!("vset4.{name}.add"), ["", "b0246", ""], true);
        }
    }
    for op in ["vadd", "vsub", "vavrg", "vabsdiff", "vmin", "vmax"] {
        for types in 0..8 {
            let name = [4, 2, 1].map(|bit| TYPES[usize::from(types & bit != 0)]).join(".");
            for (end, index) in [("", 0), (".sat", 1), (".add", 2)] {
                row(
                    t,
                    format!("{op}2.{name}{end}"),
                    [["", "h0", "h10"][index], "", ["h32", "h10", ""][index]],
                    true,
                );
                row(t, format!("{op}2.{name}{end}"), [["h1", "", ""][index], "h20", "h13"], true);
                row(t, format!("{op}4.{name}{end}"), [["", "b310", "b2"][index], "", ""], true);
                row(t, format!("{op}4.{name}{end}"), ["", "b7041", "b3265"], true);
            }
        }
    }
    for types in 0..8 {
        let types = [4, 2, 1].map(|bit| TYPES[usize::from(types & bit != 0)]).join(".");
        for end in ["", ".sat", ".shr7", ".shr15", ".sat.shr7", ".sat.shr15"] {
            for (signs, po) in
                [("   ", ""), ("-  ", ""), (" - ", ""), ("  -", ""), ("-- ", ""), ("   ", ".po")]
            {
                let minus: Vec<bool> = signs.chars().map(|sign| sign == '-').collect();
                let minus = [minus[0], minus[1], minus[2]];
                let name = format!("vmad.{types}{po}{end}");
                let parts = [PARTS[next(7)], ["", PARTS[next(7)]][next(2)]];
                let [a, b] =
                    parts.map(|part| if part.is_empty() { String::new() } else { format!(".{part}") });
                let [x, y, z] = minus.map(|minus| if minus { "-" } else { "" });
                let ptx = format!("{name} {{d}}, {x}{{a}}{a}, {y}{{b}}{b}, {z}{{c}};");
                let ours = move |a: u64, b: u64, c: u64| {
                    u64::from(mad(&name, parts, minus, [a as u32, b as u32, c as u32]))
                };
                t.row(ptx, &[W, W, W], W, Box::new(ours));
            }
        }
    }
}
