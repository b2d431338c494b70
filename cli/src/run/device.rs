//! Chooses the driver and the device.

#![allow(unsafe_code)] // A library that the command line names is loaded as a driver: whoever wrote that line vouches for it.

use cuda_launch::error::LoadError;
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaContext, Driver, Error};
use std::sync::Arc;

use crate::failure::{Exit, Failure};

/// Where kernels run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeviceOptions {
    /// system, emulator, or the path of a libcuda [default: the system's if it has a device,
    /// otherwise the emulator]
    #[arg(long)]
    driver: Option<String>,
    /// Ordinal of the device
    #[arg(long, default_value_t = 0)]
    device: u32,
}

impl DeviceOptions {
    /// Requires the emulator, which `what` needs.
    pub(super) fn on_emulator(&self, what: &str) -> Result<Self, Failure> {
        match self.driver.as_deref() {
            None | Some("emulator") => Ok(Self { driver: Some("emulator".into()), ..self.clone() }),
            Some(other) => Err(Failure::usage(format!(
                "{what} runs on the emulator, not on `{other}`\n  help: leave out --driver {other}"
            ))),
        }
    }

    pub(crate) fn of(driver: &str, device: u32) -> Self {
        Self { driver: Some(driver.to_owned()), device }
    }

    pub(crate) fn is_emulator(&self) -> bool {
        self.driver.as_deref() == Some("emulator")
    }

    /// The number of the device.
    pub(crate) fn number(&self) -> u32 {
        self.device
    }

    pub(crate) fn driver(&self) -> Result<Arc<Driver>, Failure> {
        let absent = |error: LoadError| Failure::new(Exit::Driver, error.to_string());
        Ok(match self.driver.as_deref() {
            None => cuda_launch::default_driver()?,
            Some("emulator") => cuda_emulator::driver(),
            Some("system") => Arc::new(Driver::system().map_err(absent)?),
            // SAFETY: 1, 2: the user who passes the option guarantees that it names a CUDA driver.
            Some(path) => Arc::new(unsafe { Driver::open(path) }.map_err(no_driver)?),
        })
    }

    pub(crate) fn context(&self) -> Result<CudaContext, Failure> {
        CudaContext::with_driver(&self.driver()?, self.device).map_err(|error| self.refused(error))
    }

    /// A number that no device has is the command line's mistake, not the driver's.
    fn refused(&self, error: Error) -> Failure {
        if error.code() == Some(CUresult::CUDA_ERROR_INVALID_DEVICE) {
            return self.no_device(&error.to_string());
        }
        error.into()
    }

    /// The driver's answer, with its advice if it has any, for a number that no device has.
    pub(crate) fn no_device(&self, answer: &str) -> Failure {
        let (answer, advice) = parts(answer);
        let advice = advice.map_or(String::new(), |advice| format!("{advice}; "));
        Failure::usage(format!(
            "--device {}: the driver has no such device ({answer})\n  help: {advice}`cuda-launch doctor` lists them",
            self.device
        ))
    }
}

/// A path that does not load as a driver: its advice is about the option, not about the installation.
fn no_driver(error: LoadError) -> Failure {
    let text = error.to_string();
    let (what, _) = parts(&text);
    let help = "--driver takes `system`, `emulator` or the path of a libcuda";
    Failure::new(Exit::Driver, format!("{what}\n  help: {help}"))
}

/// An error's text without its advice, and the advice.
fn parts(text: &str) -> (&str, Option<&str>) {
    text.split_once("\n  help: ").map_or((text, None), |(what, help)| (what, Some(help)))
}
