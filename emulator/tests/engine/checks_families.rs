//! Each family of instructions: kernels with one mistake, and the same kernels without it. The mistake is found; of the correct kernel nothing
//! is reported, in the ordinary order and under others.

use cuda_emulator::check::{Finding, FindingKind};
use cuda_emulator::engine::{Fault, FaultKind, Launch};
use cuda_emulator::{Checks, Schedules};

use crate::schedules_planted::side;
use crate::support::{Args, Device, launch, snippet_with};

/// Other orders of the threads that each correct kernel runs under.
const ORDERS: u32 = 20;

/// What tells of a mistake.
enum Told {
    /// A finding, one of whose two places is the line that ends with `// here`.
    Check(FindingKind),
    /// A fault.
    Fault(FaultKind),
    /// A difference of that kind, in other orders only.
    Orders(&'static str),
    /// Nothing: docs/sanitizer.md says so.
    Nothing,
}

use Told::{Check, Fault as Stops, Nothing, Orders};

/// A kernel in which `<<wrong|right>>` stands where the two differ.
struct Twin {
    name: &'static str,
    /// Blocks of a cluster, blocks, and threads of a block.
    shape: (u32, u32, u32),
    told: Told,
    text: &'static str,
}

const fn twin(name: &'static str, shape: (u32, u32, u32), told: Told, text: &'static str) -> Twin {
    Twin { name, shape, told, text }
}

/// What the kernels begin with: addresses of shared memory (`%r59`: `s`, `%r54`: the thread's word there) and of two mbarriers (`%r60` and
/// `%r61`), the own rank in the cluster and that of the neighbour (`%r58`, `%r57`), and the thread's word in global memory (`%rd63`). `%p31`
/// holds in thread 0.
const START: &str = "mov.u32 %r59, s; mov.u32 %r60, bar; mov.u32 %r61, room; setp.eq.u32 %p31, %t, 0; mov.u32 %r58, %cluster_ctarank; \
    xor.b32 %r57, %r58, 1; mov.u32 %r56, %ctaid.x; mov.u32 %r55, %ntid.x; mad.lo.u32 %r55, %r56, %r55, %t; mul.wide.u32 %rd63, %r55, 4; \
    add.u64 %rd63, %rd63, %out; mad.lo.u32 %r54, %t, 4, %r59;";

const SHARED: &str = ".shared .align 1024 .b8 s[8192]; .shared .align 1024 .b8 next[1024]; .shared .align 8 .b64 bar; .shared .align 8 .b64 room;";

/// Functions that the kernels call.
const FUNCTIONS: &str = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; } \
    .func (.param .b32 r) sum(.param .align 8 .b8 a[16]) { .reg .b32 %x, %y; ld.param.b32 %x, [a]; ld.param.b32 %y, [a+12]; add.u32 %x, %x, %y; st.param.b32 [r], %x; ret; } \
    .func (.param .b32 r) never(.param .b32 a) { ret; }";

/// The text of a kernel, and the line that is marked.
fn text(twin: &Twin, right: bool) -> (String, Option<u32>) {
    let body = side(twin.text, right);
    let text = snippet_with("", &format!("{START}\n{body}"));
    let text = text
        .replace(".target sm_90\n", ".target sm_90a\n")
        .replace("{\n.reg", &format!("{{ {SHARED}\n.reg"))
        .replace(".visible .entry", &format!("{FUNCTIONS} .visible .entry"));
    let line = text.lines().position(|line| line.ends_with("// here")).map(|line| line as u32 + 1);
    (text, line)
}

