//! The `.version` of PTX: newer compilers write a newer one, although they use what older ones know.

/// The newest that the emulator reads.
const NEWEST: (u32, u32) = (9, 0);

/// Writes the newest `.version` that the emulator reads over a newer one, in as many bytes. Instructions that came with the newer
/// version are still there, and the emulator refuses them by name.
pub fn lower(ptx: &mut [u8]) {
    let Some(number) = place(ptx) else { return };
    let Some(text) = ptx.get_mut(number) else { return };
    let mut parts = text.split(|byte| *byte == b'.').map(|part| std::str::from_utf8(part).ok()?.parse().ok());
    let (Some(Some(major)), Some(Some(minor))) = (parts.next(), parts.next()) else { return };
    if (major, minor) > NEWEST {
        let lower = format!("{}.{}", NEWEST.0, NEWEST.1);
        let padded = lower.bytes().chain(std::iter::repeat(b' '));
        text.iter_mut().zip(padded).for_each(|(byte, new)| *byte = new);
    }
}

/// The number behind the first `.version` that begins a line.
fn place(ptx: &[u8]) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    for line in ptx.split_inclusive(|byte| *byte == b'\n') {
        if let Some(rest) = line.strip_prefix(b".version") {
            let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            let digits =
                rest.iter().skip(blank).take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
            let start = at + line.len() - rest.len() + blank;
            return Some(start..start + digits);
        }
        at += line.len();
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn lowered(text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        lower(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_newer_version_is_lowered_in_place_and_an_older_one_stays() {
        assert_eq!(
            lowered("// .version 9.9\n.version 9.3\n.target sm_90\n"),
            "// .version 9.9\n.version 9.0\n.target sm_90\n"
        );
        assert_eq!(lowered(".version 10.12\n"), ".version 9.0  \n");
        for kept in [".version 9.0\n", ".version 8.7\n", ".version", ".version x.y", "", ".target sm_90\n"] {
            assert_eq!(lowered(kept), kept);
        }
    }
}
