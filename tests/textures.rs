//! Textures and surfaces as kernels see them, on whichever driver is chosen. Expected values are computed here.

#![allow(unsafe_code)] // launches
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::skipped;
use cuda_launch::error::TextureError;
use cuda_launch::memory::{CopySource, PitchedBuffer, RowLayout};
use cuda_launch::tensor::TensorMap;
use cuda_launch::texture::{
    AddressMode, ArrayFlags, ArrayShape, CudaArray, FilterMode, MipmappedArray, SurfaceObject,
    TextureDescriptor, TextureFlags, TextureObject,
};
use cuda_launch::{CudaContext, CudaModule, CudaStream, DeviceBuffer, ErrorKind, LaunchConfig, cuda_launch};

fn point() -> TextureDescriptor {
    TextureDescriptor::new()
}

fn linear() -> TextureDescriptor {
    point().filter(FilterMode::Linear)
}

fn open() -> (CudaStream, CudaModule) {
    let ctx = CudaContext::new(0).unwrap();
    let module = ctx.load_module(include_str!("kernels/textures.ptx")).unwrap();
    (ctx.new_stream().unwrap(), module)
}

fn threads(x: u32, y: u32, z: u32) -> LaunchConfig {
    LaunchConfig::new((1, 1, 1), (x, y, z))
}

fn array(stream: &CudaStream, shape: ArrayShape, values: &[f32]) -> CudaArray<f32> {
    let array = CudaArray::new(stream.context(), shape, ArrayFlags::empty()).unwrap();
    array.copy_from_host(stream, values).unwrap();
    array
}

/// What `sample_1d` reads at `x0`, `x0 + step`, ..
fn along(descriptor: TextureDescriptor, values: &[f32], x0: f32, step: f32, n: u32) -> Vec<f32> {
    let (stream, module) = open();
    let array = array(&stream, ArrayShape::D1 { width: values.len() }, values);
    let texture = TextureObject::from_array(&array, &descriptor).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, n as usize).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture, an array of `n` floats and two numbers, and writes one element per thread; 3, 4:
    // the objects and `out` live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it
    // has no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_1d, stream: stream, module: module, config: threads(n, 1, 1),
            args: [texture.handle(), out.as_mut_device_ptr(), x0, step]
        }
    }
    .unwrap();
    out.to_host_vec(&stream).unwrap()
}

#[test]
fn point_filtering_takes_the_element_around() {
    let read = along(point(), &[10.0, 20.0, 30.0, 40.0], -1.25, 0.5, 14);
    let expected: Vec<f32> =
        (0..14).map(|i| 10.0 * ((-1.25 + 0.5 * i as f32).floor().clamp(0.0, 3.0) + 1.0)).collect();
    assert_eq!(read, expected);
}

#[test]
fn linear_filtering_weighs_by_distance() {
    let values = [1.0, 3.0, 7.0, 5.0];
    let read = along(linear(), &values, -0.75, 0.25, 24);
    let expected: Vec<f32> = (0..24)
        .map(|i| {
            let x = -0.75 + 0.25 * i as f32 - 0.5;
            let at = |i: f32| values[i.clamp(0.0, 3.0) as usize];
            at(x.floor()) * (1.0 - (x - x.floor())) + at(x.floor() + 1.0) * (x - x.floor())
        })
        .collect();
    assert_eq!(read, expected, "quarters are exact in 8 bits of fraction");
}

