//! One random change of a PTX text: of a name, a type, a count, a label, a guard, a space, an operand, a declaration, or how much shared and
//! constant memory there is.

mod limits;
pub(crate) mod singles;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub(crate) fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Splits a line `@p name a, b;` into what is before the operands and them.
fn split(line: &str) -> Option<(String, Vec<String>)> {
    let line = line.split("//").next()?.trim();
    let body = line.strip_suffix(';')?;
    if body.contains('(') || body.starts_with('.') || body.starts_with('{') || body.is_empty() {
        return None;
    }
    let (guard, rest) = match body.strip_prefix('@') {
        Some(_) => body.split_once(char::is_whitespace)?,
        None => ("", body),
    };
    let rest = rest.trim();
    let (name, operands) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let (mut list, mut depth, mut current) = (Vec::new(), 0, String::new());
    for letter in operands.chars() {
        match letter {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            list.push(std::mem::take(&mut current).trim().to_owned());
        } else {
            current.push(letter);
        }
    }
    if !current.trim().is_empty() {
        list.push(current.trim().to_owned());
    }
    Some((format!("{guard} {name}").trim().to_owned(), list))
}

const TYPES: &[&str] = &[
    "u8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "pred", "f16x2",
];
const SPACES: &[&str] = &["global", "shared", "local", "const", "param"];
const MODIFIERS: &[&str] = &[
    "rn", "rz", "rzi", "ftz", "sat", "wide", "lo", "hi", "v2", "v4", "cc", "approx", "lt", "eq", "ltu", "hs",
    "and", "sync", "uni", "full", "nc", "volatile", "add", "xor", "cta", "gpu", "acquire", "x",
];
const COUNTS: &[&str] =
    &["v2", "v4", "v8", "x1", "x2", "x4", "m16n8k8", "m16n8k16", "m8n8k4", "1d", "2d", "3d"];
const NAMES: &[&str] = &[
    "add", "sub", "mul", "mad", "fma", "and", "shl", "mov", "ld", "st", "setp", "selp", "cvt", "div", "abs",
    "not", "frob", "bra", "ret", "min", "popc", "atom",
];

/// One change in so many is of the limits.
const LIMITS: usize = 12;

/// A changed text, and which kind of change it is.
pub(crate) fn change(text: &str, random: &mut Random) -> Option<(&'static str, String)> {
    if random.below(LIMITS) == 0 {
        return limits::change(text, random);
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let registers: Vec<String> = registers(text);
    let at = random.below(lines.len());
    let line = lines[at].clone();
    let trimmed = line.trim().to_owned();
    let what = if trimmed.starts_with(".reg") {
        declaration(&mut lines[at], random)?
    } else if trimmed.starts_with('$') && trimmed.ends_with(':') {
        let twice = random.below(2) == 0;
        lines[at] = if twice { format!("{trimmed}\n{trimmed}") } else { String::new() };
        "label"
    } else if is_variable(&trimmed) && random.below(2) == 0 {
        lines[at] = String::new();
        "no variable"
    } else {
        let (head, operands) = split(&line)?;
        let (head, operands, what) = instruction(head, operands, &registers, random)?;
        lines[at] = format!("{head} {};", operands.join(", "));
        what
    };
    let changed = lines.join("\n") + "\n";
    (changed.trim() != text.trim()).then_some((what, changed))
}

/// Whether a line declares a variable of one of these spaces, and nothing else.
fn is_variable(line: &str) -> bool {
    let spaces = [".global", ".shared", ".const", ".local", ".param", ".extern", ".visible"];
    spaces.iter().any(|space| line.starts_with(space)) && line.ends_with(';')
}

fn registers(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '%' || c == '_' || c == '.'))
        .filter(|word| word.starts_with('%') && word.chars().last().is_some_and(|c| c.is_ascii_digit()))
        .map(str::to_owned)
        .collect();
    found.sort();
    found.dedup();
    found
}

