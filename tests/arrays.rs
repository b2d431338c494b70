//! Arrays and mipmapped arrays, and copies to, from and between them, on whichever driver is chosen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::error::{ErrorKind, TextureError};
use cuda_launch::memory::{CopySource, CopyTarget, Extent, PitchedBuffer, RowLayout};
use cuda_launch::texture::{ArrayElement, ArrayFlags, ArrayFormat, ArrayShape, CudaArray, MipmappedArray};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn array<T: ArrayElement>(stream: &CudaStream, shape: ArrayShape) -> CudaArray<T> {
    CudaArray::new(stream.context(), shape, ArrayFlags::empty()).unwrap()
}

#[test]
fn arrays_of_every_shape_keep_their_elements() {
    let stream = stream();
    for shape in [
        ArrayShape::D1 { width: 100 },
        ArrayShape::D2 { width: 33, height: 7 },
        ArrayShape::D3 { width: 5, height: 6, depth: 7 },
        ArrayShape::Layered1D { width: 9, layers: 4 },
        ArrayShape::Layered2D { width: 8, height: 3, layers: 5 },
        ArrayShape::Cubemap { width: 8 },
        ArrayShape::LayeredCubemap { width: 4, layers: 2 },
    ] {
        let array = array::<u32>(&stream, shape);
        assert_eq!(array.extent(), shape.extent());
        let host: Vec<u32> = (0..array.len() as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        array.copy_from_host(&stream, &host).unwrap();
        assert_eq!(array.to_host_vec(&stream).unwrap(), host, "{shape:?}");
        array.close().unwrap();
    }
}

#[test]
fn arrays_of_every_format_say_what_they_are() {
    fn one<T: ArrayElement + PartialEq + std::fmt::Debug>(value: T, format: ArrayFormat, channels: u32) {
        let stream = stream();
        let shape = ArrayShape::D2 { width: 4, height: 2 };
        let array = CudaArray::<T>::new(stream.context(), shape, ArrayFlags::SURFACE).unwrap();
        array.copy_from_host(&stream, &[value; 8]).unwrap();
        assert_eq!(array.to_host_vec(&stream).unwrap(), [value; 8]);
        let said = array.descriptor().unwrap();
        assert_eq!((said.width, said.height, said.depth), (4, 2, 0));
        assert_eq!((said.format, said.channels, said.flags), (format, channels, ArrayFlags::SURFACE));
    }
    one(7u8, ArrayFormat::U8, 1);
    one([7u8; 2], ArrayFormat::U8, 2);
    one([1u8, 2, 3, 4], ArrayFormat::U8, 4);
    one(7u16, ArrayFormat::U16, 1);
    one([7u32, 8], ArrayFormat::U32, 2);
    one(-7i8, ArrayFormat::I8, 1);
    one([-7i16; 4], ArrayFormat::I16, 4);
    one(-7i32, ArrayFormat::I32, 1);
    one(0.5f32, ArrayFormat::F32, 1);
    one([0.5f32, 1.5, 2.5, 3.5], ArrayFormat::F32, 4);
    one(half::f16::from_f32(0.5), ArrayFormat::F16, 1);
}

#[test]
fn regions_between_arrays_and_all_other_memory() {
    let stream = stream();
    let host: Vec<f32> = (0..48).map(|i| i as f32).collect();
    let packed = RowLayout::packed::<f32>(8, 6);
    let device = DeviceBuffer::from_host(&stream, &host).unwrap();
    let (first, second) = (
        array(&stream, ArrayShape::D2 { width: 8, height: 6 }),
        array(&stream, ArrayShape::D2 { width: 4, height: 3 }),
    );
    // Device to array, array to array, array to pitched rows.
    stream.copy_region(&CopySource::device(&device, packed), &mut first.as_target(), first.extent()).unwrap();
    stream.copy_region(&first.as_source().at(2, 1, 0), &mut second.as_target(), second.extent()).unwrap();
    let mut rows = PitchedBuffer::<f32>::uninit(&stream, 4, 3).unwrap();
    stream.copy_region(&second.as_source(), &mut rows.as_target(), second.extent()).unwrap();
    let expected: Vec<f32> = (1..4).flat_map(|y| (2..6).map(move |x| (y * 8 + x) as f32)).collect();
    assert_eq!(rows.to_host_vec(&stream).unwrap(), expected);
    // One element of it to the host.
    let mut one = [0.0];
    let mut target = CopyTarget::host(&mut one, RowLayout::packed::<f32>(1, 1));
    stream.copy_region(&second.as_source().at(3, 2, 0), &mut target, Extent::rows(1, 1)).unwrap();
    assert_eq!(one, [29.0]);
    let past =
        stream.copy_region(&second.as_source().at(1, 0, 0), &mut first.as_target(), Extent::rows(4, 1));
    assert!(past.unwrap_err().is_out_of_bounds());
}

#[test]
fn layers_are_planes_of_a_copy() {
    let stream = stream();
    let layers = array::<u16>(&stream, ArrayShape::Layered2D { width: 3, height: 2, layers: 4 });
    layers.copy_from_host(&stream, &[0; 24]).unwrap();
    let part = [1u16, 2, 3, 4, 5, 6];
    let source = CopySource::host(&part, RowLayout::packed::<u16>(3, 2));
    stream.copy_region(&source, &mut layers.as_target().at(0, 0, 2), Extent::rows(3, 2)).unwrap();
    let host = layers.to_host_vec(&stream).unwrap();
    assert_eq!(host[12..18], part);
    assert!(host[..12].iter().chain(&host[18..]).all(|&x| x == 0));
}

#[test]
fn mipmap_levels_halve_and_outlive_their_handle() {
    let stream = stream();
    let shape = ArrayShape::D2 { width: 16, height: 4 };
    let mipmap = MipmappedArray::<u8>::new(stream.context(), shape, ArrayFlags::empty(), 99).unwrap();
    assert_eq!(mipmap.levels(), 5);
    let sizes = [(16, 4), (8, 2), (4, 1), (2, 1), (1, 1)];
    let levels: Vec<_> = (0..5).map(|i| mipmap.level(i).unwrap()).collect();
    for (level, (width, height)) in levels.iter().zip(sizes) {
        assert_eq!(level.extent(), Extent::rows(width, height));
        level.copy_from_host(&stream, &vec![width as u8; width * height]).unwrap();
    }
    assert!(mipmap.level(5).is_err());
    drop(mipmap);
    for (level, (width, height)) in levels.iter().zip(sizes) {
        assert_eq!(level.to_host_vec(&stream).unwrap(), vec![width as u8; width * height]);
    }
}

#[test]
fn a_shape_that_no_device_has_is_an_error() {
    let ctx = CudaContext::new(0).unwrap();
    for shape in [
        ArrayShape::D1 { width: 0 },
        ArrayShape::D2 { width: 1 << 20, height: 1 },
        ArrayShape::Layered2D { width: 4, height: 4, layers: 0 },
    ] {
        let error = CudaArray::<f32>::new(&ctx, shape, ArrayFlags::empty()).unwrap_err();
        assert_eq!(error.call(), Some("cuArray3DCreate"), "{shape:?}");
    }
}

#[test]
fn arrays_whose_memory_is_mapped_later_are_refused() {
    let stream = stream();
    let shape = ArrayShape::D2 { width: 512, height: 512 };
    for bits in [0x40, 0x80, 0xc2] {
        let flags = ArrayFlags::from_bits_retain(bits);
        let one = CudaArray::<f32>::new(stream.context(), shape, flags).unwrap_err();
        let levels = MipmappedArray::<f32>::new(stream.context(), shape, flags, 2).unwrap_err();
        for error in [one, levels] {
            let ErrorKind::Texture(TextureError::MappedLater { flags }) = error.kind() else {
                panic!("{error}")
            };
            assert_eq!(*flags, bits);
            assert!(error.to_string().contains("from_raw"), "{error}");
        }
    }
    drop(array::<f32>(&stream, shape));
}
