//! Errors of the driver and of the search for one.

use cuda_driver_sys::CUresult;
use std::fmt;

use super::log::Said;
use super::{Error, ErrorKind, InHostCallback, call_hint, in_callback};

/// A driver call that failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DriverError {
    /// The driver function.
    pub call: &'static str,
    /// Its result.
    pub code: CUresult,
    /// What was requested, with values.
    pub asked: String,
    /// What the driver's log says about it: drivers from CUDA 12.9 on have a log (`cuLogsDumpToMemory`), and so has the emulator.
    pub log: Option<String>,
    /// What to do next, if known.
    pub hint: Option<String>,
}

impl DriverError {
    /// The error for a call of which the driver's log says this. Its advice comes before the `hint` for what was asked, and that before
    /// what the code alone allows to say, for a driver of this version.
    #[cold]
    pub(crate) fn of(
        said: Said,
        call: &'static str,
        code: CUresult,
        asked: String,
        version: Option<u32>,
        hint: Option<String>,
    ) -> Error {
        let Said { reason, help } = said;
        let is_told = reason.is_some() && code == CUresult::CUDA_ERROR_NOT_SUPPORTED;
        let hint = help.or(hint).or_else(|| call_hint(code, call, version).filter(|_| !is_told));
        DriverError { call, code, asked, log: reason, hint }.told()
    }

    /// The error to return. Inside a callback a driver's "not permitted" is about where the call was made: the one place that decides it,
    /// for calls with a context and without.
    pub(crate) fn told(self) -> Error {
        match self.code {
            CUresult::CUDA_ERROR_NOT_PERMITTED if in_callback() => {
                ErrorKind::from(InHostCallback { call: self.call }).into()
            }
            _ => ErrorKind::Driver(self).into(),
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.call, self.code)?;
        if !self.asked.is_empty() {
            write!(f, ": {}", self.asked)?;
        }
        if let Some(log) = &self.log {
            write!(f, "\n  driver's log: {log}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for DriverError {}

/// No usable driver: everything that was tried, and why it failed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NoDriver {
    /// What was tried, in order.
    pub tried: Vec<String>,
    /// What to do next.
    pub help: &'static str,
}

impl NoDriver {
    /// For a machine without a driver, or a program without the emulator.
    pub(crate) const INSTALL: &'static str = "install NVIDIA's driver (`nvidia-smi` shows whether it works; in a container the runtime has to pass it in), \
         name one with CUDA_LAUNCH_DRIVER, or build with feature `emulator`";
}

impl fmt::Display for NoDriver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no usable CUDA driver:")?;
        for line in &self.tried {
            write!(f, "\n  - {}", line.replace('\n', "\n    "))?;
        }
        write!(f, "\n  help: {}", self.help)
    }
}

impl std::error::Error for NoDriver {}
