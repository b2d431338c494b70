//! Copies of tensors, against references written from the PTX ISA ("Tensors", "Asynchronous copy").
#![allow(unsafe_code)]
// Relies on the driver of the emulator, which gets lists as long as the rank says.

use cuda_driver_sys::*;
use cuda_emulator::Instance;
use cuda_emulator::engine::{Fault, FaultKind};
use std::ptr::without_provenance_mut;

use crate::bulk::{
    FLOATS, GROUP, INTEGERS, SHARED, TENSOR, WAIT, kernel, numbers, random, reduce_into, run_on,
};
use crate::support::{Args, Device, launch};

/// A tensor map as the driver encodes it, and what the ISA says of it.
#[derive(Clone)]
pub(crate) struct Map {
    pub(crate) ty: u32,
    pub(crate) sizes: Vec<u64>,
    pub(crate) tile: Vec<u32>,
    pub(crate) steps: Vec<u32>,
    pub(crate) swizzle: u32,
    pub(crate) fill: u32,
    pub(crate) interleave: u32,
    /// The corners, channels and pixels of im2col.
    pub(crate) im2col: Option<([Vec<i32>; 2], u32, u32)>,
}

pub(crate) fn tiled(ty: u32, sizes: &[u64], tile: &[u32]) -> Map {
    let steps = vec![1; sizes.len()];
    Map {
        ty,
        sizes: sizes.to_vec(),
        tile: tile.to_vec(),
        steps,
        swizzle: 0,
        fill: 0,
        interleave: 0,
        im2col: None,
    }
}

pub(crate) fn im2col(sizes: &[u64], lower: &[i32], upper: &[i32], channels: u32, pixels: u32) -> Map {
    let im2col = Some(([lower.to_vec(), upper.to_vec()], channels, pixels));
    Map { im2col, ..tiled(6, sizes, &[]) }
}

impl Map {
    pub(crate) fn element(&self) -> usize {
        [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4][self.ty as usize]
    }

    fn is_interleaved(&self) -> bool {
        self.interleave > 0
    }

    /// Bytes that the first coordinate counts: those of an element, or of a pixel's group of channels where groups are interleaved.
    fn unit(&self) -> usize {
        [self.element(), 16, 32][self.interleave as usize]
    }

    /// Bytes from one unit to the next in each dimension.
    pub(crate) fn strides(&self) -> Vec<u64> {
        let mut strides = vec![self.unit() as u64];
        let multiple = if self.interleave == 2 { 32 } else { 16 };
        for (at, size) in self.sizes.iter().enumerate() {
            strides.push((strides[at] * size).next_multiple_of(multiple) + if at == 1 { 32 } else { 0 });
        }
        strides
    }

    pub(crate) fn encode(&self, address: u64) -> [u8; 128] {
        self.encoded(address).unwrap()
    }

    /// The same, or what the driver answers instead.
    pub(crate) fn encoded(&self, address: u64) -> Result<[u8; 128], CUresult> {
        let instance = Instance::new().unwrap();
        let cuda = instance.driver();
        let (mut map, rank, strides) = (CUtensorMap::default(), self.sizes.len() as u32, self.strides());
        let (ty, place) = (CUtensorMapDataType(self.ty as _), without_provenance_mut(address as usize));
        let (interleave, swizzle) =
            (CUtensorMapInterleave(self.interleave as _), CUtensorMapSwizzle(self.swizzle as _));
        let (promotion, fill) = (CUtensorMapL2promotion(0), CUtensorMapFloatOOBfill(self.fill as _));
        let (sizes, strides, steps) = (self.sizes.as_ptr(), strides[1..].as_ptr(), self.steps.as_ptr());
        // SAFETY: C1: all lists have `rank` elements, or one or two less where the function takes so many.
        let code = unsafe {
            assert_eq!(cuda.cuInit(0), CUresult::SUCCESS);
            match &self.im2col {
                None => cuda.cuTensorMapEncodeTiled(
                    &mut map,
                    ty,
                    rank,
                    place,
                    sizes,
                    strides,
                    self.tile.as_ptr(),
                    steps,
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                ),
                Some(([lower, upper], channels, pixels)) => cuda.cuTensorMapEncodeIm2col(
                    &mut map,
                    ty,
                    rank,
                    place,
                    sizes,
                    strides,
                    lower.as_ptr(),
                    upper.as_ptr(),
                    *channels,
                    *pixels,
                    steps,
                    interleave,
                    swizzle,
                    promotion,
                    fill,
                ),
            }
        };
        if code != CUresult::SUCCESS {
            return Err(code);
        }
        let bytes: Vec<u8> = map.opaque.iter().flat_map(|word| word.to_le_bytes()).collect();
        Ok(bytes.try_into().unwrap())
    }

