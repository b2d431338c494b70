//! Core dumps of kernels that fault.

#![allow(unsafe_code)] // Passes buffers of the size and type that each attribute has.

use cuda_driver_sys::{CUcoredumpSettings as Setting, CUresult, Driver};
use std::ffi::{CString, c_void};
use std::sync::Arc;

use super::context::CudaContext;
use crate::error::{Error, check};
use crate::flags::flags;

/// A setting of [`Coredump`].
///
/// ```
/// use cuda_launch::diagnostics::CoredumpSwitch;
/// assert_eq!(CoredumpSwitch::EnableOnException as u32, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
#[doc(alias = "CUcoredumpSettings")]
pub enum CoredumpSwitch {
    /// A kernel's fault writes a dump. Set it before the context is created.
    EnableOnException = 1,
    /// The dump also aborts the host process, so that it dumps core too. On by default.
    TriggerHost = 2,
    /// The dump omits memory.
    Lightweight = 3,
    /// Writing to the pipe of [`Coredump::pipe`] triggers a dump.
    EnableUserTrigger = 4,
}

flags! {
    /// What a dump leaves out (`CUCoredumpGenerationFlags`).
    ///
    /// ```
    /// use cuda_launch::diagnostics::CoredumpFlags;
    /// let small = CoredumpFlags::SKIP_GLOBAL_MEMORY | CoredumpFlags::SKIP_SHARED_MEMORY;
    /// assert_eq!(small.bits(), 6);
    /// ```
    #[derive(Clone, Copy, Default, PartialEq, Eq)]
    #[doc(alias = "CUCoredumpGenerationFlags")]
    pub struct CoredumpFlags: u32 {
        /// Images as they were before relocation.
        const SKIP_NONRELOCATED_ELF_IMAGES = 1;
        /// Global memory.
        const SKIP_GLOBAL_MEMORY = 1 << 1;
        /// Shared memory.
        const SKIP_SHARED_MEMORY = 1 << 2;
        /// Local memory.
        const SKIP_LOCAL_MEMORY = 1 << 3;
        /// The process is not ended after the dump.
        const SKIP_ABORT = 1 << 4;
        /// Constant memory.
        const SKIP_CONSTBANK_MEMORY = 1 << 5;
        /// The dump is compressed.
        const GZIP_COMPRESS = 1 << 6;
        /// Contexts without a fault.
        const FAULTED_CONTEXTS_ONLY = 1 << 7;
        /// Tensor memory.
        const SKIP_TENSOR_MEMORY = 1 << 8;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

/// Settings of core dumps: of one context, or what contexts start with.
///
/// A dump is a file for `cuda-gdb`. The emulator does not write any and returns `CUDA_ERROR_NOT_SUPPORTED`; its own
/// report names the thread, the address and the line.
///
/// ```
/// use cuda_launch::diagnostics::{Coredump, CoredumpSwitch};
/// use cuda_launch::default_driver;
/// let dumps = Coredump::of_driver(&default_driver()?);
/// match dumps.set(CoredumpSwitch::EnableOnException, true) {
///     Ok(()) => println!("{}", dumps.file()?),
///     Err(error) => assert!(error.is_unsupported(), "{error}"),
/// }
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "cuCoredumpSetAttribute")]
pub struct Coredump {
    scope: Scope,
}

#[derive(Clone, Debug)]
enum Scope {
    Driver(Arc<Driver>),
    Context(CudaContext),
}

/// Longest name, its NUL included (driver API, `cuCoredumpGetAttribute`).
const NAME: usize = 1024;

impl Coredump {
    /// The settings that contexts start with. No driver call.
    #[doc(alias = "cuCoredumpSetAttributeGlobal")]
    pub fn of_driver(driver: &Arc<Driver>) -> Self {
        Self { scope: Scope::Driver(driver.clone()) }
    }

    /// The settings of one context. Some can only be changed before it is created. No driver call.
    pub fn of_context(context: &CudaContext) -> Self {
        Self { scope: Scope::Context(context.clone()) }
    }

    /// Whether a setting is on.
    ///
    /// Driver call: `cuCoredumpGetAttribute` or `cuCoredumpGetAttributeGlobal`, as in all queries.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.1, or any error returned by the driver.
    #[doc(alias = "cuCoredumpGetAttribute")]
    pub fn is_on(&self, switch: CoredumpSwitch) -> Result<bool, Error> {
        // A `bool` of C; more room, in case a driver takes an int.
        let mut value = [0_u8; 4];
        self.get(Setting(switch as u32), &mut value, 1)?;
        Ok(value != [0; 4])
    }

    /// Turns a setting on or off.
    ///
    /// Driver call: `cuCoredumpSetAttribute` or `cuCoredumpSetAttributeGlobal`, as in all functions that set.
    ///
    /// # Errors
    /// `CUDA_ERROR_NOT_PERMITTED` if it is too late for this context; otherwise as for [`Coredump::is_on`].
    pub fn set(&self, switch: CoredumpSwitch, on: bool) -> Result<(), Error> {
        self.put(Setting(switch as u32), &[u8::from(on), 0, 0, 0], 1)
    }

