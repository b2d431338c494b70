//! What kernels are loaded from.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// A kernel image in memory: a text, which is PTX, or bytes, which may be PTX, a cubin or a fatbin.
///
/// It is implemented for strings and for bytes, by value and behind references. Of other types that have bytes, such as a mapped file, pass
/// a slice: `&map[..]`.
///
/// A program that loads only texts does not contain the code that reads cubins and fatbins: pass PTX as a string where you have it as one.
///
/// ```standalone_crate
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let text = include_str!("../../examples/kernels/fill.ptx");
/// assert!(ctx.load_module(text)?.load_function("fill").is_ok());
/// assert!(ctx.load_module(text.as_bytes())?.load_function("fill").is_ok());
/// # Ok::<(), cuda_launch::Error>(())
/// ```
pub trait KernelImage {
    /// Whether it can be nothing but PTX: a cubin or a fatbin is then refused.
    const IS_TEXT: bool;

    /// The bytes, with or without a NUL at the end of a text.
    fn bytes(&self) -> &[u8];
}

macro_rules! images {
    ($($ty:ty, $is_text:literal;)*) => {
        $(
            impl KernelImage for $ty {
                const IS_TEXT: bool = $is_text;

                fn bytes(&self) -> &[u8] {
                    self.as_ref()
                }
            }
        )*
    };
}

images! {
    str, true;
    String, true;
    [u8], false;
    Vec<u8>, false;
}

impl<const N: usize> KernelImage for [u8; N] {
    const IS_TEXT: bool = false;

    fn bytes(&self) -> &[u8] {
        self
    }
}

macro_rules! pointers {
    ($($ty:ty;)*) => {
        $(
            impl<T: KernelImage + ?Sized> KernelImage for $ty {
                const IS_TEXT: bool = T::IS_TEXT;

                fn bytes(&self) -> &[u8] {
                    (**self).bytes()
                }
            }
        )*
    };
}

pointers! {
    &T;
    Box<T>;
    Rc<T>;
    Arc<T>;
}

impl<T: KernelImage + ToOwned + ?Sized> KernelImage for Cow<'_, T> {
    const IS_TEXT: bool = T::IS_TEXT;

    fn bytes(&self) -> &[u8] {
        (**self).bytes()
    }
}
