//! Small kernels: every number of their profiles against a count by hand.
//!
//! A [`snippet`] has four instructions before its body and `ret` behind it, which all threads execute. Two of the four are arithmetic on
//! integers: they compute the address of each thread's own number.

use cuda_emulator::texture::{Channel, Image, ImageKind, Surface, Texel, Texture, Wrap};
use cuda_emulator::{Counts, Operations};

use crate::support::{Args, Device, snippet, snippet_with};

/// All that is counted, by the name of its field.
const NAMES: [&str; 36] = [
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
    "constant_requests",
    "constant_bytes",
    "texture_requests",
    "texture_bytes",
    "surface_requests",
    "surface_bytes",
    "barrier_wait",
    "collisions",
    "f64",
    "f32",
    "f16",
    "matrix_f64",
    "matrix_tf32",
    "matrix_f16",
    "matrix_f8",
    "matrix_i8",
    "matrix_narrow",
    "integer",
    "bit",
    "conversion",
];

/// Compares the sums over a launch on 4,096 bytes; what is not named is zero.
fn is_counted(body: &[&str], blocks: u32, threads: u32, expected: &[(&str, u64)]) {
    let device = Device::profiled(&snippet(&body.join("\n")));
    is_counted_on(&device, body, [blocks, threads], expected);
}

/// The same on a device that has been prepared.
fn is_counted_on(device: &Device, body: &[&str], [blocks, threads]: [u32; 2], expected: &[(&str, u64)]) {
    let out = device.zeroed::<u8>(4096);
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    let profile = device.profiles().remove(0);
    let (c, o) = (profile.total(), profile.operations());
    let counted = [
        [c.warps, c.threads, c.threads_on],
        [c.taken, c.not_taken, c.divergent],
        [c.global_requests, c.global_sectors, c.global_sectors_ideal],
        [c.global_bytes, c.shared_requests, c.shared_wavefronts],
        [c.shared_wavefronts_ideal, c.shared_bytes, c.local_requests],
        [c.local_bytes, c.constant_requests, c.constant_bytes],
        [c.texture_requests, c.texture_bytes, c.surface_requests],
        [c.surface_bytes, c.barrier_wait, c.collisions],
        [o.f64, o.f32, o.f16],
        [o.matrix.f64, o.matrix.tf32, o.matrix.f16],
        [o.matrix.f8, o.matrix.i8, o.matrix.narrow],
        [o.integer, o.bit, o.conversion],
    ]
    .concat();
    assert!(expected.iter().all(|(name, _)| NAMES.contains(name)), "{expected:?}");
    for (name, counted) in NAMES.iter().zip(counted) {
        let expected = expected.iter().find(|known| known.0 == *name).map_or(0, |known| known.1);
        assert_eq!(counted, expected, "{name} of {body:?}");
    }
    let (mut sum, mut operations) = (Counts::default(), Operations::default());
    for line in profile.lines() {
        sum += line.counts;
        operations += line.operations;
    }
    assert_eq!((sum, operations), (c, o), "the lines together are the whole");
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
            // The address, and the comparison.
            ("integer", 2 * 48 * 3),
        ],
    );
}

/// The same with a return in place of the branch, and an exit that no thread takes.
#[test]
fn a_copy_behind_a_return() {
    let body = [
        "setp.ge.u32 %p1, %t, 40;",
        "@%p1 ret;",
        "ld.global.u32 %r1, [%at];",
        "st.global.u32 [%at+1024], %r1;",
        "@%p1 exit;",
    ];
    let threads = 2 * (32 * 10 + 16 * 6 + 8 * 4);
    is_counted(
        &body,
        2,
        48,
        &[
            ("warps", 2 * 2 * (4 + 5 + 1)),
            // The first warp with all threads; in the second 8 of 16 leave.
            ("threads", threads),
            ("threads_on", threads - 2 * 40 * 2),
            ("taken", 2 * 8),
            // At the return, and at the exit.
            ("not_taken", 2 * 40 * 2),
            ("divergent", 2),
            ("global_requests", 2 * 2 * 2),
            ("global_sectors", 2 * 2 * (4 + 1)),
            ("global_sectors_ideal", 2 * 2 * (4 + 1)),
            ("global_bytes", 2 * 2 * 40 * 4),
            ("integer", 2 * 48 * 3),
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
            ("integer", 64 * 4),
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
            ("integer", 64 * 4),
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
            // Two addresses, by three instructions; in each round two comparisons, and of those that add an address and the sum.
            ("integer", 64 * 3 + 6 * 64 * 2 + 63 * 2),
            ("bit", 6 * 64),
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
            ("integer", 64 * 4),
            ("bit", 64 * 3),
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
            ("integer", 40 * 2),
        ],
    );
}

