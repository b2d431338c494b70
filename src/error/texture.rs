//! Textures, surfaces and tensor maps that cannot be made; the driver was not called.

use std::fmt;

/// A texture or surface that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextureError {
    /// Only floating-point elements can be filtered.
    LinearFilterOfIntegers {
        /// The element.
        element: &'static str,
    },
    /// The array was not created for surfaces.
    NoSurface,
}

impl fmt::Display for TextureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LinearFilterOfIntegers { element } => write!(
                f,
                "linear filtering of {element}, which is read as an integer\n  help: filter with FilterMode::Point, or read it \
                 as a fraction (8 and 16 bits, without TextureFlags::READ_AS_INTEGER)"
            ),
            Self::NoSurface => {
                f.write_str("the array was made without ArrayFlags::SURFACE, so kernels cannot write to it")
            }
        }
    }
}

impl std::error::Error for TextureError {}

/// A tensor map that the hardware does not support.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorMapError {
    /// Which value is wrong, with its dimension.
    pub what: String,
    /// The value.
    pub value: String,
    /// What it is required to be.
    pub rule: String,
}

impl fmt::Display for TensorMapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, value, rule } = self;
        write!(f, "tensor map: {what} is {value}; {rule}")
    }
}

impl std::error::Error for TensorMapError {}
