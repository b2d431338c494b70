//! Without the feature: nothing but the calls.

use cuda_driver_sys::{CUlaunchConfig, CUresult};

use super::Launched;

pub(crate) struct CallSpan;

impl CallSpan {
    #[inline(always)]
    pub(crate) fn inside(self, call: impl FnOnce() -> CUresult) -> CUresult {
        call()
    }

    #[inline(always)]
    pub(crate) fn making<T>(self, call: impl FnOnce() -> Result<T, CUresult>) -> Result<T, CUresult> {
        call()
    }
}

#[inline(always)]
pub(crate) fn contained<R>(code: impl FnOnce() -> R) -> R {
    code()
}

#[inline(always)]
pub(crate) fn call<A: FnOnce() -> String>(
    _name: &'static str,
    _device: Option<u32>,
    asked: A,
) -> (CallSpan, A) {
    (CallSpan, asked)
}

#[inline(always)]
#[cfg_attr(not(any(feature = "nvrtc", feature = "nvjitlink", feature = "nvvm")), allow(dead_code))]
pub(crate) fn compile<R>(_name: &'static str, _asked: &str, call: impl FnOnce() -> R) -> R {
    call()
}

/// Whether somebody listens.
#[inline(always)]
pub(crate) fn is_heard() -> bool {
    false
}

pub(crate) fn is_listening() -> bool {
    false
}

/// Whether somebody listens to launches.
#[inline(always)]
pub(crate) fn hears_launches() -> bool {
    false
}

#[inline(always)]
pub(crate) fn launch(
    _kernel: &impl Launched,
    _config: &CUlaunchConfig,
    call: impl FnOnce() -> CUresult,
) -> CUresult {
    call()
}
