//! Mistakes that the ordinary order does not show, each with a twin that has none. Every mistake has to be found within
//! [`SEEDS`] orders, and its seed to replay it; in the twins nothing is found.

use cuda_emulator::engine::Launch;
use cuda_emulator::{ScheduleDifference, Schedules};

use crate::support::{Args, Device, launch, snippet};

/// Orders within which each mistake is found.
const SEEDS: u32 = 32;
/// Orders under which nothing is found in its twin.
const TWIN_SEEDS: u32 = 100;

/// A kernel in which `<<wrong|right>>` stands where the two differ.
struct Planted {
    name: &'static str,
    text: &'static str,
    grid: u32,
    block: u32,
    cluster: u32,
    /// Whether the twin is launched cooperatively.
    cooperative: bool,
    /// What is found.
    kind: &'static str,
}

const fn planted(
    name: &'static str,
    (grid, block): (u32, u32),
    kind: &'static str,
    text: &'static str,
) -> Planted {
    Planted { name, text, grid, block, cluster: 1, cooperative: false, kind }
}

/// The text with one of the two sides.
pub(crate) fn side(text: &str, right: bool) -> String {
    let mut parts = text.split("<<");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (choice, rest) = part.split_once(">>").unwrap();
        let (wrong, correct) = choice.split_once('|').unwrap();
        out += if right { correct } else { wrong };
        out += rest;
    }
    out
}

