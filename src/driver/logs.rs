//! What the driver logs about its errors.

#![allow(unsafe_code)] // Gives the driver a function of this file, which is safe to call with any number.

use cuda_driver_sys::{CUlogIterator, CUlogLevel, CUlogsCallbackHandle, CUresult, Driver};
use std::cell::Cell;
use std::ffi::{CString, c_char, c_void};
use std::fmt;
use std::path::Path;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::choice::initialise;
use super::numbered::Numbered;
use super::{drops, host_call};
use crate::error::log::LONGEST;
use crate::error::{Error, ErrorKind, check};

/// The severity (`CUlogLevel`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogLevel {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A level that this crate does not know, with its number.
    Other(u32),
}

type Listener = Box<dyn FnMut(LogLevel, &str) + Send>;

/// The listeners, by the number that the driver has for each. So a listener that is gone is not found, and one that is
/// being called while it is taken off lives until it returns.
static LISTENERS: Mutex<Numbered<usize, Arc<Mutex<Listener>>>> = Mutex::new(Numbered::new());
static NEXT: AtomicUsize = AtomicUsize::new(1);

/// A function that the driver calls for each line of its log, until this is dropped.
///
/// ```
/// use cuda_launch::diagnostics::{DriverLog, LogListener};
/// use cuda_launch::default_driver;
/// let driver = default_driver()?;
/// let log = DriverLog::now(&driver)?;
/// let listener = LogListener::new(&driver, |level, line| eprintln!("{level:?}: {line}"))?;
/// let mistake = cuda_launch::CudaDevice::new(99);
/// assert!(mistake.is_err());
/// println!("logged since: {}", log.text()?);
/// listener.close()?;
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[must_use = "the driver stops calling when this is dropped"]
#[doc(alias = "cuLogsRegisterCallback")]
pub struct LogListener {
    /// `None` where the driver has nothing, or no longer.
    registered: Option<Registered>,
    number: usize,
}

/// What the driver has of it.
struct Registered {
    driver: Arc<Driver>,
    raw: CUlogsCallbackHandle,
}

// SAFETY: the handle is the driver's, which nothing here follows, and which may be given back from every thread: of
// what a driver makes, its documents except graphs alone ("Graph object thread safety"). The rest is Send.
unsafe impl Send for Registered {}
// SAFETY: as above; through a shared reference nothing is read.
unsafe impl Sync for Registered {}

impl Registered {
    fn end(self) -> Result<(), Error> {
        // SAFETY: the driver gave the handle in `new`; `self` is gone behind this, so that it is given back once.
        let code = unsafe { self.driver.cuLogsUnregisterCallback(self.raw) };
        check(code, "cuLogsUnregisterCallback", String::new)
    }
}

impl LogListener {
    /// Makes the driver call `listener`, on whichever thread logs something: never on two at once.
    ///
    /// The listener cannot use CUDA: calls of this crate return [`InHostCallback`](crate::error::InHostCallback). What its own thread
    /// logs in the meantime is not passed to any listener, and what it drops, other listeners too, is released on another thread. If it
    /// panics, the panic is caught.
    ///
    /// Driver call: `cuLogsRegisterCallback`.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.9, or any error returned by the driver.
    pub fn new(
        driver: &Arc<Driver>,
        listener: impl FnMut(LogLevel, &str) + Send + 'static,
    ) -> Result<Self, Error> {
        initialise(driver)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        listeners().insert(number, Arc::new(Mutex::new(Box::new(listener))));
        let mut raw = null_mut();
        // SAFETY: `line` looks its number up and takes whatever message the driver has, so that it may be called with
        // any, on any thread, at any time; it is a function of the program, which stays; `raw` is a local, which
        // outlives the call.
        let code =
            unsafe { driver.cuLogsRegisterCallback(Some(line), without_provenance_mut(number), &mut raw) };
        // From here on the number is taken off by `Drop`, also after an error: then there is no handle.
        let is_made = code == CUresult::SUCCESS && !raw.is_null();
        let registered = is_made.then(|| Registered { driver: driver.clone(), raw });
        let made = Self { registered, number };
        check(code, "cuLogsRegisterCallback", String::new).map(|()| made)
    }

    /// Unregisters the listener, and reports any error.
    ///
    /// Driver call: `cuLogsUnregisterCallback`.
    ///
    /// # Errors
    /// [`InHostCallback`](crate::error::InHostCallback) in a listener or a host function, after which another thread unregisters it; or any
    /// error returned by the driver. The listener is not called again in any case.
    #[doc(alias = "cuLogsUnregisterCallback")]
    pub fn close(mut self) -> Result<(), Error> {
        host_call::refuse("cuLogsUnregisterCallback")?;
        // Dropped last, and after the lock: it is the program's code.
        let _listener = listeners().remove(self.number);
        self.registered.take().map_or(Ok(()), Registered::end)
    }
}

impl Drop for LogListener {
    fn drop(&mut self) {
        // From here on the driver makes no more callbacks.
        let (listener, registered) = (listeners().remove(self.number), self.registered.take());
        if listener.is_some() || registered.is_some() {
            host_call::outside(Box::new(move || {
                // `close` tells. The listener, which is the program's code, is dropped after it.
                let _ = registered.map(Registered::end);
                drop(listener);
            }));
        }
    }
}

