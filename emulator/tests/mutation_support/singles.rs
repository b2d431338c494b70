//! The single instructions of `xtask/corpus/singles.txt`, and one random change of an instruction itself: of a register, a number, a
//! modifier, or of how many operands it has. In a whole file the instruction would be one of sixty lines that a change could hit.

use super::{Random, split};

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../xtask/corpus/singles.txt");
/// Targets of later devices stand in the list too.
const NEWEST: u32 = 90;

/// Registers: the letter of each kind, and its type. `%h`, `%r`, `%l`, `%q` and `%p` are those of the list.
const REGISTERS: &[(&str, &str)] = &[
    ("h", "b16"),
    ("r", "b32"),
    ("l", "b64"),
    ("p", "pred"),
    ("f", "f32"),
    ("d", "f64"),
    ("u", "u32"),
    ("i", "s32"),
    ("v", "u64"),
    ("w", "u16"),
    ("b", "b8"),
    ("c", "s8"),
    ("e", "f16"),
    ("x", "f16x2"),
    ("y", "s64"),
    ("z", "s16"),
];
const NUMBERS: &[&str] = &["-1", "0", "1", "3", "15", "77", "257", "65537", "%r1", "%l1", "1.5"];
const MODIFIERS: &[&str] = &[
    "sync",
    "aligned",
    "u32",
    "b32",
    "b64",
    "f32",
    "u16",
    "f16",
    "shared",
    "global",
    "shared::cta",
    "shared::cluster",
    "cta",
    "satfinite",
    "relu",
    "rn",
    "rz",
    "ftz",
    "release",
    "read",
    "trans",
    "s32",
    "u8",
    "s8",
    "b8",
    "b16",
    "s16",
    "u64",
    "s64",
    "f64",
    "f16x2",
    "bf16",
    "bf16x2",
    "pred",
    "b128",
    "v2",
    "v4",
    "v8",
    "x2",
    "x4",
    "lo",
    "hi",
    "wide",
    "sat",
    "cc",
    "approx",
    "full",
    "NaN",
    "abs",
    "noftz",
    "uni",
    "weak",
    "relaxed",
    "acquire",
    "acq_rel",
    "volatile",
    "nc",
    "ca",
    "cg",
    "local",
    "const",
    "param",
    "gpu",
    "sys",
    "cluster",
    "L2::cache_hint",
    "L2::128B",
    "L1::no_allocate",
    "add",
    "min",
    "and",
    "popc",
    "to",
    "row",
    "col",
    "1d",
    "2d",
    "tile",
    "parity",
    "multicast::cluster",
];

/// A pattern of instructions, and the module around each.
pub(crate) struct Single {
    pattern: String,
    version: String,
    target: String,
}

/// The patterns of the list that targets up to `sm_90a` have.
pub(crate) fn singles() -> Vec<Single> {
    let list = std::fs::read_to_string(LIST).unwrap();
    let (mut singles, mut head) = (Vec::new(), ("", ""));
    for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(new) = line.strip_prefix('[') {
            head = new.trim_end_matches(']').split_once(' ').unwrap_or_default();
            continue;
        }
        let number = head.1.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic);
        if number.parse().is_ok_and(|number: u32| number <= NEWEST) {
            let [pattern, version, target] = [line, head.0, head.1].map(str::to_owned);
            singles.push(Single { pattern, version, target });
        }
    }
    singles
}

impl Single {
    /// One of the instructions of the pattern.
    pub(crate) fn instruction(&self, random: &mut Random) -> String {
        let mut text = String::new();
        let mut rest = self.pattern.as_str();
        while let Some(at) = rest.find(['[', '{']) {
            text.push_str(&rest[..at]);
            rest = &rest[at..];
            // `[.x]` and `[.{x|y}]` may be missing; other brackets, and braces without a bar, are operands.
            let (open, close) = match rest.strip_prefix("[.{") {
                Some(_) => ("[.{", "}]"),
                None if rest.starts_with("[.") => ("[.", "]"),
                None => ("{", "}"),
            };
            let inner = rest.strip_prefix(open).and_then(|inner| inner.split_once(close));
            let Some((inner, behind)) = inner.filter(|(inner, _)| open != "{" || inner.contains('|')) else {
                text.push_str(&rest[..1]);
                rest = &rest[1..];
                continue;
            };
            let choices: Vec<&str> = inner.split('|').collect();
            let optional = open.starts_with('[');
            if let Some(chosen) = choices.get(random.below(choices.len() + usize::from(optional))) {
                text.push_str(if optional { "." } else { "" });
                text.push_str(chosen);
            }
            rest = behind;
        }
        text.push_str(rest);
        text.replacen("  ", " ", 1)
    }

