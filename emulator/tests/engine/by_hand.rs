//! Six small kernels: every number of their profiles against a count by hand.
//!
//! A [`snippet`] has four instructions before its body and `ret` behind it, which all threads execute.

use cuda_emulator::Counts;

use crate::support::{Args, Device, snippet};

/// All that is counted, by the name of its field.
const NAMES: [&str; 18] = [
    "warps",
    "threads",
    "threads_on",
    "taken",
    "not_taken",
    "divergent",
    "global_requests",
    "global_sectors",
    "global_sectors_ideal",
    "global_bytes",
    "shared_requests",
    "shared_wavefronts",
    "shared_wavefronts_ideal",
    "shared_bytes",
    "local_requests",
    "local_bytes",
    "barrier_wait",
    "collisions",
];

/// Compares the sums over a launch on 4,096 bytes; what is not named is zero.
fn is_counted(body: &[&str], blocks: u32, threads: u32, expected: &[(&str, u64)]) {
    let device = Device::profiled(&snippet(&body.join("\n")));
    let out = device.zeroed::<u8>(4096);
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    let profile = device.profiles().remove(0);
    let c = profile.total();
    let counted = [
        [c.warps, c.threads, c.threads_on],
        [c.taken, c.not_taken, c.divergent],
        [c.global_requests, c.global_sectors, c.global_sectors_ideal],
        [c.global_bytes, c.shared_requests, c.shared_wavefronts],
        [c.shared_wavefronts_ideal, c.shared_bytes, c.local_requests],
        [c.local_bytes, c.barrier_wait, c.collisions],
    ]
    .concat();
    assert!(expected.iter().all(|(name, _)| NAMES.contains(name)), "{expected:?}");
    for (name, counted) in NAMES.iter().zip(counted) {
        let expected = expected.iter().find(|known| known.0 == *name).map_or(0, |known| known.1);
        assert_eq!(counted, expected, "{name} of {body:?}");
    }
    let mut sum = Counts::default();
    profile.lines().iter().for_each(|line| sum += line.counts);
    assert_eq!(sum, c, "the lines together are the whole");
}

/// Two blocks of 48 threads: in each, a warp of 32, and one of 16 of which 8 leave.
#[test]
fn a_copy_behind_a_guard() {
    let body = [
        "setp.ge.u32 %p1, %t, 40;",
        "@%p1 bra END;",
        "ld.global.u32 %r1, [%at];",
        "st.global.u32 [%at+1024], %r1;",
        "END:",
    ];
    is_counted(
        &body,
        2,
        48,
        &[
            ("warps", 2 * 2 * (4 + 4 + 1)),
            // The first warp with all threads; in the second 8 of 16 load and store.
            ("threads", 2 * (32 * 9 + 16 * 7 + 8 * 2)),
            // Without those whose guard does not hold at the branch.
            ("threads_on", 2 * (32 * 9 + 16 * 7 + 8 * 2) - 2 * 40),
            ("taken", 2 * 8),
            ("not_taken", 2 * 40),
            ("divergent", 2),
            // Both warps of both blocks load and store: 128 bytes, and 32.
            ("global_requests", 2 * 2 * 2),
            ("global_sectors", 2 * 2 * (4 + 1)),
            ("global_sectors_ideal", 2 * 2 * (4 + 1)),
            ("global_bytes", 2 * 2 * 40 * 4),
        ],
    );
}

/// Numbers of 4 bytes that are 12 apart, and pairs of 8 bytes that are 16 apart.
#[test]
fn strided_accesses() {
    let body = [
        "mad.wide.u32 %rd1, %t, 12, %out;",
        "ld.global.u32 %r1, [%rd1];",
        "mad.wide.u32 %rd2, %t, 16, %out;",
        "st.global.v2.u32 [%rd2+2048], {%r1, %t};",
    ];
    is_counted(
        &body,
        1,
        64,
        &[
            ("warps", 2 * (4 + 4 + 1)),
            ("threads", 64 * 9),
            ("threads_on", 64 * 9),
            ("global_requests", 2 * 2),
            // 32 x 12 bytes are 12 sectors, all of which are touched; 32 x 16 are 16.
            ("global_sectors", 2 * (12 + 16)),
            // 32 x 4 bytes would fit in 4, 32 x 8 in 8.
            ("global_sectors_ideal", 2 * (4 + 8)),
            ("global_bytes", 64 * (4 + 8)),
        ],
    );
}

/// A column of a tile is written, and a row is read.
#[test]
fn a_tile_in_shared_memory() {
    let body = [
        ".shared .align 4 .b8 tile[8192];",
        "mov.u32 %r9, tile;",
        "mad.lo.u32 %r1, %t, 128, %r9;",
        "st.shared.u32 [%r1], %t;",
        "bar.sync 0;",
        "mad.lo.u32 %r2, %t, 4, %r9;",
        "ld.shared.u32 %r3, [%r2];",
        "st.global.u32 [%at], %r3;",
    ];
    is_counted(
        &body,
        1,
        64,
        &[
            ("warps", 2 * (4 + 7 + 1)),
            ("threads", 64 * 12),
            ("threads_on", 64 * 12),
            ("global_requests", 2),
            ("global_sectors", 2 * 4),
            ("global_sectors_ideal", 2 * 4),
            ("global_bytes", 64 * 4),
            ("shared_requests", 2 * 2),
            // 128 bytes apart, all words are in one bank: a pass for each thread. A row is one pass.
            ("shared_wavefronts", 2 * (32 + 1)),
            ("shared_wavefronts_ideal", 2 * 2),
            ("shared_bytes", 2 * 64 * 4),
        ],
    );
}