fn declaration(line: &mut String, random: &mut Random) -> Option<&'static str> {
    match random.below(4) {
        0 => {
            *line = String::new();
            Some("no declaration")
        }
        1 => {
            *line = format!("{line}\n{line}");
            Some("declared twice")
        }
        2 => {
            let old = TYPES.iter().find(|ty| line.contains(&format!(".{ty} ")))?;
            *line = line.replace(&format!(".{old} "), &format!(".{} ", random.of(TYPES)));
            Some("other declared type")
        }
        _ => {
            let (start, end) = (line.find('<')?, line.find('>')?);
            *line = format!("{}<1{}", &line[..start], &line[end..]);
            Some("fewer registers")
        }
    }
}

fn instruction(
    head: String,
    mut operands: Vec<String>,
    registers: &[String],
    random: &mut Random,
) -> Option<(String, Vec<String>, &'static str)> {
    let index = random.below(operands.len());
    let register = |random: &mut Random| registers.get(random.below(registers.len())).cloned();
    let mut parts: Vec<String> = head.split('.').map(str::to_owned).collect();
    let what = match random.below(17) {
        0 => {
            let operand = operands.get_mut(index)?;
            let (start, _) = operand.match_indices('%').next()?;
            operand.insert_str(start + 1, "nosuch");
            "undeclared"
        }
        1 | 2 => {
            *operands.get_mut(index)? = register(random)?;
            "other register"
        }
        3 => {
            operands.pop()?;
            "operand missing"
        }
        4 => {
            let twice = operands.get(index)?.clone();
            operands.push(twice);
            "operand too many"
        }
        5 | 6 => {
            let at = parts.iter().rposition(|part| TYPES.contains(&part.as_str()))?;
            parts[at] = random.of(TYPES).to_owned();
            "other type"
        }
        7 => {
            let at = parts.iter().position(|part| SPACES.contains(&part.as_str()))?;
            parts[at] = random.of(SPACES).to_owned();
            "other space"
        }
        8 => {
            let at = 1 + random.below(parts.len());
            parts.insert(at.min(parts.len()), random.of(MODIFIERS).to_owned());
            "modifier too many"
        }
        9 => {
            let at = 1 + random.below(parts.len().checked_sub(1)?);
            (at < parts.len()).then(|| parts.remove(at))?;
            "modifier missing"
        }
        10 => {
            *operands.get_mut(index)? =
                random.of(&["0f3F800000", "1", "0d3FF0000000000000", "-7", "1.5"]).to_owned();
            "number"
        }
        11 => {
            let first = parts.first_mut()?;
            let (guard, _) = first.rsplit_once(' ').unwrap_or(("", ""));
            *first = format!("{guard} {}", random.of(NAMES)).trim().to_owned();
            "other instruction"
        }
        12 => {
            let guard = register(random)?;
            if !head.starts_with('@') {
                parts[0] = format!("@{guard} {}", parts[0]);
            }
            "guard"
        }
        13 => {
            let other = random.below(operands.len());
            if operands.is_empty() {
                return None;
            }
            operands.swap(index, other);
            "operands swapped"
        }
        14 => {
            let operand = operands.get_mut(index)?;
            if operand.starts_with('{') {
                *operand = operand.replacen('{', "{%r1, ", 1);
            } else if operand.starts_with('[') {
                *operand = operand.trim_matches(['[', ']']).to_owned();
            } else {
                *operand = format!("[{operand}]");
            }
            "brackets"
        }
        15 => {
            let at = parts.iter().position(|part| COUNTS.contains(&part.as_str()))?;
            parts[at] = random.of(COUNTS).to_owned();
            "other count"
        }
        _ => {
            let operand = operands.get_mut(index)?;
            if operand.starts_with('$') || operand.starts_with('[') && !operand.contains('%') {
                let end = operand.trim_end_matches(']').len();
                operand.insert_str(end.min(operand.find(['+', ']']).unwrap_or(operand.len())), "_nosuch");
            } else {
                return None;
            }
            "name"
        }
    };
    Some((parts.join("."), operands, what))
}
