//! Textures, surfaces and tensor maps that cannot be made; the driver was not called.

use thiserror::Error;

/// A texture or surface that cannot be made.
#[cfg(feature = "texture")]
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextureError {
    /// Only floating-point elements can be filtered.
    #[error(
        "linear filtering of {element}, which is read as an integer\n  help: filter with FilterMode::Point, or read it \
         as a fraction (8 and 16 bits, without TextureFlags::READ_AS_INTEGER)"
    )]
    LinearFilterOfIntegers {
        /// The element.
        element: &'static str,
    },
    /// The array was not created for surfaces.
    #[error(
        "the array was made without ArrayFlags::SURFACE, so kernels cannot write to it\n  help: pass that flag to `CudaArray::new`"
    )]
    NoSurface,
    /// Sparse arrays and those with deferred mapping have no memory until some is mapped to them, which this crate cannot see; work
    /// that uses such an array before would fault.
    #[error(
        "the flags {flags:#x} make an array without memory, to which some is mapped later\n  help: leave out 0x40 (sparse) and 0x80 \
         (deferred mapping), or make the array by raw calls and wrap it with `CudaArray::from_raw`"
    )]
    MappedLater {
        /// The flags.
        flags: u32,
    },
}

/// A tensor map that the hardware does not support.
#[cfg(feature = "tensor")]
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("tensor map: {what} is {value}; {rule}")]
#[non_exhaustive]
pub struct TensorMapError {
    /// Which value is wrong, with its dimension.
    pub what: String,
    /// The value.
    pub value: String,
    /// What it is required to be.
    pub rule: String,
}
