//! Run-time compilers: libraries that are loaded like the driver, each with its own table.
//!
//! Relies on a library that exports a compiler's functions being that compiler, and on never closing it, so that its
//! functions stay callable for the life of the process.
#![allow(unsafe_code)]

use crate::loader::{self, Reason};
use core::ffi::{CStr, c_void};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A function that this version of a library does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Missing {
    /// Its name.
    pub symbol: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the library has no {}: it is older than the function", self.symbol)
    }
}

impl std::error::Error for Missing {}

/// The functions of one compiler, some of which a library may not have.
pub trait Table: Sized {
    /// The function that says the version; a library without it is another one, or too old to say.
    const VERSION: &'static CStr;

    /// Takes each function from `lookup`, which answers null for what it lacks.
    ///
    /// # Safety
    ///
    /// 1. What `lookup` returns for a symbol is null, or the function that the library's header declares under that name.
    /// 2. It stays callable, from any thread, as long as the table or a copy of it lives.
    unsafe fn fill(lookup: &mut dyn FnMut(&CStr) -> *const c_void) -> Self;
}

/// A loaded compiler: its functions, as methods with their C names, through its table.
///
/// A function that the library does not have returns [`Missing`], and never crashes; one process can use several
/// versions.
///
/// ```no_run
/// # #[cfg(feature = "nvrtc")] {
/// use cuda_driver_sys::nvrtc::Nvrtc;
///
/// // SAFETY: 1, 2: the name is that of NVRTC; a library installed under that name is meant to be loaded as NVRTC.
/// let nvrtc = unsafe { Nvrtc::open("libnvrtc.so.13") }?;
/// let (mut major, mut minor) = (0, 0);
/// // SAFETY: 1, 2: it takes two pointers to an integer each, which are valid during the call; 3: it takes no handle.
/// let code = unsafe { nvrtc.nvrtcVersion(&mut major, &mut minor) }?;
/// println!("{}: NVRTC {major}.{minor}", code.name().unwrap_or("a new code"));
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiler<T> {
    table: T,
    file: Option<PathBuf>,
}

impl<T: Table> Compiler<T> {
    /// Loads the library at `path` (the system's loader searches for a name without a folder). It is never unloaded.
    ///
    /// # Safety
    ///
    /// 1. Loading the library runs its initialisers: they must be sound.
    /// 2. Every function it exports under a name of the table must be that function.
    ///
    /// # Errors
    ///
    /// [`Reason`]: it cannot be loaded, or is a different library.
    pub unsafe fn open(path: impl AsRef<Path>) -> Result<Self, Reason> {
        // SAFETY: 1: the caller's duty 1.
        let library = unsafe { loader::open_any(path.as_ref()) }?;
        let version = library.symbol(T::VERSION);
        if version.is_null() {
            return Err(Reason::Lacks(T::VERSION.to_str().unwrap_or_default()));
        }
        // SAFETY: 1: the caller's duty 2; 2: the library stays loaded, and any thread may call these functions of it.
        let table = unsafe { T::fill(&mut |symbol| library.symbol(symbol)) };
        let file =
            loader::file_of(version).or_else(|| path.as_ref().is_absolute().then(|| path.as_ref().into()));
        Ok(Self { table, file })
    }

    /// A compiler made of the functions that `lookup` returns: for tests, and for programs that load libraries
    /// themselves.
    ///
    /// # Safety
    ///
    /// 1. What `lookup` returns for a symbol is null, or the function that the library's header declares under that name.
    /// 2. It stays callable, from any thread, as long as this value or a copy of its table lives.
    pub unsafe fn from_lookup(mut lookup: impl FnMut(&CStr) -> *const c_void) -> Self {
        // SAFETY: 1, 2: the caller's duties 1 and 2.
        Self { table: unsafe { T::fill(&mut lookup) }, file: None }
    }

    /// The library's file, where the system reports it.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

impl<T> Deref for Compiler<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.table
    }
}

/// Loads a library only so that it is there: one that another library will later request by its bare name. It is never
/// unloaded.
///
/// # Safety
///
/// 1. Loading the library runs its initialisers: they must be sound.
///
/// # Errors
///
/// [`Reason::NotLoaded`], with the system's message.
pub unsafe fn preload(path: impl AsRef<Path>) -> Result<(), Reason> {
    // SAFETY: 1: the caller's duty 1.
    unsafe { loader::open_any(path.as_ref()) }.map(drop)
}

