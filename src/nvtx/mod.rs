//! Ranges and marks on the timeline of NVIDIA's tools (NVTX), feature `nvtx`.
//!
//! Nothing is linked: a tool such as Nsight Systems names its library in `NVTX_INJECTION64_PATH` when it starts a program
//! (`nsys profile --trace=cuda,nvtx ./program`), and the first call here loads it. Without a tool, each call costs one
//! comparison.
//!
//! ```
//! use cuda_launch::nvtx;
//!
//! let _epoch = nvtx::range("epoch 1"); // on this thread, until the guard is dropped; ranges nest
//! let upload = nvtx::start("upload"); // may overlap others and end on another thread
//! std::thread::spawn(move || drop(upload)).join().unwrap();
//! nvtx::mark(nvtx::Event::new("checkpoint").color(0xff_00_ff_00).payload(17u64));
//!
//! let domain = nvtx::Domain::new("my-library"); // a row of its own
//! let _step = domain.range("step");
//!
//! if let nvtx::Tool::Failed(why) = nvtx::tool() {
//!     eprintln!("no ranges: {why}");
//! }
//! ```

#![allow(unsafe_code)] // Calls what a tool put into its slots, with the arguments that the protocol has there.

mod event;
mod slots;
mod tool;

use std::ffi::{c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

pub use event::{Event, Payload};
pub use tool::{Tool, tool};

use crate::driver::CudaStream;
use event::{RawEvent, c_string};
use slots::{CORE, CORE2, CUDA};
use tool::slot;

/// Calls what [`slot`] gave: not null, and a function of the tool's, which is never unloaded.
///
/// # Safety
/// 1. It is what `slot` gave, and takes and returns these types.
macro_rules! invoke {
    ($function:ident($($argument:expr => $type:ty),*) $(-> $answer:ty)?) => {
        std::mem::transmute::<*mut c_void, unsafe extern "system" fn($($type),*) $(-> $answer)?>($function)(
            $($argument),*
        )
    };
}

/// What the tool calls a domain; null for the one that every process has.
type RawDomain = *mut c_void;

/// Sets a mark at this moment.
#[doc(alias = "nvtxMarkEx")]
pub fn mark<'a>(event: impl Into<Event<'a>>) {
    mark_in(None, event.into());
}

/// Starts a range of this thread, which lasts until the guard is dropped. Such ranges nest: the last one started ends
/// first.
#[doc(alias = "nvtxRangePushEx", alias = "nvtxRangePop")]
pub fn range<'a>(event: impl Into<Event<'a>>) -> Range {
    push_in(None, event.into())
}

/// Starts a range of the process, which lasts until the guard is dropped, on any thread. Such ranges may overlap.
#[doc(alias = "nvtxRangeStartEx", alias = "nvtxRangeEnd")]
pub fn start<'a>(event: impl Into<Event<'a>>) -> ProcessRange {
    start_in(None, event.into())
}

/// Names a stream for the tool.
#[doc(alias = "nvtxNameCuStreamA")]
pub fn name_stream(stream: &CudaStream, name: &str) {
    if let Some(function) = slot(&CUDA, slots::NAME_STREAM) {
        let name = c_string(name);
        // SAFETY: 1: so the protocol has it for this slot. Stream and name, which ends in NUL, outlive the call.
        unsafe { invoke!(function(stream.raw().cast() => *mut c_void, name.as_ptr() => *const c_char)) }
    }
}

/// A set of ranges and marks that tools show and filter separately: a library should have its own.
///
/// Cheap to clone. Its ranges keep it alive.
#[derive(Clone, Debug)]
#[doc(alias = "nvtxDomainCreateA")]
pub struct Domain(Arc<OwnedDomain>);

#[derive(Debug)]
struct OwnedDomain(RawDomain);

// SAFETY: the protocol (NVTX 3) lets every thread use and destroy a domain.
unsafe impl Send for OwnedDomain {}
// SAFETY: as above; nothing is changed after construction.
unsafe impl Sync for OwnedDomain {}

impl Domain {
    /// Creates a domain with this name.
    pub fn new(name: &str) -> Self {
        let raw = slot(&CORE2, slots::DOMAIN_CREATE).map_or(std::ptr::null_mut(), |function| {
            let name = c_string(name);
            // SAFETY: 1: so the protocol has it for this slot. The name, which ends in NUL, outlives the call.
            unsafe { invoke!(function(name.as_ptr() => *const c_char) -> RawDomain) }
        });
        Self(Arc::new(OwnedDomain(raw)))
    }

    /// Like [`mark`], in this domain.
    #[doc(alias = "nvtxDomainMarkEx")]
    pub fn mark<'a>(&self, event: impl Into<Event<'a>>) {
        mark_in(Some(self), event.into());
    }

    /// Like [`range`], in this domain; ranges of other domains do not affect the nesting.
    #[doc(alias = "nvtxDomainRangePushEx", alias = "nvtxDomainRangePop")]
    pub fn range<'a>(&self, event: impl Into<Event<'a>>) -> Range {
        push_in(Some(self), event.into())
    }

    /// Like [`start`], in this domain.
    #[doc(alias = "nvtxDomainRangeStartEx", alias = "nvtxDomainRangeEnd")]
    pub fn start<'a>(&self, event: impl Into<Event<'a>>) -> ProcessRange {
        start_in(Some(self), event.into())
    }
}

