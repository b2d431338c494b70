//! How handles are printed: one line each, with the device and the driver's handle, and without their internals.

use std::any::type_name;
use std::fmt::{Debug, Formatter, Result};

use crate::driver::{
    AnyEvent, CudaContext, CudaFunction, CudaLibrary, CudaModule, CudaStream, Kernel, LibraryKernel,
};
#[cfg(feature = "graph")]
use crate::graph::{CudaGraph, GraphExec};

macro_rules! show {
    ($($handle:ident { $($field:ident: $value:expr),* $(,)? })*) => {$(
        impl Debug for $handle {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                f.debug_struct(stringify!($handle))$(.field(stringify!($field), &$value(self)))*.finish()
            }
        }
    )*};
}

show! {
    CudaContext { device: Self::ordinal, raw: Self::raw }
    CudaStream { device: |s: &Self| s.context().ordinal(), raw: Self::raw }
    AnyEvent { device: |e: &Self| e.context().ordinal(), raw: Self::raw }
    CudaModule { origin: Self::origin, device: |m: &Self| m.context().ordinal(), raw: Self::raw }
    CudaFunction { name: Self::name, device: |f: &Self| f.context().ordinal(), raw: Self::raw }
    Kernel { name: Self::name, device: |k: &Self| k.context().ordinal(), raw: Self::raw }
    CudaLibrary { origin: Self::origin, raw: Self::raw }
    LibraryKernel { name: Self::name, raw: Self::raw }
}

#[cfg(feature = "graph")]
show! {
    CudaGraph { device: |g: &Self| g.context().ordinal(), raw: Self::raw }
    GraphExec { device: |g: &Self| g.context().ordinal(), raw: Self::raw }
}

/// The same for device memory of elements of `T`.
pub(crate) fn elements<T>(
    f: &mut Formatter<'_>,
    name: &str,
    address: u64,
    len: usize,
    context: &CudaContext,
) -> Result {
    f.debug_struct(&format!("{name}<{}>", type_name::<T>()))
        .field("device", &context.ordinal())
        .field("address", &format_args!("{address:#x}"))
        .field("len", &len)
        .finish()
}