/// Makes `Functions`, the table of a compiler, of the rows `name(parameters) -> type;`.
macro_rules! table {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        /// The functions of one such library, as methods with their C names.
        ///
        /// # Safety
        ///
        /// All of them are `unsafe`, because they are C:
        ///
        /// 1. Arguments are as NVIDIA's documentation of the function requires.
        /// 2. Pointers are valid for what is read and written through them.
        /// 3. Handles come from this library and are alive.
        #[derive(Clone, Copy)]
        #[allow(non_snake_case, reason = "C names")]
        pub struct Functions {
            $($name: Option<unsafe extern "C" fn($($type),*) -> $result>,)*
        }

        #[allow(non_snake_case, reason = "C names")]
        #[allow(clippy::missing_safety_doc, reason = "C functions: see the type's own section")]
        #[allow(clippy::missing_errors_doc, reason = "one error, which the type names")]
        impl Functions {
            /// The names, ascending.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Whether the library has a function.
            pub fn has(&self, name: &str) -> bool {
                match name {
                    $(stringify!($name) => self.$name.is_some(),)*
                    _ => false,
                }
            }

            $(
                #[doc = concat!("`", stringify!($name), "`.")]
                #[inline]
                pub unsafe fn $name(&self, $($argument: $type),*) -> Result<$result, crate::Missing> {
                    let function = self.$name.ok_or(crate::Missing { symbol: stringify!($name) })?;
                    // SAFETY: the function is of this name and type, by the contract of `Table::fill`; what it asks are the caller's duties 1 to 3.
                    Ok(unsafe { function($($argument),*) })
                }
            )*

            /// # Safety
            /// 1. As the duties 1 and 2 of [`Table::fill`](crate::Table::fill).
            pub(crate) unsafe fn from_lookup(
                lookup: &mut dyn FnMut(&core::ffi::CStr) -> *const core::ffi::c_void,
            ) -> Self {
                Self {
                    $($name: {
                        let symbol = core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                        let address = symbol.map_or(core::ptr::null(), |symbol| lookup(symbol));
                        // SAFETY: null is `None`; anything else is the function of this name, which the header declares with this type, by
                        // the caller's duty 1.
                        unsafe {
                            core::mem::transmute::<
                                *const core::ffi::c_void,
                                Option<unsafe extern "C" fn($($type),*) -> $result>,
                            >(address)
                        }
                    },)*
                }
            }
        }

        impl core::fmt::Debug for Functions {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let there = Self::NAMES.iter().filter(|name| self.has(name));
                f.debug_struct("Functions").field("there", &there.count()).finish_non_exhaustive()
            }
        }
    };
}
pub(crate) use table;

/// Makes the public face of a compiler's module.
macro_rules! face {
    ($compiler:ident, $generated:ident, $result:ident, $success:ident, $version:literal) => {
        pub use crate::generated::$generated::*;

        /// The loaded library.
        pub type $compiler = crate::Compiler<Functions>;

        impl crate::compiler::Table for Functions {
            const VERSION: &'static core::ffi::CStr = $version;

            unsafe fn fill(lookup: &mut dyn FnMut(&core::ffi::CStr) -> *const core::ffi::c_void) -> Self {
                // SAFETY: 1: the caller's duties 1 and 2.
                unsafe { Self::from_lookup(lookup) }
            }
        }

        impl $result {
            /// Success under a shorter name.
            pub const SUCCESS: $result = $result::$success;

            /// The name in the header, or `None` for a code that it does not know, from a newer library.
            pub fn name(self) -> Option<&'static str> {
                crate::generated::$generated::RESULTS
                    .iter()
                    .find(|(code, _)| *code == self.0)
                    .map(|(_, name)| *name)
            }
        }
    };
}

/// NVRTC: compiles CUDA C++ to PTX, a cubin or LTO IR. Feature `nvrtc`.
#[cfg(feature = "nvrtc")]
pub mod nvrtc {
    face!(Nvrtc, nvrtc, nvrtcResult, NVRTC_SUCCESS, c"nvrtcVersion");
}

/// nvJitLink: links LTO IR, PTX, cubins and more into one cubin. Feature `nvjitlink`.
#[cfg(feature = "nvjitlink")]
pub mod nvjitlink {
    face!(NvJitLink, nvjitlink, nvJitLinkResult, NVJITLINK_SUCCESS, c"nvJitLinkVersion");
}

/// libNVVM: compiles NVVM IR to PTX or LTO IR. Feature `nvvm`.
#[cfg(feature = "nvvm")]
pub mod nvvm {
    face!(Nvvm, nvvm, nvvmResult, NVVM_SUCCESS, c"nvvmVersion");
}