    /// Units of a row of the box, and the coordinates of each of its rows. Where groups of channels are interleaved, the group is the last
    /// dimension but one, each pixel is a row, and there is no dimension of channels before those of images.
    pub(crate) fn rows(&self, corner: &[i32], offsets: &[i64]) -> (usize, Vec<Vec<i64>>) {
        let rank = self.sizes.len();
        let images = usize::from(!self.is_interleaved());
        let corner: Vec<i64> = corner[..rank].iter().map(|at| i64::from(*at)).collect();
        let mut rows = Vec::new();
        let Some(([lower, upper], channels, pixels)) = &self.im2col else {
            let count = |dim: usize| match self.is_interleaved() && dim == rank - 2 {
                true => 1,
                false => self.tile[dim].div_ceil(self.steps[dim]) as usize,
            };
            for row in 0..(images..rank).map(count).product::<usize>() {
                let (mut rest, mut place) = (row, corner.clone());
                for (dim, at) in place.iter_mut().enumerate().skip(images) {
                    *at += (rest % count(dim)) as i64 * i64::from(self.steps[dim]);
                    rest /= count(dim);
                }
                rows.push(place);
            }
            return (if self.is_interleaved() { 1 } else { self.tile[0] as usize }, rows);
        };
        let mut at = corner;
        for _ in 0..*pixels {
            let mut place = at.clone();
            place
                .iter_mut()
                .skip(images)
                .zip(offsets.iter().take(rank - 2))
                .for_each(|(at, offset)| *at += offset);
            rows.push(place);
            let mut dim = images;
            while dim < images + rank - 2 {
                at[dim] += i64::from(self.steps[dim]);
                if at[dim] < self.sizes[dim] as i64 + i64::from(upper[dim - images]) {
                    break;
                }
                at[dim] = i64::from(lower[dim - images]);
                dim += 1;
            }
            if dim == images + rank - 2 {
                at[rank - 1] += i64::from(self.steps[rank - 1]);
            }
        }
        (if self.is_interleaved() { 1 } else { *channels as usize }, rows)
    }

    /// For each unit of the box: where it is in shared memory, and where in the tensor, if it is. Halves of one of 32 bytes go apart.
    pub(crate) fn elements(&self, corner: &[i32], offsets: &[i64]) -> Vec<(usize, Option<usize>)> {
        let (count, rows) = self.rows(corner, offsets);
        let (unit, strides) = (self.unit(), self.strides());
        let narrowest = if self.is_interleaved() { 0 } else { [0, 32, 64, 128][self.swizzle as usize] };
        let pitch = (count * unit).max(narrowest);
        let mut elements = Vec::new();
        for (row, place) in rows.iter().enumerate() {
            for column in 0..count {
                let mut place = place.clone();
                place[0] += column as i64;
                let inside = place.iter().zip(&self.sizes).all(|(at, size)| (0..*size as i64).contains(at));
                let bytes = place.iter().zip(&strides).map(|(at, stride)| at * *stride as i64).sum::<i64>();
                let dense = row * pitch + column * unit;
                let moved = (dense / 128) % [1, 2, 4, 8][self.swizzle as usize];
                for at in (0..unit).step_by(16) {
                    elements.push(((dense + at) ^ (moved * 16), inside.then_some(bytes as usize + at)));
                }
            }
        }
        elements
    }

    pub(crate) fn bytes(&self, corner: &[i32]) -> usize {
        let (count, rows) = self.rows(corner, &[0; 3]);
        count * rows.len() * self.unit()
    }

