//! `cuda-launch record` of programs that end during the launch, or while its file is written: the inputs are in the file.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use recordings::{Folder, saxpy};
use std::path::PathBuf;
use support::{compiled, finished, recorder, tool};

/// `slow(u32 *words, u32 count)`: sets the first word, counts, and sets the second.
const SLOW: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry slow(.param .u64 words, .param .u32 count)
{
    .reg .u64 %p;
    .reg .u32 %r<2>;
    .reg .pred %more;
    ld.param.u64 %p, [words];
    ld.param.u32 %r0, [count];
    mov.u32 %r1, 1;
    st.volatile.global.u32 [%p], %r1;
again:
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %more, %r0, 0;
    @%more bra again;
    st.global.u32 [%p+4], %r1;
    ret;
}";

/// Ends the process in the way of its first argument, on another thread, as soon as the kernel runs.
fn ending(folder: &Folder) -> Option<PathBuf> {
    let main = "    extern int pthread_create(unsigned long *, void *, void *(*)(void *), void *);
    extern void *end(void *);\n    extern volatile u32 *flag;\n    unsigned long thread;\n    BEGIN(\"slow\")\n    u32 count = 2000000000;\n    void *words;
    OK(cuMemHostAlloc, &words, (size_t)8, 0);\n    memset(words, 0, 8);\n    flag = words;
    pthread_create(&thread, 0, end, 0);\n    LAUNCH(1, (handle)0, &words, &count);\n    OK(cuCtxSynchronize);\n    return 0;
}
#include <signal.h>
volatile u32 *flag;
int getpid(void);
char *getenv(const char *);
void abort(void);
void exit(int);
void _exit(int);
void *end(void *none)
{
    const char *how = getenv(\"END\");
    while (!*flag)
        ;
    if (!strcmp(how, \"kill\"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, \"abort\"))
        abort();
    if (!strcmp(how, \"_exit\"))
        _exit(3);
    while (!strcmp(how, \"never\"))
        ;
    exit(4);
    return none;";
    folder.program("ends", SLOW, main)
}

fn names(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(&folder.0).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("launch.record")).collect();
    names.sort();
    names
}

#[test]
fn a_program_that_ends_during_the_launch_leaves_its_inputs() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-ends");
    let Some(program) = ending(&folder) else { return };
    for (end, code) in [("kill", 137), ("abort", 134), ("_exit", 3), ("exit", 4)] {
        let set = format!("END={end}");
        let program = ["timeout", "60", "env", &set, program.to_str().unwrap()];
        // `timeout` has the exit code of a shell, and no signal.
        let (run, answer) = folder.record(&recorder, &[], &program);
        let why = answer["why_no_outputs"].as_str().unwrap_or_default();
        assert_eq!((run.code, why), (code, "the process was ended during the launch"), "{end}: {}", run.err);
        assert!(answer["file"].is_string() && answer["why_not"].is_null(), "{end}: {answer:#}");
        assert_eq!(names(&folder), ["launch.record"], "{end}");
        let mut recording = folder.recording();
        assert!(recording.is_unfinished() && recording.kernel == "slow", "{end}");
        // With less to count.
        recording.arguments[8..12].copy_from_slice(&5_u32.to_le_bytes());
        folder.write(&recording);
        let (run, answer) = folder.replay();
        assert_eq!((run.code, &answer["is_compared"]), (0, &false.into()), "{end}: {}", run.err);
        let text = finished(&tool().arg("replay").arg(folder.file()).output().unwrap()).out;
        assert!(text.contains("outputs not recorded: the launch was not over"), "{text}");
        std::fs::remove_file(folder.file()).unwrap();
    }
}

/// A library before the C library's own `write`: ends the process, or has no space, in the file whose number is given.
const WRITE: &str = r#"#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
ssize_t write(int file, const void *bytes, size_t count)
{
    ssize_t (*next)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    char link[64], path[4096];
    const char *which = getenv("WRITE_FILE"), *how = getenv("WRITE_END");
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    const char *name = strstr(path, "launch.record.");
    int parts = 0;
    for (const char *at = name; at && *at; at++)
        parts += *at == '.';
    if (which && name && parts == 2 + atoi(which)) {
        if (!strcmp(how, "full")) {
            errno = ENOSPC;
            return -1;
        }
        next(file, bytes, count / 2);
        raise(SIGKILL);
    }
    return next(file, bytes, count);
}
"#;

/// Records with that library. The process has the number of `sh`, which `exec` keeps.
fn written(
    folder: &Folder,
    recorder: &std::path::Path,
    file: &str,
    end: &str,
    shell: &str,
) -> (support::Run, serde_json::Value) {
    let Some(library) = compiled(&folder.0, "write.so", WRITE, &["-shared", "-fPIC"]) else { panic!() };
    let set = [
        format!("LD_PRELOAD={}", library.display()),
        format!("WRITE_FILE={file}"),
        format!("WRITE_END={end}"),
    ];
    let script = format!("{shell} exec env \"$@\"");
    let target = folder.file();
    let mut program = vec!["sh", "-c", &script, target.to_str().unwrap()];
    program.extend(set.iter().map(String::as_str));
    program.extend(saxpy("u32:100"));
    folder.record(recorder, &[], &program)
}

#[test]
fn a_file_that_is_cut_is_not_left_and_one_with_inputs_is() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-cut");
    if compiled(&folder.0, "any", "int main(void) { return 0; }", &[]).is_none() {
        return;
    }
    for before in [None, Some(b"what was there")] {
        before.into_iter().for_each(|before| std::fs::write(folder.file(), before).unwrap());
        let (run, answer) = written(&folder, &recorder, "0", "kill", "");
        assert_eq!((run.code, &answer["program_signal"], &answer["file"]), (137, &9.into(), &().into()));
        assert_eq!(std::fs::read(folder.file()).ok().as_deref(), before.map(|before| &before[..]));
        assert_eq!(names(&folder).len(), usize::from(before.is_some()), "{:?}", names(&folder));
    }
    // While the outputs are written.
    let (run, answer) = written(&folder, &recorder, "1", "kill", "");
    assert_eq!((run.code, answer["file"].is_string()), (137, true), "{}", run.err);
    assert_eq!(
        (names(&folder), folder.recording().is_unfinished()),
        (vec!["launch.record".to_owned()], true)
    );
    assert_eq!(folder.replay().0.code, 0);
}

#[test]
fn a_disk_that_is_full_before_the_outputs_leaves_the_inputs() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-space");
    if compiled(&folder.0, "any", "int main(void) { return 0; }", &[]).is_none() {
        return;
    }
    let (run, answer) = written(&folder, &recorder, "1", "full", "");
    let why = answer["why_no_outputs"].as_str().unwrap_or_default();
    assert_eq!((run.code, &answer["program_code"]), (1, &0.into()), "{}", run.err);
    assert!(why.contains("launch.record: No space left on device"), "{answer:#}");
    assert_eq!(
        (names(&folder), folder.recording().is_unfinished()),
        (vec!["launch.record".to_owned()], true)
    );
    // Not even those.
    std::fs::remove_file(folder.file()).unwrap();
    let (run, answer) = written(&folder, &recorder, "0", "full", "");
    let why = answer["why_not"].as_str().unwrap_or_default();
    assert_eq!((run.code, &answer["program_code"], &answer["file"]), (1, &0.into(), &().into()), "{why}");
    assert!(
        why.contains("launch.record: No space left on device (os error 28): make room, or write"),
        "{why}"
    );
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

/// Of a process that had the same number: somebody may want it.
#[test]
fn a_file_that_was_left_behind_stays_as_it_is() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-stale");
    let script = "echo stale > \"$0.$$\"; exec \"$@\"";
    let target = folder.file();
    let program = [&["sh", "-c", script, target.to_str().unwrap()], saxpy("u32:100").as_slice()].concat();
    let (run, _) = folder.record(&recorder, &[], &program);
    assert_eq!((run.code, folder.recording().is_unfinished()), (0, false), "{}", run.err);
    let names = names(&folder);
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(std::fs::read_to_string(folder.0.join(&names[1])).unwrap(), "stale\n");
}

#[test]
fn a_whole_recording_is_kept_if_another_process_is_killed() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-others");
    let Some(program) = ending(&folder) else { return };
    let killed = format!("END=kill '{}'", program.display());
    for script in [format!("{killed}; \"$0\" \"$@\""), format!("\"$0\" \"$@\"; {killed}; true")] {
        let program = [&["sh", "-c", script.as_str()], saxpy("u32:100").as_slice()].concat();
        let (run, answer) = folder.record(&recorder, &[], &program);
        assert_eq!((run.code, &answer["why_no_outputs"]), (0, &().into()), "{}", run.err);
        assert_eq!(
            (names(&folder), folder.recording().kernel.as_str()),
            (vec!["launch.record".to_owned()], "saxpy")
        );
    }
}

#[test]
fn a_launch_that_goes_on_without_the_tool_is_said_to() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-on");
    let Some(program) = ending(&folder) else { return };
    let script = "END=never \"$1\" >\"$0.said\" 2>&1 & until [ -s \"$0.$!\" ]; do sleep 0.01; done; sleep 0.3; echo $! > \"$0.process\"";
    let target = folder.file();
    let program = ["sh", "-c", script, target.to_str().unwrap(), program.to_str().unwrap()];
    let (run, answer) = folder.record(&recorder, &[], &program);
    let process = std::fs::read_to_string(folder.0.join("launch.record.process")).unwrap();
    let process = process.trim();
    assert!(std::process::Command::new("kill").args(["-9", process]).status().unwrap().success());
    let why = answer["why_not"].as_str().unwrap_or_default();
    let inputs = folder.0.join(format!("launch.record.{process}"));
    let says = format!("process {process} still runs the launch: its inputs are in {}", inputs.display());
    assert!(run.code == 1 && why.starts_with(&says), "{why}");
    assert!(cuda_harness::record::Recording::read(&std::fs::read(inputs).unwrap()).unwrap().is_unfinished());
}
