//! Asynchronous device operations: descriptions of work that compose, and run on any executor or none. Feature `async`.
//!
//! Nothing happens until an operation is awaited or synchronised. See [`DeviceOperation`] for how they compose and run, and
//! [`DeviceFuture`] for what happens to one that is dropped.
//!
//! ```
//! use cuda_launch::operation::{DeviceOperation, ExecutionContext, value, with_context, zeroed, zip};
//! let op = zeroed::<u32>(1000).map(|buffer| buffer.len());
//! let other = with_context(|cx: &ExecutionContext| value(cx.device().is_ok()));
//! let (len, has_device) = zip!(op, other).sync()?;
//! assert!(len == 1000 && has_device);
//! # Ok::<(), cuda_launch::Error>(())
//! ```

// The files:
//
// | file | contents |
// |---|---|
// | `device_operation`, `awaitable`, `context` | the trait, the bound for operations that can be awaited, and the context in which an operation runs |
// | `leaf`, `memory`, `copy`, `launch`, `words`, `typed`, `interop`, `graph` | operations that do not contain others |
// | `chain`, `zip`, `all`, `tuple`, `shared`, `boxed`, `scheduled`, `result` | operations that combine others |
// | `policy`, `registry` | which stream and which device |
// | `run`, `future`, `block_on`, `scope`, `timeout`, `select` | submitting and waiting |
// | `completion`, `mark_queues`, `reactor` | how a future learns that its work is done |

mod all;
mod awaitable;
mod block_on;
mod boxed;
mod chain;
mod completion;
mod context;
mod copy;
mod device_operation;
mod future;
mod graph;
mod interop;
mod launch;
mod leaf;
mod mark_queues;
mod memory;
mod policy;
mod reactor;
mod registry;
mod result;
mod run;
mod scheduled;
mod scope;
mod select;
mod shared;
mod sync;
mod timeout;
mod tuple;
mod typed;
mod words;
mod zip;

pub use crate::__operation_zip as zip;
pub use all::{All, all};
pub use awaitable::Awaitable;
pub use block_on::block_on;
pub use boxed::BoxedOperation;
pub use chain::{AndThen, AndThenWithContext, Inspect, Map};
pub use context::{Branches, ExecutionContext};
pub use copy::{
    CopyFromPinned, CopyOnDevice, CopyToDevice, CopyToHost, CopyToPinned, Memset, copy_from_pinned,
    copy_on_device, copy_to_device, copy_to_host, copy_to_pinned, memset,
};
pub use device_operation::DeviceOperation;
pub use future::{DeviceFuture, inline_wait, set_inline_wait};
pub use graph::{OperationGraph, Replay};
pub use interop::{FromEvent, FromStream, from_event, from_stream};
pub use launch::{AsyncKernelLaunch, KernelLaunch, OwnedKernelLaunch};
pub use leaf::{FromResult, Lazy, Value, WithContext, from_result, lazy, value, with_context};
pub use memory::{Allocate, allocate, zeroed};
pub use policy::{RoundRobin, SchedulingPolicy, SingleStream, ThreadAffine};
pub use reactor::in_flight;
pub use registry::{
    TaskOnDevice, default_device, device_context, device_policy, init_device_contexts, set_default_device,
    task_on_device, with_device,
};
pub use scheduled::Scheduled;
pub use scope::{Scope, scope};
pub use select::{Either, Select, SelectAll, select, select_all};
pub use shared::{Part, Shared, Unzip};
pub use timeout::Timeout;
pub use tuple::{First, Last, PartOf, Split, Tuple};
pub use typed::{BuildLaunch, TypedLaunch};
pub use zip::{Zip, zip};
