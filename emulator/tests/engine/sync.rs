//! Threads that wait for each other: barriers, warp-wide instructions, locks, grids, clusters.

use cuda_emulator::engine::{FaultKind, run};

use crate::support::{Args, Device, HEADER, launch, outputs, snippet, snippet_fault};

#[test]
fn barriers_order_shared_memory() {
    let text = snippet(
        ".shared .b32 s[256];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; st.shared.u32 [%r2], %t;
         bar.sync 0;
         mov.u32 %r3, 255; sub.u32 %r3, %r3, %t; shl.b32 %r3, %r3, 2; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];
         barrier.sync.aligned 0;
         st.global.u32 [%at], %r4;",
    );
    assert_eq!(outputs::<u32>(&text, 256, 256), (0..256).rev().collect::<Vec<u32>>());
}

#[test]
fn exited_threads_are_not_waited_for() {
    let text = snippet("setp.ge.u32 %p1, %t, 40; @%p1 exit; bar.sync 0; bar.sync 5; st.global.u32 [%at], 1;");
    let out: Vec<u32> = outputs(&text, 128, 128);
    assert!(out[..40].iter().all(|x| *x == 1) && out[40..].iter().all(|x| *x == 0));
}

#[test]
fn a_divergent_warp_meets_at_a_barrier() {
    let text = snippet(
        "setp.lt.u32 %p1, %t, 10; @%p1 bra A; bar.sync 0; mov.u32 %r1, 2; bra.uni E; A: bar.sync 0; mov.u32 %r1, 1;
         E: st.global.u32 [%at], %r1;",
    );
    let out: Vec<u32> = outputs(&text, 64, 64);
    assert_eq!(out, (0..64).map(|t| if t < 10 { 1 } else { 2 }).collect::<Vec<u32>>());
}

#[test]
fn counted_barriers_between_warps() {
    // Warp 0 produces and arrives; warp 1 waits. Warps 2 and 3 use another barrier.
    let text = snippet(
        ".shared .b32 s[32];
         shr.u32 %r1, %t, 5; and.b32 %r2, %t, 31; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
         setp.eq.u32 %p1, %r1, 0; @%p1 bra PRODUCE; setp.eq.u32 %p2, %r1, 1; @%p2 bra CONSUME;
         bar.sync 3, 64; mov.u32 %r4, 3; bra.uni END;
         PRODUCE: add.u32 %r4, %t, 100; st.shared.u32 [%r3], %r4; bar.arrive 1, 64; bra.uni END;
         CONSUME: bar.sync 1, 64; ld.shared.u32 %r4, [%r3];
         END: st.global.u32 [%at], %r4;",
    );
    let out: Vec<u32> = outputs(&text, 128, 128);
    let expected = |t: u32| if t < 64 { 100 + t % 32 } else { 3 };
    assert_eq!(out, (0..128).map(expected).collect::<Vec<u32>>());
}

#[test]
fn barrier_reductions() {
    let text = snippet(
        "setp.lt.u32 %p1, %t, 70; setp.lt.u32 %p2, %t, 1000;
         bar.red.popc.u32 %r1, 0, %p1; bar.red.popc.u32 %r2, 1, !%p1;
         bar.red.and.pred %p3, 0, %p1; bar.red.and.pred %p4, 0, %p2; bar.red.or.pred %p5, 0, %p1; barrier.red.or.pred %p6, 0, !%p2;
         selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 2, 0, %p4; selp.u32 %r5, 4, 0, %p5; selp.u32 %r6, 8, 0, %p6;
         or.b32 %r3, %r3, %r4; or.b32 %r3, %r3, %r5; or.b32 %r3, %r3, %r6;
         mul.lo.u32 %r1, %r1, 10000; mul.lo.u32 %r2, %r2, 100; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
         st.global.u32 [%at], %r1;",
    );
    assert_eq!(outputs::<u32>(&text, 96, 96), [70 * 10_000 + 26 * 100 + 2 + 4; 96]);
}

