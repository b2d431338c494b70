#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
// Items that only some features use would be reported as dead code without those features; with `full` and `macros`
// everything is in use, so the lints apply there.
#![cfg_attr(not(all(feature = "full", feature = "macros")), allow(dead_code, unused_imports))]

/// The examples of the pages.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../docs/foundation.md")]
    mod foundation {}
    #[doc = include_str!("../docs/migration/cuda-core.md")]
    mod migration_cuda_core {}
    #[doc = include_str!("../docs/migration/cuda-oxide.md")]
    mod migration_cuda_oxide {}
    #[doc = include_str!("../docs/migration/cudarc.md")]
    mod migration_cudarc {}
    #[doc = include_str!("../docs/migration/cudarc-0.13.md")]
    mod migration_cudarc_0_13 {}
    #[doc = include_str!("../docs/migration/cust.md")]
    mod migration_cust {}
    #[doc = include_str!("../docs/migration/cutile.md")]
    mod migration_cutile {}
    #[doc = include_str!("../docs/testing.md")]
    mod testing {}
}

#[doc(hidden)]
pub mod __private;
pub mod compile;
#[cfg(feature = "diagnostics")]
mod doctor;
mod driver;
pub mod error;
mod flags;
pub mod foundation;
#[cfg(feature = "graph")]
pub mod graph;
pub mod launch;
pub mod memory;
#[cfg(feature = "nvtx")]
pub mod nvtx;
mod open_number;
#[cfg(feature = "async")]
pub mod operation;
mod options;
mod ordering;
mod show;
mod trace;

/// What the emulator counts of launches: instructions, active threads, sectors, bank conflicts, by line.
///
/// [`profile`](emulator::profile) counts the launches of some code, [`LaunchBuilder::profile`] one launch. `cuda-launch profile` shows the same for a
/// kernel file, without a program.
#[cfg(feature = "emulator")]
pub mod emulator {
    pub use crate::launch::profile::profile;
    pub use cuda_emulator::{
        AllocationProfile, Counts, InstructionProfile, KernelProfile, LineProfile, Operations, lcov,
    };
}

/// Attributes and limits of devices, and partitions of one.
pub mod device {
    pub use crate::driver::{CudaDevice, DeviceAttribute, DeviceLimits, DeviceUuid, PeerAttribute};
    #[cfg(feature = "green-contexts")]
    pub use crate::driver::{GreenContext, SmResource, SmSplitFlags};
}

/// How contexts are created, and their settings.
pub mod context {
    pub use crate::driver::{
        ContextFlags, ContextLimit, ContextOptions, ContextSchedule, CudaContext, PrimaryContextState,
    };
}

/// Streams: flags, priorities, and operations on single words of memory.
pub mod stream {
    pub use crate::driver::{CaptureStatus, CudaStream, HostTaskSyncMode, StreamFlags, StreamPriorities};
    pub use crate::memory::stream_memory::{
        BarrierScope, StreamMemoryOp, StreamValue, WaitCondition, WaitValueFlags, WriteValueFlags,
    };
}

/// Events: for order, for timing, between processes.
pub mod event {
    pub use crate::driver::{AnyEvent, CudaEvent, EventFlags, EventRecordFlags, EventWaitFlags, TimingEvent};
    #[cfg(feature = "interop")]
    pub use crate::driver::{IpcEvent, IpcEventHandle};
}

/// Modules, libraries and functions: loading and linking, attributes, occupancy, global variables.
pub mod module {
    pub use crate::driver::{
        BlockSizeQuery, CacheConfig, CudaFunction, CudaLibrary, CudaModule, FunctionAttribute,
        FunctionLimits, JitCacheMode, JitFallback, JitOptions, JitReport, JitTarget, Kernel, KernelEntry,
        KernelImage, LibraryKernel, LibraryOptions, LoadingMode, OccupancyFlags, ParameterSource, Parameters,
        PotentialBlockSize, SharedCarveout,
    };
    #[cfg(feature = "link")]
    pub use crate::driver::{LinkInput, LinkedImage, Linker};
    pub use crate::memory::constant_view::ConstantViewMut;
    pub use crate::memory::global::{ModuleConstant, ModuleGlobal};
}

