//! Numeric literals (PTX ISA, "Constants").

use crate::tree::Literal;

/// Why a text is no number: what a message says behind it.
pub(crate) type Mistake = &'static str;

const NOT_A_NUMBER: Mistake = " is not a number";

/// Reads a float as written in decimal.
pub(crate) type Float = fn(&str) -> Result<Literal, Mistake>;

/// Reads a number as written, or says what is wrong with it.
///
/// Integers keep their 64 bits: a value of 2^63 or more becomes the negative number of the same bits.
pub(crate) fn literal(text: &str, float: Float) -> Result<(Literal, bool), Mistake> {
    let bytes = text.as_bytes();
    if let [b'0', b'f' | b'F', digits @ ..] = bytes {
        return bits(digits, 8, " is not a float: expected 8 hexadecimal digits")
            .map(|b| (Literal::F32(b as u32), false));
    }
    if let [b'0', b'd' | b'D', digits @ ..] = bytes {
        return bits(digits, 16, " is not a float: expected 16 hexadecimal digits")
            .map(|b| (Literal::F64(b), false));
    }
    let (digits, suffix) = match text.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        _ if !suffix && is_decimal_float(digits) => return float(text).map(|value| (value, false)),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let value = unsigned(digits, radix).map_err(|e| match e.kind() {
        std::num::IntErrorKind::PosOverflow => " does not fit in 64 bits",
        _ => NOT_A_NUMBER,
    })?;
    Ok((Literal::Int(value as i64), suffix || value > i64::MAX as u64))
}

fn bits(digits: &[u8], want: usize, mistake: Mistake) -> Result<u64, Mistake> {
    let hex = std::str::from_utf8(digits).ok().filter(|d| d.len() == want && !d.starts_with('+'));
    hex.and_then(|d| unsigned(d, 16).ok()).ok_or(mistake)
}

/// Not inlined, which would make one copy of the loop for each radix.
#[inline(never)]
fn unsigned(digits: &str, radix: u32) -> Result<u64, std::num::ParseIntError> {
    u64::from_str_radix(digits, radix)
}

fn is_decimal_float(text: &str) -> bool {
    text.contains(['.', 'e', 'E'])
}

/// A decimal float, rounded to the nearest of 64 bits.
pub(crate) fn decimal_float(text: &str) -> Result<Literal, Mistake> {
    let shaped = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    match text.parse::<f64>() {
        Ok(value) if shaped => Ok(Literal::F64(value.to_bits())),
        _ => Err(NOT_A_NUMBER),
    }
}

/// For readers to whom no float matters.
pub(crate) fn any_float(_text: &str) -> Result<Literal, Mistake> {
    Ok(Literal::F64(0))
}

/// The number with its sign changed; floats change their sign bit.
pub(crate) fn negate(literal: Literal) -> Literal {
    match literal {
        Literal::Int(v) => Literal::Int(v.wrapping_neg()),
        Literal::F32(b) => Literal::F32(b ^ (1 << 31)),
        Literal::F64(b) => Literal::F64(b ^ (1 << 63)),
    }
}
