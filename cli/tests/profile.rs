//! `cuda-launch profile`: what each line of a kernel does.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_harness::or_skip;
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
    assert!(page.contains("Accesses to argument 0") && page.contains("<rect class=\"heat\""), "{page}");
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

/// The kernel prints before it loops for ever, so that the signal comes while it runs.
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
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
    let mut shown = String::new();
    out.read_to_string(&mut shown).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{shown}");
    assert!(shown.contains("interrupted by a signal") && shown.contains("LOOP: add.u32"), "{shown}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("interrupted by a signal") && page.ends_with("</html>\n"), "{page}");
    assert!(!saved.exists());
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
        (&answer["operations"]["f32"], &line(&answer, "fma.rn")["operations"]),
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
}

/// A browser without a window, as its packages name it.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let runs =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success());
    or_skip(names.into_iter().find(runs), "there is no Chromium here")
}

/// The browser loads each page into frames as wide as a phone, in light and dark, and says how wide it is there and which colours it has.
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
        return [page.documentElement.scrollWidth <= frame.clientWidth, style.color, style.backgroundColor].join('|');
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
        pages.iter().flat_map(|_| colours.map(|pair| format!("true|{pair}"))).collect();
    assert_eq!(title, expected.join("/"), "{}", String::from_utf8_lossy(&output.stderr));
}
