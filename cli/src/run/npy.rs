//! Files of numpy (NEP 1): a header as text, then the elements.
//!
//! Anything other than one array of plain little-endian elements in row-major order is refused, because it would be read as wrong
//! numbers.

use std::ops::Range;

use crate::scalar::Scalar;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Bytes of the longest header that is read; that of a plain array has 118.
const MAX_HEADER: usize = 64 << 10;

/// Names of little-endian types.
const TYPES: &[(Scalar, &str)] = &[
    (Scalar::U8, "|u1"),
    (Scalar::I8, "|i1"),
    (Scalar::U16, "<u2"),
    (Scalar::I16, "<i2"),
    (Scalar::U32, "<u4"),
    (Scalar::I32, "<i4"),
    (Scalar::U64, "<u8"),
    (Scalar::I64, "<i8"),
    (Scalar::F16, "<f2"),
    (Scalar::F32, "<f4"),
    (Scalar::F64, "<f8"),
];

fn name(scalar: Scalar) -> Option<&'static str> {
    TYPES.iter().find(|(own, _)| *own == scalar).map(|(_, name)| *name)
}

/// The position of the elements of a file, which must have this type. The shape does not matter.
pub(super) fn elements(bytes: &[u8], scalar: Scalar) -> Result<Range<usize>, String> {
    let (words, start) = words(bytes)?;
    let header = Header::read(words).map_err(|what| format!("the header `{}` {what}", words.trim_end()))?;
    header.check_type(scalar)?;
    header.check_order()?;
    let size = header.size(scalar)?;
    let there = bytes.len() - start;
    if there < size {
        return Err(format!(
            "byte {}: the file ends here, but its shape {} needs {size} bytes of data, {} more; save it again",
            bytes.len(),
            header.shape,
            size - there
        ));
    }
    if there > size {
        return Err(format!(
            "byte {}: {} bytes follow the data of its shape {}; save each array in a file of its own",
            start + size,
            there - size,
            header.shape
        ));
    }
    Ok(start..bytes.len())
}

/// The text of the header, and its end.
fn words(bytes: &[u8]) -> Result<(&str, usize), String> {
    let cut = || format!("byte {}: the header is truncated; save the array again", bytes.len());
    let rest = bytes.strip_prefix(MAGIC).ok_or("byte 0: not a .npy file; write it with numpy.save")?;
    let [major, minor, rest @ ..] = rest else { return Err(cut()) };
    let (length, start) = match (major, minor, rest) {
        (1, 0, [a, b, ..]) => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        (2 | 3, 0, [a, b, c, d, ..]) => {
            (usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX), 12)
        }
        (1..=3, 0, _) => return Err(cut()),
        _ => {
            return Err(format!(
                "byte 6: unknown version {major}.{minor} of the format; 1.0, 2.0 and 3.0 are supported: save it with numpy.save"
            ));
        }
    };
    if length > MAX_HEADER {
        return Err(format!("byte 8: a header of {length} bytes, over the limit of {MAX_HEADER}"));
    }
    let header = bytes.get(start..start + length).ok_or_else(cut)?;
    // Only names of fields need more than ASCII, and fields are refused.
    let header = std::str::from_utf8(header).map_err(|_| format!("byte {start}: the header is not text"))?;
    Ok((header, start + length))
}

/// The entries of the header, as text.
#[derive(Debug, PartialEq, Eq)]
struct Header<'h> {
    descr: &'h str,
    fortran_order: &'h str,
    shape: &'h str,
    extents: Vec<usize>,
}

