//! Reads of what nobody wrote, races within a block, barriers that diverge: what is found, and what is not.

use cuda_emulator::check::{Finding, FindingKind, Space};

use crate::support::{Args, Device, snippet_with};

/// Runs the kernel of a snippet, which starts in line 10, on `blocks` blocks, with an output of `words` words of zeros.
pub(crate) fn found(body: &str, blocks: u32, threads: u32, words: usize) -> Vec<Finding> {
    let device = Device::checked(&snippet_with(".shared .align 16 .b8 s[4096];\n.global .u32 g[64];", body));
    let out = device.zeroed::<u32>(words);
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.findings()
}

/// Kind, space, and the lines of the access and the other one, in order.
pub(crate) fn places(found: &[Finding]) -> Vec<(FindingKind, Space, u32, u32)> {
    let place = |finding: &Finding| {
        let (mine, other) =
            (finding.access.ptx_line, finding.other.as_ref().map_or(0, |other| other.ptx_line));
        (finding.kind, finding.bytes.as_ref().unwrap().space, mine.min(other), mine.max(other))
    };
    found.iter().map(place).collect()
}

pub(crate) const RACE: FindingKind = FindingKind::Race;
pub(crate) const UNINITIALISED: FindingKind = FindingKind::Uninitialised;

/// Each thread writes a word of shared memory; another one reads it. `between` is line 11.
fn exchange(between: &str, threads: u32) -> Vec<Finding> {
    let body = format!(
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; add.u32 %r6, %t, 1; st.shared.u32 [%r2], %r6;\n{between}\n\
         mov.u32 %r3, %ntid.x; sub.u32 %r3, %r3, %t; sub.u32 %r3, %r3, 1; mad.lo.u32 %r4, %r3, 4, %r1;\n\
         ld.shared.u32 %r5, [%r4]; st.global.u32 [%at], %r5;"
    );
    found(&body, 2, threads, 1024)
}

#[test]
fn a_missing_barrier_is_a_race() {
    let races: Vec<_> = exchange("", 64).into_iter().filter(|finding| finding.kind == RACE).collect();
    // Which reads find it unwritten depends on the order of the warps.
    assert!(places(&races).contains(&(RACE, Space::Shared, 10, 13)), "{races:?}");
    let race = &races[0];
    let other = race.other.as_ref().unwrap();
    assert_eq!(race.access.block, other.block);
    assert_eq!(race.access.thread[0] + other.thread[0], 63, "{race}");
    assert!(race.times > 1 && race.to_string().contains("PTX line 13"), "{race}");
}

#[test]
fn a_barrier_orders_a_block() {
    assert_eq!(exchange("bar.sync 0;", 64), []);
    assert_eq!(exchange("barrier.cta.sync 3, 64;", 64), []);
    assert_eq!(exchange("bar.red.popc.u32 %r9, 0, %p1;", 96), []);
}

#[test]
fn lanes_of_a_warp_have_to_meet() {
    assert_eq!(places(&exchange("", 32)), [(RACE, Space::Shared, 10, 13)]);
    for meeting in
        ["bar.warp.sync -1;", "shfl.sync.idx.b32 %r9, %t, 0, 31, -1;", "vote.sync.ballot.b32 %r9, %p1, -1;"]
    {
        assert_eq!(exchange(meeting, 32), [], "{meeting}");
    }
}

#[test]
fn volatile_code_of_a_warp_is_left_alone() {
    let step = |distance: u32| {
        format!(
            "ld.volatile.shared.u32 %r3, [%r2]; ld.volatile.shared.u32 %r4, [%r2+{}]; add.u32 %r3, %r3, %r4;\n\
             st.volatile.shared.u32 [%r2], %r3;\n",
            distance * 4
        )
    };
    let steps: String = [16, 8, 4, 2, 1].map(step).concat();
    let body = format!(
        "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 4, %r1; st.shared.u32 [%r2], %t; st.shared.u32 [%r2+128], 0;\n\
         {steps}ld.volatile.shared.u32 %r5, [%r2]; st.global.u32 [%at], %r5;"
    );
    assert_eq!(found(&body, 1, 32, 32), []);
}

#[test]
fn one_store_of_many_values_is_a_race() {
    let body =
        "mov.u32 %r1, s;\nst.shared.u32 [%r1], %t;\nst.global.u32 [%out], 7;\nst.global.u32 [%out+4], %t;";
    let found = found(body, 1, 32, 32);
    assert_eq!(places(&found), [(RACE, Space::Shared, 11, 11), (RACE, Space::Global, 13, 13)]);
    assert_eq!(found[0].times, 31);
}

