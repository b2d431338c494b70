//! What is counted of a launch, against counts by hand.

use std::sync::Arc;

use cuda_emulator::engine::Program;
use cuda_emulator::{Counts, lcov};

use crate::support::{Args, Device, HEADER, snippet};

/// The counts of line 10 and of the next ones, one line for each of the body, after a launch of so many threads on `bytes` bytes.
fn lines(body: &[&str], blocks: u32, threads: u32, bytes: usize) -> Vec<Counts> {
    let device = Device::profiled(&snippet(&body.join("\n")));
    let out = device.zeroed::<u8>(bytes);
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    let counts = device.counts();
    (0..body.len() as u32).map(|line| counts.get(&(10 + line)).copied().unwrap_or_default()).collect()
}

#[test]
fn threads_and_warps_are_counted() {
    // 80 threads are two warps and a half; the guard holds for threads 0 to 9 and 40 to 79.
    let body = ["setp.lt.u32 %p1, %t, 10;", "setp.ge.or.u32 %p1, %t, 40, %p1;", "@%p1 add.u32 %r1, %t, 1;"];
    let counts = lines(&body, 2, 80, 4);
    for counts in &counts {
        assert_eq!((counts.warps, counts.threads), (6, 160));
    }
    assert_eq!(counts.iter().map(|counts| counts.threads_on).collect::<Vec<_>>(), [160, 160, 100]);
}

#[test]
fn branches_are_counted_each_way() {
    let body = [
        "setp.lt.u32 %p1, %t, 40;",
        "@%p1 bra THEN;",      // all of warp 0, eight threads of warp 1, none of warp 2
        "add.u32 %r1, %t, 1;", // the others
        "bra END;",
        "THEN: add.u32 %r1, %t, 2;",
        "END:",
    ];
    let counts = lines(&body, 1, 96, 4);
    let branch = counts[1];
    assert_eq!((branch.taken, branch.not_taken, branch.divergent), (40, 56, 1));
    assert_eq!((counts[2].warps, counts[2].threads), (2, 56));
    assert_eq!((counts[3].taken, counts[3].not_taken), (0, 0), "only branches with a guard");
    assert_eq!((counts[4].warps, counts[4].threads), (2, 40));
}

#[test]
fn all_instructions_are_counted() {
    let body = ["setp.lt.u32 %p1, %t, 40;", "@%p1 bra END;", "add.u32 %r1, %t, 1;", "END:"];
    let device = Device::profiled(&snippet(&body.join("\n")));
    let out = device.zeroed::<u32>(1);
    device.launch("k", [2, 1, 1], [96, 1, 1], &Args::new().add(out));
    let counted: u64 = device.counts().values().map(|counts| counts.threads).sum();
    // Four before the body and `ret` behind it.
    assert_eq!(counted, 2 * (96 * 7 + 56));
}

#[test]
fn a_loop_is_counted_each_time_round() {
    let body = [
        "mov.u32 %r1, 0;",
        "AGAIN: add.u32 %r1, %r1, 1;",
        "setp.le.u32 %p1, %r1, %t;", // thread t goes round t + 1 times
        "@%p1 bra AGAIN;",
    ];
    let counts = lines(&body, 1, 32, 4);
    assert_eq!((counts[1].warps, counts[1].threads), (32, 32 * 33 / 2));
    assert_eq!((counts[3].taken, counts[3].not_taken), (31 * 32 / 2, 32));
    assert_eq!(counts[3].divergent, 31, "the last thread is alone in its last round");
}

/// Sectors, the least of them, requests and bytes of an access of one warp at this stride, from this byte on.
fn global(instruction: &str, stride: u32, from: u32) -> [u64; 4] {
    let body = [&*format!("mad.wide.u32 %rd1, %t, {stride}, %out; add.u64 %rd1, %rd1, {from};"), instruction];
    let counts = lines(&body, 1, 32, 1 << 14)[1];
    assert_eq!(counts.shared_requests, 0);
    [counts.global_sectors, counts.global_sectors_ideal, counts.global_requests, counts.global_bytes]
}

