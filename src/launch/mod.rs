//! The path of a launch: arguments, packet, configuration and attributes, check, submission.
//!
//! # Words for arguments
//! The words for arguments are the same in every way to launch:
//!
//! | parameters of the kernel | [`cuda_launch!`](crate::cuda_launch), `cuda_launch_async!`, `kernel_args!` | `#[cuda_module]` declares | [`LaunchBuilder`], `AsyncKernelLaunch` | `LaunchPlan`, [`PreparedLaunch`], `OperationGraph` |
//! |---|---|---|---|---|
//! | address and length in elements, read | `slice(x)` | `&[T]` | `.slice(&x)` | `set_slice` |
//! | the same, written | `slice_mut(x)` | `&mut [T]` | `.slice_mut(&mut x)` | `set_slice_mut` |
//! | address and pitch in bytes of a [`PitchedBuffer`](crate::memory::PitchedBuffer), read | `pitched(x)` | `&PitchedBuffer<T>` | `.pitched(&x)` | `set_pitched` |
//! | the same, written | `pitched_mut(x)` | `&mut PitchedBuffer<T>` | `.pitched_mut(&mut x)` | `set_pitched_mut` |
//! | address, read | `ptr(x)` | `*const T` | `.ptr(&x)` | `set_ptr` |
//! | address, written | `ptr_mut(x)` | `*mut T` | `.ptr_mut(&mut x)` | `set_ptr_mut` |
//! | a plain value | `x` | `T` | `.value(&x)` | `set` |
//! | any `Copy` value | `byval(x)` | a type parameter | `.byval(&x)` | `set_byval` |
//! | any of them, by a name | `named("n", ..)` | | `.named("n", ..)` | the name |
//!
//! [`slice`](fn@slice), [`slice_mut`], [`pitched`], [`pitched_mut`], [`ptr`], [`ptr_mut`], [`value`] and [`byval`] are also functions,
//! whose results `.arg(..)` and `.named("n", ..)` take. Short forms known from other crates exist, too: `.arg(&x)` and `.arg(&mut x)` pass
//! a buffer's address or a value, as in cudarc; `push_arg(x)` and `push_device_ptr(address)` of `AsyncKernelLaunch` work as in cuda-async.

// The files:
//
// | file | stage |
// |---|---|
// | `args` | what one argument is; a list of them as a type, with its static `Signature` |
// | `packet` | the array of argument pointers that `cuLaunchKernelEx` takes, on the stack |
// | `config`, `attributes` | grid, block, shared memory; every launch attribute of the driver |
// | `stream_attributes` | the launch attributes that streams have, too |
// | `device_node` | the handle of a graph node that kernels may update |
// | `check`, `refused` | compares the list with the kernel's parameters, dimensions with limits; explains what the driver refused |
// | `submit` | the one place that calls `cuLaunchKernelEx` |
// | `foreign` | work that other code submits, ordered like a launch |
// | `record` | what a capture keeps of a launch that is recorded instead of run |
// | `builder` | the builder: the list and the packet gathered one argument at a time |
// | `inline_vec` | its storage, which needs no heap for the usual number of arguments |
// | `launch_arguments` | what a launch needs to know about its arguments, from a macro, a builder or a prepared launch |
// | `lent` | a handle that is borrowed by copying its pointer |
// | `stored` | the builder's list with its values in it, for launches that happen later |
// | `node` | a checked kernel with its arguments as a value, for graphs |
// | `prepared`, `named` | a checked launch that is submitted many times; arguments that are set by name |
// | `timed` | a launch between two events |
// | `profile` | what launches do, counted by the emulator |
// | `site` | what a call site remembers, so that a warm launch looks nothing up; the types accepted by each field |
// | `macros` | `cuda_launch!`, which puts these together |
// | `async_macros` | `cuda_launch_async!`, the same as an operation |
// | `typed*` | what `#[cuda_module]` is made of: the methods, the loader, contracts, sizes compared by the compiler |

pub(crate) mod args;
#[cfg(feature = "async")]
mod async_macros;
pub(crate) mod attributes;
pub(crate) mod builder;
mod check;
mod cluster;
mod config;
mod device_node;
pub(crate) mod foreign;
mod guess;
mod inline_vec;
mod kernel_argument;
mod launch_arguments;
mod lent;
mod macros;
pub(crate) mod named;
pub(crate) mod node;
pub(crate) mod packet;
mod prepared;
#[cfg(feature = "emulator")]
pub(crate) mod profile;
pub(crate) mod record;
mod refused;
pub(crate) mod site;
#[cfg(feature = "async")]
pub(crate) mod stored;
mod stream_attributes;
pub(crate) mod submit;
mod timed;
#[cfg(feature = "macros")]
pub(crate) mod typed;

pub use attributes::{
    AccessPolicyWindow, AccessProperty, Attribute, ClusterSchedulingPolicy, MemSyncDomain,
    PortableClusterMode, SharedMemoryMode, SynchronizationPolicy,
};
pub use builder::LaunchBuilder;
pub use builder::argument::BuilderArgument;
pub use config::{Dim3, LaunchConfig};
pub use device_node::DeviceNode;
pub use kernel_argument::KernelArgument;
pub(crate) use node::KernelNode;
pub use prepared::PreparedLaunch;
pub use site::{
    AttributeList, ByValue, MutArgument, byval, pitched, pitched_mut, ptr, ptr_mut, slice, slice_mut, value,
};
#[cfg(feature = "async")]
pub use stored::StoredArgument;
pub use timed::LaunchTimes;

pub use crate::memory::object::{KernelObject, KernelObjectMut};
