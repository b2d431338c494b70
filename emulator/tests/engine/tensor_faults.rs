//! Copies of tensors that fault: where a box cannot begin, maps that do not fit, and bytes that are no maps.

use cuda_emulator::engine::{Fault, FaultKind};

use crate::bulk::{SHARED, TENSOR, kernel, random, run_on};
use crate::support::Device;
use crate::tensor::{Map, im2col, tiled};
use crate::wgmma::Random;

#[test]
fn boxes_that_cannot_begin_there() {
    let plain = tiled(6, &[200, 100], &[32, 24]);
    let pixels = |lower, upper| im2col(&[16, 9, 7, 3], lower, upper, 8, 40);
    for (map, kind, corner, wanted) in [
        (tiled(2, &[1000], &[64]), "load", vec![3], "not a multiple of 16 bytes"),
        (tiled(0, &[208, 100], &[32, 4]), "load", vec![8, 1], "not a multiple of 16 bytes"),
        (tiled(2, &[100, 100], &[32, 4]), "store", vec![2, 1], "not a multiple of 16 bytes"),
        (plain.clone(), "store", vec![-8, 5], "a store to coordinate -8 in dimension 0"),
        (plain.clone(), "store", vec![8, -3], "a store to coordinate -3 in dimension 1"),
        (pixels(&[0, 0], &[0, 0]), "load", vec![0, -1, 0, 0], "coordinate -1 in dimension 1, outside 0 to 8"),
        (pixels(&[0, 0], &[0, 0]), "load", vec![0, 9, 0, 0], "outside 0 to 8"),
        (pixels(&[1, 0], &[-1, 0]), "load", vec![0, 0, 0, 0], "outside 1 to 7"),
        (pixels(&[-1, -1], &[1, 1]), "load", vec![0, 0, 8, 0], "outside -1 to 7"),
        (pixels(&[-1, 0], &[0, 0]), "store", vec![0, 0, 0, 0], "reaches beyond the tensor in dimension 1"),
        (pixels(&[0, 0], &[0, 1]), "store", vec![0, 0, 0, 0], "reaches beyond the tensor in dimension 2"),
    ] {
        let fault = map.run(kind, &corner, &random(1, TENSOR)).unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidSync, "{fault}");
        assert!(fault.message.contains(wanted), "{fault}");
    }
}

/// The fault of an instruction for `map` with other bytes at its address.
fn other(map: &Map, kind: &str, with: impl Fn(u64) -> [u8; 128]) -> Result<(), Box<Fault>> {
    let device = Device::new(&kernel(&map.instruction(kind), 1));
    let tensor = device.upload(&random(1, TENSOR));
    run_on(&device, 1, &random(1, SHARED), with(tensor), [0; 8]).map(|_| ())
}

