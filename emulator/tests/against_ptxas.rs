//! What ptxas refuses is refused when a module is loaded, and what it takes is not: over files of this repository, each changed in one
//! place. Needs ptxas 13.0 (`pip install nvidia-cuda-nvcc==13.0.88`) and some minutes:
//!
//! `PTXAS=path cargo test -p cuda-emulator --test against_ptxas -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;
mod numeric_table;
mod since_support;

use cuda_emulator::engine::{LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Files that ptxas refuses are wanted; changes that it takes are counted besides.
const WANTED: usize = 2000;
/// The longest file, in bytes: longer ones take ptxas too long.
const LONGEST: u64 = 40_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" {
            files(&path, found);
        } else if name.ends_with(".ptx") && path.metadata().unwrap().len() < LONGEST {
            found.push(path);
        }
    }
}

/// Whether ptxas takes a file; else its first line.
fn assembles(ptxas: &str, path: &Path) -> Result<(), String> {
    let output =
        Command::new(ptxas).args(["-arch=sm_90a", "-o", "/dev/null"]).arg(path).stdin(Stdio::null()).output();
    let output = output.unwrap();
    let errors =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let first = errors.lines().find(|line| line.contains("error") || line.contains("fatal"));
    if output.status.success() { Ok(()) } else { Err(first.unwrap_or_default().to_owned()) }
}