#[test]
fn address_modes_outside() {
    let values = [1.0, 2.0, 3.0, 4.0];
    let normalized = TextureFlags::NORMALIZED_COORDINATES;
    let with = |mode, flags| point().address([mode; 3]).flags(flags);
    // From two widths before to two after, in the middle of each element.
    let read = |mode| along(with(mode, normalized), &values, -2.0 + 0.125, 0.25, 20);
    let expected =
        |index: fn(i64) -> i64| -> Vec<f32> { (-8..12).map(|i| values[index(i) as usize]).collect() };
    assert_eq!(read(AddressMode::Clamp), expected(|i| i.clamp(0, 3)));
    assert_eq!(read(AddressMode::Wrap), expected(|i| i.rem_euclid(4)));
    assert_eq!(read(AddressMode::Mirror), expected(|i| [0, 1, 2, 3, 3, 2, 1, 0][i.rem_euclid(8) as usize]));
    let border = with(AddressMode::Border, TextureFlags::empty()).border([9.0; 4]);
    assert_eq!(along(border, &values, -1.5, 1.0, 7), [9.0, 9.0, 1.0, 2.0, 3.0, 4.0, 9.0]);
}

#[test]
fn a_texture_of_an_array_in_two_dimensions() {
    let (stream, module) = open();
    let values: Vec<f32> = (0..32).map(|i| (i * i) as f32).collect();
    let texture = {
        let array = array(&stream, ArrayShape::D2 { width: 8, height: 4 }, &values);
        // The texture keeps the array.
        TextureObject::from_array(&array, &linear()).unwrap()
    };
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 28).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture, an array, its width and three factors, and each of the 7 x 4 threads
    // writes one of the 28 floats; 3, 4: `texture`, which keeps the array, and `out` live until `to_host_vec` below has
    // waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_2d, stream: stream, module: module, config: threads(7, 4, 1),
            args: [texture.handle(), out.as_mut_device_ptr(), 7u32, 1.0f32, 0.5f32, 1.0f32]
        }
    }
    .unwrap();
    // Half way between columns, in the middle of rows.
    let expected: Vec<f32> =
        (0..28).map(|i| (i / 7 * 8 + i % 7) as usize).map(|i| (values[i] + values[i + 1]) / 2.0).collect();
    assert_eq!(out.to_host_vec(&stream).unwrap(), expected);
    texture.close().unwrap();
}

#[test]
fn textures_of_pitched_rows_and_of_bytes_as_fractions() {
    let (stream, module) = open();
    let mut rows = PitchedBuffer::<u8>::uninit(&stream, 5, 3).unwrap();
    let values: Vec<u8> = (0..15).map(|i| i * 17).collect();
    rows.copy_from_host(&stream, &values).unwrap();
    let texture = TextureObject::from_pitched(&rows, &point()).unwrap();
    drop(rows);
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 15).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture, an array, its width and three factors, and each of the 5 x 3 threads
    // writes one of the 15 floats; 3, 4: `texture`, which keeps the rows dropped above, and `out` live until
    // `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_2d, stream: stream, module: module, config: threads(5, 3, 1),
            args: [texture.handle(), out.as_mut_device_ptr(), 5u32, 0.5f32, 0.5f32, 1.0f32]
        }
    }
    .unwrap();
    let read = out.to_host_vec(&stream).unwrap();
    assert!(read.iter().zip(&values).all(|(x, &v)| (x - f32::from(v) / 255.0).abs() < 1e-6), "{read:?}");
}

#[test]
fn linear_memory_is_fetched_by_index() {
    let (stream, module) = open();
    let values: Vec<[u32; 4]> = (0..20).map(|i| [i, i * i, 7, u32::MAX - i]).collect();
    let memory = DeviceBuffer::from_host(&stream, &values).unwrap();
    let texture = TextureObject::from_linear(&memory, &point()).unwrap();
    drop(memory);
    let mut out = DeviceBuffer::<[u32; 4]>::zeroed(&stream, 20).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture, an array and its number of elements, 20; threads from there on return,
    // and the others write one each; 3, 4: `texture`, which keeps the memory dropped above, and `out` live until
    // `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: fetch_1d, stream: stream, module: module, config: threads(32, 1, 1),
            args: [texture.handle(), out.as_mut_device_ptr(), 20u32]
        }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), values);
}

