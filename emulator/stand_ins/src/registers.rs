//! The limit of registers that a compiler is given: it stands in the PTX that it is to give in place of a cubin.

const NAME: &[u8] = b"maxrregcount";

/// What an option says of it: `-maxrregcount=38`, with one or two dashes.
fn asked(option: &[u8]) -> Option<u32> {
    number(name(option)?.strip_prefix(b"=")?)
}

/// What options say of it, the number in the same or in the next one; 0 is no limit. The last counts.
pub fn of<'o>(options: impl Iterator<Item = &'o [u8]>) -> u32 {
    let (mut most, mut is_next) = (0, false);
    for option in options {
        let here = if is_next { number(option) } else { asked(option) };
        most = here.unwrap_or(most);
        is_next = name(option).is_some_and(<[u8]>::is_empty);
    }
    most
}

/// What follows the option's name.
fn name(option: &[u8]) -> Option<&[u8]> {
    let option = option.strip_prefix(b"-")?;
    option.strip_prefix(b"-").unwrap_or(option).strip_prefix(NAME)
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// The text, with its NUL, whose kernels have the limit; 0 is none.
pub fn limited(text: Vec<u8>, most: u32) -> Vec<u8> {
    let written = text.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok());
    match written.filter(|_| most != 0) {
        Some(written) => cuda_ptx::limit_registers(written, most, false).bytes().chain([0]).collect(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_how_many() {
        let of = |options: &[&str]| super::of(options.iter().map(|option| option.as_bytes()));
        assert_eq!(of(&["-O3", "-maxrregcount=38"]), 38);
        assert_eq!(of(&["--maxrregcount=38", "x.ptx"]), 38);
        assert_eq!(of(&["--maxrregcount", "40", "x.ptx"]), 40);
        assert_eq!(of(&["-maxrregcount=40", "-maxrregcount", "38"]), 38);
        for none in
            [&["-maxrregcountless=3"][..], &["maxrregcount=3"], &["-maxrregcount"], &["-O3", "38"], &[]]
        {
            assert_eq!(of(none), 0);
        }
    }

    #[test]
    fn only_a_limit_changes_the_text() {
        let text = b".version 8.0\n.target sm_90\n.entry k()\n{ ret; }\n\0".to_vec();
        assert_eq!(limited(text.clone(), 0), text);
        assert_eq!(limited(text, 38), b".version 8.0\n.target sm_90\n.entry k()\n .maxnreg 38 { ret; }\n\0");
        assert_eq!(limited(b"\x7fELF\xff\0".to_vec(), 38), b"\x7fELF\xff\0");
    }
}
