//! A driver that does nothing, without a device and without the emulator: for tests under Miri, and for benchmarks of what a program does
//! around its driver calls.
//!
//! [`NullDriver::driver`] is a table like any other. Its functions are Rust code that Miri can run. They are those that a program needs to
//! open one of two devices, allocate, copy, launch kernels, and order streams by events: allocations have addresses without memory, a copy
//! copies nothing (to the host it writes zeros), and a launch runs no kernel. Everything else is missing, as in a driver that is too old.
//!
//! A launch reads what a driver would read: its configuration and attributes, and as many bytes of each argument as were set with
//! [`set_parameters`], so that Miri detects a wrong argument list. [`last_launch`] returns them. Calls are counted for each thread,
//! so that tests do not disturb each other; [`reset`] restarts the counts.
//!
//! For all calls with their arguments, put a [`Spy`](crate::Spy) over it; to change a function, [`replaced`](crate::replaced).
//!
//! ```
//! use cuda_driver_sys::{CUresult, Driver};
//! use cuda_harness::null::{self, NullDriver};
//! use std::ffi::c_void;
//! use std::ptr::null_mut;
//!
//! /// The code under test: `scale(address, factor)`.
//! unsafe fn scale(cuda: &Driver, function: cuda_driver_sys::CUfunction, x: u64, factor: f32) -> CUresult {
//!     let mut arguments = [(&raw const x).cast_mut().cast::<c_void>(), (&raw const factor).cast_mut().cast()];
//!     let list = arguments.as_mut_ptr();
//!     unsafe { cuda.cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, null_mut(), list, null_mut()) }
//! }
//!
//! let cuda = NullDriver::new().driver();
//! null::set_parameters(&[8, 4]);
//! let mut function = null_mut();
//! unsafe {
//!     assert_eq!(cuda.cuModuleGetFunction(&mut function, null_mut(), c"scale".as_ptr()), CUresult::SUCCESS);
//!     null::reset();
//!     assert_eq!(scale(&cuda, function, 64, 0.5), CUresult::SUCCESS);
//! }
//! assert_eq!((null::calls(), null::launches()), (1, 1));
//! let launch = null::last_launch();
//! assert_eq!((launch.grid, launch.block), ([4, 1, 1], [128, 1, 1]));
//! assert_eq!(launch.arguments, [64_u64.to_ne_bytes().to_vec(), 0.5_f32.to_ne_bytes().to_vec()]);
//! ```
//!
//! # What it relies on
//!
//! As with any driver, a program that breaks the contract of a function has undefined behaviour. Miri reports it.
#![allow(unsafe_code)] // Makes a driver from function pointers.

mod functions;
mod quiet;

use cuda_driver_sys::{CUresult, Driver};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_void};
use std::ptr::null;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

pub use functions::set_progress;
pub use quiet::total_calls;

/// The options of a driver that does nothing: its version, and the functions that it lacks.
///
/// ```
/// use cuda_harness::null::NullDriver;
///
/// let cuda = NullDriver::new().version(12_030).hide("cuFuncGetParamInfo").driver();
/// assert_eq!(cuda.version(), Ok(12_030));
/// assert!(cuda.has("cuLaunchKernelEx") && !cuda.has("cuFuncGetParamInfo"));
/// ```
#[derive(Clone, Debug)]
#[must_use = "`driver` makes the driver"]
pub struct NullDriver {
    version: u32,
    hidden: Vec<String>,
    is_quiet: bool,
}

impl Default for NullDriver {
    fn default() -> NullDriver {
        NullDriver::new()
    }
}

impl NullDriver {
    /// A driver of CUDA 13.0 with all functions that it supports.
    pub fn new() -> NullDriver {
        NullDriver { version: VERSION, hidden: Vec::new(), is_quiet: false }
    }

    /// Sets the result of `cuDriverGetVersion`, such as 12040 for CUDA 12.4: the newest from 11.8 to 13.5 that is not newer than this. This
    /// does not [hide](Self::hide) functions.
    pub fn version(mut self, version: u32) -> NullDriver {
        self.version = version;
        self
    }

