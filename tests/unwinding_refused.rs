//! A subscriber of `tracing` that panics where the span of a call ends that was refused, or that made what the driver keeps no list of: what
//! the driver did not make is given back to nobody, and what it made once.

#![cfg(feature = "tracing")]
#![allow(unsafe_code)] // Functions in the driver's place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/acts.rs"]
mod acts;
#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use acts::{acted, at_exit};
use alone::alone;
use cuda_harness::Spy;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::module::{CudaLibrary, JitOptions, Linker};
use cuda_launch::operation::RoundRobin;
use cuda_launch::sys::{self, CUresult, pfn};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, Error};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const VECADD: &str = include_str!("../examples/kernels/vecadd.ptx");
const REFUSAL: CUresult = CUresult::CUDA_ERROR_OUT_OF_MEMORY;
const N: usize = 256;

/// From now on the end of this call's span panics, once.
fn panic_after(call: &'static str) {
    // As `panic!`, but nothing is printed.
    at_exit(call, || resume_unwind(Box::new("a subscriber")));
}

/// Whether it panicked; otherwise what it returned.
fn unwinds<T>(f: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// Functions that refuse, and leave something in the place of the handle.
fn leaves_something(name: &str) -> *const c_void {
    unsafe extern "C" fn library(
        made: *mut sys::CUlibrary,
        _code: *const c_void,
        _jit: *mut sys::CUjit_option,
        _jit_values: *mut *mut c_void,
        _jit_count: u32,
        _options: *mut sys::CUlibraryOption,
        _values: *mut *mut c_void,
        _count: u32,
    ) -> CUresult {
        // SAFETY: the caller's place for the handle.
        unsafe { made.write(std::ptr::dangling_mut()) };
        REFUSAL
    }
    unsafe extern "C" fn link(
        _count: u32,
        _options: *mut sys::CUjit_option,
        _values: *mut *mut c_void,
        made: *mut sys::CUlinkState,
    ) -> CUresult {
        // SAFETY: the caller's place for the handle.
        unsafe { made.write(std::ptr::dangling_mut()) };
        REFUSAL
    }
    // Nothing is there to be unloaded: that they are called is heard by the spy.
    unsafe extern "C" fn unload(_library: sys::CUlibrary) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn destroy(_link: sys::CUlinkState) -> CUresult {
        CUresult::SUCCESS
    }
    match name {
        "cuLibraryLoadData" => library as pfn::cuLibraryLoadData as *const c_void,
        "cuLinkCreate_v2" => link as pfn::cuLinkCreate_v2 as *const c_void,
        "cuLibraryUnload" => unload as pfn::cuLibraryUnload as *const c_void,
        "cuLinkDestroy" => destroy as pfn::cuLinkDestroy as *const c_void,
        _ => std::ptr::null(),
    }
}

#[test]
fn what_stands_in_place_of_a_refused_handle_is_given_back_to_nobody() {
    let _alone = alone();
    let spy = Spy::over(&spies::driver_with(leaves_something)).unwrap();
    let ctx = CudaContext::with_driver(&spy.driver(), 0).unwrap();
    type Make = fn(&CudaContext) -> Result<(), Error>;
    let makes: [(&str, Make); 2] = [
        ("cuLibraryLoadData", |ctx| CudaLibrary::load(ctx.driver(), VECADD).map(drop)),
        ("cuLinkCreate", |ctx| Linker::new(ctx, &JitOptions::new()).map(drop)),
    ];
    for (call, make) in makes {
        for panics in [false, true] {
            if panics {
                panic_after(call);
            }
            let made = unwinds(|| make(&ctx));
            assert!(acted(), "{call}");
            let code = made.map(|made| made.unwrap_err().code());
            assert_eq!(code, (!panics).then_some(Some(REFUSAL)), "{call}");
            let given_back = (spy.count("cuLibraryUnload"), spy.count("cuLinkDestroy"));
            assert_eq!(given_back, (0, 0), "{call}, panics: {panics}");
        }
    }
}

#[test]
fn what_was_made_before_a_refused_call_is_given_back_once() {
    let _alone = alone();
    type Use = fn(&CudaContext) -> Result<(), Error>;
    let uses: [(&str, &str, Use); 3] = [
        ("cuLibraryGetModule", "cuLibraryUnload", |ctx| {
            CudaLibrary::load(ctx.driver(), VECADD)?.module(ctx).map(drop)
        }),
        ("cuLinkAddData", "cuLinkDestroy", |ctx| Linker::new(ctx, &JitOptions::new())?.add(VECADD, "vecadd")),
        ("cuLinkComplete", "cuLinkDestroy", |ctx| {
            let mut link = Linker::new(ctx, &JitOptions::new())?;
            link.add(VECADD, "vecadd")?;
            link.complete().map(drop)
        }),
    ];
    for (call, end, uses) in uses {
        for panics in [false, true] {
            let (spy, ctx) = spies::spied();
            spies::fail_calls_of(&spy, call, REFUSAL);
            if panics {
                // The completion has no span of its own.
                panic_after(if call == "cuLinkComplete" { end } else { call });
            }
            let used = unwinds(|| uses(&ctx));
            assert!(acted(), "{call}");
            assert!(used.is_none_or(|used| used.is_err()), "{call}");
            drop(ctx);
            assert_eq!(spy.count(end), 1, "{call}, panics: {panics}");
            let ledger = spy.ledger();
            assert!(ledger.live().is_empty() && ledger.problems().is_empty(), "{call}: {ledger:?}");
        }
    }
}

/// The capture's record is the last to have the fork, at whose end a subscriber panics: whatever the driver's graph has by then finds its memory, the
/// capture is over, and the stream is given back once.
#[test]
fn the_end_of_a_fork_loses_nothing_of_its_capture() {
    let _alone = alone();
    for fails in ["", "cuStreamDestroy", "cuGraphDestroyNode"] {
        for (panics, succeeds) in [(false, false), (false, true), (true, false), (true, true)] {
            let at = format!("{fails} fails, panics: {panics}, succeeds: {succeeds}");
            let (spy, ctx) = spies::spied();
            let stream = ctx.new_stream().unwrap();
            let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, N).unwrap();
            stream.synchronize().unwrap();
            let mut graph = CudaGraph::new(&ctx).unwrap();
            spies::watch(&spy);
            let recorded = unwinds(|| {
                graph.capture_into(&[], CaptureMode::ThreadLocal, |stream| {
                    let fork = stream.fork()?;
                    buffer.view_mut().fill(&fork, 7)?;
                    drop(fork);
                    if panics {
                        panic_after("cuStreamDestroy");
                    }
                    if !fails.is_empty() {
                        spies::fail_calls_of(&spy, fails, REFUSAL);
                    }
                    // An error of the program's, that no driver gave.
                    if succeeds { Ok(()) } else { RoundRobin::of([]).map(drop) }
                })
            });
            assert!(acted(), "{at}");
            assert!(recorded.is_some(), "{at}");
            assert_eq!(spy.count("cuStreamEndCapture"), 1, "{at}");
            // The fork, and the stream that the capture began on.
            assert_eq!(spy.count("cuStreamDestroy"), 2, "{at}");
            spies::watch(&spy);
            drop(buffer);
            // Memory that was freed would be given out again.
            let other = DeviceBuffer::from_host(&stream, &[1u32; N]).unwrap();
            let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
            exec.launch(&stream).unwrap();
            stream.synchronize().unwrap_or_else(|error| panic!("{at}: {error}"));
            assert_eq!(other.to_host_vec(&stream).unwrap(), [1; N], "{at}");
        }
    }
}