    pub(crate) fn instruction(&self, kind: &str) -> String {
        let rank = self.sizes.len();
        let list = |name: &str, from: usize, count: usize| {
            (from..from + count).map(|at| format!("%{name}{at}")).collect::<Vec<_>>().join(",")
        };
        let co = list("c", 0, rank);
        if kind != "load" {
            let mode = if self.im2col.is_some() { "im2col_no_offs" } else { "tile" };
            let start = if kind == "store" { "cp.async.bulk.tensor" } else { "cp.reduce.async.bulk.tensor" };
            let operation = if kind == "store" { String::new() } else { format!(".{kind}") };
            return format!(
                "@!%first bra S; {start}.{rank}d.global.shared::cta{operation}.{mode}.bulk_group [%map, {{{co}}}], [%s+1024]; {GROUP} S:"
            );
        }
        let (mode, prepare, offsets) = match self.im2col {
            None => ("tile", String::new(), String::new()),
            Some(_) => (
                "im2col",
                (0..rank - 2).map(|at| format!("cvt.u16.u32 %h{at}, %c{}; ", 5 + at)).collect(),
                format!(", {{{}}}", list("h", 0, rank - 2)),
            ),
        };
        format!(
            "{prepare} @!%first bra S; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {};\n\
             cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes [%s+1024], [%map, {{{co}}}], [%bar]{offsets}; S: {WAIT}",
            self.bytes(&[0; 5])
        )
    }

    /// Runs an instruction on these bytes, which are the tensor and what shared memory begins with.
    pub(crate) fn run(
        &self,
        kind: &str,
        corner: &[i32],
        input: &[u8],
    ) -> Result<(Vec<u8>, Vec<u8>), Box<Fault>> {
        let device = Device::new(&kernel(&self.instruction(kind), 1));
        let tensor = device.upload(input);
        let mut numbers = [0; 8];
        numbers[..corner.len()].copy_from_slice(corner);
        let left = run_on(&device, 1, &input[..SHARED], self.encode(tensor), numbers)?;
        Ok((left.shared, device.download(tensor, input.len())))
    }

    /// Compares a load.
    pub(crate) fn check_load(&self, corner: &[i32], convert: impl Fn(&mut [u8])) {
        let input = random(5, TENSOR);
        let offsets: Vec<i64> = (5..8).map(|at| corner.get(at).copied().unwrap_or(0).into()).collect();
        let mut wanted = input[..SHARED].to_vec();
        let element = self.unit().min(16);
        for (place, from) in self.elements(corner, &offsets) {
            let target = &mut wanted[1024 + place..][..element];
            match from {
                Some(from) => {
                    target.copy_from_slice(&input[from..from + element]);
                    convert(target);
                }
                None if self.fill == 0 => target.fill(0),
                None => target
                    .iter_mut()
                    .zip([0xf7, 0x7f].into_iter().cycle())
                    .for_each(|(byte, fill)| *byte = fill),
            }
        }
        let (shared, tensor) = self.run("load", corner, &input).unwrap_or_else(|fault| panic!("{fault}"));
        let wrong = shared.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        assert_eq!(wrong, None, "{:?} {corner:?}", self.sizes);
        assert!(tensor == input);
    }

    /// Compares a store or a reduction.
    pub(crate) fn check_store(&self, kind: &str, ty: &str, corner: &[i32]) {
        let input = if kind == "store" { random(6, TENSOR) } else { numbers(7, ty, TENSOR) };
        let (mut wanted, element) = (input.clone(), self.unit().min(16));
        for (place, to) in self.elements(corner, &[0; 3]) {
            let Some(to) = to else { continue };
            let source = &input[1024 + place..][..element];
            match kind {
                "store" => wanted[to..to + element].copy_from_slice(source),
                operation => {
                    let numbers = wanted[to..to + element].chunks_mut(self.element());
                    numbers
                        .zip(source.chunks(self.element()))
                        .for_each(|(to, from)| reduce_into(operation, ty, to, from));
                }
            }
        }
        let (shared, tensor) = self.run(kind, corner, &input).unwrap_or_else(|fault| panic!("{fault}"));
        let wrong = tensor.iter().zip(&wanted).position(|(found, wanted)| found != wanted);
        assert_eq!(wrong, None, "{kind} {ty} {:?} {corner:?}", self.sizes);
        assert!(shared == input[..SHARED] && wanted != input);
    }
}

