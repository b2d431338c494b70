//! What a call copies or fills: ranges of addresses, rectangles, boxes in arrays.
//!
//! Extents that do not fit in 64 bits are left to the driver.
//!
//! Relies on: the program upholds the contract of the function that it calls, as far as the driver requires it: structures and lists
//! that arguments point to exist.
#![allow(unsafe_code)]

use super::Inner;
use super::call::Call;
use super::state::State;
use super::walk::{How, Touch};
use crate::read;
use cuda_driver_sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUDA_MEMCPY3D_BATCH_OP, CUDA_MEMCPY3D_PEER, CUDA_MEMSET_NODE_PARAMS,
    CUextent3D, CUmemcpy3DOperand, CUmemcpy3DOperand_op_array, CUmemcpy3DOperand_op_ptr,
    CUmemcpy3DOperandType, CUmemorytype, CUoffset3D,
};
use std::fmt;
use std::mem::offset_of;

/// The maximum number of copies of a list that are checked; a longer list is left to the driver.
const MOST_COPIES: usize = 1 << 16;

/// Bytes per row, rows per plane, and planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) depth: u64,
}

impl Size {
    fn line(bytes: u64) -> Size {
        Size { width: bytes, height: 1, depth: 1 }
    }

    pub(super) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    pub(super) fn bytes(self) -> Option<u64> {
        self.width.checked_mul(self.height)?.checked_mul(self.depth)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { width, height, depth } = self;
        match (height, depth) {
            (1, 1) => write!(f, "{width} bytes"),
            (_, 1) => write!(f, "{height} rows of {width} bytes"),
            _ => write!(f, "{depth} planes of {height} rows of {width} bytes"),
        }
    }
}

/// What a call reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) writes: bool,
    /// The index of the copy in a batch.
    pub(super) element: Option<usize>,
    pub(super) place: Where,
    pub(super) size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    /// Memory from an address on; `pitch` is in bytes from one row to the next, `rows` from one plane to the next.
    Memory { start: u64, pitch: u64, rows: u64 },
    /// A box in an array; `at` is its first byte in the row, its first row, and its first plane.
    Array { handle: u64, at: [u64; 3] },
    /// Bytes of an array, at an offset from its first byte.
    Bytes { handle: u64, offset: u64 },
}

impl Where {
    fn line(start: u64) -> Where {
        Where::Memory { start, pitch: 0, rows: 0 }
    }
}

impl Side {
    /// An access that a thread of a kernel certainly makes.
    pub(super) fn touched(touch: &Touch) -> Side {
        Side::range(touch.how == How::Write, touch.address, touch.bytes)
    }

    /// One range of memory.
    pub(super) fn range(writes: bool, start: u64, bytes: u64) -> Side {
        Side { writes, element: None, place: Where::line(start), size: Size::line(bytes) }
    }
}

/// The number of bytes from the first to the last; `None` if it does not fit in 64 bits.
pub(super) fn reach(size: Size, pitch: u64, rows: u64) -> Option<u64> {
    let planes = size.depth.checked_sub(1)?.checked_mul(rows)?;
    planes.checked_add(size.height.checked_sub(1)?)?.checked_mul(pitch)?.checked_add(size.width)
}

/// The bytes of a structure of the program. Members that it has not set read as some number.
pub(super) struct Structure(Vec<u8>);

impl Structure {
    /// # Safety
    ///
    /// 1. The address is null, or has that many bytes, initialised or not, which are not written during the call.
    pub(super) unsafe fn at(address: u64, bytes: usize) -> Option<Structure> {
        // SAFETY: 1: checked to be not null: that many bytes are there, and they are not written, by duty 1.
        (address != 0).then(|| Structure(unsafe { read::block(address, bytes) }))
    }

