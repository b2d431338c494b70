//! What a tool for NVTX is told, by one that is loaded as the real ones are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use cuda_launch::CudaContext;
use cuda_launch::nvtx::{self, Domain, Event, Tool};
use std::ffi::OsStr;
use support::{child, is_child, lines, stand_in};

const VARIABLE: &str = "NVTX_INJECTION64_PATH";

/// All there is, once.
fn everything() {
    let ctx = CudaContext::new(0).unwrap();
    nvtx::name_stream(&ctx.new_stream().unwrap(), "copies");
    let outer = nvtx::range("outer");
    let inner = nvtx::range(Event::new("inner\0cut").color(0xff_00_80_01).category(7).payload(-1i64));
    nvtx::mark(&String::from("größe"));
    drop(inner);
    drop(outer);
    let domain = Domain::new("lib");
    let first = nvtx::start(Event::new("first").payload(1.0f64));
    let second = domain.start("second");
    drop(first);
    // It keeps the domain.
    let step = domain.range(Event::new("step").payload(3u64));
    domain.mark("mark");
    drop(domain);
    drop(step);
    std::thread::spawn(move || drop(second)).join().unwrap();
}

#[test]
fn a_tool_is_told_of_ranges_marks_and_names() {
    if is_child() {
        assert_eq!(*nvtx::tool(), Tool::Attached);
        return everything();
    }
    let Some(tool) = stand_in() else { return };
    let output = child("a_tool_is_told_of_ranges_marks_and_names", &[(VARIABLE, tool.as_os_str())]);
    let plain = "category=0 color=0:00000000 payload=0:0x0";
    let wanted = [
        "attach version=3 sizes=true true unknown=(true, true)".to_string(),
        "group=1 count=16 ends=true".into(),
        "group=2 count=9 ends=true".into(),
        "group=3 count=15 ends=true".into(),
        "group=4 count=7 ends=true".into(),
        "group=5 count=16 ends=true".into(),
        "group=6 count=7 ends=true".into(),
        "stream null=false \"copies\"".into(),
        format!("push \"outer\" {plain}"),
        "push \"inner\" category=7 color=1:ff008001 payload=2:0xffffffffffffffff".into(),
        format!("mark \"größe\" {plain}"),
        "pop".into(),
        "pop".into(),
        "domain 100 create \"lib\"".into(),
        "start 101 \"first\" category=0 color=0:00000000 payload=3:0x3ff0000000000000".into(),
        format!("domain 100 start 102 \"second\" {plain}"),
        "end 101".into(),
        "domain 100 push \"step\" category=0 color=0:00000000 payload=1:0x3".into(),
        format!("domain 100 mark \"mark\" {plain}"),
        "domain 100 pop".into(),
        "domain 100 end 102".into(),
        "domain 100 destroy".into(),
    ];
    assert_eq!(lines(&output, "nvtx "), wanted);
}

#[test]
fn without_a_tool_nothing_happens() {
    if is_child() {
        assert_eq!(*nvtx::tool(), Tool::None);
        return everything();
    }
    let output = child("without_a_tool_nothing_happens", &[(VARIABLE, OsStr::new(""))]);
    assert_eq!(lines(&output, "nvtx "), [""; 0]);
}

#[test]
fn a_tool_that_does_not_attach_is_told_why_and_does_no_harm() {
    if is_child() {
        let Tool::Failed(why) = nvtx::tool() else { panic!("{:?}", nvtx::tool()) };
        eprintln!("why {why}");
        return everything();
    }
    let mut cases = vec![("/nowhere/libtool.so".into(), "/nowhere/libtool.so: cannot open", None)];
    if let Some(tool) = stand_in() {
        cases.push((
            tool.into_os_string(),
            "cannot work here",
            Some(("CUDA_LAUNCH_TEST_REFUSES", OsStr::new("1"))),
        ));
    }
    if cfg!(target_os = "linux") {
        cases.push(("libc.so.6".into(), "it has no InitializeInjectionNvtx2", None));
    }
    for (path, says, more) in cases {
        let variables: Vec<_> = [(VARIABLE, path.as_os_str())].into_iter().chain(more).collect();
        let output = child("a_tool_that_does_not_attach_is_told_why_and_does_no_harm", &variables);
        let why = lines(&output, "why ").join("\n");
        assert!(why.starts_with(VARIABLE) && why.contains(says), "{why}");
        assert_eq!(lines(&output, "nvtx "), [""; 0]);
    }
}
