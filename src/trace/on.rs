//! With the feature: a span for each call that somebody listens to.

use std::cell::{Cell, OnceCell};
use std::fmt;

use cuda_driver_sys::{CUlaunchConfig, CUresult, Driver};
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
        match self.0 {
            None => call(),
            Some(span) => {
                let _listening = Listening::begin();
                // Its end is told as well.
                let span = span;
                inside(&span, call)
            }
        }
    }

    /// The same for a call that makes something, of which it returns an owner. That is put outside of the span, to be dropped where its end
    /// unwinds.
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

/// A call of `driver` that is made once: where the result is called, or at the end of that, which comes without a call only where a span
/// unwinds before it.
#[inline]
pub(crate) fn surely(
    driver: &Driver,
    call: impl FnOnce(&Driver) -> CUresult,
) -> impl FnOnce(&Driver) -> CUresult {
    let mut call = OneCall(Some(move || call(driver)));
    move |_| call.make()
}

struct OneCall<F: FnOnce() -> CUresult>(Option<F>);

impl<F: FnOnce() -> CUresult> OneCall<F> {
    fn make(&mut self) -> CUresult {
        self.0.take().map_or(CUresult::SUCCESS, |call| call())
    }
}

impl<F: FnOnce() -> CUresult> Drop for OneCall<F> {
    fn drop(&mut self) {
        // Nobody can be told the answer.
        let _ = self.make();
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

/// Whether what this thread does may be what a subscriber does in the middle of a call.
pub(crate) fn is_listening() -> bool {
    LISTENING.get()
}

/// The span for a call of the driver function `name`. The text of what was asked is made once, for whoever wants it first:
/// the span, or the error that the caller makes of the answer.
#[inline]
pub(crate) fn call<A: FnOnce() -> String>(
    name: &'static str,
    device: Option<u32>,
    asked: A,
) -> (CallSpan, impl FnOnce() -> String) {
    let asked = Asked { make: Cell::new(Some(asked)), text: OnceCell::new() };
    let span = (is_heard() && !std::thread::panicking()).then(|| {
        let _listening = Listening::begin();
        Kind::of(name).span(name, device, &asked)
    });
    (CallSpan(span), move || asked.into_text())
}

/// `call`, a call of a compiler, in a span.
#[cfg_attr(not(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm")), allow(dead_code))]
pub(crate) fn compile<R>(name: &'static str, asked: &str, call: impl FnOnce() -> R) -> R {
    Kind::Module.span(name, None, &asked).in_scope(call)
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
    inside(&launch_span(kernel, config), call)
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

/// Calls in the span, which is told the code if it is not success.
fn inside(span: &Span, call: impl FnOnce() -> CUresult) -> CUresult {
    let code = span.in_scope(call);
    if code != CUresult::SUCCESS {
        span.record("refused", debug(code));
    }
    code
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
