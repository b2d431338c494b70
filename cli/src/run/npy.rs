//! Files of numpy (NEP 1): a header in words, then the elements.

use crate::signature::Scalar;

const MAGIC: &[u8] = b"\x93NUMPY";

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

/// The elements of a file, which must be of this type. The shape does not matter.
pub(super) fn read(bytes: &[u8], scalar: Scalar) -> Result<&[u8], String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("byte 0: no file of numpy")?;
    let [major, _, rest @ ..] = rest else { return Err(format!("byte {}: the header is cut", bytes.len())) };
    let (length, start) = match (major, rest) {
        (1, [a, b, ..]) => (u64::from(u16::from_le_bytes([*a, *b])), 10),
        (2 | 3, [a, b, c, d, ..]) => (u64::from(u32::from_le_bytes([*a, *b, *c, *d])), 12),
        (1..=3, _) => return Err(format!("byte {}: the header is cut", bytes.len())),
        _ => return Err(format!("byte 6: version {major} of the format; 1 to 3 are known")),
    };
    let end = usize::try_from(length).ok().and_then(|length| length.checked_add(start));
    let header = end
        .and_then(|end| bytes.get(start..end))
        .ok_or_else(|| format!("byte {}: the header is cut", bytes.len()))?;
    let header = std::str::from_utf8(header).map_err(|_| format!("byte {start}: the header is no text"))?;
    check(header, scalar)?;
    let data = bytes.get(start + header.len()..).unwrap_or_default();
    match elements(header).and_then(|n| n.checked_mul(scalar.size())) {
        None => Err(format!("byte {start}: no shape in the header `{}`", header.trim_end())),
        Some(size) => data.get(..size).ok_or_else(|| {
            format!("byte {}: the file ends here, but its shape needs {size} bytes of data", bytes.len())
        }),
    }
}

fn check(header: &str, scalar: Scalar) -> Result<(), String> {
    let ty = value(header, "descr").unwrap_or_default().trim_matches(['\'', '"']);
    let wanted = TYPES.iter().find(|(own, _)| *own == scalar).map(|(_, name)| *name);
    let wanted = wanted.ok_or_else(|| format!("numpy has no {}", scalar.rust()))?;
    if ty.trim_start_matches(['<', '|', '=']) != wanted.trim_start_matches(['<', '|']) {
        return Err(format!("elements of type `{ty}`, not {} (`{wanted}`)", scalar.rust()));
    }
    if value(header, "fortran_order") == Some("True")
        && value(header, "shape").is_some_and(|s| s.matches(',').count() > 1)
    {
        return Err("the array is in Fortran order: save numpy.ascontiguousarray of it".into());
    }
    Ok(())
}

/// What stands behind `'key':`.
fn value<'h>(header: &'h str, key: &str) -> Option<&'h str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    let rest = rest.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest.get(..end)?.trim())
}

fn elements(header: &str) -> Option<usize> {
    let shape = value(header, "shape")?.strip_prefix('(')?.strip_suffix(')')?;
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    extents.map(|extent| extent.parse::<usize>().ok()).try_fold(1usize, |product, n| product.checked_mul(n?))
}

/// A file with these elements in one dimension.
pub(super) fn write(data: &[u8], scalar: Scalar) -> Result<Vec<u8>, String> {
    let ty = TYPES.iter().find(|(own, _)| *own == scalar).map(|(_, name)| *name);
    let ty = ty.ok_or_else(|| format!("numpy has no {}: save as .bin or .txt", scalar.rust()))?;
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
        assert_eq!(read(&file, Scalar::F32).unwrap(), data);
        assert!(read(&file, Scalar::I32).unwrap_err().contains("not i32"));
        for cut in 0..file.len() {
            assert!(read(&file[..cut], Scalar::F32).is_err(), "cut at {cut}");
        }
        let shape = |shape: &str| String::from_utf8_lossy(&file[..128]).replace("(6,)", shape).into_bytes();
        assert!(read(&shape("(18446744073709551615, 9)"), Scalar::F32).is_err());
        assert!(write(&data, Scalar::Bf16).is_err());
    }
}