/// A hash of each thread's number: of 40, those that are odd add in 64 bits.
#[test]
fn arithmetic_on_integers() {
    let body = [
        "mad.lo.u32 %r1, %t, 31, 7;",
        "mul.hi.u32 %r2, %r1, 77;",
        "xor.b32 %r1, %r1, %r2;",
        "shf.l.wrap.b32 %r1, %r1, %r2, 5;",
        "popc.b32 %r3, %r1;",
        "cvt.u64.u32 %rd1, %r3;",
        "and.b32 %r4, %t, 1;",
        "setp.eq.u32 %p1, %r4, 1;",
        "@%p1 add.u64 %rd1, %rd1, 5;",
        "cvt.rn.f32.u64 %f1, %rd1;",
        "setp.gt.f32 %p2, %f1, 0f00000000;",
        "selp.b32 %r5, %r1, %r3, %p2;",
        "fma.rn.f32 %f1, %f1, %f1, %f1;",
        "st.global.f32 [%at], %f1;",
    ];
    is_counted(
        &body,
        1,
        40,
        &[
            ("warps", 2 * (4 + 14 + 1)),
            ("threads", 40 * 19),
            ("threads_on", 40 * 19 - 20),
            ("global_requests", 2),
            ("global_sectors", 4 + 1),
            ("global_sectors_ideal", 4 + 1),
            ("global_bytes", 40 * 4),
            ("f32", 40 * 2),
            // The address, `mad`, `mul`, `setp.eq`; and `add` of 20 threads. The comparison of floats is none.
            ("integer", 40 * 5 + 20),
            ("bit", 40 * 4),
            ("conversion", 40 * 2),
        ],
    );
}

/// A table of constants: by its name, by a generic address, and one number for all.
#[test]
fn constants_by_name_and_by_generic_address() {
    let body = [
        ".const .align 8 .b32 table[64] = {1, 2, 3};",
        "mov.u64 %rd1, table;",
        "mad.wide.u32 %rd2, %t, 4, %rd1;",
        "ld.const.u32 %r1, [%rd2];",
        "ld.const.v2.u32 {%r2, %r3}, [table+8];",
        "cvta.const.u64 %rd3, %rd2;",
        "ld.u32 %r4, [%rd3];",
        "setp.lt.u32 %p1, %t, 8;",
        "@%p1 ld.const.u8 %r5, [table+4];",
        "add.u32 %r1, %r1, %r4;",
        "st.global.u32 [%at], %r1;",
    ];
    let device = Device::profiled(&snippet_with(body[0], &body[1..].join("\n")));
    is_counted_on(
        &device,
        &body,
        [1, 40],
        &[
            ("warps", 2 * (4 + 10 + 1)),
            ("threads", 40 * 15),
            ("threads_on", 40 * 15 - 32),
            // Both warps three times, and the first one once more.
            ("constant_requests", 2 * 3 + 1),
            ("constant_bytes", 40 * (4 + 8 + 4) + 8),
            ("global_requests", 2),
            ("global_sectors", 4 + 1),
            ("global_sectors_ideal", 4 + 1),
            ("global_bytes", 40 * 4),
            ("integer", 40 * 5),
        ],
    );
}

/// `width` x `height` words at `address`.
fn words(address: u64, channel: Channel, width: usize, height: usize) -> Image {
    let pitch = 4 * width;
    let texel = Texel { channel, channels: 1 };
    Image {
        address,
        texel,
        size: [width, height, 1],
        pitch,
        plane: pitch * height,
        kind: ImageKind::Array(2),
    }
}

