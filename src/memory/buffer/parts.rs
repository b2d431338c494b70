//! Views split into chunks, and cast to other elements.

use std::fmt::Debug;
use std::iter::FusedIterator;
use std::ops::RangeBounds;

use super::DeviceBuffer;
use super::view::{DeviceView, DeviceViewMut};
use crate::error::{CastError, Error, ErrorKind};
use crate::memory::device_copy::DeviceCopy;

macro_rules! parts {
    ($view:ident, $chunks:ident, $exact:ident, $what:literal) => {
        impl<'a, T: DeviceCopy> $view<'a, T> {
            /// The first `mid` elements and the rest; `None` if `mid` is past the end.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert!(x.view().try_split_at(5).is_none());
            /// let (left, right) = x.view().try_split_at(1).unwrap();
            /// assert_eq!((left.len(), right.len()), (1, 3));
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn try_split_at(self, mid: usize) -> Option<(Self, Self)> {
                (mid <= self.len()).then(|| self.split_at(mid))
            }

            /// The first element, as a view of one; `None` if there is none.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.view().first().unwrap().to_host_vec(&stream)?, [1.0]);
            /// assert!(x.slice(4..).first().is_none());
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn first(self) -> Option<Self> {
                self.try_slice(..1)
            }

            /// The last element, as a view of one; `None` if there is none.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.view().last().unwrap().to_host_vec(&stream)?, [4.0]);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn last(self) -> Option<Self> {
                let len = self.len();
                self.try_slice(len.checked_sub(1)?..)
            }

            /// Chunks of `size` elements each; the last one may have fewer.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// let lengths: Vec<usize> = x.view().chunks(3).map(|chunk| chunk.len()).collect();
            /// assert_eq!(lengths, [3, 1]);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            ///
            /// # Panics
            /// If `size` is 0, as with slices; `try_chunks` does not panic.
            #[track_caller]
            pub fn chunks(self, size: usize) -> $chunks<'a, T> {
                assert!(size != 0, "chunks of 0 elements");
                $chunks { rest: Some(self), size }
            }

            /// Like `chunks`; `None` if `size` is 0.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert!(x.view().try_chunks(0).is_none());
            /// assert_eq!(x.view().try_chunks(2).unwrap().count(), 2);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn try_chunks(self, size: usize) -> Option<$chunks<'a, T>> {
                (size != 0).then(|| self.chunks(size))
            }

            /// Chunks of exactly `size` elements; fewer left over at the end are the remainder.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// let chunks = x.view().chunks_exact(3);
            /// assert_eq!((chunks.len(), chunks.into_remainder().len()), (1, 1));
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            ///
            /// # Panics
            /// If `size` is 0, as with slices; `try_chunks_exact` does not panic.
            #[track_caller]
            pub fn chunks_exact(self, size: usize) -> $exact<'a, T> {
                assert!(size != 0, "chunks of 0 elements");
                let whole = self.len() - self.len() % size;
                let (rest, remainder) = self.split_at(whole);
                $exact { chunks: rest.chunks(size), remainder }
            }

            /// Like `chunks_exact`; `None` if `size` is 0.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert!(x.view().try_chunks_exact(0).is_none());
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn try_chunks_exact(self, size: usize) -> Option<$exact<'a, T>> {
                (size != 0).then(|| self.chunks_exact(size))
            }

            /// The same bytes as elements of another type, if its size and alignment allow.
            ///
            /// Every bit pattern is valid for both types, so nothing else can be wrong. No driver call.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.view().cast::<u32>()?.to_host_vec(&stream)?[0], 1.0f32.to_bits());
            /// assert!(x.slice(..1).cast::<u64>().unwrap_err().is_out_of_bounds());
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            ///
            /// # Errors
            /// [`Error::is_out_of_bounds`] if the number of bytes is not a multiple of the element size, the address is
            /// misaligned, or one of the types is zero-sized.
            pub fn cast<U: DeviceCopy>(self) -> Result<$view<'a, U>, Error> {
                let len = cast_len::<T, U>(self.base(), self.byte_len())?;
                Ok($view::new(self.base(), len, self.allocation()))
            }
        }

        #[doc = $what]
        /// in chunks; the last may be shorter. Created by `chunks`.
        #[derive(Debug)]
        pub struct $chunks<'a, T: DeviceCopy> {
            // Never `None` between calls: a view is taken out, split, and its rest put back.
            rest: Option<$view<'a, T>>,
            size: usize,
        }

        impl<'a, T: DeviceCopy> Iterator for $chunks<'a, T> {
            type Item = $view<'a, T>;

            fn next(&mut self) -> Option<Self::Item> {
                let rest = self.rest.take().filter(|rest| !rest.is_empty())?;
                let size = self.size.min(rest.len());
                let (chunk, rest) = rest.split_at(size);
                self.rest = Some(rest);
                Some(chunk)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                let len = self.rest.as_ref().map_or(0, |rest| rest.len().div_ceil(self.size));
                (len, Some(len))
            }
        }

        impl<T: DeviceCopy> DoubleEndedIterator for $chunks<'_, T> {
            fn next_back(&mut self) -> Option<Self::Item> {
                let rest = self.rest.take().filter(|rest| !rest.is_empty())?;
                let mid = (rest.len() - 1) / self.size * self.size;
                let (rest, chunk) = rest.split_at(mid);
                self.rest = Some(rest);
                Some(chunk)
            }
        }

        impl<T: DeviceCopy> ExactSizeIterator for $chunks<'_, T> {}
        impl<T: DeviceCopy> FusedIterator for $chunks<'_, T> {}

        #[doc = $what]
        /// in chunks of one size. Created by `chunks_exact`.
        #[derive(Debug)]
        pub struct $exact<'a, T: DeviceCopy> {
            chunks: $chunks<'a, T>,
            remainder: $view<'a, T>,
        }

        impl<'a, T: DeviceCopy> $exact<'a, T> {
            /// The elements after the last whole chunk.
            ///
            /// ```
            /// use cuda_launch::{CudaContext, DeviceBuffer};
            /// # let ctx = CudaContext::new(0)?;
            /// # let stream = ctx.new_stream()?;
            /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
            /// assert_eq!(x.view().chunks_exact(3).into_remainder().to_host_vec(&stream)?, [4.0]);
            /// # Ok::<(), cuda_launch::Error>(())
            /// ```
            pub fn into_remainder(self) -> $view<'a, T> {
                self.remainder
            }
        }

        impl<'a, T: DeviceCopy> Iterator for $exact<'a, T> {
            type Item = $view<'a, T>;

            fn next(&mut self) -> Option<Self::Item> {
                self.chunks.next()
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                self.chunks.size_hint()
            }
        }

        impl<T: DeviceCopy> DoubleEndedIterator for $exact<'_, T> {
            fn next_back(&mut self) -> Option<Self::Item> {
                self.chunks.next_back()
            }
        }

        impl<T: DeviceCopy> ExactSizeIterator for $exact<'_, T> {}
        impl<T: DeviceCopy> FusedIterator for $exact<'_, T> {}
    };
}

