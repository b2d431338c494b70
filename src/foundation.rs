//! The parts from which a framework builds its own launches: argument lists, the packet, one `submit`, and submissions ordered against
//! all other work.
//!
//! A list of arguments is a type, `Cons<A, Cons<B, Nil>>`; [`kernel_args!`](crate::kernel_args) writes one. [`submit`] checks it
//! against the kernel and launches; [`submit_with`] orders work that another library submits; [`Packet`] is just the `void**`, for a
//! driver call of your own.
//! Raw handles can be passed both ways: each type of this crate has `raw`, and `from_raw` if it can own one; memory that you
//! allocated becomes a buffer by [`DeviceBuffer::from_foreign`](crate::DeviceBuffer::from_foreign), which keeps its owner, or by
//! [`DeviceBuffer::from_raw_parts`](crate::DeviceBuffer::from_raw_parts), which takes its
//! [ownership](crate::interop::RawOwnership). A tensor of your own is an argument once it implements
//! [`DeviceSlice`](crate::DeviceSlice).
//!
//! ```
//! use cuda_launch::foundation::{submit, Cons, Nil, Packet, Pointer, Value};
//! use cuda_launch::{CudaContext, DeviceBuffer, DeviceSliceMut, LaunchConfig, kernel_args, load_kernel_module};
//! let ctx = CudaContext::new(0)?;
//! let stream = ctx.new_stream()?;
//! let fill = load_kernel_module(&ctx, "fill")?.load_function("fill")?;
//! let mut out = DeviceBuffer::<u32>::uninit(&stream, 100)?;
//! let config = LaunchConfig::for_num_elems(100);
//! // SAFETY: 1: fill takes a pointer to 100 numbers, their count and a value, writes any `u32`, and ends; `out` is
//! // ordered; 2: the handle keeps the module.
//! unsafe { submit(fill.kernel(), &stream, config, &[], &[], kernel_args![ptr_mut(out), 100u32, 7u32]) }?;
//! assert_eq!(out.to_host_vec(&stream)?, [7; 100]);
//!
//! let list = Cons(Pointer::<u32, true>(out.parts_mut()), Cons(Value(&100u32), Cons(Value(&8u32), Nil)));
//! let mut packet = Packet::new(&list); // what `submit` gives to `cuLaunchKernelEx`
//! assert!(!packet.kernel_params().is_null());
//! # Ok::<(), cuda_launch::Error>(())
//! ```
//!
//! [`docs/foundation.md`](https://github.com/cuda-launch/cuda-launch/blob/main/docs/foundation.md) explains all of it, with programs:
//! a driver, launches, calls, handles, memory, operations and policies of your own.

pub use crate::launch::args::{
    ArgumentList, Bits, Cons, Memory, Name, Nil, Object, ParameterType, Pointer, Role, Rows, Signature,
    Slice, Value,
};
pub use crate::launch::foreign::submit_with;
pub use crate::launch::packet::Packet;
pub use crate::launch::record::Report;
pub use crate::launch::submit::submit;
pub use crate::ordering::Submission;
