//! `printf`.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cuda_emulator::engine::Printer;

use crate::support::{Args, Device, HEADER, Output, launch};

#[test]
fn every_thread_prints_whole_lines() {
    let device = Device::file("tests/kernels/print.ptx");
    let output = Output::default();
    let mut launch = launch(&device, "hello", [2, 1, 1], [3, 1, 1], &Args::new());
    launch.printer = output.printer();
    device.try_launch("hello", launch).unwrap();
    let text = output.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> =
        (0..2).flat_map(|b| (0..3).map(move |t| format!("hello from block {b}, thread {t}"))).collect();
    assert_eq!(lines, expected);
}

#[test]
fn formats() {
    let device = Device::file("tests/kernels/print.ptx");
    let output = Output::default();
    let args = Args::new().add(1234.5678f64).add(-1234567890123i64);
    let mut launch = launch(&device, "formats", [1, 1, 1], [1, 1, 1], &args);
    launch.printer = output.printer();
    device.try_launch("formats", launch).unwrap();
    let expected = "no arguments
-1 42 42 ff FF 10
   42|42   |00042|+42| 42
-1234567890123 18446742839141661493 fffffee08e04fb35 -1234567890123
1234.567800 1.234568e+03 1234.57 1234.568    1234.57|1234.57   |
ok text      right|left      |cu
-1 -2 100%
0x1.34a456d5cfaadp+10 1234.57 1.234568E+03
    42|1234.57
";
    assert_eq!(output.text(), expected);
}

#[test]
fn results_and_pointers() {
    let device = Device::file("tests/kernels/print.ptx");
    let output = Output::default();
    let out = device.zeroed::<i32>(2);
    let mut first = launch(&device, "result", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    first.printer = output.printer();
    device.try_launch("result", first).unwrap();
    assert_eq!(device.download::<i32>(out, 2), [3, 0]);
    let mut second = launch(&device, "pointer", [1, 1, 1], [1, 1, 1], &Args::new().add(0x1234u64));
    second.printer = output.printer();
    device.try_launch("pointer", second).unwrap();
    assert_eq!(output.text(), "1 2 3\nplain\n0x1234\n");
}

/// A launch starts with one worker; the others come when it turns out to be long. Here the output of each thread waits for the second one.
#[test]
fn a_long_launch_has_all_its_workers() {
    let device = Device::new(&format!(
        "{HEADER}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
         .global .align 1 .b8 text[6] = {{104, 101, 108, 108, 111, 0}};
         .visible .entry k() {{
         .reg .b64 %a; .reg .b32 %r; .reg .pred %p;
         mov.u32 %r, 0;
         again: add.u32 %r, %r, 1; setp.lt.u32 %p, %r, 4000; @%p bra again;
         mov.u64 %a, text; cvta.global.u64 %a, %a;
         {{ .param .b64 f; st.param.b64 [f], %a; .param .b64 v; st.param.b64 [v], 0; .param .b32 r;
         call.uni (r), vprintf, (f, v); ld.param.b32 %r, [r]; }}
         ret; }}",
    ));
    let seen = Arc::new((Mutex::new(HashSet::new()), Condvar::new()));
    let (both, until) = (Arc::clone(&seen), Instant::now() + Duration::from_secs(20));
    let mut launch = launch(&device, "k", [8, 1, 1], [32, 1, 1], &Args::new());
    launch.printer = Printer::new(move |_| {
        let mut workers = both.0.lock().unwrap();
        workers.insert(thread::current().id());
        both.1.notify_all();
        let left = until.saturating_duration_since(Instant::now());
        drop(both.1.wait_timeout_while(workers, left, |workers| workers.len() < 2).unwrap());
    });
    device.try_launch("k", launch).unwrap();
    assert_eq!(seen.0.lock().unwrap().len(), 2);
}
