//! A CUDA driver on the CPU: the C functions of `libcuda`, running real PTX.
//!
//! [`driver`] returns the table that a program calls instead of NVIDIA's. It behaves like driver 580 (CUDA 13.0) with
//! devices modelled on an H200, or on a board of another [`Architecture`], with the same error codes; the device name makes clear that they are not GPUs. Streams
//! are asynchronous, kernels run on all cores, and an invalid access is reported with kernel, thread, address,
//! buffer and line.
//!
//! Let Cargo optimise this crate and its parser even in debug builds; without these lines kernels run about forty times slower:
//!
//! ```toml
//! [profile.dev.package.cuda-emulator]
//! opt-level = 3
//! debug-assertions = false # builds in two thirds of the time
//! debug = false
//! [profile.dev.package.cuda-ptx]
//! opt-level = 2
//! ```
//!
//! ```
//! use cuda_emulator::driver;
//! use std::ptr::{from_mut, null_mut};
//!
//! let cuda = driver();
//! let ptx = c".version 8.0 .target sm_90 .address_size 64
//!     .visible .entry store(.param .u64 p, .param .u32 n) {
//!         .reg .b64 %a; .reg .b32 %n;
//!         ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; st.global.u32 [%a], %n; ret; }";
//! let (mut context, mut module, mut store, mut memory) = (null_mut(), null_mut(), null_mut(), 0);
//! let mut answer = 0_u32;
//! unsafe {
//!     cuda.cuInit(0).ok()?;
//!     cuda.cuDevicePrimaryCtxRetain(&mut context, 0).ok()?;
//!     cuda.cuCtxSetCurrent(context).ok()?;
//!     cuda.cuModuleLoadData(&mut module, ptx.as_ptr().cast()).ok()?;
//!     cuda.cuModuleGetFunction(&mut store, module, c"store".as_ptr()).ok()?;
//!     cuda.cuMemAlloc(&mut memory, 4).ok()?;
//!     let mut parameters = [from_mut(&mut memory).cast(), from_mut(&mut 7_u32).cast()];
//!     cuda.cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, null_mut(), parameters.as_mut_ptr(), null_mut()).ok()?;
//!     cuda.cuMemcpyDtoH(from_mut(&mut answer).cast(), memory, 4).ok()?;
//! }
//! assert_eq!(answer, 7);
//! # trait Ok { fn ok(self) -> Result<(), cuda_driver_sys::CUresult>; }
//! # impl Ok for cuda_driver_sys::CUresult {
//! #     fn ok(self) -> Result<(), Self> { if self == Self::SUCCESS { Ok(()) } else { Err(self) } }
//! # }
//! # Ok::<(), cuda_driver_sys::CUresult>(())
//! ```
//!
//! Like a real driver, the emulator has one state per process: all tables that [`driver`] returns share it. An [`Instance`] is
//! a separate emulator in the same process, for tests that run concurrently. The package `cuda-emulator-libcuda` is the same code as a
//! shared library, for programs that load `libcuda.so.1`. Programs that use the
//! driver API run on it; programs that use NVIDIA's runtime (`<<<>>>` through `libcudart`, CuPy, PyTorch) do not,
//! because the runtime asks a driver to prove that it is NVIDIA's, and the emulator does not answer. The tool's command
//! `cuda-launch emulate` starts programs with it.
//!
//! # What is supported
//!
//! Initialisation and device queries; primary and other contexts; streams, events, host functions and callbacks; graphs and
//! their capture; linear device memory, stream-ordered allocation, pools, pinned, managed and virtual memory, copies
//! and fills of lines, rows and planes; arrays, textures and surfaces (cubemaps, gathers, gradients and resource views, too; no texture
//! and surface references, comparisons with depths or compressed formats); tensor maps; modules and libraries from
//! PTX, including PTX in fatbins; functions, parameters and occupancy; launches with every attribute of CUDA 13.0,
//! clusters and cooperative grids; kernels that launch kernels, and the heap of `malloc` in kernels; several devices, with access to each other's memory; green contexts; a log of the
//! calls that failed. Older ABIs, back to CUDA 3.2, and functions whose NULL stream is the calling thread's own (`_ptsz`, `_ptds`)
//! have their symbols ([`symbol_address`]), and `cuGetProcAddress` finds them. The other functions of the headers return
//! `CUDA_ERROR_NOT_SUPPORTED` and report once on standard error what to do instead ([`unsupported_calls`] lists them); none pretends
//! to have succeeded. Functions newer than CUDA 13.0 are missing.
//!
//! A device's limits are those of its [`Architecture`], of an H200 by default. Graphs have two additional limits, beyond which the result is `CUDA_ERROR_OUT_OF_MEMORY`: 256
//! levels of nesting (as child graphs or as bodies of conditional nodes), and 65,536 bodies per SWITCH. Attributes for features
//! that an H200 has and the emulator does not, such as sparse arrays, are 0, so that programs use an alternative.
//!
//! On Linux, processes on one machine share memory and events: memory of `cuMemCreate` and pools by file descriptor, memory of
//! `cuMemAlloc` and events by the 64 bytes of `cuIpcGetMemHandle` and `cuIpcGetEventHandle`. The first export of an allocation waits for
//! all work of the process. If a process ends before an event that it recorded has happened, others that ask for the event get
//! `CUDA_ERROR_EXTERNAL_DEVICE`, and a stream that waits for it makes CUDA unusable in its process, as a fault does.
//!
//! # What it detects
//!
//! A kernel that faults is stopped; its report goes to standard error, to [`last_fault`] and to the driver's log (`cuLogsDumpToMemory`). Then, as
//! on a GPU, every call that touches a context returns the fault's code until the process ends.
//!
//! Two mistakes are reported before anything runs. PTX that does not assemble is refused when it is loaded, with line and reason in the
//! JIT log. A kernel with an unsupported instruction is refused when it is launched or becomes a node of a graph, with
//! `CUDA_ERROR_NOT_SUPPORTED`; the log names kernel, line and instruction, and everything else keeps working. Where there is something
//! to do about an error, the driver's log says it in a line that begins with `help: `.
//!
//! Four more checks are available on request, with [`set_checks`] or an environment variable: reads of uninitialised
//! memory, data races, barriers that only part of a warp reaches, and memory that kernels allocate and do not free. A finding does not stop the kernel; [`take_findings`]
//! returns a list with both threads, both lines and the bytes. If the variable enabled the checks, they are also printed on
//! standard error, once per place in the code. Kernels are decoded differently for these checks, so that they cost
//! nothing when they are off.
//!
//! | | detected | not detected |
//! |---|---|---|
//! | uninitialised bytes | reads by `ld`, `atom`, `red` and `cp.async` of global memory (of any allocation except managed and host memory) and of shared memory, byte by byte, and by textures and surfaces; copies to the host of which nothing was written; a copy between device memory counts for what it copies | managed and host memory; a fill and a copy from the host count as writes; copies to the host of which a part was written |
//! | undefined values | of registers and local memory that were never written, and of lanes that take no part in a shuffle, where they become an address, decide a branch or, as a guard, whether an access, a barrier, a call or a return happens, or are computed with and then stored to global memory | in functions that the kernel calls; through bits that are masked, shifted or packed; what is copied to memory |
//! | accesses into another variable or allocation | those whose address is computed from that of one shared, local or global variable, or from one parameter of the kernel, on all ways through the code, also into memory of another space | addresses that are chosen, loaded from memory, or made in a called function; from one local array into the next where, as in nvcc's PTX, both are one variable |
//! | writes to constant memory | through generic addresses | |
//! | races | accesses to one byte by two threads of a launch (through textures and surfaces, too), at least one a write, at least one neither atomic nor volatile, without any ordering; launches, copies, fills and frees in stream order that access one byte without any order that the program has asked for; atomics of two blocks, one of which has the scope of a block; copies by `cp.async`, bulk copies and `wgmma` that are not waited for; lanes of one store that write different values | stores of the value that is already there; plain reads before a `cas` or similar by the same thread, against atomics; anything beyond the first 64 MiB that a launch accesses (16 MiB where bytes are accessed individually); local memory; what the host itself accesses; of two kernels that access one word atomically, everything else, and of all that is unordered more than the last 4,096 launches and 4 Mi ranges; the scope of a block among the blocks of a cluster |
//! | barriers | threads of a warp that are at different barriers, one of them a `bar` or an `.aligned` `barrier`, or an `.aligned` `barrier.cluster`, to which a warp must come together; threads that pass by such a `bar` or `barrier` at which others of their warp wait, and exit; `mbarrier.init` where an mbarrier is | threads that do so before the others wait; whole warps that do not come |
//!
//! Accesses are ordered by `bar`, `barrier`, `barrier.cluster` and the `.sync` instructions of a warp, and by release
//! and acquire operations, whatever address these use; those with the scope of a block order nothing between blocks. Fences, volatile, relaxed, acquire and release accesses, `atom.cas` and
//! `atom.exch` count as releases; these and all other atomics count as acquires. So no correct protocol is reported, but some
//! incorrect ones are missed. For the same reason a part of a warp that synchronises counts as the whole warp, and `bar.arrive` counts
//! as waiting. Threads run in one order, and only races of that order are found; [`set_schedules`] makes them run in others.
//!
//! # Profiles
//!
//! [`profile`] counts what some code launches, [`set_profile`] all that the process launches: for each instruction of each kernel, how
//! often it ran and for how many threads, which way its branches went, and the sectors and bank conflicts of its accesses.
//! [`take_profiles`] returns the counts of the latter, and [`lcov`] turns counts into a coverage report.
//!
//! # Schedules
//!
//! With [`set_schedules`] each launch runs under several orders of its warps and blocks, each determined by a seed and starting from the
//! same memory: warps yield between any two accesses, the threads of a warp diverge, blocks start in any order and only a few at a time,
//! and stores become visible late. [`take_differences`] returns the seeds under which memory, faults, termination or findings differ. The
//! program sees only the results of the ordinary order.
//!
//! # Leaks
//!
//! [`live_handles`] counts what the program has created and not released.
//!
//! # Environment
//!
//! Read by the first `cuInit` ([more about each](https://github.com/cuda-launch/cuda-launch/blob/main/docs/environment.md#the-emulator)):
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `CUDA_LAUNCH_EMULATOR_MEMORY` | memory of each device: bytes, or with `K`, `M`, `G` | half of the machine's, at most 16 GiB, shared by all devices |
//! | `CUDA_LAUNCH_EMULATOR_WORKERS` | threads that run the blocks of a kernel | one for each core |
//! | `CUDA_LAUNCH_EMULATOR_CHECK` | what kernels are checked for besides faults: `init` (reads of uninitialised memory), `race` (between threads, and between launches, copies and fills), `barrier` (parts of a warp at different barriers), `leak` (blocks of `malloc` that are never freed), `constant` (`.const` variables that nobody set), or a list, `init,race,barrier,leak` | nothing |
//! | `CUDA_LAUNCH_EMULATOR_COVERAGE` | a folder, which is created: when the process ends, the coverage of its kernels' lines and branches is written there, for `lcov` | nothing |
//! | `CUDA_LAUNCH_EMULATOR_SCHEDULES` | the number of orders of warps and blocks under which each launch runs; differences are printed on standard error | only the ordinary order |
//! | `CUDA_LAUNCH_EMULATOR_SEED` | the seed of the first of these orders; set alone, only that order runs besides the ordinary one | `1` |
//! | `CUDA_LAUNCH_EMULATOR_TIMEOUT` | seconds that a kernel may run (`10`, `0.5`); a kernel that runs longer faults with `CUDA_ERROR_LAUNCH_TIMEOUT`, and the report says where its threads were ([`set_time_limit`]) | no limit |
//! | `CUDA_LAUNCH_EMULATOR_PROGRESS` | if set to anything, a kernel that runs for more than a second shows its progress, if standard error is a terminal ([`show_progress`]) | nothing is shown |
//! | `CUDA_LAUNCH_EMULATOR_ARCH` | the [`Architecture`] of the devices, `sm_80` or `80`; a list, `75,120`, gives each device its own, and sets how many there are or agrees with `CUDA_LAUNCH_EMULATOR_DEVICES` | `sm_90` |
//! | `CUDA_LAUNCH_EMULATOR_PTX` | the newest PTX that is read, up to `9.5` | `9.0`, as driver 580 |
//! | `CUDA_LAUNCH_EMULATOR_DEVICES` (alias: `CUDA_EMULATOR_DEVICES`) | how many devices, up to 8; with `0`, `cuInit` returns `CUDA_ERROR_NO_DEVICE` | `1` |
//!
//! An invalid value is reported on standard error. `cuInit` then fails, and the driver's log says why, if it is one of `ARCH`, `CHECK`, `PTX`, `SCHEDULES`, `SEED` and `TIMEOUT`, without
//! which tests might pass that should fail; the others are ignored. `CUDA_VISIBLE_DEVICES` applies to GPUs and has no effect here.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The example from the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[doc(hidden)]
pub mod architecture;
#[doc(hidden)]
pub mod check;
mod driver;
#[doc(hidden)]
pub mod engine;
mod interrupt;
#[doc(hidden)]
pub mod memory;
#[doc(hidden)]
pub mod numeric;
mod optimised;
mod profile;
mod progress;
#[doc(hidden)]
pub mod schedule;
#[doc(hidden)]
pub mod stderr;
mod tensor;
#[doc(hidden)]
pub mod texture;
#[doc(hidden)]
pub mod tool_report;
mod vectors;

pub use architecture::{Architecture, UnknownArchitecture};
pub use check::{Actor, Bytes, Checks, Finding, FindingKind, Findings, Space};
pub use driver::{
    Instance, InstanceError, InstanceOptions, LiveHandles, ProfileError, driver, faults, forget_written,
    last_fault, live_handles, orders_run, profile, set_architectures, set_checks, set_profile, set_schedules,
    set_time_limit, symbol_address, take_differences, take_findings, take_one_order, take_profiles,
    unsupported_calls,
};
#[doc(hidden)]
pub use driver::{NvmlDevice, allocate_at, nvml_devices};
pub use driver::{found_symbol, older_abi, on_own_stream, refuse_export};
pub use engine::{Fault, FaultKind};
#[doc(hidden)]
pub use interrupt::interrupt;
#[doc(hidden)]
pub use optimised::ADVICE;
pub use optimised::OPTIMISED;
#[doc(hidden)]
pub use profile::Profiler;
pub use profile::{
    AllocationProfile, Counts, InstructionProfile, KernelProfile, LineProfile, MatrixOperations, Operations,
    lcov,
};
pub use progress::show_progress;
pub use schedule::{DifferenceKind, DifferentBytes, OneOrder, OneOrderReason, ScheduleDifference, Schedules};
