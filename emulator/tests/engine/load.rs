//! What is refused when a module is loaded, and that nothing makes the loader or decoder panic.

use std::sync::Arc;

use cuda_emulator::engine::{Launch, LoadFailureKind, Program, instruction_forms, run};
use cuda_emulator::memory::Memory;

use crate::support::HEADER;

fn failure(text: &str) -> (LoadFailureKind, u32, String) {
    let memory = Arc::new(Memory::new(1 << 20));
    let failure = Program::load(text, &memory).err().unwrap_or_else(|| panic!("accepted: {text}"));
    assert_eq!(memory.used(), 0, "a refused module leaves nothing behind");
    (failure.kind, failure.line, failure.message)
}

#[test]
fn refused_modules() {
    use LoadFailureKind::{Duplicate, NotPtx, OutOfMemory, Syntax, Target, Unresolved, Unsupported, Version};
    let with = |body: &str| failure(&format!("{HEADER}{body}"));
    assert_eq!(failure("no ptx").0, NotPtx);
    assert_eq!(failure("").0, NotPtx);
    assert_eq!(failure(".version 9.6\n.target sm_90\n.address_size 64\n").0, Version);
    assert_eq!(failure(".version 9.0\n.target sm_100\n.address_size 64\n").0, Target);
    assert_eq!(failure(".version 9.0\n.target gfx90\n.address_size 64\n").0, Target);
    assert_eq!(failure(".version 9.0\n.target sm_90\n.address_size 32\n").0, Unsupported);
    let (kind, line, message) = with(".visible .entry k() {\n.reg .b32 %r<2>;\nadd.u32 %r1, %r1\nret; }");
    assert_eq!((kind, line), (Syntax, 7), "{message}");
    let (kind, line, message) = with(".visible .entry k() {\nret;\nfrobnicate.u32 5;\n}");
    assert_eq!((kind, line), (Syntax, 6));
    assert_eq!(message, "`frobnicate.u32` is not a PTX instruction");
    let (kind, line, message) = with(".extern .func f();\n.visible .entry k() {\ncall f;\nret; }");
    assert_eq!((kind, line), (Unresolved, 6));
    assert!(message.contains("`f`"));
    assert_eq!(with(".extern .global .u32 x[];\n").0, Unresolved, "of no known length");
    assert_eq!(with(".global .u64 x = nobody;\n").0, Unresolved);
    assert_eq!(with(".visible .entry k() { ret; }\n.visible .entry k() { ret; }").0, Duplicate);
    assert_eq!(with(".global .u32 x;\n.global .u32 x;\n").0, Duplicate);
    assert_eq!(with(".global .b8 x[2000000];\n").0, OutOfMemory);
    assert_eq!(with(".global .u32 y;\n.global .b8 x[2000000];\n").0, OutOfMemory);
}

#[test]
fn accepted_modules() {
    let memory = Arc::new(Memory::new(1 << 20));
    for version in ["1.0", "6.0", "7.8", "9.0"] {
        for target in ["sm_50", "sm_75", "sm_90", "sm_90a", "sm_80, debug"] {
            let text = format!(
                ".version {version}\n.target {target}\n.address_size 64\n.entry k() {{ ret; }}\n\0\0"
            );
            let program = Program::load(&text, &memory).unwrap();
            assert_eq!(program.kernels().collect::<Vec<_>>(), ["k"]);
            assert!(program.kernel("other").is_none());
        }
    }
    // Functions are no kernels.
    let program = Program::load(&format!("{HEADER}.visible .func f() {{ ret; }}"), &memory).unwrap();
    assert!(program.kernel("f").is_none() && program.kernels().next().is_none());
}

#[test]
fn the_table_documents_itself() {
    let forms: Vec<&str> = instruction_forms().map(|form| form.pattern).collect();
    assert!(forms.len() > 200);
    assert!(forms.contains(&"add.{u16|s16|u32|s32|u64|s64}"));
    let mut sorted = forms.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), forms.len(), "a pattern stands twice");
    for form in forms {
        assert_eq!(form.matches('[').count(), form.matches(']').count(), "{form}");
        assert_eq!(form.matches('{').count(), form.matches('}').count(), "{form}");
    }
}

/// Texts near to real ones: whatever they are, loading, decoding and running ends without a panic.
#[test]
fn mutated_modules_do_not_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/kernels");
    let names = [
        "calls",
        "control",
        "warp",
        "atomics",
        "local",
        "shared",
        "conversions",
        "clusters",
        "handwritten/syntax",
    ];
    let texts: Vec<String> =
        names.iter().map(|name| std::fs::read_to_string(format!("{folder}/{name}.ptx")).unwrap()).collect();
    let pieces: Vec<&str> = texts.iter().flat_map(|text| text.split_inclusive([' ', '\n', ','])).collect();
    for round in 0..400 {
        let mut text = texts[round % texts.len()].clone();
        for _ in 0..=random(4) {
            let at = (0..).map(|_| random(text.len())).find(|at| text.is_char_boundary(*at)).unwrap();
            let end = (at + random(12)).min(text.len());
            match random(3) {
                0 if text.is_char_boundary(end) => text.replace_range(at..end, ""),
                1 => text.insert_str(at, pieces[random(pieces.len())]),
                _ => {
                    // One piece in the place of another keeps the text well formed more often.
                    let start = text[..at].rfind([' ', '\n', ',']).map_or(0, |start| start + 1);
                    let end = text[at..].find([' ', '\n', ',']).map_or(text.len(), |end| at + end + 1);
                    text.replace_range(start..end, pieces[random(pieces.len())]);
                }
            }
        }
        let memory = Arc::new(Memory::new(1 << 24));
        let Ok(program) = Program::load(&text, &memory) else { continue };
        for name in program.kernels() {
            if let Some(kernel) = program.kernel(name) {
                // Every pointer is null: kernels end at their first access, at the latest.
                let launch = Launch { block: [40, 1, 1], ..Launch::default() };
                if !text.contains("spin") && round % 4 == 0 && kernel.unsupported().next().is_some() {
                    let _ = run(&kernel, &launch, &memory, 1);
                }
            }
        }
    }
}
