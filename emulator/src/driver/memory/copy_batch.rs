//! `cuMemcpyBatchAsync` and `cuMemcpy3DBatchAsync`: many copies by one call, in no promised order among themselves.
//!
//! Relies on the program: the lists have as many elements as it says, and members of unions that are named are set: C1 and C2 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use std::ffi::c_ulonglong;
use std::sync::Arc;

use super::copy::{self, Mode};
use super::copy_rows;
use crate::driver::entry::{INVALID_VALUE, In, Out, Outcome, entries};
use crate::driver::queue::Kind;
use crate::driver::state::Call;
use crate::driver::stream::Stream;
use crate::driver::work::copy::{Named, Size};

entries! {
    cuMemcpyBatchAsync_v2(targets: *mut CUdeviceptr, sources: *mut CUdeviceptr, sizes: *mut usize, count: usize, attributes: *mut CUmemcpyAttributes, starts: *mut usize, attribute_count: usize, stream: CUstream) = linear;
    cuMemcpy3DBatchAsync_v2(count: usize, operations: *mut CUDA_MEMCPY3D_BATCH_OP, flags: c_ulonglong, stream: CUstream) = volumes;
    cuMemcpyBatchAsync_v1(targets: *mut CUdeviceptr, sources: *mut CUdeviceptr, sizes: *mut usize, count: usize, attributes: *mut CUmemcpyAttributes, starts: *mut usize, attribute_count: usize, failed: *mut usize, stream: CUstream) = linear_v1;
    cuMemcpy3DBatchAsync_v1(count: usize, operations: *mut CUDA_MEMCPY3D_BATCH_OP, failed: *mut usize, flags: c_ulonglong, stream: CUstream) = volumes_v1;
}

/// The stream of a batch, which the default stream cannot be.
pub(super) fn own_stream(call: &Call, stream: CUstream) -> Outcome<Arc<Stream>> {
    let stream = call.stream(stream)?;
    if stream.kind == Kind::Legacy { Err(INVALID_VALUE) } else { Ok(stream) }
}

/// When a source is read. The emulator has no order "any", which allows to do as one likes.
fn mode(order: CUmemcpySrcAccessOrder) -> Outcome<Mode> {
    use CUmemcpySrcAccessOrder as O;
    match order {
        O::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM | O::CU_MEMCPY_SRC_ACCESS_ORDER_ANY => Ok(Mode::Asynchronous),
        O::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL => Ok(Mode::Blocking),
        _ => Err(INVALID_VALUE),
    }
}

