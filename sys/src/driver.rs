//! [`Driver`]: the table with a method for every function.
//!
//! Relies on the contract of [`Driver::from_lookup`] and on the libraries that the loader found to be what they say.
#![allow(unsafe_code)]

use crate::generated::methods::for_each_method;
use crate::generated::types::*;
use crate::loader::{self, LoadError};
use crate::table::{self, Table};
use core::ffi::{CStr, c_void};
use std::any::Any;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The functions of one CUDA driver.
///
/// Every function of the API is a method with its C name and signature: the exact symbol (`cuMemAlloc_v2`) and, where the
/// header has one, the name that C programs write (`cuMemAlloc`). A function that this driver does not have returns
/// `CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER`;
/// [`has`](Self::has) checks for it in advance. The cost of a call is that of a call through a function pointer.
///
/// One process can use several drivers side by side, as long as each is given only its own handles.
///
/// # Safety
///
/// All functions are `unsafe`, because they are C:
///
/// 1. Arguments are as NVIDIA's documentation of the function requires.
/// 2. Pointers are valid for what is read and written through them, as long as the function or the work that it starts
///    uses them.
/// 3. Handles come from this driver and are alive.
#[derive(Clone)]
pub struct Driver {
    table: Table,
    origin: Origin,
    /// Keeps alive what the functions need; never read.
    owner: Option<Owner>,
}

/// What [`Driver::with_owner`] keeps alive.
type Owner = Arc<dyn Any + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// Where a [`Driver`]'s functions come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// The library that [`Driver::system`] found, under the name that it was requested by.
    System(PathBuf),
    /// The library given to [`Driver::open`].
    Path(PathBuf),
    /// The function given to [`Driver::from_lookup`].
    Lookup,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::System(path) | Origin::Path(path) => write!(f, "{}", path.display()),
            Origin::Lookup => f.write_str("functions of this program"),
        }
    }
}

impl Driver {
    /// Loads this machine's driver.
    ///
    /// Tries, in this order: on Linux `libcuda.so.1`, WSL's folder, `libcuda.so`; on Android `libcuda.so`; on Windows
    /// `nvcuda.dll` of the system folder. The library is never unloaded. No driver function except `cuDriverGetVersion`
    /// is called, so a driver is found even without a device.
    ///
    /// # Errors
    ///
    /// [`LoadError`] lists every name that was tried and why it failed: it does not exist, it is not a driver, or it is
    /// the stub that the toolkit ships for linking.
    pub fn system() -> Result<Driver, LoadError> {
        // SAFETY: 1, 2: the names are those under which NVIDIA's driver installs itself. Any other library under that name was installed
        // by the administrator of this machine, to be loaded as the driver.
        let (library, path) = unsafe { loader::first(loader::system_names())? };
        Ok(Driver::of(&library, Origin::System(path)))
    }

