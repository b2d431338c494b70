//! The example with NCCL: against a library that stands in for it, on devices of the emulator. On machines with GPUs and NCCL
//! run the example itself.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

#[path = "../nccl.rs"]
mod example;

use std::ffi::OsStr;
use std::path::Path;
use support::{built, child, is_child, lines, stand_in};

/// What the stand-in is called with, and what the example says, on so many devices.
fn reduced(name: &str, devices: &str) -> Option<(Vec<String>, String)> {
    let (nccl, driver) = (stand_in()?, built("emulated_cuda")?);
    let output = child(
        name,
        &[
            ("CUDA_LAUNCH_NCCL", nccl.as_os_str()),
            ("CUDA_LAUNCH_DRIVER", driver.as_os_str()),
            ("CUDA_EMULATOR_DEVICES", OsStr::new(devices)),
        ],
    );
    Some((lines(&output, "nccl "), String::from_utf8(output.stdout).unwrap()))
}

/// The calls that belong to what the example says of each device.
fn expected(says: &str) -> Vec<String> {
    let device = |line: &str| {
        let (ordinal, rest) = line.strip_prefix("device ")?.split_once(": stream ")?;
        let (stream, addresses) = rest.split_once(", ")?;
        Some(format!("AllReduce {ordinal} {addresses} count=1000 type=7 op=0 stream={stream}"))
    };
    let reduces: Vec<String> = says.lines().filter_map(device).collect();
    let ranks: Vec<usize> = (0..reduces.len()).collect();
    let mut calls = vec![format!("CommInitAll {ranks:?}"), "GroupStart".into()];
    calls.extend(reduces);
    calls.push("GroupEnd".into());
    calls.extend(ranks.iter().map(|rank| format!("CommDestroy {rank}")));
    calls
}

#[test]
fn two_devices_reduce_over_raw_handles() {
    if is_child() {
        return example::run().unwrap();
    }
    let Some((calls, says)) = reduced("two_devices_reduce_over_raw_handles", "2") else { return };
    assert_eq!(calls, expected(&says));
    assert_eq!(calls.len(), 7, "{calls:?}");
    assert!(says.contains("2 devices is on each of them: 3 times 0..1000"), "{says}");
}

#[test]
fn one_device_reduces_alone() {
    if is_child() {
        return example::run().unwrap();
    }
    let Some((calls, says)) = reduced("one_device_reduces_alone", "1") else { return };
    assert_eq!(calls, expected(&says));
    assert_eq!(calls.len(), 5, "{calls:?}");
    assert!(says.contains("1 devices is on each of them: 1 times 0..1000"), "{says}");
}

#[test]
fn without_nccl_the_next_step_is_said() {
    if is_child() {
        return example::run().unwrap();
    }
    let mut cases = vec![("/nowhere/libnccl.so.2", "/nowhere/libnccl.so.2: cannot open")];
    if Path::new("/proc").exists() {
        cases.push(("libc.so.6", "has no ncclGetVersion"));
    }
    for (path, says) in cases {
        let output = child("without_nccl_the_next_step_is_said", &[("CUDA_LAUNCH_NCCL", OsStr::new(path))]);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && text.contains(says), "{text}");
        assert!(text.contains("pip install nvidia-nccl-cu13"), "{text}");
    }
}
