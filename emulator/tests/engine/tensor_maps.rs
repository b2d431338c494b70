//! Maps of tensors that kernels make, or that get another address.
#![allow(unsafe_code)]
// Relies on the driver of the emulator.

use std::ptr::without_provenance_mut;

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use cuda_emulator::engine::FaultKind;

use crate::bulk::{SHARED, TENSOR, kernel, random, run, run_on};
use crate::support::{Args, Device, launch};
use crate::tensor::{Map, tiled};

/// What thread 0 executes to make this map of a tensor at `%p7` in the 128 bytes at `%s`.
fn made_of(map: &Map) -> String {
    let zeros: String = (0..8).map(|at| format!("st.shared.v2.b64 [%s+{}], {{0, 0}}; ", 16 * at)).collect();
    let mut text = format!("cvt.u64.u32 %x0, %s; {zeros}\n");
    let mut replace = |field: &str, at: Option<usize>, ty: &str, value: &str| {
        let at = at.map_or(String::new(), |at| format!("{at}, "));
        text += &format!("tensormap.replace.tile.{field}.shared::cta.b1024.{ty} [%x0], {at}{value};\n");
    };
    replace("global_address", None, "b64", "%p7");
    replace("rank", None, "b32", &(map.sizes.len() - 1).to_string());
    for at in 0..map.sizes.len() {
        replace("box_dim", Some(at), "b32", &map.tile[at].to_string());
        replace("global_dim", Some(at), "b32", &map.sizes[at].to_string());
        replace("element_stride", Some(at), "b32", &map.steps[at].to_string());
    }
    for (at, bytes) in map.strides()[1..map.sizes.len()].iter().enumerate() {
        text += &format!(
            "mov.b64 %x1, {bytes}; tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%x0], {at}, %x1;\n"
        );
    }
    // The ISA numbers types otherwise than the driver's API: `.f32.ftz`, `.f64`, `.bf16`.
    let ty = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12][map.ty as usize];
    for (field, value) in [
        ("elemtype", ty),
        ("interleave_layout", map.interleave),
        ("swizzle_mode", map.swizzle),
        ("fill_mode", map.fill),
    ] {
        text += &format!("tensormap.replace.tile.{field}.shared::cta.b1024.b32 [%x0], {value};\n");
    }
    text
}

/// A map that the kernel makes is that which the driver encodes, and serves as such.
#[test]
fn kernels_make_maps() {
    for map in [
        Map { swizzle: 2, fill: 1, steps: vec![1, 2], ..tiled(6, &[200, 100], &[32, 24]) },
        tiled(8, &[40, 30, 20], &[8, 5, 6]),
        tiled(9, &[64, 50], &[16, 8]),
        tiled(10, &[64, 50], &[16, 8]),
        tiled(0, &[1000], &[64]),
        tiled(12, &[16, 9, 7, 6, 5], &[4, 3, 2, 3, 2]),
    ] {
        let made = made_of(&map);
        let at = TENSOR - 128;
        // The copy is the warp's; the load is from the map in global memory.
        let body = format!(
            "add.u64 %p7, %in, {SHARED}; add.u64 %p6, %in, {at}; cvt.u64.u32 %x0, %s; @!%first bra M; {made} M: setp.lt.u32 %q3, %t0, 32;\n\
             bar.sync 0;\n\
             @%q3 tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%p6], [%x0], 128;\n\
             bar.sync 0; fence.proxy.tensormap::generic.acquire.gpu [%p6], 128; mov.b64 %map, %p6;\n{}",
            map.instruction("load")
        );
        let device = Device::new(&kernel(&body, 1));
        let input = random(31, TENSOR);
        let mut corner = [0; 8];
        corner[0] = 16;
        corner[1] = 3;
        let (place, out) = (device.upload(&input), device.zeroed::<u8>(SHARED));
        let numbers: Vec<u8> = corner.iter().flat_map(|number: &i32| number.to_le_bytes()).collect();
        let args = Args::new().add(place).add(out).bytes(&[0; 128]).bytes(&numbers);
        let launched = device.try_launch("k", launch(&device, "k", [1, 1, 1], [128, 1, 1], &args));
        launched.unwrap_or_else(|fault| panic!("{fault}"));
        let shared: Vec<u8> = device.download(out, SHARED);
        let encoded = map.encode(place + SHARED as u64);
        assert_eq!(shared[..128], encoded, "{} {:?}", map.ty, map.sizes);
        assert_eq!(device.download::<u8>(place, TENSOR)[at..], encoded);
        let device = Device::new(&kernel(&map.instruction("load"), 1));
        let place = device.upload(&input);
        let left = run_on(&device, 1, &input[..SHARED], map.encode(place + SHARED as u64), corner).unwrap();
        assert!(shared[1024..] == left.shared[1024..] && left.shared[1024..] != input[1024..SHARED]);
    }
}

/// What no map can have is refused, and so is a map of other code's.
#[test]
fn fields_that_no_map_has() {
    for (before, replaced) in [
        ("0", "box_dim.shared::cta.b1024.b32 [%x0], 0, 257"),
        ("0", "rank.shared::cta.b1024.b32 [%x0], 5"),
        ("7", "rank.shared::cta.b1024.b32 [%x0], 1"),
    ] {
        let zeros: String =
            (0..8).map(|at| format!("st.shared.v2.b64 [%s+{}], {{{before}, 0}}; ", 16 * at)).collect();
        let body =
            format!("cvt.u64.u32 %x0, %s; @!%first bra S; {zeros} tensormap.replace.tile.{replaced}; S:");
        let fault = run(&body, 1, 1, &random(3, SHARED)).err().unwrap();
        assert_eq!(fault.kind, FaultKind::InvalidSync, "{replaced}: {fault}");
    }
}

/// ptxas takes predicates among bits.
#[test]
fn coordinates_in_predicates_are_not_supported() {
    let tensor = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    for body in [
        format!("{tensor} [%s], [%map, {{%c0, %q0}}], [%bar];"),
        format!("{tensor} [%s], [%map, {{%q0, %c0}}], [%bar];"),
    ] {
        assert_eq!(Device::new(&kernel(&body, 1)).kernel("k").unsupported().count(), 1, "{body}");
    }
}

/// A map is given another address, which has to be aligned as the first.
#[test]
fn an_address_is_replaced() {
    let instance = Instance::new().unwrap();
    let cuda = instance.driver();
    for (interleave, multiple) in [(0, 16), (1, 16), (2, 32)] {
        let plain =
            Map { interleave, swizzle: u32::from(interleave == 2), ..tiled(6, &[64, 9, 7], &[16, 5, 4]) };
        let mut map = CUtensorMap::default();
        let encoded = plain.encode(1 << 20);
        map.opaque
            .iter_mut()
            .zip(encoded.chunks(8))
            .for_each(|(word, bytes)| *word = u64::from_le_bytes(bytes.try_into().unwrap()));
        for (address, code) in [
            (4096 + multiple, CUresult::SUCCESS),
            (4096 + multiple / 2, CUresult::CUDA_ERROR_INVALID_VALUE),
            (0, CUresult::CUDA_ERROR_INVALID_VALUE),
        ] {
            // SAFETY: C1: the map is a map, and the address is only written into it.
            let found = unsafe { cuda.cuTensorMapReplaceAddress(&mut map, without_provenance_mut(address)) };
            assert_eq!(found, code, "{interleave} {address}");
        }
        let bytes: Vec<u8> = map.opaque.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, plain.encode(4096 + multiple as u64));
    }
}
