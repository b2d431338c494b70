//! Tensor maps, in a form of the emulator's own ([`TensorMap`]). Encoding checks what the driver's documentation demands.
//!
//! Relies on the program: the lists have as many elements as the rank says: C1 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::{c_int, c_void};

use crate::architecture::Architecture;
use crate::driver::entry::{INVALID_VALUE, In, NOT_SUPPORTED, Out, Outcome, entries};
use crate::driver::logs;
use crate::driver::state::Call;
use crate::tensor::{Mode, RANK, TensorMap};

entries! {
    cuTensorMapEncodeTiled(map: *mut CUtensorMap, data_type: CUtensorMapDataType, rank: cuuint32_t, address: *mut c_void, dims: *const cuuint64_t, strides: *const cuuint64_t, tile: *const cuuint32_t, steps: *const cuuint32_t, interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, promotion: CUtensorMapL2promotion, fill: CUtensorMapFloatOOBfill) [always] = tiled;
    cuTensorMapEncodeIm2col(map: *mut CUtensorMap, data_type: CUtensorMapDataType, rank: cuuint32_t, address: *mut c_void, dims: *const cuuint64_t, strides: *const cuuint64_t, lower: *const c_int, upper: *const c_int, channels: cuuint32_t, pixels: cuuint32_t, steps: *const cuuint32_t, interleave: CUtensorMapInterleave, swizzle: CUtensorMapSwizzle, promotion: CUtensorMapL2promotion, fill: CUtensorMapFloatOOBfill) [always] = im2col;
    cuTensorMapReplaceAddress(map: *mut CUtensorMap, address: *mut c_void) [always] = replace;
}

/// Tensor maps exist from `sm_90` on (CUDA driver API, "Tensor Map Object Management"). Encoding needs no context: without one, any device
/// may be meant.
fn exist(call: &Call) -> Outcome {
    let devices: Vec<Architecture> = match (call.context(), call.state()) {
        (Ok(context), _) => vec![context.architecture()],
        (_, Ok(state)) => state.devices.iter().map(|memory| memory.architecture()).collect(),
        _ => return Ok(()),
    };
    match devices.iter().max() {
        Some(newest) if *newest < Architecture::Sm90 => {
            logs::because(format!(
                "the device is {newest}, and tensor maps exist from sm_90 on: choose another one (CUDA_LAUNCH_EMULATOR_ARCH)"
            ));
            Err(NOT_SUPPORTED)
        }
        _ => Ok(()),
    }
}

/// Bits of an element of a type.
fn bits(data_type: CUtensorMapDataType) -> Outcome<u64> {
    Ok(match data_type.0 {
        0 => 8,
        1 | 6 | 9 => 16,
        2 | 3 | 7 | 10..=12 => 32,
        4 | 5 | 8 => 64,
        13 | 14 => 4,
        15 => 6,
        _ => return Err(INVALID_VALUE),
    })
}

/// What all maps have.
struct Tensor {
    data_type: CUtensorMapDataType,
    dims: Vec<u64>,
    strides: Vec<u64>,
    steps: Vec<u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    fill: CUtensorMapFloatOOBfill,
}

/// A list with as many elements as there can be dimensions.
fn padded<T: Copy + Default, const N: usize>(list: &[T]) -> [T; N] {
    std::array::from_fn(|at| list.get(at).copied().unwrap_or_default())
}

impl Tensor {
    /// The rules for a tensor.
    #[allow(clippy::too_many_arguments, reason = "the driver's")]
    fn checked(
        data_type: CUtensorMapDataType,
        rank: u32,
        address: u64,
        dims: &In<u64>,
        strides: &In<u64>,
        steps: &In<u32>,
        interleave: CUtensorMapInterleave,
        swizzle: CUtensorMapSwizzle,
        fill: CUtensorMapFloatOOBfill,
    ) -> Outcome<Tensor> {
        bits(data_type)?;
        let interleaved = interleave != CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE;
        let known = interleave.0 <= 2 && swizzle.0 <= 6 && fill.0 <= 1;
        if !(1..=5).contains(&rank) || interleaved && rank < 3 || !known {
            return Err(INVALID_VALUE);
        }
        let wide = interleave == CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_32B || data_type.0 >= 14;
        let multiple = if wide { 32 } else { 16 };
        // SAFETY: 1: lists and `rank`, which is 1 to 5, are the caller's, so by C1 each is null or has as many elements, strides one less.
        let (dims, strides, steps) = unsafe {
            let rank = rank as usize;
            (dims.read_array(rank)?, strides.read_array(rank - 1)?, steps.read_array(rank)?)
        };
        let float = matches!(data_type.0, 6..=12);
        let fits = address != 0
            && address.is_multiple_of(multiple)
            && dims.iter().all(|dim| (1..=1 << 32).contains(dim))
            && strides.iter().all(|stride| stride.is_multiple_of(multiple) && *stride < 1 << 40)
            && steps.iter().all(|step| (1..=8).contains(step))
            && (fill.0 == 0 || float);
        if fits {
            Ok(Tensor { data_type, dims, strides, steps, interleave, swizzle, fill })
        } else {
            Err(INVALID_VALUE)
        }
    }

