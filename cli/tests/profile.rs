//! `cuda-launch profile`: what each line of a kernel does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "profile/ncu.rs"]
mod ncu;
mod support;

use cuda_harness::{or_skip, skipped};
use serde_json::Value;
use std::fs;
use std::process::Command;
use support::{TOOL, finished, json, recorder, root, run, run_in, scratch, tool};

const TRANSPOSE: &[&str] = &[
    "--arg",
    "out:f32:1024",
    "--arg",
    "in:f32:0..1024",
    "--arg",
    "u32:32",
    "--arg",
    "u32:32",
    "--grid",
    "1",
    "--block",
    "32,8",
];

fn transpose<'a>(file: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["profile", file, "transpose"], TRANSPOSE, rest].concat()
}

/// The one line that has this text.
fn line<'a>(answer: &'a Value, text: &str) -> &'a Value {
    let lines = answer["lines"].as_array().unwrap();
    lines
        .iter()
        .find(|line| line["text"].as_str().unwrap().contains(text))
        .unwrap_or_else(|| panic!("{answer:#}"))
}

#[test]
fn each_line_of_the_ptx_is_counted() {
    let (code, answer) = json(&transpose("examples/kernels/transpose.ptx", &[]));
    assert_eq!(
        (code, &answer["schema"], &answer["fault"]),
        (0, &"cuda-launch.profile.1".into(), &Value::Null)
    );
    assert_eq!((&answer["blocks"], &answer["threads"]), (&1.into(), &256.into()));
    // 8 warps, each of 4 rows of 128 bytes: four sectors and one pass over the banks, as good as can be.
    let store = line(&answer, "st.shared.f32");
    assert_eq!((&store["shared_wavefronts"], &store["shared_requests"]), (&store["warps"], &store["warps"]));
    let total = &answer["total"];
    assert_eq!(
        (&total["global_sectors"], &total["global_sectors_ideal"]),
        (&(2 * 32 * 4).into(), &(2 * 32 * 4).into())
    );
    assert_eq!(total["global_bytes"], 2 * 4096);
}

#[test]
fn lines_of_the_source_are_told_where_the_image_names_them() {
    let source = transpose("tests/kernels/lineinfo/transpose.ptx", &[]);
    let (_, answer) = json(&source);
    let file = answer["lines"][0]["file"].as_str().unwrap();
    assert!(file.ends_with("transpose.cu"), "{file}");
    let (_, ptx) = json(&transpose("tests/kernels/lineinfo/transpose.ptx", &["--ptx"]));
    assert!(ptx["lines"][0]["file"].is_null() && ptx["total"] == answer["total"]);
    let text = run_in(80, &source);
    assert!(text.code == 0 && text.out.contains("bank conflicts") && text.out.contains(file), "{}", text.out);
}

/// Compiled by rustc; the source lies beside the image.
#[test]
fn lines_of_rust_are_told() {
    let structure = format!("hex:{}", "00".repeat(32));
    let arguments = ["inout:u32:4*0", &structure, "u32:4", "in:f32:1", "u64:0"];
    let arguments: Vec<&str> = arguments.iter().flat_map(|argument| ["--arg", argument]).collect();
    let launch = ["profile", "ptx/tests/data/rust.debug.ptx", "choose", "--grid", "1", "--block", "32"];
    let (code, answer) = json(&[&launch, &arguments[..]].concat());
    assert_eq!(code, 0);
    let [chosen, other] = ["4 => *p = 3,", "5 => *(p as *mut u64) = s.b,"].map(|text| line(&answer, text));
    assert!(chosen["file"].as_str().unwrap().ends_with("rust.rs") && chosen["line"] == 75, "{chosen}");
    // `st.global.u32` and the branch behind it.
    assert_eq!((&chosen["warps"], &chosen["threads"]), (&2.into(), &64.into()));
    assert_eq!(other["warps"], 0);
}