#[test]
fn bytes_of_a_word_are_no_race() {
    let body = "cvt.u64.u32 %rd1, %t; add.u64 %rd1, %rd1, %out; st.global.u8 [%rd1], %t;\n\
                mov.u32 %r1, s; add.u32 %r1, %r1, %t; st.shared.u8 [%r1], %t; ld.shared.u8 %r2, [%r1];";
    assert_eq!(found(body, 1, 64, 32), []);
}

#[test]
fn atomics_are_no_race_with_each_other() {
    let body = "atom.global.add.u32 %r1, [%out], 1; red.global.max.u32 [%out], %t; atom.global.cas.b32 %r2, [%out], 5, 6;\n\
                ld.relaxed.gpu.global.u32 %r3, [%out];\nld.global.u32 %r4, [%out];";
    // But a plain read is.
    let found = found(body, 3, 64, 8);
    assert!(!found.is_empty() && places(&found).iter().all(|place| place.3 == 12), "{found:?}");
}

#[test]
fn a_guess_before_an_atomic_is_no_race() {
    let body = "ld.global.u32 %r1, [%out];\nAGAIN: add.u32 %r2, %r1, 3; atom.global.cas.b32 %r3, [%out], %r1, %r2;\n\
                setp.ne.u32 %p1, %r3, %r1; mov.u32 %r1, %r3; @%p1 bra AGAIN;";
    assert_eq!(found(body, 3, 64, 1), []);
    let spared =
        "ld.global.u32 %r1, [%out]; setp.ge.u32 %p1, %r1, %t; @%p1 ret; red.global.max.u32 [%out], %t;";
    assert_eq!(found(spared, 3, 64, 1), []);
    // What is added does not come from a guess.
    let bare = "ld.global.u32 %r1, [%out];\nred.global.add.u32 [%out], %r1;\nred.global.add.u32 [%out], 1;";
    assert!(!found(bare, 3, 64, 1).is_empty());
}

#[test]
fn memory_that_nobody_wrote() {
    let device = Device::checked(&snippet_with(
        ".shared .align 16 .b8 s[64];\n.global .u32 g[4];",
        "mov.u32 %r1, s;\nld.shared.u32 %r2, [%r1+8];\nld.global.u32 %r3, [%out+12];\n\
         atom.shared.add.u32 %r4, [%r1+16], 1;\natom.shared.exch.b32 %r4, [%r1+20], 1; ld.shared.u32 %r5, [%r1+20];\n\
         ld.global.u32 %r6, [g]; mov.u64 %rd1, s; cvta.shared.u64 %rd1, %rd1;\nld.u32 %r7, [%rd1+4];",
    ));
    let out = device.memory.allocate(64).unwrap();
    device.memory.write(out, &[0; 12]).unwrap();
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    let found = device.findings();
    assert_eq!(
        places(&found).iter().map(|(kind, space, _, line)| (*kind, *space, *line)).collect::<Vec<_>>(),
        [
            (UNINITIALISED, Space::Shared, 11),
            (UNINITIALISED, Space::Global, 12),
            (UNINITIALISED, Space::Shared, 13),
            (UNINITIALISED, Space::Shared, 16),
        ]
    );
    let bytes = found.iter().map(|finding| finding.bytes.as_ref().unwrap()).collect::<Vec<_>>();
    assert_eq!((bytes[1].address, bytes[1].count), (out + 12, 4));
    assert_eq!(bytes[0].place, "at offset 8 of 64");
    assert!(
        found[1].to_string().contains(&format!("inside the allocation 0x{out:x} of 64 bytes, at offset 12"))
    );
}

#[test]
fn parts_of_words_are_written_one_by_one() {
    let body = "mov.u32 %r1, s; st.shared.u8 [%r1+1], 1; st.shared.u16 [%r1+2], 1; ld.shared.u8 %r2, [%r1+1];\n\
                ld.shared.u16 %r3, [%r1+2];\nld.shared.u32 %r4, [%r1];\nst.shared.u8 [%r1], 0;\n\
                ld.shared.u32 %r4, [%r1];\nst.shared.v4.u32 [%r1+16], {%t, %t, %t, %t};\n\
                ld.shared.v2.u32 {%r5, %r6}, [%r1+24];\nld.shared.v2.u32 {%r5, %r6}, [%r1+32];";
    assert_eq!(
        places(&found(body, 1, 1, 1)),
        [(UNINITIALISED, Space::Shared, 0, 12), (UNINITIALISED, Space::Shared, 0, 17)]
    );
}