    /// The rules for the innermost size of what is copied.
    fn inner(&self, elements: u32) -> Outcome {
        if self.data_type.0 >= 14 {
            return Ok(());
        }
        let is_interleaved = self.interleave != CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE;
        let bytes = u64::from(elements) * bits(self.data_type)? / 8;
        let limit = match self.swizzle.0 {
            _ if is_interleaved => u64::MAX,
            0 => u64::MAX,
            1 => 32,
            2 => 64,
            _ => 128,
        };
        if bytes.is_multiple_of(16) && bytes <= limit { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn encode(&self, address: u64, mode: Mode) -> CUtensorMap {
        let map = TensorMap {
            address,
            data_type: self.data_type.0 as u8,
            interleave: self.interleave.0 as u8,
            swizzle: self.swizzle.0 as u8,
            fill: self.fill.0 as u8,
            rank: self.dims.len(),
            sizes: padded(&self.dims),
            strides: padded(&self.strides),
            steps: padded(&self.steps),
            mode,
        };
        CUtensorMap { opaque: map.encode() }
    }
}

#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn tiled(
    call: &Call,
    map: Out<CUtensorMap>,
    data_type: CUtensorMapDataType,
    rank: u32,
    address: *mut c_void,
    dims: In<u64>,
    strides: In<u64>,
    tile: In<u32>,
    steps: In<u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    _promotion: CUtensorMapL2promotion,
    fill: CUtensorMapFloatOOBfill,
) -> Outcome {
    let (place, address) = (map.required()?, address.addr() as u64);
    exist(call)?;
    let tensor =
        Tensor::checked(data_type, rank, address, &dims, &strides, &steps, interleave, swizzle, fill)?;
    // SAFETY: 1: list and `rank` are the caller's, so by C1 it is null or has as many elements.
    let tile = unsafe { tile.read_array(rank as usize)? };
    if !tile.iter().all(|size| (1..=256).contains(size)) {
        return Err(INVALID_VALUE);
    }
    tensor.inner(tile.first().copied().unwrap_or(0))?;
    place.set(tensor.encode(address, Mode::Tiled { sizes: padded::<_, RANK>(&tile) }));
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn im2col(
    call: &Call,
    map: Out<CUtensorMap>,
    data_type: CUtensorMapDataType,
    rank: u32,
    address: *mut c_void,
    dims: In<u64>,
    strides: In<u64>,
    lower: In<c_int>,
    upper: In<c_int>,
    channels: u32,
    pixels: u32,
    steps: In<u32>,
    interleave: CUtensorMapInterleave,
    swizzle: CUtensorMapSwizzle,
    _promotion: CUtensorMapL2promotion,
    fill: CUtensorMapFloatOOBfill,
) -> Outcome {
    let (place, address) = (map.required()?, address.addr() as u64);
    exist(call)?;
    let limit = match rank {
        3 => 1 << 15,
        4 => 1 << 7,
        5 => 1 << 4,
        _ => return Err(INVALID_VALUE),
    };
    let tensor =
        Tensor::checked(data_type, rank, address, &dims, &strides, &steps, interleave, swizzle, fill)?;
    // SAFETY: 1: lists and `rank`, which is 3 to 5, are the caller's, so by C1 each is null or has two elements less than that.
    let corners = unsafe { [lower.read_array(rank as usize - 2)?, upper.read_array(rank as usize - 2)?] };
    let placed = corners.iter().flatten().all(|offset| (-limit..limit).contains(offset));
    if !placed || !(1..=256).contains(&channels) || !(1..=1024).contains(&pixels) {
        return Err(INVALID_VALUE);
    }
    tensor.inner(channels)?;
    let [lower, upper] = corners.map(|corner| padded(&corner));
    place.set(tensor.encode(address, Mode::Im2col { corners: [lower, upper], channels, pixels }));
    Ok(())
}

fn replace(call: &Call, map: Out<CUtensorMap>, address: *mut c_void) -> Outcome {
    exist(call)?;
    let known = TensorMap::decode(&map.get().ok_or(INVALID_VALUE)?.opaque).ok_or(INVALID_VALUE)?;
    let address = address.addr() as u64;
    let moved = TensorMap { address, ..known };
    if address == 0 || !address.is_multiple_of(moved.alignment()) {
        return Err(INVALID_VALUE);
    }
    map.set(CUtensorMap { opaque: moved.encode() });
    Ok(())
}