#[test]
fn shuffles() {
    let run = |instruction: &str, threads: u32| {
        let text = snippet(&format!(
            "mul.lo.u32 %r1, %t, 10; mov.u32 %r9, 0xffffffff;
             {instruction}
             selp.u32 %r3, 1000, 0, %p1; add.u32 %r2, %r2, %r3; st.global.u32 [%at], %r2;"
        ));
        // Later modules have `.sync`.
        let old = text.replacen(".version 9.0\n.target sm_90", ".version 6.3\n.target sm_70", 1);
        outputs::<u32>(if instruction.contains(".sync") { &text } else { &old }, threads, threads as usize)
    };
    let expect = |f: &dyn Fn(u32) -> (u32, bool)| {
        (0..32).map(|t| f(t).0 * 10 + if f(t).1 { 1000 } else { 0 }).collect::<Vec<u32>>()
    };
    assert_eq!(
        run("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, %r9;", 32),
        expect(&|t| if t >= 3 { (t - 3, true) } else { (t, false) })
    );
    assert_eq!(
        run("shfl.sync.down.b32 %r2|%p1, %r1, 3, 0x1f, -1;", 32),
        expect(&|t| if t + 3 < 32 { (t + 3, true) } else { (t, false) })
    );
    assert_eq!(run("shfl.sync.bfly.b32 %r2|%p1, %r1, 5, 0x1f, %r9;", 32), expect(&|t| (t ^ 5, true)));
    assert_eq!(run("shfl.sync.idx.b32 %r2|%p1, %r1, 7, 0x1f, %r9;", 32), expect(&|_| (7, true)));
    // Segments of eight lanes: the mask is 24, the clamp 7 (0 for up).
    assert_eq!(
        run("shfl.sync.down.b32 %r2|%p1, %r1, 3, 0x1807, %r9;", 32),
        expect(&|t| if t % 8 + 3 < 8 { (t + 3, true) } else { (t, false) })
    );
    assert_eq!(
        run("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0x1800, %r9;", 32),
        expect(&|t| if t % 8 >= 3 { (t - 3, true) } else { (t, false) })
    );
    assert_eq!(
        run("shfl.sync.idx.b32 %r2|%p1, %r1, 2, 0x1807, %r9;", 32),
        expect(&|t| (t / 8 * 8 + 2, true))
    );
    assert_eq!(run("shfl.bfly.b32 %r2|%p1, %r1, 1, 0x1f;", 32), expect(&|t| (t ^ 1, true)));
    // A block of 20 threads: lanes without a thread are not waited for.
    assert_eq!(run("shfl.sync.idx.b32 %r2|%p1, %r1, 4, 0x1f, -1;", 20), [1040; 20]);
}

#[test]
fn votes_matches_and_reductions() {
    let text = snippet(
        "and.b32 %r1, %t, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r9, -1; cvt.u64.u32 %rd1, %r1; shl.b64 %rd1, %rd1, 40;
         vote.sync.ballot.b32 %r2, %p1, %r9; vote.sync.all.pred %p2, %p1, %r9; vote.sync.any.pred %p3, %p1, %r9; vote.sync.uni.pred %p4, !%p1, %r9;
         match.any.sync.b32 %r3, %r1, %r9; match.any.sync.b64 %r4, %rd1, %r9; match.all.sync.b32 %r5|%p5, %r1, %r9; match.all.sync.b32 %r6|%p6, %r9, %r9;
         redux.sync.add.s32 %r10, %t, %r9; redux.sync.max.u32 %r11, %t, %r9; redux.sync.min.s32 %r12, %r9, %r9; redux.sync.xor.b32 %r13, %t, %r9; redux.sync.or.b32 %r14, %t, %r9;
         elect.sync %r15|%p7, %r9;
         setp.ne.u32 %p8, %t, 5; @%p8 ret;
         selp.u32 %r20, 1, 0, %p2; selp.u32 %r21, 2, 0, %p3; or.b32 %r20, %r20, %r21; selp.u32 %r21, 4, 0, %p4; or.b32 %r20, %r20, %r21; selp.u32 %r21, 8, 0, %p5; or.b32 %r20, %r20, %r21;
         selp.u32 %r21, 16, 0, %p6; or.b32 %r20, %r20, %r21; selp.u32 %r21, 32, 0, %p7; or.b32 %r20, %r20, %r21;
         st.global.v4.u32 [%out], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%out+16], {%r6, %r10, %r11, %r12}; st.global.v4.u32 [%out+32], {%r13, %r14, %r15, %r20};",
    );
    let out: Vec<u32> = outputs(&text, 32, 12);
    assert_eq!(
        out,
        [0x1111_1111, 0x2222_2222, 0x2222_2222, 0, u32::MAX, 496, 31, u32::MAX, 0, 31, 0, 2 | 16]
    );
}

