//! Work that goes on after its instruction, and is not waited for: each mistake, and the same kernel without it.

use cuda_emulator::check::{Finding, FindingKind, Space};

use crate::checks::{RACE, UNINITIALISED, places};
use crate::support::{Args, Device, snippet_with};

const WAIT: FindingKind = FindingKind::MissingWait;
const FENCE: FindingKind = FindingKind::MissingFence;

/// Kind, space, and the lines of both instructions.
type Place = (FindingKind, Space, u32, u32);

/// The findings of a kernel of 128 threads a block, whose body starts in line 10. Shared memory is `s`, with barriers `bar` and `empty`;
/// `%r60` and `%r61` have their addresses, `%r59` that of `s`; `%p31` holds in thread 0. The output has 16 KiB of zeros.
fn found(body: &str) -> Vec<Finding> {
    found_in(body, "", 1)
}

fn found_in(body: &str, directives: &str, blocks: u32) -> Vec<Finding> {
    let start = "mov.u32 %r59, s; mov.u32 %r60, bar; mov.u32 %r61, empty; setp.eq.u32 %p31, %t, 0; ";
    let shared = ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar; .shared .align 8 .b64 empty;";
    let text = snippet_with("", &format!("{start}{body}"));
    let text = text
        .replace(".target sm_90\n", ".target sm_90a\n")
        .replace("{\n.reg", &format!("{directives} {{ {shared}\n.reg"));
    let device = Device::checked(&text);
    let out = device.zeroed::<u32>(4096);
    device.launch("k", [blocks, 1, 1], [128, 1, 1], &Args::new().add(out));
    device.findings()
}

/// A kernel without a mistake, and kernels with one: what replaces what, and where what is found.
fn planted(good: &str, mistakes: &[(&str, &str, Place)]) {
    assert_eq!(found(good), [], "{good}");
    for (right, wrong, place) in mistakes {
        let bad = good.replacen(right, wrong, 1);
        assert_ne!(bad, good, "{right}");
        let all = found(&bad);
        assert!(places(&all).contains(place), "{bad}\n{all:#?}");
        let advice = all.iter().find(|finding| finding.kind == place.0).and_then(|finding| finding.advice);
        assert!(advice.is_some() || place.0 == RACE || place.0 == UNINITIALISED, "{all:?}");
    }
}

const INIT: &str =
    "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; fence.mbarrier_init.release.cluster; bar.sync 0;";
/// Each thread reads four bytes of what was copied to the start of shared memory.
const READ: &str = "mad.lo.u32 %r1, %t, 4, %r59; ld.shared.u32 %r2, [%r1]; st.global.u32 [%at+8192], %r2;";
const ARRIVED: &str = "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;";

#[test]
fn copies_of_threads() {
    // Line 11 copies, 12 waits, 14 reads what another warp copied, 15 stores to the source.
    let good = "mad.lo.u32 %r1, %t, 16, %r59; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;\n\
        cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;\n\
        cp.async.wait_group 0;\n\
        bar.sync 0; xor.b32 %r3, %t, 33; mad.lo.u32 %r3, %r3, 16, %r59;\n\
        ld.shared.u32 %r4, [%r3];\n\
        add.u32 %r4, %r4, 1; st.global.u32 [%rd1], %r4;";
    planted(
        good,
        &[
            ("cp.async.wait_group 0;", "", (WAIT, Space::Shared, 11, 14)),
            ("cp.async.wait_group 0;", "", (WAIT, Space::Global, 11, 15)),
            ("cp.async.wait_group 0;", "cp.async.wait_group 1;", (WAIT, Space::Shared, 11, 14)),
            ("cp.async.commit_group;", "", (WAIT, Space::Shared, 11, 14)),
            ("bar.sync 0;", "", (RACE, Space::Shared, 11, 14)),
            // Only one thread waits.
            ("cp.async.wait_group 0;", "@%p31 cp.async.wait_group 0;", (WAIT, Space::Shared, 11, 14)),
        ],
    );
    planted(&good.replace("cp.async.commit_group;", "").replace("wait_group 0", "wait_all"), &[]);
    // Of two groups the first is over.
    let two = good.replace(
        "cp.async.commit_group;",
        "cp.async.commit_group; cp.async.cg.shared.global [%r1+8192], [%rd1+4096], 16; cp.async.commit_group;",
    );
    planted(
        &two.replace("wait_group 0", "wait_group 1"),
        &[("[%r3];", "[%r3+8192];", (WAIT, Space::Shared, 11, 14))],
    );
    // A thread's own copy has to be waited for, too.
    planted(
        "mad.lo.u32 %r1, %t, 16, %r59; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;\n\
         cp.async.cg.shared.global [%r1], [%rd1], 16;\n\
         cp.async.wait_all;\n\
         ld.shared.u32 %r4, [%r1];\n\
         st.global.u32 [%rd1+2048], %r4;",
        &[("cp.async.wait_all;", "", (WAIT, Space::Shared, 11, 13))],
    );
}

