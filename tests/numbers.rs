//! Numbers of a caller that are as large as numbers get: each is an error, or works, and none is a panic, a huge allocation or
//! memory that is not there. With and without overflow checks the answers are the same: an oracle in wider numbers gives them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::device::SmSplitFlags;
use cuda_launch::memory::{
    CopySource, CopyTarget, Extent, GrowableBuffer, ManagedAttach, MemoryAccess, MemoryPool, PinnedFlags,
    PitchedBuffer, PoolOptions, RegionBatch, RowLayout,
};
use cuda_launch::tensor::TensorMap;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, TextureDescriptor, TextureFlags, TextureObject,
};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, ManagedBuffer, PinnedBuffer};

const LARGE: usize = 1 << 63;
const NUMBERS: [usize; 7] = [0, 1, 2, 1 << 32, LARGE, usize::MAX - 1, usize::MAX];
/// Without what a device might have.
const TOO_MANY: [usize; 5] = [1 << 50, LARGE / 8, LARGE, usize::MAX - 1, usize::MAX];

/// `cargo xtask gate unchecked` says that there are none.
#[test]
fn there_are_no_overflow_checks_where_that_is_said() {
    let wraps = std::panic::catch_unwind(|| std::hint::black_box(u8::MAX) + std::hint::black_box(1)).is_ok();
    assert!(wraps || std::env::var_os("CUDA_LAUNCH_TEST_UNCHECKED").is_none());
}

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

/// All pairs of numbers.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    NUMBERS.into_iter().flat_map(|a| NUMBERS.into_iter().map(move |b| (a, b)))
}

/// All triples of numbers.
fn triples() -> impl Iterator<Item = (usize, usize, usize)> {
    pairs().flat_map(|(a, b)| NUMBERS.into_iter().map(move |c| (a, b, c)))
}

/// `None` for more than 128 bits.
fn product(factors: &[usize]) -> Option<u128> {
    factors.iter().try_fold(1, |product: u128, factor| product.checked_mul(*factor as u128))
}

#[test]
fn extents_count_their_elements() {
    for (width, height, depth) in triples() {
        let all =
            if [width, height, depth].contains(&0) { Some(0) } else { product(&[width, height, depth]) };
        let counted = Extent::planes(width, height, depth).elements();
        assert_eq!(counted, all.and_then(|all| usize::try_from(all).ok()), "{width} x {height} x {depth}");
    }
}

/// A region of linear memory.
#[derive(Clone, Copy, Debug)]
struct Region {
    at: (usize, usize, usize),
    extent: (usize, usize, usize),
    pitch: usize,
    rows: usize,
}

impl Region {
    /// Whether it lies inside `len` bytes, as elements of `size`.
    fn is_inside(&self, size: usize, len: usize) -> bool {
        let ((x, y, z), (width, height, depth)) = (self.at, self.extent);
        if width == 0 || height == 0 || depth == 0 {
            return true;
        }
        let sum = |a: usize, b: usize| a as u128 + b as u128;
        let planes = (sum(z, depth) - 1).checked_mul(self.rows as u128);
        let rows = planes.and_then(|rows| rows.checked_add(sum(y, height) - 1));
        let end = rows.and_then(|rows| rows.checked_mul(self.pitch as u128));
        let end = end.and_then(|end| end.checked_add(sum(x, width) * size as u128));
        sum(x, width) * size as u128 <= self.pitch as u128
            && sum(y, height) <= self.rows as u128
            && end.is_some_and(|end| end <= len as u128)
    }
}

#[test]
fn regions_lie_inside_their_memory() {
    let stream = stream();
    let (source, mut target) = ([7u16; 8], [0u16; 8]);
    let numbers = [0, 1, 2, LARGE, usize::MAX];
    let some = |n: usize| numbers[n % 5];
    // 5^8 of them, each a number in base 5.
    for number in 0..5usize.pow(8) {
        let digit = |place: u32| some(number / 5usize.pow(place));
        let region = Region {
            at: (digit(0), digit(1), digit(2)),
            extent: (digit(3), digit(4), digit(5)),
            pitch: digit(6).saturating_mul(2),
            rows: digit(7),
        };
        let ((x, y, z), (width, height, depth)) = (region.at, region.extent);
        let layout = RowLayout { pitch: region.pitch, rows: region.rows };
        let extent = Extent::planes(width, height, depth);
        let from = CopySource::host(&source, layout).at(x, y, z);
        let mut to = CopyTarget::host(&mut target, layout).at(x, y, z);
        let inside = region.is_inside(2, 16);
        if inside && extent.elements() == Some(0) {
            stream.copy_region(&from, &mut to, extent).unwrap();
        } else if inside {
            stream.copy_region(&from, &mut to, extent).unwrap();
            let first = ((z * region.rows + y) * region.pitch) / 2 + x;
            assert_eq!(target[first], 7, "{region:?}");
            target[first] = 0;
        } else {
            let error = stream.copy_region(&from, &mut to, extent).unwrap_err();
            assert!(error.is_out_of_bounds(), "{region:?}: {error}");
            let error = RegionBatch::new().push(from, to, extent).map(drop).unwrap_err();
            assert!(error.is_out_of_bounds(), "{region:?}: {error}");
        }
    }
}

