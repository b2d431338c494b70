//! Tensor maps: the rules are checked with their values before the driver is asked.

#![allow(unsafe_code)] // Launches of `map_words`, which writes the 16 words of its map; a map that is moved.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_harness::skipped;
use cuda_launch::tensor::{
    Interleave, L2Promotion, OutOfBoundsFill, Swizzle, TensorDataType, TensorMap, TiledMap,
};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, DeviceCopy, Error, ErrorKind, LaunchConfig, cuda_module,
};

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::sys::CUtensorMap;
    use cuda_launch::tensor::TensorMap;

    unsafe extern "C" {
        pub fn map_words(map: TensorMap, out: &mut [u64]);
        #[entry("map_words")]
        pub fn raw_map_words(map: CUtensorMap, out: &mut [u64]);
    }
}

fn open<T: DeviceCopy>(len: usize) -> (CudaStream, DeviceBuffer<T>) {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let memory = DeviceBuffer::zeroed(&stream, len).unwrap();
    (stream, memory)
}

/// The map, unless the device is older than tensor maps.
fn supported(map: Result<TensorMap, Error>) -> Option<TensorMap> {
    match map {
        Err(error) if error.is_unsupported() => {
            skipped(error);
            None
        }
        map => Some(map.unwrap()),
    }
}

#[test]
fn tiled_maps_are_encoded_and_moved() {
    let (stream, memory) = open::<f32>(64 * 128);
    let ctx = stream.context();
    let tiled = TensorMap::tiled([128, 64], [32, 8]).swizzle(Swizzle::Bytes128);
    let Some(map) = supported(tiled.encode(ctx, &memory)) else { return };
    assert!(align_of_val(&map) >= 64 && size_of_val(&map) == 128);
    let again = tiled.encode(ctx, &memory).unwrap();
    assert_eq!(map.raw().opaque, again.raw().opaque, "the same question, the same answer");
    let other = DeviceBuffer::<f32>::zeroed(&stream, 64 * 128).unwrap();
    // SAFETY: 1: the driver has just encoded it.
    let moved = unsafe { map.with_memory(ctx, &other) }.unwrap();
    assert_eq!(moved.raw().opaque, tiled.encode(ctx, &other).unwrap().raw().opaque);
    assert_ne!(moved.raw().opaque, map.raw().opaque);
    // Every option, and elements that the type does not tell.
    let (_, halves) = open::<u16>(1 << 16);
    let map = TensorMap::tiled([64, 16, 8, 4], [64, 8, 1, 1])
        .data_type(TensorDataType::BF16)
        .strides(&[128, 2048, 2048 * 8])
        .element_strides(&[1, 2, 1, 1])
        .swizzle(Swizzle::Bytes128)
        .l2_promotion(L2Promotion::Bytes256)
        .out_of_bounds(OutOfBoundsFill::NanZeroFma);
    supported(map.encode(ctx, &halves)).unwrap();
    let map =
        TensorMap::im2col([64, 16, 16, 4], &[-1, -1], &[-1, -1], 64, 128).data_type(TensorDataType::F16);
    supported(map.encode(ctx, &halves)).unwrap();
}

#[test]
fn a_map_is_an_argument() {
    fn device_copy<T: DeviceCopy>() {}
    device_copy::<TensorMap>();
}

