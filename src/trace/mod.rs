//! Spans around calls of the driver, for feature `tracing`: how long the host is in a call, not how long the device works.
//!
//! Every call on a context comes through [`call`], the compilers through [`compile`], launches through [`launch`]. Without
//! the feature these functions only make the call; with it, and without a subscriber, each begins with one comparison.

/// The kernel of a launch, as far as a span says it.
#[cfg_attr(not(feature = "tracing"), allow(dead_code))]
pub(crate) trait Launched {
    /// The kernel's name.
    fn name(&self) -> &str;

    /// The number of its device.
    fn ordinal(&self) -> u32;
}

#[cfg(not(feature = "tracing"))]
mod off;
#[cfg(feature = "tracing")]
mod on;

#[cfg(not(feature = "tracing"))]
pub(crate) use off::*;
#[cfg(feature = "tracing")]
pub(crate) use on::*;
