//! `cuda-launch record` where there are several contexts, devices and captures.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/recordings.rs"]
mod recordings;
mod support;

use recordings::{ADD, Folder};
use support::recorder;

/// `count(u32 *number, u32 times)`: one at a time, so that it lasts.
const COUNT: &str = ".version 7.0
.target sm_75
.address_size 64
.visible .entry count(.param .u64 number, .param .u32 times)
{
    .reg .u64 %p;
    .reg .u32 %r<3>;
    .reg .pred %more;
    ld.param.u64 %p, [number];
    ld.param.u32 %r0, [times];
AGAIN:
    ld.volatile.global.u32 %r1, [%p];
    add.u32 %r1, %r1, 1;
    st.volatile.global.u32 [%p], %r1;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %more, %r0, 0;
    @%more bra AGAIN;
    ret;
}";

/// A launch is about the context of its stream, whichever is current.
#[test]
fn a_launch_on_a_stream_of_another_context_is_recorded_whole() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-contexts");
    let main = "    BEGIN(\"count\")\n    ptr number;\n    u32 times = 300000, result;\n    handle stream, other;
    OK(cuStreamCreate, &stream, 1);\n    OK(cuMemAlloc_v2, &number, (size_t)4);\n    OK(cuMemsetD32_v2, number, 0, (size_t)1);
    OK(cuCtxSynchronize);\n    OK(cuCtxCreate_v4, &other, (handle)0, 0, 0);\n    LAUNCH(1, stream, &number, &times);
    LAUNCH(1, stream, &number, &times);\n    OK(cuStreamSynchronize, stream);\n    OK(cuCtxGetCurrent, &stream);
    OK(cuMemcpyDtoH_v2, &result, number, (size_t)4);\n    printf(\"%u %d\\n\", result, stream == other);\n    return 0;";
    let Some(program) = folder.program("counts", COUNT, main) else { return };
    let (run, _) = folder.record(&recorder, &["--nth", "2"], &[program.to_str().unwrap()]);
    assert!(run.code == 0 && run.err.contains("600000 1"), "{}", run.err);
    let recording = folder.recording();
    let (mut before, mut after) = ([0; 4], [0; 4]);
    recording.regions[0].before(0, &mut before);
    recording.regions[0].after(0, &mut after);
    assert_eq!((u32::from_le_bytes(before), u32::from_le_bytes(after)), (300_000, 600_000));
    let (run, answer) = folder.replay();
    assert_eq!((run.code, &answer["same_bytes"]), (0, &4.into()), "{}", run.out);
}

/// A wait for the context would end the capture with an error.
#[test]
fn a_capture_stays_valid_and_the_launch_beside_it_is_not_recorded() {
    let Some(recorder) = recorder() else { return };
    let folder = Folder::new("record-capture");
    let main = "    BEGIN(\"add\")\n    ptr number;\n    u32 value = 1;\n    handle stream, other, graph;
    OK(cuStreamCreate, &stream, 1);\n    OK(cuStreamCreate, &other, 1);\n    OK(cuMemAlloc_v2, &number, (size_t)4);
    OK(cuMemsetD32_v2, number, 0, (size_t)1);\n    OK(cuStreamBeginCapture_v2, other, 2);\n    LAUNCH(1, other, &number, &value);
    LAUNCH(1, stream, &number, &value);\n    OK(cuStreamEndCapture, other, &graph);\n    OK(cuStreamSynchronize, stream);
    LAUNCH(1, stream, &number, &value);\n    OK(cuStreamSynchronize, stream);\n    return 0;";
    let Some(program) = folder.program("captures", ADD, main) else { return };
    let program = [program.to_str().unwrap()];
    let (run, answer) = folder.record(&recorder, &[], &program);
    let why = answer["why_not"].as_str().unwrap_or_default();
    assert!(
        run.code == 1 && why.contains("a stream is being captured"),
        "{} {answer:#}{}",
        run.code,
        run.err
    );
    assert!(!folder.file().exists() && answer["program_code"] == 0, "{answer:#}");
    // After the capture it is as ever.
    let (run, _) = folder.record(&recorder, &["--nth", "2"], &program);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(folder.replay().0.code, 0);
}