    /// A module with a kernel that consists of that instruction, but for the addresses that it uses.
    pub(crate) fn module(&self, instruction: &str) -> String {
        let wide = *self.version >= *"8.3" && *self.target >= *"sm_70";
        let quads = if wide { ".reg .b128 %q<9>; " } else { "" };
        let registers: String =
            REGISTERS.iter().map(|(letter, ty)| format!(".reg .{ty} %{letter}<9>; ")).collect();
        format!(
            ".version {}\n.target {}\n.address_size 64\n.global .align 16 .b8 g[256];\n.shared .align 16 .b8 s[256];\n\
             .const .align 16 .b8 c[64];\n.global .texref t;\n.global .surfref u;\n\
             .visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])\n{{\n{registers}{quads}\n\
             ld.param.u64 %l8, [in];\nld.global.u64 %l1, [%l8];\nmov.u32 %r8, s;\n{instruction};\nEND:\nret;\n}}\n",
            self.version, self.target
        )
    }
}

/// A changed instruction, and which kind of change it is.
pub(crate) fn change(instruction: &str, random: &mut Random) -> Option<(&'static str, String)> {
    let (name, operands) = split(&format!("{instruction};"))?;
    let mut parts: Vec<String> = name.split('.').map(str::to_owned).collect();
    let mut text = operands.join(", ");
    let at = random.below(operands.len());
    let what = match random.below(20) {
        0..6 => other_register(&mut text, random)?,
        6 | 7 => other_number(&mut text, random)?,
        8 => {
            let commas: Vec<usize> = text.match_indices(',').map(|(at, _)| at).collect();
            text.truncate(*commas.get(random.below(commas.len()))?);
            "operands missing"
        }
        9 => {
            let mut operands = operands;
            (!operands.is_empty()).then(|| operands.remove(at))?;
            text = operands.join(", ");
            "operand missing"
        }
        10 => {
            text = format!("{text}, {}", random.of(&["%r1", "1", "%p1"])).trim_start_matches(", ").to_owned();
            "operand too many"
        }
        11 | 12 => {
            let at = 1 + random.below(parts.len() - 1);
            (at < parts.len()).then(|| parts.remove(at))?;
            "modifier missing"
        }
        13 => {
            let at = 1 + random.below(parts.len() - 1);
            *parts.get_mut(at)? = random.of(MODIFIERS).to_owned();
            "other modifier"
        }
        14 | 15 => {
            let at = 1 + random.below(parts.len());
            parts.insert(at, random.of(MODIFIERS).to_owned());
            "modifier too many"
        }
        16 => {
            let (at, with) = (1 + random.below(parts.len() - 1), 1 + random.below(parts.len() - 1));
            (at != with && with < parts.len()).then(|| parts.swap(at, with))?;
            "modifiers in another order"
        }
        17 => {
            let mut operands = operands;
            let with = random.below(operands.len());
            (at != with).then(|| operands.swap(at, with))?;
            text = operands.join(", ");
            "operands in another order"
        }
        18 => {
            let mut operands = operands;
            let operand = operands.get_mut(at)?;
            *operand = match operand.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
                Some(inner) => inner.to_owned(),
                None => format!("[{operand}]"),
            };
            text = operands.join(", ");
            "brackets"
        }
        _ => {
            let mut operands = operands;
            let inner = operands.get(at)?.strip_prefix('{')?.strip_suffix('}')?.to_owned();
            operands[at] = match inner.rsplit_once(", ") {
                Some((fewer, _)) if random.below(2) == 0 => format!("{{{fewer}}}"),
                _ => format!("{{{inner}, %r1}}"),
            };
            text = operands.join(", ");
            "other vector"
        }
    };
    let changed = format!("{} {text}", parts.join(".")).trim().to_owned();
    (changed != instruction.trim()).then_some((what, changed))
}

/// Another kind of register, a number or a variable in the place of one register.
fn other_register(text: &mut String, random: &mut Random) -> Option<&'static str> {
    let letters = ["h", "r", "l", "p", "q"];
    let is_one = |at: &usize| {
        let rest = &text[at + 1..];
        letters.iter().any(|letter| rest.starts_with(letter))
            && rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit)
            && !rest.as_bytes().get(2).is_some_and(u8::is_ascii_alphanumeric)
    };
    let places: Vec<usize> = text.match_indices('%').map(|(at, _)| at).filter(is_one).collect();
    let at = *places.get(random.below(places.len()))?;
    if random.below(8) == 0 {
        text.replace_range(at..at + 3, random.of(&["1", "1.5", "g", "s", "c", "_"]));
        return Some("no register");
    }
    let (letter, _) = REGISTERS[random.below(REGISTERS.len())];
    text.replace_range(at + 1..at + 2, letter);
    Some("other register")
}

/// Another number, or a register in its place.
fn other_number(text: &mut String, random: &mut Random) -> Option<&'static str> {
    let bytes = text.as_bytes();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'%' | b'.' | b':' | b'_');
    let mut places = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let end = at + bytes[at..].iter().take_while(|byte| is_part(byte)).count();
        if text[at..end].parse::<u64>().is_ok() {
            places.push(at..end);
        }
        at = end.max(at + 1);
    }
    let place = places.get(random.below(places.len()))?.clone();
    text.replace_range(place, random.of(NUMBERS));
    Some("other number")
}
