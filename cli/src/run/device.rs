//! Chooses the driver and the device.

#![allow(unsafe_code)] // A library that the command line names is loaded as a driver: whoever wrote that line vouches for it.

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
            Some(other) => Err(Failure::usage(format!("{what} runs on the emulator, not on `{other}`"))),
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
        let load = |error: cuda_launch::error::LoadError| Failure::new(Exit::Driver, error.to_string());
        Ok(match self.driver.as_deref() {
            None => cuda_launch::default_driver()?,
            Some("emulator") => cuda_emulator::driver(),
            Some("system") => Arc::new(Driver::system().map_err(load)?),
            // SAFETY: 1, 2: the user who passes the option guarantees that it names a CUDA driver.
            Some(path) => Arc::new(unsafe { Driver::open(path) }.map_err(load)?),
        })
    }

    pub(crate) fn context(&self) -> Result<CudaContext, Failure> {
        CudaContext::with_driver(&self.driver()?, self.device).map_err(|error| self.refused(error))
    }

    /// A number that no device has is the command line's mistake, not the driver's.
    fn refused(&self, error: Error) -> Failure {
        if error.code() == Some(CUresult::CUDA_ERROR_INVALID_DEVICE) {
            return self.missing(error);
        }
        error.into()
    }

    /// The same, with what told of it.
    pub(crate) fn missing(&self, by: impl std::fmt::Display) -> Failure {
        let number = self.device;
        Failure::usage(format!(
            "--device {number}: the driver has no such device ({by}); `cuda-launch doctor` lists them"
        ))
    }
}
