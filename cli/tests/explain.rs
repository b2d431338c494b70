//! `cuda-launch emulate --explain`: each reason is found in a program that has it, and none in one that has not.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::path::Path;
use support::{compiled, emulator_library, finished, root, scratch, tool};

/// What is in the way of a program: kinds and files, and the text for people.
fn explained(program: &[&str]) -> (Vec<(String, String)>, String) {
    explained_on("sm_90", program)
}

/// The same for a device of that architecture.
fn explained_on(arch: &str, program: &[&str]) -> (Vec<(String, String)>, String) {
    let start = |options: &[&str]| {
        let mut command = tool();
        command.args(["emulate", "--explain", "--arch", arch]).args(options).arg("--").args(program);
        finished(&command.output().unwrap())
    };
    let answer: Value = serde_json::from_str(&start(&["--json"]).out).unwrap();
    let words = |reason: &Value, field: &str| reason[field].as_str().unwrap().to_owned();
    let reasons = answer["explanation"].as_array().unwrap();
    let kinds = reasons.iter().map(|reason| (words(reason, "kind"), words(reason, "subject"))).collect();
    (kinds, start(&[]).err)
}

/// A cubin alone in a fatbin.
fn machine_code() -> Vec<u8> {
    alone(2, 89, &std::fs::read(root().join("ptx/tests/data/archs.sm_89.cubin")).unwrap())
}

/// PTX alone in a fatbin.
fn ptx_for(sm: u8) -> Vec<u8> {
    alone(
        1,
        sm,
        format!(".version 7.8\n.target sm_{sm}\n.address_size 64\n.entry k() {{ ret; }}\n").as_bytes(),
    )
}

/// A fatbin of one entry, of a kind and an architecture.
fn alone(kind: u8, sm: u8, content: &[u8]) -> Vec<u8> {
    let mut body = vec![0; 64];
    body[..8].copy_from_slice(&[kind, 0, 1, 1, 64, 0, 0, 0]);
    body[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
    body[28] = sm;
    body.extend(content);
    [&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0], &(body.len() as u64).to_le_bytes()[..], &body].concat()
}

/// C with fatbins where nvcc puts them, one after the other.
fn with_kernels(folder: &Path, source: &str, fatbins: &[Vec<u8>]) -> String {
    let lines: String = fatbins
        .iter()
        .enumerate()
        .map(|(at, bytes)| {
            let file = folder.join(format!("{at}-{}.fatbin", bytes.len()));
            std::fs::write(&file, bytes).unwrap();
            format!(".p2align 3\\n.incbin \\\"{}\\\"\\n", file.display())
        })
        .collect();
    format!("__asm__(\".section .nv_fatbin,\\\"a\\\"\\n{lines}.text\\n\");\n{source}")
}

/// What nvcc leaves where a program launches by the runtime.
const REGISTERED: &str =
    "__attribute__((section(\".nvFatBinSegment\"), used)) static int registered[6] = {1};\n";
const MAIN: &str = "int main(void) { return 0; }\n";

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_program_of_the_runtime_without_ptx_has_two_reasons() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("explain-runtime");
    let with_ptx = std::fs::read(root().join("ptx/tests/data/basic.lz4.fatbin")).unwrap();
    let source = with_kernels(&folder, &format!("{REGISTERED}{MAIN}"), &[with_ptx.clone(), machine_code()]);
    let Some(program) = compiled(&folder, "both", &source, &[]) else { return };
    let program = text(&program);
    let (kinds, said) = explained(&[&program]);
    assert_eq!(kinds, [("runtime".to_owned(), program.clone()), ("no-ptx".to_owned(), program)], "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["(nvcc links it statically)", "machine code only, for sm_89", "nvcc --ptx", "code=compute_90"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    // PTX in each, and no runtime.
    let source = with_kernels(&folder, MAIN, &[with_ptx.clone(), with_ptx]);
    let plain = compiled(&folder, "plain", &source, &[]).unwrap();
    let (kinds, said) = explained(&[&text(&plain)]);
    assert!(kinds.is_empty() && said.contains("nothing was found"), "{kinds:?} {said}");
    // Not for an older device.
    let newer = with_kernels(&folder, MAIN, &[ptx_for(90)]);
    let newer = text(&compiled(&folder, "newer", &newer, &[]).unwrap());
    assert!(explained(&[&newer]).0.is_empty());
    let (kinds, said) = explained_on("sm_86", &[&newer]);
    assert_eq!(kinds, [("no-ptx".to_owned(), newer)], "{said}");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("its PTX is for sm_90, which sm_86 does not run"), "{said}");
    assert!(said.contains("code=compute_86"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// What a program opens while it runs counts, however it names it.
#[test]
fn libraries_that_a_program_loads_are_looked_into() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("explain-libraries");
    let source = with_kernels(&folder, "int kernels;\n", &[machine_code()]);
    let Some(kernels) = compiled(&folder, "libkernels.so", &source, &["-shared", "-fPIC"]) else { return };
    let runtime = compiled(&folder, "libcudart.so.13", "int cudart;\n", &["-shared", "-fPIC"]).unwrap();
    let source = "#include <dlfcn.h>\nint main(int count, char **names) { while (--count) if (!dlopen(names[count], RTLD_NOW)) return 1; return 0; }\n";
    let program = text(&compiled(&folder, "opens", source, &[]).unwrap());
    let (kinds, said) = explained(&[&program, &text(&kernels)]);
    assert_eq!(kinds, [("no-ptx".to_owned(), text(&kernels))], "{said}");
    let (kinds, said) = explained(&[&program, &text(&runtime)]);
    assert_eq!(kinds, [("runtime".to_owned(), text(&runtime))], "{said}");
    // The runtime inside another library, as some packages have it.
    let inside = "const char *constant(void) { return \"/cudart.shm.%x\"; }\n";
    let inside = compiled(&folder, "libinside.so", inside, &["-shared", "-fPIC"]).unwrap();
    let (kinds, said) = explained(&[&program, &text(&inside)]);
    assert_eq!(kinds, [("runtime".to_owned(), text(&inside))], "{said}");
    // In a process that the program starts, too.
    let (kinds, _) = explained(&["sh", "-c", &format!("{program} {}; true", text(&kernels))]);
    assert_eq!(kinds, [("no-ptx".to_owned(), text(&kernels))]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_loads_nothing_is_told() {
    if emulator_library().is_none() {
        return;
    }
    let folder = scratch("explain-static");
    let file = folder.join("static.c");
    std::fs::write(&file, MAIN).unwrap();
    let program = folder.join("static");
    let made = std::process::Command::new("cc").args(["-static", "-o"]).arg(&program).arg(&file).output();
    let made = made.ok().filter(|made| made.status.success());
    if cuda_harness::or_skip(made, "no static C library here").is_some() {
        let (kinds, said) = explained(&[&text(&program)]);
        assert_eq!(kinds, [("not-reached".to_owned(), text(&program))], "{said}");
        assert!(said.contains("link it dynamically"), "{said}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