impl fmt::Debug for LogListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogListener").field("number", &self.number).finish_non_exhaustive()
    }
}

fn listeners() -> std::sync::MutexGuard<'static, Numbered<usize, Arc<Mutex<Listener>>>> {
    // Nothing panics while it is locked.
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the driver calls.
unsafe extern "C" fn line(number: *mut c_void, level: CUlogLevel, message: *mut c_char, length: usize) {
    // Already inside a listener on this thread: messages about the listener's own mistakes are not passed on, or this
    // thread would wait for itself.
    let Some(_listening) = Listening::begin() else { return };
    let bytes = if message.is_null() {
        &[]
    } else {
        // SAFETY: not null, and so a message of `length` bytes, which the driver keeps and does not write for as long
        // as it calls this function, and `bytes` does not leave.
        unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) }
    };
    let text = String::from_utf8_lossy(bytes);
    let level = match level {
        CUlogLevel::CU_LOG_LEVEL_ERROR => LogLevel::Error,
        CUlogLevel::CU_LOG_LEVEL_WARNING => LogLevel::Warning,
        CUlogLevel(number) => LogLevel::Other(number),
    };
    // A panic must not reach the driver, which is C.
    host_call::inside(|| {
        let Some(listener) = listeners().get(number.addr()).cloned() else { return };
        drops::quietly(|| {
            let mut listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
            (*listener)(level, text.trim_end_matches(['\0', '\n']));
        });
        if let Some(last) = Arc::into_inner(listener) {
            // It was unregistered in the meantime; the call that this thread is in is not related to it.
            drops::later(Box::new(move || drop(last)));
        }
    });
}

thread_local! {
    static LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// This thread is in a listener.
struct Listening;

impl Listening {
    /// `None` where it is already.
    fn begin() -> Option<Self> {
        (!LISTENING.replace(true)).then_some(Self)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        LISTENING.set(false);
    }
}

/// A position in the driver's log: what was logged after it can be read, as far as the driver still has it (about the
/// last 100 lines).
///
/// ```
/// use cuda_launch::diagnostics::DriverLog;
/// use cuda_launch::default_driver;
/// let log = DriverLog::now(&default_driver()?)?;
/// let _ = cuda_launch::CudaDevice::new(99);
/// print!("{}", log.text()?);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "cuLogsCurrent")]
pub struct DriverLog {
    driver: Arc<Driver>,
    from: Option<CUlogIterator>,
}

impl DriverLog {
    /// The current end of the log.
    ///
    /// Driver call: `cuLogsCurrent`.
    ///
    /// # Errors
    /// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER` before 12.9, or any error returned by the driver.
    pub fn now(driver: &Arc<Driver>) -> Result<Self, Error> {
        initialise(driver)?;
        let mut from = 0;
        // SAFETY: the driver was initialised above; the output is a local, which outlives the call; 0 is the only value of the flags.
        check(unsafe { driver.cuLogsCurrent(&mut from, 0) }, "cuLogsCurrent", String::new)?;
        Ok(Self { driver: driver.clone(), from: Some(from) })
    }

    /// The start of the log that the driver still has. No driver call.
    pub fn whole(driver: &Arc<Driver>) -> Self {
        Self { driver: driver.clone(), from: None }
    }

    /// What was logged after this position.
    ///
    /// Driver call: `cuLogsDumpToMemory`.
    ///
    /// # Errors
    /// As for [`DriverLog::now`].
    #[doc(alias = "cuLogsDumpToMemory")]
    pub fn text(&self) -> Result<String, Error> {
        initialise(&self.driver)?;
        let (mut text, mut size, mut from) = (vec![0_u8; LONGEST], LONGEST, self.from);
        let place = from.as_mut().map_or(null_mut(), |from| from);
        // SAFETY: the buffer has `size` bytes; it, the place, which is null or a local, and the size outlive the call; 0 is the only
        // value of the flags.
        let code = unsafe { self.driver.cuLogsDumpToMemory(place, text.as_mut_ptr().cast(), &mut size, 0) };
        check(code, "cuLogsDumpToMemory", String::new)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Writes what was logged after this position to a file.
    ///
    /// Driver call: `cuLogsDumpToFile`.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] for a path that is not UTF-8 or contains a NUL byte; otherwise as for [`DriverLog::now`].
    #[doc(alias = "cuLogsDumpToFile")]
    pub fn write_to(&self, path: &Path) -> Result<(), Error> {
        initialise(&self.driver)?;
        let name = |reason| ErrorKind::Name { name: path.display().to_string(), reason };
        let text = path.to_str().ok_or_else(|| name("the driver requires UTF-8"))?;
        let text = CString::new(text).map_err(|_| name("it contains a NUL byte"))?;
        let mut from = self.from;
        let place = from.as_mut().map_or(null_mut(), |from| from);
        // SAFETY: the path is a `CString`, which ends with a NUL; it and the place, which is null or a local, outlive the call; 0 is the
        // only value of the flags.
        let code = unsafe { self.driver.cuLogsDumpToFile(place, text.as_ptr(), 0) };
        check(code, "cuLogsDumpToFile", || path.display().to_string())
    }
}
