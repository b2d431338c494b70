//! Programs with several threads, or several contexts, in a timeline: whose turn it is to put work on a stream.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![cfg(target_os = "linux")]

mod support;
#[path = "support/timeline.rs"]
mod timeline;

use serde_json::Value;
use support::{compiled, recorder, scratch};
use timeline::{named, trace, trace_on};

/// The bars of the kernel, none of which overlaps another.
fn bars_in_a_row(events: &[Value]) -> usize {
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap();
    let mut bars: Vec<(f64, f64)> =
        named(events, "nothing").iter().map(|one| (number(one, "ts"), number(one, "dur"))).collect();
    bars.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in bars.windows(2) {
        // Times are rounded to a nanosecond; those of a driver, to half a microsecond and the 24 bits of a float.
        let rounding = 0.6 + pair[1].0 / f64::from(1 << 21);
        assert!(pair[0].0 + pair[0].1 <= pair[1].0 + rounding, "{pair:?}");
    }
    bars.len()
}

/// Kernels of several threads on one stream run one after the other there, and so do their bars; a fill copies nothing.
#[test]
fn work_of_several_threads_on_one_stream_does_not_overlap() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-threads");
    let source = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#define CALL(name, ...) if (((int (*)())dlsym(cuda, #name))(__VA_ARGS__)) _exit(9)
void _exit(int);
static void *cuda, *context, *function;
static void *launch(void *unused)
{
    CALL(cuCtxSetCurrent, context);
    for (int i = 0; i < 100; i++) CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    return unused;
}
int main(void)
{
    void *module;
    unsigned long long address;
    pthread_t threads[4];
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ".version 7.0 .target sm_75 .address_size 64 .visible .entry nothing() { ret; }");
    CALL(cuModuleGetFunction, &function, module, "nothing");
    CALL(cuMemAlloc_v2, &address, (size_t)4096);
    CALL(cuMemsetD32Async, address, 7, (size_t)1024, NULL);
    for (int i = 0; i < 4; i++) if (pthread_create(&threads[i], NULL, launch, NULL)) return 8;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CALL(cuCtxSynchronize);
    return 0;
}
"#;
    let Some(program) = compiled(&folder, "launches", source, &["-pthread"]) else { return };
    let (run, events) = trace(&recorder, &folder, &[program.to_str().unwrap()]);
    let answer: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((run.code, &answer["bytes_copied"]), (0, &0.into()), "{}", run.err);
    assert_eq!(named(&events, "fill").len(), 1);
    assert_eq!(bars_in_a_row(&events), 400);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A driver that does nothing, and whose launches take 2 ms. It counts the copies that come meanwhile, which is between the events of a launch;
