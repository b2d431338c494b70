//! Accesses to elements of arrays, whose addresses are found in one step where nothing else needs them: they have to be what three
//! instructions make of them.

use crate::support::{Args, Device, Plain, snippet};

/// Runs a body on words, or numbers of eight bytes, that hold their own number, and returns the words from 4096 bytes on.
fn run<T: Plain>(body: &str, threads: u32, numbers: impl Iterator<Item = T>) -> Vec<u32> {
    let device = Device::new(&snippet(body));
    let out = device.upload(&numbers.collect::<Vec<T>>());
    device.launch("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.download(out + 4096, threads as usize)
}

/// Three rounds, so that the accesses know their memory, of loads and stores at an index that `index` leaves in `%r5`; the last thread of a
/// short block is alone in its warp.
fn word(index: &str, multiply: &str) -> Vec<u32> {
    let body = format!(
        "mov.u32 %r9, 0; add.u64 %rd9, %out, 4096;\nround: {index}\n\
         {multiply} %rd1, %r5, 4; add.s64 %rd2, %out, %rd1; ld.global.u32 %r1, [%rd2+8];\n\
         mul.wide.u32 %rd3, %t, 4; add.s64 %rd4, %rd3, %rd9; st.global.u32 [%rd4], %r1;\n\
         add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round;"
    );
    run::<u32>(&body, 65, 0..2048)
}

#[test]
fn indices_of_all_kinds() {
    let wanted = |index: fn(u32) -> u32| (0..65).map(|t| index(t) + 2).collect::<Vec<u32>>();
    assert_eq!(word("mov.u32 %r5, %t;", "mul.wide.u32"), wanted(|t| t));
    assert_eq!(word("shr.u32 %r5, %t, 4;", "mul.wide.s32"), wanted(|t| t / 16));
    assert_eq!(
        word("and.b32 %r6, %t, 31; max.u32 %r5, %r6, 16;", "mul.wide.u32"),
        wanted(|t| (t % 32).max(16))
    );
    assert_eq!(word("xor.b32 %r5, %t, 5;", "mul.wide.s32"), wanted(|t| t ^ 5));
    // From the third round on, in which only odd threads have another one.
    let odd = "setp.eq.u32 %p2, %r9, 2; and.b32 %r6, %t, 1; mov.u32 %r5, %t; @%p2 add.u32 %r5, %r5, %r6;";
    assert_eq!(word(odd, "mul.wide.u32"), wanted(|t| t + t % 2));
}

#[test]
fn indices_with_a_sign() {
    // `%out` is two words in; the index begins at -2, and so does one that is not a multiple of the number of lanes.
    let body = |sign: &str| {
        format!(
            "mov.u32 %r9, 0; add.u64 %rd9, %out, 32;\nround: sub.u32 %r5, %t, 8;\n\
             mul.wide.{sign} %rd1, %r5, 4; add.s64 %rd2, %rd9, %rd1; ld.global.u32 %r1, [%rd2]; st.global.u32 [%at+4096], %r1;\n\
             add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round;"
        )
    };
    assert_eq!(run::<u32>(&body("s32"), 64, 0..2048), (0..64).collect::<Vec<u32>>());
    // Without a sign the first eight indices are far behind the others.
    let device = Device::new(&snippet(&body("u32")));
    let out = device.zeroed::<u32>(2048);
    let fault = device.fault("k", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    assert_eq!((fault.thread[0], fault.address), (0, Some(out + 32 + 4 * 0xffff_fff8)), "{fault}");
}

#[test]
fn a_row_of_indices_that_begins_again() {
    // In the first rounds the memory becomes known. In the last one the indices from -8 on are no row: the addresses of the first eight
    // lanes lie in memory, those of the others 16 GB before it.
    let body = "mov.u32 %r9, 0; mov.u64 %rd9, %out; sub.u64 %rd8, %out, 17179869152; mov.u32 %r5, %t;\n\
                round: mul.wide.u32 %rd1, %r5, 4; add.s64 %rd2, %rd9, %rd1; ld.global.u32 %r1, [%rd2];\n\
                add.u32 %r9, %r9, 1; setp.eq.u32 %p2, %r9, 2; @%p2 mov.u64 %rd9, %rd8; @%p2 sub.u32 %r5, %t, 8;\n\
                setp.lt.u32 %p1, %r9, 3; @%p1 bra round;";
    let device = Device::new(&snippet(body));
    let out = device.zeroed::<u32>(2048);
    let fault = device.fault("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let address = out.wrapping_sub(17_179_869_152);
    assert_eq!((fault.thread[0], fault.address), (8, Some(address)), "{fault}");
}

#[test]
fn what_is_used_twice_or_changes_stays() {
    let body = "mov.u32 %r9, 0; mov.u32 %r5, %t; mov.u64 %rd9, %out; setp.lt.u32 %p2, %t, 5;\n\
                round: mul.wide.u32 %rd1, %r5, 4; add.u32 %r5, %r5, 1; add.s64 %rd2, %out, %rd1; ld.global.u32 %r1, [%rd2];\n\
                mul.wide.u32 %rd11, %t, 4; add.s64 %rd12, %rd9, %rd11; add.u64 %rd9, %rd9, 4; ld.global.u32 %r8, [%rd12];\n\
                mul.wide.u32 %rd3, %t, 4; add.s64 %rd4, %out, %rd3; ld.global.u32 %r2, [%rd4]; ld.global.u32 %r3, [%rd4+4];\n\
                mul.wide.u32 %rd5, %t, 4; add.s64 %rd6, %out, %rd5; add.s64 %rd7, %out, %rd5; ld.global.u32 %r4, [%rd6];\n\
                ld.global.u32 %r6, [%rd7+8]; mul.wide.u32 %rd8, %t, 8; add.s64 %rd10, %out, %rd8; ld.global.u32 %r7, [%rd10];\n\
                mov.u64 %rd14, %out; mul.wide.u32 %rd13, %t, 4; @%p2 add.s64 %rd14, %out, %rd13; ld.global.u32 %r10, [%rd14];\n\
                mad.lo.u32 %r1, %r1, 16, %r8; mad.lo.u32 %r1, %r1, 16, %r2; mad.lo.u32 %r1, %r1, 16, %r3;\n\
                mad.lo.u32 %r1, %r1, 16, %r4; mad.lo.u32 %r1, %r1, 16, %r6; mad.lo.u32 %r1, %r1, 16, %r7; mad.lo.u32 %r1, %r1, 16, %r10;\n\
                add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round; st.global.u32 [%at+4096], %r1;";
    // In the last round index and array are two further each.
    let sum = |t: u32| {
        let words = [t + 2, t + 2, t, t + 1, t, t + 2, 2 * t, if t < 5 { t } else { 0 }];
        words.into_iter().fold(0u32, |sum, word| sum.wrapping_mul(16).wrapping_add(word))
    };
    assert_eq!(run::<u32>(body, 64, 0..2048), (0..64).map(sum).collect::<Vec<u32>>());
}

#[test]
fn arrays_that_lanes_do_not_share_and_dead_lanes() {
    let body = "mov.u32 %r9, 0; and.b32 %r6, %t, 1; mul.wide.u32 %rd9, %r6, 64; add.s64 %rd9, %rd9, %out;\n\
                setp.lt.u32 %p2, %t, 20; mov.u32 %r1, 7; mov.u32 %r2, 9;\n\
                round: @%p2 bra rest; mul.wide.s32 %rd1, %t, 4; add.s64 %rd2, %rd1, %rd9; ld.global.u32 %r1, [%rd2];\n\
                mul.wide.u32 %rd3, %t, 4; add.s64 %rd4, %out, %rd3; ld.global.u32 %r2, [%rd4];\n\
                rest: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round; add.u32 %r1, %r1, %r2; st.global.u32 [%at+4096], %r1;";
    let wanted = |t: u32| if t < 20 { 16 } else { 2 * t + 16 * (t % 2) };
    assert_eq!(run::<u32>(body, 64, 0..2048), (0..64).map(wanted).collect::<Vec<u32>>());
}

#[test]
fn numbers_of_eight_bytes() {
    let body = "mov.u32 %r9, 0; add.u64 %rd9, %out, 4096;\n\
                round: mul.wide.u32 %rd1, %t, 8; add.s64 %rd2, %out, %rd1; ld.global.u64 %rd3, [%rd2+16];\n\
                mul.wide.s32 %rd4, %t, 8; add.s64 %rd5, %rd9, %rd4; st.global.f64 [%rd5], %rd3;\n\
                add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round;";
    let got = run::<u64>(body, 64, 0..2048);
    assert_eq!(
        got,
        (0..64u32).map(|word| if word % 2 == 0 { word / 2 + 2 } else { 0 }).collect::<Vec<u32>>()
    );
}

#[test]
fn stores_of_some_lanes() {
    // From the second round on, when the memory is known, the first lanes store nothing.
    let body = "mov.u32 %r9, 0;\nround: setp.gt.u32 %p2, %r9, 0; setp.lt.and.u32 %p2, %t, 20, %p2; @%p2 bra rest;\n\
                mul.wide.u32 %rd3, %t, 4; add.s64 %rd4, %out, %rd3; add.u32 %r1, %r9, %t; st.global.u32 [%rd4+4096], %r1;\n\
                rest: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round;";
    let wanted = |t: u32| if t < 20 { t } else { t + 2 };
    assert_eq!(run::<u32>(body, 64, 0..2048), (0..64).map(wanted).collect::<Vec<u32>>());
}
