//! The `.version` of PTX: newer compilers write a newer one, although they use what older ones know.

/// The newest that the emulator reads, unless a variable says otherwise.
const NEWEST: (u32, u32) = (9, 0);
/// The newest that it is asked to read.
const ASKED: &str = "CUDA_LAUNCH_EMULATOR_PTX";

/// Volatile accesses to local memory, which compilers write since 9.1. No other thread sees that memory: they are plain accesses.
const VOLATILE_LOCAL: [&[u8]; 2] = [b"ld.volatile.local", b"st.volatile.local"];
const VOLATILE: usize = b".volatile".len();

/// Writes the newest `.version` that the emulator reads over a newer one, in as many bytes, and what the older one has over volatile accesses
/// to local memory. Other instructions that came with the newer version are still there, and the emulator refuses them by name.
pub fn lower(ptx: &mut [u8]) {
    let asked = std::env::var(ASKED).ok().and_then(|text| version(text.trim().as_bytes()));
    lower_to(asked.unwrap_or(NEWEST), ptx);
}

/// `9.4`
fn version(text: &[u8]) -> Option<(u32, u32)> {
    let mut parts = text.split(|byte| *byte == b'.').map(|part| std::str::from_utf8(part).ok()?.parse().ok());
    Some((parts.next()??, parts.next()??))
}

fn lower_to(newest: (u32, u32), ptx: &mut [u8]) {
    let Some(number) = place(ptx) else { return };
    let Some(text) = ptx.get_mut(number) else { return };
    if version(text).is_some_and(|version| version > newest) {
        let lower = format!("{}.{}", newest.0, newest.1);
        let padded = lower.bytes().chain(std::iter::repeat(b' '));
        text.iter_mut().zip(padded).for_each(|(byte, new)| *byte = new);
        make_local_accesses_plain(ptx);
    }
}

fn make_local_accesses_plain(ptx: &mut [u8]) {
    let mut rest = ptx;
    while let Some(at) = rest.windows(VOLATILE_LOCAL[0].len()).position(|text| VOLATILE_LOCAL.contains(&text))
    {
        // Behind `ld` or `st`.
        rest = rest.get_mut(at + 2..).unwrap_or_default();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (name, behind) = rest.split_at_mut(end);
        name.rotate_left(VOLATILE);
        let blank = name.len() - VOLATILE;
        name.iter_mut().skip(blank).for_each(|byte| *byte = b' ');
        rest = behind;
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
        lower_to(NEWEST, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_the_emulator_is_asked_to_read_stays() {
        let mut bytes = b".version 9.4\nld.volatile.local".to_vec();
        lower_to((9, 4), &mut bytes);
        assert_eq!(bytes, b".version 9.4\nld.volatile.local");
        lower_to((9, 3), &mut bytes);
        assert_eq!(bytes, b".version 9.3\nld.local         ");
        assert_eq!((version(b"9.4"), version(b"9"), version(b"x.y")), (Some((9, 4)), None, None));
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

    #[test]
    fn volatile_accesses_to_local_memory_become_plain_ones() {
        let newer = ".version 9.5\n\tld.volatile.local.u64 %rd1, [%SPL];\nst.volatile.local.v2.f32\t[%SPL], {%f1, %f2};\n\
                     ld.volatile.global.u32 %r1, [%rd1];\n@%p1 st.volatile.local.u8 [%SPL+4], %rs1;";
        let older = ".version 9.0\n\tld.local.u64          %rd1, [%SPL];\nst.local.v2.f32         \t[%SPL], {%f1, %f2};\n\
                     ld.volatile.global.u32 %r1, [%rd1];\n@%p1 st.local.u8          [%SPL+4], %rs1;";
        assert_eq!(lowered(newer), older);
        // An older text with them is wrong, and stays so.
        let wrong = ".version 9.0\nld.volatile.local.u64 %rd1, [%SPL];\n";
        assert_eq!(lowered(wrong), wrong);
        assert_eq!(lowered(".version 9.1\nld.volatile.local"), ".version 9.0\nld.local         ");
    }
}