#[test]
fn maps_that_do_not_fit_the_instruction() {
    let plain = tiled(6, &[200, 100], &[32, 24]);
    let pixels = im2col(&[16, 9, 7, 3], &[0, 0], &[0, 0], 8, 40);
    for (map, kind, with, expected, wanted) in [
        (&plain, "load", tiled(6, &[200, 100, 2], &[32, 24, 1]), FaultKind::InvalidSync, "3 dimensions"),
        (&plain, "store", tiled(6, &[200], &[32]), FaultKind::InvalidSync, "1 dimensions"),
        (&pixels, "load", tiled(6, &[16, 9, 7, 3], &[8, 5, 4, 2]), FaultKind::InvalidSync, "is for `.tile`"),
        (
            &tiled(6, &[16, 9, 7, 3], &[8, 5, 4, 2]),
            "load",
            pixels.clone(),
            FaultKind::InvalidSync,
            "is for `.im2col`",
        ),
    ] {
        let fault = other(map, kind, |tensor| with.encode(tensor)).unwrap_err();
        assert_eq!(fault.kind, expected, "{fault}");
        assert!(fault.message.contains(wanted), "{fault}");
    }
    let fault = other(&plain, "load", |_| [0; 128]).unwrap_err();
    assert!(
        fault.kind == FaultKind::InvalidSync && fault.message.contains("there is no tensor map"),
        "{fault}"
    );
    // A map of memory that is not there.
    let fault = other(&plain, "load", |tensor| plain.encode(tensor + (1 << 40))).unwrap_err();
    assert!(fault.kind == FaultKind::IllegalAddress && fault.address.is_some(), "{fault}");
    let fault = other(&plain, "store", |tensor| plain.encode(tensor + TENSOR as u64 - 4096)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    // Addresses of the map and of the box.
    for (from, to, kind) in [
        ("[%map,", "[%x0,", FaultKind::MisalignedAddress),
        ("[%s+1024]", "[%s+1040]", FaultKind::MisalignedAddress),
        ("[%s+1024]", "[%s+15360]", FaultKind::IllegalAddress),
        ("[%map,", "[%x1,", FaultKind::IllegalAddress),
    ] {
        for name in ["load", "store"] {
            let moved = "add.u64 %x0, %map, 32; mov.u64 %x1, 64;";
            let body = format!("{moved} {}", plain.instruction(name).replace(from, to));
            let device = Device::new(&kernel(&body, 1));
            let tensor = device.upload(&random(1, TENSOR));
            let input = random(1, SHARED);
            let fault = run_on(&device, 1, &input, plain.encode(tensor), [0; 8]).err().unwrap();
            // The 32 bytes behind the map are the coordinates.
            assert_eq!(fault.kind, kind, "{fault}");
        }
    }
}

#[test]
fn a_box_of_terabytes_is_refused() {
    for kind in ["load", "store", "add"] {
        let huge = tiled(2, &[256; 5], &[256; 5]);
        let small = tiled(2, &[256; 5], &[4; 5]);
        let fault =
            other(&small, kind, |tensor| Map { sizes: vec![4, 4, 4, 4, 4], ..huge.clone() }.encode(tensor))
                .unwrap_err();
        assert!(fault.kind == FaultKind::IllegalAddress && fault.address.is_some(), "{fault}");
    }
}

#[test]
fn random_maps_are_faults_or_results() {
    let mut random = Random(17);
    let (plain, pixels) = (tiled(6, &[200, 100], &[32, 24]), im2col(&[16, 9, 7, 3], &[0, 0], &[0, 0], 8, 40));
    let mut ends = std::collections::BTreeMap::<String, usize>::new();
    let cases = [(&plain, "load"), (&plain, "store"), (&plain, "add"), (&pixels, "load"), (&pixels, "store")];
    let devices: Vec<_> =
        cases.iter().map(|(map, kind)| Device::new(&kernel(&map.instruction(kind), 1))).collect();
    let input = self::random(1, SHARED);
    for at in 0..1500 {
        let (map, device) = (cases[at % 5].0, &devices[at % 5]);
        let tensor = device.upload(&[7; 4096]);
        let mut bytes = map.encode(tensor);
        // Some bytes, some bits, or all behind the mark.
        for _ in 0..=random.below(3) {
            let place = 8 + random.below(120) as usize;
            match at / 5 % 3 {
                0 => bytes[place] = random.next() as u8,
                1 => bytes[place] ^= 1 << random.below(8),
                _ => bytes[8..].iter_mut().for_each(|byte| *byte = random.next() as u8),
            }
        }
        let corner = std::array::from_fn(|_| match random.below(4) {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => random.next() as i32,
            _ => 0,
        });
        let end = run_on(device, 1, &input, bytes, corner).err().map(|fault| format!("{:?}", fault.kind));
        *ends.entry(end.unwrap_or_default()).or_default() += 1;
    }
    assert!(
        ends.contains_key("IllegalAddress")
            && ends.contains_key("InvalidSync")
            && !ends.contains_key("OutOfResources"),
        "{ends:?}"
    );
}
