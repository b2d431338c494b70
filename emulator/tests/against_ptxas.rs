//! Whether lists of instructions are refused when a module is loaded where ptxas refuses them, and nowhere else. `mutate_ptx.rs` compares
//! changed files. Needs ptxas 13.0 (`pip install nvidia-cuda-nvcc==13.0.88`) and some minutes:
//!
//! `PTXAS=path cargo test -p cuda-emulator --test against_ptxas -- --ignored --nocapture`
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;
mod numeric_table;
mod since_support;

use cuda_emulator::Architecture;
use cuda_emulator::engine::{LoadFailureKind, Program};
use cuda_emulator::memory::Memory;
use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn loads(text: &str, device: Architecture) -> Result<(), String> {
    let memory = Arc::new(Memory::new(1 << 30).with_architecture(device));
    match Program::load(text, &memory) {
        Err(failure) if failure.kind != LoadFailureKind::Unsupported => Err(failure.to_string()),
        _ => Ok(()),
    }
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
    (ptxas, arch): (&str, &str),
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
            Command::new(ptxas).args(["-arch", arch, "-O0", "-o", "/dev/null"]).arg(&scratch).output();
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
    let refused = refused((&ptxas, "sm_90a"), &lines, 6, &|left| kernel(left));
    let mut different = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let ours = loads(&kernel(std::slice::from_ref(line)), Architecture::Sm90);
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
        let refused = refused((&ptxas, header.arch()), lines, since_support::FIRST, &module);
        refused.into_iter().map(move |at| 400 * chunk + at)
    });
    let theirs = chunks.collect();
    let is_refused = |at: &usize| loads(&module(&lines[*at..=*at]), header.device()).is_err();
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

/// Every way to put modifiers of conversions to and from small formats together, and of the arithmetic that came with `sm_100`.
fn newer() -> Vec<String> {
    const FORMATS: &[(&str, &str)] = &[
        ("f16x2", "%r"),
        ("bf16x2", "%r"),
        ("e4m3x2", "%h"),
        ("e5m2x2", "%h"),
        ("e2m1x2", "%c"),
        ("e2m3x2", "%h"),
        ("e3m2x2", "%h"),
        ("ue8m0x2", "%h"),
        ("s2f6x2", "%h"),
        ("e4m3x4", "%r"),
        ("e5m2x4", "%r"),
        ("e2m1x4", "%h"),
        ("e2m3x4", "%r"),
        ("e3m2x4", "%r"),
    ];
    const ROUNDINGS: &[&str] = &["", ".rn", ".rz", ".rm", ".rp", ".rs", ".rna"];
    let mut all = Vec::new();
    for (to, dest) in FORMATS {
        for (from, source) in [("f32", "%f")].iter().chain(FORMATS) {
            let sources = match (*from, to.ends_with("x4")) {
                ("f32", true) => "{%f2, %f3, %f4, %f5}".to_owned(),
                ("f32", false) => "%f2, %f3".to_owned(),
                _ => format!("{source}2"),
            };
            for rounding in ROUNDINGS {
                let random = if *rounding == ".rs" { ", %r9" } else { "" };
                for m in ["", ".relu", ".satfinite", ".satfinite.relu", ".ftz", ".sat"] {
                    all.push(format!("cvt{rounding}{m}.{to}.{from} {dest}1, {sources}{random};"));
                }
            }
        }
    }
    for rounding in ROUNDINGS {
        for m in ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".NaN", ".abs"] {
            for operation in ["add", "sub", "mul", "min", "max", "fma", "mad"] {
                let three = matches!(operation, "fma" | "mad");
                let name = format!("{operation}{rounding}{m}");
                all.push(format!("{name}.f32x2 %x1, %x2, %x3{};", if three { ", %x4" } else { "" }));
                for half in ["f16", "bf16"] {
                    let operands = if three { "%f1, %h2, %h3, %f4" } else { "%f1, %h2, %f3" };
                    all.push(format!("{name}.f32.{half} {operands};"));
                }
            }
        }
    }
    for ftz in ["", ".ftz"] {
        for nan in ["", ".NaN"] {
            for sign in ["", ".abs", ".xorsign", ".xorsign.abs"] {
                for operation in ["min", "max"] {
                    let name = format!("{operation}{ftz}{nan}{sign}");
                    all.push(format!("{name}.f32 %f1, %f2, %f3, %f4;"));
                    all.push(format!("{name}.f32 %f1, %f2, %f3;"));
                    all.push(format!("{name}.f64 %d1, %d2, %d3, %d4;"));
                    all.push(format!("{name}.f16 %h1, %h2, %h3, %h4;"));
                }
            }
        }
    }
    all
}