#[test]
fn what_copies_and_kernels_write_is_written() {
    let device =
        Device::checked(&snippet_with("", "ld.global.u32 %r1, [%at];\nst.global.u32 [%at+128], %r1;"));
    let out = device.memory.allocate(512).unwrap();
    let launch = |address| device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add::<u64>(address));
    device.memory.fill(out, &[1], 64).unwrap();
    device.memory.copy(out + 64, out, 64).unwrap();
    launch(out);
    // What that kernel wrote, and what the next one did.
    [128, 256].into_iter().for_each(|offset| {
        launch(out + offset);
    });
    assert_eq!(device.findings(), []);
    device.memory.forget_written(out + 20, 4).unwrap();
    launch(out);
    let found = device.findings();
    assert_eq!(places(&found), [(UNINITIALISED, Space::Global, 0, 10)]);
    assert_eq!((found[0].access.thread, found[0].times), ([5, 0, 0], 1));
    // Memory that is allocated again is new.
    device.memory.free(out).unwrap();
    let again = device.memory.allocate(512).unwrap();
    launch(again);
    assert_eq!(device.findings()[0].times, 32);
}

#[test]
fn a_copy_of_unwritten_bytes_is_unwritten() {
    let device = Device::checked(&snippet_with("", "ld.global.u32 %r1, [%at];"));
    let [from, to] = [(); 2].map(|()| device.memory.allocate(1024).unwrap());
    let threads = |address: u64| {
        device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add::<u64>(address));
        device.findings().iter().map(|finding| (finding.access.thread[0], finding.times)).collect::<Vec<_>>()
    };
    device.memory.fill(from, &[1], 512).unwrap();
    device.memory.fill(to, &[1], 1024).unwrap();
    device.memory.forget_written(from + 41, 2).unwrap();
    device.memory.copy(to + 4, from, 512).unwrap();
    assert_eq!(threads(to), [(11, 1)]);
    // In one allocation, upwards and downwards.
    device.memory.copy(to + 16, to, 512).unwrap();
    assert_eq!(threads(to), [(15, 1)]);
    device.memory.copy(to, to + 32, 256).unwrap();
    assert_eq!(threads(to), [(7, 1)]);
    device.memory.write(to + 28, &[0; 4]).unwrap();
    assert_eq!(threads(to), []);
}

#[test]
fn a_copy_to_shared_memory_reads_and_writes() {
    let body = "mov.u32 %r1, s; mad.lo.u32 %r2, %t, 16, %r1; mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;\n\
                cp.async.ca.shared.global [%r2], [%rd1], 16;\ncp.async.wait_all; bar.sync 0;\n\
                xor.b32 %r3, %t, 33; mad.lo.u32 %r3, %r3, 16, %r1; ld.shared.u32 %r4, [%r3];";
    assert_eq!(found(body, 1, 64, 256), []);
    let races = found(&body.replace("bar.sync 0;", "").replace("33", "1"), 1, 32, 256);
    assert_eq!(places(&races), [(RACE, Space::Shared, 11, 13)]);
}

/// The lines of the barriers that diverge.
fn diverging(body: &str, threads: u32) -> Vec<[u32; 2]> {
    let found = found(body, 1, threads, 1024);
    assert!(found.iter().all(|finding| finding.kind == FindingKind::DivergentBarrier), "{found:?}");
    found.iter().map(|at| [at.access.ptx_line, at.other.as_ref().unwrap().ptx_line]).collect()
}

