//! The program's own NVRTC and nvJitLink.
#![allow(unsafe_code)] // Calls of the loader, and of functions by their addresses.

use std::ffi::{CStr, CString, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

use crate::link_map::LinkMap;
use crate::{COMPILERS, FOLDER, FOUND, STAND_INS};

/// Which of the two.
#[derive(Clone, Copy)]
pub(crate) enum Compiler {
    Nvrtc = 0,
    NvJitLink = 1,
}

/// What the loader answered: a handle, or null.
struct Handle(*mut c_void);

// SAFETY: nothing here follows it: the loader's functions may be called with it on any thread, and the library is never
// closed.
unsafe impl Send for Handle {}
// SAFETY: as for `Send`; a shared one is only read, and the loader's functions may be called by many threads at once.
unsafe impl Sync for Handle {}

static OPENED: [OnceLock<Handle>; 2] = [const { OnceLock::new() }; 2];

impl Compiler {
    fn name(self) -> &'static str {
        match self {
            Compiler::Nvrtc => "NVRTC",
            Compiler::NvJitLink => "nvJitLink",
        }
    }

    /// Where the auditor saw it.
    fn path(self) -> Option<PathBuf> {
        let stand_ins = PathBuf::from(std::env::var_os(FOLDER)?).join(STAND_INS);
        let stem = COMPILERS.get(self as usize)?;
        let names = [format!("{stem}.{}", std::process::id()), format!("{stem}{FOUND}")];
        let word = names.iter().find_map(|name| std::fs::read(stand_ins.join(name)).ok())?;
        Some(std::ffi::OsStr::from_bytes(&word).into())
    }

    /// Whether the program has it.
    pub(crate) fn is_found(self) -> bool {
        self.path().is_some()
    }

    fn open(self) -> Handle {
        let path = self.path().and_then(|path| CString::new(beside_its_name(&path)).ok());
        let Some(path) = path else {
            complain(self.name(), "its path is unknown");
            return Handle(null_mut());
        };
        // SAFETY: the path ends with a NUL, `CString`. Initialisers run that the program has chosen: it was about to
        // load this library.
        let first = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        // SAFETY: 1: what `dlopen` has just answered; it is closed below.
        if let Some(name) = unsafe { soname(first) } {
            // Whoever asks by this name later gets the first that was loaded under it, and that is to be the stand-in: the auditor has
            // it for a bare name that comes from here.
            // SAFETY: the handle from above, open and not null, as it has a name, and not used again: the name is a
            // copy. Then, by a name that ends with a NUL, `CString`, this library itself, whose initialisers have run.
            unsafe {
                libc::dlclose(first);
                libc::dlopen(name.as_ptr(), libc::RTLD_LAZY);
            }
        }
        // SAFETY: the same path, and the library that the program has chosen. With its own symbols first: what it calls
        // of itself is not to come back here.
        let handle =
            unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND) };
        if handle.is_null() {
            // SAFETY: it asks for nothing: the last failure of this thread, which is text or null.
            let why = unsafe { libc::dlerror() };
            // SAFETY: not null, as was checked, so a text with its NUL, this thread's own and good until its next call
            // of the loader, which comes after the text's last use below.
            let why = if why.is_null() { c"no reason given" } else { unsafe { CStr::from_ptr(why) } };
            complain(self.name(), &why.to_string_lossy());
        }
        Handle(handle)
    }

    /// The address of a function; `None` where the library lacks it.
    pub(crate) fn function(self, name: &CStr) -> Option<*const c_void> {
        let handle = OPENED.get(self as usize)?.get_or_init(|| self.open());
        if handle.0.is_null() {
            return None;
        }
        // SAFETY: not null, as was checked, so a handle that `open` got and that nobody closes; the name ends with a
        // NUL, by its type.
        let address = unsafe { libc::dlsym(handle.0, name.as_ptr()) };
        (!address.is_null()).then_some(address.cast_const())
    }

    /// Calls a function with what the program gave; `missing` where there is none.
    ///
    /// # Safety
    ///
    /// 1. The function of that name takes up to six integers or pointers, and returns one or none.
    /// 2. Its arguments come first, and keep its contract; the rest may be anything.
    pub(crate) unsafe fn call(self, name: &CStr, arguments: [usize; 6], missing: usize) -> usize {
        let Some(address) = self.function(name) else { return missing };
        type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> usize;
        // SAFETY: the address of the function of this name, not null, in a library that is never closed. By duty 1 it
        // takes up to six integers or pointers: on x86-64 and AArch64 each is passed in a register of its own, and a
        // result in another, so that one that takes fewer does not look at the rest.
        let function = unsafe { std::mem::transmute::<*const c_void, Function>(address) };
        let [a, b, c, d, e, f] = arguments;
        // SAFETY: the function's own arguments, which keep its contract, come first, by duty 2; it reads no others.
        unsafe { function(a, b, c, d, e, f) }
    }
}

/// `folder/./file`: for the loader `folder/file` is the stand-in, which it got for this name.
fn beside_its_name(path: &Path) -> Vec<u8> {
    let (folder, file) = (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
    [folder.as_os_str().as_bytes(), b"/./", file.as_bytes()].concat()
}

/// The name by which other libraries need one.
///
/// # Safety
///
/// 1. The handle is null, or of a library that stays open during the call.
unsafe fn soname(handle: *mut c_void) -> Option<CString> {
    if handle.is_null() {
        return None;
    }
    let mut map: *const LinkMap = null();
    // SAFETY: not null, so an open handle: duty 1. `RTLD_DI_LINKMAP` writes one address of the loader's structure, for
    // which `map` is the place.
    let code = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) };
    // SAFETY: null still, or what the loader wrote there: its structure, aligned and filled, which lives as long as the
    // library is open: duty 1. Only its first members are in the type, which do not change meanwhile.
    let map = unsafe { map.as_ref() }.filter(|_| code == 0)?;
    // SAFETY: 1: the loader's structure, of a library that stays loaded during the call, by duty 1; the name is copied
    // here.
    unsafe { map.soname() }.map(CStr::to_owned)
}

/// Not by `eprint`, whose panic where nothing can be written would end a program that called a C function.
fn complain(compiler: &str, why: &str) {
    let text = format!("cuda-launch emulate: {compiler} cannot be opened: {why}\n");
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Functions that pass on what they get.
macro_rules! forward {
    ($compiler:ident, $missing:expr; $($name:ident)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        // SAFETY: the name is the C function's, which no other function of this library has. It takes up to six
        // integers or pointers, so that they are in the registers of these; the others are only passed on. Of the
        // result the caller reads the 32 bits that C's enum has.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> usize {
            const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"",
            };
            // SAFETY: 1: so NVIDIA's headers declare all functions in these lists. 2: the caller's own, in their
            // places, under the contract of the function of this name, which is this one's.
            unsafe { crate::real::Compiler::$compiler.call(NAME, [a, b, c, d, e, f], $missing) }
        }
    )*};
}
pub(crate) use forward;