#[test]
fn copies_of_threads_that_arrive_at_a_barrier() {
    let good = "@%p31 mbarrier.init.shared::cta.b64 [%r60], 128; bar.sync 0;\n\
        mad.lo.u32 %r1, %t, 16, %r59; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out; cp.async.cg.shared.global [%r1], [%rd1], 16;\n\
        cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r60];\n\
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;\n\
        xor.b32 %r3, %t, 33; mad.lo.u32 %r3, %r3, 16, %r59; ld.shared.u32 %r4, [%r3]; st.global.u32 [%at+8192], %r4;";
    planted(
        good,
        &[
            ("[%r60], 0; @!%p1", "[%r60], 1; @!%p1", (WAIT, Space::Shared, 11, 14)),
            ("@!%p1 bra W;", "", (WAIT, Space::Shared, 11, 14)),
        ],
    );
    // Not `.noinc`: the phase waits for the copies as well, and each thread arrives.
    let counted = good.replace(
        ".noinc.shared::cta.b64 [%r60];",
        ".shared::cta.b64 [%r60]; mbarrier.arrive.shared::cta.b64 _, [%r60];",
    );
    planted(
        &counted,
        &[("cp.async.mbarrier.arrive.shared::cta.b64 [%r60];", "", (WAIT, Space::Shared, 11, 14))],
    );
}

#[test]
fn bulk_loads() {
    let copies = [
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 512, [%r60];",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r59], [%r59+1024], 512, [%r60];",
    ];
    for (copy, fill) in copies
        .into_iter()
        .zip(["", "st.shared.u32 [%r5], 1; st.shared.u32 [%r5+1024], 2; fence.proxy.async;"])
    {
        let good = format!(
            "mad.lo.u32 %r5, %t, 4, %r59; {fill} {INIT}\n\
             @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512;\n\
             @%p31 {copy}\n\
             {ARRIVED}\n\
             {READ}"
        );
        planted(
            &good,
            &[
                (ARRIVED, "bar.sync 0;", (WAIT, Space::Shared, 12, 14)),
                // A wrong parity: the phase before the first counts as over.
                ("[%r60], 0; @!%p1", "[%r60], 1; @!%p1", (WAIT, Space::Shared, 12, 14)),
                ("@!%p1 bra W;", "", (WAIT, Space::Shared, 12, 14)),
            ],
        );
        // One warp waits; the others meet it, or do not.
        let one =
            good.replace(ARRIVED, &format!("setp.ge.u32 %p2, %t, 32; @%p2 bra N; {ARRIVED} N: bar.sync 0;"));
        planted(&one, &[("N: bar.sync 0;", "N:", (RACE, Space::Shared, 12, 14))]);
    }
    // The source is overwritten.
    let good = format!(
        "{INIT}\n\
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512;\n\
         @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 512, [%r60];\n\
         {ARRIVED}\n\
         st.global.u32 [%at], 5;"
    );
    planted(&good, &[(ARRIVED, "bar.sync 0;", (WAIT, Space::Global, 12, 14))]);
}