#[test]
fn regions_of_pitched_memory_and_arrays() {
    let stream = stream();
    let mut rows = PitchedBuffer::<u32>::uninit(&stream, 4, 2).unwrap();
    let shape = ArrayShape::D3 { width: 4, height: 2, depth: 2 };
    let array = CudaArray::<u32>::new(stream.context(), shape, ArrayFlags::empty()).unwrap();
    let nothing = PitchedBuffer::<[u32; 0]>::uninit(&stream, 4, 2).unwrap();
    let numbers = [0, 1, 2, LARGE, usize::MAX];
    for number in 0..5usize.pow(6) {
        let digit = |place: u32| numbers[number / 5usize.pow(place) % 5];
        let (x, y, z) = (digit(0), digit(1), digit(2));
        let (width, height, depth) = (digit(3), digit(4), digit(5));
        let extent = Extent::planes(width, height, depth);
        let fits = |start: usize, count: usize, limit| start as u128 + count as u128 <= limit;
        let empty = extent.elements() == Some(0);
        let inside = |planes| empty || fits(x, width, 4) && fits(y, height, 2) && fits(z, depth, planes);
        let mut to = rows.as_target();
        let done = stream.copy_region(&array.as_source().at(x, y, z), &mut to, extent);
        assert!(done.is_err() || inside(2), "{extent:?} from {x}, {y}, {z}");
        let done = stream.copy_region(&rows.as_source().at(x, y, z), &mut array.as_target(), extent);
        assert!(done.is_err() || inside(1), "{extent:?} from {x}, {y}, {z}");
        let mut none = PitchedBuffer::<[u32; 0]>::uninit(&stream, 4, 2).unwrap();
        let done = stream.copy_region(&nothing.as_source().at(x, y, z), &mut none.as_target(), extent);
        assert!(done.is_err() || inside(1), "{extent:?} from {x}, {y}, {z}");
    }
}

#[test]
fn rows_are_counted() {
    let stream = stream();
    for (width, height) in pairs().filter(|(width, height)| product(&[*width, *height]) != Some(1 << 32)) {
        let exact = width.checked_mul(height);
        match PitchedBuffer::<[u8; 0]>::uninit(&stream, width, height) {
            Ok(rows) => {
                assert_eq!(
                    (Some(rows.len()), rows.is_empty()),
                    (exact, exact == Some(0)),
                    "{width} x {height}"
                );
                assert_eq!(rows.extent().elements(), exact);
                assert!(rows.row(height).is_none());
            }
            Err(error) => assert!(exact.is_none() && error.is_out_of_memory(), "{width} x {height}: {error}"),
        }
        if width.max(height) <= 2 {
            assert_eq!(PitchedBuffer::<u64>::uninit(&stream, width, height).unwrap().len(), width * height);
        } else if width.min(height) > 0 && width.max(height) >= LARGE {
            let error = PitchedBuffer::<u64>::uninit(&stream, width, height).unwrap_err();
            assert!(error.is_out_of_memory(), "{width} x {height}: {error}");
        }
    }
}

#[test]
fn memory_that_no_device_has() {
    let stream = stream();
    let context = stream.context();
    let pool = MemoryPool::new(context, PoolOptions::default()).unwrap();
    for len in TOO_MANY {
        let refused = [
            DeviceBuffer::<u64>::uninit(&stream, len).map(drop),
            DeviceBuffer::<u64>::uninit_in(&pool, &stream, len).map(drop),
            DeviceBuffer::<u64>::uninit_plain(context, len).map(drop),
            DeviceBuffer::<u64>::zeroed(&stream, len).map(drop),
            PinnedBuffer::<u64>::zeroed(context, len, PinnedFlags::empty()).map(drop),
            ManagedBuffer::<u64>::uninit(context, len, ManagedAttach::Global).map(drop),
            GrowableBuffer::<u64>::new(context, len).and_then(|mut buffer| buffer.grow_to(len)),
            PhysicalAllocation::new(context, len, PhysicalOptions::default()).map(drop),
        ];
        for (number, done) in refused.into_iter().enumerate() {
            assert!(done.is_err(), "number {number} gave {len}");
        }
        // Of nothing there is any number.
        assert_eq!(DeviceBuffer::<[u64; 0]>::zeroed(&stream, len).unwrap().len(), len);
        assert_eq!(DeviceBuffer::<[u64; 0]>::uninit_in(&pool, &stream, len).unwrap().byte_len(), 0);
        let pinned = PinnedBuffer::<[u64; 0]>::zeroed(context, len, PinnedFlags::empty()).unwrap();
        assert_eq!(pinned.as_slice().unwrap().len(), len);
        let managed = ManagedBuffer::<[u64; 0]>::uninit(context, len, ManagedAttach::Global).unwrap();
        assert_eq!(managed.as_slice().unwrap().len(), len);
        let mut growable = GrowableBuffer::<[u64; 0]>::new(context, len).unwrap();
        growable.grow_to(len).unwrap();
        assert_eq!(growable.len(), len);
        pool.trim_to(len).unwrap();
        // How many addresses there are, and how they may be aligned, is the driver's to say.
        drop((VirtualReservation::new(context, len, 0), VirtualReservation::new(context, 1 << 21, len)));
    }
}

