//! Barriers of warps that have fewer threads than lanes: short last warps, exited threads, threads that come later.

use crate::support::{Args, Device, launch, outputs, snippet, snippet_fault};

/// Every thread stores its number, meets the others at `barrier`, and reads what the last thread of the block stored.
fn last_of_all(barrier: &str, threads: u32) -> String {
    let last = threads - 1;
    snippet(&format!(
        ".shared .b32 s[1024];
         mov.u32 %r1, s; shl.b32 %r2, %t, 2; add.u32 %r2, %r1, %r2; add.u32 %r3, %t, 1; st.shared.u32 [%r2], %r3;
         {barrier}
         ld.shared.u32 %r4, [s+{}]; st.global.u32 [%at], %r4;",
        last * 4
    ))
}

#[test]
fn a_short_warp_counts_whole_at_a_counted_barrier() {
    for threads in [1u32, 31, 33, 40, 63, 80, 127] {
        let whole = threads.next_multiple_of(32);
        for barrier in [format!("bar.sync 1, {whole};"), format!("barrier.sync 1, {whole};")] {
            let out: Vec<u32> = outputs(&last_of_all(&barrier, threads), threads, threads as usize);
            assert_eq!(out, vec![threads; threads as usize], "{barrier} of {threads}");
        }
    }
}

#[test]
fn a_short_warp_arrives_whole() {
    // Warp 0 waits for the eight threads of warp 1, which only arrive; both are counted as 32.
    let text = snippet(
        ".shared .b32 s[8];
         and.b32 %r1, %t, 7; shl.b32 %r1, %r1, 2; mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
         setp.lt.u32 %p1, %t, 32; @%p1 bra WAIT;
         add.u32 %r3, %t, 500; st.shared.u32 [%r2], %r3; bar.arrive 2, 64; bra.uni END;
         WAIT: bar.sync 2, 64; ld.shared.u32 %r3, [%r2];
         END: st.global.u32 [%at], %r3;",
    );
    let out: Vec<u32> = outputs(&text, 40, 40);
    assert_eq!(out, (0..40).map(|t| 532 + t % 8).collect::<Vec<u32>>());
}

#[test]
fn a_warp_whose_threads_have_exited_counts_whole() {
    // Of the second warp the upper half is gone before the barrier; of the first it goes while the lower half waits.
    let text = snippet(
        "setp.ge.u32 %p1, %t, 48; @%p1 exit;
         setp.ge.u32 %p2, %t, 16; setp.lt.u32 %p3, %t, 32; and.pred %p4, %p2, %p3; @%p4 bra LATE;
         barrier.sync 1, 64; st.global.u32 [%at], 1; exit;
         LATE: mov.u32 %r1, 0;
         LOOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p5, %r1, 5000; @%p5 bra LOOP;
         exit;",
    );
    let out: Vec<u32> = outputs(&text, 64, 64);
    assert_eq!(out, (0..64).map(|t| u32::from(t < 16 || (32..48).contains(&t))).collect::<Vec<u32>>());
}

#[test]
fn a_part_of_a_warp_does_not_count_whole() {
    // The last lanes of warp 0 come late; warp 1 must not go on before they have stored.
    let text = snippet(
        ".shared .b32 s[32];
         shl.b32 %r2, %t, 2; mov.u32 %r1, s; add.u32 %r2, %r2, %r1;
         setp.ge.u32 %p1, %t, 32; @%p1 bra READ;
         setp.lt.u32 %p2, %t, 20; @%p2 bra MEET;
         mov.u32 %r3, 0;
         LOOP: add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 20000; @%p3 bra LOOP;
         st.shared.u32 [%r2], 9;
         MEET: barrier.sync 1, 64; exit;
         READ: barrier.sync 1, 64; ld.shared.u32 %r4, [%r2+-128]; st.global.u32 [%at], %r4;",
    );
    let out: Vec<u32> = outputs(&text, 64, 64);
    assert_eq!(out, (0..64).map(|t| if t >= 52 { 9 } else { 0 }).collect::<Vec<u32>>());
}