#[test]
fn volumes_layers_and_levels() {
    let (stream, module) = open();
    let values: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let volume = array(&stream, ArrayShape::D3 { width: 4, height: 4, depth: 4 }, &values);
    let texture = TextureObject::from_array(&volume, &point()).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 64).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture and an array of 4 x 4 x 4 floats, and writes one element per thread; 3, 4: the
    // objects and `out` live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has
    // no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_3d, stream: stream, module: module, config: threads(4, 4, 4),
            args: [texture.handle(), out.as_mut_device_ptr()]
        }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), values);

    let layers = array(&stream, ArrayShape::Layered2D { width: 4, height: 1, layers: 3 }, &values[..12]);
    let texture = TextureObject::from_array(&layers, &point()).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 12).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture and an array of 4 x 3 floats, and writes one element per thread; 3, 4: the objects
    // and `out` live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_layers, stream: stream, module: module, config: threads(4, 3, 1),
            args: [texture.handle(), out.as_mut_device_ptr()]
        }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), values[..12]);

    let shape = ArrayShape::D2 { width: 4, height: 4 };
    let mipmap = MipmappedArray::<f32>::new(stream.context(), shape, ArrayFlags::empty(), 3).unwrap();
    for (level, len) in [(0, 16), (1, 4), (2, 1)] {
        mipmap.level(level).unwrap().copy_from_host(&stream, &vec![10.0 * level as f32; len]).unwrap();
    }
    let flags = TextureFlags::NORMALIZED_COORDINATES;
    let both = point().flags(flags).mipmap_filter(FilterMode::Linear).mipmap_clamp([0.0, 2.0]);
    let texture = TextureObject::from_mipmap(&mipmap, &both).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 6).unwrap();
    // SAFETY: 1, 2: the kernel takes a texture, an array of 6 floats and a number, and writes one element per thread; 3, 4: the
    // objects and `out` live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has
    // no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_level, stream: stream, module: module, config: threads(6, 1, 1),
            args: [texture.handle(), out.as_mut_device_ptr(), 0.5f32]
        }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [0.0, 5.0, 10.0, 15.0, 20.0, 20.0]);
}