#[test]
fn every_rule_is_named_before_the_driver() {
    let (stream, memory) = open::<f32>(1 << 16);
    let ctx = stream.context();
    let broken = |map: Result<TensorMap, Error>, text: &str| {
        let error = map.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::TensorMap(_)), "{error}");
        assert!(error.call().is_none() && error.to_string().contains(text), "{error}, not {text}");
    };
    let tiled = |dims: [u64; 2], tile: [u32; 2]| TensorMap::tiled(dims, tile);
    broken(TensorMap::tiled([], []).encode(ctx, &memory), "number of dimensions is 0; it must be: 1 to 5");
    broken(TensorMap::tiled([4; 6], [4; 6]).encode(ctx, &memory), "number of dimensions is 6");
    broken(tiled([0, 4], [4, 4]).encode(ctx, &memory), "dimension 0 is 0");
    broken(tiled([128, 4], [4, 257]).encode(ctx, &memory), "box dimension 1 is 257");
    broken(tiled([128, 4], [3, 4]).encode(ctx, &memory), "box dimension 0 is 3, 12 bytes");
    broken(tiled([128, 4], [64, 4]).swizzle(Swizzle::Bytes128).encode(ctx, &memory), "at most 128 bytes");
    broken(tiled([5, 4], [4, 4]).encode(ctx, &memory), "the stride of dimension 1 is 20");
    broken(tiled([128, 4], [4, 4]).strides(&[512, 4]).encode(ctx, &memory), "the number of strides is 2");
    broken(tiled([128, 4], [4, 4]).element_strides(&[1, 9]).encode(ctx, &memory), "dimension 1 is 9");
    broken(tiled([128, 4], [4, 4]).encode(ctx, &memory.slice(1..)), "a multiple of 16 bytes");
    broken(tiled([128, 4], [4, 4]).interleave(Interleave::Bytes16).encode(ctx, &memory), "at least 3");
    let deep = TensorMap::tiled([32, 4, 4], [32, 4, 4]).interleave(Interleave::Bytes32);
    broken(deep.encode(ctx, &memory), "the swizzle is None");
    let words = DeviceBuffer::<u32>::zeroed(&stream, 1 << 10).unwrap();
    let nan = tiled([128, 4], [4, 4]).out_of_bounds(OutOfBoundsFill::NanZeroFma);
    broken(nan.encode(ctx, &words), "for floats only");
    let pairs = DeviceBuffer::<[f32; 2]>::zeroed(&stream, 1 << 10).unwrap();
    broken(tiled([128, 4], [4, 4]).encode(ctx, &pairs), "say what it is with `data_type`");
    let far = TensorMap::im2col([64, 8, 8, 4], &[-129, 0], &[0, 0], 64, 8);
    broken(far.encode(ctx, &memory), "-128 to 127 with 4 dimensions");
    let many = TensorMap::im2col([64, 8, 4], &[0], &[0], 64, 2000);
    broken(many.encode(ctx, &memory), "pixels at a time is 2000");
    let large = tiled([1 << 10, 1 << 10], [4, 4]).encode(ctx, &memory).unwrap_err();
    assert!(large.is_out_of_bounds(), "{large}");
}

/// Elements of less than a byte, and channels in slices of 16 or 32 bytes: the copy engine goes on to the last of them, too.
#[test]
fn no_layout_reaches_past_the_memory() {
    let (stream, memory) = open::<u8>(1 << 18);
    let ctx = stream.context();
    let fits = |map: &TiledMap, len: usize| {
        let encode = |bytes: usize| {
            let part = DeviceBuffer::<u8>::zeroed(&stream, bytes).unwrap();
            [map.encode(ctx, &memory.slice(..bytes)).map(drop), map.encode_object(&part).map(drop)]
        };
        for whole in encode(len) {
            // A device may have something else against it.
            assert!(!whole.is_err_and(|error| error.is_out_of_bounds()));
        }
        for short in encode(len - 1) {
            let error = short.unwrap_err();
            assert!(error.is_out_of_bounds(), "{error}");
        }
    };
    let sliced =
        |interleave, swizzle| TensorMap::tiled([8, 4, 3], [16, 4, 1]).interleave(interleave).swizzle(swizzle);
    fits(&sliced(Interleave::Bytes16, Swizzle::None), 16 * 8 * 4 * 3);
    fits(&sliced(Interleave::Bytes32, Swizzle::Bytes32), 32 * 8 * 4 * 3);
    fits(
        &sliced(Interleave::Bytes16, Swizzle::None).strides(&[1 << 10, 1 << 16]),
        (2 << 16) + (3 << 10) + 16 * 8,
    );
    for (packed, bits) in [(TensorDataType::Packed16U4Align16, 4), (TensorDataType::Packed16U6Align16, 6)] {
        fits(&TensorMap::tiled([128, 5], [128, 1]).data_type(packed), 5 * 128 * bits / 8);
    }
    let pixels = TensorMap::im2col([8, 8, 2, 2], &[0, 0], &[0, 0], 16, 8).interleave(Interleave::Bytes16);
    let error = pixels.encode_object(&DeviceBuffer::<u8>::zeroed(&stream, 64).unwrap()).unwrap_err();
    assert!(error.is_out_of_bounds(), "{error}");
}

#[test]
fn typed_kernels_take_maps_by_value() {
    let (stream, memory) = open::<f32>(64 * 64);
    let ctx = stream.context();
    let Some(map) = supported(TensorMap::tiled([64, 64], [32, 8]).encode(ctx, &memory)) else { return };
    let module = kernels::load(ctx).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (16, 1, 1));
    let mut out = DeviceBuffer::<u64>::zeroed(&stream, 16).unwrap();
    let reference = &map;
    for form in 0..3 {
        out.view_mut().set_zero(&stream).unwrap();
        unsafe {
            match form {
                0 => module.map_words(&stream, config, reference, &mut out),
                1 => module.raw_map_words(&stream, config, reference, &mut out),
                _ => module.raw_map_words(&stream, config, map, &mut out),
            }
        }
        .unwrap();
        assert_eq!(out.to_host_vec(&stream).unwrap(), map.raw().opaque, "form {form}");
    }
}