#[test]
fn boxes_of_one_to_five_dimensions() {
    for corner in [0, 4, -4, 980, 996, 1000, 5000, -64, i32::MAX - 3, i32::MIN] {
        tiled(2, &[1000], &[64]).check_load(&[corner], |_| {});
    }
    for corner in [
        [8, 5],
        [184, 90],
        [-8, -3],
        [-64, 0],
        [0, 100],
        [200, 99],
        [i32::MIN, i32::MIN],
        [i32::MAX - 7, i32::MAX],
    ] {
        tiled(6, &[200, 100], &[32, 24]).check_load(&corner, |_| {});
    }
    for corner in [[4, 28, 17], [-4, -2, -3], [36, 0, 19], [0, 0, -6]] {
        tiled(2, &[40, 30, 20], &[8, 5, 6]).check_load(&corner, |_| {});
    }
    tiled(2, &[16, 12, 10, 8], &[4, 5, 3, 4]).check_load(&[12, -1, 8, 6], |_| {});
    tiled(2, &[16, 9, 7, 6, 5], &[4, 3, 2, 3, 2]).check_load(&[-4, 7, 6, -2, 4], |_| {});
    tiled(2, &[16, 9, 7, 6, 5], &[8, 3, 2, 3, 2]).check_load(&[4, 1, 6, 2, -1], |_| {});
    for (ty, sizes, tile, corner) in [
        (2, vec![40, 30, 20], vec![8, 5, 6], vec![4, 28, 17]),
        (6, vec![200, 100], vec![32, 24], vec![184, 90]),
        (2, vec![1000], vec![64], vec![980]),
        (2, vec![16, 9, 7, 6], vec![4, 3, 2, 3], vec![12, 7, 6, 4]),
        (2, vec![16, 9, 7, 6, 5], vec![4, 3, 2, 3, 2], vec![8, 7, 6, 2, 4]),
    ] {
        tiled(ty, &sizes, &tile).check_store("store", "", &corner);
    }
}

#[test]
fn boxes_are_thinned_out() {
    for (steps, corner) in [([1, 2, 3], [4, 20, 9]), ([2, 1, 1], [0, 3, 4]), ([1, 8, 5], [-4, -3, 16])] {
        let map = Map { steps: steps.to_vec(), ..tiled(2, &[40, 30, 20], &[8, 5, 6]) };
        map.check_load(&corner, |_| {});
        map.check_store("store", "", &corner.map(|at| at.max(0)));
    }
}

#[test]
fn boxes_are_swizzled() {
    for swizzle in 0..4 {
        let span = 16 << swizzle;
        for width in [16, 32, 48, 64, 96, 128].into_iter().filter(|width| swizzle == 0 || *width <= span) {
            let map = Map { swizzle, ..tiled(0, &[208, 100], &[width, 24]) };
            map.check_load(&[16, 5], |_| {});
            map.check_load(&[-16, 90], |_| {});
            map.check_store("store", "", &[16, 5]);
        }
    }
    // Three rows of 16 bytes are no whole lines.
    tiled(0, &[208, 100], &[16, 3]).check_load(&[0, 5], |_| {});
}

#[test]
fn what_is_outside_is_zero_or_nan() {
    for ty in 0..13 {
        for fill in [0, u32::from(ty >= 6)] {
            // Nothing of it is inside but a corner, whose numbers are converted in another test.
            let map = Map { fill, ..tiled(ty, &[64, 50], &[16, 8]) };
            map.check_load(&[64, 46], |_| {});
            if ty < 11 {
                map.check_load(&[if map.element() == 1 { 48 } else { 56 }, 46], |_| {});
                map.check_store("store", "", &[48, 46]);
            }
        }
    }
}