#[test]
fn cubes_gathers_and_gradients() {
    let (stream, module) = open();
    let values: Vec<f32> = (0..48).map(|i| i as f32).collect();
    let cubes = array(&stream, ArrayShape::LayeredCubemap { width: 2, layers: 2 }, &values);
    let normalized = point().flags(TextureFlags::NORMALIZED_COORDINATES);
    let cubes_texture = TextureObject::from_array(&cubes, &normalized).unwrap();
    let shape = ArrayShape::D2 { width: 4, height: 4 };
    let flat = CudaArray::new(stream.context(), shape, ArrayFlags::TEXTURE_GATHER).unwrap();
    flat.copy_from_host(&stream, &values[..16]).unwrap();
    let flat_texture = TextureObject::from_array(&flat, &point()).unwrap();
    let shape = ArrayShape::D2 { width: 16, height: 16 };
    let mipmap = MipmappedArray::<f32>::new(stream.context(), shape, ArrayFlags::empty(), 5).unwrap();
    for level in 0..5 {
        let values = vec![level as f32; (16 >> level) * (16 >> level)];
        mipmap.level(level).unwrap().copy_from_host(&stream, &values).unwrap();
    }
    let levels = normalized.mipmap_filter(FilterMode::Linear).mipmap_clamp([0.0, 4.0]);
    let levels_texture = TextureObject::from_mipmap(&mipmap, &levels).unwrap();

    // To the middle of each element of each face, by the programming guide's table: the face, then its s and t from -1 to 1.
    let mut ways = Vec::new();
    let mut expected = Vec::new();
    for face in 0..6 {
        for y in 0..2 {
            for x in 0..2 {
                let [s, t] = [x, y].map(|at| at as f32 - 0.5);
                let [s, t, r] = match face {
                    0 => [1.0, -t, -s],
                    1 => [-1.0, -t, s],
                    2 => [s, 1.0, t],
                    3 => [s, -1.0, -t],
                    4 => [s, -t, 1.0],
                    _ => [-s, -t, -1.0],
                };
                let thread = ways.len() / 4;
                // As a place in the flat texture: every element around is inside or clamped.
                let (left, top) = ((4.0 * s - 0.5).floor() as i32, (4.0 * t - 0.5).floor() as i32);
                let at = |x: i32, y: i32| (y.clamp(0, 3) * 4 + x.clamp(0, 3)) as f32;
                let level = thread % 5;
                ways.extend([4.0 * s, 4.0 * t, 4.0 * r, (1 << level) as f32 / 16.0]);
                let cube = (thread % 2 * 24 + (face * 2 + y) * 2 + x) as f32;
                let around = [(0, 1), (1, 1), (1, 0), (0, 0)].map(|(x, y)| at(left + x, top + y));
                expected.push((cube, around, level as f32));
            }
        }
    }
    let ways = DeviceBuffer::from_host(&stream, &ways).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 8 * 24).unwrap();
    // SAFETY: 1, 2: the kernel takes three textures, and for each of its 24 threads eight floats to write and four to read; 3, 4: the objects
    // and both buffers live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: sample_ways, stream: stream, module: module, config: threads(24, 1, 1),
            args: [
                cubes_texture.handle(), flat_texture.handle(), levels_texture.handle(), out.as_mut_device_ptr(),
                ways.as_device_ptr()
            ]
        }
    }
    .unwrap();
    let out = out.to_host_vec(&stream).unwrap();
    for (row, (cube, around, level)) in out.chunks(8).zip(expected) {
        assert_eq!((row[0], &row[1..5], row[5]), (cube, &around[..], level));
    }
}

#[test]
fn surfaces_are_read_and_written() {
    let (stream, module) = open();
    let shape = ArrayShape::D2 { width: 8, height: 4 };
    let arrays =
        [(); 2].map(|()| CudaArray::<u32>::new(stream.context(), shape, ArrayFlags::SURFACE).unwrap());
    let values: Vec<u32> = (0..32).map(|i| i * 3).collect();
    arrays[0].copy_from_host(&stream, &values).unwrap();
    arrays[1].copy_from_host(&stream, &[0; 32]).unwrap();
    let surfaces = arrays.each_ref().map(|array| SurfaceObject::new(array).unwrap());
    // SAFETY: 1, 2: the kernel takes two surfaces of 8 x 4 words; each thread reads and writes one of them; 3, 4: surfaces and
    // arrays live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: add_one, stream: stream, module: module, config: threads(8, 4, 1),
            args: [surfaces[0].handle(), surfaces[1].handle()]
        }
    }
    .unwrap();
    let expected: Vec<u32> = values.iter().map(|x| x + 1).collect();
    assert_eq!(arrays[1].to_host_vec(&stream).unwrap(), expected);
}

#[test]
fn a_surface_reads_zero_outside() {
    let (stream, module) = open();
    let shape = ArrayShape::D1 { width: 4 };
    let new = || CudaArray::<[u32; 4]>::new(stream.context(), shape, ArrayFlags::SURFACE).unwrap();
    let (source, target) = (new(), new());
    source.copy_from_host(&stream, &[[1; 4], [2; 4], [3; 4], [4; 4]]).unwrap();
    let (from, to) = (SurfaceObject::new(&source).unwrap(), SurfaceObject::new(&target).unwrap());
    // SAFETY: 1, 2: the kernel takes two surfaces of 16-byte elements in one dimension and stays inside by its `.zero`; 3, 4:
    // surfaces and arrays live until `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it
    // has no loop.
    unsafe {
        cuda_launch! {
            kernel: shift_right, stream: stream, module: module, config: threads(8, 1, 1),
            args: [from.handle(), to.handle()]
        }
    }
    .unwrap();
    assert_eq!(target.to_host_vec(&stream).unwrap(), [[0; 4], [1; 4], [2; 4], [3; 4]]);
}