#[test]
fn parts_of_buffers() {
    let stream = stream();
    let mut buffer = DeviceBuffer::from_host(&stream, &[1u32, 2, 3]).unwrap();
    let managed = ManagedBuffer::<u32>::uninit(stream.context(), 3, ManagedAttach::Global).unwrap();
    let mut pinned = PinnedBuffer::<u32>::zeroed(stream.context(), 3, PinnedFlags::empty()).unwrap();
    for (start, end) in pairs() {
        let inside = start <= end && end <= 3;
        assert_eq!(buffer.try_slice(start..end).map(|view| view.len()), inside.then(|| end - start));
        assert_eq!(buffer.try_slice_mut(start..end).is_some(), inside);
        assert_eq!(pinned.try_slice(start..end).is_some(), inside);
        assert_eq!(pinned.try_slice_mut(start..end).is_some(), inside);
        assert_eq!(managed.range_state(start..end).is_ok(), inside);
        let inclusive = start <= end.saturating_add(1) && end < 3;
        assert_eq!(buffer.try_slice(start..=end).is_some(), inclusive, "{start}..={end}");
        assert_eq!(managed.range_state(start..=end).is_ok(), inclusive, "{start}..={end}");
        assert_eq!(buffer.try_split_at(start).is_some(), start <= 3);
        let chunks = buffer.view().try_chunks(start).map(|chunks| chunks.map(|chunk| chunk.len()).sum());
        assert_eq!(chunks, (start != 0).then_some(3usize));
        let exact = buffer.view().try_chunks_exact(start).map(|chunks| chunks.count());
        assert_eq!(exact, (start != 0).then(|| 3 / start));
        let there = start != 0 && end.checked_mul(start).is_some_and(|at| at < 3);
        assert_eq!(buffer.view().try_chunks(start).and_then(|mut all| all.nth(end)).is_some(), there);
    }
    let many = DeviceBuffer::<[u32; 0]>::zeroed(&stream, usize::MAX).unwrap();
    assert_eq!(many.chunks(2).next_back().map(|chunk| chunk.len()), Some(1));
}

#[test]
fn arrays_that_no_device_has() {
    let stream = stream();
    let context = stream.context();
    for (a, b, c) in triples() {
        let shapes = [
            ArrayShape::D1 { width: a },
            ArrayShape::D2 { width: a, height: b },
            ArrayShape::D3 { width: a, height: b, depth: c },
            ArrayShape::Layered1D { width: a, layers: b },
            ArrayShape::Layered2D { width: a, height: b, layers: c },
            ArrayShape::Cubemap { width: a },
            ArrayShape::LayeredCubemap { width: a, layers: b },
        ];
        for shape in shapes {
            let Extent { width, height, depth } = shape.extent();
            let small = [width, height, depth].iter().all(|n| (1..=12).contains(n));
            match CudaArray::<[u32; 4]>::new(context, shape, ArrayFlags::empty()) {
                Ok(array) => {
                    assert!(small && Some(array.len()) == shape.extent().elements(), "{shape:?}");
                    assert_eq!(array.to_host_vec(&stream).unwrap().len(), array.len());
                }
                Err(error) => assert!(!small || error.code().is_some(), "{shape:?}: {error}"),
            }
            for levels in [0, 1, 2, u32::MAX] {
                if let Ok(mipmap) = MipmappedArray::<u8>::new(context, shape, ArrayFlags::empty(), levels) {
                    assert!(small && mipmap.level(mipmap.levels() - 1).is_ok(), "{shape:?}");
                    assert!(mipmap.level(u32::MAX).is_err() && mipmap.level(mipmap.levels()).is_err());
                }
            }
        }
    }
}