fn loads(text: &str) -> Result<(), String> {
    let memory = Arc::new(Memory::new(1 << 30));
    match Program::load(text, &memory) {
        Err(failure) if failure.kind != LoadFailureKind::Unsupported => Err(failure.to_string()),
        _ => Ok(()),
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
const NAMES: &[&str] = &[
    "add", "sub", "mul", "mad", "fma", "and", "shl", "mov", "ld", "st", "setp", "selp", "cvt", "div", "abs",
    "not", "frob", "bra", "ret", "min", "popc", "atom",
];

/// A changed text, and which kind of change it is.
fn change(text: &str, random: &mut Random) -> Option<(&'static str, String)> {
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
    } else if trimmed.contains(".const") && trimmed.contains('[') && !trimmed.starts_with("ld") {
        lines[at] = format!("{line}\n.const .b8 too_much[65500];");
        "limit"
    } else {
        let (head, operands) = split(&line)?;
        let (head, operands, what) = instruction(head, operands, &registers, random)?;
        lines[at] = format!("{head} {};", operands.join(", "));
        what
    };
    let changed = lines.join("\n") + "\n";
    (changed.trim() != text.trim()).then_some((what, changed))
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
    let what = match random.below(16) {
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

#[test]
#[ignore = "needs ptxas and some minutes"]
fn what_ptxas_refuses_is_refused() {
    let ptxas = std::env::var("PTXAS").expect("PTXAS is the path of ptxas 13.0");
    let seed = std::env::var("CUDA_LAUNCH_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut found = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")), &mut found);
    found.sort();
    let scratch =
        std::env::temp_dir().join(format!("cuda-emulator-against-ptxas-{}.ptx", std::process::id()));
    let mut texts = Vec::new();
    let mut false_refusals = Vec::new();
    for path in &found {
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        if assembles(&ptxas, path).is_ok() {
            if let Err(message) = loads(&text) {
                false_refusals.push(format!("{}: {message}", path.display()));
            }
            texts.push(text);
        }
    }
    let whole = texts.len();
    let (mut random, mut refused, mut taken) = (Random(seed), 0, 0);
    let mut missed: BTreeMap<&str, (usize, usize, Vec<String>)> = BTreeMap::new();
    while refused < WANTED {
        let text = &texts[random.below(texts.len())];
        let Some((what, changed)) = change(text, &mut random) else { continue };
        std::fs::write(&scratch, &changed).unwrap();
        let line = || {
            changed.lines().zip(text.lines()).find(|(a, b)| a != b).map_or("", |(a, _)| a).trim().to_owned()
        };
        match (assembles(&ptxas, &scratch), loads(&changed)) {
            (Err(error), ours) => {
                refused += 1;
                let entry = missed.entry(what).or_default();
                entry.0 += 1;
                if ours.is_ok() {
                    entry.1 += 1;
                    entry.2.push(format!(
                        "{} | {}",
                        line(),
                        error.rsplit(';').next().unwrap_or_default().trim()
                    ));
                }
            }
            (Ok(()), Ok(())) => taken += 1,
            (Ok(()), Err(message)) => {
                taken += 1;
                false_refusals.push(format!("{what}: {} | {message}", line()));
            }
        }
    }
    let _ = std::fs::remove_file(&scratch);
    let total: usize = missed.values().map(|(_, missed, _)| missed).sum();
    for (what, (all, missed, examples)) in &missed {
        println!("{what}: {missed} of {all} missed");
        examples.iter().for_each(|example| println!("    {example}"));
    }
    println!("{whole} files as they are, {taken} changed ones that ptxas takes; refused here:");
    false_refusals.iter().for_each(|refusal| println!("    {refusal}"));
    println!("refused here {} of {refused} that ptxas refuses", refused - total);
    assert!(false_refusals.is_empty() && total * 50 <= refused);
}

/// Every way to choose up to two of these lists' modifiers for a load or store of each space.
fn accesses(mnemonic: &str, cache: &[&str], orders: &[&str]) -> Vec<String> {
    const SPACES: &[&str] =
        &["", ".global", ".const", ".shared", ".shared::cta", ".shared::cluster", ".local", ".param"];
    let l1 = ["evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate"]
        .map(|p| format!(".L1::{p}"));
    let l2 = ["evict_normal", "evict_first", "evict_last"].map(|p| format!(".L2::{p}"));
    let owned = |list: &[&str]| -> Vec<String> { list.iter().map(|part| format!(".{part}")).collect() };
    let mut lists = vec![owned(orders), owned(cache), l1.to_vec(), l2.to_vec(), owned(&["L2::cache_hint"])];
    if mnemonic == "ld" {
        lists.insert(1, owned(&["nc"]));
        lists.push(owned(&["L2::64B", "L2::128B", "L2::256B"]));
    }
    lists.push(owned(&["v2", "v4"]));
    let mut names = Vec::new();
    for space in SPACES {
        let name = |chosen: &[(usize, &str)]| {
            // Spaces stand behind the order of the access.
            let (first, rest): (Vec<_>, Vec<_>) = chosen.iter().partition(|(at, _)| *at == 0);
            let text = |list: Vec<&(usize, &str)>| list.iter().map(|(_, part)| *part).collect::<String>();
            format!("{mnemonic}{}{space}{}.b32", text(first), text(rest))
        };
        names.push(name(&[]));
        for (at, list) in lists.iter().enumerate() {
            for part in list {
                names.push(name(&[(at, part)]));
                for (behind, others) in lists.iter().enumerate().skip(at + 1) {
                    names.extend(others.iter().map(|other| name(&[(at, part), (behind, other)])));
                }
            }
        }
    }
    names
}

/// Which of these instructions ptxas refuses, by index; `module` is the text that has them one a line, from line `first` on.
fn refused(
    ptxas: &str,
    lines: &[String],
    first: usize,
    module: &dyn Fn(&[String]) -> String,
) -> BTreeSet<usize> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let scratch = std::env::temp_dir().join(format!("refused-{}-{number}.ptx", std::process::id()));
    let mut refused = BTreeSet::new();
    let mut left: Vec<usize> = (0..lines.len()).collect();
    // Some errors hide others: until there are none among what is left.
    loop {
        let text: Vec<String> = left.iter().map(|&at| lines[at].clone()).collect();
        std::fs::write(&scratch, module(&text)).unwrap();
        let output =
            Command::new(ptxas).args(["-arch=sm_90a", "-O0", "-o", "/dev/null"]).arg(&scratch).output();
        let output = output.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let wrong = errors.lines().filter(|line| line.contains("error") || line.contains("fatal"));
        let numbers = wrong.filter_map(|line| {
            let (_, rest) = line.split_once("line ")?;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<usize>().ok()
        });
        let found: BTreeSet<usize> =
            numbers.filter_map(|line| left.get(line.checked_sub(first)?).copied()).collect();
        if found.is_empty() {
            assert!(output.status.success() || left.is_empty(), "{errors}");
            break;
        }
        left.retain(|at| !found.contains(at));
        refused.extend(found);
    }
    let _ = std::fs::remove_file(&scratch);
    refused
}

/// A kernel that has one instruction a line, from line 6 on.
fn kernel(lines: &[String]) -> String {
    format!(
        ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{ .reg .b32 %r<9>; .reg .b64 %x<9>;\n\n{}\nret; }}\n",
        lines.join("\n")
    )
}

