//! `printf` and `assert` of device code.

use super::exec::lanes::Lanes;
use super::exec::memory::fetch;
use super::fault::FaultKind;

/// Longest string that is read from device memory.
const LONGEST: usize = 1 << 16;

/// `vprintf`: formats and prints; the number of arguments. `None` after a fault.
pub(super) fn printf(lanes: &mut Lanes<'_>, lane: usize, format: u64, values: u64) -> Option<u32> {
    let format = text(lanes, lane, format)?;
    let mut arguments = Arguments { address: values, count: 0 };
    let mut output = Vec::with_capacity(format.len() + 16);
    let mut rest = format.as_slice();
    while let Some(percent) = rest.iter().position(|byte| *byte == b'%') {
        output.extend_from_slice(&rest[..percent]);
        rest = directive(&rest[percent..], &mut arguments, lanes, lane, &mut output)?;
    }
    output.extend_from_slice(rest);
    lanes.env.launch.printer.print(&output);
    Some(arguments.count)
}

/// `__assertfail`: the message of CUDA's `assert`, as a fault.
pub(super) fn assert_fail(
    lanes: &mut Lanes<'_>,
    lane: usize,
    message: u64,
    file: u64,
    line: u32,
    function: u64,
) {
    let Some([message, file, function]) = texts(lanes, lane, [message, file, function]) else { return };
    let message = format!("{file}:{line}: {function}: assertion `{message}` failed");
    lanes.fail(FaultKind::Assert, lane as u32, None, message);
}

fn texts(lanes: &mut Lanes<'_>, lane: usize, addresses: [u64; 3]) -> Option<[String; 3]> {
    let mut read = |address| Some(String::from_utf8_lossy(&text(lanes, lane, address)?).into_owned());
    Some([read(addresses[0])?, read(addresses[1])?, read(addresses[2])?])
}

/// The string at a generic address. `None` after a fault.
fn text(lanes: &mut Lanes<'_>, lane: usize, address: u64) -> Option<Vec<u8>> {
    let bytes = fetch(lanes, lane, address, LONGEST, true);
    lanes.trouble.is_none().then_some(bytes)
}

/// The arguments behind the format: each at the next multiple of its size.
struct Arguments {
    address: u64,
    count: u32,
}

impl Arguments {
    /// The next argument of 4 or 8 bytes. `None` after a fault.
    fn next(&mut self, lanes: &mut Lanes<'_>, lane: usize, bytes: usize) -> Option<u64> {
        let address = self.address.next_multiple_of(bytes as u64);
        let read = fetch(lanes, lane, address, bytes, false);
        self.address = address.wrapping_add(bytes as u64);
        self.count += 1;
        let mut value = [0; 8];
        value.get_mut(..bytes)?.copy_from_slice(read.get(..bytes)?);
        Some(u64::from_le_bytes(value))
    }
}

/// Flags, width and precision of a directive.
#[derive(Debug, Default)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
}

/// Prints one `%` directive, which `rest` starts with; what follows it. `None` after a fault.
fn directive<'f>(
    rest: &'f [u8],
    arguments: &mut Arguments,
    lanes: &mut Lanes<'_>,
    lane: usize,
    output: &mut Vec<u8>,
) -> Option<&'f [u8]> {
    let mut at = 1;
    let mut spec = Spec::default();
    let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
    loop {
        match byte(at) {
            b'-' => spec.left = true,
            b'0' => spec.zero = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.alternate = true,
            _ => break,
        }
        at += 1;
    }
    if byte(at) == b'*' {
        let width = arguments.next(lanes, lane, 4)? as i32;
        spec.left |= width < 0;
        spec.width = width.unsigned_abs() as usize;
        at += 1;
    } else {
        spec.width = number(rest, &mut at);
    }
    if byte(at) == b'.' {
        at += 1;
        if byte(at) == b'*' {
            spec.precision = usize::try_from(arguments.next(lanes, lane, 4)? as i32).ok();
            at += 1;
        } else {
            spec.precision = Some(number(rest, &mut at));
        }
    }
    let length = at;
    while matches!(byte(at), b'h' | b'l' | b'j' | b'z' | b't' | b'L') {
        at += 1;
    }
    let wide = rest[length..at].iter().any(|byte| matches!(byte, b'l' | b'j' | b'z' | b't'));
    let halves = rest[length..at].iter().filter(|byte| **byte == b'h').count();
    // Widths from the device are bounded: a wild one must not take the host's memory.
    (spec.width, spec.precision) =
        (spec.width.min(LONGEST), spec.precision.map(|digits| digits.min(LONGEST)));
    let conversion = byte(at);
    let tail = rest.get(at + 1..).unwrap_or(&[]);
    match conversion {
        b'%' => output.push(b'%'),
        b'd' | b'i' => {
            let bits = arguments.next(lanes, lane, if wide { 8 } else { 4 })?;
            let value = if wide { bits as i64 } else { i64::from(bits as i32) };
            let value = [value, i64::from(value as i16), i64::from(value as i8)][halves.min(2)];
            output.extend_from_slice(&spec.signed(value));
        }
        b'u' | b'x' | b'X' | b'o' => {
            let bits = arguments.next(lanes, lane, if wide { 8 } else { 4 })?;
            let value = [bits, u64::from(bits as u16), u64::from(bits as u8)][halves.min(2)];
            output.extend_from_slice(&spec.unsigned(value, conversion));
        }
        b'c' => {
            let value = arguments.next(lanes, lane, 4)? as u8;
            output.extend_from_slice(&spec.pad(vec![value], false));
        }
        b's' => {
            let address = arguments.next(lanes, lane, 8)?;
            let mut string = if address == 0 { b"(null)".to_vec() } else { text(lanes, lane, address)? };
            string.truncate(spec.precision.unwrap_or(usize::MAX));
            output.extend_from_slice(&spec.pad(string, false));
        }
        b'p' => {
            let value = arguments.next(lanes, lane, 8)?;
            output.extend_from_slice(&spec.pad(format!("0x{value:x}").into_bytes(), false));
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(arguments.next(lanes, lane, 8)?);
            output.extend_from_slice(&spec.float(value, conversion));
        }
        // Not a directive: printed as it stands.
        _ => output.extend_from_slice(&rest[..at.min(rest.len())]),
    }
    Some(if matches!(conversion, 0) { &[] } else { tail })
}