#[test]
fn members_that_come_by_different_ways() {
    // The lanes reach the shuffle at two places, the second after a long loop; and a third of them has exited.
    let text = snippet(
        "mov.u32 %r9, -1; setp.ge.u32 %p3, %t, 24; @%p3 exit;
         setp.lt.u32 %p1, %t, 10; @%p1 bra LATE;
         shfl.sync.bfly.b32 %r2, %t, 16, 0x1f, %r9; add.u32 %r2, %r2, 100; bra.uni END;
         LATE: mov.u32 %r1, 0;
         LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 5000; @%p2 bra LOOP;
         shfl.sync.bfly.b32 %r2, %t, 16, 0x1f, %r9; add.u32 %r2, %r2, 200;
         END: bar.warp.sync %r9; st.global.u32 [%at], %r2;",
    );
    let out: Vec<u32> = outputs(&text, 32, 32);
    let expected = |t: u32| match t {
        24.. => 0,
        // Their partner has exited: the value is their own.
        8..10 => t + 200,
        10..16 => t + 100,
        0..10 => (t ^ 16) + 200,
        _ => (t ^ 16) + 100,
    };
    assert_eq!(out, (0..32).map(expected).collect::<Vec<u32>>());
}

/// A lock that every thread takes once, to add one to a number without an atomic.
fn spin_lock(space: &str) -> String {
    format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p<4>;
         ld.param.u64 %rd1, [out];
         TRY: atom{space}.cas.b32 %r1, [%rd1], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;
         ld.volatile{space}.u32 %r2, [%rd1+4]; add.u32 %r2, %r2, 1; st.volatile{space}.u32 [%rd1+4], %r2;
         membar.gl; atom{space}.exch.b32 %r3, [%rd1], 0; ret; }}"
    )
}

#[test]
fn spin_locks_inside_a_warp_and_between_blocks() {
    let device = Device::new(&spin_lock(".global"));
    for (grid, block, workers) in [(1, 32, 1), (3, 100, 1), (7, 64, 3)] {
        let out = device.zeroed::<u32>(2);
        let launch = launch(&device, "k", [grid, 1, 1], [block, 1, 1], &Args::new().add(out));
        run(&device.kernel("k"), &launch, &device.memory, workers).unwrap();
        assert_eq!(device.download::<u32>(out, 2), [0, grid * block]);
    }
}

#[test]
fn a_lane_waits_for_its_sibling_without_any_hint() {
    // Lane 0 spins with plain loads, at a lower address than what the others do.
    let text = snippet(
        "setp.ne.u32 %p1, %t, 0; @%p1 bra OTHERS;
         SPIN: ld.global.u32 %r1, [%out+256]; setp.eq.u32 %p2, %r1, 0; @%p2 bra SPIN; bra.uni END;
         OTHERS: mov.u32 %r1, %t; setp.ne.u32 %p3, %t, 31; @%p3 bra END; st.global.u32 [%out+256], 77;
         END: st.global.u32 [%at], %r1;",
    );
    let out: Vec<u32> = outputs(&text, 32, 65);
    assert_eq!((out[0], out[1], out[31], out[64]), (77, 1, 31, 77));
}

#[test]
fn blocks_wait_for_later_blocks() {
    // Block 0 waits for what the last block stores; one worker has to start the others meanwhile.
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .pred %p<4>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x; sub.u32 %r2, %r2, 1;
         setp.eq.u32 %p1, %r1, %r2; @%p1 bra LAST;
         SPIN: ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra SPIN;
         red.global.add.u32 [%rd1+4], 1; ret;
         LAST: st.release.gpu.global.u32 [%rd1], 1; ret; }}"
    );
    let device = Device::new(&text);
    for workers in [1, 2] {
        let out = device.zeroed::<u32>(2);
        let launch = launch(&device, "k", [40, 1, 1], [32, 1, 1], &Args::new().add(out));
        run(&device.kernel("k"), &launch, &device.memory, workers).unwrap();
        assert_eq!(device.download::<u32>(out, 2), [1, 39 * 32]);
    }
}

#[test]
fn sleeping_threads_let_others_go() {
    let text = snippet(
        "setp.eq.u32 %p1, %t, 0; @%p1 bra FIRST;
         st.volatile.global.u32 [%out+512], 5; bra.uni END;
         FIRST: nanosleep.u32 100; ld.volatile.global.u32 %r1, [%out+512]; setp.eq.u32 %p2, %r1, 0; @%p2 bra FIRST; st.global.u32 [%out], %r1;
         END:",
    );
    assert_eq!(outputs::<u32>(&text, 40, 129)[0], 5);
}

