//! Races between grids that kernels launch, and with the grid that launches them: each mistake is told, and of its twin nothing is.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Checks, Finding, FindingKind, Instance, InstanceOptions};
use std::fmt::Write;
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

/// Kernels to launch, each with an address and a number, and functions that launch them.
const TEXT: &str = "
.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
.extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 b, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2StreamCreateWithFlags(.param .b64 p, .param .b32 f);
.extern .func (.param .b32 r) __cudaCDP2EventCreateWithFlags(.param .b64 p, .param .b32 f);
.extern .func (.param .b32 r) __cudaCDP2EventRecord(.param .b64 e, .param .b64 s);
.extern .func (.param .b32 r) __cudaCDP2StreamWaitEvent(.param .b64 s, .param .b64 e, .param .b32 f);

.func go(.param .b64 kernel, .param .b64 out, .param .b32 value, .param .b64 stream)
{ .reg .b64 %k, %o, %s, %b; .reg .b32 %v, %c;
ld.param.b64 %k, [kernel]; ld.param.b64 %o, [out]; ld.param.b32 %v, [value]; ld.param.b64 %s, [stream];
{ .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 t[12]; .param .b32 d; .param .b64 r;
st.param.b64 [k], %k; st.param.b32 [g], 1; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
st.param.b32 [t], 1; st.param.b32 [t+4], 1; st.param.b32 [t+8], 1; st.param.b32 [d], 0;
call (r), __cudaCDP2GetParameterBufferV2, (k, g, t, d); ld.param.b64 %b, [r]; }
st.u64 [%b], %o; st.u32 [%b+8], %v;
call (%c), __cudaCDP2LaunchDeviceV2, (%b, %s);
ret; }

// It writes, or reads and writes elsewhere.
.visible .entry puts(.param .u64 out, .param .u32 value)
{ .reg .b64 %o; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; st.global.u32 [%o], %v; ret; }
.visible .entry gets(.param .u64 out, .param .u32 value)
{ .reg .b64 %o, %a; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; mul.wide.u32 %a, %v, 4; add.u64 %a, %a, %o;
ld.global.u32 %v, [%o]; st.global.u32 [%a], %v; ret; }
.visible .entry adds(.param .u64 out, .param .u32 value)
{ .reg .b64 %o; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; red.global.add.u32 [%o], %v; ret; }
.visible .entry tries(.param .u64 out, .param .u32 value)
{ .reg .b64 %o; .reg .b32 %v, %n, %w; .reg .pred %p; ld.param.u64 %o, [out];
W: ld.global.u32 %v, [%o]; add.u32 %n, %v, 1; atom.global.cas.b32 %w, [%o], %v, %n; setp.ne.u32 %p, %v, %w; @%p bra W; ret; }
// It reads and then tells others by a flag; the other one waits for that.
.visible .entry sets(.param .u64 out, .param .u32 value)
{ .reg .b64 %o; .reg .b32 %v; ld.param.u64 %o, [out]; ld.global.u32 %v, [%o]; st.release.gpu.global.u32 [%o+8], 1; ret; }
.visible .entry waits(.param .u64 out, .param .u32 value)
{ .reg .b64 %o; .reg .b32 %v; .reg .pred %p; ld.param.u64 %o, [out];
W: ld.acquire.gpu.global.u32 %v, [%o+8]; setp.eq.u32 %p, %v, 0; @%p bra W; ld.global.u32 %v, [%o]; st.global.u32 [%o+16], %v; ret; }
// They launch: a write for nobody to wait for, a write in the tail, a read, and a write and a read in two streams or, with 1, in one.
.visible .entry leads(.param .u64 out, .param .u32 value)
{ .reg .b64 %o, %k, %s; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; mov.u64 %k, puts; mov.u64 %s, 4; call go, (%k, %o, %v, %s); ret; }
.visible .entry trails(.param .u64 out, .param .u32 value)
{ .reg .b64 %o, %k, %s; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; mov.u64 %k, puts; mov.u64 %s, 3; call go, (%k, %o, %v, %s); ret; }
.visible .entry looks(.param .u64 out, .param .u32 value)
{ .reg .b64 %o, %k, %s; .reg .b32 %v; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; mov.u64 %k, gets; mov.u64 %s, 0; call go, (%k, %o, %v, %s); ret; }
.visible .entry parts(.param .u64 out, .param .u32 value)
{ .reg .b64 %o, %a, %k, %one, %two; .reg .b32 %v, %c; .reg .pred %p; ld.param.u64 %o, [out]; ld.param.u32 %v, [value]; add.u64 %a, %o, 768;
call (%c), __cudaCDP2StreamCreateWithFlags, (%a, 1); ld.global.u64 %one, [%a]; call (%c), __cudaCDP2StreamCreateWithFlags, (%a, 1);
ld.global.u64 %two, [%a]; setp.eq.u32 %p, %v, 1; @%p mov.u64 %two, %one; mov.u32 %c, 1;
mov.u64 %k, puts; call go, (%k, %o, %c, %one); mov.u64 %k, gets; call go, (%k, %o, %c, %two); ret; }
";

