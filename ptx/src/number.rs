//! Numeric literals (PTX ISA, "Constants").

use crate::tree::Literal;

/// Reads a float as written in decimal.
pub(crate) type Float = fn(&str) -> Result<Literal, String>;

/// Reads a number as written, or says what is wrong with it.
///
/// Integers keep their 64 bits: a value of 2^63 or more becomes the negative number of the same bits.
pub(crate) fn literal(text: &str, float: Float) -> Result<(Literal, bool), String> {
    let bytes = text.as_bytes();
    if let [b'0', b'f' | b'F', digits @ ..] = bytes {
        return bits(text, digits, 8).map(|b| (Literal::F32(b as u32), false));
    }
    if let [b'0', b'd' | b'D', digits @ ..] = bytes {
        return bits(text, digits, 16).map(|b| (Literal::F64(b), false));
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
    let value = u64::from_str_radix(digits, radix).map_err(|e| match e.kind() {
        std::num::IntErrorKind::PosOverflow => format!("`{}` does not fit in 64 bits", shorten(text)),
        _ => format!("`{}` is not a number", shorten(text)),
    })?;
    Ok((Literal::Int(value as i64), suffix || value > i64::MAX as u64))
}

fn bits(text: &str, digits: &[u8], want: usize) -> Result<u64, String> {
    let hex = std::str::from_utf8(digits).ok().filter(|d| d.len() == want && !d.starts_with('+'));
    hex.and_then(|d| u64::from_str_radix(d, 16).ok())
        .ok_or_else(|| format!("`{}` is not a float: expected {want} hexadecimal digits", shorten(text)))
}

fn is_decimal_float(text: &str) -> bool {
    text.contains(['.', 'e', 'E'])
}

/// A decimal float, rounded to the nearest of 64 bits.
pub(crate) fn decimal_float(text: &str) -> Result<Literal, String> {
    let shaped = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    match text.parse::<f64>() {
        Ok(value) if shaped => Ok(Literal::F64(value.to_bits())),
        _ => Err(format!("`{}` is not a number", shorten(text))),
    }
}

/// For readers to whom no float matters.
pub(crate) fn any_float(_text: &str) -> Result<Literal, String> {
    Ok(Literal::F64(0))
}

/// A token for a message: never more than a few words of it.
pub(crate) fn shorten(text: &str) -> &str {
    match text.char_indices().nth(48) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The number with its sign changed; floats change their sign bit.
pub(crate) fn negate(literal: Literal) -> Literal {
    match literal {
        Literal::Int(v) => Literal::Int(v.wrapping_neg()),
        Literal::F32(b) => Literal::F32(b ^ (1 << 31)),
        Literal::F64(b) => Literal::F64(b ^ (1 << 63)),
    }
}
