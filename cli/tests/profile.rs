//! `cuda-launch profile`: what each line of a kernel does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use serde_json::Value;
use std::fs;
use support::{finished, json, root, run, run_in, scratch, tool};

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

#[test]
fn a_page_and_a_report_of_coverage_are_written() {
    let folder = scratch("profile");
    let (page, report) = (folder.join("page.html"), folder.join("report.info"));
    let names = [page.to_str().unwrap(), report.to_str().unwrap()];
    let done = run(&transpose("examples/kernels/transpose.ptx", &["--html", names[0], "--lcov", names[1]]));
    assert_eq!(done.code, 0, "{}", done.err);
    let (page, report) = (fs::read_to_string(page).unwrap(), fs::read_to_string(report).unwrap());
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n") && !page.contains("http"));
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
}
