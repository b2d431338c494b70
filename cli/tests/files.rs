//! Files that cannot be read or written: found out before the work, up to a limit, and with what to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::path::Path;
#[cfg(unix)]
use std::process::Stdio;
use support::{finished, json, recorder, run, scratch, tool};

const VECADD: &str = "examples/kernels/vecadd.ptx";

/// Each way to a file that is not there, or not what it should be.
#[test]
fn errors_say_what_was_tried_and_what_to_do() {
    let folder = scratch("files-errors");
    let file = folder.join("file").display().to_string();
    std::fs::write(&file, "x").unwrap();
    let (below, deep) = (format!("{file}/below"), format!("{}/no/such", folder.display()));
    let from = |path: &str| format!("in:f32[]:@{path}");
    let to = |path: &str| format!("out:f32[]:1@{path}");
    let run_from = |path: &str| ["run", VECADD, "vecadd", "--arg", &from(path)].map(str::to_owned).to_vec();
    let run_to = |path: &str| {
        let plain = "in:f32[]:1";
        ["run", VECADD, "vecadd", "--arg", plain, "--arg", plain, "--arg", &to(path)]
            .map(str::to_owned)
            .to_vec()
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let here = folder.display().to_string();
    let cases: Vec<(Vec<String>, &str, String)> = vec![
        (words(&["inspect", &deep]), "cannot read", format!("{here} has no folder `no`")),
        (words(&["inspect", &format!("{here}/x.ptx")]), "cannot read", "has no such file `x.ptx`".into()),
        (words(&["inspect", "no-such.ptx"]), "cannot read", "has no such file `no-such.ptx`".into()),
        (words(&["inspect", &below]), "cannot read", format!("{file} is a file, not a folder")),
        (words(&["inspect", &here]), "cannot read", "it is a folder".into()),
        (words(&["occupancy", &deep, "k"]), "cannot read", "has no folder `no`".into()),
        (words(&["bind", VECADD, "-o", &deep]), "cannot write", "has no folder `no`: make it".into()),
        (words(&["bind", VECADD, "-o", &below]), "cannot write", "is a file, not a folder".into()),
        (words(&["bind", VECADD, "-o", &here]), "cannot write", "it is a folder".into()),
        (words(&["occupancy", VECADD, "vecadd", "--svg", &deep]), "cannot write", "make it".into()),
        (run_from(&deep), "cannot read", "has no folder `no`".into()),
        (run_from(&below), "cannot read", "is a file, not a folder".into()),
        (run_to(&deep), "cannot write", "has no folder `no`: make it".into()),
        (run_to(&here), "cannot write", "it is a folder".into()),
    ];
    for (words, tried, next) in cases {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let found = run(&words);
        assert_eq!((found.code, found.out.as_str()), (3, ""), "{words:?}: {}", found.err);
        assert!(found.says(tried) && found.says("help: ") && found.says(&next), "{words:?}: {}", found.err);
        assert!(json(&words).1["error"]["file"].is_string(), "{words:?}");
    }
    // An `@` with nothing behind it is the command line's mistake.
    for spec in ["in:f32:@", "inout:f32:@", "out:f32:4@", "inout:f32:1@"] {
        let found = run(&["run", VECADD, "vecadd", "--arg", spec]);
        assert!(found.code == 2 && found.says(spec) && found.says("a file name after `@`"), "{}", found.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(unix)]
fn what_has_no_end_is_read_up_to_a_limit() {
    for ending in ["", ".txt", ".npy"] {
        let folder = scratch("files-endless");
        let link = folder.join(format!("zero{ending}"));
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let spec = format!("in:f32[]:@{}", link.display());
        let found = run(&["run", VECADD, "vecadd", "--arg", &spec]);
        assert!(found.code == 3 && found.says("over the limit of 268435456 bytes"), "{}", found.err);
        assert!(found.says("help: "), "{}", found.err);
        std::fs::remove_dir_all(folder).unwrap();
    }
    let found = run(&["inspect", "/dev/zero"]);
    assert!(found.code == 3 && found.says("over the limit"), "{}", found.err);
    // The length of a file is known before it is read; this one has no bytes on the disk.
    let folder = scratch("files-long");
    let long = folder.join("long");
    std::fs::File::create(&long).unwrap().set_len(1 << 40).unwrap();
    for words in [
        vec!["inspect".to_owned(), long.display().to_string()],
        ["run", VECADD, "vecadd", "--arg", &format!("in:u8[]:@{}", long.display())]
            .map(str::to_owned)
            .to_vec(),
    ] {
        let found = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(found.code == 3 && found.says("over the limit"), "{}", found.err);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A pipe is read to its end, and no further than the limit.
#[test]
#[cfg(unix)]
fn an_argument_comes_through_a_pipe() {
    let arguments =
        ["run", VECADD, "vecadd", "--arg", "in:f32[]:@/dev/stdin", "--arg", "in:f32[]:3*1", "--arg"];
    let child = |from: &str| {
        let mut writer =
            std::process::Command::new("sh").args(["-c", from]).stdout(Stdio::piped()).spawn().unwrap();
        let output = tool().args(arguments).arg("out:f32[]:3").stdin(writer.stdout.take().unwrap()).output();
        // One that writes without end is told that nobody reads.
        writer.wait().unwrap();
        finished(&output.unwrap())
    };
    let three = child("printf '\\000\\000\\200\\077\\000\\000\\200\\077\\000\\000\\200\\077'");
    assert!(three.code == 0 && three.out.contains("2 2 2"), "{}{}", three.out, three.err);
    let endless = child("exec cat /dev/zero");
    assert!(endless.code == 3 && endless.says("over the limit"), "{}", endless.err);
}

/// The kernel would run for nothing.
#[test]
fn outputs_are_tried_before_the_kernel_runs() {
    let folder = scratch("files-first");
    // Neither kernel nor device: whoever gets so far says so.
    let spec = |name: &str, ty: &str| format!("out:{ty}[]:1@{}", folder.join(name).display());
    let tried = |spec: &str| {
        let plain = "in:f32[]:1";
        let words = ["--driver", "/no/such/lib.so", "--arg", plain, "--arg", plain, "--arg", spec];
        run(&[&["run", VECADD, "vecadd"][..], &words].concat())
    };
    let bad = tried(&spec("no/sum.npy", "f32"));
    assert!(bad.code == 3 && bad.says("cannot write"), "{}", bad.err);
    let bf16 = tried(&spec("sum.npy", "bf16"));
    assert!(bf16.code == 2 && bf16.says("numpy has no bf16"), "{}", bf16.err);
    // What is there stays, and what was not there is not there.
    std::fs::write(folder.join("old.bin"), "old").unwrap();
    for name in ["old.bin", "new.bin"] {
        assert_eq!(tried(&spec(name, "f32")).code, 4);
    }
    assert_eq!(std::fs::read_to_string(folder.join("old.bin")).unwrap(), "old");
    assert!(!folder.join("new.bin").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_timelines_file_is_tried_before_the_program_starts() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-first");
    let ran = folder.join("ran");
    let trace = |output: &Path, program: &[&str]| {
        let mut command = tool();
        command.args(["trace", "--driver", "emulator", "--recorder"]).arg(&recorder).arg("-o").arg(output);
        finished(&command.arg("--").args(program).output().unwrap())
    };
    let touch = ["touch", ran.to_str().unwrap()];
    for bad in [folder.join("no/t.json"), folder.clone(), recorder.join("t.json")] {
        let found = trace(&bad, &touch);
        assert!(found.code == 3 && found.says("cannot write") && found.says("help: "), "{}", found.err);
        assert!(!ran.exists(), "{bad:?}");
    }
    // A program that does not start leaves the last timeline as it was, and no new one.
    let (old, new) = (folder.join("old.json"), folder.join("new.json"));
    std::fs::write(&old, "old").unwrap();
    for file in [&old, &new] {
        let found = trace(file, &["/no/such/program"]);
        assert!(found.code == 3 && found.says("cannot start /no/such/program"), "{}", found.err);
    }
    assert!(std::fs::read_to_string(&old).unwrap() == "old" && !new.exists());
    assert_eq!(trace(&old, &touch).code, 0);
    assert!(ran.exists() && std::fs::read_to_string(&old).unwrap().contains("traceEvents"));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn bind_writes_no_path_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let folder = scratch("bind-bytes");
    let file = folder.join(std::ffi::OsStr::from_bytes(b"vec\xff.ptx"));
    std::fs::copy(support::root().join(VECADD), &file).unwrap();
    let bind = |more: &[&str]| finished(&tool().arg("bind").arg(&file).args(more).output().unwrap());
    let found = bind(&[]);
    assert!(
        found.code == 2 && found.says("not UTF-8") && found.says("--path") && found.out.is_empty(),
        "{}",
        found.err
    );
    let found = bind(&["--path", "kernels/vec.ptx"]);
    assert!(found.code == 0 && found.out.contains("cuda_module(\"kernels/vec.ptx\")"), "{}", found.out);
    assert!(!found.out.contains('\u{fffd}'), "{}", found.out);
    // What is text is escaped as Rust has it.
    let quoted = bind(&["--path", "a\"b\\c.ptx"]);
    assert!(quoted.out.contains(r#"cuda_module("a\"b\\c.ptx")"#), "{}", quoted.out);
    std::fs::remove_dir_all(folder).unwrap();
}