    /// The number of 8 bytes at an offset.
    pub(super) fn long(&self, offset: usize) -> u64 {
        let bytes = offset.checked_add(8).and_then(|end| self.0.get(offset..end));
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    /// The number of 4 bytes at an offset.
    pub(super) fn short(&self, offset: usize) -> u32 {
        let bytes = offset.checked_add(4).and_then(|end| self.0.get(offset..end));
        bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
    }
}

/// One side of a copy as its structure names it.
struct Named {
    kind: u32,
    host: u64,
    device: u64,
    array: u64,
    at: [u64; 3],
    pitch: u64,
    rows: u64,
}

impl Named {
    fn side(&self, writes: bool, size: Size) -> Option<Side> {
        let Named { pitch, rows, at, .. } = *self;
        let memory = |start: u64| {
            let [x, y, z] = at;
            let before = z.checked_mul(rows)?.checked_add(y)?.checked_mul(pitch)?.checked_add(x)?;
            Some(Where::Memory { start: start.checked_add(before)?, pitch, rows })
        };
        let place = match CUmemorytype(self.kind) {
            CUmemorytype::CU_MEMORYTYPE_HOST => memory(self.host)?,
            CUmemorytype::CU_MEMORYTYPE_DEVICE | CUmemorytype::CU_MEMORYTYPE_UNIFIED => memory(self.device)?,
            CUmemorytype::CU_MEMORYTYPE_ARRAY => Where::Array { handle: self.array, at },
            _ => return None,
        };
        Some(Side { writes, element: None, place, size })
    }
}

/// Both sides of a copy of planes; none if it is for a level that no array has.
macro_rules! planes {
    ($copy:ident: $type:ident) => {{
        let size = Size {
            width: $copy.long(offset_of!($type, WidthInBytes)),
            height: $copy.long(offset_of!($type, Height)),
            depth: $copy.long(offset_of!($type, Depth)),
        };
        let target = Named {
            kind: $copy.short(offset_of!($type, dstMemoryType)),
            host: $copy.long(offset_of!($type, dstHost)),
            device: $copy.long(offset_of!($type, dstDevice)),
            array: $copy.long(offset_of!($type, dstArray)),
            at: [
                $copy.long(offset_of!($type, dstXInBytes)),
                $copy.long(offset_of!($type, dstY)),
                $copy.long(offset_of!($type, dstZ)),
            ],
            pitch: $copy.long(offset_of!($type, dstPitch)),
            rows: $copy.long(offset_of!($type, dstHeight)),
        };
        let source = Named {
            kind: $copy.short(offset_of!($type, srcMemoryType)),
            host: $copy.long(offset_of!($type, srcHost)),
            device: $copy.long(offset_of!($type, srcDevice)),
            array: $copy.long(offset_of!($type, srcArray)),
            at: [
                $copy.long(offset_of!($type, srcXInBytes)),
                $copy.long(offset_of!($type, srcY)),
                $copy.long(offset_of!($type, srcZ)),
            ],
            pitch: $copy.long(offset_of!($type, srcPitch)),
            rows: $copy.long(offset_of!($type, srcHeight)),
        };
        let levels = $copy.long(offset_of!($type, dstLOD)) | $copy.long(offset_of!($type, srcLOD));
        let sides = [target.side(true, size), source.side(false, size)];
        if levels == 0 { sides.into_iter().flatten().collect() } else { Vec::new() }
    }};
}

/// What a node of a graph copies.
pub(super) fn planes_of_node(copy: &Structure) -> Vec<Side> {
    planes!(copy: CUDA_MEMCPY3D)
}

/// What a node of a graph fills. The pitch of a single row is ignored.
pub(super) fn fill_of_node(fill: &Structure) -> Option<Side> {
    type Of = CUDA_MEMSET_NODE_PARAMS;
    let unit = u64::from(fill.short(offset_of!(Of, elementSize)));
    let size = Size {
        width: fill.long(offset_of!(Of, width)).checked_mul(unit)?,
        height: fill.long(offset_of!(Of, height)),
        depth: 1,
    };
    let (start, pitch) = (fill.long(offset_of!(Of, dst)), fill.long(offset_of!(Of, pitch)));
    Some(Side { writes: true, element: None, place: Where::Memory { start, pitch, rows: 0 }, size })
}

fn rows(copy: &Structure) -> Vec<Side> {
    let size = Size {
        width: copy.long(offset_of!(CUDA_MEMCPY2D, WidthInBytes)),
        height: copy.long(offset_of!(CUDA_MEMCPY2D, Height)),
        depth: 1,
    };
    let target = Named {
        kind: copy.short(offset_of!(CUDA_MEMCPY2D, dstMemoryType)),
        host: copy.long(offset_of!(CUDA_MEMCPY2D, dstHost)),
        device: copy.long(offset_of!(CUDA_MEMCPY2D, dstDevice)),
        array: copy.long(offset_of!(CUDA_MEMCPY2D, dstArray)),
        at: [
            copy.long(offset_of!(CUDA_MEMCPY2D, dstXInBytes)),
            copy.long(offset_of!(CUDA_MEMCPY2D, dstY)),
            0,
        ],
        pitch: copy.long(offset_of!(CUDA_MEMCPY2D, dstPitch)),
        rows: 0,
    };
    let source = Named {
        kind: copy.short(offset_of!(CUDA_MEMCPY2D, srcMemoryType)),
        host: copy.long(offset_of!(CUDA_MEMCPY2D, srcHost)),
        device: copy.long(offset_of!(CUDA_MEMCPY2D, srcDevice)),
        array: copy.long(offset_of!(CUDA_MEMCPY2D, srcArray)),
        at: [
            copy.long(offset_of!(CUDA_MEMCPY2D, srcXInBytes)),
            copy.long(offset_of!(CUDA_MEMCPY2D, srcY)),
            0,
        ],
        pitch: copy.long(offset_of!(CUDA_MEMCPY2D, srcPitch)),
        rows: 0,
    };
    [target.side(true, size), source.side(false, size)].into_iter().flatten().collect()
}

/// Both sides of a copy in a list, whose extents are in elements if an array is involved.
fn operation(operation: &Structure, element: Option<usize>, state: &State) -> Option<[Side; 2]> {
    let extent = offset_of!(CUDA_MEMCPY3D_BATCH_OP, extent);
    let count = Size {
        width: operation.long(extent + offset_of!(CUextent3D, width)),
        height: operation.long(extent + offset_of!(CUextent3D, height)),
        depth: operation.long(extent + offset_of!(CUextent3D, depth)),
    };
    let [target, source] = [offset_of!(CUDA_MEMCPY3D_BATCH_OP, dst), offset_of!(CUDA_MEMCPY3D_BATCH_OP, src)];
    let [to, from] = [operand(operation, target)?, operand(operation, source)?];
    let unit = |operand: &Operand| match operand {
        Operand::Array { handle, .. } => state.extent(*handle).map(|extent| Some(extent.unit)),
        Operand::Memory { .. } => Some(None),
    };
    // Two arrays have elements of the same size, or the driver refuses the copy.
    let unit = match (unit(&to)?, unit(&from)?) {
        (Some(one), Some(other)) if one != other => return None,
        (one, other) => one.or(other).unwrap_or(1),
    };
    let size = Size { width: count.width.checked_mul(unit)?, ..count };
    let side = |writes, operand| {
        let place = match operand {
            // 0 means rows and planes without gaps.
            Operand::Memory { start, row, rows } => Where::Memory {
                start,
                pitch: if row == 0 { size.width } else { row.checked_mul(unit)? },
                rows: if rows == 0 { size.height } else { rows },
            },
            Operand::Array { handle, at: [x, y, z] } => {
                Where::Array { handle, at: [x.checked_mul(unit)?, y, z] }
            }
        };
        Some(Side { writes, element, place, size })
    };
    Some([side(true, to)?, side(false, from)?])
}

enum Operand {
    /// Elements per row, and rows per plane.
    Memory {
        start: u64,
        row: u64,
        rows: u64,
    },
    Array {
        handle: u64,
        at: [u64; 3],
    },
}

fn operand(operation: &Structure, offset: usize) -> Option<Operand> {
    let union = offset + offset_of!(CUmemcpy3DOperand, op);
    let long = |at: usize| operation.long(union + at);
    match CUmemcpy3DOperandType(operation.short(offset + offset_of!(CUmemcpy3DOperand, type_))) {
        CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER => Some(Operand::Memory {
            start: long(offset_of!(CUmemcpy3DOperand_op_ptr, ptr)),
            row: long(offset_of!(CUmemcpy3DOperand_op_ptr, rowLength)),
            rows: long(offset_of!(CUmemcpy3DOperand_op_ptr, layerHeight)),
        }),
        CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY => {
            let at = |member: usize| long(offset_of!(CUmemcpy3DOperand_op_array, offset) + member);
            Some(Operand::Array {
                handle: long(offset_of!(CUmemcpy3DOperand_op_array, array)),
                at: [
                    at(offset_of!(CUoffset3D, x)),
                    at(offset_of!(CUoffset3D, y)),
                    at(offset_of!(CUoffset3D, z)),
                ],
            })
        }
        _ => None,
    }
}

/// A fill of rows: address, pitch, value, elements of a row, rows.
fn fill_of_rows(call: &Call<'_>, unit: u64) -> Option<Side> {
    let size = Size { width: call.word(3).checked_mul(unit)?, height: call.word(4), depth: 1 };
    let place = Where::Memory { start: call.word(0), pitch: call.word(1), rows: 0 };
    Some(Side { writes: true, element: None, place, size })
}

/// A copy between a range of an array's bytes and memory or another array.
fn copy_of_bytes(call: &Call<'_>) -> Vec<Side> {
    let [a, b, c, d] = [call.word(0), call.word(1), call.word(2), call.word(3)];
    let bytes = |handle, offset| Where::Bytes { handle, offset };
    let (target, source, count) = match call.function.name {
        "cuMemcpyAtoA_v2" => (bytes(a, b), bytes(c, d), call.word(4)),
        "cuMemcpyAtoD_v2" | "cuMemcpyAtoH_v2" | "cuMemcpyAtoHAsync_v2" => (Where::line(a), bytes(b, c), d),
        _ => (bytes(a, b), Where::line(c), d),
    };
    let side = |writes, place| Side { writes, element: None, place, size: Size::line(count) };
    vec![side(true, target), side(false, source)]
}

/// Two ranges of memory.
fn ranges(target: u64, source: u64, bytes: u64, element: Option<usize>) -> [Side; 2] {
    let side = |writes, start| Side { element, ..Side::range(writes, start, bytes) };
    [side(true, target), side(false, source)]
}

/// A fill of a range: address, value, elements.
fn fill(call: &Call<'_>, unit: u64) -> Vec<Side> {
    vec![Side::range(true, call.word(0), call.word(2).saturating_mul(unit))]
}

/// The copies in lists: targets, sources, sizes, and their number.
///
/// # Safety
///
/// 1. The words are the arguments of a call of a function with these parameters, and its contract holds.
unsafe fn batch(call: &Call<'_>) -> Option<Vec<Side>> {
    let count = usize::try_from(call.word(3)).ok().filter(|count| *count <= MOST_COPIES)?;
    let bytes = count * 8;
    // SAFETY: 1, 1, 1: each is null or a list of that many initialised numbers of 8 bytes, which are not written during the
    // call: duty 1.
    let [targets, sources, sizes] = unsafe {
        [
            Structure::at(call.word(0), bytes)?,
            Structure::at(call.word(1), bytes)?,
            Structure::at(call.word(2), bytes)?,
        ]
    };
    let copy = |number: usize| {
        let at = number * 8;
        ranges(targets.long(at), sources.long(at), sizes.long(at), Some(number))
    };
    Some((0..count).flat_map(copy).collect())
}

/// The copies in a list of structures: their number, and the list.
///
/// # Safety
///
/// 1. The words are the arguments of a call of a function with these parameters, and its contract holds.
unsafe fn batch_of_planes(call: &Call<'_>, inner: &Inner) -> Option<Vec<Side>> {
    let count = usize::try_from(call.word(0)).ok().filter(|count| *count <= MOST_COPIES)?;
    let mut sides = Vec::new();
    for number in 0..count {
        let at = size_of::<CUDA_MEMCPY3D_BATCH_OP>().checked_mul(number)?;
        let address = call.word(1).checked_add(at as u64).filter(|_| call.word(1) != 0)?;
        // SAFETY: 1: the list, which is not null, has that many structures, of which this is one, and they are not written
        // during the call: duty 1.
        let structure = unsafe { Structure::at(address, size_of::<CUDA_MEMCPY3D_BATCH_OP>()) }?;
        sides.extend(operation(&structure, Some(number), &inner.lock()).into_iter().flatten());
    }
    Some(sides)
}

impl Inner {
    /// What a call copies or fills.
    ///
    /// # Safety
    ///
    /// 1. The contract of the call holds.
    pub(super) unsafe fn sides(&self, call: &Call<'_>) -> Vec<Side> {
        let first = call.word(0);
        // SAFETY: 1, in all of them: the first argument of these functions is null or the address of such a structure, or the words are
        // those of the lists that the function takes; the memory that they point to is not written during the call: duty 1.
        unsafe {
            match call.function.name {
                "cuMemcpy"
                | "cuMemcpyAsync"
                | "cuMemcpyHtoD_v2"
                | "cuMemcpyDtoH_v2"
                | "cuMemcpyDtoD_v2"
                | "cuMemcpyHtoDAsync_v2"
                | "cuMemcpyDtoHAsync_v2"
                | "cuMemcpyDtoDAsync_v2"
                | "cuMemcpyWithAttributesAsync" => {
                    Some(ranges(first, call.word(1), call.word(2), None).into())
                }
                "cuMemsetD8_v2" | "cuMemsetD8Async" => Some(fill(call, 1)),
                "cuMemsetD16_v2" | "cuMemsetD16Async" => Some(fill(call, 2)),
                "cuMemsetD32_v2" | "cuMemsetD32Async" => Some(fill(call, 4)),
                "cuMemcpy2D_v2" | "cuMemcpy2DUnaligned_v2" | "cuMemcpy2DAsync_v2" => {
                    Structure::at(first, size_of::<CUDA_MEMCPY2D>()).map(|copy| rows(&copy))
                }
                "cuMemcpy3D_v2" | "cuMemcpy3DAsync_v2" => {
                    Structure::at(first, size_of::<CUDA_MEMCPY3D>()).map(|copy| planes!(copy: CUDA_MEMCPY3D))
                }
                "cuMemcpy3DPeer" | "cuMemcpy3DPeerAsync" => {
                    let copy = Structure::at(first, size_of::<CUDA_MEMCPY3D_PEER>());
                    copy.map(|copy| planes!(copy: CUDA_MEMCPY3D_PEER))
                }
                "cuMemcpyPeer" | "cuMemcpyPeerAsync" => {
                    Some(ranges(first, call.word(2), call.word(4), None).into())
                }
                "cuMemcpyBatchAsync_v1" | "cuMemcpyBatchAsync_v2" => batch(call),
                "cuMemcpy3DBatchAsync_v1" | "cuMemcpy3DBatchAsync_v2" => batch_of_planes(call, self),
                "cuMemcpy3DWithAttributesAsync" => {
                    let structure = Structure::at(first, size_of::<CUDA_MEMCPY3D_BATCH_OP>());
                    structure.and_then(|one| operation(&one, None, &self.lock())).map(Vec::from)
                }
                "cuMemsetD2D8_v2" | "cuMemsetD2D8Async" => fill_of_rows(call, 1).map(|side| vec![side]),
                "cuMemsetD2D16_v2" | "cuMemsetD2D16Async" => fill_of_rows(call, 2).map(|side| vec![side]),
                "cuMemsetD2D32_v2" | "cuMemsetD2D32Async" => fill_of_rows(call, 4).map(|side| vec![side]),
                "cuMemcpyAtoA_v2"
                | "cuMemcpyAtoD_v2"
                | "cuMemcpyAtoH_v2"
                | "cuMemcpyAtoHAsync_v2"
                | "cuMemcpyDtoA_v2"
                | "cuMemcpyHtoA_v2"
                | "cuMemcpyHtoAAsync_v2" => Some(copy_of_bytes(call)),
                _ => None,
            }
        }
        .unwrap_or_default()
    }
}