#[test]
fn what_cannot_be_filtered_or_written_is_an_error_before_the_driver() {
    let ctx = CudaContext::new(0).unwrap();
    let shape = ArrayShape::D2 { width: 4, height: 4 };
    let words = CudaArray::<u32>::new(&ctx, shape, ArrayFlags::empty()).unwrap();
    let error = TextureObject::from_array(&words, &linear()).unwrap_err();
    assert!(error.call().is_none() && error.to_string().contains("linear filtering of u32"), "{error}");
    let error = SurfaceObject::new(&words).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Texture(TextureError::NoSurface)), "{error}");
    TextureObject::from_array(&words, &point()).unwrap();
    let bytes = CudaArray::<[u8; 4]>::new(&ctx, shape, ArrayFlags::empty()).unwrap();
    TextureObject::from_array(&bytes, &linear()).unwrap();
    let integer = linear().flags(TextureFlags::READ_AS_INTEGER);
    assert!(TextureObject::from_array(&bytes, &integer).is_err());
}

#[test]
fn a_texture_orders_the_stream_that_reads_it() {
    let (first, module) = open();
    let second = first.context().new_stream().unwrap();
    let (width, height) = (1 << 10, 1 << 8);
    let shape = ArrayShape::D2 { width, height };
    let array = CudaArray::<f32>::new(first.context(), shape, ArrayFlags::empty()).unwrap();
    let texture = TextureObject::from_array(&array, &point()).unwrap();
    let layout = RowLayout::packed::<f32>(width, height);
    let mut source = DeviceBuffer::<f32>::zeroed(&first, width * height).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&second, 16).unwrap();
    for round in 0..20u16 {
        source.fill(&first, f32::from(round)).unwrap();
        let from = CopySource::device(&source, layout);
        first.copy_region(&from, &mut array.as_target(), array.extent()).unwrap();
        texture.read_on(&second).unwrap();
        // The last rows, which are copied last.
        // SAFETY: 1, 2: the kernel takes a texture, an array of 4 x 4 floats and numbers, and writes one element per
        // thread; 3, 4: the objects and `out` live until `to_host_vec` below has waited; the copy into the array comes
        // before, by `read_on`, and nothing else uses them; 5: all bits are values; 6: it has no loop.
        unsafe {
            cuda_launch! {
                kernel: sample_2d, stream: second, module: module, config: threads(4, 4, 1),
                args: [texture.handle(), out.as_mut_device_ptr(), 4u32, 1000.5f32, 250.5f32, 1.0f32]
            }
        }
        .unwrap();
        assert_eq!(out.to_host_vec(&second).unwrap(), [f32::from(round); 16]);
    }
}

#[test]
fn a_tensor_map_is_an_argument_of_its_size() {
    let (stream, module) = open();
    let memory = DeviceBuffer::<f32>::zeroed(&stream, 64 * 64).unwrap();
    let map = match TensorMap::tiled([64, 64], [32, 8]).encode(stream.context(), &memory) {
        Err(error) if error.is_unsupported() => return skipped(error),
        map => map.unwrap(),
    };
    let mut out = DeviceBuffer::<u64>::zeroed(&stream, 16).unwrap();
    // SAFETY: 1, 2: the kernel takes a tensor map by value and writes its 16 words; 3, 4: the objects and `out` live until
    // `to_host_vec` below has waited, and nothing else uses them; 5: all bits are values; 6: it has no loop.
    unsafe {
        cuda_launch! {
            kernel: map_words, stream: stream, module: module, config: threads(16, 1, 1),
            args: [map, out.as_mut_device_ptr()]
        }
    }
    .unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), map.raw().opaque);
}