#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn linear(
    call: &Call,
    targets: In<CUdeviceptr>,
    sources: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    attributes: In<CUmemcpyAttributes>,
    starts: In<usize>,
    attribute_count: usize,
    stream: CUstream,
) -> Outcome {
    let stream = own_stream(call, stream)?;
    if count == 0 || attribute_count == 0 || attribute_count > count {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: lists and counts are the caller's, so by C1 each is null or has `count` elements, the last two `attribute_count`.
    let (targets, sources, sizes, attributes, starts) = unsafe {
        (
            targets.read_array(count)?,
            sources.read_array(count)?,
            sizes.read_array(count)?,
            attributes.read_array(attribute_count)?,
            starts.read_array(attribute_count)?,
        )
    };
    // Attribute k is that of the copies from `starts[k]` to the next start.
    let ascending = starts.is_sorted_by(|a, b| a < b);
    if starts.first() != Some(&0) || !ascending || starts.last().is_some_and(|last| *last >= count) {
        return Err(INVALID_VALUE);
    }
    let modes: Vec<Mode> =
        attributes.iter().map(|attribute| mode(attribute.srcAccessOrder)).collect::<Outcome<_>>()?;
    for (index, ((target, source), bytes)) in targets.into_iter().zip(sources).zip(sizes).enumerate() {
        let at = starts.partition_point(|start| *start <= index) - 1;
        let mode = modes.get(at).copied().ok_or(INVALID_VALUE)?;
        copy::generic(call, &stream, target, source, bytes, mode)?;
    }
    Ok(())
}

fn volumes(
    call: &Call,
    count: usize,
    operations: In<CUDA_MEMCPY3D_BATCH_OP>,
    flags: c_ulonglong,
    stream: CUstream,
) -> Outcome {
    let stream = own_stream(call, stream)?;
    if count == 0 || flags != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: 1: list and `count` are the caller's, so by C1 it is null or has `count` elements.
    for operation in unsafe { operations.read_array(count)? } {
        let CUextent3D { width, height, depth } = operation.extent;
        if width == 0 || height == 0 || depth == 0 {
            return Err(INVALID_VALUE);
        }
        let mode = mode(operation.srcAccessOrder)?;
        let unit = element(call, &operation)?;
        let size = Size { width: width.checked_mul(unit).ok_or(INVALID_VALUE)?, height, depth };
        let (target, source) = (named(&operation.dst, size, unit)?, named(&operation.src, size, unit)?);
        copy_rows::copy(call, &stream, target, source, size, mode)?;
    }
    Ok(())
}

// Before CUDA 13.0 a batch told which copy was wrong; this one says always that it does not know.

#[allow(clippy::too_many_arguments, reason = "the driver's")]
fn linear_v1(
    call: &Call,
    targets: In<CUdeviceptr>,
    sources: In<CUdeviceptr>,
    sizes: In<usize>,
    count: usize,
    attributes: In<CUmemcpyAttributes>,
    starts: In<usize>,
    attribute_count: usize,
    failed: Out<usize>,
    stream: CUstream,
) -> Outcome {
    failed.set(usize::MAX);
    linear(call, targets, sources, sizes, count, attributes, starts, attribute_count, stream)
}

fn volumes_v1(
    call: &Call,
    count: usize,
    operations: In<CUDA_MEMCPY3D_BATCH_OP>,
    failed: Out<usize>,
    flags: c_ulonglong,
    stream: CUstream,
) -> Outcome {
    failed.set(usize::MAX);
    volumes(call, count, operations, flags, stream)
}

/// Bytes of an element: of the array, if one takes part; else extents count bytes.
fn element(call: &Call, operation: &CUDA_MEMCPY3D_BATCH_OP) -> Outcome<usize> {
    let of = |operand: &CUmemcpy3DOperand| -> Outcome<Option<usize>> {
        if operand.type_ != CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY {
            return Ok(None);
        }
        // SAFETY: the type that was just compared names this member, which the caller has set, by C2: a handle.
        let array = unsafe { operand.op.array.array };
        Ok(Some(call.array(array)?.texel.bytes()))
    };
    match (of(&operation.src)?, of(&operation.dst)?) {
        (Some(source), Some(target)) if source != target => Err(INVALID_VALUE),
        (source, target) => Ok(source.or(target).unwrap_or(1)),
    }
}

fn named(operand: &CUmemcpy3DOperand, size: Size, unit: usize) -> Outcome<Named> {
    let null = std::ptr::null_mut();
    match operand.type_ {
        CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER => {
            // SAFETY: the type names this member, which the caller has set, by C2: numbers. Its hint is not read.
            let (device, row, rows) =
                unsafe { (operand.op.ptr.ptr, operand.op.ptr.rowLength, operand.op.ptr.layerHeight) };
            // 0 stands for rows and planes without gaps.
            let row = row.checked_mul(unit).ok_or(INVALID_VALUE)?;
            Ok(Named {
                kind: CUmemorytype::CU_MEMORYTYPE_UNIFIED,
                host: null,
                device,
                array: std::ptr::null_mut(),
                pitch: if row == 0 { size.width } else { row },
                rows: if rows == 0 { size.height } else { rows },
                at: [0; 3],
            })
        }
        CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY => {
            // SAFETY: the type names this member, which the caller has set, by C2: a handle and numbers.
            let array = unsafe { operand.op.array };
            let CUoffset3D { x, y, z } = array.offset;
            Ok(Named {
                kind: CUmemorytype::CU_MEMORYTYPE_ARRAY,
                host: null,
                device: 0,
                array: array.array,
                pitch: 0,
                rows: 0,
                at: [x.checked_mul(unit).ok_or(INVALID_VALUE)?, y, z],
            })
        }
        _ => Err(INVALID_VALUE),
    }
}
