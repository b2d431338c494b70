//! `printf`.

use crate::support::{Args, Device, Output, launch};

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