#[test]
fn tensor_floats_are_rounded() {
    let rounded = |number: &mut [u8]| {
        let bits = u32::from_le_bytes(number.try_into().unwrap());
        let result = match bits & 0x7fff_ffff {
            0x7f80_0001.. => 0x7fff_e000,
            0x7f80_0000 => bits,
            // To the nearest, ties to even, of ten bits of the fraction.
            _ => {
                let (kept, rest) = (bits >> 13, bits & 0x1fff);
                (kept + u32::from(rest > 0x1000 || rest == 0x1000 && kept & 1 == 1)) << 13
            }
        };
        number.copy_from_slice(&result.to_le_bytes());
    };
    for ty in [11, 12] {
        let map = tiled(ty, &[64, 50], &[64, 8]);
        map.check_load(&[0, 3], rounded);
        // Ties, infinities, NaN and subnormal numbers.
        let numbers = [
            0x3f80_1000,
            0x3f80_3000,
            0x7f80_0000,
            0xff80_0001,
            0x7fff_ffff,
            0x1000,
            0x8000_3000,
            0x1001,
            0x7f7f_ffff,
            0xffc0_0000u32,
        ];
        let input: Vec<u8> =
            numbers.iter().cycle().take(TENSOR / 4).flat_map(|number| number.to_le_bytes()).collect();
        let (shared, _) = map.run("load", &[0, 0], &input).unwrap();
        let mut wanted = input[..64 * 4].to_vec();
        wanted.chunks_mut(4).for_each(rounded);
        assert_eq!(shared[1024..1280], wanted, "type {ty}");
    }
}

#[test]
fn tensor_reductions() {
    for (operation, ty) in INTEGERS.into_iter().chain(FLOATS) {
        let data_type = match ty {
            "u32" | "b32" => 2,
            "s32" => 3,
            "u64" | "b64" => 4,
            "s64" => 5,
            "f16" => 6,
            "f32" => 7,
            "f64" => 8,
            _ => 9,
        };
        tiled(data_type, &[64, 50], &[16, 8]).check_store(operation, ty, &[8, 46]);
    }
    // Types 10 and 12 flush subnormal numbers, 7 and 11 do not.
    for (ty, wanted) in [(7, 3_u32), (11, 3), (10, 0), (12, 0)] {
        let input: Vec<u8> = (0..TENSOR / 4).flat_map(|at| (1 + at as u32 % 2).to_le_bytes()).collect();
        let (_, tensor) = tiled(ty, &[64, 50], &[16, 8]).run("add", &[1 << 2, 0], &input).unwrap();
        let found: Vec<u32> =
            tensor[16..80].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        // 1 + 1 and 2 + 2.
        let wanted: Vec<u32> = (0..16).map(|at| if wanted == 0 { 0 } else { 2 + 2 * (at % 2) }).collect();
        assert_eq!(found, wanted, "type {ty}");
    }
    for (ty, operation) in [
        (0, "add"),
        (5, "add"),
        (5, "and"),
        (6, "and"),
        (7, "min"),
        (8, "max"),
        (3, "inc"),
        (10, "min"),
        (11, "min"),
    ] {
        let result = tiled(ty, &[64, 50], &[16, 8]).run(operation, &[0, 0], &random(1, TENSOR)).map(|_| ());
        let fault = result.expect_err(operation);
        assert_eq!(fault.kind, FaultKind::InvalidSync);
        assert!(fault.message.contains("no such reduction"), "{fault}");
    }
}