/// The streams of a block, of launches without an order, and of the tail.
const STREAMS: [(&str, &str); 3] = [("BLOCK", "0"), ("TAIL", "3"), ("FORGET", "4")];

/// A kernel in which `<<wrong|right>>` stands where the two differ.
struct Twin {
    name: &'static str,
    blocks: u32,
    threads: u32,
    /// `GO kernel number stream` launches; `STREAM register`, `EVENT register`, `RECORD event stream` and `WAIT stream event` are what they
    /// are called. `%t` is the thread, `%b` the block, `%out` the memory.
    body: &'static str,
    /// Of the mistake: the kernel and what it does there, and the same of the other access.
    told: [&'static str; 4],
}

const fn twin(
    name: &'static str,
    (blocks, threads): (u32, u32),
    body: &'static str,
    told: [&'static str; 4],
) -> Twin {
    Twin { name, blocks, threads, body, told }
}

const TWINS: &[Twin] = &[
    twin(
        "a write behind the launch of a reader",
        (1, 1),
        "<<GO gets 1 BLOCK; st.global.u32 [%out], 5|st.global.u32 [%out], 5; GO gets 1 BLOCK>>",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "a read behind the launch of a writer",
        (1, 1),
        "<<GO puts 1 BLOCK; ld.global.u32 %r1, [%out]|ld.global.u32 %r1, [%out]; GO puts 1 BLOCK>>",
        ["puts", "write", "parent", "read"],
    ),
    twin(
        "a write behind the launch of a writer",
        (1, 1),
        "GO puts 1 FORGET; st.global.u32 [%out+<<0|4>>], 5",
        ["puts", "write", "parent", "write"],
    ),
    twin(
        "another warp's write and no barrier",
        (1, 64),
        "setp.eq.u32 %p, %t, 32; @%p st.global.u32 [%out], 5; <<|bar.sync 0>>; setp.ne.u32 %p, %t, 0; @%p bra END; GO gets 1 BLOCK",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "another lane's write and no barrier",
        (1, 32),
        "setp.eq.u32 %p, %t, 9; @%p st.global.u32 [%out], 5; <<|bar.warp.sync -1>>; setp.ne.u32 %p, %t, 0; @%p bra END; GO gets 1 BLOCK",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "another block's write",
        (2, 1),
        "setp.eq.u32 %p, %b, 1; @%p bra OTHER; st.global.u32 [%out], 5; st.release.gpu.global.u32 [%out+8], 1; bra END;
         OTHER: <<|ld.acquire.gpu.global.u32 %r1, [%out+8]; setp.eq.u32 %p, %r1, 0; @%p bra OTHER>>; GO gets 1 BLOCK",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "two streams",
        (1, 1),
        "STREAM %s1; STREAM %s2; GO puts 1 %s1; GO puts 2 %s<<2|1>>",
        ["puts", "write", "puts", "write"],
    ),
    twin(
        "another block's write after its release",
        (2, 1),
        "setp.eq.u32 %p, %b, 1; @%p bra OTHER; <<|st.global.u32 [%out], 5>>; st.release.gpu.global.u32 [%out+8], 1; <<st.global.u32 [%out], 5|>>; bra END;
         OTHER: ld.acquire.gpu.global.u32 %r1, [%out+8]; setp.eq.u32 %p, %r1, 0; @%p bra OTHER; GO gets 1 BLOCK",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "a stream and that of the block",
        (1, 1),
        "STREAM %s1; GO puts 1 %s1; GO gets 1 <<BLOCK|%s1>>",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "no order",
        (1, 1),
        "GO puts 1 <<FORGET|BLOCK>>; GO puts 2 <<FORGET|BLOCK>>",
        ["puts", "write", "puts", "write"],
    ),
    twin(
        "the streams of two blocks",
        (2, 1),
        "<<|mul.wide.u32 %s1, %b, 4; add.u64 %out, %out, %s1>>; GO puts %b BLOCK",
        ["puts", "write", "puts", "write"],
    ),
    twin(
        "no event",
        (1, 1),
        "STREAM %s1; STREAM %s2; EVENT %e; GO puts 1 %s1; RECORD %e %s1; <<|WAIT %s2 %e>>; GO gets 1 %s2",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "an event before the launch",
        (1, 1),
        "STREAM %s1; STREAM %s2; EVENT %e; <<RECORD %e %s1|>>; GO puts 1 %s1; <<|RECORD %e %s1>>; WAIT %s2 %e; GO gets 1 %s2",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "events in a row",
        (1, 1),
        "STREAM %s1; STREAM %s2; STREAM %s3; EVENT %e; GO puts 1 %s1; RECORD %e %s1; WAIT %s2 %e;
         <<EVENT %e; RECORD %e %s3|RECORD %e %s2>>; WAIT %s3 %e; GO gets 1 %s3",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "an event that is recorded once more",
        (1, 1),
        "STREAM %s1; STREAM %s2; EVENT %e; GO adds 1 %s1; RECORD %e %s1; WAIT %s2 %e; GO puts 1 %s1; <<|RECORD %e %s1>>; WAIT %s2 %e; GO gets 1 %s2",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "streams of another grid, which have the same handles",
        (1, 1),
        "STREAM %s1; STREAM %s2; EVENT %e; GO adds 0 %s1; RECORD %e %s1; WAIT %s2 %e; GO parts <<0|1>> %s2",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "not in the tail",
        (1, 1),
        "GO puts 1 FORGET; GO gets 1 <<BLOCK|TAIL>>; st.global.u32 [%out+8], 1",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "the tail sees all of its grid",
        (1, 1),
        "GO gets 1 <<BLOCK|TAIL>>; st.global.u32 [%out], 1",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "what a launched grid leads to",
        (1, 1),
        "STREAM %s1; GO leads 1 %s1; GO gets 1 <<BLOCK|%s1>>",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "the tail of a launched grid",
        (1, 1),
        "STREAM %s1; GO trails 1 %s1; GO gets 1 <<BLOCK|%s1>>",
        ["gets", "read", "puts", "write"],
    ),
    twin(
        "a grid and what it leads to",
        (1, 1),
        "<<GO looks 1 BLOCK; st.global.u32 [%out], 5|st.global.u32 [%out], 5; GO looks 1 BLOCK>>",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "what grids tell each other",
        (1, 64),
        "setp.lt.u32 %p, %t, 32; @%p bra FIRST; bar.sync 1, 64; setp.ne.u32 %p, %t, 32; @%p bra END; GO <<gets 1|waits 0>> FORGET; bra END;
         FIRST: bar.sync 1, 64; setp.ne.u32 %p, %t, 0; @%p bra END; st.global.u32 [%out], 7; GO sets 0 FORGET",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "what a grid is told while it runs",
        (1, 1),
        "GO <<gets 1|waits 0>> FORGET; st.global.u32 [%out], 5; st.release.gpu.global.u32 [%out+8], 1",
        ["gets", "read", "parent", "write"],
    ),
    twin(
        "a guess of the launched grid",
        (1, 1),
        "GO <<gets|tries>> 1 FORGET; atom.global.add.u32 %r1, [%out], 1",
        ["gets", "read", "parent", "atomic access"],
    ),
    twin(
        "atomics",
        (1, 1),
        "GO <<puts|adds>> 5 FORGET; atom.global.add.u32 %r1, [%out], 1",
        ["puts", "write", "parent", "atomic access"],
    ),
    twin(
        "a guess, and an atomic that looks again",
        (1, 1),
        "GO adds 2 FORGET; AGAIN: ld.global.u32 %r1, [%out]; add.u32 %r2, %r1, 1;
         <<st.global.u32 [%out], %r2|atom.global.cas.b32 %r3, [%out], %r1, %r2; setp.ne.u32 %p, %r1, %r3; @%p bra AGAIN>>",
        ["adds", "atomic access", "parent", "write"],
    ),
];

/// One side of a twin's body.
fn side(text: &str, right: bool) -> String {
    let mut all = String::new();
    let mut rest = text;
    while let Some((before, (choice, after))) =
        rest.split_once("<<").map(|(before, after)| (before, after.split_once(">>").unwrap()))
    {
        let (wrong, good) = choice.split_once('|').unwrap();
        all += before;
        all += if right { good } else { wrong };
        rest = after;
    }
    all + rest
}

/// The module of a twin.
fn text(twin: &Twin, right: bool) -> String {
    let mut body = String::new();
    for statement in side(twin.body, right).split(';') {
        let (label, statement) = statement.split_once(": ").unwrap_or(("", statement));
        if !label.is_empty() {
            writeln!(body, "{label}:").unwrap();
        }
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words[..] {
            ["GO", kernel, number, stream] => {
                let stream = STREAMS.iter().find(|(name, _)| *name == stream).map_or(stream, |known| known.1);
                writeln!(body, "mov.u64 %f, {kernel}; mov.u32 %v, {number}; mov.u64 %q, {stream};").unwrap();
                writeln!(body, "call go, (%f, %out, %v, %q);").unwrap();
            }
            [kind @ ("STREAM" | "EVENT"), register] => {
                let (call, flags) =
                    if kind == "STREAM" { ("StreamCreateWithFlags", 1) } else { ("EventCreateWithFlags", 2) };
                writeln!(body, "add.u64 %q, %out, 512; call (%c), __cudaCDP2{call}, (%q, {flags});").unwrap();
                writeln!(body, "ld.global.u64 {register}, [%out+512];").unwrap();
            }
            ["RECORD", event, stream] => {
                writeln!(body, "call (%c), __cudaCDP2EventRecord, ({event}, {stream});").unwrap();
            }
            ["WAIT", stream, event] => {
                writeln!(body, "call (%c), __cudaCDP2StreamWaitEvent, ({stream}, {event}, 0);").unwrap();
            }
            [] => {}
            _ => writeln!(body, "{statement};").unwrap(),
        }
    }
    format!(
        "{TEXT}.visible .entry parent(.param .u64 out)\n{{ .reg .pred %p; .reg .b32 %t, %b, %v, %c, %r<4>; .reg .b64 %out, %f, %q, %e, %s<4>;\n\
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x;\n{body}END: ret; }}\n"
    )
}

/// A module of that text and the device runtime.
fn link(cuda: &Driver, text: &str) -> CUmodule {
    let (mut state, mut image, mut module) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuLinkCreate(0, null_mut(), null_mut(), &mut state) });
    for (kind, data) in [
        (CUjitInputType::CU_JIT_INPUT_PTX, text.as_bytes()),
        (CUjitInputType::CU_JIT_INPUT_LIBRARY, b"!<arch>\ncuda_device_runtime.o/"),
    ] {
        let (data, size) = (data.as_ptr().cast_mut().cast(), data.len());
        ok(unsafe { cuda.cuLinkAddData(state, kind, data, size, c"it".as_ptr(), 0, null_mut(), null_mut()) });
    }
    ok(unsafe { cuda.cuLinkComplete(state, &mut image, &mut 0) });
    ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
    ok(unsafe { cuda.cuLinkDestroy(state) });
    module
}

