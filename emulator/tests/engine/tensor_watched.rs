//! Copies under the checks, in several orders, and counted.

use cuda_emulator::{Checks, Counts, DifferenceKind, Schedules};

use crate::bulk::WAIT;
use crate::support::{Args, Device};
use crate::tensor::{Map, tiled};

/// A kernel without an image: shared memory is only written by the copy, and stored to `out`, as is what `out` has from the second copy on.
fn alone(load: &str, store: &str, words: u32) -> String {
    format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128]) {{\n\
         .reg .b32 %t<4>, %s, %bar; .reg .b64 %in, %out, %map, %p; .reg .pred %q2, %first; .shared .align 1024 .b8 s[4096]; .shared .align 8 .b64 bar;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %s, s; mov.u32 %bar, bar; mov.b64 %map, map; cvta.param.u64 %map, %map; mov.u32 %t0, %tid.x;\n\
         setp.eq.u32 %first, %t0, 0; @%first mbarrier.init.shared::cta.b64 [%bar], 1; bar.sync 0;\n\
         @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 512;\n\
         @%first {load}\n\
         {WAIT}\n\
         @%first {store}\n\
         bar.sync 0; setp.ge.u32 %q2, %t0, {words}; @%q2 ret; mad.lo.u32 %t1, %t0, 4, %s; ld.shared.u32 %t2, [%t1]; mad.wide.u32 %p, %t0, 4, %out;\n\
         ld.global.u32 %t3, [%p]; add.u32 %t2, %t2, %t3; st.global.u32 [%p+4096], %t2; ret; }}"
    )
}

const LOAD: &str =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%in], 512, [%bar];";
const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%out], [%s], 512; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
const LOAD_TENSOR: &str = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {0, 0}], [%bar];";
const STORE_TENSOR: &str = "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {0, 4}], [%s]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";

fn launched(device: &Device, swizzle: u32, width: u32) -> (Vec<u32>, u64) {
    let input: Vec<u32> = (0..1024).collect();
    let (place, out) = (device.upload(&input), device.memory.allocate(8192).unwrap());
    let map = Map { swizzle, ..tiled(2, &[32, 16], &[width, 128 / width]) }.encode(place);
    let args = Args::new().add(place).add(out).bytes(&map);
    device.launch("k", [1; 3], [128, 1, 1], &args);
    (device.download(out + 4096, 128), place)
}

#[test]
fn what_copies_write_is_initialised() {
    let findings = |load: &str, store: &str, words: u32, swizzle: u32, width: u32| {
        let device = Device::checked(&alone(load, store, words));
        launched(&device, swizzle, width);
        device.findings()
    };
    for (load, swizzle, width) in
        [(LOAD, 0, 32), (LOAD_TENSOR, 0, 32), (LOAD_TENSOR, 3, 32), (LOAD_TENSOR, 0, 4)]
    {
        assert_eq!(findings(load, STORE, 128, swizzle, width), [], "{load}");
    }
    // What no copy has written is still found.
    let found = findings(LOAD, "bra N; N:", 128, 0, 32);
    assert!(found.len() == 1 && found[0].to_string().contains("line 13"), "{found:?}");
    // As are the gaps between rows of 16 bytes that are swizzled in lines of 128, which 128 threads read.
    let found = findings(LOAD_TENSOR, STORE, 128, 3, 4);
    assert!(!found.is_empty(), "a gap was never written");
}

#[test]
fn copies_are_the_same_in_each_order() {
    let checks = Some(Checks::KERNELS);
    for (load, store) in [(LOAD, STORE), (LOAD_TENSOR, STORE), (LOAD_TENSOR, STORE_TENSOR)] {
        let device = Device::scheduled(&alone(load, store, 128), Schedules::new(10), checks);
        let input: Vec<u32> = (0..1024).collect();
        let (place, out) = (device.upload(&input), device.zeroed::<u32>(2048));
        let map = tiled(2, &[32, 16], &[32, 4]).encode(place);
        device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(place).add(out).bytes(&map));
        let differences = device.differences();
        assert!(differences.is_empty(), "{load} {store} {differences:?}");
    }
    // Each order begins with the memory that the launch found: a reduction is undone.
    let add = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%s], 512;";
    let device = Device::scheduled(&alone(LOAD, add, 128), Schedules::new(10), None);
    let (place, out) = (device.upload(&(0..1024).collect::<Vec<u32>>()), device.zeroed::<u32>(2048));
    device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(place).add(out).bytes(&[0; 128]));
    assert_eq!(device.download::<u32>(out, 128), (0..128).collect::<Vec<u32>>());
    assert!(
        device.differences().iter().all(|difference| !matches!(difference.kind, DifferenceKind::Memory(_)))
    );
}