#[test]
fn pixels_become_columns() {
    let image: &[u64] = &[16, 9, 7, 3];
    for (lower, upper) in
        [([0, 0], [0, 0]), ([-1, -1], [1, 1]), ([-1, -1], [-1, -1]), ([0, -2], [-2, 1]), ([1, 0], [-1, 0])]
    {
        let map = im2col(image, &lower, &upper, 8, 40);
        map.check_load(&[0, lower[0].max(0), lower[1].max(0), 0, 0, 0, 0, 0], |_| {});
        map.check_load(&[8, lower[0] + 3, lower[1] + 2, 1, 0, 1, 2, 0], |_| {});
        map.check_load(&[-8, lower[0] + 1, lower[1], 2, 0, 3, 0, 0], |_| {});
    }
    Map { steps: vec![1, 2, 2, 1], ..im2col(image, &[-1, -1], &[0, 0], 8, 24) }
        .check_load(&[0, -1, -1, 0, 0, 1, 1, 0], |_| {});
    Map { steps: vec![1, 3, 1, 1], ..im2col(image, &[-1, -1], &[1, 0], 8, 24) }
        .check_load(&[0, 1, -1, 0, 0, 2, 1, 0], |_| {});
    // Also of images every second.
    Map { steps: vec![1, 1, 5, 2], ..im2col(&[16, 5, 4, 6], &[0, 0], &[0, 0], 8, 20) }
        .check_load(&[0, 1, 1, 1], |_| {});
    im2col(&[16, 9, 7], &[-1], &[0], 16, 24).check_load(&[0, -1, 0, 0, 0, 1, 0, 0], |_| {});
    im2col(&[16, 5, 4, 3, 2], &[-1, 0, -1], &[0, 1, 0], 8, 60)
        .check_load(&[0, -1, 0, -1, 0, 1, 0, 1], |_| {});
    Map { swizzle: 3, ..im2col(&[64, 9, 7, 3], &[-1, -1], &[-1, -1], 64, 40) }
        .check_load(&[0, -1, -1, 0, 0, 1, 2, 0], |_| {});
    im2col(image, &[0, 0], &[0, 0], 8, 40).check_store("store", "", &[8, 2, 3, 1]);
    im2col(image, &[1, 0], &[-1, 0], 8, 40).check_store("store", "", &[0, 1, 0, 1]);
    im2col(&[16, 9, 7], &[0], &[0], 16, 24).check_store("store", "", &[0, 3, 1]);
}

#[test]
fn a_tensor_is_multicast() {
    let map = Map { swizzle: 3, ..tiled(6, &[200, 100], &[64, 24]) };
    let body = format!(
        "mov.u32 %r0, %cluster_ctarank; setp.eq.and.u32 %q3, %r0, 0, %first; mov.b16 %h0, 3; @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 3072;\n\
         @%q3 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%s+1024], [%map, {{%c0, %c1}}], [%bar], %h0; {WAIT}"
    );
    let device = Device::new(&kernel(&body, 2));
    let (bytes, input) = (random(8, TENSOR), random(9, 2 * SHARED));
    let tensor = device.upload(&bytes);
    let left = run_on(&device, 2, &input, map.encode(tensor), [8, 5, 0, 0, 0, 0, 0, 0]).unwrap();
    let mut wanted = input.clone();
    for (place, from) in map.elements(&[8, 5], &[0; 3]) {
        for block in [0, SHARED] {
            wanted[block + 1024 + place..][..2].copy_from_slice(&bytes[from.unwrap()..][..2]);
        }
    }
    assert!(left.shared == wanted);
}

/// A box may be smaller than what its place is aligned to, and shared memory end behind it.
#[test]
fn a_small_box_lies_at_the_end_of_shared_memory() {
    let text = ".version 8.6\n.target sm_90a\n.address_size 64\n\
        .visible .entry k(.param .u64 out, .param .align 64 .b8 map[128]) {\n\
        .reg .b32 %t, %bar; .reg .b64 %out, %map, %x; .reg .pred %q; .shared .align 8 .b64 bar; .shared .align 128 .b8 t[64];\n\
        mov.u32 %t, t; mov.u32 %bar, bar; ld.param.u64 %out, [out]; mov.b64 %map, map; cvta.param.u64 %map, %map;\n\
        mbarrier.init.shared::cta.b64 [%bar], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 64;\n\
        cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%t], [%map, {16}], [%bar];\n\
        W: mbarrier.try_wait.parity.shared::cta.b64 %q, [%bar], 0; @!%q bra W;\n\
        ld.shared.u64 %x, [%t+56]; st.global.u64 [%out], %x; ret; }\n";
    let device = Device::new(text);
    let (input, out) = (random(8, 4096), device.zeroed::<u8>(8));
    let map = tiled(0, &[4096], &[64]).encode(device.upload(&input));
    let args = Args::new().add(out).bytes(&map);
    let end = device.try_launch("k", launch(&device, "k", [1, 1, 1], [1, 1, 1], &args));
    end.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(device.download::<u8>(out, 8), input[16 + 56..][..8]);
}
