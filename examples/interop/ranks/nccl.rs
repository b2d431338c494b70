//! The part of NCCL that one rank needs, loaded at run time.
//!
//! The communicator is non-blocking: a call that cannot be completed at once says so, and this thread polls and checks whether
//! all ranks are alive. So no call hangs while it waits for another rank, and only one thread uses the communicator.

#![allow(non_snake_case)] // Names of NCCL.
#![allow(unsafe_code)] // Calls of NCCL, with a communicator that lives until it is destroyed or aborted here.

use cuda_launch::CudaStream;
use cuda_launch::sys::{CUstream, open_library};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};
use std::thread;
use std::time::Duration;

use crate::error::RankError;
use crate::launcher::Place;
use crate::rendezvous::Id;
use crate::watch::Watch;

/// `ncclComm_t`
type Handle = *mut c_void;

/// `ncclFloat32`, `ncclSum`, `ncclSuccess` and `ncclInProgress`, as NCCL's header numbers them.
const FLOAT32: c_int = 7;
const SUM: c_int = 0;
const SUCCESS: c_int = 0;
const IN_PROGRESS: c_int = 7;

/// Between two questions.
const PAUSE: Duration = Duration::from_micros(50);

/// NCCL may notice a death before the watch does, and does not say whose it is.
const NAMED_WITHIN: Duration = Duration::from_secs(3);

/// `ncclConfig_t` as it was when it first had `blocking`: NCCL goes by the size and the version in it.
#[repr(C)]
struct Config {
    size: usize,
    magic: c_uint,
    version: c_uint,
    blocking: c_int,
}

const NON_BLOCKING: Config =
    Config { size: size_of::<Config>(), magic: 0xcafe_beef, version: 21400, blocking: 0 };

/// `ncclUniqueId`
#[derive(Clone, Copy)]
#[repr(C)]
struct UniqueId(Id);

/// Declares the functions that are called, and takes them from the library.
macro_rules! functions {
    ($($name:ident: $type:ty;)*) => {
        /// The library.
        pub(crate) struct Nccl { $($name: $type,)* }

        impl Nccl {
            /// # Safety
            /// 1. What the library exports under these names is NCCL's.
            unsafe fn new(lookup: impl Fn(&CStr) -> *const c_void) -> Result<Self, RankError> {
                $(
                    let name = concat!(stringify!($name), "\0");
                    let symbol = lookup(CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default());
                    if symbol.is_null() {
                        let reason = concat!("the library has no ", stringify!($name), ": it is not NCCL 2.14 or later");
                        return Err(RankError::Library(reason.into()));
                    }
                    // SAFETY: by the caller's duty 1 it is NCCL's function of this name, and not null; `$type` is what NCCL's
                    // header declares.
                    let $name = unsafe { std::mem::transmute::<*const c_void, $type>(symbol) };
                )*
                Ok(Self { $($name,)* })
            }
        }
    };
}

functions! {
    ncclGetVersion: unsafe extern "C" fn(*mut c_int) -> c_int;
    ncclGetUniqueId: unsafe extern "C" fn(*mut UniqueId) -> c_int;
    ncclCommInitRankConfig: unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int, *mut Config) -> c_int;
    ncclCommGetAsyncError: unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
    ncclAllReduce: unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Handle, CUstream) -> c_int;
    ncclCommFinalize: unsafe extern "C" fn(Handle) -> c_int;
    ncclCommDestroy: unsafe extern "C" fn(Handle) -> c_int;
    ncclCommAbort: unsafe extern "C" fn(Handle) -> c_int;
    ncclGetErrorString: unsafe extern "C" fn(c_int) -> *const c_char;
}

impl Nccl {
    /// The library that `CUDA_LAUNCH_NCCL` names, or `libnccl.so.2`.
    pub(crate) fn load() -> Result<Self, RankError> {
        let name = std::env::var_os("CUDA_LAUNCH_NCCL").unwrap_or("libnccl.so.2".into());
        // SAFETY: 1: the name is that of NCCL, whose initialisers are sound; who sets the variable answers for that library.
        let library = unsafe { open_library(&name) };
        let library = library.map_err(|reason| RankError::Library(reason.to_string()))?;
        // SAFETY: 1: NCCL exports its own functions; who sets the variable answers for that library.
        unsafe { Self::new(library) }
    }

    /// As NCCL writes it: 22703 is 2.27.3.
    pub(crate) fn version(&self) -> Result<i32, RankError> {
        let mut version = 0;
        // SAFETY: it writes one number to the output, a local that outlives the call.
        self.check("ncclGetVersion", unsafe { (self.ncclGetVersion)(&mut version) }).map(|()| version)
    }