    /// The file that a dump is written to. A pattern that was set may be returned as is, or with its placeholders
    /// replaced.
    ///
    /// # Errors
    /// As for [`Coredump::is_on`].
    pub fn file(&self) -> Result<String, Error> {
        self.text(Setting::CU_COREDUMP_FILE)
    }

    /// Sets the file, at most 1023 bytes: a pattern, in which the driver replaces `%h` (host), `%p` (process) and `%t` (time).
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for a name that is too long or contains a NUL byte; otherwise as for
    /// [`Coredump::set`].
    pub fn set_file(&self, pattern: &str) -> Result<(), Error> {
        self.set_text(Setting::CU_COREDUMP_FILE, pattern)
    }

    /// The pipe that triggers a dump, a pattern like that of [`Coredump::set_file`].
    ///
    /// # Errors
    /// As for [`Coredump::is_on`].
    pub fn pipe(&self) -> Result<String, Error> {
        self.text(Setting::CU_COREDUMP_PIPE)
    }

    /// Sets the pipe, at most 1023 bytes.
    ///
    /// # Errors
    /// As for [`Coredump::set_file`].
    pub fn set_pipe(&self, pattern: &str) -> Result<(), Error> {
        self.set_text(Setting::CU_COREDUMP_PIPE, pattern)
    }

    /// What a dump leaves out.
    ///
    /// # Errors
    /// As for [`Coredump::is_on`]; `CUDA_ERROR_INVALID_VALUE` from drivers before 12.5.
    pub fn flags(&self) -> Result<CoredumpFlags, Error> {
        let mut value = [0_u8; 4];
        self.get(Setting::CU_COREDUMP_GENERATION_FLAGS, &mut value, 4)?;
        Ok(CoredumpFlags::from_bits_retain(u32::from_ne_bytes(value)))
    }

    /// Sets what a dump leaves out.
    ///
    /// # Errors
    /// As for [`Coredump::set`]; `CUDA_ERROR_INVALID_VALUE` from drivers before 12.5.
    pub fn set_flags(&self, flags: CoredumpFlags) -> Result<(), Error> {
        self.put(Setting::CU_COREDUMP_GENERATION_FLAGS, &flags.bits().to_ne_bytes(), 4)
    }

    fn text(&self, setting: Setting) -> Result<String, Error> {
        let mut text = [0_u8; NAME];
        self.get(setting, &mut text, NAME)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    fn set_text(&self, setting: Setting, text: &str) -> Result<(), Error> {
        let invalid = || {
            let (code, asked) =
                (CUresult::CUDA_ERROR_INVALID_VALUE, format!("setting {} = {text:?}", setting.0));
            crate::error::failed(code, "cuCoredumpSetAttribute", asked)
        };
        let text = CString::new(text).ok().filter(|text| text.as_bytes().len() < NAME).ok_or_else(invalid)?;
        let bytes = text.as_bytes_with_nul();
        self.put(setting, bytes, bytes.len())
    }

    /// Queries a value of at most `size` bytes, for which there is room in `value`.
    fn get(&self, setting: Setting, value: &mut [u8], mut size: usize) -> Result<(), Error> {
        size = size.min(value.len());
        let (value, asked) = (value.as_mut_ptr().cast::<c_void>(), || format!("setting {}", setting.0));
        match &self.scope {
            Scope::Driver(driver) => {
                super::choice::initialise(driver)?;
                // SAFETY: `value` has room for `size` bytes, as `size` is no more than the slice's length; it and `size` outlive the
                // call.
                let code = unsafe { driver.cuCoredumpGetAttributeGlobal(setting, value, &mut size) };
                check(code, "cuCoredumpGetAttributeGlobal", asked)
            }
            // SAFETY: as above: room for `size` bytes, and both outlive the call; `call` made the context current.
            Scope::Context(context) => context.call("cuCoredumpGetAttribute", asked, |driver| unsafe {
                driver.cuCoredumpGetAttribute(setting, value, &mut size)
            }),
        }
    }

    fn put(&self, setting: Setting, value: &[u8], mut size: usize) -> Result<(), Error> {
        size = size.min(value.len());
        // The driver only reads it.
        let (value, asked) =
            (value.as_ptr().cast::<c_void>().cast_mut(), || format!("setting {}", setting.0));
        match &self.scope {
            Scope::Driver(driver) => {
                super::choice::initialise(driver)?;
                // SAFETY: `value` has `size` bytes, as `size` is no more than the slice's length, and the driver only reads them; it and
                // `size` outlive the call.
                let code = unsafe { driver.cuCoredumpSetAttributeGlobal(setting, value, &mut size) };
                check(code, "cuCoredumpSetAttributeGlobal", asked)
            }
            // SAFETY: as above: `size` bytes, only read, and both outlive the call; `call` made the context current.
            Scope::Context(context) => context.call("cuCoredumpSetAttribute", asked, |driver| unsafe {
                driver.cuCoredumpSetAttribute(setting, value, &mut size)
            }),
        }
    }
}