impl<'h> Header<'h> {
    /// Parses a Python literal, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`: these keys, each once.
    fn read(words: &'h str) -> Result<Self, String> {
        let mut rest = words.trim().strip_prefix('{').ok_or("does not begin with `{`")?;
        let mut fields = [("descr", None), ("fortran_order", None), ("shape", None)];
        loop {
            rest = rest.trim_start();
            if let Some(end) = rest.strip_prefix('}') {
                if !end.is_empty() {
                    return Err("does not end with `}`".into());
                }
                break;
            }
            let (key, after) = quoted(rest).ok_or("is damaged before a key")?;
            let (value, after) = after
                .trim_start()
                .strip_prefix(':')
                .and_then(value)
                .ok_or_else(|| format!("is damaged after `{key}`"))?;
            let field = fields.iter_mut().find(|(name, _)| *name == key);
            let (_, place) = field.ok_or_else(|| format!("has the unknown key `{key}`"))?;
            if place.replace(value).is_some() {
                return Err(format!("has `{key}` twice"));
            }
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        let [descr, fortran_order, shape] =
            fields.map(|(name, value)| value.ok_or_else(|| format!("has no `{name}`")));
        let shape = shape?;
        Ok(Self { descr: descr?, fortran_order: fortran_order?, shape, extents: extents(shape)? })
    }

    fn check_type(&self, scalar: Scalar) -> Result<(), String> {
        let wanted = name(scalar).ok_or_else(|| format!("numpy has no {}: use raw bytes", scalar.word()))?;
        if self.descr.starts_with('[') {
            return Err(format!(
                "elements with fields, {}: save one field, as numpy.ascontiguousarray(x['name'])",
                self.descr
            ));
        }
        let found = quoted(self.descr).filter(|(_, rest)| rest.is_empty()).map(|(found, _)| found);
        let found = found.ok_or_else(|| format!("elements of type {}, which is not a string", self.descr))?;
        // Single bytes have no byte order.
        let orders: &[char] = if scalar.size() == 1 { &['|', '<', '>', '='] } else { &['<', '='] };
        if found.trim_start_matches(orders) == wanted.trim_start_matches(['<', '|']) {
            return Ok(());
        }
        let order = if found.starts_with('>') { ", big-endian" } else { "" };
        Err(format!(
            "elements of type `{found}`{order}, not {} (`{wanted}`): save x.astype('{wanted}'), or name the type that they have",
            scalar.word()
        ))
    }

    /// If at most one extent is over 1, both orders are the same.
    fn check_order(&self) -> Result<(), String> {
        match self.fortran_order {
            "False" => Ok(()),
            "True" if self.extents.contains(&0) => Ok(()),
            "True" if self.extents.iter().filter(|extent| **extent > 1).count() < 2 => Ok(()),
            "True" => Err(format!(
                "the array {} is in Fortran order, column by column: save numpy.ascontiguousarray(x) of it",
                self.shape
            )),
            other => Err(format!("`fortran_order` is `{other}`, neither True nor False")),
        }
    }

    /// Bytes of the elements.
    fn size(&self, scalar: Scalar) -> Result<usize, String> {
        if self.extents.contains(&0) {
            return Ok(0);
        }
        let size = self.extents.iter().try_fold(scalar.size(), |size, extent| size.checked_mul(*extent));
        size.ok_or_else(|| format!("the shape {} is larger than any memory", self.shape))
    }
}

/// The text between quotes, and the rest.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// A value up to the comma or brace that ends it, outside of brackets and strings.
fn value(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut string) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (string, c) {
            (Some(quote), c) if c == quote => string = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => string = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.checked_sub(1)?,
            (None, ',' | '}') if depth == 0 => return Some((text[..at].trim(), &text[at..])),
            _ => {}
        }
    }
    None
}

/// `(3, 4)`, `(3,)`, `()`.
fn extents(shape: &str) -> Result<Vec<usize>, String> {
    let odd = || format!("has a shape `{shape}`, which is not a tuple of extents");
    let list = shape.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).ok_or_else(odd)?.trim();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let list = list.strip_suffix(',').unwrap_or(list);
    list.split(',').map(|extent| extent.trim().parse().map_err(|_| odd())).collect()
}

/// Whether a file can have such elements.
pub(super) fn can_hold(scalar: Scalar) -> Result<(), String> {
    name(scalar).map(drop).ok_or_else(|| format!("numpy has no {}: save as .bin or .txt", scalar.word()))
}

/// A file with these elements in one dimension.
pub(super) fn write(data: &[u8], scalar: Scalar) -> Result<Vec<u8>, String> {
    can_hold(scalar)?;
    let ty = name(scalar).unwrap_or_default();
    let count = data.len() / scalar.size();
    let words = format!("{{'descr': '{ty}', 'fortran_order': False, 'shape': ({count},), }}");
    // The elements begin at a multiple of 64, and a line ends the words.
    let length = (10 + words.len() + 1).next_multiple_of(64) - 10;
    let mut file = [MAGIC, &[1, 0], &u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes()].concat();
    file.extend_from_slice(format!("{words:<0$}\n", length - 1).as_bytes());
    file.extend_from_slice(data);
    Ok(file)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let data: Vec<u8> = (0..24).collect();
        let file = write(&data, Scalar::F32).unwrap();
        assert_eq!((file.len() - 24) % 64, 0);
        assert_eq!(file[elements(&file, Scalar::F32).unwrap()], data);
        assert!(elements(&file, Scalar::I32).unwrap_err().contains("not i32"));
        for cut in 0..file.len() {
            assert!(elements(&file[..cut], Scalar::F32).is_err(), "cut at {cut}");
        }
        assert!(write(&data, Scalar::Bf16).is_err());
    }
}
