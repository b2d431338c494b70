//! `cuda-launch harness`: programs that use CUDA at their very end, and forked processes.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{Run, compiled, emulator_library, finished, scratch, tool};

fn harness(options: &[&str], program: &[&str]) -> Run {
    let mut command = tool();
    // Where cargo names the folder of the tool.
    command.env_remove("LD_LIBRARY_PATH");
    command.env_remove("CUDA_LAUNCH_EMULATOR_LIBRARY").arg("harness");
    finished(&command.args(options).arg("--").args(program).output().unwrap())
}

/// A static destructor, and a function for the end, which were there before the driver was used, give back what they hold.
#[test]
fn what_a_program_gives_back_at_its_very_end_is_no_leak() {
    let folder = scratch("harness-end");
    if emulator_library().is_none() {
        return;
    }
    let source = r#"
#include <dlfcn.h>
#include <stdlib.h>
static unsigned long long a, b;
static void *cuda;
static void give(unsigned long long memory) { ((int (*)(unsigned long long))dlsym(cuda, "cuMemFree_v2"))(memory); }
static void at_exit(void) { give(a); }
static __attribute__((destructor)) void at_the_end(void)
{
    if (!getenv("FORGETS"))
        give(b);
    ((int (*)(int))dlsym(cuda, "cuDevicePrimaryCtxRelease_v2"))(0);
}
int main(void)
{
    void *context;
    atexit(at_exit);
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    ((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
    ((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
    ((int (*)(void *))dlsym(cuda, "cuCtxSetCurrent"))(context);
    int (*allocate)(unsigned long long *, size_t) = (int (*)(unsigned long long *, size_t))dlsym(cuda, "cuMemAlloc_v2");
    return allocate(&a, 64) || allocate(&b, 64);
}
"#;
    let Some(program) = compiled(&folder, "late", source, &[]) else { return };
    let program = program.to_str().unwrap();
    let run = harness(&["--leaks"], &[program]);
    assert!(run.code == 0 && run.says("cuda-harness: 0 live, 0 mistakes"), "{}", run.err);
    let run = harness(&["--leaks"], &["env", "FORGETS=1", program]);
    assert!(run.code == 1 && run.says("cuda-harness: 1 live, 0 mistakes"), "{}", run.err);
    // Of the program, not of what it was started by.
    let run = harness(&["--memory", "1M"], &["env", "CUDA_LAUNCH_HARNESS_LEAKS=0", program]);
    assert!(run.code == 0 && !run.says("live"), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// In `atexit` functions and destructors, a program has the context that it made current.
#[test]
fn the_context_stays_current_up_to_the_end_of_the_program() {
    let folder = scratch("harness-current");
    if emulator_library().is_none() {
        return;
    }
    let source = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#define CALL(name, ...) ((int (*)())dlsym(cuda, #name))(__VA_ARGS__)
static void *cuda, *context;
static void look(const char *where)
{
    void *now = 0;
    unsigned long long memory = 0;
    int code = CALL(cuCtxGetCurrent, &now);
    printf("%s %d %d", where, code, now == context && now != 0);
    printf(" %d", CALL(cuMemAlloc_v2, &memory, (size_t)16));
    printf(" %d", CALL(cuMemsetD8_v2_ptds, memory, 1, (size_t)16));
    printf(" %d", CALL(cuStreamSynchronize_ptsz, (void *)0));
    printf(" %d\n", CALL(cuMemFree_v2, memory));
}
static void at_exit(void) { look("atexit"); }
static __attribute__((destructor)) void at_the_end(void)
{
    look("destructor");
    CALL(cuCtxSetCurrent, (void *)0);
    CALL(cuCtxSetCurrent, context);
    look("set");
    CALL(cuDevicePrimaryCtxRelease_v2, 0);
}
int main(void)
{
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    atexit(at_exit);
    look("main");
    return 0;
}
"#;
    let Some(program) = compiled(&folder, "current", source, &[]) else { return };
    let run = harness(&["--leaks"], &[program.to_str().unwrap()]);
    let lines: String =
        ["main", "atexit", "destructor", "set"].map(|place| format!("{place} 0 1 0 0 0 0\n")).concat();
    assert_eq!((run.code, run.out), (0, lines), "{}", run.err);
    assert!(run.err.contains("0 live, 0 mistakes"), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A forked process has none of what its parent made: only the parent has leaks, and only of what it forgets itself.
#[test]
fn a_forked_process_leaks_nothing_of_its_parent() {
    let folder = scratch("harness-fork");
    if emulator_library().is_none() {
        return;
    }
    let source = r#"
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define CALL(name, ...) ((int (*)())dlsym(cuda, #name))(__VA_ARGS__)
int main(int count, char **words)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context;
    unsigned long long memory;
    /* Before the first call the child is a process of its own. */
    int is_early = count > 1 && fork() == 0;
    if (!is_early)
        wait(0);
    (void)words;
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuMemAlloc_v2, &memory, (size_t)64);
    if (is_early)
        exit(0);
    if (fork() == 0)
        exit(0);
    wait(0);
    CALL(cuMemFree_v2, memory);
    CALL(cuDevicePrimaryCtxRelease_v2, 0);
    return 0;
}
"#;
    let Some(program) = compiled(&folder, "forks", source, &[]) else { return };
    let program = program.to_str().unwrap();
    let run = harness(&["--leaks"], &[program]);
    assert!(
        run.code == 0 && run.err.matches("mistakes").count() == 1 && run.says("0 live, 0 mistakes"),
        "{}",
        run.err
    );
    let run = harness(&["--leaks"], &[program, "early"]);
    let (own, parents) =
        (run.err.matches("2 live, 0 mistakes").count(), run.err.matches("0 live, 0 mistakes").count());
    assert_eq!((run.code, own, parents), (1, 1, 1), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}