#[test]
fn copies_are_counted() {
    for (load, store) in [(LOAD, STORE), (LOAD_TENSOR, STORE_TENSOR)] {
        let device = Device::profiled(&alone(load, store, 128));
        launched(&device, 0, 32);
        let counts = device.counts();
        let of = |line: u32| (counts[&line].warps, counts[&line].threads_on);
        // In line 11 all threads commit and wait.
        assert_eq!((of(9), of(11)), ((4, 1), (12, 257)), "{load}");
    }
}

#[test]
fn the_sectors_that_copies_move_are_counted() {
    // Requests, sectors, as many as would do, bytes of global memory; bytes of shared memory.
    let of = |load: &str, store: &str, sizes: &[u64], tile: &[u32]| {
        let device = Device::profiled(&alone(load, store, 128));
        let (place, out) = (device.upload(&(0..1024).collect::<Vec<u32>>()), device.zeroed::<u32>(2048));
        let map = tiled(2, sizes, tile).encode(place);
        device.launch("k", [1; 3], [128, 1, 1], &Args::new().add(place).add(out).bytes(&map));
        let profile = device.profiles().remove(0);
        let line = |line| {
            let mut counts = Counts::default();
            let of_line = profile.instructions.iter().filter(|one| one.ptx_line == line);
            of_line.for_each(|one| counts += one.counts);
            assert_eq!((counts.shared_requests, counts.shared_wavefronts), (0, 0), "no access of a warp");
            let Counts { global_requests, global_sectors, global_sectors_ideal, global_bytes, .. } = counts;
            [global_requests, global_sectors, global_sectors_ideal, global_bytes, counts.shared_bytes]
        };
        // The maps have as many as the copies: nothing else accesses that memory.
        let (load, store) = (line(9), line(11));
        let accessed = profile.allocations.iter().find(|one| one.address == place).unwrap();
        let expected = load[1] + store[1];
        for map in [&accessed.by_time, &accessed.by_place] {
            assert_eq!(map.iter().sum::<u64>(), expected);
        }
        (load, store)
    };
    let nothing = "bra N; N:";
    // 512 bytes from the start of an allocation on are 16 sectors; 16 bytes further, they reach into one more.
    assert_eq!(of(LOAD, nothing, &[32, 16], &[32, 4]), ([1, 16, 16, 512, 512], [0; 5]));
    let beside = LOAD.replace("[%in]", "[%in+16]");
    assert_eq!(of(&beside, nothing, &[32, 16], &[32, 4]).0, [1, 17, 16, 512, 512]);
    // A box of 4 rows of 128 bytes; another one is stored 4 rows further.
    let whole = [1, 16, 16, 512, 512];
    assert_eq!(of(LOAD_TENSOR, STORE_TENSOR, &[32, 16], &[32, 4]), (whole, whole));
    // 16 bytes of each of 32 rows, of which the tensor has 16, or 12 from the fourth on: half a sector each. Shared memory gets all.
    let rows = ([1, 16, 8, 16 * 16, 512], [1, 12, 6, 12 * 16, 512]);
    assert_eq!(of(LOAD_TENSOR, STORE_TENSOR, &[32, 16], &[4, 32]), rows);
    // Rows of 16 bytes, one behind the other: two have one sector.
    assert_eq!(of(LOAD_TENSOR, nothing, &[4, 64], &[4, 32]).0, whole);
}

#[test]
fn each_thread_that_copies_is_a_request_and_reductions_count_once() {
    // 8 threads of one warp add 32 bytes each, 64 bytes apart, to `out`.
    let add = "bra N; N: mad.wide.u32 %p, %t0, 64, %out; setp.lt.u32 %first, %t0, 8;\n\
               @%first cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%p], [%s], 32;";
    let device = Device::profiled(&alone(LOAD, add, 128));
    launched(&device, 0, 32);
    let counts = device.counts()[&12];
    assert_eq!((counts.warps, counts.threads_on, counts.global_requests), (4, 8, 8));
    assert_eq!((counts.global_sectors, counts.global_sectors_ideal, counts.global_bytes), (8, 8, 256));
    assert_eq!(counts.shared_bytes, 256);
}