/// What is found where `parent` of that text runs with a KiB of zeros.
fn found(cuda: &Arc<Driver>, instance: &Instance, twin: &Twin, right: bool) -> Vec<Finding> {
    let module = link(cuda, &text(twin, right));
    let mut memory = alloc(cuda, 1024);
    write(cuda, memory, &[0; 1024]);
    let (parent, arguments) = (function(cuda, module, "parent"), &mut [argument(&mut memory)]);
    let (grid, block) = ([twin.blocks, 1, 1], [twin.threads, 1, 1]);
    ok(launch_as(cuda, parent, grid, block, 0, null_mut(), arguments.as_mut_ptr(), null_mut()));
    ok(unsafe { cuda.cuCtxSynchronize() });
    instance.take_findings().list
}

#[test]
fn races_between_grids_are_told() {
    let instance = InstanceOptions::new().checks(Checks::KERNELS).start().unwrap();
    let (cuda, mut context) = (instance.driver(), null_mut());
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    let mut wrong = String::new();
    for twin in TWINS {
        let told = found(&cuda, &instance, twin, false);
        let is_it = |finding: &Finding| {
            let other = finding.other.as_ref().unwrap();
            let kernels = [finding.kernel.as_str(), other.kernel.as_deref().unwrap_or_default()];
            finding.kind == FindingKind::Race
                && [kernels[0], finding.access.verb, kernels[1], other.verb] == twin.told
                && finding.advice.is_some()
        };
        if !(told.len() == 1 && told.iter().all(is_it)) {
            writeln!(wrong, "{}: {told:#?}", twin.name).unwrap();
        }
        let told = found(&cuda, &instance, twin, true);
        if !told.is_empty() {
            writeln!(wrong, "{}, which is right: {told:#?}", twin.name).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