#[test]
fn sectors_of_global_memory() {
    let load = "ld.global.u32 %r1, [%rd1];";
    assert_eq!(global(load, 4, 0), [4, 4, 1, 128], "one after the other");
    assert_eq!(global(load, 4, 4), [5, 4, 1, 128], "not aligned");
    assert_eq!(global(load, 8, 0), [8, 4, 1, 128], "every other");
    assert_eq!(global(load, 128, 0), [32, 4, 1, 128], "each in a sector of its own");
    assert_eq!(global(load, 0, 0), [1, 1, 1, 128], "all the same");
    assert_eq!(global("ld.global.u8 %r1, [%rd1];", 1, 0), [1, 1, 1, 32]);
    assert_eq!(global("st.global.v4.u32 [%rd1], {%t, %t, %t, %t};", 16, 0), [16, 16, 1, 512]);
    assert_eq!(global("ld.u32 %r1, [%rd1];", 4, 0), [4, 4, 1, 128], "by a generic address");
    assert_eq!(global("setp.lt.u32 %p1, %t, 8; @%p1 ld.global.u32 %r1, [%rd1];", 4, 0), [1, 1, 1, 32]);
    let atomic = "atom.global.add.u32 %r1, [%rd1], 1;";
    assert_eq!(global(atomic, 4, 0), [4, 4, 1, 128]);
}

/// Passes over the banks, the least of them, and requests of an access of one warp, whose address is this.
fn shared(address: &str, instruction: &str) -> [u64; 3] {
    let body = [
        ".shared .align 16 .b8 tile[16384];",
        "mov.u32 %r9, tile;",
        address,
        "add.u32 %r1, %r1, %r9;",
        instruction,
    ];
    let counts = lines(&body, 1, 32, 4)[4];
    assert_eq!(counts.global_requests, 0);
    [counts.shared_wavefronts, counts.shared_wavefronts_ideal, counts.shared_requests]
}

#[test]
fn bank_conflicts_of_shared_memory() {
    let store = "st.shared.u32 [%r1], %t;";
    assert_eq!(shared("mul.lo.u32 %r1, %t, 4;", store), [1, 1, 1]);
    assert_eq!(shared("mul.lo.u32 %r1, %t, 8;", store), [2, 1, 1], "two words of each second bank");
    assert_eq!(shared("mul.lo.u32 %r1, %t, 128;", store), [32, 1, 1], "a column of a tile");
    assert_eq!(shared("mul.lo.u32 %r1, %t, 132;", store), [1, 1, 1], "of one that is padded");
    assert_eq!(shared("mov.u32 %r1, 0;", "ld.shared.u32 %r2, [%r1];"), [1, 1, 1], "one word for all");
    assert_eq!(shared("mov.u32 %r1, %t;", "ld.shared.u8 %r2, [%r1];"), [1, 1, 1], "four threads a word");
    assert_eq!(
        shared("mul.lo.u32 %r1, %t, 8;", "ld.shared.u64 %rd1, [%r1];"),
        [2, 2, 1],
        "half a warp at a time"
    );
    let four = "ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];";
    assert_eq!(shared("mul.lo.u32 %r1, %t, 16;", four), [4, 4, 1], "a quarter");
    assert_eq!(shared("mul.lo.u32 %r1, %t, 32;", four), [8, 4, 1]);
}

#[test]
fn atomics_on_one_number_collide() {
    let collisions = |shift: u32| {
        let body = [
            &*format!("shr.u32 %r1, %t, {shift}; mad.wide.u32 %rd1, %r1, 4, %out;"),
            "red.global.add.u32 [%rd1], 1;",
        ];
        lines(&body, 1, 64, 256)[1].collisions
    };
    assert_eq!([collisions(0), collisions(1), collisions(5)], [0, 32, 62]);
}