/// A texture of words; `linear` averages four of them.
fn texture(image: Image, linear: bool) -> Texture {
    Texture {
        levels: vec![image],
        wrap: [Wrap::Border; 3],
        linear,
        normalized: false,
        integer: false,
        srgb: false,
        border: [0.0; 4],
        mix_levels: false,
        bias: 0.0,
        level_range: [0.0; 2],
        memory: false,
        anisotropy: 0,
        seamless: false,
    }
}

/// Columns of two textures of 16 x 16, and rows of a surface, by 40 threads: those behind the 16th are outside.
#[test]
fn textures_and_a_surface() {
    let body = [
        "mov.u64 %rd1, 11;",
        "mov.u64 %rd2, 12;",
        "mov.u64 %rd3, 13;",
        "mov.u32 %r9, 3;",
        "mov.f32 %f9, 0f40400000;",
        "cvt.rn.f32.u32 %f8, %t;",
        "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%t, %r9}];",
        "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd2, {%f9, %f9}];",
        "tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f9, %f9}];",
        "txq.width.b32 %r1, [%rd1];",
        "shl.b32 %r2, %t, 2;",
        "suld.b.1d.b32.zero %r3, [%rd3, {%r2}];",
        "setp.lt.u32 %p1, %t, 4;",
        "@%p1 sust.b.1d.b32.zero [%rd3, {%r2}], %r3;",
    ];
    let device = Device::profiled(&snippet(&body.join("\n")));
    let pixels = device.zeroed::<f32>(256);
    let objects = device.memory.objects();
    objects.set_texture(11, Some(texture(words(pixels, Channel::F32, 16, 16), false)));
    objects.set_texture(12, Some(texture(words(pixels, Channel::F32, 16, 16), true)));
    let row = words(device.zeroed::<u32>(16), Channel::U32, 16, 1);
    objects.set_surface(13, Some(Surface { image: row }));
    is_counted_on(
        &device,
        &body,
        [1, 40],
        &[
            ("warps", 2 * (4 + 14 + 1)),
            ("threads", 40 * 19),
            ("threads_on", 40 * 19 - 36),
            ("texture_requests", 2 * 3),
            // One element of each thread inside, the four that are averaged, and the four that are gathered.
            ("texture_bytes", 16 * 4 + 40 * 4 * 4 + 40 * 4 * 4),
            // Both warps load, and the first one stores.
            ("surface_requests", 2 + 1),
            ("surface_bytes", 16 * 4 + 4 * 4),
            ("integer", 40 * 3),
            ("bit", 40),
            ("conversion", 40),
        ],
    );
}

/// Two warps; the second computes only the half-precision lines.
#[test]
fn halves_and_matrices() {
    let body = [
        "fma.rn.f16x2 %r1, %r2, %r3, %r4;",
        "add.f16 %h1, %h2, %h3;",
        "setp.ge.u32 %p1, %t, 32;",
        "@%p1 bra END;",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd0, %fd1}, {%fd2}, {%fd3}, {%fd0, %fd1};",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
        "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r6, %r7, %r8, %r9}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9};",
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.u4.s32 {%r6, %r7, %r8, %r9}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6, %r7, %r8, %r9};",
        "END:",
    ];
    is_counted(
        &body,
        1,
        64,
        &[
            ("warps", 2 * (4 + 4 + 1) + 6),
            ("threads", 64 * 9 + 32 * 6),
            ("threads_on", 64 * 9 + 32 * 6 - 32),
            ("taken", 32),
            ("not_taken", 32),
            // A fused multiply-add of two halves, and one sum.
            ("f16", 64 * (4 + 1)),
            ("matrix_f64", 2 * 8 * 8 * 4),
            ("matrix_tf32", 2 * 16 * 8 * 8),
            ("matrix_f16", 2 * 16 * 8 * 16),
            ("matrix_f8", 2 * 16 * 8 * 32),
            ("matrix_i8", 2 * 16 * 8 * 32),
            ("matrix_narrow", 2 * 16 * 8 * 64),
            ("integer", 64 * 3),
        ],
    );
}