#[test]
fn clusters_share_memory_and_barriers() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) .reqnctapercluster 4, 1, 1 {{
         .shared .u32 s; .shared .u32 pad[7];
         .reg .b64 %rd<8>; .reg .b32 %r<16>; .reg .pred %p<8>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %ctaid.x;
         setp.ne.u32 %p1, %r1, 0; @%p1 bra A; mul.lo.u32 %r4, %r3, 10; st.shared.u32 [s], %r4;
         A: barrier.cluster.arrive; barrier.cluster.wait;
         add.u32 %r5, %r2, 1; and.b32 %r5, %r5, 3;
         mov.u32 %r6, s; mapa.shared::cluster.u32 %r7, %r6, %r5; ld.shared::cluster.u32 %r8, [%r7];
         mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; mapa.u64 %rd3, %rd2, %r5; ld.u32 %r9, [%rd3]; add.u32 %r8, %r8, %r9;
         getctarank.shared::cluster.u32 %r10, %r7; setp.ne.u32 %p2, %r10, %r5; @%p2 trap;
         getctarank.u64 %r10, %rd2; setp.ne.u32 %p2, %r10, %r2; @%p2 trap;
         isspacep.shared::cluster %p3, %rd3; @!%p3 trap; isspacep.shared::cta %p3, %rd3; @%p3 trap;
         barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
         atom.shared::cluster.add.u32 %r11, [%r7], 1;
         barrier.cluster.arrive; barrier.cluster.wait;
         @%p1 ret;
         ld.shared.u32 %r12, [s];
         mul.wide.u32 %rd4, %r3, 8; add.u64 %rd4, %rd4, %rd1; st.global.v2.u32 [%rd4], {{%r8, %r12}};
         ret; }}"
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(16);
    device.launch("k", [8, 1, 1], [40, 1, 1], &Args::new().add(out));
    let expected = (0..8u32).flat_map(|block| {
        let next = block / 4 * 4 + (block % 4 + 1) % 4;
        [next * 20, block * 10 + 40]
    });
    assert_eq!(device.download::<u32>(out, 16), expected.collect::<Vec<u32>>());
}

#[test]
fn cluster_registers_in_three_dimensions() {
    let device = Device::file("tests/kernels/clusters.ptx");
    assert!(device.program.kernels().count() > 0);
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b64 %rd<4>; .reg .b32 %r<16>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z; mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y;
         mad.lo.u32 %r2, %r3, %r5, %r2; mad.lo.u32 %r1, %r2, %r4, %r1; mul.wide.u32 %rd2, %r1, 32; add.u64 %rd1, %rd1, %rd2;
         mov.u32 %r6, %clusterid.x; mov.u32 %r7, %clusterid.y; mov.u32 %r8, %cluster_ctaid.x; mov.u32 %r9, %cluster_ctaid.y;
         st.global.v4.u32 [%rd1], {{%r6, %r7, %r8, %r9}};
         mov.u32 %r6, %cluster_ctarank; mov.u32 %r7, %cluster_nctarank; mov.u32 %r8, %nclusterid.y; mov.u32 %r9, %cluster_nctaid.y;
         st.global.v4.u32 [%rd1+16], {{%r6, %r7, %r8, %r9}}; ret; }}"
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(8 * 4 * 6 * 3);
    let mut launch = launch(&device, "k", [4, 6, 3], [1, 1, 1], &Args::new().add(out));
    launch.cluster = [2, 3, 1];
    device.try_launch("k", launch).unwrap();
    let values: Vec<u32> = device.download(out, 8 * 4 * 6 * 3);
    for (at, registers) in values.chunks(8).enumerate() {
        let (x, y) = (at as u32 % 4, at as u32 / 4 % 6);
        assert_eq!(registers, [x / 2, y / 3, x % 2, y % 3, y % 3 * 2 + x % 2, 6, 2, 3], "block {at}");
    }
}