#[test]
fn launches_of_one_kernel_are_told_together_and_calls_with_their_function() {
    let text = format!(
        "{HEADER}.func twice(.reg .u32 %x) {{\n.reg .u32 %y;\nadd.u32 %y, %x, %x;\nret;\n}}\n\
         .visible .entry k() {{\n.reg .u32 %t;\nmov.u32 %t, %tid.x;\ncall twice, (%t);\nret;\n}}\n\
         .visible .entry other() {{\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    device.launch("k", [3, 1, 1], [32, 2, 1], &Args::new());
    device.launch("other", [1, 1, 1], [1, 1, 1], &Args::new());
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new());
    let profiles = device.profiles();
    assert_eq!(profiles.iter().map(|profile| &*profile.kernel).collect::<Vec<_>>(), ["k", "other"]);
    let of = |index: usize| (profiles[index].launches, profiles[index].blocks, profiles[index].threads);
    assert_eq!([of(0), of(1)], [(2, 4, 224), (1, 1, 1)]);
    let add = profiles[0].instructions.iter().find(|instruction| instruction.ptx_line == 6).unwrap();
    assert_eq!((&*add.function, add.counts.threads), ("twice", 224));
    assert_eq!(device.profiles(), [], "they were taken");
}

#[test]
fn lines_and_branches_that_ran_are_told_as_lcov() {
    let text = format!(
        "{HEADER}.file 1 \"k.cu\"\n.visible .entry k() {{\n.reg .pred %p; .reg .u32 %t;\n.loc 1 20 0\n\
         mov.u32 %t, %tid.x;\nsetp.ge.u32 %p, %t, 32;\n.loc 1 21 0\n@%p bra NEVER;\n.loc 1 22 0\n\
         add.u32 %t, %t, 1;\nret;\n.loc 1 30 0\nNEVER: add.u32 %t, %t, 2;\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new());
    let told = lcov(&device.profiles(), |_| None);
    let expected = "TN:\nSF:k.cu\nFN:20,k\nFNDA:1,k\nFNF:1\nFNH:1\n\
                    BRDA:21,0,0,0\nBRDA:21,0,1,32\nBRF:2\nBRH:1\n\
                    DA:20,1\nDA:21,1\nDA:22,1\nDA:30,0\nLF:4\nLH:3\nend_of_record\n";
    assert_eq!(told, expected);
}

/// Of a function that is not called, and of two branches on a line, one of which nobody comes to.
#[test]
fn what_never_ran_is_told_as_such() {
    let text = format!(
        "{HEADER}.file 1 \"k.cu\"\n.func far() {{\n.loc 1 3 0\nret;\n}}\n.visible .entry k() {{\n.reg .pred %p; .reg .u32 %t;\n\
         mov.u32 %t, %tid.x;\n.loc 1 20 0\nsetp.lt.u32 %p, %t, 32;\n@%p bra OVER;\n@!%p bra OVER;\n.loc 1 21 0\ncall far;\n\
         OVER:\n.loc 1 22 0\n@!%p add.u32 %t, %t, 1;\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    device.launch("k", [3, 1, 1], [32, 1, 1], &Args::new());
    let profiles = device.profiles();
    // The first instruction of `k` has no line of the source: it is not told by one of the PTX, and the function begins behind it.
    let told = lcov(&profiles, |_| Some("k.ptx".to_owned()));
    let expected = "TN:\nSF:k.cu\nFN:3,far\nFN:20,k\nFNDA:0,far\nFNDA:3,k\nFNF:2\nFNH:1\n\
                    BRDA:20,0,0,96\nBRDA:20,0,1,0\nBRDA:20,1,0,-\nBRDA:20,1,1,-\nBRF:4\nBRH:1\n\
                    DA:3,0\nDA:20,3\nDA:21,0\nDA:22,3\nLF:4\nLH:2\nend_of_record\n";
    assert_eq!(told, expected);
    let lines: Vec<_> = profiles[0].lines().into_iter().map(|line| (line.line, line.counts.warps)).collect();
    assert_eq!(lines, [(3, 0), (20, 6), (21, 0), (22, 6)]);
}

/// A table for people: all that it shows of a kernel with two files.
#[test]
fn a_profile_is_shown_as_a_table() {
    let text = format!(
        "{HEADER}.file 1 \"a.cu\"\n.file 2 \"b.cu\"\n.visible .entry k(.param .u64 out) {{\n.reg .pred %p; .reg .u32 %t, %s; .reg .u64 %a;\n\
         .shared .align 4 .b8 tile[4096];\n.loc 1 5 0\nmov.u32 %t, %tid.x; ld.param.u64 %a, [out]; mad.wide.u32 %a, %t, 16, %a;\n\
         setp.lt.u32 %p, %t, 8;\n.loc 1 6 0\n@%p st.global.u32 [%a], %t;\n.loc 2 7 0\nmov.u32 %s, tile; mad.lo.u32 %s, %t, 64, %s; st.shared.u32 [%s], %t;\n\
         ret;\n}}\n"
    );
    let device = Device::profiled(&text);
    let out = device.zeroed::<u8>(512);
    for _ in 0..2 {
        device.launch("k", [3, 1, 1], [32, 1, 1], &Args::new().add(out));
    }
    // 8 threads store 16 bytes apart: 4 sectors where one would do; 32 words are in two banks.
    let expected = "k: 6 blocks, 192 threads
  line      warps      threads     guard on    sectors    ideal  banks
a.cu
     5         24          768          768          0        0      0
     6          6          192           48         24        6      0
b.cu
     7         24          768          768          0        0     96
 total         54         1728         1584         24        6     96
";
    assert_eq!(device.profiles()[0].to_string(), expected);
}

/// Kernels of the same name in two modules, one of which is loaded twice.
#[test]
fn modules_are_told_apart_by_their_text() {
    let device = Device::profiled(&snippet("add.u32 %r1, %t, 1;"));
    let out = device.zeroed::<u8>(4);
    let launches = |text: &str, times: u32| {
        let program = Program::load(text, &device.memory).unwrap();
        let other = Device { memory: Arc::clone(&device.memory), program, workers: 1 };
        (0..times).for_each(|_| _ = other.launch("k", [1; 3], [32, 1, 1], &Args::new().add(out)));
    };
    launches(&snippet("add.u32 %r1, %t, 1;"), 1);
    launches(&snippet("mul.lo.u32 %r1, %t, 3;"), 2);
    launches(&snippet("add.u32 %r1, %t, 1;"), 3);
    let profiles = device.profiles();
    assert_eq!(profiles.iter().map(|profile| profile.launches).collect::<Vec<_>>(), [4, 2]);
    assert!(profiles[0].text.contains("add.u32 %r1") && profiles[1].text.contains("mul.lo"), "{profiles:?}");
}

/// In the order of addresses, whichever comes first, and no more than 64 of them.
#[test]
fn allocations_are_in_the_order_of_their_addresses() {
    let device = Device::profiled(&snippet("st.global.u32 [%at], %t;"));
    let mut places: Vec<u64> = (0..70).map(|_| device.zeroed::<u8>(256)).collect();
    places.sort_unstable();
    let found = || -> Vec<u64> {
        device.profiles().remove(0).allocations.iter().map(|allocation| allocation.address).collect()
    };
    let launch = |place: u64| _ = device.launch("k", [1; 3], [32, 1, 1], &Args::new().add(place));
    places[..3].iter().rev().for_each(|place| launch(*place));
    assert_eq!(found(), places[..3]);
    places.iter().for_each(|place| launch(*place));
    assert_eq!(found(), places[..64]);
    // Of one launch, in which the second comes first.
    let text = format!(
        "{HEADER}.visible .entry k(.param .u64 a, .param .u64 b) {{\n.reg .u64 %a, %b;\nld.param.u64 %a, [a]; ld.param.u64 %b, [b];\n\
         st.global.u64 [%a], %b; st.global.u64 [%b], %a;\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    let mut places = [device.zeroed::<u8>(512), device.zeroed::<u8>(512)];
    places.sort_unstable();
    device.launch("k", [1; 3], [32, 1, 1], &Args::new().add(places[1]).add(places[0]));
    let profile = device.profiles().remove(0);
    assert_eq!(profile.allocations.iter().map(|one| one.address).collect::<Vec<_>>(), places);
}

/// Of 128 blocks, two in a row share one of the map.
#[test]
fn many_blocks_share_the_rows_of_a_map() {
    let device = Device::profiled(&snippet("st.global.u32 [%at+32], %t;"));
    let out = device.zeroed::<u8>(2048);
    device.launch("k", [128, 1, 1], [8, 1, 1], &Args::new().add(out));
    let profile = device.profiles().remove(0);
    // The second sector: the second of 64 columns of 32 bytes.
    let expected = |column: usize| {
        (0..64 * 64).map(|cell| if cell % 64 == column { 2 } else { 0 }).collect::<Vec<u64>>()
    };
    assert_eq!(profile.allocations[0].by_place, expected(1));
    assert_eq!(profile.allocations[0].by_time, expected(5));
}

#[test]
fn without_lines_of_the_source_those_of_the_ptx_are_told() {
    let device = Device::profiled(&snippet("add.u32 %r1, %t, 1;"));
    let out = device.zeroed::<u8>(4);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let profiles = device.profiles();
    assert_eq!(lcov(&profiles, |_| None), "");
    assert!(lcov(&profiles, |_| Some("/k.ptx".to_owned())).contains("SF:/k.ptx\nFN:6,k\nFNDA:1,k\n"));
}

#[test]
fn waits_at_barriers_are_counted_in_instructions() {
    let body = [
        "setp.ge.u32 %p1, %t, 32;",
        "@%p1 bra MEET;", // warps 1 and 2 skip the next three lines
        "add.u32 %r1, %t, 1;",
        "add.u32 %r1, %r1, 1;",
        "add.u32 %r1, %r1, 1;",
        "MEET: bar.sync 0;",
        "setp.lt.u32 %p2, %t, 64;",
        "@%p2 bra AGAIN;", // warp 2 has two more
        "add.u32 %r1, %t, 1;",
        "add.u32 %r1, %t, 1;",
        "AGAIN: bar.sync 0;",
    ];
    let waits: Vec<u64> = lines(&body, 2, 96, 4).iter().map(|counts| counts.barrier_wait).collect();
    assert_eq!(waits, [0, 0, 0, 0, 0, 2 * (3 + 3), 0, 0, 0, 0, 2 * (2 + 2)]);
    // Who only arrives does not wait, and who waits does so until the last has arrived.
    let body = [
        "setp.lt.u32 %p1, %t, 32;",
        "@%p1 bra FIRST;",
        "add.u32 %r1, %t, 1;",
        "bar.arrive 1, 64;",
        "bra DONE;",
        "FIRST: bar.sync 1, 64;",
        "DONE: @%p1 bar.sync 2, 32;",
    ];
    let waits: Vec<u64> = lines(&body, 1, 64, 4).iter().map(|counts| counts.barrier_wait).collect();
    assert_eq!(waits, [0, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn local_memory_is_counted_by_its_space_and_by_generic_addresses() {
    let body = [
        ".local .align 16 .b8 own[64];",
        "st.local.v2.u32 [own], {%t, %t};",
        "setp.lt.u32 %p1, %t, 5;",
        "@%p1 ld.local.u16 %r1, [own+2];",
        "mov.u64 %rd1, own; cvta.local.u64 %rd1, %rd1;",
        "ld.u32 %r2, [%rd1];",
    ];
    let counts = lines(&body, 1, 40, 4);
    let of: Vec<_> = counts.iter().map(|counts| [counts.local_requests, counts.local_bytes]).collect();
    assert_eq!(of, [[0, 0], [2, 40 * 8], [0, 0], [1, 5 * 2], [0, 0], [2, 40 * 4]]);
    assert!(counts.iter().all(|counts| counts.global_requests == 0));
}

#[test]
fn accesses_to_an_allocation_are_told_by_block_time_and_place() {
    let device = Device::profiled(&snippet(
        "mov.u32 %r1, %ctaid.x;\nmad.wide.u32 %rd1, %r1, 512, %at;\nst.global.u32 [%rd1], %t;",
    ));
    let out = device.zeroed::<u8>(1024);
    device.launch("k", [2, 1, 1], [32, 1, 1], &Args::new().add(out));
    let profile = device.profiles().remove(0);
    let [allocation] = &*profile.allocations else { panic!("{profile:?}") };
    assert_eq!((allocation.address, allocation.bytes, allocation.column_time), (out, 1024, 1));
    let found = |cells: &[u64]| -> Vec<(usize, usize, u64)> {
        let cells = cells.iter().enumerate().filter(|(_, number)| **number > 0);
        cells.map(|(at, number)| (at / 64, at % 64, *number)).collect()
    };
    // The store is the seventh instruction; each block writes four sectors, of two columns each.
    assert_eq!(found(&allocation.by_time), [(0, 7, 4), (32, 7, 4)]);
    let places: Vec<_> = [(0, [0, 2, 4, 6]), (32, [32, 34, 36, 38])].into_iter().collect();
    let places = places.into_iter().flat_map(|(row, at)| at.map(|column| (row, column, 1)));
    assert_eq!(found(&allocation.by_place), places.collect::<Vec<_>>());
}

#[test]
fn a_function_that_several_kernels_call_is_told_once_with_what_all_did() {
    let text = format!(
        "{HEADER}.func twice(.reg .u32 %x) {{\n.reg .u32 %y; .reg .pred %p;\nsetp.lt.u32 %p, %x, 8;\n\
         @%p bra END;\nadd.u32 %y, %x, %x;\nEND: ret;\n}}\n\
         .visible .entry one() {{\n.reg .u32 %t;\nmov.u32 %t, %tid.x;\ncall twice, (%t);\nret;\n}}\n\
         .visible .entry two() {{\n.reg .u32 %t;\nmov.u32 %t, %tid.x;\ncall twice, (%t);\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    device.launch("one", [1, 1, 1], [8, 1, 1], &Args::new());
    device.launch("two", [3, 1, 1], [32, 1, 1], &Args::new());
    let told = lcov(&device.profiles(), |_| Some("/k.ptx".to_owned()));
    assert!(told.contains("FNDA:4,twice\n"), "{told}");
    // Threads 0 to 7 of four blocks jump, the others of three do not.
    assert!(told.contains("\nBRDA:7,0,0,32\nBRDA:7,0,1,72\nBRF:2\nBRH:2\n"), "{told}");
}

#[test]
fn copies_of_threads_count_at_both_sides() {
    // 16 bytes of each of 32 threads, 32 apart in global memory and one after the other in shared memory: 32 sectors where 16 would do, and
    // 8 threads fill the banks at a time.
    let body = [
        ".shared .align 16 .b8 tile[512];",
        "mad.wide.u32 %rd1, %t, 32, %out; mov.u32 %r9, tile; mad.lo.u32 %r1, %t, 16, %r9;",
        "cp.async.ca.shared.global [%r1], [%rd1], 16;",
        "cp.async.wait_all;",
    ];
    let counts = lines(&body, 1, 32, 1024)[2];
    let of =
        [counts.global_requests, counts.global_sectors, counts.global_sectors_ideal, counts.global_bytes];
    assert_eq!(of, [1, 32, 16, 512]);
    let of = [
        counts.shared_requests,
        counts.shared_wavefronts,
        counts.shared_wavefronts_ideal,
        counts.shared_bytes,
    ];
    assert_eq!(of, [1, 4, 4, 512]);
}

/// A bulk copy is one instruction, at its time and at all places that it moves.
#[test]
fn bulk_copies_are_told_by_time_and_place() {
    let device = Device::profiled(&snippet(
        ".shared .align 16 .b8 tile[64]; mov.u32 %r1, tile;\nsetp.eq.u32 %p1, %t, 0;\n\
         @%p1 cp.async.bulk.global.shared::cta.bulk_group [%out+512], [%r1], 64;\n\
         cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
    ));
    let out = device.zeroed::<u8>(1024);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let profile = device.profiles().remove(0);
    let [allocation] = &*profile.allocations else { panic!("{profile:?}") };
    let found = |cells: &[u64]| -> Vec<(usize, u64)> {
        let cells = cells.iter().enumerate().filter(|(_, number)| **number > 0);
        cells.map(|(at, number)| (at, *number)).collect()
    };
    // The copy is the seventh instruction; 64 bytes from 512 on are two sectors of 64 columns of 16 bytes.
    assert_eq!(found(&allocation.by_time), [(7, 2)]);
    assert_eq!(found(&allocation.by_place), [(32, 1), (34, 1)]);
}

#[test]
fn functions_are_entered_as_often_as_they_are_called() {
    // Both begin with their loop: three rounds, and two.
    let text = format!(
        "{HEADER}.func (.reg .u32 out) rounds(.reg .u32 n) {{\n.reg .pred %p;\nL: sub.u32 n, n, 1;\nsetp.gt.s32 %p, n, 0;\n@%p bra L;\n\
         mov.u32 out, n;\nret;\n}}\n\
         .visible .entry k() {{\n.reg .u32 %t, %n; .reg .pred %p;\nK: add.u32 %n, %n, 1;\nsetp.lt.u32 %p, %n, 2;\n@%p bra K;\n\
         mov.u32 %t, %tid.x;\nsetp.ge.u32 %p, %t, 32;\n@%p exit;\ncall (%t), rounds, (3);\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    device.launch("k", [2, 1, 1], [70, 1, 1], &Args::new());
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new());
    let profiles = device.profiles();
    let entries: Vec<_> = profiles[0].instructions.iter().map(|one| (one.ptx_line, one.entries)).collect();
    assert_eq!(entries.iter().filter(|(_, entries)| *entries > 0).count(), 2, "{entries:?}");
    let told = lcov(&profiles, |_| Some("/k.ptx".to_owned()));
    assert!(told.contains("FNDA:7,k\nFNDA:3,rounds\n"), "{told}");
    assert!(told.contains("\nDA:6,9\n") && told.contains("\nDA:14,14\n"), "{told}");
}

#[test]
fn line_zero_is_no_line_of_the_source() {
    let text = format!(
        "{HEADER}.file 1 \"k.cu\"\n.visible .entry k(.param .u64 out) {{\n.reg .u64 %a;\n.loc 1 0 0\nld.param.u64 %a, [out];\n.loc 1 7 3\n\
         st.global.u32 [%a], 1;\n.loc 1 0 0\nret;\n}}\n"
    );
    let device = Device::profiled(&text);
    let out = device.zeroed::<u32>(1);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    let profiles = device.profiles();
    let expected =
        "TN:\nSF:k.cu\nFN:7,k\nFNDA:1,k\nFNF:1\nFNH:1\nBRF:0\nBRH:0\nDA:7,1\nLF:1\nLH:1\nend_of_record\n";
    assert_eq!(lcov(&profiles, |_| None), expected);
    assert_eq!(profiles[0].lines().len(), 1);
    let places: Vec<_> =
        profiles[0].instructions.iter().map(|one| (one.source.is_some(), one.column)).collect();
    assert_eq!(places, [(false, 0), (true, 3), (false, 0)]);
}

#[test]
fn targets_of_a_table_are_ways_of_a_branch() {
    // Threads 0 and 3 to 7 go to A, 1 to B, nobody to C.
    let body = "min.u32 %r1, %t, 3; T: .branchtargets A, B, C, A;\nsetp.ge.u32 %p1, %t, 2; @%p1 mov.u32 %r1, 3;\nbrx.idx %r1, T;\n\
                A: mov.u32 %r2, 1; bra E; B: mov.u32 %r2, 2; bra E; C: mov.u32 %r2, 3; E:";
    let device = Device::profiled(&snippet(body));
    let out = device.zeroed::<u32>(32);
    for _ in 0..2 {
        device.launch("k", [1, 1, 1], [8, 1, 1], &Args::new().add(out));
    }
    let profiles = device.profiles();
    let table = profiles[0].instructions.iter().find(|one| &*one.name == "brx.idx").unwrap();
    assert_eq!((table.ptx_line, &table.targets[..], table.conditional), (12, &[14, 2, 0][..], false));
    let told = lcov(&profiles, |_| Some("/k.ptx".to_owned()));
    assert!(told.contains("BRDA:12,0,0,14\nBRDA:12,0,1,2\nBRDA:12,0,2,0\nBRF:3\nBRH:2\n"), "{told}");
}
