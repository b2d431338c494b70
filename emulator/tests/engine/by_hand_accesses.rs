//! Accesses of every width and to every kind of memory: the counts of one instruction against a count by hand.

use cuda_emulator::{Counts, InstructionProfile};

use crate::support::{Args, Device, HEADER, launch, snippet};

/// The instructions of a kernel after a launch of so many blocks, by the line of the PTX.
fn profiled(text: &str, blocks: u32, threads: u32) -> Vec<InstructionProfile> {
    let device = Device::profiled(text);
    let out = device.zeroed::<u8>(8192);
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.profiles().remove(0).instructions
}

/// The counts of the last line of a body, with one warp.
fn last(body: &[&str]) -> Counts {
    let line = 9 + body.len() as u32;
    let all = profiled(&snippet(&body.join("\n")), 1, 32);
    all.iter().rev().find(|one| one.ptx_line == line).unwrap().counts
}

fn global(counts: &Counts) -> [u64; 4] {
    [counts.global_requests, counts.global_sectors, counts.global_sectors_ideal, counts.global_bytes]
}

fn shared(counts: &Counts) -> [u64; 4] {
    [counts.shared_requests, counts.shared_wavefronts, counts.shared_wavefronts_ideal, counts.shared_bytes]
}

#[test]
fn wide_and_shifted_accesses_to_global_memory() {
    // 10 threads of 16 bytes, 48 apart: byte 48 i is at 0 or 16 of its sector, so that none crosses a boundary; 160 bytes.
    let body = [
        "setp.lt.u32 %p1, %t, 10; mad.wide.u32 %rd1, %t, 48, %out;",
        "@%p1 ld.global.v2.u64 {%rd2, %rd3}, [%rd1];",
    ];
    let counts = last(&body);
    assert_eq!((global(&counts), counts.threads, counts.threads_on), ([1, 10, 5, 160], 32, 10));
    // 32 x 8 bytes from byte 8 on: bytes 8 to 264, the last 8 of them in a ninth sector.
    let body = ["mad.wide.u32 %rd1, %t, 8, %out;", "st.global.u64 [%rd1+8], %rd1;"];
    assert_eq!(global(&last(&body)), [1, 9, 8, 256]);
    // 32 x 16 bytes, 20 words apart: a sector each, and half of them would do.
    let body = ["mad.wide.u32 %rd1, %t, 80, %out;", "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];"];
    assert_eq!(global(&last(&body)), [1, 32, 16, 512]);
    // 2 bytes of every third word: 96 / 8 sectors, and two for 64 bytes.
    let body = ["mad.wide.u32 %rd1, %t, 12, %out;", "ld.global.u16 %h1, [%rd1];"];
    assert_eq!(global(&last(&body)), [1, 12, 2, 64]);
    // In descending order, from byte 124 down.
    let body = [
        "mul.lo.u32 %r1, %t, 4; sub.u32 %r1, 124, %r1; cvt.u64.u32 %rd1, %r1; add.u64 %rd1, %rd1, %out;",
        "ld.global.u32 %r2, [%rd1];",
    ];
    assert_eq!(global(&last(&body)), [1, 4, 4, 128]);
    // No thread: an instruction of the warp, but no access.
    let body = ["setp.gt.u32 %p1, %t, 99;", "@%p1 ld.global.u32 %r2, [%at];"];
    let counts = last(&body);
    assert_eq!((global(&counts), counts.warps, counts.threads_on), ([0; 4], 1, 0));
}

#[test]
fn atomics_of_guarded_threads() {
    // Threads 0 to 19, five on each of four numbers of 8 bytes: 4 of each five come to a number that another one updates.
    let body = [
        "setp.lt.u32 %p1, %t, 20; and.b32 %r1, %t, 3; mad.wide.u32 %rd1, %r1, 8, %out;",
        "@%p1 atom.global.add.u64 %rd2, [%rd1], 1;",
    ];
    let counts = last(&body);
    assert_eq!((global(&counts), counts.collisions), ([1, 1, 1, 160], 16));
    let body = [".shared .align 8 .b64 n; mov.u32 %r1, n;", "atom.shared.add.u32 %r2, [%r1], 1;"];
    let counts = last(&body);
    assert_eq!((shared(&counts), counts.collisions), ([1, 1, 1, 128], 31));
}