    /// Lacks a function, by symbol or by the header's name.
    pub fn hide(mut self, name: impl Into<String>) -> NullDriver {
        self.hidden.push(name.into());
        self
    }

    /// Launches, and calls that order streams, allocate in stream order or query the current context, only add 1 to [`total_calls`],
    /// which takes a few instructions. They are not counted for threads, and no argument is read.
    ///
    /// ```
    /// use cuda_harness::null::{self, NullDriver};
    ///
    /// let cuda = NullDriver::new().quiet().driver();
    /// let before = null::total_calls();
    /// assert_eq!(unsafe { cuda.cuStreamSynchronize(std::ptr::null_mut()) }.0, 0);
    /// assert_eq!((null::total_calls() - before, null::calls()), (1, 0));
    /// ```
    pub fn quiet(mut self) -> NullDriver {
        self.is_quiet = true;
        self
    }

    /// Makes the driver.
    pub fn driver(self) -> Arc<Driver> {
        /// The driver of `new`, made once, because the lookup of hundreds of names takes Miri seconds.
        static ALL: LazyLock<Driver> = LazyLock::new(|| made_of(functions::lookup));
        if !self.is_quiet && self.hidden.is_empty() && self.version == VERSION {
            return Arc::new(ALL.clone());
        }
        let hidden: Vec<&str> = self.hidden.iter().map(|name| crate::functions::symbol(name)).collect();
        Arc::new(made_of(|name| {
            let own = if self.is_quiet { quiet::lookup(name) } else { null() };
            match name {
                name if hidden.contains(&name) => null(),
                _ if !own.is_null() => own,
                "cuDriverGetVersion" => functions::version_of(self.version),
                name => ALL.address(name),
            }
        }))
    }
}

/// The default version.
const VERSION: u32 = 13_000;

/// `lookup` returns functions of `functions` and `quiet`.
fn made_of(lookup: impl Fn(&str) -> *const c_void) -> Driver {
    // Names of the API are ASCII.
    let lookup = |name: &CStr| lookup(name.to_str().unwrap_or_default());
    // SAFETY: 1: each name gets null or a function with its signature, which is checked with `pfn` in both tables; a program that
    // upholds the contract of that function can expect its behaviour of some driver; 2: they are functions of this program.
    unsafe { Driver::from_lookup(lookup) }
}

/// The last launch of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastLaunch {
    /// Blocks of the grid in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared_bytes: u32,
    /// The ids of its attributes (`CUlaunchAttributeID`), in the order of the call.
    pub attributes: Vec<u32>,
    /// The bytes of each argument, by the sizes of [`set_parameters`].
    pub arguments: Vec<Vec<u8>>,
}

type Act = Box<dyn FnOnce()>;
type Answer = Rc<dyn Fn() -> CUresult>;

/// The counts of a thread's calls, and the settings for its next ones.
#[derive(Default)]
struct Log {
    calls: Cell<usize>,
    launches: Cell<usize>,
    queries: Cell<usize>,
    marks: RefCell<Vec<(&'static str, usize)>>,
    last: RefCell<LastLaunch>,
    sizes: RefCell<Vec<usize>>,
    /// [`set_max_threads`], if it was called.
    threads: Cell<Option<i32>>,
    current: Cell<usize>,
    streams: Cell<usize>,
    answer: RefCell<Option<Answer>>,
    act: RefCell<Option<(&'static [&'static str], Act)>>,
}

thread_local! {
    static LOG: Log = Log::default();
}

/// Resets the counts of this thread: [`calls`], [`launches`], [`queries`], [`marks`] and [`last_launch`]. Settings for later calls are
/// kept.
pub fn reset() {
    LOG.with(|log| {
        log.calls.set(0);
        log.launches.set(0);
        log.queries.set(0);
        log.marks.borrow_mut().clear();
        *log.last.borrow_mut() = LastLaunch::default();
    });
}

/// How many calls this thread has made since [`reset`], without `cuCtxGetCurrent`, `cuInit` and the version.
pub fn calls() -> usize {
    LOG.with(|log| log.calls.get())
}

/// How many of [`calls`] launched a kernel.
pub fn launches() -> usize {
    LOG.with(|log| log.launches.get())
}