#[cfg(unix)]
mod descriptors {
    use super::{REFUSAL, acted, alone, panic_after, spies, unwinds};
    use cuda_launch::CudaContext;
    use cuda_launch::interop::{OsHandle, OsHandleKinds};
    use cuda_launch::memory::{MemoryPool, PoolOptions};
    use cuda_launch::sys::{self, CUresult, pfn};
    use cuda_launch::virtual_memory::{PhysicalAllocation, PhysicalOptions};
    use std::ffi::c_void;
    use std::io::{ErrorKind, Read};
    use std::os::fd::{AsRawFd, IntoRawFd};
    use std::os::unix::net::UnixStream;
    use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

    /// What the driver exports, and what it answers.
    static EXPORTED: AtomicI32 = AtomicI32::new(-1);
    static ANSWER: AtomicU32 = AtomicU32::new(0);

    unsafe fn export(out: *mut c_void) -> CUresult {
        // SAFETY: the caller's place for a handle of any kind.
        unsafe { out.cast::<i32>().write(EXPORTED.load(Ordering::Relaxed)) };
        CUresult(ANSWER.load(Ordering::Relaxed))
    }

    fn exports(name: &str) -> *const c_void {
        unsafe extern "C" fn memory(
            out: *mut c_void,
            _memory: sys::CUmemGenericAllocationHandle,
            _kind: sys::CUmemAllocationHandleType,
            _flags: u64,
        ) -> CUresult {
            // SAFETY: as the caller's.
            unsafe { export(out) }
        }
        unsafe extern "C" fn pool(
            out: *mut c_void,
            _pool: sys::CUmemoryPool,
            _kind: sys::CUmemAllocationHandleType,
            _flags: u64,
        ) -> CUresult {
            // SAFETY: as the caller's.
            unsafe { export(out) }
        }
        match name {
            "cuMemExportToShareableHandle" => memory as pfn::cuMemExportToShareableHandle as *const c_void,
            "cuMemPoolExportToShareableHandle" => {
                pool as pfn::cuMemPoolExportToShareableHandle as *const c_void
            }
            _ => std::ptr::null(),
        }
    }