#[test]
fn shared_reads_by_several_threads() {
    let of = |address: &str, load: &str| {
        shared(&last(&[
            ".shared .align 16 .b8 s[4096];",
            "mov.u32 %r9, s;",
            address,
            "add.u32 %r1, %r1, %r9;",
            load,
        ]))
    };
    let word = "ld.shared.u32 %r2, [%r1];";
    // Two threads a word, all words in bank 0.
    assert_eq!(of("shr.u32 %r1, %t, 1; mul.lo.u32 %r1, %r1, 128;", word), [1, 16, 1, 128]);
    // Banks 0 to 15, two words in each.
    let two =
        "and.b32 %r1, %t, 15; shr.u32 %r2, %t, 4; mul.lo.u32 %r2, %r2, 128; mad.lo.u32 %r1, %r1, 4, %r2;";
    assert_eq!(of(two, word), [1, 2, 1, 128]);
    // All threads read the same 16 bytes: a pass for each half of the warp.
    assert_eq!(of("mov.u32 %r1, 16;", "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];"), [1, 2, 2, 512]);
    // Only the upper half of the warp reads 8 bytes each: one pass.
    let upper = "setp.ge.u32 %p1, %t, 16; mul.lo.u32 %r1, %t, 8;";
    assert_eq!(of(upper, "@%p1 ld.shared.u64 %rd1, [%r1];"), [1, 1, 1, 128]);
    // Bytes of one bank: 32 words, 128 apart.
    assert_eq!(of("mul.lo.u32 %r1, %t, 128;", "ld.shared.u8 %r2, [%r1+3];"), [1, 32, 1, 32]);
}

/// Half of the threads go to shared memory, the others to global memory.
#[test]
fn generic_addresses_of_both_memories_count_for_both() {
    let body = [
        ".shared .align 16 .b8 s[128];",
        "mul.lo.u32 %r1, %t, 4; cvt.u64.u32 %rd1, %r1; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2; setp.lt.u32 %p1, %t, 16;",
        "selp.b64 %rd2, %rd2, %out, %p1; add.u64 %rd2, %rd2, %rd1;",
        "st.u32 [%rd2], %t;",
    ];
    let counts = last(&body);
    assert_eq!((global(&counts), shared(&counts)), ([1, 2, 2, 64], [1, 1, 1, 64]));
}

/// What is in constants and parameters is not in global memory, though addresses of it may be generic.
#[test]
fn constants_and_parameters_are_no_accesses_to_global_memory() {
    let text = format!(
        "{HEADER}.const .align 4 .u32 c[2] = {{1, 2}};\n.visible .entry k(.param .u64 out) {{\n.reg .u32 %r<4>; .reg .u64 %a, %b;\n\
         ld.param.u64 %a, [out];\nld.const.u32 %r1, [c+4];\nmov.u64 %b, c; cvta.const.u64 %b, %b;\nld.u32 %r2, [%b];\nst.global.u32 [%a], %r2;\nret;\n}}\n"
    );
    let all = profiled(&text, 1, 32);
    let of = |line: u32| global(&all.iter().rev().find(|one| one.ptx_line == line).unwrap().counts);
    assert_eq!([7, 8, 10, 11].map(of), [[0; 4], [0; 4], [0; 4], [1, 1, 1, 128]]);
}

#[test]
fn a_store_to_the_other_block_of_a_cluster_is_one_to_shared_memory() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1 {{\n.reg .u32 %r<6>; .shared .align 16 .b8 s[256];\n\
         mov.u32 %r1, %cluster_ctarank; xor.b32 %r1, %r1, 1; mov.u32 %r2, s; mapa.shared::cluster.u32 %r2, %r2, %r1;\n\
         mov.u32 %r3, %tid.x; mad.lo.u32 %r2, %r3, 8, %r2;\nst.shared::cluster.u32 [%r2], %r3;\n\
         barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nret;\n}}\n"
    );
    let all = profiled(&text, 4, 32);
    let store = &all.iter().find(|one| one.name.starts_with("st.")).unwrap().counts;
    // Every second word: two passes for each of four blocks.
    assert_eq!((shared(store), global(store)), ([4, 8, 4, 512], [0; 4]));
}