    /// What all ranks of a communicator are given.
    pub(crate) fn unique_id(&self) -> Result<Id, RankError> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: it writes one identifier to the output, a local that outlives the call; its layout is that of NCCL's header.
        self.check("ncclGetUniqueId", unsafe { (self.ncclGetUniqueId)(&mut id) }).map(|()| id.0)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), RankError> {
        if code == SUCCESS {
            return Ok(());
        }
        // SAFETY: the function takes any code, and gives a text with NUL for each, constant in the library, which is never
        // unloaded.
        let text = unsafe { CStr::from_ptr((self.ncclGetErrorString)(code)) };
        Err(RankError::Nccl { call, text: text.to_string_lossy().into_owned(), code })
    }
}

/// This rank's end of the communicator. Dropped before its end, it is aborted: then what NCCL has on the device ends.
pub(crate) struct Comm<'a> {
    nccl: &'a Nccl,
    watch: &'a Watch,
    raw: Handle,
}

impl<'a> Comm<'a> {
    /// Joins the other ranks, on the device whose context is current.
    pub(crate) fn join(nccl: &'a Nccl, place: &Place, id: Id, watch: &'a Watch) -> Result<Self, RankError> {
        let (mut comm, mut config) = (Self { nccl, watch, raw: null_mut() }, NON_BLOCKING);
        let (world, rank, id) = (place.world as c_int, place.rank as c_int, UniqueId(id));
        // SAFETY: output and configuration are locals that outlive the call, and stay where they are until `settle` has
        // waited for what it began, or the end of `comm` aborts that; the rest are numbers.
        let code = unsafe { (nccl.ncclCommInitRankConfig)(&mut comm.raw, world, id, rank, &mut config) };
        comm.settle("ncclCommInitRankConfig", code)?;
        Ok(comm)
    }

    /// Sums `count` floats at `address` over all ranks, in place. Returns once it is submitted to the stream.
    ///
    /// # Safety
    /// 1. There are so many floats on the device of the communicator, `stream` is a live stream of it, and nothing else
    ///    uses them until the stream has done this.
    /// 2. All ranks make the same calls in the same order.
    pub(crate) unsafe fn all_reduce(
        &self,
        address: u64,
        count: usize,
        stream: CUstream,
    ) -> Result<(), RankError> {
        let from = with_exposed_provenance(address as usize);
        let to = with_exposed_provenance_mut(address as usize);
        // SAFETY: the caller's duties 1 and 2; `raw` is live: only `finish` and `drop` end it, which take the communicator.
        let code = unsafe { (self.nccl.ncclAllReduce)(from, to, count, FLOAT32, SUM, self.raw, stream) };
        self.settle("ncclAllReduce", code)
    }

    /// Waits for the stream, as long as all ranks are alive.
    pub(crate) fn wait(&self, stream: &CudaStream) -> Result<(), RankError> {
        while !stream.query()? {
            self.settle("ncclCommGetAsyncError", SUCCESS)?;
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Ends the communicator, with all ranks.
    pub(crate) fn finish(mut self) -> Result<(), RankError> {
        // SAFETY: `raw` is live: only the lines below and `drop` end it, and `self` was taken by value.
        let code = unsafe { (self.nccl.ncclCommFinalize)(self.raw) };
        self.settle("ncclCommFinalize", code)?;
        let raw = std::mem::replace(&mut self.raw, null_mut());
        // SAFETY: it was finalised just now, and `self.raw` is null from here on: nobody uses or ends it again.
        self.nccl.check("ncclCommDestroy", unsafe { (self.nccl.ncclCommDestroy)(raw) })
    }

    /// Waits until what `call` began is done, as long as all ranks are alive.
    fn settle(&self, call: &'static str, mut code: c_int) -> Result<(), RankError> {
        loop {
            self.watch.check()?;
            if code == SUCCESS || code == IN_PROGRESS {
                let mut state = SUCCESS;
                // SAFETY: the communicator was made before NCCL answered either; the output outlives the call.
                let asked = unsafe { (self.nccl.ncclCommGetAsyncError)(self.raw, &mut state) };
                code = if asked == SUCCESS { state } else { asked };
            }
            match code {
                IN_PROGRESS => thread::sleep(PAUSE),
                SUCCESS => return Ok(()),
                _ => return self.watch.check_for(NAMED_WITHIN).and_then(|()| self.nccl.check(call, code)),
            }
        }
    }
}

impl Drop for Comm<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            self.watch.fail();
            // SAFETY: not null, so it was neither destroyed nor aborted; `self` is going, so nobody uses it again.
            unsafe { (self.nccl.ncclCommAbort)(self.raw) };
        }
    }
}