/// 64 numbers are added in 6 rounds, by 32, 16, 8, 4, 2 and 1 threads of the first warp: 63 in all. The second warp only comes along.
#[test]
fn a_sum_in_rounds() {
    let body = [
        ".shared .align 4 .b8 sums[256];",
        "mov.u32 %r9, sums;",
        "mad.lo.u32 %r1, %t, 4, %r9;",
        "st.shared.u32 [%r1], %t;",
        "mov.u32 %r2, 32;",
        "AGAIN: bar.sync 0;",
        "setp.ge.u32 %p1, %t, %r2;",
        "@%p1 bra SKIP;",
        "mad.lo.u32 %r3, %r2, 4, %r1;",
        "ld.shared.u32 %r4, [%r3];",
        "ld.shared.u32 %r5, [%r1];",
        "add.u32 %r4, %r4, %r5;",
        "st.shared.u32 [%r1], %r4;",
        "SKIP: shr.u32 %r2, %r2, 1;",
        "setp.ne.u32 %p2, %r2, 0;",
        "@%p2 bra AGAIN;",
    ];
    // Once 4 + 4 and `ret`; in each round 3 before the sum and 3 behind it; 5 are the sum.
    let threads = 64 * (8 + 1) + 6 * 64 * 6 + 63 * 5;
    is_counted(
        &body,
        1,
        64,
        &[
            ("warps", 2 * (8 + 1) + 2 * 6 * 6 + 6 * 5),
            ("threads", threads),
            // Without the 63 that add, and without all 64 at the end of the last round.
            ("threads_on", threads - 63 - 64),
            // Who does not add jumps; all do so at the end of five rounds.
            ("taken", (6 * 64 - 63) + 5 * 64),
            ("not_taken", 63 + 64),
            // In the first round all of the first warp add.
            ("divergent", 5),
            // One access of each warp, and three of the first one in each round, all of them side by side.
            ("shared_requests", 2 + 6 * 3),
            ("shared_wavefronts", 2 + 6 * 3),
            ("shared_wavefronts_ideal", 2 + 6 * 3),
            ("shared_bytes", 64 * 4 + 63 * 3 * 4),
            // Before each but the first barrier, the second warp has executed 5 instructions less.
            ("barrier_wait", 5 * 5),
        ],
    );
}

/// Each thread adds to one of 4 numbers of global memory, and two to each of 16 of shared memory.
#[test]
fn bins_with_atomics() {
    let body = [
        ".shared .align 4 .b8 bins[128];",
        "and.b32 %r1, %t, 3;",
        "mad.wide.u32 %rd1, %r1, 4, %out;",
        "red.global.add.u32 [%rd1], 1;",
        "mov.u32 %r9, bins;",
        "and.b32 %r2, %t, 31;",
        "shr.u32 %r2, %r2, 1;",
        "mad.lo.u32 %r2, %r2, 4, %r9;",
        "atom.shared.add.u32 %r3, [%r2], 1;",
    ];
    is_counted(
        &body,
        1,
        64,
        &[
            ("warps", 2 * (4 + 8 + 1)),
            ("threads", 64 * 13),
            ("threads_on", 64 * 13),
            ("global_requests", 2),
            // 16 bytes.
            ("global_sectors", 2),
            ("global_sectors_ideal", 2),
            ("global_bytes", 64 * 4),
            ("shared_requests", 2),
            // 16 words of 16 banks.
            ("shared_wavefronts", 2),
            ("shared_wavefronts_ideal", 2),
            ("shared_bytes", 64 * 4),
            // Of 32 threads, all but one for each number.
            ("collisions", 2 * ((32 - 4) + (32 - 16))),
        ],
    );
}

/// A warp of 32 threads, and one of 8.
#[test]
fn an_array_of_each_thread() {
    let body = [
        ".local .align 8 .b8 own[16];",
        "st.local.v2.u32 [own+8], {%t, %t};",
        "ld.local.u32 %r1, [own+8];",
        "st.global.u32 [%at], %r1;",
    ];
    is_counted(
        &body,
        1,
        40,
        &[
            ("warps", 2 * (4 + 3 + 1)),
            ("threads", 40 * 8),
            ("threads_on", 40 * 8),
            ("global_requests", 2),
            ("global_sectors", 4 + 1),
            ("global_sectors_ideal", 4 + 1),
            ("global_bytes", 40 * 4),
            ("local_requests", 2 * 2),
            ("local_bytes", 40 * (8 + 4)),
        ],
    );
}