/// copies wait for the next launch where the variable says so.
const SLOW: &str = r#"
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int open, within, launches;
static _Thread_local void *current;
static int something;
#define NOTHING(name) int name() { return 0; }
#define MAKES(name) int name(void **place) { *place = &something; return 0; }
NOTHING(cuInit) NOTHING(cuModuleLoadData) NOTHING(cuMemAlloc_v2) NOTHING(cuCtxSynchronize)
NOTHING(cuEventRecord) NOTHING(cuEventQuery) NOTHING(cuEventSynchronize) NOTHING(cuThreadExchangeStreamCaptureMode)
MAKES(cuDevicePrimaryCtxRetain) MAKES(cuModuleGetFunction) MAKES(cuEventCreate)
int cuDriverGetVersion(int *version) { *version = 13000; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuCtxSetCurrent(void *context) { current = context; return 0; }
int cuCtxGetCurrent(void **context) { *context = current; return 0; }
int cuCtxGetDevice(int *device) { *device = 0; return 0; }
int cuStreamIsCapturing(void *stream, int *status) { *status = 0; return 0; }
int cuEventElapsedTime_v2(float *time, void *start, void *end) { *time = 0; return 0; }
int cuFuncGetName(const char **name, void *function) { *name = "nothing"; return 0; }
int cuLaunchKernel()
{
    open = 1;
    usleep(2000);
    open = 0;
    launches++;
    return 0;
}
int cuMemcpyHtoD_v2()
{
    int before = launches;
    within += open;
    for (int i = 0; getenv("WAITS") && launches == before && i < 2000; i++) usleep(1000);
    return 0;
}
int cuMemcpyHtoDAsync_v2() { return cuMemcpyHtoD_v2(); }
__attribute__((destructor)) static void end(void)
{
    /* The tool opens it, too, before it starts the program. */
    const char *name = getenv("WITHIN");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d", within);
    fclose(file);
}
"#;

/// Launches as often as the variable says, while another thread copies in the way that it says.
const LAUNCHES_AND_COPIES: &str = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define CALL(name, ...) if (((int (*)())dlsym(cuda, #name))(__VA_ARGS__)) _exit(9)
static void *cuda, *context;
static unsigned long long address;
static volatile int ended, copied;
static void *copy(void *unused)
{
    int number = 7;
    CALL(cuCtxSetCurrent, context);
    while (!ended) {
        copied++;
        if (strcmp(getenv("COPIES"), "blocking")) {
            CALL(cuMemcpyHtoDAsync_v2, address, &number, (size_t)4, NULL);
        } else {
            CALL(cuMemcpyHtoD_v2, address, &number, (size_t)4);
        }
        usleep(100);
    }
    return unused;
}
int main(void)
{
    void *module, *function;
    pthread_t thread;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ".version 7.0 .target sm_75 .address_size 64 .visible .entry nothing() { ret; }");
    CALL(cuModuleGetFunction, &function, module, "nothing");
    CALL(cuMemAlloc_v2, &address, (size_t)4);
    if (pthread_create(&thread, NULL, copy, NULL)) return 8;
    while (!copied) usleep(100);
    for (int i = atoi(getenv("LAUNCHES")); i > 0; i--) {
        usleep(500);
        CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    }
    ended = 1;
    CALL(cuLaunchKernel, function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    pthread_join(thread, NULL);
    CALL(cuCtxSynchronize);
    return 0;
}
"#;

/// How many copies came between the events of launches; and the events.
fn copies_within_launches(name: &str, copies: &str, launches: u32, waits: bool) -> Option<(u32, Vec<Value>)> {
    let recorder = recorder()?;
    let folder = scratch(name);
    let file = folder.join("within");
    let driver = compiled(&folder, "slow.so", SLOW, &["-shared", "-fPIC"])?;
    let program = compiled(&folder, "both", LAUNCHES_AND_COPIES, &["-pthread"])?;
    let mut words = vec![
        "env".to_owned(),
        format!("WITHIN={}", file.display()),
        format!("COPIES={copies}"),
        format!("LAUNCHES={launches}"),
    ];
    words.extend(waits.then(|| "WAITS=1".to_owned()));
    words.push(program.display().to_string());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (run, events) = trace_on(&driver, &recorder, &folder, &words);
    assert_eq!(run.code, 0, "{}", run.err);
    let within = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    Some((within, events))
}

/// A kernel's bar has no copy of another thread in it, whether that copy names the stream or not.
#[test]
fn copies_of_another_thread_are_no_part_of_a_kernel() {
    for copies in ["blocking", "queued"] {
        let Some((within, events)) = copies_within_launches(&format!("trace-{copies}"), copies, 60, false)
        else {
            return;
        };
        let copied = events
            .iter()
            .filter(|event| event["pid"] == 1 && event["name"].as_str().unwrap().starts_with("cuMemcpyHtoD"));
        assert!(copied.count() > 20, "{copies}");
        assert_eq!(named(&events, "nothing").len(), 61);
        // Where the machine is busy, a copy may take longer to begin than others wait for it.
        assert!(within < 10, "{copies}: {within} of 60 launches have a copy in them");
    }
}

/// A copy waits for the stream, and its end may need what another thread puts there next.
#[test]
fn a_copy_may_wait_for_the_next_launch() {
    for copies in ["blocking", "queued"] {
        let Some((_, events)) = copies_within_launches(&format!("trace-waits-{copies}"), copies, 20, true)
        else {
            return;
        };
        assert_eq!(named(&events, "nothing").len(), 21);
        let calls: Vec<f64> = events
            .iter()
            .filter(|event| event["name"] == "cuLaunchKernel")
            .map(|event| event["ts"].as_f64().unwrap())
            .collect();
        let took = (calls.last().unwrap() - calls[0]) / 1e6;
        assert!(took < 10.0, "20 launches took {took} s");
    }
}

/// Three threads launch in one context while others come and go: nothing of the one is lost, waited for or out of turn.
#[test]
fn the_end_of_a_context_leaves_the_work_of_others() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-contexts");
    let source = r#"
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#define CALL(name, ...) if (((int (*)())dlsym(cuda, #name))(__VA_ARGS__)) _exit(9)
void _exit(int);
static void *cuda, *context, *function;
static volatile int going = 3;
static void *launch(void *unused)
{
    CALL(cuCtxSetCurrent, context);
    for (int i = 0; i < 150; i++) CALL(cuLaunchKernel, function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
    __sync_fetch_and_sub(&going, 1);
    return unused;
}
int main(void)
{
    void *module, *other;
    pthread_t threads[3];
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuModuleLoadData, &module, ".version 7.0 .target sm_75 .address_size 64 .visible .entry nothing() { ret; }");
    CALL(cuModuleGetFunction, &function, module, "nothing");
    for (int i = 0; i < 3; i++) if (pthread_create(&threads[i], NULL, launch, NULL)) return 8;
    while (going) {
        unsigned long long address;
        CALL(cuCtxCreate_v2, &other, 0, 0);
        CALL(cuMemAlloc_v2, &address, (size_t)4096);
        CALL(cuMemsetD32Async, address, 7, (size_t)1024, NULL);
        CALL(cuCtxDestroy_v2, other);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CALL(cuCtxSetCurrent, context);
    CALL(cuCtxSynchronize);
    return 0;
}
"#;
    let Some(program) = compiled(&folder, "contexts", source, &["-pthread"]) else { return };
    let (run, events) = trace(&recorder, &folder, &[program.to_str().unwrap()]);
    assert_eq!(run.code, 0, "{}", run.err);
    let fills = named(&events, "fill");
    assert!(fills.len() > 2 && fills.iter().all(|fill| fill["dur"].is_number()), "{fills:?}");
    assert_eq!(named(&events, "nothing: not finished").len(), 0);
    assert_eq!(bars_in_a_row(&events), 450);
    std::fs::remove_dir_all(folder).unwrap();
}
