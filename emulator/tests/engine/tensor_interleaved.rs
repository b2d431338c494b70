//! Tensor maps whose groups of channels are interleaved with the pixels, `NC/8HWC8` and `NC/16HWC16`.
//!
//! The CUDA headers say that such maps exist, and no document what copies by them do. The oracle in `tensor.rs` follows what an H200 did in 1,052 cases.

use cuda_driver_sys::CUresult;
use cuda_emulator::engine::FaultKind;

use crate::bulk::{TENSOR, random};
use crate::tensor::{Map, im2col, tiled};

/// Both ways, with the swizzle that the wider asks for.
fn both(map: &Map) -> [Map; 2] {
    [1, 2].map(|interleave| Map { interleave, swizzle: interleave - 1, ..map.clone() })
}

#[test]
fn boxes_of_interleaved_tensors() {
    for (sizes, tile, corners) in [
        (
            &[12, 3, 2][..],
            &[8, 1, 2][..],
            &[[0; 5], [9, 1, 1, 0, 0], [-3, 2, 0, 0, 0], [3, 3, 0, 0, 0], [3, -1, 0, 0, 0]][..],
        ),
        // Of the groups, one is copied, whatever the box says.
        (
            &[12, 7, 3, 2],
            &[16, 2, 3, 1],
            &[[9, 5, 1, 1, 0], [-3, -1, 2, 0, 0], [3, 0, 3, 0, 0], [3, 2, -1, 0, 0], [1, 1, 1, 2, 0]],
        ),
        (
            &[12, 7, 5, 3, 2],
            &[8, 2, 2, 3, 2],
            &[[9, 5, 4, 1, 1], [-3, -1, -1, 2, 0], [3, 0, 0, 3, 0], [3, 2, 1, 0, -1]],
        ),
    ] {
        for corner in corners {
            for map in both(&tiled(6, sizes, tile)) {
                map.check_load(corner, |_| {});
                if corner.iter().all(|at| *at >= 0)
                    && corner[sizes.len() - 2] < sizes[sizes.len() - 2] as i32
                    && corner[sizes.len() - 1] < sizes[sizes.len() - 1] as i32
                {
                    map.check_store("store", "", corner);
                    map.check_store("add", "f16", corner);
                }
            }
        }
    }
}

#[test]
fn pixels_are_thinned_out_and_swizzled() {
    let map = tiled(6, &[12, 7, 3, 2], &[16, 5, 2, 2]);
    for steps in [[2, 1, 1, 1], [3, 2, 1, 1], [1, 3, 2, 1], [1, 1, 1, 2], [8, 8, 8, 8]] {
        for map in both(&Map { steps: steps.to_vec(), ..map.clone() }) {
            map.check_load(&[1, 1, 0, 0], |_| {});
            map.check_store("store", "", &[1, 1, 0, 0]);
        }
    }
    // More elements than a swizzle exchanges, were they not pixels.
    for map in both(&tiled(6, &[12, 7, 3, 2], &[32, 2, 1, 1])) {
        map.check_load(&[0, 1, 1, 0], |_| {});
    }
    for swizzle in 0..4 {
        for interleave in [1, 2] {
            // Three lines of 128 or 256 bytes: rows are dense, however narrow.
            let map = Map { interleave, swizzle, ..tiled(6, &[12, 7, 3, 2], &[8, 3, 1, 2]) };
            map.check_load(&[0, 1, 1, 0], |_| {});
            Map { interleave, swizzle, ..im2col(&[12, 7, 3, 2], &[0, 0], &[0, 0], 8, 21) }
                .check_load(&[0, 1, 1, 0], |_| {});
        }
    }
}

/// The columns go over the ends of lines and images to the same group of the next image.
#[test]
fn interleaved_pixels_become_columns() {
    for (sizes, at) in [
        (&[12, 3, 2][..], [2, 1, 0, 0, 0]),
        (&[12, 7, 3, 2], [2, 2, 1, 0, 0]),
        (&[12, 7, 5, 3, 2], [2, 2, 1, 1, 0]),
    ] {
        let images = sizes.len() - 2;
        for (lower, upper) in [([0; 3], [0; 3]), ([-2, -1, -1], [1, 1, 0]), ([1, 2, 1], [-3, -1, -1])] {
            let map = im2col(sizes, &lower[..images], &upper[..images], 8, 100);
            for offset in [0, 1] {
                let corner = [&at[..], &[offset; 3]].concat();
                for map in both(&map) {
                    map.check_load(&corner, |_| {});
                    for group in [-1, 3] {
                        let mut corner = corner.clone();
                        corner[images] = group;
                        map.check_load(&corner, |_| {});
                    }
                }
            }
        }
    }
    for map in both(&Map { steps: vec![1, 5, 1, 2], ..im2col(&[4, 5, 3, 6], &[0, 0], &[0, 0], 8, 14) }) {
        map.check_load(&[2, 1, 1, 1], |_| {});
    }
}

#[test]
fn what_no_interleaved_map_has() {
    for map in both(&tiled(6, &[12, 7, 2], &[8, 2, 1])) {
        let multiple = 8 << map.interleave;
        assert!(map.encoded(multiple).is_ok());
        let flat = Map { interleave: map.interleave, swizzle: map.swizzle, ..tiled(6, &[12, 7], &[8, 2]) };
        for refused in [map.encoded(multiple / 2), flat.encoded(multiple)] {
            assert_eq!(refused, Err(CUresult::CUDA_ERROR_INVALID_VALUE));
        }
    }
}

#[test]
fn what_an_interleaved_copy_refuses() {
    for map in both(&tiled(6, &[12, 7, 3, 2], &[8, 2, 1, 1])) {
        for (kind, corner) in [("store", [-1, 0, 0, 0]), ("store", [0, 0, -1, 0]), ("add", [0, -1, 0, 0])] {
            let fault = map.run(kind, &corner, &random(1, TENSOR)).map(|_| ()).expect_err(kind);
            assert!(
                fault.kind == FaultKind::InvalidSync && fault.message.contains("a store to coordinate -1"),
                "{fault}"
            );
        }
    }
    for map in both(&im2col(&[12, 7, 3, 2], &[-1, 0], &[0, -1], 8, 9)) {
        for corner in [[-2, 0, 0, 0], [12, 0, 0, 0], [0, -1, 0, 0], [0, 6, 0, 0]] {
            let fault =
                map.run("load", &corner, &random(1, TENSOR)).map(|_| ()).expect_err("outside the corners");
            assert!(fault.kind == FaultKind::InvalidSync && fault.message.contains("outside"), "{fault}");
        }
    }
}