/// Arrays, and the textures and surfaces through which kernels access them.
#[cfg(feature = "texture")]
pub mod texture {
    pub use crate::memory::texture::array::{ArrayFlags, ArrayShape, CudaArray};
    pub use crate::memory::texture::descriptor::{AddressMode, FilterMode, TextureDescriptor, TextureFlags};
    pub use crate::memory::texture::format::{ArrayDescriptor, ArrayElement, ArrayFormat};
    pub use crate::memory::texture::mipmap::MipmappedArray;
    pub use crate::memory::texture::object::{TextureHandle, TextureObject};
    pub use crate::memory::texture::surface::{SurfaceHandle, SurfaceObject};
}

/// Tensor maps: how the tensor memory accelerator (TMA) copies tiles of a tensor.
#[cfg(feature = "tensor")]
pub mod tensor {
    pub use crate::memory::tensor::layout::{
        Interleave, L2Promotion, OutOfBoundsFill, Swizzle, TensorDataType,
    };
    pub use crate::memory::tensor::map::{Im2colMap, TensorMap, TiledMap};
    pub use crate::memory::tensor::object::TensorMapObject;
}

/// Virtual memory management: reserved addresses, physical memory, mappings, multicast.
#[cfg(feature = "virtual-memory")]
pub mod virtual_memory {
    pub use crate::memory::location::{MemoryAccess, MemoryLocation};
    pub use crate::memory::virtual_memory::mapping::Mapping;
    pub use crate::memory::virtual_memory::multicast::{MulticastBinding, MulticastObject};
    pub use crate::memory::virtual_memory::physical::{
        PhysicalAllocation, PhysicalOptions, VirtualReservation,
    };
}

/// Memory shared with other processes, graphics APIs and tensor libraries.
pub mod interop {
    #[cfg(feature = "dlpack")]
    pub use crate::memory::dlpack::abi as dlpack_abi;
    #[cfg(feature = "dlpack")]
    pub use crate::memory::dlpack::{DlElement, DlTensor};
    #[cfg(feature = "interop")]
    pub use crate::memory::external::memory::{ExternalMemory, ExternalMemoryHandle};
    #[cfg(feature = "interop")]
    pub use crate::memory::external::semaphore::{ExternalSemaphore, ExternalSemaphoreHandle};
    pub use crate::memory::foreign::RawOwnership;
    #[cfg(feature = "interop")]
    pub use crate::memory::ipc::IpcMemoryHandle;
    pub use crate::memory::os_handle::{OsHandle, OsHandleKinds};
}

/// Diagnostics: the report of `cuda-launch doctor`, the driver's log, core dumps, and the range that a profiler records.
#[cfg(feature = "diagnostics")]
pub mod diagnostics {
    pub use crate::doctor::{
        DeviceReport, Doctor, DriverReport, DriverSource, KernelModule, Variable, doctor,
    };
    pub use crate::driver::{
        Coredump, CoredumpFlags, CoredumpSwitch, DriverLog, LogLevel, LogListener, Profiler,
    };
}

pub use cuda_driver_sys as sys;
pub use cuda_driver_sys::Driver;
#[cfg(feature = "macros")]
pub use cuda_launch_macros::{DeviceCopy, cuda_module};

pub use compile::{load_kernel_file, load_kernel_module};
pub use driver::{
    CudaContext, CudaDevice, CudaEvent, CudaFunction, CudaModule, CudaStream, default_driver,
    set_default_driver,
};
pub use error::{Error, ErrorKind};
#[cfg(feature = "graph")]
pub use graph::{CaptureMode, CudaGraph, GraphExec, LaunchPlan};
pub use launch::{Attribute, LaunchBuilder, LaunchConfig};
pub use memory::{
    DeviceBuffer, DeviceCopy, DevicePtr, DevicePtrMut, DeviceSlice, DeviceSliceMut, DeviceView,
    DeviceViewMut, ManagedBuffer, PinnedBuffer,
};
#[cfg(feature = "async")]
pub use operation::{AsyncKernelLaunch, DeviceOperation};