#[test]
fn stores_to_another_block() {
    let good = format!(
        "{INIT} mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mapa.shared::cluster.u32 %r2, %r59, %r1; mapa.shared::cluster.u32 %r3, %r60, %r1;\n\
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         mad.lo.u32 %r4, %t, 4, %r2; st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r4], %t, [%r3];\n\
         {ARRIVED}\n\
         mad.lo.u32 %r4, %t, 4, %r59; ld.shared.u32 %r5, [%r4]; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    );
    let cluster = ".explicitcluster .reqnctapercluster 2";
    // A reduction reads what it changes: that must have been written.
    let reduces =
        good.replace("st.async.", "red.async.relaxed.cluster.").replace("bytes.b32", "bytes.add.u32");
    let written = "mad.lo.u32 %r4, %t, 4, %r59; st.shared.u32 [%r4], 0; barrier.cluster.arrive.aligned;";
    let reduces = reduces.replacen("barrier.cluster.arrive.aligned;", written, 1);
    for good in [good, reduces] {
        assert_eq!(found_in(&good, cluster, 2), []);
        for wrong in
            [good.replace(ARRIVED, "bar.sync 0;"), good.replace("[%r60], 0; @!%p1", "[%r60], 1; @!%p1")]
        {
            let all = found_in(&wrong, cluster, 2);
            // The other block's store may come before the read, or after it.
            assert!(places(&all).iter().any(|place| (place.2, place.3) == (12, 14)), "{all:#?}");
        }
    }
    // A multicast: each block waits at its own barrier.
    let good = format!(
        "{INIT} mov.u32 %r1, %cluster_ctarank; setp.eq.and.u32 %p5, %r1, 0, %p31; mov.b16 %h1, 3;\n\
         @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         @%p5 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r59], [%out], 512, [%r60], %h1;\n\
         {ARRIVED}\n\
         mad.lo.u32 %r4, %t, 4, %r59; ld.shared.u32 %r5, [%r4]; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
    );
    assert_eq!(found_in(&good, cluster, 2), []);
    let wrong = good.replace(ARRIVED, &format!("setp.eq.u32 %p6, %r1, 1; @%p6 bra N; {ARRIVED} N:"));
    let all = found_in(&wrong, cluster, 2);
    assert!(places(&all).contains(&(WAIT, Space::Shared, 12, 14)), "{all:#?}");
    let read = all.iter().find(|finding| finding.kind == WAIT).map(|finding| finding.access.block);
    assert_eq!(read, Some([1, 0, 0]));
}

#[test]
fn bulk_stores() {
    // Line 10 writes shared memory, 11 makes it visible, 13 stores, 14 waits, 16 overwrites, 17 reads what was stored.
    let good = "mad.lo.u32 %r1, %t, 4, %r59; st.shared.u32 [%r1], %t;\n\
        fence.proxy.async;\n\
        bar.sync 0; @!%p31 bra N;\n\
        cp.async.bulk.global.shared::cta.bulk_group [%out+4096], [%r59], 512; cp.async.bulk.commit_group;\n\
        cp.async.bulk.wait_group 0;\n\
        N: bar.sync 0;\n\
        st.shared.u32 [%r1], 7;\n\
        ld.global.u32 %r2, [%at+4096]; st.global.u32 [%at], %r2;";
    planted(
        good,
        &[
            ("fence.proxy.async;", "", (FENCE, Space::Shared, 10, 13)),
            // One thread fences what all have written, before the barrier.
            ("fence.proxy.async;", "@%p31 fence.proxy.async;", (FENCE, Space::Shared, 10, 13)),
            ("bar.sync 0; @!%p31", "@!%p31", (RACE, Space::Shared, 10, 13)),
            ("cp.async.bulk.wait_group 0;", "", (WAIT, Space::Shared, 13, 16)),
            ("cp.async.bulk.wait_group 0;", "", (WAIT, Space::Global, 13, 17)),
            ("cp.async.bulk.wait_group 0;", "cp.async.bulk.wait_group 1;", (WAIT, Space::Shared, 13, 16)),
            (
                "cp.async.bulk.wait_group 0;",
                "cp.async.bulk.wait_group.read 0;",
                (WAIT, Space::Global, 13, 17),
            ),
            ("cp.async.bulk.commit_group;", "", (WAIT, Space::Shared, 13, 16)),
            ("N: bar.sync 0;", "N:", (RACE, Space::Global, 13, 17)),
        ],
    );
    // The thread that stores may also fence, after the barrier; and only the reads are waited for.
    let other = good
        .replace("fence.proxy.async;", "")
        .replace("@!%p31 bra N;", "@!%p31 bra N; fence.proxy.async.shared::cta;")
        .replace("wait_group 0", "wait_group.read 0")
        .replace("ld.global.u32 %r2, [%at+4096];", "mov.u32 %r2, 1;");
    planted(&other, &[("wait_group.read 0", "wait_group.read 1", (WAIT, Space::Shared, 13, 16))]);
    // Reductions of all blocks are no race with each other; a read is.
    let reduce = good
        .replace(
            "cp.async.bulk.global.shared::cta.bulk_group [",
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [",
        )
        .replace("ld.global.u32 %r2, [%at+4096]; st.global.u32 [%at], %r2;", "");
    assert_eq!(found_in(&reduce, "", 3), []);
    let read = format!("{reduce} ld.global.u32 %r2, [%at+4096];");
    assert!(places(&found_in(&read, "", 3)).contains(&(RACE, Space::Global, 13, 17)));
}

/// A producer fills a buffer again and again, and consumers empty it.
fn pipeline(wait_for_room: &str, parity: &str) -> String {
    format!(
        "@%p31 mbarrier.init.shared::cta.b64 [%r60], 1; @%p31 mbarrier.init.shared::cta.b64 [%r61], 96; fence.mbarrier_init.release.cluster; bar.sync 0;\n\
         mov.u32 %r10, 0; setp.lt.u32 %p5, %t, 32; @%p5 bra P;\n\
         C: and.b32 %r11, %r10, 1; xor.b32 %r12, %r11, 1; W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], {parity}; @!%p1 bra W;\n\
         mad.lo.u32 %r1, %t, 4, %r59; ld.shared.u32 %r2, [%r1];\n\
         mbarrier.arrive.shared::cta.b64 _, [%r61]; add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 6; @%p2 bra C; bra E;\n\
         P: and.b32 %r11, %r10, 1; xor.b32 %r12, %r11, 1; @!%p31 bra E; {wait_for_room}\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 512, [%r60];\n\
         add.u32 %r10, %r10, 1; setp.lt.u32 %p2, %r10, 6; @%p2 bra P;\n\
         E:"
    )
}

#[test]
fn a_pipeline_waits_for_data_and_room() {
    const ROOM: &str = "R: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r61], %r12; @!%p3 bra R;";
    assert_eq!(found(&pipeline(ROOM, "%r11")), []);
    // With the other parity consumers read what is not there; with two rounds they would hang.
    let once = |text: String| text.replace("%r10, 6", "%r10, 1");
    assert_eq!(found(&once(pipeline(ROOM, "%r11"))), []);
    let all = found(&once(pipeline(ROOM, "%r12")));
    assert!(places(&all).iter().any(|place| (place.2, place.3) == (13, 17)), "{all:#?}");
    // The producer waits for its own copy alone, and overwrites what is read.
    const OWN: &str = "R: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r60], %r12; @!%p3 bra R;";
    let all = found(
        &pipeline(OWN, "%r11")
            .replace("%r10, 6; @%p2 bra P", "%r10, 2; @%p2 bra P")
            .replace("%r10, 6", "%r10, 1"),
    );
    assert!(places(&all).iter().any(|place| (place.2, place.3) == (13, 17)), "{all:#?}");
}

/// 64 by 8 by 16 numbers of 16 bits: A from registers or shared memory, B in shared memory. Line 11 fills it, 14 multiplies, 16 waits, 17 uses D.
fn product(left: &str, tail: &str) -> String {
    let zero: String =
        (0..4).map(|at| format!("mov.b32 %r{}, 0; add.u32 %r{}, %t, {at}; ", 20 + at, 30 + at)).collect();
    format!(
        "{zero} cvt.u64.u32 %rd1, %r59; shr.u64 %rd1, %rd1, 4; mov.b64 %rd2, 0x1000080000; or.b64 %rd1, %rd1, %rd2; add.u64 %rd3, %rd1, 256; mad.lo.u32 %r1, %t, 16, %r59; add.u32 %r1, %r1, 0;\n\
         st.shared.v2.b64 [%r1], {{%rd9, %rd9}}; st.shared.v2.b64 [%r1+2048], {{%rd9, %rd9}}; st.shared.v2.b64 [%r1+4096], {{%rd9, %rd9}};\n\
         fence.proxy.async; bar.sync 0;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%r20, %r21, %r22, %r23}}, {left}, %rd3, 1, 1, 1{tail};\n\
         wgmma.commit_group.sync.aligned;\n\
         wgmma.wait_group.sync.aligned 0;\n\
         st.global.u32 [%at], %r20; add.u32 %r30, %r30, 1;\n\
         bar.sync 0; st.shared.u32 [%r1], 7; st.shared.u32 [%r1+4096], 7;"
    )
}

/// Kind, and the lines of both instructions.
fn lines(found: &[Finding]) -> Vec<(FindingKind, u32, u32)> {
    let line = |finding: &Finding| {
        let (mine, other) =
            (finding.access.ptx_line, finding.other.as_ref().map_or(0, |other| other.ptx_line));
        (finding.kind, mine.min(other), mine.max(other))
    };
    found.iter().map(line).collect()
}

#[test]
fn products_of_matrices() {
    let (registers, memory) = (product("{%r30, %r31, %r32, %r33}", ", 0"), product("%rd1", ", 0, 0"));
    for good in [&registers, &memory] {
        assert_eq!(found(good), [], "{good}");
        for (right, wrong, place) in [
            ("wgmma.wait_group.sync.aligned 0;", "", (WAIT, 14, 17)),
            ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;", (WAIT, 14, 17)),
            ("wgmma.commit_group.sync.aligned;", "", (WAIT, 14, 17)),
            // B is overwritten.
            ("wgmma.wait_group.sync.aligned 0;", "", (WAIT, 14, 18)),
            ("fence.proxy.async;", "", (FENCE, 11, 14)),
            ("fence.proxy.async; bar.sync 0;", "fence.proxy.async;", (RACE, 11, 14)),
            // D is written, not only moved, behind the fence.
            (
                "wgmma.fence.sync.aligned;",
                "wgmma.fence.sync.aligned; add.u32 %r21, %r21, 1;",
                (FENCE, 13, 14),
            ),
        ] {
            let bad = good.replacen(right, wrong, 1);
            let all = found(&bad);
            assert!(lines(&all).contains(&place), "{bad}\n{all:#?}");
            assert!(place.0 == RACE || all.iter().any(|finding| finding.advice.is_some()));
        }
    }
    // A in registers is overwritten, or is the result of the product before.
    let written = registers
        .replace("wgmma.wait_group.sync.aligned 0;\n", "\n")
        .replace("st.global.u32 [%at], %r20;", "");
    assert!(lines(&found(&written)).contains(&(WAIT, 14, 17)));
    let next = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r24, %r25, %r26, %r27}, {%r20, %r21, %r22, %r23}, %rd3, 0, 1, 1, 0;";
    let chained = registers
        .replace("wgmma.commit_group.sync.aligned;", &format!("{next} wgmma.commit_group.sync.aligned;"));
    assert!(lines(&found(&chained)).contains(&(WAIT, 14, 15)));
    // Compilers move results to other registers before they wait, and products one after the other add to one result.
    let moved = registers
        .replace("wgmma.commit_group.sync.aligned;", "wgmma.commit_group.sync.aligned; mov.b32 %r40, %r20;")
        .replace("[%at], %r20", "[%at], %r40");
    assert_eq!(found(&moved), []);
    let early = moved.replace("wgmma.wait_group.sync.aligned 0;", "");
    assert!(lines(&found(&early)).contains(&(WAIT, 14, 17)));
    let first = registers.lines().nth(4).unwrap();
    let twice = registers
        .replace("wgmma.commit_group.sync.aligned;", &format!("{first} wgmma.commit_group.sync.aligned;"));
    assert_eq!(found(&twice), []);
}

#[test]
fn products_of_copied_matrices() {
    let (bulk, wait) = (
        "@%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [%out], 8192, [%r60];",
        "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r60], 0; @!%p1 bra W;",
    );
    let all = product("%rd1", ", 0, 0");
    let stores = all.lines().nth(1).unwrap();
    let start = format!("{INIT} @%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 8192; {bulk}");
    // Copied in the async proxy: no fence is needed.
    let good = all
        .replace(stores, &start)
        .replace("fence.proxy.async; bar.sync 0;", wait)
        .replace("[%at]", "[%at+8192]");
    assert_eq!(found(&good), []);
    assert!(lines(&found(&good.replace(wait, "bar.sync 0;"))).contains(&(WAIT, 11, 14)));
    assert!(lines(&found(&good.replace("[%r60], 0; @!%p1", "[%r60], 1; @!%p1"))).contains(&(WAIT, 11, 14)));
    // Nor by kernels of CUTLASS and Triton that copy with `cp.async`.
    let copies: String =
        [0, 2048, 4096].map(|at| format!("cp.async.cg.shared.global [%r1+{at}], [%out+{at}], 16; ")).concat();
    let good = all.replace(stores, &format!("{copies} cp.async.wait_all;")).replace("[%at]", "[%at+8192]");
    let good = good.replace("fence.proxy.async;", "");
    assert_eq!(found(&good), []);
    assert!(lines(&found(&good.replace("cp.async.wait_all;", ""))).contains(&(WAIT, 11, 14)));
}

#[test]
fn what_nobody_wrote_is_copied() {
    let copy = |from: &str| {
        format!(
            "{INIT} \n@%p31 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r60], 512;\n\
             @%p31 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r59], [{from}], 512, [%r60];\n{ARRIVED}\n{READ}"
        )
    };
    assert_eq!(found(&copy("%out")), []);
    let device = Device::checked(&snippet_with(
        ".shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;",
        &format!("mov.u32 %r59, s; mov.u32 %r60, bar; setp.eq.u32 %p31, %t, 0; {}", copy("%out")),
    ));
    let out = device.memory.allocate(16384).unwrap();
    device.memory.write(out, &[1; 496]).unwrap();
    device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(out));
    assert_eq!(places(&device.findings()), [(UNINITIALISED, Space::Global, 0, 12)]);
    // A store of shared memory, and a product of it.
    let store = "@%p31 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r59], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    assert_eq!(places(&found(store)), [(UNINITIALISED, Space::Shared, 0, 10)]);
    let all = product("%rd1", ", 0, 0");
    let unwritten = found(&all.replace("[%r1+4096], {%rd9, %rd9}", "[%r1+6144], {%rd9, %rd9}"));
    assert!(places(&unwritten[..1]).contains(&(UNINITIALISED, Space::Shared, 0, 14)), "{unwritten:#?}");
}