const PLANTED: &[Planted] = &[
    planted(
        "a missing __syncthreads",
        (1, 128),
        "memory",
        ".shared .b32 s[128];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %t;
         <<|bar.sync 0;>>
         sub.u32 %r3, 127, %t; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];
         st.global.u32 [%at], %r4;",
    ),
    planted(
        "a missing barrier between reading and writing again",
        (1, 128),
        "memory",
        ".shared .b32 s[128];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %t;
         add.u32 %r3, %t, 1; and.b32 %r3, %r3, 127; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;
         mov.u32 %r5, 0;
         LOOP: bar.sync 0; ld.shared.u32 %r4, [%r3];
         <<|bar.sync 0;>>
         add.u32 %r4, %r4, 3; st.shared.u32 [%r2], %r4;
         add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 4; @%p1 bra LOOP;
         st.global.u32 [%at], %r4;",
    ),
    planted(
        "a double buffer that is a single one",
        (1, 64),
        "memory",
        ".shared .b32 s[128];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2;
         xor.b32 %r3, %t, 33; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3;
         mov.u32 %r5, 0; mov.u32 %r6, %t; mov.u32 %r7, 0;
         LOOP: add.u32 %r8, %r2, %r7; st.shared.u32 [%r8], %r6; bar.sync 0;
         add.u32 %r9, %r3, %r7; ld.shared.u32 %r10, [%r9]; add.u32 %r6, %r10, %r5;
         xor.b32 %r7, %r7, <<0|256>>;
         add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 5; @%p1 bra LOOP;
         st.global.u32 [%at], %r6;",
    ),
    planted(
        "warp-synchronous code without __syncwarp",
        (1, 32),
        "memory",
        ".shared .b32 s[64];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %t; bar.sync 0;
         mov.u32 %r5, 64;
         LOOP: add.u32 %r3, %r2, %r5; ld.shared.u32 %r4, [%r3]; ld.shared.u32 %r6, [%r2]; add.u32 %r4, %r4, %r6;
         <<|bar.warp.sync 0xffffffff;>>
         st.shared.u32 [%r2], %r4;
         <<|bar.warp.sync 0xffffffff;>>
         shr.u32 %r5, %r5, 1; setp.gt.u32 %p1, %r5, 2; @%p1 bra LOOP;
         setp.eq.u32 %p2, %t, 0; @%p2 st.global.u32 [%at], %r4;",
    ),
    planted(
        "a broadcast by one lane without __syncwarp",
        (1, 32),
        "memory",
        ".shared .b32 s[1];
         setp.ne.u32 %p1, %t, 0; @%p1 bra READ;
         st.shared.u32 [s], 77;
         READ: <<|bar.warp.sync 0xffffffff;>>
         ld.shared.u32 %r1, [s]; st.global.u32 [%at], %r1;",
    ),
    planted(
        "a missing fence in a last-block reduction",
        (8, 32),
        "memory",
        "setp.ne.u32 %p1, %t, 0; @%p1 exit;
         mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out;
         add.u32 %r2, %r1, 1; st.global.u32 [%rd1+64], %r2;
         <<|membar.gl;>>
         atom.global.inc.u32 %r3, [%out], 7; setp.ne.u32 %p2, %r3, 7; @%p2 exit;
         membar.gl;
         mov.u32 %r4, 0; mov.u32 %r5, 0; add.u64 %rd2, %out, 64;
         LOOP: ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r5, %r5, %r6; add.u64 %rd2, %rd2, 4;
         add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 8; @%p3 bra LOOP;
         st.global.u32 [%out+4], %r5;",
    ),
    planted(
        "a missing fence in a last-block reduction of volatile sums",
        (8, 32),
        "memory",
        "setp.ne.u32 %p1, %t, 0; @%p1 exit;
         mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out;
         add.u32 %r2, %r1, 1; st.volatile.global.u32 [%rd1+64], %r2;
         <<|membar.gl;>>
         atom.global.inc.u32 %r3, [%out], 7; setp.ne.u32 %p2, %r3, 7; @%p2 exit;
         mov.u32 %r4, 0; mov.u32 %r5, 0; add.u64 %rd2, %out, 64;
         LOOP: ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r5, %r5, %r6; add.u64 %rd2, %rd2, 4;
         add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 8; @%p3 bra LOOP;
         st.global.u32 [%out+4], %r5;",
    ),
    planted(
        "a barrier of the block where the last block needs a fence",
        (8, 64),
        "memory",
        "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out;
         setp.ne.u32 %p1, %t, 40; @%p1 bra MEET; add.u32 %r2, %r1, 1; st.global.u32 [%rd1+64], %r2;
         MEET: bar.sync 0; setp.ne.u32 %p1, %t, 0; @%p1 exit;
         <<|membar.gl;>>
         atom.global.inc.u32 %r3, [%out], 7; setp.ne.u32 %p2, %r3, 7; @%p2 exit;
         membar.gl;
         mov.u32 %r4, 0; mov.u32 %r5, 0; add.u64 %rd2, %out, 64;
         LOOP: ld.volatile.global.u32 %r6, [%rd2]; add.u32 %r5, %r5, %r6; add.u64 %rd2, %rd2, 4;
         add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 8; @%p3 bra LOOP;
         st.global.u32 [%out+4], %r5;",
    ),
    planted(
        "a flag without a fence",
        (1, 64),
        "memory",
        "setp.eq.u32 %p1, %t, 0; @%p1 bra PRODUCE; setp.ne.u32 %p2, %t, 32; @%p2 exit;
         WAIT: ld.volatile.global.u32 %r1, [%out]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
         membar.gl; ld.global.u32 %r2, [%out+64]; st.global.u32 [%out+128], %r2; exit;
         PRODUCE: st.global.u32 [%out+64], 42;
         <<|membar.gl;>>
         st.volatile.global.u32 [%out], 1;",
    ),
    planted(
        "a flag that is stored relaxed and should be released",
        (1, 64),
        "memory",
        "setp.eq.u32 %p1, %t, 0; @%p1 bra PRODUCE; setp.ne.u32 %p2, %t, 32; @%p2 exit;
         WAIT: ld.acquire.gpu.global.u32 %r1, [%out]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
         ld.global.u32 %r2, [%out+64]; st.global.u32 [%out+128], %r2; exit;
         PRODUCE: st.global.u32 [%out+64], 42;
         st.<<relaxed|release>>.gpu.global.u32 [%out], 1;",
    ),
    planted(
        "a lock that is given back without a fence",
        (1, 128),
        "memory",
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 exit;
         TAKE: atom.global.cas.b32 %r2, [%out], 0, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra TAKE;
         membar.gl;
         ld.global.u32 %r3, [%out+64]; add.u32 %r3, %r3, 1; st.global.u32 [%out+64], %r3;
         <<|membar.gl;>>
         atom.global.exch.b32 %r4, [%out], 0;",
    ),
    planted(
        "a lost update",
        (4, 32),
        "memory",
        "<<ld.global.u32 %r1, [%out]; add.u32 %r1, %r1, 1; st.global.u32 [%out], %r1;|red.global.add.u32 [%out], 1;>>",
    ),
    planted(
        "a slot that is looked up before it is taken",
        (2, 64),
        "memory",
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 exit;
         <<ld.global.u32 %r2, [%out]; atom.global.add.u32 %r3, [%out], 1;|atom.global.add.u32 %r2, [%out], 1;>>
         mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1+64], 1;",
    ),
    planted(
        "a shared counter that others use before it is set",
        (1, 96),
        "memory",
        ".shared .b32 s[1];
         setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u32 [s], 5;
         <<|bar.sync 0;>>
         atom.shared.add.u32 %r1, [s], 1;
         bar.sync 0; ld.shared.u32 %r2, [s]; @%p1 st.global.u32 [%out], %r2;",
    ),
    planted(
        "a shared counter that is read before all have counted",
        (1, 96),
        "memory",
        ".shared .b32 s[1];
         atom.shared.add.u32 %r1, [s], 1;
         <<|bar.sync 0;>>
         setp.eq.u32 %p1, %t, 64; ld.shared.u32 %r2, [s]; @%p1 st.global.u32 [%out], %r2;",
    ),
    planted(
        "a consumer that arrives at a barrier and does not wait",
        (1, 64),
        "memory",
        ".shared .b32 s[32];
         and.b32 %r1, %t, 31; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
         setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUME;
         add.u32 %r3, %t, 100; st.shared.u32 [%r2], %r3; bar.sync 1, 64; exit;
         CONSUME: bar.<<arrive|sync>> 1, 64; ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4;",
    ),
    planted(
        "an update in place that neighbouring blocks read",
        (4, 32),
        "memory",
        "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %t; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %out;
         ld.global.u32 %r3, [%rd1+4]; add.u32 %r3, %r3, %r2; st.global.u32 [%rd1+<<0|1024>>], %r3;",
    ),
    planted(
        "a result that whoever comes last stores",
        (1, 128),
        "memory",
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 7; @%p1 exit;
         add.u32 %r2, %t, 1;
         <<st.global.u32 [%out], %r2;|red.global.max.u32 [%out], %r2;>>",
    ),
    planted(
        "a pointer that is used before it is stored",
        (1, 64),
        "fault",
        ".shared .b64 s[1];
         setp.eq.u32 %p1, %t, 0; @%p1 st.shared.u64 [s], %at;
         <<|bar.sync 0;>>
         setp.ne.u32 %p2, %t, 32; @%p2 exit;
         ld.shared.u64 %rd1, [s]; st.global.u32 [%rd1+4], 9;",
    ),
    planted(
        "a warp that passes by a barrier that counts it",
        (1, 64),
        "hang",
        "setp.ge.u32 %p1, %t, 32; @%p1 bra SECOND;
         <<ld.volatile.global.u32 %r1, [%out];|mov.u32 %r1, 0;>>
         setp.ne.u32 %p2, %r1, 0; @%p2 exit;
         bar.sync 1, 64; exit;
         SECOND: st.volatile.global.u32 [%out], 1; bar.sync 1, 64;",
    ),
    planted(
        "two locks that are taken in opposite orders",
        (1, 64),
        "hang",
        "and.b32 %r1, %t, 31; setp.ne.u32 %p1, %r1, 0; @%p1 exit;
         shr.u32 %r2, %t, 3; mov.u32 %r9, <<%r2|0>>; xor.b32 %r3, %r9, 4;
         cvt.u64.u32 %rd1, %r9; add.u64 %rd1, %out, %rd1; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %out, %rd2;
         A: atom.global.cas.b32 %r4, [%rd1], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra A;
         B: atom.global.cas.b32 %r4, [%rd2], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra B;
         red.global.add.u32 [%out+64], 1; membar.gl;
         atom.global.exch.b32 %r5, [%rd1], 0; atom.global.exch.b32 %r5, [%rd2], 0;",
    ),
    planted(
        "a block that spins until a later block has run",
        (4, 32),
        "hang",
        "setp.ne.u32 %p1, %t, 0; @%p1 exit;
         <<mov.u32 %r1, %ctaid.x; sub.u32 %r1, 3, %r1;|atom.global.add.u32 %r1, [%out], 1;>>
         mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out;
         setp.eq.u32 %p2, %r1, 0; @%p2 bra DONE;
         WAIT: ld.volatile.global.u32 %r2, [%rd1+60]; setp.eq.u32 %p3, %r2, 0; @%p3 bra WAIT;
         DONE: st.volatile.global.u32 [%rd1+64], 1;",
    ),
    Planted {
        cooperative: true,
        ..planted(
            "a grid barrier by hand",
            (6, 32),
            "hang",
            "setp.ne.u32 %p1, %t, 0; @%p1 exit;
             red.global.add.u32 [%out], 1;
             WAIT: ld.volatile.global.u32 %r1, [%out]; setp.lt.u32 %p2, %r1, 6; @%p2 bra WAIT;
             red.global.add.u32 [%out+4], 1;",
        )
    },
    Planted {
        cluster: 2,
        ..planted(
            "a neighbour's shared memory that is read before it is written",
            (4, 32),
            "memory",
            ".shared .b32 s[32];
             mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r1, %r1, %r2; add.u32 %r3, %t, 50; st.shared.u32 [%r1], %r3;
             <<|barrier.cluster.arrive; barrier.cluster.wait;>>
             mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1; mapa.shared::cluster.u32 %r5, %r1, %r4;
             ld.shared::cluster.u32 %r6, [%r5];
             mov.u32 %r7, %ctaid.x; mul.wide.u32 %rd1, %r7, 128; add.u64 %rd1, %rd1, %at; st.global.u32 [%rd1], %r6;
             barrier.cluster.arrive; barrier.cluster.wait;",
        )
    },
    Planted {
        cluster: 2,
        ..planted(
            "an arrival at the barrier of a cluster that does not release",
            (2, 32),
            "memory",
            ".shared .b32 s[32];
             mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r1, %r1, %r2; add.u32 %r3, %t, 50;
             barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
             mov.u32 %r4, %cluster_ctarank; xor.b32 %r4, %r4, 1; mapa.shared::cluster.u32 %r5, %r1, %r4;
             st.shared::cluster.u32 [%r5], %r3;
             barrier.cluster.arrive.<<relaxed|release>>.aligned; barrier.cluster.wait.aligned;
             ld.shared.u32 %r6, [%r1];
             mov.u32 %r7, %ctaid.x; mul.wide.u32 %rd1, %r7, 128; add.u64 %rd1, %rd1, %at; st.global.u32 [%rd1], %r6;",
        )
    },
    planted(
        "a fence for the block where the last block needs one for the device",
        (6, 32),
        "memory",
        "setp.ne.u32 %p1, %t, 0; @%p1 exit;
         mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out;
         add.u32 %r2, %r1, 100; st.global.u32 [%rd1+16], %r2;
         <<membar.cta|membar.gl>>;
         atom.global.add.u32 %r3, [%out], 1; setp.ne.u32 %p2, %r3, 5; @%p2 exit;
         mov.u32 %r4, 0; mov.u32 %r5, 0;
         SUM: mul.wide.u32 %rd2, %r4, 4; add.u64 %rd2, %rd2, %out; ld.volatile.global.u32 %r6, [%rd2+16];
         add.u32 %r5, %r5, %r6; add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 6; @%p3 bra SUM;
         st.global.u32 [%out+4], %r5;",
    ),
    // In the twin a fence for the block is enough for its own threads, and the one for the device also covers what its thread saw of another.
    planted(
        "a number that a thread sees from its block, and others see from that thread",
        (2, 64),
        "memory",
        "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p4, %r1, 0; @%p4 bra READER;
         setp.eq.u32 %p1, %t, 0; @%p1 bra WRITER; setp.ne.u32 %p2, %t, 32; @%p2 exit;
         WAIT: ld.volatile.global.u32 %r2, [%out]; setp.eq.u32 %p3, %r2, 0; @%p3 bra WAIT;
         membar.cta; ld.global.u32 %r3, [%out+64]; st.global.u32 [%out+128], %r3;
         <<|membar.gl;>> st.volatile.global.u32 [%out+4], 1; exit;
         WRITER: st.global.u32 [%out+64], 7; membar.cta; st.volatile.global.u32 [%out], 1; exit;
         READER: setp.ne.u32 %p1, %t, 0; @%p1 exit;
         ld.volatile.global.u32 %r4, [%out+4]; setp.eq.u32 %p3, %r4, 0; @%p3 exit;
         ld.volatile.global.u32 %r5, [%out+64]; ld.volatile.global.u32 %r6, [%out+128]; add.u32 %r5, %r5, %r6;
         sub.u32 %r5, %r5, 14; st.global.u32 [%out+192], %r5;",
    ),
];

