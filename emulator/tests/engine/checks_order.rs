//! What orders accesses of different warps and blocks: correct protocols are silent, and without a part of them there
//! is a race.

use cuda_emulator::check::{Finding, FindingKind, Space};
use cuda_emulator::engine::Launch;

use crate::checks::{RACE, found, places};
use crate::support::{Args, Device, launch, snippet_with};

#[test]
fn blocks_that_write_one_word() {
    let body = "mov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 1;\nst.global.u32 [%out], %r1;";
    let races = found(body, 2, 1, 1);
    assert_eq!(places(&races), [(RACE, Space::Global, 11, 11)]);
    let other = races[0].other.as_ref().unwrap();
    assert_eq!((races[0].access.block, other.block), ([1, 0, 0], [0, 0, 0]));
    // The same value from all is no harm, nor is a word for each.
    assert_eq!(found("st.global.u32 [%out], 3;", 4, 64, 1), []);
    assert_eq!(
        found(
            "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r1;",
            4,
            1,
            4
        ),
        []
    );
}

#[test]
fn a_block_that_reads_what_another_writes() {
    let body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; add.u32 %r1, %r1, 9;\n\
                @%p1 st.global.u32 [%out], %r1;\n@!%p1 ld.global.u32 %r2, [%out];";
    assert_eq!(places(&found(body, 2, 1, 1)), [(RACE, Space::Global, 11, 12)]);
    // The reader first.
    let body = body.replace("setp.eq.u32 %p1, %r1, 0", "setp.eq.u32 %p1, %r1, 1");
    assert_eq!(places(&found(&body, 2, 1, 1)), [(RACE, Space::Global, 11, 12)]);
}

/// Each thread writes a partial result; the last block adds them. Lines: 11 writes, 17 reads.
fn last_block_done(before: &str, fence: &str) -> Vec<Finding> {
    let body = format!(
        "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.u32 %r3, %r1, %r2, %t; mul.wide.u32 %rd1, %r3, 4;\n\
         add.u64 %rd1, %rd1, %out; add.u32 %r9, %r3, 1; st.global.u32 [%rd1+8], %r9;\n\
         {before} setp.ne.u32 %p1, %t, 0; @%p1 bra JOIN;\n\
         {fence} mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1; atom.global.inc.u32 %r5, [%out], %r4; st.shared.u32 [s], %r5;\n\
         JOIN: bar.sync 0; ld.shared.u32 %r5, [s]; mov.u32 %r4, %nctaid.x; sub.u32 %r4, %r4, 1;\n\
         setp.ne.u32 %p2, %r5, %r4; @%p2 ret;\n\
         xor.b32 %r6, %t, 33; mul.wide.u32 %rd2, %r6, 4; add.u64 %rd2, %rd2, %out;\n\
         ld.global.u32 %r7, [%rd2+8];\n"
    );
    found(&body, 4, 64, 4 * 64 + 2)
}

#[test]
fn the_last_block_may_read_what_all_wrote() {
    assert_eq!(last_block_done("bar.sync 0;", "membar.gl;"), []);
    // A fence by each thread, and a barrier.
    assert_eq!(last_block_done("fence.acq_rel.gpu; bar.sync 0;", ""), []);
    let missing = [(RACE, Space::Global, 11, 17)];
    assert_eq!(places(&last_block_done("bar.sync 0;", "")), missing, "without a fence");
    assert_eq!(places(&last_block_done("", "membar.gl;")), missing, "without a barrier");
}

/// Block 0 writes a word and sets a flag, block 1 waits for the flag and reads the word.
fn flag(set: &str, get: &str) -> Vec<Finding> {
    let body = format!(
        "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;\n\
         st.global.u32 [%out+4], 5;\n{set}\nret;\nWAIT:\n{get}\nsetp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;\n\
         ld.global.u32 %r3, [%out+4];"
    );
    found(&body, 2, 1, 2)
}

