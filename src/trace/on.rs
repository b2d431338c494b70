//! With the feature: a span for each call that somebody listens to.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_driver_sys::{CUlaunchConfig, CUresult};
use tracing::field::{Empty, debug};
use tracing::level_filters::LevelFilter;
use tracing::{Level, Span};

use super::Launched;

/// The span of one call of the driver, if somebody listens. A call that is made while the stack unwinds has none: a subscriber that panics
/// again would end the process.
pub(crate) struct CallSpan(Option<Span>);

impl CallSpan {
    /// The call itself.
    #[inline]
    pub(crate) fn inside(self, call: impl FnOnce() -> CUresult) -> CUresult {
        let Some(span) = self.0 else { return call() };
        let _listening = Listening::begin();
        let (mut call, mut code) = (Some(call), None);
        let mut once =
            || *code.get_or_insert(call.take().map_or(CUresult::CUDA_ERROR_UNKNOWN, |call| call()));
        told(|| inside(span, &mut once));
        // Made here where the panic came before it.
        once()
    }

    /// The same for a call that creates something and returns its owner. The owner is stored outside of the span, so that it is dropped if
    /// the end of the span unwinds.
    #[inline]
    pub(crate) fn making<T>(self, call: impl FnOnce() -> Result<T, CUresult>) -> Result<T, CUresult> {
        let mut made = None;
        let code = self.inside(|| match call() {
            Ok(owner) => {
                made = Some(owner);
                CUresult::SUCCESS
            }
            Err(code) => code,
        });
        made.ok_or(code)
    }
}