#[test]
#[ignore = "needs ptxas 13.0: PTXAS names it"]
fn loads_and_stores_have_the_modifiers_that_ptxas_takes() {
    let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".to_owned());
    let orders = ["weak", "volatile", "relaxed.gpu", "mmio.relaxed.sys"];
    let reads = accesses("ld", &["ca", "cg", "cs", "cv", "lu"], &[&orders[..], &["acquire.gpu"]].concat());
    let stores = accesses("st", &["wb", "cg", "cs", "wt"], &[&orders[..], &["release.cta"]].concat());
    let line = |name: &String| {
        let (hint, address) = (if name.contains("hint") { ", %x2" } else { "" }, "[%x1]");
        let value = match name.rsplit_once(".v").and_then(|(_, rest)| rest.chars().next()) {
            Some('2') => "{%r1, %r2}",
            Some('4') => "{%r1, %r2, %r3, %r4}",
            _ => "%r1",
        };
        match name.starts_with("ld") {
            true if name.contains(".param") => format!("{name} {value}, [p]{hint};"),
            true => format!("{name} {value}, {address}{hint};"),
            false => format!("{name} {address}, {value}{hint};"),
        }
    };
    let stores = stores.iter().filter(|name| !name.contains(".const") && !name.contains(".param"));
    let lines: Vec<String> = reads.iter().chain(stores).map(line).collect();
    let refused = refused(&ptxas, &lines, 6, &|left| kernel(left));
    let mut different = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let ours = loads(&kernel(std::slice::from_ref(line)));
        if ours.is_ok() == refused.contains(&at) {
            different.push(format!("{line} {ours:?}"));
        }
    }
    println!("{} of {} forms are refused by ptxas", refused.len(), lines.len());
    assert!(refused.len() > 1000 && refused.len() < lines.len(), "ptxas answered");
    assert!(different.is_empty(), "{different:#?}");
}

/// The instruction of a row of the table of arithmetic, with registers.
fn arithmetic(row: &numeric_table::Row) -> String {
    let register = |kind: numeric_table::Kind, index: usize| match kind.width() {
        1 => format!("%p{index}"),
        16 => format!("%h{index}"),
        32 => format!("%r{index}"),
        _ => format!("%x{index}"),
    };
    let mut text = row.ptx.replace("{d}", &register(row.output, 0));
    for (at, (&kind, name)) in row.inputs.iter().zip(["{a}", "{b}", "{c}"]).enumerate() {
        text = text.replace(name, &register(kind, at + 1));
    }
    text
}

/// Of instructions, by index, those that ptxas refuses under a header, and that we do.
fn refused_under(header: since_support::Header, lines: &[String]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let ptxas = std::env::var("PTXAS").unwrap_or_else(|_| "ptxas".to_owned());
    let module = |lines: &[String]| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        since_support::module(&lines, header)
    };
    let chunks = lines.chunks(400).enumerate().flat_map(|(chunk, lines)| {
        let refused = refused(&ptxas, lines, since_support::FIRST, &module);
        refused.into_iter().map(move |at| 400 * chunk + at)
    });
    let theirs = chunks.collect();
    let is_refused = |at: &usize| loads(&module(&lines[*at..=*at])).is_err();
    (theirs, (0..lines.len()).filter(is_refused).collect())
}

#[test]
#[ignore = "needs ptxas 13.0: PTXAS names it; takes minutes"]
fn the_list_of_instructions_says_what_ptxas_says() {
    let facts = since_support::facts();
    let lines: Vec<String> = facts.iter().map(|fact| fact.instruction.to_owned()).collect();
    for header in since_support::edges() {
        let (theirs, ours) = refused_under(header, &lines);
        for (at, fact) in facts.iter().enumerate() {
            let says = !fact.holds_under(header);
            assert_eq!((says, says), (theirs.contains(&at), ours.contains(&at)), "{header:?}: {}", lines[at]);
        }
    }
}

#[test]
#[ignore = "needs ptxas 13.0: PTXAS names it; takes many minutes"]
fn arithmetic_is_too_new_for_a_header_where_ptxas_says_so() {
    let mut lines: Vec<String> = numeric_table::table().0.iter().map(arithmetic).collect();
    lines.retain(|line| !line.contains('\n'));
    let (mut taken, mut different) = (0, Vec::new());
    let headers = since_support::edges();
    for header in &headers {
        let (theirs, ours) = refused_under(*header, &lines);
        taken += lines.len() - theirs.len();
        let differs = theirs.symmetric_difference(&ours);
        different.extend(differs.map(|&at| format!("{header:?}: {}", lines[at])));
    }
    let total = headers.len() * lines.len();
    println!(
        "{} instructions, {total} verdicts, {taken} times taken, {} differ",
        lines.len(),
        different.len()
    );
    println!("{}", different.join("\n"));
    assert!(different.is_empty());
}