/// Runs it with an output of 16 KiB of zeros.
fn run(twin: &Twin, device: &Device) -> Result<(), Box<Fault>> {
    let out = device.zeroed::<u32>(4096);
    let (cluster, blocks, threads) = twin.shape;
    let asked = launch(device, "k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    let cooperative = twin.text.contains("// cooperative");
    device.try_launch("k", Launch { cluster: [cluster, 1, 1], cooperative, ..asked }).map(drop)
}

fn checked(twin: &Twin, text: &str) -> (Vec<Finding>, Option<Box<Fault>>) {
    let device = Device::checked(text);
    let fault = run(twin, &device).err();
    (device.findings(), fault)
}

/// The kinds of what other orders show, and what it is in words.
fn ordered(twin: &Twin, text: &str, orders: u32) -> Vec<(&'static str, String)> {
    let device = Device::scheduled(text, Schedules::new(orders), Some(Checks::ALL));
    let fault = run(twin, &device).err();
    let differences = device.differences();
    let all = differences.iter().map(|difference| (difference.kind.name(), difference.to_string()));
    all.chain(fault.map(|fault| ("fault", fault.to_string()))).collect()
}

/// Whether that is told of the kernel with the mistake; else what is.
fn is_told(twin: &Twin) -> Result<(), String> {
    let (text, line) = text(twin, false);
    let (found, fault) = checked(twin, &text);
    let at = |finding: &Finding| {
        let places = [Some(finding.access.ptx_line), finding.other.as_ref().map(|other| other.ptx_line)];
        line.is_some() && places.contains(&line)
    };
    let is_right = match twin.told {
        Check(kind) => found.iter().any(|finding| finding.kind == kind && at(finding)),
        Stops(kind) => fault.as_ref().is_some_and(|fault| fault.kind == kind),
        Orders(kind) => {
            found.is_empty()
                && fault.is_none()
                && ordered(twin, &text, 32).iter().any(|(found, _)| *found == kind)
        }
        Nothing => found.is_empty() && fault.is_none() && ordered(twin, &text, ORDERS).is_empty(),
    };
    is_right.then_some(()).ok_or_else(|| format!("{}: line {line:?}: {found:#?} {fault:?}", twin.name))
}

#[test]
fn each_mistake_is_told() {
    let missed: Vec<String> = TWINS.iter().filter_map(|twin| is_told(twin).err()).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn nothing_is_told_of_the_twins() {
    let mut wrong = Vec::new();
    for twin in TWINS {
        let (text, _) = text(twin, true);
        let (found, fault) = checked(twin, &text);
        if !found.is_empty() || fault.is_some() {
            wrong.push(format!("{}: {found:#?} {fault:?}", twin.name));
        }
        let differences = ordered(twin, &text, ORDERS);
        if !differences.is_empty() {
            wrong.push(format!("{}, in another order: {differences:#?}", twin.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const TWINS: &[Twin] = &[
    // Barriers in shared memory.
    twin(
        "no wait at an mbarrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.ge.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: <<|W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "the wrong parity",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.lt.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], <<1|0>>; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54+128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a count of arrivals that is too small",
        (1, 1, 128),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], <<2|3>>; bar.sync 0;
         setp.ge.u32 %p2, %t, 96; @%p2 bra READ;
         st.shared.u32 [%r54], %t; bar.warp.sync -1; and.b32 %r1, %t, 31; setp.eq.u32 %p3, %r1, 0;
         @%p3 mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a phase of another round",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; @%p31 mbarrier.init.shared::cta.b64 [%r61], 32; bar.sync 0;
         mov.u32 %r10, 0; setp.ge.u32 %p2, %t, 32; @%p2 bra C;
         P: setp.eq.u32 %p3, %r10, 0; @%p3 bra FILL;
         R: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r61], 0; @!%p1 bra R;
         FILL: add.u32 %r1, %t, %r10; st.shared.u32 [%r54], %r1; bar.warp.sync -1;
         @%p31 mbarrier.arrive.shared::cta.b64 _, [%r60];
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra P; bra END;
         C: mov.u32 %r9, 0;
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], <<0|%r10>>; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p5, %r9, <<50|-1>>, !%p1; @%p5 bra W;
         ld.shared.u32 %r1, [%r54+-128]; // here
         st.global.u32 [%rd63], %r1; setp.eq.u32 %p6, %r10, 0; @%p6 mbarrier.arrive.shared::cta.b64 _, [%r61];
         add.u32 %r10, %r10, 1; setp.lt.u32 %p4, %r10, 2; @%p4 bra C; END:",
    ),
    twin(
        "try_wait once, not in a loop",
        (1, 1, 64),
        Orders("memory"),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; bar.sync 0;
         setp.ge.u32 %p2, %t, 32; @%p2 bra READ;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 _, [%r60]; bra END;
         READ: W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; <<|@!%p1 bra W;>>
         ld.shared.u32 %r1, [%r54+-128];
         st.global.u32 [%rd63], %r1; END:",
    ),
    twin(
        "a state of another phase",
        (1, 1, 64),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 64; bar.sync 0;
         mbarrier.arrive.shared::cta.b64 %rd1, [%r60];
         W: mbarrier.test_wait.shared::cta.b64 %p1, [%r60], %rd1; @!%p1 bra W;
         st.shared.u32 [%r54], %t; mbarrier.arrive.shared::cta.b64 %rd2, [%r60];
         mov.u32 %r9, 0;
         V: mbarrier.test_wait.shared::cta.b64 %p1, [%r60], <<%rd1|%rd2>>; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p5, %r9, <<50|-1>>, !%p1; @%p5 bra V;
         xor.b32 %r2, %t, 33; mad.lo.u32 %r2, %r2, 4, %r59;
         ld.shared.u32 %r1, [%r2]; // here
         st.global.u32 [%rd63], %r1;",
    ),
    twin(
        "fewer bytes expected than are copied",
        (1, 1, 128),
        Check(FindingKind::MissingWait),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<256|512>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 256, [%r60];
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59+256], [%out+256], 256, [%r60];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r1, [%r54]; // here
         st.global.u32 [%rd63+4096], %r1;",
    ),
    twin(
        "more bytes expected than are copied",
        (1, 1, 128),
        Check(FindingKind::MissingWait),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<1024|512>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 512, [%r60];
         mov.u32 %r9, 0;
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; add.u32 %r9, %r9, 1; setp.lt.and.u32 %p2, %r9, 1000, !%p1; @%p2 bra W;
         ld.shared.u32 %r1, [%r54]; // here
         st.global.u32 [%rd63+4096], %r1;",
    ),
    twin(
        "an arrival from another block that does not release",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.shared::cluster.u32 [%r1], %t;
         <<|fence.acq_rel.cluster;>> mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "a wait that does not acquire",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.shared::cluster.u32 [%r1], %t;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W; <<|fence.acq_rel.cluster;>>
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "an arrival at the own mbarrier, not the neighbour's",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, <<%r58|%r57>>;
         st.shared::cluster.u32 [%r1], %t;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r3, [%r54]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    // Clusters.
    twin(
        "a block that may end while its neighbour reads its shared memory",
        (2, 4, 64),
        Stops(FaultKind::IllegalAddress),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         ld.shared::cluster.u32 %r2, [%r1]; // here
         st.global.u32 [%rd63], %r2; <<|barrier.cluster.arrive; barrier.cluster.wait;>>",
    ),
    twin(
        "a block that may end before its neighbour stores to its shared memory",
        (2, 2, 64),
        Stops(FaultKind::IllegalAddress),
        "barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         st.shared::cluster.u32 [%r1], %t; // here
         <<|barrier.cluster.arrive; barrier.cluster.wait;>>",
    ),
    twin(
        "a block that may end before the arrival of a neighbour at its mbarrier",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r2, %r60, %r57;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; // here
         bra END;
         OWNER: <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         END:",
    ),
    twin(
        "a block that may end although it arrives at the barrier of the cluster, as it does not wait there",
        (2, 2, 32),
        Orders("fault"),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r1, %r54, %r57;
         ld.shared::cluster.u32 %r3, [%r1]; // here
         st.global.u32 [%rd63], %r3; barrier.cluster.arrive.relaxed; barrier.cluster.wait; bra END;
         OWNER: barrier.cluster.arrive; <<|barrier.cluster.wait;>>
         END:",
    ),
    twin(
        "a block that does not wait for the reader of its shared memory at an mbarrier",
        (2, 2, 32),
        Check(FindingKind::Race),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 32; st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         setp.eq.u32 %p2, %r58, 0; @%p2 bra OWNER;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         ld.shared::cluster.u32 %r3, [%r1];
         st.global.u32 [%rd63], %r3; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2]; // here
         bra END;
         OWNER: <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>
         END:",
    ),
    twin(
        "a block that may end before its neighbour's asynchronous store",
        (2, 2, 32),
        Stops(FaultKind::IllegalAddress),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; mapa.shared::cluster.u32 %r2, %r60, %r57;
         st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %t, [%r2]; // here
         <<|W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;>>",
    ),
    twin(
        "a rank that the cluster does not have",
        (2, 2, 32),
        Stops(FaultKind::IllegalAddress),
        "st.shared.u32 [%r54], %t; barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, <<2|1>>;
         ld.shared::cluster.u32 %r2, [%r1]; // here
         st.global.u32 [%rd63], %r2; barrier.cluster.arrive; barrier.cluster.wait;",
    ),
    twin(
        "an arrival at the barrier of a cluster that does not release",
        (2, 2, 32),
        Check(FindingKind::Race),
        "barrier.cluster.arrive; barrier.cluster.wait;
         mapa.shared::cluster.u32 %r1, %r54, %r57; st.shared::cluster.u32 [%r1], %t;
         <<|fence.acq_rel.cluster;>> barrier.cluster.arrive.relaxed; barrier.cluster.wait.acquire;
         ld.shared.u32 %r2, [%r54]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    // The stack.
    twin(
        "an index past what alloca has reserved",
        (1, 1, 32),
        Nothing,
        "alloca.u64 %rd1, 16, 16; alloca.u64 %rd2, 16, 16; st.local.u32 [%rd1], 1; st.local.u32 [%rd1+4], 1; st.local.u32 [%rd1+8], 1; st.local.u32 [%rd1+12], 1;
         st.local.u32 [%rd2], 1; ld.local.u32 %r1, [%rd1+<<16|12>>]; // here
         st.global.u32 [%rd63], %r1;",
    ),
    twin(
        "memory of alloca that was never written",
        (1, 1, 32),
        Check(FindingKind::UndefinedValue),
        "alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t;
         ld.local.u32 %r1, [%rd1+<<4|0>>]; add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "memory of alloca after stackrestore",
        (1, 1, 32),
        Nothing,
        "stacksave.u64 %rd2; alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t;
         <<stackrestore.u64 %rd2;|>>
         ld.local.u32 %r1, [%rd1]; // here
         add.u32 %r1, %r1, 1; st.global.u32 [%rd63], %r1; stackrestore.u64 %rd2;",
    ),
    twin(
        "memory of alloca that others had before",
        (1, 1, 32),
        Nothing,
        "stacksave.u64 %rd2; alloca.u64 %rd1, 16, 16; st.local.u32 [%rd1], %t; stackrestore.u64 %rd2;
         alloca.u64 %rd3, 16, 16; <<|st.local.u32 [%rd3], 5;>>
         ld.local.u32 %r1, [%rd3]; add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    // Calls.
    twin(
        "a parameter that the caller has not set",
        (1, 1, 32),
        Nothing,
        "{ .param .b32 p; .param .b32 q; <<|st.param.b32 [p], %t;>> call.uni (q), twice, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "a structure of which the caller has set a part",
        (1, 1, 32),
        Nothing,
        "{ .param .align 8 .b8 p[16]; .param .b32 q; st.param.b32 [p], %t; <<|st.param.b32 [p+12], %t;>> call.uni (q), sum, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "a result that the function does not set",
        (1, 1, 32),
        Nothing,
        "{ .param .b32 p; .param .b32 q; st.param.b32 [p], %t; call.uni (q), <<never|twice>>, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    twin(
        "an argument that was never written",
        (1, 1, 32),
        Nothing,
        "<<|mov.u32 %r9, 1;>> { .param .b32 p; .param .b32 q; st.param.b32 [p], %r9; call.uni (q), twice, (p); ld.param.b32 %r1, [q]; }
         add.u32 %r1, %r1, 1;
         st.global.u32 [%rd63], %r1; // here",
    ),
    // Copies.
    twin(
        "cp.async into the next variable",
        (1, 1, 64),
        Check(FindingKind::OutOfBounds),
        "mad.lo.u32 %r1, %t, 16, %r59; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;
         cp.async.cg.shared.global [%r1+<<7680|7168>>], [%rd1], 16; // here
         cp.async.wait_all; ld.shared.u32 %r2, [%r1+7168]; st.global.u32 [%rd63+4096], %r2;",
    ),
    twin(
        "a bulk copy of more bytes than the variable has",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r1, s; @%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], <<8704|8192>>;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%out], <<8704|8192>>, [%r60]; // here
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r2, [%r54]; st.global.u32 [%rd63+12288], %r2;",
    ),
    twin(
        "a bulk store of more bytes than the variable has",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r1, next; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t; st.shared.u32 [%r54+8064], %t; fence.proxy.async; bar.sync 0;
         @%p31 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r1+<<-128|0>>], 128; // here
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ),
    twin(
        "a bulk copy of what threads have stored to global memory, without a fence",
        (1, 1, 32),
        Check(FindingKind::MissingFence),
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster;
         st.global.u32 [%rd63], %t; // here
         <<|fence.proxy.async;>> bar.sync 0;
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 128;
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 128, [%r60];
         W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;
         ld.shared.u32 %r2, [%r54]; st.global.u32 [%rd63+4096], %r2;",
    ),
    // Rows of matrices.
    twin(
        "a row that is not aligned",
        (1, 1, 32),
        Stops(FaultKind::MisalignedAddress),
        "st.shared.u32 [%r54], %t; bar.sync 0; and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, <<8|16>>, %r59;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    twin(
        "rows that are stored to one place",
        (1, 1, 32),
        Check(FindingKind::Race),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, <<0|16>>, %r59; add.u32 %r2, %t, 1;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2}; // here",
    ),
    twin(
        "rows that another warp has stored, without a barrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, 16, %r59; setp.ge.u32 %p1, %t, 32; @%p1 bra READ;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%t}; <<|bar.sync 1, 64;>> bra END;
         READ: <<|bar.sync 1, 64;>>
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // here
         st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "rows of the next variable",
        (1, 1, 32),
        Check(FindingKind::OutOfBounds),
        "mov.u32 %r9, next; mad.lo.u32 %r2, %t, 4, %r9; st.shared.u32 [%r2], %t; st.shared.u32 [%r54+8064], %t; bar.sync 0;
         and.b32 %r8, %t, 7; mad.lo.u32 %r1, %r8, 16, %r9;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1+<<-128|0>>]; // here
         st.global.u32 [%rd63], %r2;",
    ),
    twin(
        "rows that a bulk copy stores, without a fence",
        (1, 1, 32),
        Check(FindingKind::MissingFence),
        "and.b32 %r1, %t, 7; mad.lo.u32 %r1, %r1, 16, %r59;
         stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%t}; // here
         <<|fence.proxy.async;>> bar.sync 0;
         @%p31 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r59], 128;
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ),
    // Lanes.
    twin(
        "a vote that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         vote.sync.ballot.b32 %r1, %p1, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    twin(
        "a match that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         match.any.sync.b32 %r1, %t, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    twin(
        "a reduction that names lanes which are at a barrier",
        (1, 1, 64),
        Stops(FaultKind::Deadlock),
        "setp.lt.u32 %p1, %t, 16; @!%p1 bra REST;
         redux.sync.add.s32 %r1, %t, <<-1|0xffff>>; st.global.u32 [%rd63], %r1;
         REST: bar.warp.sync -1; bar.sync 0;",
    ),
    // Wide accesses.
    twin(
        "16 bytes that are not aligned",
        (1, 1, 1),
        Stops(FaultKind::MisalignedAddress),
        "{ .reg .b128 %q; ld.global.b128 %q, [%out+<<8|16>>]; mov.b128 {%rd1, %rd2}, %q; st.global.u64 [%out+64], %rd1; }",
    ),
    twin(
        "16 bytes of which 8 were written",
        (1, 1, 1),
        Check(FindingKind::Uninitialised),
        "mov.b64 %rd1, 5; st.shared.b64 [%r59], %rd1; <<|st.shared.b64 [%r59+8], %rd1;>>
         { .reg .b128 %q; ld.shared.b128 %q, [%r59]; // here
         mov.b128 {%rd1, %rd2}, %q; st.global.u64 [%out+64], %rd1; }",
    ),
    twin(
        "16 bytes that another warp has stored, without a barrier",
        (1, 1, 64),
        Check(FindingKind::Race),
        "mad.lo.u32 %r1, %t, 16, %r59; setp.ge.u32 %p1, %t, 32; @%p1 bra READ;
         { .reg .b128 %q; cvt.u64.u32 %rd1, %t; mov.b128 %q, {%rd1, %rd1};
         st.shared.b128 [%r1], %q; // here
         } <<|bar.sync 1, 64;>> bra END;
         READ: <<|bar.sync 1, 64;>> ld.shared.u32 %r2, [%r1+-500]; st.global.u32 [%rd63], %r2; END:",
    ),
    twin(
        "an exchange of 16 bytes beside an ordinary load",
        (1, 2, 1),
        Check(FindingKind::Race),
        "{ .reg .b128 %q, %o; mov.b64 %rd1, 5; mov.b128 %q, {%rd1, %rd1};
         atom.global.exch.b128 %o, [%out+1024], %q;
         <<ld.global.b128 %o, [%out+1024];|>> // here
         mov.b128 {%rd1, %rd2}, %o; }",
    ),
    // Grids.
    twin(
        "no barrier of the grid",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55; <<bra GO;|>>
         bar.sync 0; @!%p31 bra MET; membar.gl; atom.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: bar.sync 0;
         GO: xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
    twin(
        "a barrier of the grid at which one thread waits",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55;
         bar.sync 0; @!%p31 bra MET; membar.gl; atom.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: <<|bar.sync 0;>>
         xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
    twin(
        "a barrier of the grid that does not release",
        (1, 4, 64),
        Check(FindingKind::Race),
        "// cooperative
         st.global.u32 [%rd63+1024], %r55;
         bar.sync 0; @!%p31 bra MET; atom.<<relaxed|acq_rel>>.gpu.global.add.u32 %r1, [%out], 1;
         S: ld.acquire.gpu.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 4; @%p1 bra S;
         MET: bar.sync 0;
         xor.b32 %r2, %r55, 65; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+1024]; // here
         st.global.u32 [%rd63+4096], %r3;",
    ),
];
