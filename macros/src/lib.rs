//! Macros of the crate `cuda-launch`; use them through it, with its feature `derive`.

mod cuda_module;
mod device_copy;
mod problems;

use proc_macro::TokenStream;

/// Derives the trait `DeviceCopy`, so that a struct of plain data can be an argument of a kernel or the element of a
/// buffer.
///
/// ```
/// use cuda_launch::{DeviceCopy, DevicePtr};
///
/// #[repr(C)]
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Params {
///     scale: f32,
///     bias: f64,
///     index: [i32; 4],
///     table: DevicePtr<f32>,
/// }
///
/// #[repr(C, align(16))]
/// #[derive(Clone, Copy, DeviceCopy)]
/// struct Matrix<T, const N: usize>([[T; N]; N]);
///
/// fn is_plain<T: DeviceCopy>() {}
/// is_plain::<Params>();
/// is_plain::<Matrix<Params, 3>>();
/// ```
///
/// # What it asks of the struct
/// - `#[repr(C)]`, or `#[repr(transparent)]` for a wrapper of one field: Rust orders the fields of other structs as it likes,
///   and the kernel could not know how. `align(N)` and `packed` may stand beside `C`, and then the kernel's struct
///   must be declared with the same (`__align__(N)`, `__attribute__((packed))`).
/// - `Clone` and `Copy`, which are derived too.
/// - The type of each field is `DeviceCopy`. Write `u8` for `bool`, `u32` for `char` and enums, `DevicePtr<T>` or
///   `DevicePtrMut<T>` for pointers.
/// - No lifetimes: a borrow is of host memory, which the device cannot follow.
///
/// Enums and unions are refused: what a kernel writes need not be one of their values. `byval(x)` passes one to a kernel.
///
/// A type parameter gets the bound `T: DeviceCopy`, as other derives do it. For a field whose type is only named through a
/// parameter (`T::Item`), put the bound in the struct's own `where` clause.
///
/// # Deriving is a promise
/// The device writes such a struct byte by byte, so every value of every field must be one that your code can live with, as
/// if the fields were public. The compiler cannot see invariants between them.
///
/// # Another name for the crate
/// `#[device_copy(crate = path)]` beside the derive says where `cuda_launch` is, if it is renamed or re-exported.
///
/// ```
/// mod gpu {
///     pub use cuda_launch as launch;
/// }
///
/// #[repr(transparent)]
/// #[derive(Clone, Copy, gpu::launch::DeviceCopy)]
/// #[device_copy(crate = crate::gpu::launch)]
/// struct Celsius(f32);
/// # fn main() {}
/// ```
#[proc_macro_derive(DeviceCopy, attributes(device_copy))]
pub fn device_copy(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    device_copy::expand(input).unwrap_or_else(|error| error.into_compile_error()).into()
}

/// A typed module: reads the image of the kernels while the program compiles.
#[proc_macro_attribute]
pub fn cuda_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    cuda_module::expand(arguments.into(), item.into()).into()
}
