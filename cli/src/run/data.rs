//! Numbers as text and as bytes, from files and to files.

use serde_json::json;
use std::path::Path;

use super::Arguments;
use super::argument::{Argument, Direction, Form, Source};
use super::global::Variable;
use super::launch::Outputs;
use super::npy;
use crate::failure::{Exit, Failure};
use crate::files;
use crate::scalar::Scalar;

/// Bytes that one argument may have.
const MOST: usize = 4 << 30;

/// An argument with its contents.
pub(crate) struct Input<'a> {
    pub(crate) argument: &'a Argument,
    /// The bytes of a value or of memory; zeros for an output.
    pub(crate) bytes: Vec<u8>,
}

impl<'a> Input<'a> {
    pub(super) fn load(argument: &'a Argument) -> Result<Self, Failure> {
        let usage = |message: String| Failure::usage(format!("argument `{}`: {message}", argument.text));
        let bytes = match &argument.form {
            Form::Raw(bytes) if bytes.is_empty() => {
                return Err(usage("a value needs at least one byte, as in hex:00ff".into()));
            }
            Form::Raw(bytes) => bytes.clone(),
            Form::Value { scalar, numbers } => parse_list(numbers, *scalar).map_err(usage)?,
            Form::Memory { scalar, source, .. } => contents(source, *scalar, usage)?,
        };
        Ok(Self { argument, bytes })
    }

    /// Elements, if it is memory.
    pub(super) fn elements(&self) -> Option<usize> {
        match self.argument.form {
            Form::Memory { scalar, .. } => Some(self.bytes.len() / scalar.size()),
            _ => None,
        }
    }

    /// Type and direction, if it is memory.
    pub(super) fn memory(&self) -> Option<(Direction, Scalar)> {
        match self.argument.form {
            Form::Memory { direction, scalar, .. } => Some((direction, scalar)),
            _ => None,
        }
    }
}

/// Numbers from the command line or a file; `wrong` creates the error with their origin.
pub(super) fn contents(
    source: &Source,
    scalar: Scalar,
    wrong: impl Fn(String) -> Failure,
) -> Result<Vec<u8>, Failure> {
    match source {
        Source::File(path) => read(path, scalar),
        Source::Text(text) => parse(text, scalar).map_err(wrong),
        Source::Count(count) => zeros(*count, scalar).map_err(wrong),
    }
}

/// Whether a file contains raw bytes without a type.
pub(super) fn is_raw(path: &Path) -> bool {
    !matches!(extension(path), "npy" | "txt")
}

fn length(count: usize, scalar: Scalar) -> Result<usize, String> {
    let bytes = count.checked_mul(scalar.size()).filter(|bytes| *bytes <= MOST);
    bytes.ok_or_else(|| {
        format!("{count} elements are over the limit of {MOST} bytes for one argument: pass fewer")
    })
}

fn zeros(count: usize, scalar: Scalar) -> Result<Vec<u8>, String> {
    let size = length(count, scalar)?;
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(size)
        .map_err(|_| format!("not enough memory for {count} elements: pass fewer"))?;
    bytes.resize(size, 0);
    Ok(bytes)
}