thread_local! {
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// A subscriber may be called on this thread, in the middle of a call; over when this is dropped.
struct Listening(bool);

impl Listening {
    fn begin() -> Self {
        Self(LISTENING.replace(true))
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENING.set(self.0);
    }
}

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `code` of a destructor, or code that releases something: a panic of a subscriber is caught, and the driver call is still made. A
/// destructor that unwinds would abort the process if the standard library drops the value, as it does with the result of a thread, or
/// during another panic.
pub(crate) fn contained<R>(code: impl FnOnce() -> R) -> R {
    struct Contained(bool);
    impl Drop for Contained {
        fn drop(&mut self) {
            CONTAINED.set(self.0);
        }
    }
    let _outer = Contained(CONTAINED.replace(true));
    code()
}

/// `tell` tells a subscriber of something. Its panic, which the panic hook has reported, ends here if this is in [`contained`].
fn told<R>(tell: impl FnOnce() -> R) -> Option<R> {
    if !CONTAINED.get() {
        return Some(tell());
    }
    let told = catch_unwind(AssertUnwindSafe(tell));
    told.map_err(|payload| catch_unwind(AssertUnwindSafe(|| drop(payload))).map_err(std::mem::forget)).ok()
}

/// Whether what this thread does may be what a subscriber does in the middle of a call.
pub(crate) fn is_listening() -> bool {
    LISTENING.get()
}

/// The span for a call of the driver function `name`. The text of `asked` is composed once, by whichever needs it first:
/// the span, or the error that the caller creates from the result.
#[inline]
pub(crate) fn call<A: FnOnce() -> String>(
    name: &'static str,
    device: Option<u32>,
    asked: A,
) -> (CallSpan, impl FnOnce() -> String) {
    let asked = Asked { make: Cell::new(Some(asked)), text: OnceCell::new() };
    let is_told = is_heard() && !std::thread::panicking();
    let span = is_told.then(|| {
        let _listening = Listening::begin();
        told(|| Kind::of(name).span(name, device, &asked))
    });
    (CallSpan(span.flatten()), move || asked.into_text())
}

/// `call`, a call of a compiler, in a span.
#[cfg_attr(not(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm")), allow(dead_code))]
pub(crate) fn compile<R>(name: &'static str, asked: &str, call: impl FnOnce() -> R) -> R {
    within(Kind::Module.span(name, None, &asked), |span| span.in_scope(call))
}

/// Whether somebody listens.
#[inline(always)]
pub(crate) fn is_heard() -> bool {
    LevelFilter::current() != LevelFilter::OFF
}

/// Whether somebody listens to launches.
#[inline(always)]
pub(crate) fn hears_launches() -> bool {
    LevelFilter::current() >= Level::DEBUG
}

/// `call`, the launch of a kernel, in a span.
pub(crate) fn launch(
    kernel: &impl Launched,
    config: &CUlaunchConfig,
    call: impl FnOnce() -> CUresult,
) -> CUresult {
    if !hears_launches() || std::thread::panicking() {
        return call();
    }
    let _listening = Listening::begin();
    inside(launch_span(kernel, config), call)
}

#[cold]
fn launch_span(kernel: &impl Launched, config: &CUlaunchConfig) -> Span {
    let c = config;
    tracing::debug_span!(
        target: "cuda_launch::launch",
        "launch",
        call = "cuLaunchKernelEx",
        kernel = kernel.name(),
        device = kernel.ordinal(),
        stream = debug(c.hStream),
        grid = debug((c.gridDimX, c.gridDimY, c.gridDimZ)),
        block = debug((c.blockDimX, c.blockDimY, c.blockDimZ)),
        shared_bytes = c.sharedMemBytes,
        refused = Empty,
    )
}

/// Makes the call inside the span, and records the result code in the span if it is not success.
fn inside(span: Span, call: impl FnOnce() -> CUresult) -> CUresult {
    within(span, |span| {
        let code = span.in_scope(call);
        if code != CUresult::SUCCESS {
            span.record("refused", debug(code));
        }
        code
    })
}

/// Closes the span after `call`. If `call` unwinds, the subscriber is not notified: it was the one that panicked, and a second panic
/// would abort the process.
fn within<R>(span: Span, call: impl FnOnce(&Span) -> R) -> R {
    struct Within(Option<Span>);
    impl Drop for Within {
        fn drop(&mut self) {
            if std::thread::panicking() {
                std::mem::forget(self.0.take());
            }
        }
    }
    let mut within = Within(None);
    call(within.0.insert(span))
}

/// What was asked, as text that is made when it is wanted.
struct Asked<A> {
    make: Cell<Option<A>>,
    text: OnceCell<String>,
}

impl<A: FnOnce() -> String> Asked<A> {
    fn text(&self) -> &str {
        self.text.get_or_init(|| self.make.take().map_or_else(String::new, |make| make()))
    }

    fn into_text(self) -> String {
        self.text();
        self.text.into_inner().unwrap_or_default()
    }
}

impl<A: FnOnce() -> String> fmt::Display for Asked<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Each is a target that a filter can name, with a level.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal, $target:literal, $level:ident;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Kind { $($(#[$doc])* $kind,)* }

        impl Kind {
            #[cold]
            fn span(self, call: &'static str, device: Option<u32>, asked: &dyn fmt::Display) -> Span {
                match self {
                    $(Self::$kind => tracing::span!(
                        target: $target,
                        Level::$level,
                        $name,
                        call,
                        device,
                        asked = display(asked),
                        refused = Empty,
                    ),)*
                }
            }
        }
    };
}

kinds! {
    /// An image loaded, which may compile it; a link; a run-time compiler.
    Module = "module", "cuda_launch::module", INFO;
    /// A graph submitted.
    Launch = "graph", "cuda_launch::launch", DEBUG;
    /// Memory copied or filled.
    Copy = "copy", "cuda_launch::copy", DEBUG;
    /// The host waits.
    Wait = "wait", "cuda_launch::wait", DEBUG;
    /// Memory taken or given back.
    Memory = "memory", "cuda_launch::memory", DEBUG;
    /// The rest.
    Call = "call", "cuda_launch::call", TRACE;
}

impl Kind {
    /// By the name of the driver's function, whose families begin alike.
    fn of(call: &str) -> Self {
        const FAMILIES: &[(&[&str], Kind)] = &[
            (&["cuModuleLoad", "cuLibraryLoad", "cuLink"], Kind::Module),
            (&["cuGraphLaunch"], Kind::Launch),
            (&["cuMemcpy", "cuMemset", "cuMemPrefetch"], Kind::Copy),
            (&["cuMemAlloc", "cuMemFree", "cuMemHost", "cuMemCreate", "cuMemRelease"], Kind::Memory),
        ];
        let begins = |names: &[&str]| names.iter().any(|name| call.starts_with(name));
        match FAMILIES.iter().find(|(names, _)| begins(names)) {
            Some((_, kind)) => *kind,
            None if call.ends_with("Synchronize") => Self::Wait,
            None => Self::Call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[test]
    fn functions_belong_to_a_family() {
        let kinds = [
            ("cuModuleLoadDataEx", Kind::Module),
            ("cuLinkAddData", Kind::Module),
            ("cuGraphLaunch", Kind::Launch),
            ("cuMemcpyHtoDAsync", Kind::Copy),
            ("cuMemsetD8Async", Kind::Copy),
            ("cuMemAllocAsync", Kind::Memory),
            ("cuMemHostRegister", Kind::Memory),
            ("cuMemGetInfo", Kind::Call),
            ("cuStreamSynchronize", Kind::Wait),
            ("cuStreamWaitEvent", Kind::Call),
        ];
        for (name, kind) in kinds {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }
}
