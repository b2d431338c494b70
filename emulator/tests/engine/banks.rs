//! Passes over the banks of shared memory: what Nsight Compute 2025.3 said of these patterns of addresses on an H200
//! (`memory_l1_wavefronts_shared` of each instruction, and how many would do).

use std::array::from_fn;

use crate::support::{Args, Device, snippet};

/// A thread whose guard does not hold.
const NONE: usize = usize::MAX;

/// What each of [`ACCESSES`] takes, and how many passes would do.
type Measured = [(u64, u64); 6];

/// The accesses, with the bytes of each thread.
const ACCESSES: [(&str, usize); 6] = [
    ("ld.shared.u32 %r2, [%r1]", 4),
    ("ld.shared.v2.u32 {%r2, %r3}, [%r1]", 8),
    ("ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1]", 16),
    ("st.shared.u64 [%r1], %rd1", 8),
    ("st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5}", 16),
    ("atom.shared.add.u32 %r2, [%r1], %t", 4),
];

/// Which element a lane accesses.
type Element = fn(usize) -> usize;

#[rustfmt::skip]
const FORMULAS: &[(Element, Measured)] = &[
    (|l| l, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (1, 1)]),
    (|l| 2 * l, [(2, 1), (4, 2), (8, 4), (4, 2), (8, 4), (2, 1)]),
    (|l| 3 * l, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (1, 1)]),
    (|l| 8 * l, [(8, 1), (16, 2), (32, 4), (16, 2), (32, 4), (8, 1)]),
    (|l| 32 * l, [(32, 1), (32, 2), (32, 4), (32, 2), (32, 4), (32, 1)]),
    (|l| 33 * l, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (1, 1)]),
    (|_| 0, [(1, 1), (1, 1), (2, 2), (2, 2), (4, 4), (32, 1)]),
    (|l| l / 2, [(1, 1), (1, 1), (2, 2), (2, 2), (4, 4), (2, 1)]),
    (|l| l / 8, [(1, 1), (1, 1), (2, 2), (2, 2), (4, 4), (8, 1)]),
    (|l| l % 2, [(1, 1), (1, 1), (2, 2), (2, 2), (4, 4), (16, 1)]),
    (|l| l % 4, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (8, 1)]),
    (|l| l % 16, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (2, 1)]),
    (|l| 31 - l, [(1, 1), (2, 2), (4, 4), (2, 2), (4, 4), (1, 1)]),
    (|l| if l < 16 { l } else { NONE }, [(1, 1), (1, 1), (2, 2), (1, 1), (2, 2), (1, 1)]),
    (|l| if l % 2 == 0 { l } else { NONE }, [(1, 1), (2, 1), (4, 2), (2, 1), (4, 2), (1, 1)]),
    (|l| if l % 2 == 0 { l / 2 } else { NONE }, [(1, 1), (1, 1), (2, 2), (2, 1), (4, 2), (1, 1)]),
    (|l| if l < 8 { l } else { NONE }, [(1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]),
    (|l| if l == 5 { 3 } else { NONE }, [(1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]),
    (|l| if l / 8 % 2 == 0 { l % 8 + l / 16 * 8 } else { NONE }, [(1, 1), (2, 1), (2, 2), (2, 1), (2, 2), (1, 1)]),
    (|l| 2 * (l % 16) + l / 16, [(1, 1), (4, 2), (8, 4), (4, 2), (8, 4), (1, 1)]),
    (|l| l % 16 + l / 16 * 64, [(2, 1), (2, 2), (4, 4), (2, 2), (4, 4), (2, 1)]),
    (|l| l % 4 * 8 + l / 4, [(1, 1), (4, 2), (16, 4), (4, 2), (16, 4), (1, 1)]),
    (|l| l / 16 * 32, [(2, 1), (2, 2), (2, 2), (2, 2), (4, 4), (32, 1)]),
    (|l| l % 2 * 32, [(2, 1), (4, 2), (8, 4), (4, 2), (8, 4), (32, 1)]),
    (|l| if l < 16 { l } else { 40 }, [(2, 1), (2, 2), (3, 3), (2, 2), (4, 4), (17, 1)]),
];

/// The same for elements that were chosen at random.
#[rustfmt::skip]
const RANDOM: &[([usize; 32], Measured)] = &[
    (
        [28, 9, 19, 10, 29, 5, 7, 22, 0, 14, 8, 15, 23, 24, 21, 13, 25, 27, 6, 16, 26, 18, 11, 3, 17, 2, 1, 31, 12, 4, 30, 20],
        [(1, 1), (4, 2), (11, 4), (4, 2), (11, 4), (1, 1)],
    ),
    (
        [1, 7, 1, 4, 9, 13, 4, 3, 9, 5, 3, 6, 11, 3, 2, 1, 6, 15, 13, 10, 14, 14, 11, 9, 7, 5, 7, 2, 9, 15, 10, 14],
        [(1, 1), (2, 2), (8, 4), (2, 2), (8, 4), (4, 1)],
    ),
    (
        [48, 19, 32, 44, 46, 60, 15, 14, 62, 59, 61, 61, 39, 10, 18, 13, 43, 33, 61, 20, 2, 26, 46, 18, 3, 38, 11, 33, 46, 21, 45, 28],
        [(2, 1), (5, 2), (9, 4), (5, 2), (9, 4), (4, 1)],
    ),
    (
        [231, 14, 32, 226, 166, 102, 141, 231, 244, 126, 132, 103, 229, 70, 213, 62, 200, 226, 161, 37, 123, 219, 37, 108, 155, 62, 79, 187, 73, 129, 70, 239],
        [(4, 1), (7, 2), (10, 4), (7, 2), (10, 4), (4, 1)],
    ),
    (
        [NONE, NONE, NONE, 44, NONE, NONE, 32, 7, 48, NONE, NONE, 31, NONE, 23, 57, 46, NONE, NONE, NONE, 39, 23, 48, 35, NONE, 0, 11, 5, 38, 29, 19, NONE, NONE],
        [(2, 1), (4, 2), (7, 3), (4, 2), (7, 3), (2, 1)],
    ),
    (
        [NONE, 41, NONE, 36, NONE, NONE, 54, NONE, NONE, 2, NONE, NONE, NONE, NONE, NONE, 3, 46, NONE, 57, NONE, NONE, NONE, NONE, 0, 8, NONE, NONE, NONE, NONE, 60, 9, NONE],
        [(2, 1), (3, 1), (3, 2), (3, 1), (4, 2), (2, 1)],
    ),
    (
        [26, 58, 48, 36, NONE, NONE, NONE, 18, 38, NONE, 61, 34, NONE, 27, NONE, 36, 59, NONE, NONE, NONE, 10, NONE, 58, 57, NONE, 26, 11, 33, NONE, 35, NONE, NONE],
        [(2, 1), (5, 2), (8, 3), (5, 2), (8, 3), (4, 1)],
    ),
    (
        [NONE, 26, NONE, NONE, NONE, 3, NONE, NONE, 26, NONE, 16, NONE, 30, NONE, NONE, 10, 31, NONE, NONE, NONE, NONE, NONE, NONE, 11, NONE, 15, NONE, NONE, 1, NONE, NONE, NONE],
        [(1, 1), (4, 1), (5, 2), (4, 1), (5, 2), (2, 1)],
    ),
    (
        [NONE, NONE, NONE, 17, NONE, NONE, NONE, NONE, NONE, NONE, 15, NONE, NONE, NONE, NONE, NONE, NONE, 27, NONE, NONE, NONE, NONE, 25, NONE, NONE, NONE, NONE, NONE, NONE, 9, NONE, NONE],
        [(1, 1), (3, 1), (3, 1), (3, 1), (4, 1), (1, 1)],
    ),
    (
        [NONE, NONE, NONE, NONE, NONE, NONE, 8, 2, NONE, NONE, 16, NONE, NONE, NONE, 19, NONE, NONE, NONE, 0, 19, NONE, 20, NONE, NONE, NONE, 15, 26, NONE, NONE, 31, NONE, NONE],
        [(1, 1), (3, 1), (5, 2), (3, 1), (5, 2), (2, 1)],
    ),
];

/// Passes, and how many would do, of an access of one warp to these elements.
fn passes((access, bytes): (&str, usize), elements: &[usize; 32]) -> (u64, u64) {
    let body = [
        ".shared .align 16 .b8 s[20000];",
        "ld.global.u32 %r1, [%at];",
        "setp.ne.u32 %p1, %r1, 0xffffffff;",
        "mov.u32 %r9, s;",
        "add.u32 %r1, %r1, %r9;",
        &format!("@%p1 {access};"),
    ];
    let device = Device::profiled(&snippet(&body.join("\n")));
    let offset = |element: &usize| if *element == NONE { u32::MAX } else { (element * bytes) as u32 };
    let table = device.upload(&elements.iter().map(offset).collect::<Vec<u32>>());
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(table));
    let total = device.profiles().remove(0).total();
    assert_eq!(total.shared_requests, 1);
    (total.shared_wavefronts, total.shared_wavefronts_ideal)
}