fn read(path: &Path, scalar: Scalar) -> Result<Vec<u8>, Failure> {
    let mut bytes = files::read(path, MOST as u64, "one argument")?;
    let damaged = |message: String| Failure {
        place: json!({ "file": path.display().to_string() }),
        ..Failure::new(Exit::File, format!("{}: {message}", path.display()))
    };
    match extension(path) {
        "npy" => {
            let elements = npy::elements(&bytes, scalar).map_err(damaged)?;
            bytes.truncate(elements.end);
            bytes.drain(..elements.start);
            Ok(bytes)
        }
        "txt" => {
            let text = String::from_utf8(bytes).map_err(|error| {
                let place = error.utf8_error().valid_up_to();
                damaged(format!("byte {place}: not text: give raw bytes another file extension than .txt"))
            })?;
            parse_list(&text, scalar).map_err(damaged)
        }
        _ if bytes.len().is_multiple_of(scalar.size()) => Ok(bytes),
        _ => Err(damaged(format!(
            "{} bytes are not a multiple of the size of {}: the file is truncated, or has another type",
            bytes.len(),
            scalar.word()
        ))),
    }
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// `1,2,3`, `0..8`, `1024*0.5`.
fn parse(text: &str, scalar: Scalar) -> Result<Vec<u8>, String> {
    if let Some((start, end)) = text.split_once("..") {
        let number = |text: &str| {
            text.trim().parse::<i64>().map_err(|_| format!("`{text}` is not an integer, such as 12 or -3"))
        };
        let (start, end) = (number(start)?, number(end)?);
        let count = usize::try_from(i128::from(end) - i128::from(start))
            .map_err(|_| format!("`{text}` is empty: START must be less than END"))?;
        length(count, scalar)?;
        let mut bytes = Vec::new();
        for number in start..end {
            bytes.extend(one(&number.to_string(), scalar)?);
        }
        return Ok(bytes);
    }
    if let Some((count, value)) = text.split_once('*') {
        let count = count.trim().parse().map_err(|_| format!("`{count}` is not a count, as in 1024*0.5"))?;
        length(count, scalar)?;
        return Ok(one(value, scalar)?.repeat(count));
    }
    parse_list(text, scalar)
}

/// Numbers with commas or white space between them; files may end with a comma.
fn parse_list(text: &str, scalar: Scalar) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut parts = text.split(',').peekable();
    while let Some(part) = parts.next() {
        let mut numbers = part.split_whitespace().peekable();
        if numbers.peek().is_none() && parts.peek().is_some() {
            return Err("expected a number before the comma, as in 1,2,3".into());
        }
        for number in numbers {
            bytes.extend(one(number, scalar)?);
            length(bytes.len() / scalar.size(), scalar)?;
        }
    }
    if bytes.is_empty() { Err("expected numbers, as in 1,2,3".into()) } else { Ok(bytes) }
}

/// One number, in little-endian bytes.
fn one(text: &str, scalar: Scalar) -> Result<Vec<u8>, String> {
    let text = text.trim();
    if let Scalar::F16 | Scalar::Bf16 | Scalar::F32 | Scalar::F64 = scalar {
        return float(text, scalar);
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let magnitude = match hexadecimal {
        Some(digits) => u128::from_str_radix(&digits.replace('_', ""), 16),
        None => digits.replace('_', "").parse::<u128>(),
    };
    let magnitude = magnitude.map_err(|_| format!("`{text}` is not an integer, such as 12, -3 or 0xff"))?;
    let bits = scalar.size() as u32 * 8;
    let signed = matches!(scalar, Scalar::I8 | Scalar::I16 | Scalar::I32 | Scalar::I64);
    // The magnitudes of the least and of the most.
    let (least, most) =
        if signed { (1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, u128::MAX >> (128 - bits)) };
    if magnitude > if negative { least } else { most } {
        let minus = if signed { "-" } else { "" };
        return Err(format!("{text} does not fit in {}, which is {minus}{least} to {most}", scalar.word()));
    }
    let number = if negative { magnitude.wrapping_neg() } else { magnitude };
    Ok(number.to_le_bytes()[..scalar.size()].to_vec())
}

/// A floating-point number. One that is too large for its type is not taken for an infinity.
fn float(text: &str, scalar: Scalar) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is not a number, such as 1, -2.5, 1e30 or inf");
    let wide = text.parse::<f64>().map_err(|_| wrong())?;
    // `f32` not through `f64`, which would round twice.
    let narrow = text.parse::<f32>().map_err(|_| wrong())?;
    let (half, brain) = (half::f16::from_f64(wide), half::bf16::from_f64(wide));
    let (bytes, is_infinite, most) = match scalar {
        Scalar::F16 => (half.to_le_bytes().to_vec(), half.is_infinite(), f64::from(half::f16::MAX)),
        Scalar::Bf16 => (brain.to_le_bytes().to_vec(), brain.is_infinite(), f64::from(half::bf16::MAX)),
        Scalar::F32 => (narrow.to_le_bytes().to_vec(), narrow.is_infinite(), f64::from(f32::MAX)),
        _ => (wide.to_le_bytes().to_vec(), wide.is_infinite(), f64::MAX),
    };
    if is_infinite && text.bytes().any(|byte| byte.is_ascii_digit()) {
        let name = scalar.word();
        return Err(format!(
            "{text} does not fit in {name}, which is -{most:e} to {most:e}: write inf for infinity"
        ));
    }
    Ok(bytes)
}

