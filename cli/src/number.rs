//! Numbers as options take them.

/// Bytes, also with a unit: `4096`, `64K`, `512M`, `2G`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let units = [('K', 10), ('M', 20), ('G', 30)];
    let of_unit = |(unit, shift)| Some((text.strip_suffix(unit)?, shift));
    let (number, shift) = units.into_iter().find_map(of_unit).unwrap_or((text, 0));
    let bytes = whole::<u64>(number).ok().and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "it should be a number of bytes, such as 4096 or 2G".to_owned())
}

/// The same, and at least one.
pub(crate) fn some_bytes(text: &str) -> Result<u64, String> {
    bytes(text).and_then(|bytes| if bytes == 0 { Err("it should be at least 1".into()) } else { Ok(bytes) })
}

/// The same, of shared memory.
pub(crate) fn shared_bytes(text: &str) -> Result<u32, String> {
    u32::try_from(bytes(text)?).map_err(|_| format!("it should be at most {}", u32::MAX))
}

/// A whole number from 0 on.
pub(crate) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    if text.is_empty() || !text.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err("it should be a whole number from 0 on".into());
    }
    let number = text.parse::<u64>().ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| "it is too large".into())
}

/// A whole number from 1 on.
pub(crate) fn ordinal(text: &str) -> Result<u64, String> {
    whole(text)
        .and_then(|number| if number == 0 { Err("they are counted from 1".into()) } else { Ok(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_units() {
        for (text, wanted) in [("0", 0), ("12", 12), ("3K", 3072), ("2M", 2 << 20), ("1G", 1 << 30)] {
            assert_eq!(bytes(text), Ok(wanted), "{text}");
        }
        for text in
            ["", "K", "-1", "+1", "1.5G", "1 G", "1T", "99999999999999999999", "18446744073709551615G"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
        assert!(some_bytes("0").is_err() && some_bytes("1") == Ok(1));
        assert!(shared_bytes("100K") == Ok(100 << 10) && shared_bytes("4G").is_err());
    }

    #[test]
    fn whole_numbers_have_limits() {
        assert_eq!((whole("0"), whole("255")), (Ok(0_u8), Ok(255_u8)));
        for text in ["", "-1", "+1", "x", "256", "99999999999999999999"] {
            assert!(whole::<u8>(text).is_err(), "{text}");
        }
        assert!(ordinal("1") == Ok(1) && ordinal("0").is_err() && ordinal("-1").is_err());
    }
}
