//! Copies under the checks, in several orders, and counted.

use cuda_emulator::{Checks, DifferenceKind, Schedules};

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
    let checks = Some(Checks::ALL);
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