/// The elements as text, each as short as it can be and still be the same number.
pub(super) fn show(bytes: &[u8], scalar: Scalar) -> impl Iterator<Item = String> {
    bytes.chunks_exact(scalar.size()).map(move |element| {
        let mut wide = [0; 16];
        wide[..element.len()].copy_from_slice(element);
        let number = u128::from_le_bytes(wide);
        match scalar {
            Scalar::I8 => (number as i8).to_string(),
            Scalar::I16 => (number as i16).to_string(),
            Scalar::I32 => (number as i32).to_string(),
            Scalar::I64 => (number as i64).to_string(),
            Scalar::F16 => half::f16::from_bits(number as u16).to_string(),
            Scalar::Bf16 => half::bf16::from_bits(number as u16).to_string(),
            Scalar::F32 => short(f32::from_bits(number as u32)),
            Scalar::F64 => short(f64::from_bits(number as u64)),
            _ => number.to_string(),
        }
    })
}

/// Very large and very small numbers with an exponent.
fn short<T: std::fmt::Display + std::fmt::LowerExp>(number: T) -> String {
    let plain = number.to_string();
    if plain.len() > 16 { format!("{number:e}") } else { plain }
}

/// Writes the outputs that have a file.
pub(super) fn save(inputs: &[Input<'_>], variables: &[Variable], outputs: &Outputs) -> Result<(), Failure> {
    for (input, bytes) in inputs.iter().zip(&outputs.arguments) {
        if let Form::Memory { save: Some(path), scalar, .. } = &input.argument.form {
            files::write(path, &file(path, bytes, *scalar)?)?;
        }
    }
    for (variable, bytes) in variables.iter().zip(&outputs.variables) {
        if let Some(path) = &variable.save {
            files::write(path, &file(path, bytes, variable.scalar)?)?;
        }
    }
    Ok(())
}

/// The elements in the format determined by the file's name.
fn file(path: &Path, bytes: &[u8], scalar: Scalar) -> Result<Vec<u8>, Failure> {
    Ok(match extension(path) {
        "npy" => npy::write(bytes, scalar).map_err(Failure::usage)?,
        "txt" => show(bytes, scalar).map(|number| number + "\n").collect::<String>().into_bytes(),
        _ => bytes.to_vec(),
    })
}

/// Checks that the outputs can be saved, because a kernel may run for a long time before.
pub(super) fn try_to_save(arguments: &Arguments, variables: &[Variable]) -> Result<(), Failure> {
    let mut saved = Vec::new();
    for argument in &arguments.arguments {
        if let Form::Memory { save: Some(path), scalar, .. } = &argument.form {
            saved.push((format!("argument `{}`", argument.text), path.as_path(), *scalar));
        }
    }
    for variable in variables {
        if let Some(path) = &variable.save {
            saved.push((format!("global `{}`", variable.name), path.as_path(), variable.scalar));
        }
    }
    for (whose, path, scalar) in &saved {
        if extension(path) == "npy" {
            npy::can_hold(*scalar).map_err(|what| Failure::usage(format!("{whose}: {what}")))?;
        }
        arguments.keeps(path)?;
        files::try_to_write(path)?;
    }
    let outputs: Vec<_> = saved.iter().map(|(whose, path, _)| (whose.as_str(), *path)).collect();
    files::keep_apart(&outputs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_go_in_and_come_out() {
        let round =
            |text: &str, scalar| show(&parse(text, scalar).unwrap(), scalar).collect::<Vec<_>>().join(" ");
        assert_eq!(round("1,-2.5,inf,1e30", Scalar::F32), "1 -2.5 inf 1e30");
        assert_eq!(round("-1..2", Scalar::I8), "-1 0 1");
        assert_eq!(round("3*0x10", Scalar::U16), "16 16 16");
        assert_eq!(round("0.5,65504", Scalar::F16), "0.5 65504");
        assert_eq!(round("18446744073709551615", Scalar::U64), "18446744073709551615");
        assert_eq!(round("-128,127", Scalar::I8), "-128 127");
        assert_eq!(round(&u128::MAX.to_string(), Scalar::U128), u128::MAX.to_string());
        assert_eq!(round("-inf,nan,65519", Scalar::F16), "-inf NaN 65504");
        for (text, scalar) in [
            ("256", Scalar::U8),
            ("-1", Scalar::U32),
            ("", Scalar::F32),
            ("1.5", Scalar::I32),
            ("5..1", Scalar::I32),
            ("-129", Scalar::I8),
            ("128", Scalar::I8),
            ("-1", Scalar::U128),
            // Not infinity.
            ("65520", Scalar::F16),
            ("1e39", Scalar::Bf16),
            ("-1e39", Scalar::F32),
            ("1e309", Scalar::F64),
        ] {
            assert!(parse(text, scalar).is_err(), "{text}");
        }
        assert!(parse("99999999999999*1", Scalar::F64).is_err());
    }
}