#[test]
fn flags_order_blocks() {
    let protocols = [
        ("membar.gl; st.volatile.global.u32 [%out], 1;", "ld.volatile.global.u32 %r2, [%out]; membar.gl;"),
        ("st.volatile.global.u32 [%out], 1;", "ld.volatile.global.u32 %r2, [%out];"),
        ("st.release.gpu.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r2, [%out];"),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r2, [%out];"),
        ("membar.gl; atom.global.exch.b32 %r9, [%out], 1;", "atom.global.or.b32 %r2, [%out], 0;"),
        ("red.release.gpu.global.add.u32 [%out], 1;", "ld.acquire.gpu.global.u32 %r2, [%out];"),
    ];
    for (set, get) in protocols {
        assert_eq!(flag(set, get), [], "{set} {get}");
    }
    let races = flag("red.global.add.u32 [%out], 1;", "atom.global.or.b32 %r2, [%out], 0;");
    assert_eq!(places(&races), [(RACE, Space::Global, 11, 17)], "nothing releases the word");
}

#[test]
fn a_lock_orders_blocks_and_warps() {
    let body = "AGAIN: atom.global.cas.b32 %r1, [%out], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra AGAIN;\n\
                ld.global.u32 %r2, [%out+4]; add.u32 %r2, %r2, 1; st.global.u32 [%out+4], %r2;\n\
                membar.gl; atom.global.exch.b32 %r3, [%out], 0;";
    let locked = |block: &str| {
        let alone = format!("and.b32 %r8, %t, 31; setp.ne.u32 %p3, %r8, 0; @%p3 ret; {block}");
        found(&alone, 3, 96, 2)
    };
    assert_eq!(locked(body), []);
    let bare = "ld.global.u32 %r2, [%out+4]; add.u32 %r2, %r2, 1; st.global.u32 [%out+4], %r2;";
    assert!(!locked(bare).is_empty());
}

#[test]
fn flags_in_shared_memory_order_warps() {
    let body = "setp.ge.u32 %p1, %t, 32; @%p1 bra WAIT;\n\
                setp.ne.u32 %p2, %t, 0; @%p2 ret; st.shared.u32 [s+4], 5; membar.cta; st.volatile.shared.u32 [s], 1; ret;\n\
                WAIT: ld.volatile.shared.u32 %r2, [s]; setp.ne.u32 %p3, %r2, 1; @%p3 bra WAIT;\n\
                ld.shared.u32 %r3, [s+4];";
    let silent: Vec<_> = found(body, 1, 64, 1).into_iter().filter(|finding| finding.kind == RACE).collect();
    assert_eq!(silent, []);
}

/// Warp 0 makes words, warp 1 uses them; they meet at a barrier of their own.
fn produce(arrive: &str, wait: &str) -> Vec<Finding> {
    let body = format!(
        "mov.u32 %r1, s; and.b32 %r2, %t, 31; mad.lo.u32 %r1, %r2, 4, %r1; setp.ge.u32 %p1, %t, 32; @%p1 bra USE;\n\
         st.shared.u32 [%r1], 5;\n{arrive} ret;\nUSE: {wait}\nld.shared.u32 %r3, [%r1];"
    );
    found(&body, 1, 96, 1).into_iter().filter(|finding| finding.kind == RACE).collect()
}

#[test]
fn named_barriers_order_those_who_meet() {
    let use_only = |wait: &str| format!("setp.ge.u32 %p2, %t, 64; @%p2 ret; {wait}");
    assert_eq!(produce("bar.arrive 1, 64;", &use_only("bar.sync 1, 64;")), []);
    assert_eq!(produce("bar.sync 2, 64;", &use_only("bar.sync 2, 64;")), []);
    assert_eq!(places(&produce("", &use_only(""))), [(RACE, Space::Shared, 11, 14)]);
    // The third warp does not wait.
    let skips = "setp.ge.u32 %p2, %t, 64; @%p2 bra READ; bar.sync 1, 64; READ:";
    assert_eq!(places(&produce("bar.arrive 1, 64;", skips)), [(RACE, Space::Shared, 11, 14)]);
}

