//! Many copies of rows and planes in one driver call.

#![allow(unsafe_code)] // Calls of the driver on regions that were checked against the memory the batch borrows.

use cuda_driver_sys::{
    CUDA_MEMCPY3D_BATCH_OP, CUextent3D, CUmemLocation, CUmemcpy3DOperand, CUmemcpy3DOperand_op,
    CUmemcpy3DOperand_op_array, CUmemcpy3DOperand_op_ptr, CUmemcpy3DOperandType, CUmemcpySrcAccessOrder,
    CUoffset3D,
};
use std::marker::PhantomData;

use super::layout::{Bounds, Extent, Place, RowLayout, Side};
use super::region::{CopySource, CopyTarget};
use crate::driver::{CudaStream, older};
use crate::error::{Error, RegionError};
use crate::memory::device_copy::DeviceCopy;
use crate::ordering::{Submission, submit_and_wait};

/// Copies of rows and planes that are submitted in one driver call, in no particular order among themselves.
///
/// Since CUDA 12.8; with older drivers the result is [`Error::is_unsupported`].
///
/// ```
/// use cuda_launch::memory::{PitchedBuffer, RegionBatch};
/// use cuda_launch::{CudaContext, DeviceBuffer};
/// let stream = CudaContext::new(0)?.new_stream()?;
/// let (mut image, mut copy) = (PitchedBuffer::uninit(&stream, 4, 2)?, PitchedBuffer::uninit(&stream, 4, 2)?);
/// image.copy_from_host(&stream, &[1u8, 2, 3, 4, 5, 6, 7, 8])?;
/// let (extent, mut batch) = (image.extent(), RegionBatch::new());
/// batch.push(image.as_source(), copy.as_target(), extent)?;
/// match batch.submit(&stream) {
///     Err(error) if error.is_unsupported() => return Ok(()), // copy them one by one
///     done => done?,
/// }
/// assert_eq!(copy.to_host_vec(&stream)?, [1, 2, 3, 4, 5, 6, 7, 8]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Debug, Default)]
#[doc(alias = "cuMemcpy3DBatchAsync")]
pub struct RegionBatch<'a> {
    copies: Vec<Region<'a>>,
    of: PhantomData<&'a mut [u8]>,
}

#[derive(Debug)]
struct Region<'a> {
    source: Side<'a>,
    target: Side<'a>,
    extent: Extent,
    size: usize,
}

impl<'a> RegionBatch<'a> {
    /// No copies yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a copy of `extent` elements, rows and planes. No driver call.
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`] if a side has no such region, or if one side is an array and the pitch of the other
    /// is not a multiple of its element size.
    pub fn push<T: DeviceCopy>(
        &mut self,
        source: CopySource<'a, T>,
        target: CopyTarget<'a, T>,
        extent: Extent,
    ) -> Result<&mut Self, Error> {
        let copy = Region { source: source.side, target: target.side, extent, size: size_of::<T>() };
        for side in [&copy.source, &copy.target] {
            side.check(extent, copy.size)?;
            copy.countable(side)?;
        }
        if copy.size != 0 && !extent.is_empty() {
            self.copies.push(copy);
        }
        Ok(self)
    }

    /// The number of copies; those without elements do not count.
    pub fn len(&self) -> usize {
        self.copies.len()
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Submits all copies to `stream`, which cannot be the default stream; waits only if host memory is involved.
    ///
    /// Driver calls: `cuMemcpy3DBatchAsync`, `cuStreamSynchronize` for host memory; none for no copies.
    ///
    /// # Errors
    /// [`Error::is_unsupported`] before CUDA 12.8, [`Error::is_context_mismatch`] if memory belongs to another context
    /// than the stream, or any error returned by the driver.
    pub fn submit(self, stream: &CudaStream) -> Result<(), Error> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let (work, host) = self.order(stream)?;
        let mut operations: Vec<_> = self.copies.iter().map(Region::raw).collect();
        let count = operations.len();
        let submit = || {
            // SAFETY: 1: a list of `count`, of regions that `push` found inside their memory, which `order` found to be
            // of the stream's context, or is the host's. Device memory is freed, and used by others, after the copies,
            // which have noted their accesses; host memory `self` borrows until `submit_and_wait` has waited. The
            // stream lives as long as its handle (`StreamInner`).
            work.call(
                "cuMemcpy3DBatchAsync",
                || format!("{count} copies"),
                |driver| unsafe { older::copy_regions(driver, &mut operations, stream.raw()) },
            )
        };
        if host { submit_and_wait(stream, submit) } else { submit() }
    }

    /// Announces the copies, after what they must come after; whether host memory takes part.
    fn order<'s>(&self, stream: &'s CudaStream) -> Result<(Submission<'s>, bool), Error> {
        let sides = || self.copies.iter().flat_map(|copy| [&copy.source, &copy.target]);
        for context in sides().filter_map(|side| side.owner.context()) {
            stream.same_context(context, "memory of the batch")?;
        }
        let host = sides().any(Side::is_host);
        if host {
            stream.refuse_in_capture("cuMemcpy3DBatchAsync")?;
        }
        let mut work = Submission::on(stream);
        for copy in &self.copies {
            copy.source.owner.note(&mut work, false)?;
            copy.target.owner.note(&mut work, true)?;
        }
        Ok((work, host))
    }
}

impl Region<'_> {
    /// Bytes of what the driver counts in: elements of the array that takes part, else bytes.
    fn unit(&self) -> usize {
        let array = [&self.source, &self.target].iter().any(|side| matches!(side.bounds, Bounds::Array(_)));
        if array { self.size } else { 1 }
    }

    /// An error if the pitch of a side cannot be expressed in the driver's units.
    fn countable(&self, side: &Side<'_>) -> Result<(), Error> {
        let (pitch, size) = (side.layout().pitch, self.unit());
        if size == 0 || pitch.is_multiple_of(size) {
            return Ok(());
        }
        Err(RegionError::Pitch { side: side.name, pitch, size }.into())
    }

    fn raw(&self) -> CUDA_MEMCPY3D_BATCH_OP {
        let Extent { width, height, depth } = self.extent;
        CUDA_MEMCPY3D_BATCH_OP {
            src: self.operand(&self.source),
            dst: self.operand(&self.target),
            extent: CUextent3D { width: width * self.size / self.unit(), height, depth },
            srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            flags: 0,
        }
    }

    fn operand(&self, side: &Side<'_>) -> CUmemcpy3DOperand {
        let (origin, RowLayout { pitch, rows }) = (side.origin, side.layout());
        // Checked to lie inside memory, so that nothing overflows.
        let first = (origin.z * rows + origin.y) * pitch + origin.x * self.size;
        let address = match side.place {
            Place::Array(array) => {
                let offset = CUoffset3D { x: origin.x, y: origin.y, z: origin.z };
                let op = CUmemcpy3DOperand_op { array: CUmemcpy3DOperand_op_array { array, offset } };
                return CUmemcpy3DOperand { type_: CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_ARRAY, op };
            }
            Place::Host(host) => host.expose_provenance() as u64,
            Place::Device(address) => address,
        };
        let ptr = CUmemcpy3DOperand_op_ptr {
            ptr: address + first as u64,
            rowLength: pitch / self.unit(),
            layerHeight: rows,
            locHint: CUmemLocation::default(),
        };
        let op = CUmemcpy3DOperand_op { ptr };
        CUmemcpy3DOperand { type_: CUmemcpy3DOperandType::CU_MEMCPY_OPERAND_TYPE_POINTER, op }
    }
}