    /// Whether the other end is closed.
    fn is_closed(mut end: &UnixStream) -> bool {
        match end.read(&mut [0]) {
            Ok(0) => true,
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_exported_descriptor_is_closed_once_or_not_at_all() {
        let _alone = alone();
        let ctx = CudaContext::with_driver(&spies::driver_with(exports), 0).unwrap();
        let options = PhysicalOptions::default();
        let memory =
            PhysicalAllocation::new(&ctx, options.granularity(&ctx, false).unwrap(), options).unwrap();
        let pool = MemoryPool::new(&ctx, PoolOptions::default()).unwrap();
        let fd = OsHandleKinds::FILE_DESCRIPTOR;
        type Export<'a> = &'a dyn Fn() -> Result<OsHandle, cuda_launch::Error>;
        let exports: [(&str, Export<'_>); 2] = [
            ("cuMemExportToShareableHandle", &|| memory.export(fd)),
            ("cuMemPoolExportToShareableHandle", &|| pool.export(fd)),
        ];
        for (call, export) in exports {
            for (panics, answer) in
                [(false, CUresult::SUCCESS), (true, CUresult::SUCCESS), (false, REFUSAL), (true, REFUSAL)]
            {
                let at = format!("{call} answers {answer:?}, panics: {panics}");
                let (ours, theirs) = UnixStream::pair().unwrap();
                ours.set_nonblocking(true).unwrap();
                EXPORTED.store(theirs.as_raw_fd(), Ordering::Relaxed);
                ANSWER.store(answer.0, Ordering::Relaxed);
                // What is exported is whose who asked for it; what a call that was refused has written there is not.
                let kept = match answer {
                    CUresult::SUCCESS => {
                        let _given_away = theirs.into_raw_fd();
                        None
                    }
                    _ => Some(theirs),
                };
                if panics {
                    panic_after(call);
                }
                let exported = unwinds(export);
                assert!(acted(), "{at}");
                if let Some(_kept) = kept {
                    assert!(exported.is_none_or(|exported| exported.is_err()), "{at}");
                    assert!(!is_closed(&ours), "{at}: it is not the caller's");
                } else if let Some(exported) = exported {
                    let handle = exported.unwrap();
                    assert!(!panics && !is_closed(&ours), "{at}: it is the caller's");
                    drop(handle);
                }
                assert!(is_closed(&ours), "{at}: nobody has it any more");
            }
        }
    }
}