#[test]
fn parts_of_a_warp_at_different_barriers_diverge() {
    let two = |first: &str, second: &str| {
        format!(
            "setp.lt.u32 %p1, %t, 10; @%p1 bra A;\n{first}\nbra.uni E; A:\n{second}\nE: st.global.u32 [%at], %t;"
        )
    };
    for (first, second) in [
        ("bar.sync 0;", "bar.sync 0;"),
        ("barrier.sync.aligned 0;", "barrier.sync 0;"),
        ("barrier.sync 0;", "bar.red.popc.u32 %r1, 0, %p1;"),
    ] {
        let mut lines = diverging(&two(first, second), 64);
        lines.iter_mut().for_each(|pair| pair.sort_unstable());
        assert_eq!(lines, [[11, 13]], "{first} {second}");
    }
    // Barriers for any threads, and one to which all come, each half by itself.
    assert_eq!(diverging(&two("barrier.sync 0;", "barrier.sync 0;"), 64), [[0; 2]; 0]);
    assert_eq!(diverging(&(two("mov.u32 %r1, 1;", "mov.u32 %r1, 2;") + "bar.sync 0;"), 64), [[0; 2]; 0]);
    // Whole warps may be where they like.
    let warps = "setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 0; bra.uni E; A: bar.sync 0; E: st.global.u32 [%at], %t;";
    assert_eq!(diverging(warps, 64), [[0; 2]; 0]);
    // Half of each warp meets the other warp's first.
    let first =
        "and.b32 %r1, %t, 31; setp.lt.u32 %p1, %r1, 16; @%p1 bra A; barrier.sync 1, 32; A: bar.sync 0;";
    assert_eq!(diverging(first, 64), [[0; 2]; 0]);
    // Threads whose loops take longer than the others wait for a turn.
    let late = "mul.lo.u32 %r1, %t, 400; L: setp.eq.u32 %p1, %r1, 0; @%p1 bra D; sub.u32 %r1, %r1, 1; bra L; D: bar.arrive 1, 64; bar.sync 2, 32;";
    assert_eq!(diverging(late, 32), [[0; 2]; 0]);
    // Neither part waits at its barrier.
    assert_eq!(diverging(&two("bar.arrive 1, 128;", "bar.arrive 1, 128;"), 64), [[11, 13]]);
    // Threads that have left are no part of a warp.
    assert_eq!(diverging("setp.lt.u32 %p1, %t, 10; @%p1 exit; bar.sync 0;", 64), [[0; 2]; 0]);
}

#[test]
fn threads_pass_by_a_barrier_or_return_before_it() {
    let after = "E: st.global.u32 [%at], %t;";
    // Both parts of the warp store; only one has been at the barrier.
    let passing = format!("setp.ge.u32 %p1, %t, 10; @%p1 bra E;\nbar.sync 0;\n{after}");
    assert_eq!(diverging(&passing, 64), [[11, 12]]);
    let text = found(&passing, 1, 64, 1024)[0].to_string();
    assert!(
        text.starts_with("threads of a warp do not come to a barrier together in kernel `k`: arrival by"),
        "{text}"
    );
    assert!(text.contains("PTX line 11; write by block (0, 0, 0), thread (10, 0, 0), PTX line 12"), "{text}");
    // For any threads of a warp.
    assert_eq!(diverging(&passing.replace("bar.sync", "barrier.sync"), 64), [[0; 2]; 0]);
    // Those that return first, also after a store of their own, and those that come later.
    for early in [
        "setp.lt.u32 %p1, %t, 10; @%p1 bra S; st.global.u32 [%at], 5; ret; S: bar.sync 0; st.global.u32 [%at], %t;",
        "setp.ge.u32 %p1, %t, 10; @%p1 bra R;\nbar.sync 0;\nst.global.u32 [%at], %t; ret;\nR: st.global.u32 [%at], 5;",
        "setp.ge.u32 %p1, %t, 10; @%p1 bra E;\nbar.sync 0;\nst.global.u32 [%at], %t;\nE: ret;",
    ] {
        assert_eq!(diverging(early, 64), [[0; 2]; 0], "{early}");
    }
    let late = "setp.lt.u32 %p1, %t, 10; @%p1 bra S;\nbra.uni E;\nS: st.global.u32 [%at], 5;\nE: bar.sync 0; st.global.u32 [%at], %t;";
    assert_eq!(diverging(late, 64), [[0; 2]; 0]);
    // Some leave the loop and its barriers earlier than others.
    let rounds = "mov.u32 %r2, 0; L: bar.sync 0; add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 5; setp.lt.and.u32 %p1, %r2, %t, %p2;\n\
                  @%p1 bra L;\nst.global.u32 [%at], %t;";
    assert_eq!(diverging(rounds, 32), [[10, 13]]);
}

#[test]
fn a_divergent_barrier_names_its_threads_once() {
    let body = "mov.u32 %r2, 0; L: setp.lt.u32 %p1, %t, 10; @%p1 bra A;\nbar.sync 0;\nbra.uni E; A:\nbar.sync 0;\n\
                E: add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra L; st.global.u32 [%at], %t;";
    let found = found(body, 2, 64, 1024);
    let [finding] = &found[..] else { panic!("{found:?}") };
    let threads = [&finding.access, finding.other.as_ref().unwrap()].map(|actor| actor.thread[0]);
    assert!(threads.contains(&0) && threads.contains(&10), "{finding}");
    assert_eq!((finding.times, finding.bytes.is_none()), (10, true), "{finding}");
    let text = finding.to_string();
    assert!(
        text.starts_with("threads of a warp are at different barriers in kernel `k`: arrival by block"),
        "{text}"
    );
}