#[test]
fn passes_over_the_banks_are_those_of_nsight_compute() {
    let formulas = FORMULAS.iter().map(|(element, measured)| (from_fn(element), *measured));
    for (elements, measured) in formulas.chain(RANDOM.iter().copied()) {
        for (access, expected) in ACCESSES.into_iter().zip(measured) {
            assert_eq!(passes(access, &elements), expected, "{access:?} of {elements:?}");
        }
    }
}

/// The compiler makes `ATOMS.POPC.INC` of these, which counts the threads of an address first: 16 numbers of two threads, 64 bytes apart.
#[test]
fn atomics_that_only_count_go_together() {
    let two: [usize; 32] = from_fn(|lane| lane / 2 * 16);
    let of = |access: &str| passes((access, 4), &two).0;
    assert_eq!(of("red.shared.add.u32 [%r1], 1"), 8);
    assert_eq!(of("atom.shared.add.u32 %r2, [%r1], 1"), 8);
    // They add another number, take what was there, or do something else: a pass for each thread of a bank.
    assert_eq!(of("red.shared.add.u32 [%r1], 2"), 16);
    assert_eq!(of("atom.shared.add.u32 %r2, [%r1], 1; add.u32 %r3, %r2, 1"), 16);
    assert_eq!(of("red.shared.or.b32 [%r1], 1"), 16);
    assert_eq!(of("red.shared.add.u64 [%r1], 1"), 16);
}

/// Measured as well: threads that copy to one word, which leave it to chance what is there.
#[test]
fn asynchronous_copies_to_one_word_need_a_pass_each() {
    let of = |element: Element| passes(("cp.async.ca.shared.global [%r1], [%at], 4", 4), &from_fn(element));
    assert_eq!(of(|lane| lane), (1, 1));
    assert_eq!(of(|lane| lane / 2), (2, 1));
    assert_eq!(of(|lane| lane % 4), (8, 1));
    assert_eq!(of(|lane| lane % 2 * 32), (32, 1));
}