/// Each block of a cluster writes words of its neighbour, which reads them.
fn cluster(between: &str, blocks: u32, threads: u32) -> Vec<Finding> {
    let body = format!(
        "mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mov.u32 %r3, s; mad.lo.u32 %r3, %t, 4, %r3; mapa.shared::cluster.u32 %r4, %r3, %r2;\n\
         add.u32 %r6, %r1, 1; barrier.cluster.arrive; barrier.cluster.wait; st.shared::cluster.u32 [%r4], %r6;\n\
         {between}\nld.shared.u32 %r5, [%r3];"
    );
    let device = Device::checked(&snippet_with(".shared .align 16 .b8 s[512];", &body));
    let out = device.zeroed::<u32>(128);
    let asked = launch(&device, "k", [8, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.try_launch("k", Launch { cluster: [blocks, 1, 1], ..asked }).unwrap();
    device.findings()
}

#[test]
fn a_barrier_orders_a_cluster() {
    for (blocks, threads) in [(2, 1), (2, 96), (4, 64), (8, 1)] {
        let found = cluster("barrier.cluster.arrive; barrier.cluster.wait;", blocks, threads);
        assert_eq!(found, [], "{blocks} blocks of {threads}");
    }
    let races: Vec<_> =
        cluster("bar.sync 0;", 2, 1).into_iter().filter(|finding| finding.kind == RACE).collect();
    // Nor does anything keep the block from ending before the store.
    assert_eq!(places(&races), [(RACE, Space::Shared, 11, 13), (RACE, Space::Shared, 0, 11)]);
    let other = races[0].other.as_ref().unwrap();
    assert_ne!(races[0].access.block, other.block);
}

#[test]
fn what_is_of_a_block_orders_no_other_block() {
    // Atomics of the scope of a block, beside those of another block.
    let add = |scope: &str| format!("red.relaxed.{scope}.global.add.u32 [%out], 1;");
    assert_eq!(found(&add("gpu"), 3, 64, 4), []);
    assert_eq!(found(&add("cta"), 1, 64, 4), []);
    assert_eq!(places(&found(&add("cta"), 3, 64, 4)), [(RACE, Space::Global, 10, 10)]);
    // One of the two is enough.
    let mixed = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0;\n@%p1 red.relaxed.cta.global.add.u32 [%out], 1;\n\
                 @!%p1 red.relaxed.gpu.global.add.u32 [%out], 1;";
    assert_eq!(places(&found(mixed, 2, 64, 4)), [(RACE, Space::Global, 11, 12)]);
    let fence_of_a_block = last_block_done("bar.sync 0;", "membar.cta;");
    assert_eq!(places(&fence_of_a_block), [(RACE, Space::Global, 11, 17)]);
}

/// The kinds and lines of what is found in a cluster of two blocks whose threads run that between two barriers.
fn in_a_cluster(between: &str) -> Vec<(FindingKind, u32)> {
    cluster(between, 2, 32).iter().map(|finding| (finding.kind, finding.access.ptx_line)).collect()
}

#[test]
fn the_barrier_of_a_cluster_is_for_arriving_and_then_waiting() {
    let twice = "barrier.cluster.arrive;\nbarrier.cluster.arrive; barrier.cluster.wait;";
    assert!(in_a_cluster(twice).contains(&(FindingKind::ClusterBarrier, 13)), "{:?}", in_a_cluster(twice));
    let no_arrival = "barrier.cluster.arrive; barrier.cluster.wait;\nbarrier.cluster.wait;";
    assert_eq!(in_a_cluster(no_arrival), [(FindingKind::ClusterBarrier, 13)]);
    let parts = |aligned: &str| {
        let barrier = format!("barrier.cluster.arrive{aligned}; barrier.cluster.wait{aligned};");
        format!("setp.lt.u32 %p1, %t, 10; @%p1 bra A;\n{barrier}\nbra.uni E; A:\n{barrier}\nE:")
    };
    assert_eq!(in_a_cluster(&parts("")), []);
    let found = in_a_cluster(&parts(".aligned"));
    assert!(matches!(found[..], [(FindingKind::DivergentBarrier, 13 | 15)]), "{found:?}");
}
