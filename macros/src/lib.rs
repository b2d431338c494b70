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
/// # Requirements on the struct
/// - `#[repr(C)]`, or `#[repr(transparent)]` for a wrapper of one field: Rust may reorder the fields of other structs,
///   so the kernel could not know their order. `align(N)` and `packed` may be used with `C`; then the kernel's struct
///   must be declared with the same attribute (`__align__(N)`, `__attribute__((packed))`).
/// - `Clone` and `Copy`, which are derived too.
/// - The type of each field is `DeviceCopy`. Write `u8` for `bool`, `u32` for `char` and enums, `DevicePtr<T>` or
///   `DevicePtrMut<T>` for pointers.
/// - No lifetimes: a borrow refers to host memory, which the device cannot access.
///
/// Enums and unions are refused, because a kernel may write bits that are not one of their values. `byval(x)` can pass
/// one to a kernel.
///
/// A type parameter gets the bound `T: DeviceCopy`, as with other derives. For a field whose type is only named through a
/// parameter (`T::Item`), put the bound in the struct's own `where` clause.
///
/// # Deriving is a promise
/// The device writes such a struct byte by byte, so your code must be able to handle every value of every field, as
/// if the fields were public. The compiler cannot see invariants between them.
///
/// # Another name for the crate
/// `#[device_copy(crate = path)]` next to the derive gives the path of `cuda_launch`, if the crate is renamed or
/// re-exported.
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