/// A source may be in an older encoding than UTF-8.
#[test]
fn a_source_that_is_not_utf8_is_shown() {
    let folder = scratch("profile-latin");
    let kernels = root().join("tests/kernels");
    let image = folder.join("transpose.ptx");
    std::fs::copy(kernels.join("lineinfo/transpose.ptx"), &image).unwrap();
    let source = [&b"// \xfcber\n"[..], b"the second line\n"].concat();
    let lines: Vec<u8> = (0..200)
        .flat_map(|number: u32| [&source[..], format!("line {number}\n").as_bytes()].concat())
        .collect();
    std::fs::write(folder.join("transpose.cu"), lines).unwrap();
    let (code, answer) = json(&transpose(image.to_str().unwrap(), &[]));
    let texts: Vec<&str> =
        answer["lines"].as_array().unwrap().iter().filter_map(|line| line["text"].as_str()).collect();
    assert!(
        code == 0 && texts.contains(&"// \u{fffd}ber") && texts.contains(&"the second line"),
        "{texts:?}"
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// In the terminal, in JSON and in the page, and once each.
#[test]
fn a_source_that_is_missing_is_named_with_what_to_do() {
    let folder = scratch("profile-missing");
    let image = folder.join("transpose.ptx");
    let text = fs::read_to_string(root().join("tests/kernels/lineinfo/transpose.ptx")).unwrap();
    let (named, file) =
        text.lines().filter_map(|line| line.split_once(".file")?.1.split_once('"')).next().unwrap();
    let file = file.split('"').next().unwrap();
    let text = text.replace(&format!("{named}\"{file}"), &format!("{named}\"/nowhere/transpose.cu"));
    fs::write(&image, text).unwrap();
    let (image, page) = (image.to_str().unwrap(), folder.join("page.html"));
    let options = ["--html", page.to_str().unwrap()];
    let (code, answer) = json(&transpose(image, &options));
    assert_eq!(
        (code, &answer["missing_sources"]),
        (0, &serde_json::json!([{ "file": "/nowhere/transpose.cu", "why": "not found" }]))
    );
    let words = "/nowhere/transpose.cu (not found): the lines have counts, and no text; copy the files to the folder of the image, or list the PTX with --ptx";
    let terminal = run(&transpose(image, &[])).out;
    let terminal = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = fs::read_to_string(page).unwrap();
    assert_eq!((terminal.matches(words).count(), page.matches(words).count()), (1, 1), "{terminal}");
    // The lines of the PTX are there.
    let (_, answer) = json(&transpose(image, &["--ptx"]));
    assert_eq!(answer["missing_sources"], serde_json::json!([]));
    // It is found beside the image.
    fs::write(folder.join("transpose.cu"), "text\n".repeat(100)).unwrap();
    let (_, answer) = json(&transpose(image, &[]));
    assert_eq!(
        (&answer["missing_sources"], &answer["lines"][0]["text"]),
        (&serde_json::json!([]), &"text".into())
    );
    // But not if it is too large.
    fs::write(folder.join("transpose.cu"), vec![b'\n'; (4 << 20) + 1]).unwrap();
    let (_, answer) = json(&transpose(image, &[]));
    assert_eq!(answer["missing_sources"][0]["why"], "over the limit of 4194304 bytes");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_page_and_a_report_of_coverage_are_written() {
    let folder = scratch("profile");
    let (page, report) = (folder.join("page.html"), folder.join("report.info"));
    let names = [page.to_str().unwrap(), report.to_str().unwrap()];
    let done = run(&transpose("examples/kernels/transpose.ptx", &["--html", names[0], "--lcov", names[1]]));
    assert_eq!(done.code, 0, "{}", done.err);
    let (page, report) = (fs::read_to_string(page).unwrap(), fs::read_to_string(report).unwrap());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    // The name of SVG is no address that is opened.
    assert!(!page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").contains("http"), "{page}");
    // Nothing that only a terminal understands.
    assert!(page.contains("<p>transpose on cuda-launch emulator") && !page.contains('\u{fffd}'), "{page}");
    assert!(page.contains("<h3>Argument 0</h3>") && page.contains("<rect class=\"heat\""), "{page}");
    assert!(report.contains("examples/kernels/transpose.ptx\n") && report.contains("\nBRDA:"), "{report}");
    let lines = report.lines().filter(|line| line.starts_with("DA:")).count();
    assert!(report.contains(&format!("\nLF:{lines}\n")), "{report}");
}

#[test]
fn what_cannot_be_is_refused_and_a_fault_is_told() {
    let check = run(&transpose("examples/kernels/transpose.ptx", &["--check"]));
    assert!(check.code == 2 && check.err.contains("cuda-launch run"), "{}", check.err);
    let gpu = run(&transpose("examples/kernels/transpose.ptx", &["--driver", "system"]));
    assert!(gpu.code == 2 && gpu.err.contains("profile runs on the emulator"), "{}", gpu.err);
    let nowhere = run(&transpose("examples/kernels/transpose.ptx", &["--html", "/nowhere/at/all.html"]));
    assert_eq!(nowhere.code, 3, "{}", nowhere.err);
    // One element too few.
    let short = ["profile", "examples/kernels/transpose.ptx", "transpose", "--arg", "out:f32:1023"];
    let (code, answer) = json(&[&short[..], &TRANSPOSE[2..]].concat());
    assert_eq!(code, 1);
    assert!(answer["fault"].as_str().unwrap().contains("illegal write"), "{answer:#}");
    assert!(answer["total"]["warps"].as_u64().unwrap() > 0);
}

/// A process without `profile`, as a test run is.
#[test]
fn the_coverage_of_a_program_is_written_when_it_ends() {
    let folder = scratch("coverage");
    let mut program = tool();
    program.args(["run", "examples/kernels/transpose.ptx", "transpose"]).args(TRANSPOSE).current_dir(root());
    program.env("CUDA_LAUNCH_EMULATOR_COVERAGE", &folder);
    let done = finished(&program.output().unwrap());
    assert_eq!(done.code, 0, "{}", done.err);
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    let of =
        |extension: &str| files.iter().find(|file| file.extension().is_some_and(|e| e == extension)).unwrap();
    assert_eq!(files.len(), 2, "{files:?}");
    let (report, ptx) = (fs::read_to_string(of("info")).unwrap(), of("ptx"));
    // The text that was loaded lies beside the report, which names it.
    assert_eq!(fs::read(ptx).unwrap(), fs::read(root().join("examples/kernels/transpose.ptx")).unwrap());
    let named = fs::canonicalize(ptx).unwrap();
    assert!(report.contains(&format!("SF:{}\n", named.display())), "{report}");
    assert!(report.contains("FNDA:8,transpose\n") && report.contains("end_of_record\n"), "{report}");
    let Ok(genhtml) = Command::new("genhtml").arg("--version").output() else {
        return skipped("there is no genhtml here");
    };
    let pages = folder.join("report");
    let mut genhtml_of = Command::new("genhtml");
    genhtml_of.args(["--branch-coverage", "--output-directory"]).arg(&pages).arg(of("info"));
    let made = genhtml_of.output().unwrap();
    let told = format!("{genhtml:?} {made:?}");
    assert!(made.status.success(), "{told}");
    let page = format!("{}.gcov.html", ptx.file_name().unwrap().to_str().unwrap());
    let mut folders = vec![pages];
    let found = loop {
        let Some(folder) = folders.pop() else { panic!("no {page}: {told}") };
        let entries = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        if let Some(found) = entries().find(|path| path.file_name().unwrap() == page.as_str()) {
            break fs::read_to_string(found).unwrap();
        }
        folders.extend(entries().filter(|path| path.is_dir()));
    };
    // A line of the kernel, with the number of warps that ran it.
    assert!(found.contains("st.global.f32"), "{found}");
}

/// The kernel prints before it loops forever, so that the signal comes while it runs.
#[cfg(unix)]
#[test]
fn what_was_counted_before_an_interrupt_is_shown_and_written() {
    use std::io::{BufRead, BufReader, Read};
    let folder = scratch("interrupt");
    let [file, page, saved] = ["k.ptx", "page.html", "out.npy"].map(|name| folder.join(name));
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
                .global .align 1 .b8 begun[7] = {98, 101, 103, 117, 110, 10, 0};\n.visible .entry k(.param .u64 p)\n{\n\
                .reg .b64 %a; .reg .b32 %n;\nmov.u64 %a, begun; cvta.global.u64 %a, %a;\n\
                { .param .b64 f; .param .b64 v; .param .b32 r; st.param.b64 [f], %a; st.param.b64 [v], 0; call.uni (r), vprintf, (f, v); }\n\
                LOOP: add.u32 %n, %n, 1;\nbra LOOP;\nret;\n}\n";
    fs::write(&file, text).unwrap();
    let mut command = tool();
    command.arg("profile").arg(&file).args([
        "k",
        "--arg",
        &format!("out:u32:1@{}", saved.display()),
        "--html",
    ]);
    command.arg(&page).args(["--block", "1"]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert_eq!(first, "begun\n");
    // Not SIGINT, which programs that a shell has put into the background ignore.
    let done = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
    let mut shown = String::new();
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{shown}");
    assert!(shown.contains("interrupted by a signal") && shown.contains("LOOP: add.u32"), "{shown}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("interrupted by a signal") && page.ends_with("</html>\n"), "{page}");
    assert!(!saved.exists());
}

/// Two blocks of 64 threads, with something of all that is counted.
const ALL: &str = ".version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %a, %b; .reg .b32 %t, %r; .reg .f32 %f; .reg .f64 %d; .reg .pred %p, %q; .local .align 8 .b8 own[8]; .shared .align 8 .b8 tile[8192];
ld.param.u64 %a, [p];
mov.u32 %t, %tid.x;
mul.wide.u32 %b, %t, 8;
add.u64 %b, %a, %b;
ld.global.f32 %f, [%b];
fma.rn.f32 %f, %f, %f, %f;
cvt.f64.f32 %d, %f;
add.f64 %d, %d, %d;
setp.lt.u32 %p, %t, 8;
@%p bra SKIP;
mov.u32 %r, tile;
mad.lo.u32 %r, %t, 128, %r;
st.shared.u32 [%r], %t;
SKIP: st.local.u32 [own], %t;
setp.ge.u32 %q, %t, 32;
@%q bra MEET;
add.u32 %r, %t, 1;
add.u32 %r, %t, 2;
MEET: bar.sync 0;
red.global.add.u32 [%a], 1;
@%p add.u32 %r, %t, 3;
ret;
}
";

/// Every number that the command tells of a kernel, by hand.
#[test]
fn each_number_is_where_its_name_is() {
    let file = scratch("numbers").join("k.ptx");
    fs::write(&file, ALL).unwrap();
    let arguments =
        ["profile", file.to_str().unwrap(), "k", "--arg", "inout:u32:128*0", "--grid", "2", "--block", "64"];
    let (code, answer) = json(&arguments);
    let expected = [
        // 20 instructions of each of four warps, and 2 more of two of them; 8 threads skip 3, whose warp goes both ways.
        ("warps", 4 * 20 + 2 * 2),
        ("threads", 128 * 20 - 2 * 8 * 3 + 64 * 2),
        // Those of the branches jump, 8 and 32 of each 64; the 8 of each block also do the last addition.
        ("threads_on", 128 * 17 - 2 * 8 * 3 + 64 * 2 + 2 * (8 + 32) + 2 * 8),
        ("taken", 2 * (8 + 32)),
        ("not_taken", 2 * (56 + 32)),
        ("divergent", 2),
        ("global_requests", 4 + 4),
        // Floats that are 8 bytes apart; a number that all update.
        ("global_sectors", 4 * 8 + 4),
        ("global_sectors_ideal", 4 * 4 + 4),
        ("global_bytes", 2 * 128 * 4),
        ("shared_requests", 4),
        // All threads in one bank: 24 of the warp of which 8 skip, and 32 of the other.
        ("shared_wavefronts", 2 * (24 + 32)),
        ("shared_wavefronts_ideal", 4),
        ("shared_bytes", 2 * 56 * 4),
        ("local_requests", 4),
        ("local_bytes", 128 * 4),
        // The second warp of a block waits for the two instructions that only the first executes.
        ("barrier_wait", 2 * 2),
        ("collisions", 4 * 31),
    ];
    for (name, expected) in expected {
        assert_eq!(answer["total"][name], expected, "{name}");
    }
    assert_eq!((code, &answer["launches"], &answer["blocks"]), (0, &1.into(), &2.into()));
    assert_eq!((&answer["threads"], answer["not_covered"].as_array().unwrap().len()), (&128.into(), 0));
    // Four instructions on integers by all, one by those that do not skip, two by half of them, and one by 8 of each block.
    let integer = 4 * 128 + 2 * 56 + 2 * 64 + 2 * 8;
    let operations = serde_json::json!({
        "f64": 128, "f32": 256, "f16": 0, "matrix": 0, "matrix_f64": 0, "matrix_tf32": 0, "matrix_f16": 0, "matrix_f8": 0,
        "matrix_i8": 0, "matrix_narrow": 0, "integer": integer, "bit": 0, "conversion": 128,
    });
    assert_eq!(
        (&answer["operations"], &answer["operations_per_byte"]),
        (&operations, &(384.0 / 1152.0).into())
    );
    let fma = line(&answer, "fma.rn");
    assert_eq!(
        (&fma["operations"]["f32"], &fma["line"], &fma["function"]),
        (&256.into(), &12.into(), &Value::Null)
    );
    assert_eq!(line(&answer, "ld.param")["function"], "k");
    let memory = &answer["allocations"][0];
    assert_eq!((&memory["bytes"], &memory["column_time"]), (&512.into(), &1.into()));
    let found = |map: &str| -> Vec<(usize, u64)> {
        let cells = memory[map].as_array().unwrap().iter().map(|cell| cell.as_u64().unwrap()).enumerate();
        cells.filter(|(_, sectors)| *sectors > 0).collect()
    };
    // The fifth instruction reads, in both warps of a block. The 20th updates: of the second warp it is the 18th, which has waited for two.
    let times = [0, 32].map(|row| [(64 * row + 5, 16), (64 * row + 20, 2)]);
    assert_eq!(found("by_time"), times.concat());
    // 16 sectors, four columns each; the first is read by one warp, and updated by both.
    let places = [0, 32]
        .map(|row| (0..16).map(move |sector| (64 * row + 4 * sector, if sector == 0 { 3 } else { 1 })));
    assert_eq!(found("by_place"), places.into_iter().flatten().collect::<Vec<_>>());

    let text = run_in(200, &arguments).out;
    for told in [
        "instructions: 84 by warps, 2640 by threads (guard on: 2352); 31.4 of 32 threads active",
        "branches: 8 by warps, 2 divergent (25.0 %)",
        "global memory: 8 accesses, 4.5 sectors each; 56 % of these were needed",
        "shared memory: 4 accesses, 108 bank conflicts",
        "local memory: 4 accesses, 512 bytes",
        "barriers: warps wait for 4 instructions of others, 5 % of their time",
        "atomics: 124 collisions of threads of a warp",
        "operations: 128 f64, 256 f32; 0.33 per byte of global memory",
        "other arithmetic: 768 integer, 128 conversion instructions",
        "roofline: on H200 SXM, memory is the limit: with 0.33 operations per byte at most 1.60 TFLOP/s without caches (4800 GB/s and 50.6 TFLOP/s meet at 10.5)",
    ] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    let cells = |code: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.ends_with(code)).unwrap_or_else(|| panic!("{text}"));
        line.trim_end_matches(code).split_whitespace().collect()
    };
    assert_eq!(cells("ld.global.f32 %f, [%b];"), ["11", "4", "32.0", "8.0/4.0"]);
    assert_eq!(cells("st.shared.u32 [%r], %t;"), ["19", "4", "28.0", "28.0/1.0"]);
    assert_eq!(cells("add.f64 %d, %d, %d;"), ["14", "4", "32.0", "128"]);
    // A branch and another instruction with a guard: those that come to it, and those whose guard holds.
    assert_eq!(cells("@%q bra MEET;"), ["22", "4", "32.0/16.0"]);
    assert_eq!(cells("@%p add.u32 %r, %t, 3;"), ["27", "4", "32.0/4.0"]);
    assert_eq!(cells("add.u32 %r, %t, 1;"), ["23", "2", "32.0"]);
    assert_eq!(cells("MEET: bar.sync 0;"), ["25", "4", "32.0", "4"]);
    assert_eq!(cells("red.global.add.u32 [%a], 1;"), ["26", "4", "32.0", "1.0/1.0", "124"]);
}

/// Where integers are most of a kernel there is a column for them; constants are told in the summary and on the page.
#[test]
fn integers_and_constants_are_told() {
    let folder = scratch("constants");
    let (file, page) = (folder.join("k.ptx"), folder.join("page.html"));
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n.const .align 4 .b32 table[32] = {5};\n\
                .visible .entry k(.param .u64 p)\n{\n.reg .b64 %a; .reg .b32 %t, %r;\nld.param.u64 %a, [p];\n\
                mov.u32 %t, %tid.x;\nld.const.u32 %r, [table];\nand.b32 %r, %r, 3; ADDS\n\
                st.global.u32 [%a], %r;\nret;\n}\n";
    fs::write(&file, text.replace("ADDS", &"add.u32 %r, %r, 2; ".repeat(6))).unwrap();
    let arguments = ["profile", file.to_str().unwrap(), "k", "--arg", "out:u32:1", "--block", "64", "--html"];
    let arguments = [&arguments[..], &[page.to_str().unwrap()]].concat();
    let shown = run_in(200, &arguments).out;
    for told in [
        "constants: 2 accesses, 256 bytes",
        "other arithmetic: 384 integer, 64 bit instructions",
        "integer: instructions of all threads on integers and bits",
    ] {
        assert!(shown.contains(told), "{told}\n{shown}");
    }
    let warp = ["profile", file.to_str().unwrap(), "k", "--arg", "out:u32:1", "--block", "32"];
    let one = run_in(200, &warp).out;
    for told in ["constants: 1 access, 128 bytes", "global memory: 1 access, 1.0 sectors each"] {
        assert!(one.contains(told), "{told}\n{one}");
    }
    let line = shown.lines().find(|line| line.contains("and.b32")).unwrap();
    assert_eq!(line.split_whitespace().take(4).collect::<Vec<_>>(), ["11", "14", "32.0", "448"]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<td>256 constant</td>") && page.contains("<td>256 global</td>"), "{page}");
    assert!(page.contains("<th>integer</th>"), "{page}");
}

/// Each case of `not covered`, and the roof.
#[test]
fn what_did_not_run_is_named_and_the_roof_is_told() {
    let file = scratch("uncovered").join("k.ptx");
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
                .reg .b64 %a; .reg .b32 %t; .reg .f32 %f; .reg .pred %p, %q;\nld.param.u64 %a, [p];\n\
                mov.u32 %t, %tid.x;\nsetp.ge.u32 %p, %t, 32;\n@%p bra OTHER;\nld.global.f32 %f, [%a];\n\
                fma.rn.f32 %f, %f, %f, %f; add.f32 %f, %f, %f;\nst.global.f32 [%a], %f;\n@!%p bra END;\n\
                OTHER: mov.u32 %t, 1;\nmov.u32 %t, 2;\nEND: ret;\n}\n";
    fs::write(&file, text).unwrap();
    let arguments = ["profile", file.to_str().unwrap(), "k", "--arg", "inout:f32:1", "--block", "32"];
    let (code, answer) = json(&[&arguments[..], &["--roof", "a100"]].concat());
    let uncovered = answer["not_covered"].as_array().unwrap();
    let of = |one: &Value| (one["first_line"].clone(), one["last_line"].clone(), one["branch"].clone());
    let expected =
        [(10, 10, Value::from("never-taken")), (14, 14, "always-taken".into()), (15, 16, Value::Null)];
    let expected = expected.map(|(first, last, branch)| (Value::from(first), Value::from(last), branch));
    assert_eq!((code, uncovered.iter().map(of).collect::<Vec<_>>()), (0, expected.to_vec()));
    // Two instructions on one line: three operations for each thread, one sector read and one written.
    assert_eq!(
        (&answer["operations"]["f32"], &line(&answer, "fma.rn")["operations"]["f32"]),
        (&96.into(), &96.into())
    );
    assert_eq!((&answer["operations_per_byte"], &answer["roof"]["limit"]), (&1.5.into(), &"memory".into()));
    assert_eq!(answer["roof"]["operations_per_second"], 1.5 * 2039e9);
    assert_eq!(answer["allocations"][0]["argument"], 0);
    let shown = run(&arguments).out;
    assert!(
        shown.contains("line 10 (the branch is never taken); line 14 (the branch is always taken); lines 15 to 16 (2 instructions)"),
        "{shown}"
    );
    let wrong = run(&[&arguments[..], &["--roof", "voodoo"]].concat());
    assert!(wrong.code == 2 && wrong.err.contains("h100"), "{}", wrong.err);
    // Without the option it is a GPU of the architecture.
    for (arch, gpu) in [
        ("sm_75", Some("t4")),
        ("sm_80", Some("a100")),
        ("sm_86", Some("rtx3090")),
        ("sm_89", Some("rtx4090")),
        ("sm_90", Some("h200")),
        ("sm_100", None),
        ("sm_120", None),
    ] {
        let roof = json(&[&arguments[..], &["--arch", arch]].concat()).1["roof"].clone();
        let reason = roof["reason"].as_str().unwrap_or_default();
        assert_eq!((roof["gpu"].as_str(), reason.is_empty()), (gpu, gpu.is_some()), "{roof}");
        assert!(
            gpu.is_some() || reason.contains(&format!("of a GPU with the architecture {arch}")),
            "{roof}"
        );
    }
    let shown = run(&[&arguments[..], &["--arch", "sm_120"]].concat()).out;
    assert!(shown.contains("roofline: not placed: no published peaks are known here"), "{shown}");
    let asked = json(&[&arguments[..], &["--arch", "sm_120", "--roof", "h100"]].concat()).1["roof"].clone();
    assert_eq!(
        (&asked["gpu"], &asked["limit"], &asked["reason"]),
        (&"h100".into(), &"memory".into(), &Value::Null)
    );
}

/// Integers have no place, and a GPU that is asked for is told why.
#[test]
fn a_kernel_without_a_place_in_the_roofline_says_why() {
    let copy = [
        "profile",
        "examples/kernels/strided_copy.ptx",
        "strided_copy",
        "--arg",
        "out:f32:32",
        "--arg",
        "in:f32:32*1",
    ];
    let copy = [&copy[..], &["--arg", "u32:32", "--arg", "u32:1", "--grid", "1", "--block", "32"]].concat();
    let shown = run(&copy).out;
    let why = "it has no operations on floating-point numbers";
    assert!(shown.contains(&format!("roofline: not placed on H200 SXM: {why}")), "{shown}");
    let asked = [&copy[..], &["--roof", "a100"]].concat();
    let shown = run(&asked).out;
    assert!(shown.contains(&format!("roofline: not placed on A100 SXM 80 GB: {why}")), "{shown}");
    let roof = json(&asked).1["roof"].clone();
    let expected = serde_json::json!({
        "gpu": "a100", "reason": why, "limit": null, "operations_per_second": null, "ridge": null,
    });
    assert_eq!(roof, expected);
}

/// They ran, whether or not a thread took them.
#[test]
fn returns_and_exits_with_a_guard_are_branches() {
    let folder = scratch("exits");
    let (file, report) = (folder.join("k.ptx"), folder.join("k.info"));
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\
                .reg .b32 %t; .reg .pred %p, %q;\nmov.u32 %t, %tid.x;\nsetp.ge.u32 %p, %t, 32;\nsetp.ge.u32 %q, %t, 8;\n\
                @%p ret;\n@%q exit;\n@!%p exit;\nadd.u32 %t, %t, 1;\nret;\n}\n";
    fs::write(&file, text).unwrap();
    let arguments = ["profile", file.to_str().unwrap(), "k", "--block", "32", "--lcov"];
    let shown = run(&[&arguments[..], &[report.to_str().unwrap()]].concat()).out;
    for told in [
        "instructions: 6 by warps, 168 by threads (guard on: 128); 28.0 of 32 threads active",
        "branches: 3 by warps, 1 divergent (33.3 %)",
        "not covered: line 10 (the return is never taken); line 12 (the exit is always taken); lines 13 to 14 (2 instructions)",
    ] {
        assert!(shown.contains(told), "{told}\n{shown}");
    }
    let report = fs::read_to_string(report).unwrap();
    let ways = "BRDA:10,0,0,0\nBRDA:10,0,1,32\nBRDA:11,0,0,24\nBRDA:11,0,1,8\nBRDA:12,0,0,8\nBRDA:12,0,1,0\nBRF:6\nBRH:4\n";
    assert!(report.contains(ways), "{report}");
    assert!(report.contains("DA:10,1\nDA:11,1\nDA:12,1\nDA:13,0\nDA:14,0\n"), "{report}");
}

/// A browser without a window, as its packages name it.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let runs =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success());
    or_skip(names.into_iter().find(runs), "there is no Chromium here")
}

/// The browser loads each page into frames as wide as a phone, in light and dark, and says whether it fits, how many words of its pictures
/// are cut off, and which colours it has.
#[test]
fn pages_fit_a_phone_and_follow_light_and_dark() {
    let Some(browser) = browser() else { return };
    let folder = scratch("browser");
    let (long, kernel, page) =
        (folder.join("long.ptx"), format!("k{}", "x".repeat(4095)), folder.join("page.html"));
    let (long, page) = (long.to_str().unwrap(), page.to_str().unwrap());
    let text = ".version 7.8\n.target sm_75\n.address_size 64\n";
    fs::write(long, format!("{text}.visible .entry {kernel}(.param .u64 p)\n{{\nret;\n}}\n")).unwrap();
    let matrix = "in:f32:1024*1";
    let launch: [&[&str]; 2] = [
        &[
            "examples/kernels/matmul.ptx",
            "matmul",
            "--arg",
            matrix,
            "--arg",
            matrix,
            "--arg",
            "out:f32:1024",
            "--arg",
            "u32:32",
            "--arg",
            "u32:32",
            "--arg",
            "u32:32",
            "--grid",
            "2,2",
            "--block",
            "16,16",
        ],
        &[long, &kernel, "--arg", "u64:0", "--grid", "1"],
    ];
    let mut pages = Vec::new();
    for launch in launch {
        let done = run(&[&["profile"], launch, &["--html", page]].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        pages.push(fs::read_to_string(page).unwrap());
    }
    if let Some(recorder) = recorder() {
        let mut trace = tool();
        trace
            .args(["trace", "-o", page, "--recorder"])
            .arg(recorder)
            .args(["--", TOOL, "run"])
            .args(launch[1]);
        assert_eq!(finished(&trace.output().unwrap()).code, 0);
        pages.push(fs::read_to_string(page).unwrap());
    }
    let frame = |page: &String, scheme: &str| {
        let page = page.replace('&', "&amp;").replace('"', "&quot;");
        format!(
            "<iframe style=\"width: 375px; border: 0; color-scheme: {scheme}\" srcdoc=\"{page}\"></iframe>\n"
        )
    };
    let frames: String =
        pages.iter().flat_map(|page| ["light", "dark"].map(|scheme| frame(page, scheme))).collect();
    let script = "onload = () => document.title = [...document.querySelectorAll('iframe')].map(frame => {
        const page = frame.contentDocument, style = frame.contentWindow.getComputedStyle(page.body);
        const cut = [...page.querySelectorAll('.picture text')].filter(text => {
            const box = text.getBBox(), view = text.ownerSVGElement.viewBox.baseVal;
            return box.x < view.x || box.x + box.width > view.x + view.width;
        });
        return [page.documentElement.scrollWidth <= frame.clientWidth, cut.length, style.color, style.backgroundColor].join('|');
    }).join('/')";
    let all = folder.join("all.html");
    fs::write(&all, format!("<!DOCTYPE html><body>{frames}<script>{script}</script></body>")).unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]);
    let profile = format!("--user-data-dir={}", folder.join("settings").display());
    let output = command.arg(profile).arg(format!("file://{}", all.display())).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    let title =
        shown.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let colours = ["rgb(28, 28, 30)|rgb(255, 255, 255)", "rgb(232, 232, 234)|rgb(24, 24, 27)"];
    let expected: Vec<String> =
        pages.iter().flat_map(|_| colours.map(|pair| format!("true|0|{pair}"))).collect();
    assert_eq!(title, expected.join("/"), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn targets_that_nobody_jumps_to_are_not_covered() {
    let file = scratch("targets").join("k.ptx");
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %t;\nmov.u32 %t, %tid.x;\n\
                T: .branchtargets A, B, C;\nbrx.idx %t, T;\nA: add.u32 %t, %t, 1;\nB: add.u32 %t, %t, 1;\nC: ret;\n}\n";
    fs::write(&file, text).unwrap();
    let shape = ["profile", file.to_str().unwrap(), "k", "--block", "1"];
    let (code, answer) = json(&shape);
    let expected = serde_json::json!([{
        "file": null, "first_line": 9, "last_line": 9, "instructions": null, "branch": "targets-never-taken", "targets": 2,
    }]);
    assert_eq!((code, &answer["not_covered"]), (0, &expected), "{answer:#}");
    let shown = run(&shape).out;
    assert!(shown.contains("line 9 (the branch never goes to 2 of its 3 targets)"), "{shown}");
}
