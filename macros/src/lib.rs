//! Macros of the crate `cuda-launch`; use them through it, with its feature `macros`.

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

/// A typed module: reads the images of its kernels while the program compiles, and makes a method of each kernel.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_module};
///
/// #[cuda_module("../examples/kernels/typed.ptx")] // relative to the crate's folder; embedded in the program
/// mod kernels {
///     unsafe extern "C" {
///         /// c = a + b, elementwise. It compares all three lengths: safe to launch, whatever it is given.
///         pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
///         /// y = alpha * x + y for the first n elements. Nobody tells it where they end: the contract does.
///         #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
///         pub safe fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
///     }
/// }
///
/// let ctx = CudaContext::new(0)?;
/// let stream = ctx.new_stream()?;
/// let module = kernels::load(&ctx)?; // one look-up for each kernel, here and never again
/// let a = DeviceBuffer::from_host(&stream, &[1.0f32; 1024])?;
/// let mut c = DeviceBuffer::<f32>::zeroed(&stream, 1024)?;
/// let config = LaunchConfig::for_num_elems(1024);
/// module.vecadd(&stream, config, &a, &a, &mut c)?;
/// module.saxpy(&stream, config, 1024, 2.0, &a, &mut c)?;
/// assert_eq!(c.to_host_vec(&stream)?, [4.0; 1024]);
/// assert!(module.saxpy(&stream, config, 1025, 2.0, &a, &mut c).is_err_and(|e| e.is_contract_violation()));
/// # Ok::<(), cuda_launch::Error>(())
/// ```
///
/// # Images
/// The attribute takes one image or several, separated by commas: PTX, cubins and fatbins. A path is relative to the folder of
/// `Cargo.toml`; `concat!(env!("OUT_DIR"), "/kernels.ptx")` names what a build script made. When an image changes, the crate is
/// compiled again. `load` takes the best that the device runs: machine code for it, else the newest PTX that is not newer than
/// the device; an image that the driver refuses is passed over for the next one.
///
/// It also takes what an image is made of when the module is loaded, each with a feature of `cuda-launch`: CUDA C++ (`.cu`,
/// feature `nvrtc`), NVVM IR (`.ll`, `.bc`, feature `nvvm`) and LTO IR (`.ltoir`, feature `nvjitlink`). They serve where no image
/// does, in the order in which they are named; the libraries are found, and the results kept, as `load_kernel_module` does it. The
/// headers beside a source (`#include "x.h"`, through others too) are embedded with it; its kernels are declared `extern "C"` in it, or
/// named as the compiler mangles them. Nothing of a kernel in such a file is known while the program compiles: `load` compares the
/// parameters.
///
/// Last may come `crate = path`, where `cuda_launch` is renamed or re-exported.
///
/// # Kernels
/// The module holds one `unsafe extern "C"` block; everything else in it stays as it is. Each `fn` is a kernel of that name, or
/// of the one that `#[entry("name")]` gives, such as a mangled one. Docs, `cfg`, lints and visibility are the method's.
///
/// A `fn` becomes an `unsafe` method: duties 2 to 6 of `cuda_launch!` are the caller's. A `safe fn` becomes a safe method.
///
/// | declared | parameters | the method takes |
/// |---|---|---|
/// | `&[T]` | address, length in elements | `&` of a buffer, a view, or whatever is `DeviceSlice` |
/// | `&mut [T]` | address, length in elements | `&mut` of the same, if it is `DeviceSliceMut` |
/// | `&TextureObject`, `&SurfaceObject`, `&TensorMapObject` | the handle, or the tensor map | the same: what is behind it is ordered and kept as a slice is |
/// | `&mut SurfaceObject`, `&mut TensorMapObject` | the same | the same, of a kernel that writes through it |
/// | `&PitchedBuffer<T>`, `&mut PitchedBuffer<T>`; in a `safe fn` with a contract about width, height or length | address, pitch in bytes | the same |
/// | `*const T`, `*mut T`; in a `safe fn` with a contract about its length | the address | as for `&[T]` and `&mut [T]` |
/// | `DevicePtr<T>`, `DevicePtrMut<T>`; not in a `safe fn` | the address | the same, a number: nothing is borrowed, ordered or kept |
/// | any other `T: DeviceCopy`; in a `safe fn` `T: NoAddress` | the value | whatever is `KernelArgument<T>`: `T` itself, `&TextureObject` for a `TextureHandle`, types of yours |
/// | a type parameter | the value | any `Copy` type of the size that the kernel was compiled with, such as a closure; of no size for none |
///
/// What is passed for `*const T` and `*mut T` is borrowed, ordered and kept as what is passed for slices; only its length stays on the
/// host. So a `safe fn` takes it if conditions of its `#[launch_contract(requires = (..))]` ask for `x.len()` or `x.is_empty()` of each. An
/// address that may be null, or lies in memory that this crate does not know, is declared as `DevicePtr<T>`.
///
/// Objects borrow nothing of what is behind them, so a launch refuses two arguments of which one reaches what the kernel may write
/// through the other (`ErrorKind::Object`).
///
/// # What a `safe fn` promises
/// Whoever declares a kernel as `safe fn` promises, for every launch that the method's arguments and the launch contract allow: with
/// every length, also 0, every value of the arguments and of every element, and whatever the module's variables hold:
/// 1. Types: the parameters mean to the kernel what the declaration says.
/// 2. Bounds: it reads and writes nothing but its slices, inside their lengths, what lies at its addresses, inside the lengths that
///    the contract lets through, what its objects are of, and its module's own variables; never-written elements may be any bits. A number or an element is followed as an address or index nowhere but
///    where it was compared with a length.
/// 3. Writing: it writes only through `&mut`; what it is given as `&` stays as it is.
/// 4. Aliasing: its threads do not race with each other where the result would be more than an unspecified value of the element
///    type. Nobody else uses what is `&mut` meanwhile; what is `&` may be given twice, and be read by other launches.
/// 5. Validity: what it writes are values of the element type. `DeviceCopy` allows all bits, but what a type's own functions rely
///    on is to be kept.
/// 6. Dimensions: all of this holds for every grid, block, cluster and amount of dynamic shared memory that the contract does not
///    exclude: one thread or millions, blocks that are no multiple of anything, two or three dimensions, 0 bytes.
/// 7. Termination: it ends, and its blocks do not wait for each other unless it is a `#[cooperative_launch]`.
/// 8. Traps: it stops with no fault or failed assertion, which would end CUDA for the whole process.
///
/// That nothing which such a kernel takes is or holds an address or a handle is checked (`NoAddress`), since no kernel could promise
/// this with one: also behind aliases, in structs, and in the elements of slices.
///
/// A kernel that exists for several types is generic, with an entry for each:
/// `#[entry(f32 = "scale_f32", f64 = "scale_f64")] fn scale<T>(x: &mut [T], factor: T)`. Several type parameters are listed as
/// tuples, `(f32, u32) = ".."`. The types implement a trait named for the kernel, `ScaleElement`, for bounds of generic code.
///
/// # What is compared
/// While the program compiles, with every image: that the kernel is there, how many parameters it has, and the size, the alignment
/// of a struct and, where the image tells it, whether a number is a float. What differs is an error at the parameter that says
/// both sides. (Sources are compared only when they are loaded.) A closure is compared
/// where a launch fixes its type:
///
/// ```compile_fail,E0080
/// # use cuda_launch::{CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_module};
/// #[cuda_module("../examples/kernels/mix.ptx")]
/// mod kernels {
///     unsafe extern "C" {
///         pub fn apply<F: Fn(u32) -> u32>(f: F, out: &mut [u32]);
///     }
/// }
/// # fn launch(module: &kernels::Module, stream: &CudaStream, out: &mut DeviceBuffer<u32>) -> Result<(), Error> {
/// let k = 1u64; // the kernel was compiled with a closure of 4 bytes
/// unsafe { module.apply(stream, LaunchConfig::for_num_elems(8), move |i| i + k as u32, out) }
/// # }
/// # fn main() { let _ = launch as fn(&_, &_, &mut _) -> _; }
/// ```
///
/// When the module is loaded the same is compared with what the driver says of the kernel, once.
///
/// # What is written
/// In the module: `load(&CudaContext)`; with feature `async` of `cuda-launch` also `load_async(device)`, for the context of that
/// device which operations run in; `from_module(CudaModule)`, which is unsafe, for images that come from elsewhere; the
/// struct `Module`, a cheap handle, with a method for each kernel, `functions()` (a `CudaFunction` of each, to ask for limits and
/// attributes), `as_module()`, and `origin()`, which names the image that was loaded. A method takes the stream, a `LaunchConfig`, and the arguments.
///
/// # How a kernel is launched
/// - `#[cluster_launch(x, y, z)]`, `#[cooperative_launch]`, `#[attributes(Attribute::priority(-1), ..)]`: launch attributes.
/// - `#[launch_bounds(max_threads, min_blocks)]`: compared with the image; a larger block is refused.
/// - `#[launch_contract(block = (256, 1, 1), grid = (x, y, z), dynamic_shared = 0..=1024, requires = (a.len() == c.len(), n > 0))]`:
///   compared before each launch, in a few instructions. What is not met is an error with the condition and the values.
///   In `requires` slices and addresses answer `len()`, and values are those that the kernel gets.
///
/// # Variables
/// `static mut counts: [u32; 4];` is a `__device__` variable, `static LEVELS: [f32; 4];` a `__constant__` one; size and kind are
/// compared as those of parameters. `Module` gets `set_levels(&stream, value)`, `get_levels(&stream)`, and `levels()` for a
/// handle of the elements, `ModuleConstant<f32>` or `ModuleGlobal<u32>`.
#[proc_macro_attribute]
pub fn cuda_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    cuda_module::expand(arguments.into(), item.into()).into()
}