/// A typed module: reads the images of its kernels at compile time, and generates a method for each kernel.
///
/// ```
/// use cuda_launch::{CudaContext, DeviceBuffer, LaunchConfig, cuda_module};
///
/// #[cuda_module("../examples/kernels/typed.ptx")] // relative to the crate's folder; embedded in the program
/// mod kernels {
///     unsafe extern "C" {
///         /// c = a + b, elementwise. It compares all three lengths, so it is safe with any arguments.
///         pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
///         /// y = alpha * x + y for the first n elements. The contract ensures that they exist.
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
/// `Cargo.toml`; `concat!(env!("OUT_DIR"), "/kernels.ptx")` names a file that a build script created. When an image changes, the crate is
/// compiled again. `load` uses the best image that the device can run: machine code for it, otherwise the newest PTX that is not newer than
/// the device; if the driver refuses an image, the next one is tried.
///
/// It also accepts sources that are compiled when the module is loaded, each with a feature of `cuda-launch`: CUDA C++ (`.cu`,
/// feature `nvrtc`), NVVM IR (`.ll`, `.bc`, feature `nvvm`) and LTO IR (`.ltoir`, feature `nvjitlink`). They are used if no image
/// fits, in the order in which they are named; the libraries are found, and the results cached, as by `load_kernel_module`. The headers
/// beside a source (`#include "x.h"`, also indirectly) are embedded with it. Its kernels must be declared `extern "C"`, or be named
/// with their mangled names. Nothing about a kernel in such a file is known at compile time: `load` compares the parameters.
///
/// The last argument may be `crate = path`, if `cuda_launch` is renamed or re-exported.
///
/// # Kernels
/// The module contains one `unsafe extern "C"` block; everything else in it is left unchanged. Each `fn` is a kernel of that name, or
/// of the name given by `#[entry("name")]`, such as a mangled one. Docs, `cfg`, lints and visibility apply to the method.
///
/// A `fn` becomes an `unsafe` method: duties 2 to 6 of `cuda_launch!` are the caller's. A `safe fn` becomes a safe method.
///
/// | declared | parameters | the method takes |
/// |---|---|---|
/// | `&[T]` | address, length in elements | `&` of a buffer, a view, or any `DeviceSlice` |
/// | `&mut [T]` | address, length in elements | `&mut` of the same, if it is `DeviceSliceMut` |
/// | `&TextureObject`, `&SurfaceObject`, `&TensorMapObject` | the handle, or the tensor map | the same: the memory behind it is ordered and kept alive like a slice |
/// | `&mut SurfaceObject`, `&mut TensorMapObject` | the same | the same, for a kernel that writes through it |
/// | `&PitchedBuffer<T>`, `&mut PitchedBuffer<T>`; in a `safe fn` with a contract about width, height or length | address, pitch in bytes | the same |
/// | `*const T`, `*mut T`; in a `safe fn` with a contract about its length | the address | as for `&[T]` and `&mut [T]` |
/// | `DevicePtr<T>`, `DevicePtrMut<T>`; not in a `safe fn` | the address | the same, a number: nothing is borrowed, ordered or kept alive |
/// | any other `T: DeviceCopy`; in a `safe fn` `T: NoAddress` | the value | any `KernelArgument<T>`: `T` itself, `&TextureObject` for a `TextureHandle`, your own types |
/// | a type parameter | the value | any `Copy` type of the size that the kernel was compiled with, such as a closure; a type of size 0 if there is no parameter |
///
/// Memory passed for `*const T` and `*mut T` is borrowed, ordered and kept alive like that passed for slices; only its length stays on the
/// host. So a `safe fn` accepts it if conditions of its `#[launch_contract(requires = (..))]` use `x.len()` or `x.is_empty()` of each. An
/// address that may be null, or points to memory that this crate does not track, is declared as `DevicePtr<T>`.
///
/// Objects do not borrow the memory behind them, so a launch refuses two arguments if one reaches memory that the kernel may write
/// through the other (`ErrorKind::Object`).
///
/// # What a `safe fn` promises
/// By declaring a kernel as `safe fn` you promise, for every launch that the method's arguments and the launch contract allow: with
/// every length, including 0, every value of the arguments and of every element, and any contents of the module's variables, which may
/// change while it runs:
/// 1. Types: the kernel's parameters are what the declaration says.
/// 2. Bounds: it reads and writes only its slices, inside their lengths, memory at its addresses, inside the lengths that
///    the contract allows, memory of its objects, and its module's own variables; uninitialised elements may have any bits. It uses a number or an element as an address or index only
///    after comparing it with a length.
/// 3. Writing: it writes only through `&mut`; memory passed as `&` is not changed.
/// 4. Aliasing: its threads do not race with each other in a way that results in more than an unspecified value of the element
///    type. Nothing else uses `&mut` memory meanwhile, also in a graph; `&` memory may be passed twice, and be read by other launches.
///    Variables that it uses by name have no such protection: what is passed orders a launch, and they are not passed. Copies to a
///    handle of the variable and other launches may write them at any time, so a value that was compared with a length is not read again.
/// 5. Validity: it writes only values of the element type. `DeviceCopy` allows all bits, but invariants that a type's own functions rely
///    on must be kept.
/// 6. Dimensions: all of this holds for every grid, block, cluster and amount of dynamic shared memory that the contract does not
///    exclude: one thread or millions, blocks of any size, two or three dimensions, 0 bytes.
/// 7. Termination: it ends, and its blocks do not wait for each other unless it is a `#[cooperative_launch]`.
/// 8. Traps: it never stops with a fault or a failed assertion, after which the whole process could not use CUDA.
/// 9. Early starts: declared with an attribute that lets it begin before earlier work of its stream is done
///    (`programmatic_stream_serialization`, `programmatic_event`), each of its threads executes `griddepcontrol.wait` before it uses
///    memory, and before it ends.
///
/// The macro checks that no argument of such a kernel is or contains an address or a handle (`NoAddress`), since no kernel could promise
/// this with one; also behind aliases, in structs, and in the elements of slices.
///
/// A kernel that exists for several types is generic, with an entry for each:
/// `#[entry(f32 = "scale_f32", f64 = "scale_f64")] fn scale<T>(x: &mut [T], factor: T)`. Several type parameters are listed as
/// tuples, `(f32, u32) = ".."`. The types implement a trait named after the kernel, `ScaleElement`, for bounds of generic code.
///
/// # What is compared
/// At compile time, with every image: that the kernel exists, how many parameters it has, and the size, the alignment
/// of a struct and, if the image says so, whether a number is a float. A difference is an error at the parameter, which shows
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
/// When the module is loaded, the same is compared once with what the driver reports about the kernel.
///
/// # What is generated
/// In the module: `load(&CudaContext)`; with feature `async` of `cuda-launch` also `load_async(device)`, for the context of that
/// device which operations run in; `from_module(CudaModule)`, which is unsafe, for images that come from elsewhere; the
/// struct `Module`, a cheap handle, with a method for each kernel, `functions()` (a `CudaFunction` of each, to ask for limits and
/// attributes), `as_module()`, and `origin()`, which names the image that was loaded. A method takes the stream, a `LaunchConfig`, and the arguments.
///
/// # How a kernel is launched
/// - `#[cluster_launch(x, y, z)]`, `#[cooperative_launch]`, `#[attributes(Attribute::priority(-1), ..)]`: launch attributes.
/// - `#[launch_bounds(max_threads, min_blocks)]`: compared with the image; a larger block is refused.
/// - `#[launch_contract(block = (256, 1, 1), grid = (x, y, z), dynamic_shared = 0..=1024, requires = (a.len() == c.len(), n > 0))]`:
///   checked before each launch, in a few instructions. If a condition is not met, the error shows it with the values.
///   In `requires`, slices and addresses have `len()`, and values are those that the kernel receives.
///
/// # Variables
/// `static mut counts: [u32; 4];` is a `__device__` variable, `static LEVELS: [f32; 4];` a `__constant__` one; size and kind are
/// compared as those of parameters. `Module` gets `set_levels(&stream, value)`, `get_levels(&stream)`, and `levels()` for a
/// handle of the elements, `ModuleConstant<f32>` or `ModuleGlobal<u32>`.
///
/// A launch is not ordered by the variables that its kernel uses by name: whether the image of a kernel mentions one is not known. `set_levels`
/// returns when the value is there, so launches after it find it; kernels that are already running may find either value. Pass the handle
/// as an argument, or use one stream, where that matters.
#[proc_macro_attribute]
pub fn cuda_module(arguments: TokenStream, item: TokenStream) -> TokenStream {
    cuda_module::expand(arguments.into(), item.into()).into()
}
