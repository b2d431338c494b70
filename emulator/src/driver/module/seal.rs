//! How the linker's own output is known when it is loaded: it has passed the linker's checks, which accept more than one module may have. A
//! program may keep what it links and load it in another process, so the mark is in the text: a hash of it, which no text has by accident.

use std::borrow::Cow;

/// Stands in front of the hash, at the end of the first line.
const MARK: &str = "// linked ";

/// Two hashes of 64 bits would be no better: this is no defence against a program that computes it.
fn hash(parts: [&str; 2]) -> u64 {
    // FNV-1a.
    let bytes = parts.iter().flat_map(|part| part.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The first line without its mark, the hash, and the other lines.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (first, rest) = text.split_once('\n')?;
    let (head, hash) = first.rsplit_once(MARK)?;
    Some((head, hash, rest))
}

/// A text with the mark, in which the lines keep their numbers.
pub(super) fn sealed(text: &str) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let head = first.rsplit_once(MARK).map_or(first, |(head, _)| head);
    format!("{head}{MARK}{:016x}\n{rest}", hash([head, rest]))
}

/// Whether the linker wrote that text, and nobody has changed it.
pub(super) fn is_sealed(text: &str) -> bool {
    parts(text).is_some_and(|(head, found, rest)| found == format!("{:016x}", hash([head, rest])))
}

/// A text that `change` has changed: it is marked if it was.
pub(super) fn kept<'a>(
    text: Cow<'a, str>,
    change: impl FnOnce(Cow<'a, str>) -> Cow<'a, str>,
) -> Cow<'a, str> {
    let was_sealed = is_sealed(&text);
    let changed = change(text);
    if was_sealed && !is_sealed(&changed) { sealed(&changed).into() } else { changed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_holds_for_one_text() {
        let text = sealed(".version 7.0 \n.visible .entry k() { ret; }\n");
        assert!(is_sealed(&text) && is_sealed(&sealed(&text)));
        assert_eq!(text, sealed(&text));
        assert!(!is_sealed(&text.replace("ret", "exit")) && !is_sealed(&text.replace("7.0", "7.1")));
        assert!(!is_sealed(".version 7.0 // linked\nret;") && !is_sealed("") && !is_sealed("// linked "));
        let changed = kept(text.clone().into(), |text| text.replace("ret", "exit").into());
        assert!(is_sealed(&changed) && changed.contains("exit"));
        let plain = kept("a\nb".into(), |text| text);
        assert_eq!(plain, "a\nb");
    }
}