/// One of each kind with every kind of operand in every place.
fn operands_of_newer() -> Vec<String> {
    const KINDS: &[&str] = &[
        "%c7",
        "%h7",
        "%r7",
        "%f7",
        "%d7",
        "%x7",
        "%p7",
        "5",
        "1.5",
        "0f3f800000",
        "_",
        "{%f7, %f8}",
        "{%f5, %f6, %f7, %f8}",
        "{%r5, %f6, 1.5, %r8}",
        "{%f5, %f6, %f7, %x8}",
        "[%x7]",
        "END",
    ];
    let forms: &[(&str, &[&str])] = &[
        ("cvt.rn.satfinite.e2m1x2.f32", &["%c2", "%f2", "%f3"]),
        ("cvt.rn.satfinite.e2m1x2.f16x2", &["%c2", "%r2"]),
        ("cvt.rn.f16x2.e2m1x2", &["%r2", "%c2"]),
        ("cvt.rn.satfinite.e2m3x2.f32", &["%h2", "%f2", "%f3"]),
        ("cvt.rn.f16x2.e3m2x2", &["%r2", "%h2"]),
        ("cvt.rz.ue8m0x2.f32", &["%h2", "%f2", "%f3"]),
        ("cvt.rs.f16x2.f32", &["%r2", "%f2", "%f3", "%r3"]),
        ("cvt.rs.bf16x2.f32", &["%r2", "%f2", "%f3", "%r3"]),
        ("cvt.rn.satfinite.e4m3x2.f32", &["%h2", "%f2", "%f3"]),
        ("cvt.rn.satfinite.e4m3x2.f16x2", &["%h2", "%r3"]),
        ("cvt.rn.f16x2.e5m2x2", &["%r2", "%h3"]),
        ("cvt.rn.f16x2.f32", &["%r2", "%f2", "%f3"]),
        ("cvt.rz.bf16x2.f32", &["%r2", "%f2", "%f3"]),
        ("cvt.rs.satfinite.e4m3x4.f32", &["%r2", "{%f2, %f3, %f4, %f5}", "%r3"]),
        ("cvt.rs.satfinite.e2m1x4.f32", &["%h2", "{%f2, %f3, %f4, %f5}", "%r3"]),
        ("add.f32x2", &["%x2", "%x3", "%x4"]),
        ("fma.rn.f32x2", &["%x2", "%x3", "%x4", "%x5"]),
        ("add.f32.f16", &["%f2", "%h3", "%f4"]),
        ("sub.f32.bf16", &["%f2", "%h3", "%f4"]),
        ("fma.rn.f32.f16", &["%f2", "%h3", "%h5", "%f4"]),
        ("fma.rn.f32.bf16", &["%f2", "%h3", "%h5", "%f4"]),
        ("min.f32", &["%f2", "%f3", "%f5", "%f4"]),
    ];
    let mut all = Vec::new();
    for (name, operands) in forms {
        for at in 0..operands.len() {
            for kind in KINDS {
                let mut operands = operands.to_vec();
                operands[at] = kind;
                // ptxas crashes.
                if !(name.contains(".bf16x2.") && operands[0] == "_") {
                    all.push(format!("{name} {};", operands.join(", ")));
                }
            }
        }
    }
    all
}

#[test]
#[ignore = "needs ptxas 13.0: PTXAS names it; takes minutes"]
fn what_came_with_sm_100_is_taken_where_ptxas_takes_it() {
    let lines = newer();
    let (mut taken, mut different, mut count) = (0, Vec::new(), 0);
    let mut compare = |header: since_support::Header, lines: &[String]| {
        let (theirs, ours) = refused_under(header, lines);
        (count, taken) = (count + lines.len(), taken + lines.len() - theirs.len());
        let differs = theirs.symmetric_difference(&ours);
        different.extend(differs.map(|&at| format!("{header:?}: {}", lines[at])));
    };
    compare(since_support::Header { version: (9, 0), target: "sm_100a" }, &operands_of_newer());
    for header in since_support::edges().into_iter().filter(|header| header.version >= (8, 5)) {
        compare(header, &lines);
    }
    println!("{count} verdicts, {taken} times taken, {} differ\n{}", different.len(), different.join("\n"));
    assert!(taken > 1000 && different.is_empty());
}