const BYTES: usize = 4096;

/// What differs, and what the ordinary order leaves.
fn run(planted: &Planted, right: bool, schedules: Option<Schedules>) -> (Vec<ScheduleDifference>, Vec<u32>) {
    let text = snippet(&side(planted.text, right));
    let device = match schedules {
        Some(schedules) => Device::scheduled(&text, schedules, None),
        None => Device::new(&text),
    };
    let out = device.zeroed::<u32>(BYTES / 4);
    let launch = launch(&device, "k", [planted.grid, 1, 1], [planted.block, 1, 1], &Args::new().add(out));
    let cluster = [planted.cluster, 1, 1];
    let launch = Launch { cluster, cooperative: right && planted.cooperative, ..launch };
    device.try_launch("k", launch).unwrap_or_else(|fault| panic!("{}: {fault}", planted.name));
    (device.differences(), device.download(out, BYTES / 4))
}

#[test]
fn every_mistake_is_found_and_its_seed_replays_it() {
    assert!(PLANTED.len() >= 15);
    let mut missed = Vec::new();
    for planted in PLANTED {
        let (found, left) = run(planted, false, Some(Schedules::new(SEEDS)));
        let Some(first) = found.iter().find(|difference| difference.kind.name() == planted.kind) else {
            missed.push((planted.name, found));
            continue;
        };
        println!("{}: {first}", planted.name);
        // The program goes on with what the ordinary order left.
        assert_eq!(left, run(planted, false, None).1, "{}", planted.name);
        let (again, _) = run(planted, false, Some(Schedules::new(1).seed(first.seed)));
        let same = again.iter().find(|difference| difference.kind.name() == planted.kind).unwrap();
        assert_eq!(same.kind, first.kind, "{}", planted.name);
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn nothing_is_found_in_the_twins() {
    let mut found = Vec::new();
    for planted in PLANTED {
        let (differences, left) = run(planted, true, Some(Schedules::new(TWIN_SEEDS)));
        found.extend(differences.iter().map(|difference| format!("{}: {difference}", planted.name)));
        assert_eq!(left, run(planted, true, None).1, "{}", planted.name);
    }
    assert!(found.is_empty(), "{found:#?}");
}