#[test]
fn one_worker_is_deterministic() {
    // Which thread gets which number depends on the order of all threads.
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) {{
         .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %p<2>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 100, %r2; rem.u32 %r4, %r3, 7; mov.u32 %r6, 0;
         L: atom.global.add.u32 %r5, [%rd1], %r3; add.u32 %r6, %r6, %r5; sub.u32 %r4, %r4, 1; setp.gt.s32 %p1, %r4, 0; @%p1 bra L; bar.sync 0;
         mul.wide.u32 %rd2, %r3, 4; add.u64 %rd2, %rd2, %rd1; st.global.u32 [%rd2+4], %r6; ret; }}"
    );
    let device = Device::new(&text);
    let results: Vec<Vec<u32>> = (0..3)
        .map(|_| {
            let out = device.zeroed::<u32>(1001);
            let launch = launch(&device, "k", [10, 1, 1], [100, 1, 1], &Args::new().add(out));
            run(&device.kernel("k"), &launch, &device.memory, 1).unwrap();
            device.download(out, 1001)
        })
        .collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn wrong_uses_are_faults() {
    let fault = snippet_fault(&snippet("mov.u32 %r1, 16; bar.sync %r1;"), 32, 4);
    assert_eq!((fault.kind, fault.ptx_line), (FaultKind::InvalidSync, 10));
    let fault = snippet_fault(&snippet("mov.u32 %r1, 33; bar.sync 0, %r1;"), 32, 4);
    assert_eq!(fault.kind, FaultKind::InvalidSync);
    let fault = snippet_fault(&snippet("bar.warp.sync 0xfffffffe;"), 32, 4);
    assert_eq!((fault.kind, fault.thread), (FaultKind::InvalidSync, [0, 0, 0]));
    assert!(fault.message.contains("lane 0") && fault.message.contains("0xfffffffe"), "{fault}");
}

#[test]
fn barriers_in_shared_memory() {
    // Every thread arrives, one with two; each phase ends when the last has come.
    let text = snippet(
        ".shared .b64 b; mov.u32 %r1, b; setp.ne.u32 %p1, %t, 0; @%p1 bra A; mbarrier.init.shared::cta.b64 [%r1], 65; A: bar.sync 0;
         setp.eq.u32 %p2, %t, 5; selp.u32 %r2, 2, 1, %p2;
         mbarrier.arrive.shared.b64 %rd1, [b], %r2;
         W: mbarrier.test_wait.shared.b64 %p3, [b], %rd1; @!%p3 bra W;
         mbarrier.test_wait.parity.shared.b64 %p4, [b], 1; @%p4 trap; mbarrier.test_wait.parity.shared.b64 %p4, [b], 0; @!%p4 trap;
         @%p2 mbarrier.arrive.noComplete.shared.b64 %rd2, [b], 1; @%p2 mbarrier.pending_count.b64 %r4, %rd2; bar.sync 0;
         mbarrier.arrive.expect_tx.shared.b64 %rd3, [b], 8; mbarrier.complete_tx.shared.b64 [b], 8;
         V: mbarrier.try_wait.parity.shared.b64 %p3, [b], 1, 1000; @!%p3 bra V;
         st.global.u32 [%at], %r4;
         bar.sync 0; @!%p1 mbarrier.inval.shared.b64 [b];",
    );
    let out: Vec<u32> = outputs(&text, 64, 64);
    assert_eq!(out[5], 65);
    let fault = snippet_fault(
        &snippet(".shared .b64 b; mbarrier.init.shared.b64 [b], 1; mbarrier.arrive.shared.b64 _, [b], 2;"),
        1,
        4,
    );
    assert_eq!(fault.kind, FaultKind::InvalidSync);
    let fault = snippet_fault(&snippet("mbarrier.init.b64 [%out], 1;"), 1, 8);
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
}

#[test]
fn parts_of_a_warp_with_members_of_their_own() {
    // Eight lanes each; the last part comes later than the others.
    let text = snippet(
        "and.b32 %r1, %t, 24; mov.u32 %r2, 0xff; shl.b32 %r2, %r2, %r1;
         redux.sync.add.u32 %r3, %t, %r2; shfl.sync.down.b32 %r4, %t, 1, 0x1807, %r2;
         setp.lt.u32 %p1, %t, 20; mov.u32 %r5, 0; @%p1 bra A;
         L: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100; @%p2 bra L;
         A: match.any.sync.b32 %r6, %r1, %r2; bar.warp.sync %r2;
         mad.lo.u32 %r3, %r3, 1000, %r4; setp.ne.u32 %p3, %r6, %r2; @%p3 trap; st.global.u32 [%at], %r3;",
    );
    let expected = |t: u32| {
        let first = t / 8 * 8;
        (first * 8 + 28) * 1000 + if t % 8 == 7 { t } else { t + 1 }
    };
    assert_eq!(outputs::<u32>(&text, 32, 32), (0..32).map(expected).collect::<Vec<u32>>());
}