#[test]
fn a_count_that_nobody_completes_is_a_deadlock() {
    // 40 threads are two warps, 64 at a counted barrier: 96 never come.
    let fault = snippet_fault(&snippet("bar.sync 1, 96;"), 40, 4);
    assert!(fault.to_string().contains("barrier"), "{fault}");
}

/// The reductions of `%p1`, `!%p1` and their results, as bits and two counts: `popc p`, `popc !p`, then bits 0 to 3 of and p,
/// and !p, or p, or !p.
const REDUCTIONS: &str = "bar.red.popc.u32 %r1, 0, %p1; bar.red.popc.u32 %r2, 0, !%p1;
     bar.red.and.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, !%p1;
     bar.red.or.pred %p4, 0, %p1; bar.red.or.pred %p5, 0, !%p1;
     selp.u32 %r3, 1, 0, %p2; selp.u32 %r4, 2, 0, %p3; or.b32 %r3, %r3, %r4;
     selp.u32 %r4, 4, 0, %p4; or.b32 %r3, %r3, %r4; selp.u32 %r4, 8, 0, %p5; or.b32 %r3, %r3, %r4;
     mul.lo.u32 %r1, %r1, 10000; mul.lo.u32 %r2, %r2, 100; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
     st.global.u32 [%at], %r1;";

/// What each thread that is there must find, if `set` of `count` threads have the predicate set.
fn reduced(set: u32, count: u32) -> u32 {
    let clear = count - set;
    let bits = u32::from(clear == 0) | u32::from(set == 0) << 1;
    set * 10_000 + clear * 100 + (bits | u32::from(set != 0) << 2 | u32::from(clear != 0) << 3)
}

#[test]
fn reductions_do_not_count_lanes_without_a_thread() {
    for threads in [1u32, 8, 33, 40, 64, 95] {
        for set in [0, 1, threads / 2, threads] {
            let text = snippet(&format!("setp.lt.u32 %p1, %t, {set}; {REDUCTIONS}"));
            let out: Vec<u32> = outputs(&text, threads, threads as usize);
            assert_eq!(out, vec![reduced(set, threads); threads as usize], "{set} of {threads}");
        }
    }
}

#[test]
fn reductions_do_not_count_threads_that_have_exited() {
    // The predicate of those that go is set, or clear, when they go.
    for (mine, theirs) in [(true, true), (true, false), (false, true), (false, false)] {
        let (mine, theirs) = (u32::from(mine), u32::from(theirs));
        let text = snippet(&format!(
            "setp.lt.u32 %p6, %t, 45; selp.u32 %r9, {mine}, {theirs}, %p6; setp.ne.u32 %p1, %r9, 0;
             @!%p6 exit; {REDUCTIONS}"
        ));
        let out: Vec<u32> = outputs(&text, 80, 80);
        let wanted = reduced(45 * mine, 45);
        assert_eq!(out, (0..80).map(|t| if t < 45 { wanted } else { 0 }).collect::<Vec<u32>>());
    }
}

#[test]
fn a_reduction_of_a_count_takes_the_short_warp_whole_and_its_threads_alone() {
    // Warps 1 and 2 of 80 threads, 64 as the barrier counts, are 48 threads; warp 0 is elsewhere.
    let device = Device::new(&snippet(
        "setp.lt.u32 %p1, %t, 32; @%p1 exit; setp.ge.u32 %p2, %t, 70;
         bar.red.popc.u32 %r1, 3, 64, !%p2; bar.red.and.pred %p3, 3, 64, %p2; bar.red.or.pred %p4, 3, 64, %p2;
         selp.u32 %r2, 100, 0, %p3; selp.u32 %r3, 1000, 0, %p4; add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
         st.global.u32 [%at], %r1;",
    ));
    let out = device.zeroed::<u32>(80);
    device.try_launch("k", launch(&device, "k", [3, 1, 1], [80, 1, 1], &Args::new().add(out))).unwrap();
    let got: Vec<u32> = device.download(out, 80);
    assert_eq!(got, (0..80).map(|t| if t < 32 { 0 } else { 38 + 1000 }).collect::<Vec<u32>>());
}
