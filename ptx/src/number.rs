//! Numeric literals (PTX ISA, "Constants").

use crate::tree::Literal;

/// Why a text is not a number: the part of the message after the text.
pub(crate) type Mistake = &'static str;

const NOT_A_NUMBER: Mistake = " is not a number";
const TOO_LARGE: Mistake = " does not fit in 64 bits";

/// Reads a number as written, or says what is wrong with it.
///
/// Integers keep 64 bits: a value of 2^63 or more becomes the negative number of the same bits.
pub(crate) fn literal(text: &str) -> Result<(Literal, bool), Mistake> {
    let bytes = text.as_bytes();
    if let [b'0', b'f' | b'F', digits @ ..] = bytes {
        return bits(digits, 8, " is not a float: expected 8 hexadecimal digits")
            .map(|b| (Literal::F32(b as u32), false));
    }
    if let [b'0', b'd' | b'D', digits @ ..] = bytes {
        return bits(digits, 16, " is not a float: expected 16 hexadecimal digits")
            .map(|b| (Literal::F64(b), false));
    }
    let prefixed = matches!(bytes, [b'0', b'x' | b'X' | b'b' | b'B', ..]);
    if !prefixed && !text.ends_with(['u', 'U']) && is_decimal_float(text) {
        return decimal_float(text).map(|value| (value, false));
    }
    integer(text).map(|(value, unsigned)| (Literal::Int(value), unsigned))
}

/// An integer, and whether it is unsigned.
pub(crate) fn integer(text: &str) -> Result<(i64, bool), Mistake> {
    let (digits, suffix) = match text.strip_suffix(['u', 'U']) {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    let value = unsigned(digits, radix)?;
    Ok((value as i64, suffix || value > i64::MAX as u64))
}

fn bits(digits: &[u8], want: usize, mistake: Mistake) -> Result<u64, Mistake> {
    let hex = std::str::from_utf8(digits).ok().filter(|d| d.len() == want);
    hex.and_then(|d| unsigned(d, 16).ok()).ok_or(mistake)
}

/// As in ptxas, a number loses the bits beyond 64, and is refused if a digit follows when the value so far, without those bits, is 2^63 or
/// more. Not inlined, because that would make a copy of the loop for each radix.
#[inline(never)]
fn unsigned(digits: &str, radix: u32) -> Result<u64, Mistake> {
    let append = |value: u64, digit: char| {
        let digit = digit.to_digit(radix).ok_or(NOT_A_NUMBER)?;
        if value >= 1 << 63 {
            return Err(TOO_LARGE);
        }
        Ok(value.wrapping_mul(u64::from(radix)).wrapping_add(u64::from(digit)))
    };
    if digits.is_empty() { Err(NOT_A_NUMBER) } else { digits.chars().try_fold(0, append) }
}

fn is_decimal_float(text: &str) -> bool {
    text.contains(['.', 'e', 'E'])
}

/// A decimal float, rounded to the nearest of 64 bits.
fn decimal_float(text: &str) -> Result<Literal, Mistake> {
    let shaped = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    let value = text.parse::<f64>().ok().filter(|_| shaped).ok_or(NOT_A_NUMBER)?;
    let mut digits = text.bytes().take_while(|b| !matches!(b, b'e' | b'E'));
    match value.is_normal() || digits.all(|digit| matches!(digit, b'0' | b'.')) {
        true => Ok(Literal::F64(value.to_bits())),
        false => Err(" is not a normal number of 64 bits"),
    }
}