#[test]
fn multiprocessors_in_many_parts() {
    let context = CudaContext::new(0).unwrap();
    let all = context.device().multiprocessors().unwrap();
    for groups in [0, 1, 2, 1 << 31, u32::MAX - 1, u32::MAX] {
        for least in [0, 1, 2, all.count(), u32::MAX] {
            if let Ok((parts, rest)) = all.split(groups, least, SmSplitFlags::empty()) {
                assert!(parts.len() <= groups as usize, "{} of {groups}", parts.len());
                let used: u32 = parts.iter().map(|part| part.count()).sum();
                assert_eq!(used + rest.count(), all.count());
            }
        }
    }
    let most = all.split(u32::MAX, 1, SmSplitFlags::empty()).unwrap().0.len();
    assert_eq!(most, all.split(all.count(), 1, SmSplitFlags::empty()).unwrap().0.len());
}

#[test]
fn mappings_of_any_place() {
    let stream = stream();
    let context = stream.context();
    let part = PhysicalOptions::default().granularity(context, false).unwrap();
    let memory = PhysicalAllocation::new(context, part, PhysicalOptions::default()).unwrap();
    let addresses = VirtualReservation::new(context, 2 * part, 0).unwrap();
    for offset in
        [0, 1, part - 1, part, part + 1, 2 * part, 1 << 32, LARGE, usize::MAX - part + 1, usize::MAX]
    {
        let inside = offset == 0 || offset == part;
        assert_eq!(Mapping::new(&addresses, offset, &memory).is_ok(), inside, "{offset}");
    }
    for len in NUMBERS {
        let mapping = Mapping::new(&addresses, 0, &memory).unwrap();
        mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
        assert_eq!(DeviceBuffer::<u32>::from_mapping(mapping, len).is_ok(), len <= part / 4, "{len}");
    }
}

#[test]
fn tensor_maps_of_any_shape() {
    let stream = stream();
    let context = stream.context();
    let memory = DeviceBuffer::<f32>::zeroed(&stream, 1024).unwrap();
    let numbers = [0, 1, 4, 1 << 32, 1 << 40, 1 << 63, u64::MAX];
    let small = [0, 1, 4, 256, u32::MAX];
    for (number, (a, b)) in numbers.iter().flat_map(|a| numbers.iter().map(move |b| (*a, *b))).enumerate() {
        for tile in small {
            for stride in numbers {
                let map = TensorMap::tiled([a, b], [4, tile]).strides(&[stride]).element_strides(&[1, tile]);
                let inside = a <= 1024 && (b.max(1) - 1) as u128 * u128::from(stride) <= 4096;
                assert!(map.encode(context, &memory).is_err() || inside, "{a} x {b}, stride {stride}");
            }
            let _ = TensorMap::tiled([a, b, a, b, a], [tile; 5]).encode(context, &memory);
            let corner = [i32::MIN, -1, 0, i32::MAX][number % 4];
            let map = TensorMap::im2col([a, b, b, a], &[corner; 2], &[corner; 2], tile, tile);
            let _ = map.strides(&[a, b, a]).encode(context, &memory);
        }
        let none = TensorMap::tiled([], []).strides(&[a, b]).encode(context, &memory);
        assert!(none.is_err());
    }
}

#[test]
fn textures_of_any_description() {
    let stream = stream();
    let context = stream.context();
    let shape = ArrayShape::D2 { width: 4, height: 4 };
    let array = CudaArray::<f32>::new(context, shape, ArrayFlags::empty()).unwrap();
    let mipmap = MipmappedArray::<f32>::new(context, shape, ArrayFlags::empty(), u32::MAX).unwrap();
    let rows = PitchedBuffer::<f32>::uninit(&stream, 4, 4).unwrap();
    let linear = DeviceBuffer::<f32>::zeroed(&stream, 16).unwrap();
    let floats = [0.0, -1.0, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for max_anisotropy in [0, 1, 16, u32::MAX] {
        for (mipmap_bias, clamp) in floats.iter().flat_map(|bias| floats.map(|clamp| (*bias, clamp))) {
            let descriptor = TextureDescriptor::new()
                .flags(TextureFlags::from_bits_retain(max_anisotropy))
                .border([clamp; 4])
                .max_anisotropy(max_anisotropy)
                .mipmap_bias(mipmap_bias)
                .mipmap_clamp([mipmap_bias, clamp]);
            // Which of them it takes is the driver's to say.
            drop(TextureObject::from_array(&array, &descriptor));
            drop(TextureObject::from_mipmap(&mipmap, &descriptor));
            drop(TextureObject::from_pitched(&rows, &descriptor));
            drop(TextureObject::from_linear(&linear, &descriptor));
        }
    }
    for len in NUMBERS {
        let view = linear.try_slice(..len).map(|view| TextureObject::from_linear(&view, &Default::default()));
        assert_eq!(view.is_some(), len <= 16);
    }
}