parts!(DeviceView, Chunks, ChunksExact, "Elements of device memory, to read,");
parts!(DeviceViewMut, ChunksMut, ChunksExactMut, "Elements of device memory, to write,");

impl<T: DeviceCopy> DeviceBuffer<T> {
    /// Like [`DeviceBuffer::split_at`]; `None` if `mid` is past the end.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert!(x.try_split_at(5).is_none() && x.try_split_at(4).is_some());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_split_at(&self, mid: usize) -> Option<(DeviceView<'_, T>, DeviceView<'_, T>)> {
        self.view().try_split_at(mid)
    }

    /// Like [`DeviceBuffer::split_at_mut`]; `None` if `mid` is past the end.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// if let Some((mut left, right)) = x.try_split_at_mut(2) {
    ///     left.copy_from_device(&stream, &right)?;
    /// }
    /// assert_eq!(x.to_host_vec(&stream)?, [3.0, 4.0, 3.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    pub fn try_split_at_mut(&mut self, mid: usize) -> Option<(DeviceViewMut<'_, T>, DeviceViewMut<'_, T>)> {
        self.view_mut().try_split_at(mid)
    }

    /// Chunks of `size` elements, for reading; the last may have fewer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let buffer = DeviceBuffer::from_host(&stream, &[1u8, 2, 3, 4, 5])?;
    /// let lengths: Vec<usize> = buffer.chunks(2).map(|chunk| chunk.len()).collect();
    /// assert_eq!(lengths, [2, 2, 1]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0, as with slices; [`DeviceView::try_chunks`] does not panic.
    #[track_caller]
    pub fn chunks(&self, size: usize) -> Chunks<'_, T> {
        self.view().chunks(size)
    }

    /// Chunks of `size` elements, for writing; the last may have fewer.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// for mut pair in x.chunks_mut(2) {
    ///     pair.copy_from_host(&stream, &[0.0, 1.0])?;
    /// }
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0, as with slices; [`DeviceViewMut::try_chunks`] does not panic.
    #[track_caller]
    pub fn chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        self.view_mut().chunks(size)
    }

    /// Chunks of exactly `size` elements, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.chunks_exact(3).count(), 1);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0, as with slices; [`DeviceView::try_chunks_exact`] does not panic.
    #[track_caller]
    pub fn chunks_exact(&self, size: usize) -> ChunksExact<'_, T> {
        self.view().chunks_exact(size)
    }

    /// Chunks of exactly `size` elements, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// for mut chunk in x.chunks_exact_mut(3) {
    ///     chunk.set_zero(&stream)?;
    /// }
    /// assert_eq!(x.to_host_vec(&stream)?, [0.0, 0.0, 0.0, 4.0]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0, as with slices; [`DeviceViewMut::try_chunks_exact`] does not panic.
    #[track_caller]
    pub fn chunks_exact_mut(&mut self, size: usize) -> ChunksExactMut<'_, T> {
        self.view_mut().chunks_exact(size)
    }

    /// All bytes as elements of another type, for reading.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// let stream = CudaContext::new(0)?.new_stream()?;
    /// let words = DeviceBuffer::from_host(&stream, &[0x0403_0201u32, 0x0807_0605])?;
    /// assert_eq!(words.cast::<[u16; 2]>()?.to_host_vec(&stream)?, [[0x0201, 0x0403], [0x0605, 0x0807]]);
    /// let error = words.cast::<[u8; 3]>().unwrap_err();
    /// assert!(error.to_string().contains("8 bytes are not a multiple of the element size, 3"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceView::cast`].
    pub fn cast<U: DeviceCopy>(&self) -> Result<DeviceView<'_, U>, Error> {
        self.view().cast()
    }

    /// All bytes as elements of another type, for writing.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.cast_mut::<u32>()?.fill(&stream, 2.5f32.to_bits())?;
    /// assert_eq!(x.to_host_vec(&stream)?, [2.5; 4]);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`DeviceViewMut::cast`].
    pub fn cast_mut<U: DeviceCopy>(&mut self) -> Result<DeviceViewMut<'_, U>, Error> {
        self.view_mut().cast()
    }

    /// The elements of `range`, to read, or an error with the range and the length.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// assert_eq!(x.get(1..2)?.len(), 1);
    /// assert!(x.get(3..9).unwrap_err().is_out_of_bounds());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`].
    pub fn get(&self, range: impl RangeBounds<usize> + Clone + Debug) -> Result<DeviceView<'_, T>, Error> {
        self.try_slice(range.clone()).ok_or_else(|| out_of_range(&range, self.len()))
    }

    /// The elements of `range`, to write, or an error with the range and the length.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, DeviceBuffer};
    /// # let ctx = CudaContext::new(0)?;
    /// # let stream = ctx.new_stream()?;
    /// # let mut x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0])?;
    /// x.get_mut(..2)?.set_zero(&stream)?;
    /// assert!(x.get_mut(5..).is_err());
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::is_out_of_bounds`].
    pub fn get_mut(
        &mut self,
        range: impl RangeBounds<usize> + Clone + Debug,
    ) -> Result<DeviceViewMut<'_, T>, Error> {
        let len = self.len();
        self.try_slice_mut(range.clone()).ok_or_else(|| out_of_range(&range, len))
    }
}

#[cold]
fn out_of_range(range: &dyn Debug, len: usize) -> Error {
    ErrorKind::Range(crate::error::IndexRange { range: format!("{range:?}"), len }).into()
}

/// The number of `U` elements that these bytes hold.
fn cast_len<T, U>(address: u64, bytes: usize) -> Result<usize, Error> {
    let (from, to) = (std::any::type_name::<T>(), std::any::type_name::<U>());
    let (size, align) = (size_of::<U>(), align_of::<U>());
    let whole = if size == 0 { bytes == 0 && size_of::<T>() == 0 } else { bytes.is_multiple_of(size) };
    if !whole {
        return Err(ErrorKind::Cast(CastError::Size { from, to, bytes, size }).into());
    }
    if !address.is_multiple_of(align as u64) {
        return Err(ErrorKind::Cast(CastError::Alignment { from, to, address, align }).into());
    }
    Ok(bytes.checked_div(size).unwrap_or(0))
}