fn number(text: &[u8], at: &mut usize) -> usize {
    let mut value = 0usize;
    while let Some(digit @ b'0'..=b'9') = text.get(*at) {
        value = value.saturating_mul(10).saturating_add(usize::from(digit - b'0'));
        *at += 1;
    }
    value
}

impl Spec {
    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    /// Pads to the width: with zeros behind the sign and prefix where `zeros` and the flag allow it.
    fn pad(&self, text: Vec<u8>, zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(text.len());
        let fill = |byte: u8| std::iter::repeat_n(byte, missing);
        if self.left {
            return text.into_iter().chain(fill(b' ')).collect();
        }
        if !(zeros && self.zero) {
            return fill(b' ').chain(text).collect();
        }
        let prefix = text.iter().take_while(|byte| matches!(byte, b'-' | b'+' | b' ')).count();
        let radix =
            if text[prefix..].starts_with(b"0x") || text[prefix..].starts_with(b"0X") { 2 } else { 0 };
        let (head, digits) = text.split_at(prefix + radix);
        head.iter().copied().chain(fill(b'0')).chain(digits.iter().copied()).collect()
    }

    /// Digits with at least as many as the precision says.
    fn digits(&self, digits: String) -> String {
        match self.precision {
            Some(0) if digits == "0" => String::new(),
            Some(precision) => format!("{digits:0>precision$}"),
            None => digits,
        }
    }

    fn signed(&self, value: i64) -> Vec<u8> {
        let text = format!("{}{}", self.sign(value < 0), self.digits(value.unsigned_abs().to_string()));
        self.pad(text.into_bytes(), self.precision.is_none())
    }

    fn unsigned(&self, value: u64, conversion: u8) -> Vec<u8> {
        let (digits, prefix) = match conversion {
            b'x' => (format!("{value:x}"), "0x"),
            b'X' => (format!("{value:X}"), "0X"),
            b'o' => (format!("{value:o}"), "0"),
            _ => (value.to_string(), ""),
        };
        let prefix = if self.alternate && value != 0 { prefix } else { "" };
        self.pad(format!("{prefix}{}", self.digits(digits)).into_bytes(), self.precision.is_none())
    }

    fn float(&self, value: f64, conversion: u8) -> Vec<u8> {
        let upper = conversion.is_ascii_uppercase();
        let sign = self.sign(value.is_sign_negative() && !value.is_nan());
        let magnitude = value.abs();
        let body = match conversion.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'e' => exponential(magnitude, self.precision.unwrap_or(6), self.alternate),
            b'g' => self.general(magnitude),
            b'a' => hexadecimal(magnitude, self.precision),
            _ => {
                let dot = if self.alternate && self.precision == Some(0) { "." } else { "" };
                format!("{magnitude:.*}{dot}", self.precision.unwrap_or(6))
            }
        };
        let body = if upper { body.to_uppercase() } else { body };
        self.pad(format!("{sign}{body}").into_bytes(), value.is_finite())
    }

    /// `%g`: the shorter of the two notations, without trailing zeros.
    fn general(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6).max(1);
        let scientific = exponential(value, precision - 1, self.alternate);
        let exponent: i32 = scientific.rsplit('e').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let trim = |text: &str| match (self.alternate, text.contains('.')) {
            (false, true) => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            _ => text.to_owned(),
        };
        if exponent < -4 || exponent >= precision as i32 {
            let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
            return format!("{}e{exponent}", trim(mantissa));
        }
        trim(&format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize))
    }
}

/// `%e`: at least two digits in the exponent.
fn exponential(value: f64, precision: usize, alternate: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let dot = if alternate && precision == 0 { "." } else { "" };
    format!("{mantissa}{dot}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%a`
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let (exponent, mut fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let mut lead = u64::from(exponent != 0);
    let exponent = match (exponent, fraction) {
        (0, 0) => 0,
        (0, _) => -1022,
        (exponent, _) => exponent - 1023,
    };
    if let Some(digits @ 0..13) = precision {
        // Round to nearest even at the last digit that is kept.
        let shift = 52 - 4 * digits as u32;
        let whole = lead << 52 | fraction;
        let half = 1 << (shift - 1);
        let rounded = (whole + half - 1 + (whole >> shift & 1)) >> shift << shift;
        (lead, fraction) = (rounded >> 52, rounded & ((1 << 52) - 1));
    }
    let digits = format!("{fraction:013x}");
    let digits = match precision {
        Some(precision) => format!("{digits:0<precision$}")[..precision].to_owned(),
        None => digits.trim_end_matches('0').to_owned(),
    };
    let dot = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{dot}{digits}p{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}