/// How often this thread has called `cuCtxGetCurrent` since [`reset`].
pub fn queries() -> usize {
    LOG.with(|log| log.queries.get())
}

/// The calls of this thread since [`reset`] that order work on streams or end it, each with the stream's handle, or 0:
/// `cuEventRecord`, `cuStreamWaitEvent`, `cuMemFreeAsync`, `cuStreamDestroy_v2` and `cuCtxSynchronize`.
///
/// ```
/// use cuda_harness::null::{self, NullDriver};
/// # use std::ptr::null_mut;
///
/// let cuda = NullDriver::new().driver();
/// let mut stream = null_mut();
/// unsafe {
///     assert_eq!(cuda.cuStreamCreateWithPriority(&mut stream, 1, 0).0, 0);
///     assert_eq!(cuda.cuMemFreeAsync(1 << 36, stream).0, 0);
/// }
/// assert_eq!(null::marks(), [("cuMemFreeAsync", stream.addr())]);
/// ```
pub fn marks() -> Vec<(&'static str, usize)> {
    LOG.with(|log| log.marks.borrow().clone())
}

/// The handle of the context that is current on this thread; 0 if none is.
pub fn current() -> usize {
    LOG.with(|log| log.current.get())
}

/// This thread's last launch since [`reset`]; empty if there was none.
pub fn last_launch() -> LastLaunch {
    LOG.with(|log| log.last.borrow().clone())
}

/// Sets the size in bytes of each parameter of the kernels that this thread looks up and launches from now on: `cuFuncGetParamInfo` returns
/// it, and a launch reads as much.
pub fn set_parameters(sizes: &[usize]) {
    LOG.with(|log| *log.sizes.borrow_mut() = sizes.to_vec());
}

/// Sets the maximum number of threads per block of the kernels that this thread looks up from now on: the result of
/// `cuFuncGetAttribute` for `CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK`, 1,024 by default.
pub fn set_max_threads(threads: i32) {
    LOG.with(|log| log.threads.set(Some(threads)));
}

/// Sets the result of this thread's launches from now on.
///
/// ```
/// use cuda_driver_sys::{CUlaunchConfig, CUresult};
/// use cuda_harness::null::{self, NullDriver};
/// # use std::ptr::null_mut;
///
/// let cuda = NullDriver::new().driver();
/// let config = CUlaunchConfig::default();
/// let launch = || unsafe { cuda.cuLaunchKernelEx(&config, null_mut(), null_mut(), null_mut()) };
/// null::answer_launches(|| CUresult::CUDA_ERROR_INVALID_CONTEXT);
/// assert_eq!(launch(), CUresult::CUDA_ERROR_INVALID_CONTEXT);
/// null::answer_launches(|| CUresult::SUCCESS);
/// assert_eq!(launch(), CUresult::SUCCESS);
/// ```
pub fn answer_launches(answer: impl Fn() -> CUresult + 'static) {
    LOG.with(|log| *log.answer.borrow_mut() = Some(Rc::new(answer)));
}

/// The next call of this thread of one of these functions, by symbol, runs `act` before it does anything else: as if the driver made its
/// caller wait while other threads continue. It works for the functions of [`marks`], and for asynchronous copies and fills.
///
/// ```
/// use cuda_harness::null::{self, NullDriver};
/// # use std::{cell::Cell, rc::Rc};
///
/// let cuda = NullDriver::new().driver();
/// let ran = Rc::new(Cell::new(false));
/// let told = ran.clone();
/// null::before_next(&["cuMemsetD8Async"], move || told.set(true));
/// assert_eq!(unsafe { cuda.cuCtxSynchronize() }.0, 0);
/// assert!(!ran.get());
/// assert_eq!(unsafe { cuda.cuMemsetD8Async(1 << 36, 0, 64, std::ptr::null_mut()) }.0, 0);
/// assert!(ran.get());
/// ```
pub fn before_next(functions: &'static [&'static str], act: impl FnOnce() + 'static) {
    LOG.with(|log| *log.act.borrow_mut() = Some((functions, Box::new(act))));
}
