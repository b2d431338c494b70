//! Loads of one block with one address register: the first checks the addresses for the others, which have to be what they would be by
//! themselves. Each runs more than once: the first time no load knows its memory yet.

use cuda_emulator::Schedules;

use crate::support::{Args, Device, snippet};

/// Words of memory that hold their own number; behind them are the results.
const WORDS: u32 = 1024;

/// What a body leaves in `%r1`, by thread. `%r9` counts its three rounds, and `%rd1` is eight bytes further in each.
fn rounds(start: &str, body: &str, threads: u32) -> Vec<u32> {
    let text = snippet(&format!(
        ".shared .align 16 .b32 tile[256]; mov.u32 %r1, 0; mov.u32 %r9, 0;\n{start}\n\
         round: {body}\n add.u64 %rd1, %rd1, 8; add.u32 %r9, %r9, 1; setp.lt.u32 %p31, %r9, 3;\n@%p31 bra round;\n\
         st.global.u32 [%at+4096], %r1;"
    ));
    let device = Device::new(&text);
    let out = device.upload(&(0..2 * WORDS).collect::<Vec<u32>>());
    device.launch("k", [1, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.download(out + 4096, threads as usize)
}

/// What the three loads of three rounds come to, if `words` says which they load.
fn expected(threads: u32, words: impl Fn(u32, u32) -> [u32; 3]) -> Vec<u32> {
    let of = |t| (0..3).flat_map(|round| words(t, round)).fold(0u32, |sum, word| sum.wrapping_mul(7) + word);
    (0..threads).map(of).collect()
}

const SUM: &str = "mad.lo.u32 %r1, %r1, 7, %r2; mad.lo.u32 %r1, %r1, 7, %r3; mad.lo.u32 %r1, %r1, 7, %r4;";

#[test]
fn offsets_of_one_register() {
    let loads = "ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+-512]; ld.global.u32 %r4, [%rd1+4];";
    let body = format!("{loads} {SUM}");
    // In a row, at one address in each half of a warp, and one of either.
    type Way = (&'static str, fn(u32) -> u32);
    let ways: [Way; 3] = [
        ("mov.u32 %r5, %t;", |t| t),
        ("shr.u32 %r5, %t, 4;", |t| t / 16),
        ("and.b32 %r6, %t, 31; max.u32 %r5, %r6, 16;", |t| (t % 32).max(16)),
    ];
    for (number, way) in ways {
        let start = format!("{number} mad.wide.u32 %rd1, %r5, 4, %out; add.u64 %rd1, %rd1, 512;");
        let wanted = expected(64, |t, round| [128, 0, 129].map(|word| word + way(t) + 2 * round));
        assert_eq!(rounds(&start, &body, 64), wanted, "{number}");
        // Some lanes are dead.
        assert_eq!(rounds(&start, &body, 27), wanted[..27], "{number}");
    }
    // Numbers of eight bytes, and a distance that is no multiple of them: that load is refused.
    let loads = "ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd1+8]; ld.global.u64 %rd4, [%rd1+264];";
    let low = "cvt.u32.u64 %r2, %rd2; cvt.u32.u64 %r3, %rd3; shr.u64 %rd4, %rd4, 32; cvt.u32.u64 %r4, %rd4;";
    let got = rounds("mad.wide.u32 %rd1, %t, 8, %out;", &format!("{loads} {low} {SUM}"), 64);
    assert_eq!(got, expected(64, |t, round| [0, 2, 67].map(|word| word + 2 * t + 2 * round)));
}

#[test]
fn a_register_that_changes_in_between() {
    let start = "mov.u64 %rd1, %at; setp.lt.u32 %p1, %t, 40;";
    let body = "ld.global.u32 %r2, [%rd1]; add.u64 %rd1, %rd1, 64; ld.global.u32 %r3, [%rd1+4]; \
                @%p1 sub.u64 %rd1, %rd1, 32; ld.global.u32 %r4, [%rd1+4];";
    let got = rounds(start, &format!("{body} {SUM}"), 64);
    let words = |t: u32, round| {
        let (step, back) = if t < 40 { (10, 8) } else { (18, 0) };
        let first = t + step * round;
        [first, first + 17, first + 17 - back]
    };
    assert_eq!(got, expected(64, words));
}

#[test]
fn a_first_load_that_does_not_run() {
    // In the last round, when the register is another one.
    let body = "setp.ne.u32 %p1, %r9, 2; mov.u32 %r2, 5; @%p1 ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; \
                @%p1 ld.global.u32 %r2, [%rd1+8]; ld.global.u32 %r4, [%rd1+12];";
    let got = rounds("mov.u64 %rd1, %at;", &format!("{body} {SUM}"), 32);
    let words = |t, round| {
        let first = t + 2 * round;
        [if round == 2 { 5 } else { first + 2 }, first + 1, first + 3]
    };
    assert_eq!(got, expected(32, words));
}

#[test]
fn sums_that_wrap_in_shared_memory() {
    let start = "mov.u64 %rd1, 0; mov.u32 %r5, tile; mad.lo.u32 %r5, %t, 4, %r5; st.shared.u32 [%r5], %t; \
                 st.shared.u32 [%r5+256], %r9; bar.sync 0; sub.u32 %r5, %r5, 65536;";
    let body =
        "ld.shared.u32 %r2, [%r5+65536]; ld.shared.u32 %r3, [%r5+65540]; ld.shared.u32 %r4, [%r5+65792];";
    let got = rounds(start, &format!("{body} {SUM}"), 64);
    assert_eq!(got, expected(64, |t, _| [t, if t == 63 { 0 } else { t + 1 }, 0]));
}

#[test]
fn a_first_load_whose_addresses_are_out_of_order() {
    // In the last round.
    let body = "setp.eq.u32 %p1, %r9, 2; and.b32 %r5, %t, 1; mul.wide.u32 %rd2, %r5, 4; @%p1 add.u64 %rd1, %rd1, %rd2;\n\
                ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; ld.global.u32 %r4, [%rd1+8];";
    let got = rounds("mov.u64 %rd1, %at;", &format!("{body} {SUM}"), 32);
    let first = |t: u32, round| t + 2 * round + if round == 2 { t % 2 } else { 0 };
    assert_eq!(got, expected(32, |t, round| [0, 1, 2].map(|word| word + first(t, round))));
}

#[test]
fn another_warp_in_between() {
    let body = "round: ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; ld.global.u32 %r4, [%rd1+8];\n\
                add.u64 %rd1, %rd1, 8; add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, 3; @%p1 bra round;\n\
                mad.lo.u32 %r2, %r2, 7, %r3; mad.lo.u32 %r2, %r2, 7, %r4; st.global.u32 [%at+4096], %r2;";
    let text = snippet(&format!("mov.u32 %r9, 0; mov.u64 %rd1, %at; {body}"));
    let device = Device::scheduled(&text, Schedules::new(20), None);
    let out = device.upload(&(0..2 * WORDS).collect::<Vec<u32>>());
    device.launch("k", [1, 1, 1], [96, 1, 1], &Args::new().add(out));
    assert!(device.differences().is_empty(), "{:?}", device.differences());
}

#[test]
fn an_offset_that_lies_outside() {
    for (offset, forward) in [("+8", true), ("+-16", false)] {
        let step = if forward { "add.u64 %rd1, %rd1, 128;" } else { "sub.u64 %rd1, %rd1, 128;" };
        let first = if forward { 0 } else { 896 };
        let text = snippet(&format!(
            "add.u64 %rd1, %at, {first};\nround: ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1{offset}];\n\
             {step} bra round;"
        ));
        let device = Device::new(&text);
        let out = device.zeroed::<u32>(256);
        let fault = device.fault("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
        let address = if forward { out + 1024 } else { out - 16 };
        let lane = if forward { 30 } else { 0 };
        assert_eq!(
            (fault.ptx_line, fault.thread, fault.address),
            (12, [lane, 0, 0], Some(address)),
            "{fault}"
        );
    }
}

#[test]
fn a_part_of_a_warp_past_the_end() {
    let device = Device::new(&snippet("ld.global.u32 %r1, [%at];"));
    let out = device.zeroed::<u32>(16);
    let fault = device.fault("k", [1, 1, 1], [20, 1, 1], &Args::new().add(out));
    assert_eq!((fault.thread, fault.address), ([16, 0, 0], Some(out + 64)), "{fault}");
}

#[test]
fn lanes_that_do_not_run_the_loads_keep_their_registers() {
    // All have the same row of addresses, in the last round as in the others.
    let body = "mov.u32 %r2, 5; mov.u32 %r3, 6; mov.u32 %r4, 4; setp.gt.u32 %p1, %r9, 0; setp.lt.and.u32 %p1, %t, 20, %p1; @%p1 bra rest;\n\
                ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; ld.global.u32 %r4, [%rd1+8];\nrest:";
    let got = rounds("mov.u64 %rd1, %at;", &format!("{body} {SUM}"), 32);
    let words = |t: u32, round| {
        let first = t + 2 * round;
        if t < 20 && round > 0 { [5, 6, 4] } else { [first, first + 1, first + 2] }
    };
    assert_eq!(got, expected(32, words));
}