impl Drop for OwnedDomain {
    fn drop(&mut self) {
        if let Some(function) = slot(&CORE2, slots::DOMAIN_DESTROY) {
            // SAFETY: 1: so the protocol has it for this slot. The tool made the domain, or it is null, which stands for the one of the
            // process; no range of it is left, as each holds it.
            unsafe { invoke!(function(self.0 => RawDomain)) }
        }
    }
}

/// A range of a thread, ended when this is dropped: on that thread, so it is not `Send`.
///
/// ```compile_fail
/// let range = cuda_launch::nvtx::range("here");
/// std::thread::spawn(move || drop(range)); // a `ProcessRange` may
/// ```
#[derive(Debug)]
#[must_use = "the range ends when the guard is dropped: `let _range = ..`"]
pub struct Range {
    domain: Option<Domain>,
    /// Whether the tool was told of the beginning.
    told: bool,
    _thread: PhantomData<*const ()>,
}

/// A range of the process, ended when this is dropped.
#[derive(Debug)]
#[must_use = "the range ends when the guard is dropped: `let _range = ..`"]
pub struct ProcessRange {
    domain: Option<Domain>,
    /// The tool's number for it.
    id: Option<u64>,
}

fn mark_in(domain: Option<&Domain>, event: Event<'_>) {
    if let Some(function) = pick(domain, slots::MARK, slots::DOMAIN_MARK) {
        // SAFETY: 1: so the protocol has it for these two slots, the second of which takes a domain.
        unsafe { call::<()>(function, domain, &event) }
    }
}

fn push_in(domain: Option<&Domain>, event: Event<'_>) -> Range {
    let function = pick(domain, slots::RANGE_PUSH, slots::DOMAIN_RANGE_PUSH);
    if let Some(function) = function {
        // SAFETY: 1: so the protocol has it for these two slots, the second of which takes a domain. The answer, how deep the range
        // is, says nothing that the guard does not know.
        unsafe { call::<c_int>(function, domain, &event) };
    }
    Range { domain: domain.cloned(), told: function.is_some(), _thread: PhantomData }
}

fn start_in(domain: Option<&Domain>, event: Event<'_>) -> ProcessRange {
    let function = pick(domain, slots::RANGE_START, slots::DOMAIN_RANGE_START);
    // SAFETY: 1: so the protocol has it for these two slots, the second of which takes a domain; the answer is the range's number.
    let id = function.map(|function| unsafe { call::<u64>(function, domain, &event) });
    ProcessRange { domain: domain.cloned(), id }
}

impl Drop for Range {
    fn drop(&mut self) {
        let domain = self.domain.as_ref();
        if let Some(function) = pick(domain, slots::RANGE_POP, slots::DOMAIN_RANGE_POP).filter(|_| self.told)
        {
            // SAFETY: 1: so the protocol has it for these two slots. The range was begun on this thread, as the value is not Send; it
            // holds the domain.
            unsafe {
                match domain {
                    None => invoke!(function() -> c_int),
                    Some(domain) => invoke!(function(domain.0.0 => RawDomain) -> c_int),
                }
            };
        }
    }
}

impl Drop for ProcessRange {
    fn drop(&mut self) {
        let domain = self.domain.as_ref();
        let Some(id) = self.id else { return };
        if let Some(function) = pick(domain, slots::RANGE_END, slots::DOMAIN_RANGE_END) {
            // SAFETY: 1: so the protocol has it for these two slots. The range was begun, is ended once, and holds the domain.
            unsafe {
                match domain {
                    None => invoke!(function(id => u64)),
                    Some(domain) => invoke!(function(domain.0.0 => RawDomain, id => u64)),
                }
            }
        }
    }
}

/// The function for the process, or for a domain.
#[inline]
fn pick(domain: Option<&Domain>, plain: usize, of_domain: usize) -> Option<*mut c_void> {
    match domain {
        None => slot(&CORE, plain),
        Some(_) => slot(&CORE2, of_domain),
    }
}

/// Calls a function that takes an event.
///
/// # Safety
/// 1. It is what [`slot`] gave, takes a domain, if there is one, and an event, and returns `R`.
unsafe fn call<R>(function: *mut c_void, domain: Option<&Domain>, event: &Event<'_>) -> R {
    let name = c_string(event.name);
    let raw = RawEvent::new(event, &name);
    // SAFETY: 1: the caller's duty 1. The borrow keeps the domain (`OwnedDomain`); the event and its name, which ends
    // in NUL, are locals, which outlive the call.
    unsafe {
        match domain {
            None => invoke!(function(&raw const raw => *const RawEvent) -> R),
            Some(domain) => {
                invoke!(function(domain.0.0 => RawDomain, &raw const raw => *const RawEvent) -> R)
            }
        }
    }
}