/// Of `cp.async` with its last operand: threads that copy less, or only write zeros.
#[test]
fn copies_that_read_less_than_they_write() {
    let tile = ".shared .align 16 .b8 s[512]; mov.u32 %r9, s; mad.lo.u32 %r1, %t, 16, %r9; mad.wide.u32 %rd1, %t, 16, %out;";
    // Threads 0 to 7 copy 16 bytes, 8 to 15 copy 4, the others none: sectors 0 to 7, of 160 bytes.
    let sizes = "setp.lt.u32 %p1, %t, 8; setp.lt.u32 %p2, %t, 16; selp.b32 %r2, 4, 0, %p2; selp.b32 %r2, 16, %r2, %p1;";
    let counts = last(&[tile, sizes, "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;"]);
    assert_eq!((global(&counts), shared(&counts)), ([1, 8, 5, 160], [1, 4, 4, 512]));
    let ignored =
        last(&[tile, "setp.ge.u32 %p1, %t, 2;", "cp.async.cg.shared.global [%r1], [%rd1], 16, %p1;"]);
    assert_eq!((global(&ignored), shared(&ignored)), ([1, 1, 1, 32], [1, 4, 4, 512]));
    let none = last(&[tile, "mov.u32 %r2, 0;", "cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;"]);
    assert_eq!((global(&none), shared(&none)), ([0; 4], [1, 4, 4, 512]));
    // 12 bytes, the last ones of the output's 8192.
    let end = ["mov.u32 %r1, s;", "cp.async.cg.shared.global [%r1], [%out+8176], 16, 12;"];
    let text = snippet(&format!(".shared .align 16 .b8 s[16];\n{}", end.join("\n")));
    let device = Device::profiled(&text);
    let out = device.zeroed::<u8>(8188);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(global(&device.counts()[&12]), [1, 1, 1, 12]);
}

#[test]
fn threads_that_leave_early_are_not_counted_behind() {
    let body = ["setp.ge.u32 %p1, %t, 5;", "@%p1 exit;", "add.u32 %r1, %t, 1;"];
    let all = profiled(&snippet(&body.join("\n")), 3, 40);
    let of = |line: u32| {
        let counts = all.iter().find(|one| one.ptx_line == line).unwrap().counts;
        [counts.warps, counts.threads, counts.threads_on]
    };
    // The second warp of each block leaves with all its threads; of the first, five stay.
    assert_eq!([10, 11, 12].map(of), [[6, 120, 120], [6, 120, 105], [3, 15, 15]]);
}

#[test]
fn lines_of_inlined_functions_are_their_own() {
    let text = format!(
        "{HEADER}.file 1 \"k.cu\"\n.file 2 \"h.cuh\"\n.visible .entry k(.param .u64 out) {{\n.reg .u32 %r<4>; .reg .pred %p;\n.loc 1 5 0\n\
         mov.u32 %r1, %tid.x; mov.u32 %r2, 0;\nAGAIN:\n.loc 2 9 3, function_name INFO, inlined_at 1 6 1\nadd.u32 %r2, %r2, 1;\n.loc 1 6 0\n\
         setp.lt.u32 %p, %r2, 7;\n@%p bra AGAIN;\nret;\n}}\n.section .debug_str\n{{\nINFO:\n.b8 104, 0\n}}\n"
    );
    let device = Device::profiled(&text);
    let out = device.zeroed::<u8>(64);
    device.launch("k", [1, 1, 1], [64, 1, 1], &Args::new().add(out));
    let lines = device.profiles().remove(0).lines();
    let told: Vec<_> =
        lines.iter().map(|line| (line.file.as_deref().unwrap(), line.line, line.counts.warps)).collect();
    // Two warps go round seven times, and leave by `ret` on line 6.
    assert_eq!(told, [("h.cuh", 9, 14), ("k.cu", 5, 4), ("k.cu", 6, 2 * (7 + 7 + 1))]);
}

/// The first of two faults in a row of blocks ends the launch: what ran up to it is counted.
#[test]
fn a_kernel_that_faults_is_counted_up_to_there() {
    let body = [
        "setp.eq.u32 %p1, %t, 7;",
        "@%p1 mov.u64 %at, 64;",
        "st.global.u32 [%at], %t;",
        "add.u32 %r1, %t, 1;",
    ];
    let device = Device { workers: 1, ..Device::profiled(&snippet(&body.join("\n"))) };
    let out = device.zeroed::<u8>(4096);
    let call = launch(&device, "k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let fault = device.try_launch("k", call).unwrap_err();
    assert_eq!(fault.ptx_line, 12);
    let profile = device.profiles().remove(0);
    assert_eq!((profile.launches, profile.blocks, profile.threads), (1, 1, 32));
    let of = |line: u32| profile.instructions.iter().find(|one| one.ptx_line == line).unwrap().counts;
    assert_eq!((of(11).threads_on, of(12).warps, of(13).warps), (1, 1, 0));
}