    /// Loads the driver in the library at `path` (as the system's loader interprets it: it searches for a name without
    /// a folder).
    ///
    /// The library is never unloaded.
    ///
    /// # Safety
    ///
    /// 1. Loading the library runs its initialisers: they must be sound.
    /// 2. Every function it exports under the name of a driver function must have that function's signature and
    ///    documented behaviour.
    ///
    /// # Errors
    ///
    /// [`LoadError`] as for [`system`](Self::system), with one attempt.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Driver, LoadError> {
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        let (library, path) = unsafe { loader::first([path.as_ref()])? };
        Ok(Driver::of(&library, Origin::Path(path)))
    }

    /// A driver whose functions come from `lookup`: it is called once for each exact symbol, and returns the function's
    /// address or null. The symbols requested are those of `FUNCTIONS`; if there is no
    /// `cuEventElapsedTime_v2`, which came with CUDA 12.8, also `cuEventElapsedTime`, which has the same type. The first ABI of
    /// a name that has newer ones is requested as `cuMemAdvise_v1`: a library exports it as `cuMemAdvise`, by which name
    /// [`address`](Self::address) and [`has`](Self::has) mean the newest.
    ///
    /// ```
    /// use cuda_driver_sys::{CUresult, Driver, pfn};
    /// use std::ffi::{c_int, c_void};
    ///
    /// unsafe extern "C" fn count(count: *mut c_int) -> CUresult {
    ///     unsafe { *count = 3 };
    ///     CUresult::SUCCESS
    /// }
    /// let count: pfn::cuDeviceGetCount = count; // the compiler compares the signature
    /// let driver = unsafe {
    ///     Driver::from_lookup(|symbol| match symbol.to_str() {
    ///         Ok("cuDeviceGetCount") => count as *const c_void,
    ///         _ => std::ptr::null(),
    ///     })
    /// };
    /// let mut devices = 0;
    /// assert_eq!(unsafe { driver.cuDeviceGetCount(&mut devices) }, CUresult::SUCCESS);
    /// assert_eq!(devices, 3);
    /// assert!(!driver.has("cuInit"));
    /// assert_eq!(unsafe { driver.cuInit(0) }, CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    /// ```
    ///
    /// # Safety
    ///
    /// 1. What `lookup` returns for a symbol is null, or a function of the type that `pfn` has under that
    ///    name, with the function's documented behaviour.
    /// 2. It stays callable, from any thread, as long as this `Driver` or a clone lives.
    pub unsafe fn from_lookup(mut lookup: impl FnMut(&CStr) -> *const c_void) -> Driver {
        // SAFETY: 1: the caller's duties 1 and 2.
        let table = unsafe { Table::fill(&mut lookup) };
        Driver { table, origin: Origin::Lookup, owner: None }
    }

    /// The driver, which keeps `owner` alive from now on, beside what it kept before: they are dropped with the last clone.
    ///
    /// For functions given to [`from_lookup`](Self::from_lookup) that work only as long as something else exists.
    ///
    /// ```
    /// use cuda_driver_sys::Driver;
    /// use std::sync::Arc;
    ///
    /// let owner = Arc::new(7);
    /// // SAFETY: 1, 2: every symbol is null: there is no function.
    /// let driver = unsafe { Driver::from_lookup(|_| std::ptr::null()) }.with_owner(owner.clone());
    /// let clone = driver.clone();
    /// drop(driver);
    /// assert_eq!(Arc::strong_count(&owner), 2);
    /// drop(clone);
    /// assert_eq!(Arc::strong_count(&owner), 1);
    /// ```
    pub fn with_owner<T: Any + Send + Sync + UnwindSafe + RefUnwindSafe>(mut self, owner: Arc<T>) -> Driver {
        // Not in its place: the functions may need that, and this is safe to call.
        self.owner = Some(match self.owner.take() {
            Some(before) => Arc::new((owner, before)),
            None => owner,
        });
        self
    }

    fn of(library: &loader::Library, origin: Origin) -> Driver {
        // SAFETY: 1: what the library exports is what its names say, by duty 2 of `open`, or by the names of `system`:
        // functions that any thread may call; it is never unloaded.
        let table = unsafe { Table::fill(&mut |name| library.symbol(&table::exported(name))) };
        Driver { table, origin, owner: None }
    }

    /// Whether this driver has a function, by exact symbol (`cuMemAlloc_v2`) or by the header's name (`cuMemAlloc`).
    ///
    /// False for names that are not in the API.
    pub fn has(&self, name: &str) -> bool {
        !self.address(name).is_null()
    }

    /// The address of a function of this driver, named as for [`has`](Self::has); null if it does not have it.
    ///
    /// For tables layered over another driver: they provide their own functions for some symbols, and these for the
    /// others.
    pub fn address(&self, name: &str) -> *const c_void {
        table::position(name).map_or(std::ptr::null(), |index| self.table.address(index))
    }

    /// The newest CUDA version that this driver supports: 12040 is 12.4. Calls `cuDriverGetVersion`, which needs no
    /// `cuInit`.
    ///
    /// # Errors
    ///
    /// Any error returned by the function.
    pub fn version(&self) -> Result<i32, CUresult> {
        let mut version = 0;
        // SAFETY: the pointer is good for one c_int during the call; the function asks for nothing else.
        match unsafe { self.cuDriverGetVersion(&mut version) } {
            CUresult::SUCCESS => Ok(version),
            error => Err(error),
        }
    }

    /// The function behind [`cuLaunchKernelEx`](Self::cuLaunchKernelEx), for callers so frequent that a lookup here each
    /// time costs too much. It is callable as long as this driver or a clone lives; its duties are the method's.
    pub fn launch_kernel_ex(&self) -> crate::pfn::cuLaunchKernelEx {
        self.table.cuLaunchKernelEx.unwrap_or(no_launch)
    }

    /// Where the functions come from.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The file that the functions were loaded from, with its folder, where the system reports it (Linux and Android).
    ///
    /// Worth printing when a driver behaves strangely: in containers a bundled compatibility library may shadow the
    /// host's.
    pub fn file(&self) -> Option<PathBuf> {
        let first = self.table.addresses().iter().find(|address| !address.is_null())?;
        loader::file_of(*first)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let functions = self.table.addresses().iter().filter(|address| !address.is_null()).count();
        f.debug_struct("Driver")
            .field("origin", &self.origin)
            .field("functions", &functions)
            .finish_non_exhaustive()
    }
}

/// What [`Driver::launch_kernel_ex`] returns for a driver that has no such function.
unsafe extern "C" fn no_launch(
    _: *const CUlaunchConfig,
    _: CUfunction,
    _: *mut *mut c_void,
    _: *mut *mut c_void,
) -> CUresult {
    CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER
}

macro_rules! methods {
    ($($doc:literal $method:ident($($argument:ident: $type:ty),*) = $symbol:ident($($passed:ident),*);)*) => {
        /// The driver API.
        #[allow(non_snake_case, reason = "C names")]
        #[allow(clippy::too_many_arguments, clippy::missing_safety_doc, reason = "C functions: see the type's own section")]
        impl Driver {
            $(
                #[doc = $doc]
                #[inline]
                pub unsafe fn $method(&self, $($argument: $type),*) -> CUresult {
                    match self.table.$symbol {
                        // SAFETY: a function of this type, by the contract of `Table::fill`; what it asks are the caller's duties 1 to 3.
                        Some(function) => unsafe { function($($passed),*) },
                        None => CUresult::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER,
                    }
                }
            )*
        }
    };
}
for_each_method!(methods);
