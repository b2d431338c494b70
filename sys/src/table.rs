//! One function pointer per driver function, and how a table of them is filled.
//!
//! Relies on: every field of [`Table`] is an `Option` of an `extern "C"` function pointer, which is a pointer that is null for `None`, so
//! the `repr(C)` struct is an array of [`COUNT`] pointers in the order of [`FUNCTIONS`]; and on the caller of [`Table::fill`] for the
//! functions themselves.
#![allow(unsafe_code)]
#![allow(non_camel_case_types, non_snake_case, reason = "C names")]

use core::ffi::{CStr, c_void};
use std::borrow::Cow;
use std::ffi::CString;

macro_rules! define {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        /// The type of every driver function, under the function's name.
        ///
        /// For code that provides a driver or wraps one: `let init: pfn::cuInit = my_init;` lets the compiler
        /// compare the signatures.
        pub mod pfn {
            $(
                #[doc = concat!("The type of `", stringify!($name), "`.")]
                pub type $name = unsafe extern "C" fn($($argument: $type),*) -> crate::CUresult;
            )*
        }

        /// The functions of one driver; `None` for what it does not have. Not a function of ours in each of those places: 500 of them,
        /// and a table of them to be relocated, were 40 KiB of every program.
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub(crate) struct Table {
            $(pub(crate) $name: Option<pfn::$name>,)*
        }

        impl Table {
            const EMPTY: Table = Table { $($name: None),* };
        }

        const TEXT: &str = concat!($(stringify!($name), "\0"),*);

        /// Every name, each with its NUL, one behind the other: pointers to 500 texts would be relocated at each start.
        /// A static: of a constant each crate that asks for a name would have a copy.
        static NAMES: [u8; TEXT.len()] = {
            let mut names = [0; TEXT.len()];
            names.copy_from_slice(TEXT.as_bytes());
            names
        };

        /// Every function of the table, ascending by name.
        pub const FUNCTIONS: &[FunctionInfo] = &placed([$((stringify!($name).len(), $since)),*]);
    };
}
crate::for_each_function!(define);

/// A function of the driver API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionInfo {
    /// Where in [`NAMES`] its name is.
    start: u16,
    len: u8,
    /// The driver version that introduced the symbol, in the format of `cuDriverGetVersion`: 12040 is 12.4.
    pub since: u32,
}

impl FunctionInfo {
    /// The exact symbol, with the number of its ABI: `cuMemAlloc_v2`. The first ABI of a name that has newer ones is
    /// `cuMemAdvise_v1` here, and `cuMemAdvise` in a library.
    pub const fn name(&self) -> &'static str {
        // SAFETY: 1: `placed`, which alone makes these, counted the names of `NAMES`: so many bytes are there, and they
        // are a name, and so UTF-8.
        unsafe { str::from_utf8_unchecked(self.bytes(self.len as usize)) }
    }

    /// [`name`](Self::name) as C wants it.
    pub const fn symbol(&self) -> &'static CStr {
        // SAFETY: 1: `placed`, which alone makes these, counted the names of `NAMES`, in which a NUL is behind each
        // name, and in none: so many bytes are there, and they end with the only NUL.
        unsafe { CStr::from_bytes_with_nul_unchecked(self.bytes(self.len as usize + 1)) }
    }

    /// So many bytes from where the name begins. Of nothing else: Miri, which follows each borrow, would take minutes for a table if every
    /// name borrowed all of them.
    ///
    /// # Safety
    ///
    /// 1. They are in [`NAMES`].
    const unsafe fn bytes(&self, count: usize) -> &'static [u8] {
        // SAFETY: in `NAMES`, by duty 1: bytes that are initialised, never changed and always there.
        unsafe {
            core::slice::from_raw_parts((&raw const NAMES).cast::<u8>().add(self.start as usize), count)
        }
    }
}

/// The functions, from the lengths of their names in [`NAMES`] and the versions that brought them.
const fn placed<const N: usize>(rows: [(usize, u32); N]) -> [FunctionInfo; N] {
    let mut functions = [FunctionInfo { start: 0, len: 0, since: 0 }; N];
    let (mut index, mut start) = (0, 0);
    while index < N {
        let (len, since) = rows[index];
        assert!(start <= u16::MAX as usize && len <= u8::MAX as usize);
        functions[index] = FunctionInfo { start: start as u16, len: len as u8, since };
        start += len + 1;
        index += 1;
    }
    functions
}

/// The symbol that a library has for a function: without the number, if that is its first ABI.
pub(crate) fn exported(name: &CStr) -> Cow<'_, CStr> {
    let first = name.to_bytes().strip_suffix(b"_v1").and_then(|stem| CString::new(stem).ok());
    first.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Functions that took a new name while nothing changed for their callers: where a driver lacks the first, the second does
/// the same with the same signature. Looked up in that order.
///
/// Only names with the same parameters in every `cuda.h` and the same documentation belong here, and only those that some
/// driver from 11.8 on lacks: the others were renamed because their signatures changed, or long ago.
const OLDER: &[(&str, &CStr)] = &[
    // Since 12.8 under the new name.
    ("cuEventElapsedTime_v2", c"cuEventElapsedTime"),
];

const COUNT: usize = FUNCTIONS.len();
const _: () = assert!(size_of::<Table>() == COUNT * size_of::<*const c_void>());

impl Table {
    /// Takes each function from `lookup`; null means that the driver does not have it.
    ///
    /// # Safety
    ///
    /// 1. What `lookup` returns for a symbol is null or a function with that symbol's type in [`pfn`] (for one that is only in
    ///    `OLDER`: with the type of the newer one), callable from any thread as long as any copy of the table lives.
    pub(crate) unsafe fn fill(lookup: &mut dyn FnMut(&CStr) -> *const c_void) -> Table {
        let mut table = Table::EMPTY;
        let places: *mut *const c_void = (&raw mut table).cast();
        for (index, function) in FUNCTIONS.iter().enumerate() {
            let mut address = lookup(function.symbol());
            if let Some((_, older)) =
                OLDER.iter().find(|(newer, _)| address.is_null() && *newer == function.name())
            {
                address = lookup(older);
            }
            // SAFETY: `index` is below COUNT and the table is that many pointers (asserted above), in the order of
            // `FUNCTIONS` (`repr(C)`, of one list), so that the place is this function's. Null is `None` there; another address
            // is a valid value of the field's type by the caller's duty 1.
            unsafe { places.add(index).write(address) };
        }
        table
    }

    /// The address of the function at `index` of [`FUNCTIONS`]; null if the driver does not have it.
    pub(crate) fn address(&self, index: usize) -> *const c_void {
        self.addresses().get(index).copied().unwrap_or(core::ptr::null())
    }

    /// The address of each function in the order of [`FUNCTIONS`]; null where the driver does not have it.
    pub(crate) fn addresses(&self) -> &[*const c_void; COUNT] {
        let places: *const [*const c_void; COUNT] = (&raw const *self).cast();
        // SAFETY: the table is that many pointers (asserted above), and a function pointer can be read as a plain one.
        unsafe { &*places }
    }
}

/// Where in [`FUNCTIONS`] the function is that the header calls so, by its symbol or its unversioned name.
pub(crate) fn position(name: &str) -> Option<usize> {
    let alias = UNVERSIONED.binary_search_by_key(&name, |alias| alias.name()).ok();
    if let Some(alias) = alias.and_then(|index| UNVERSIONED.get(index)) {
        return Some(alias.function.into());
    }
    FUNCTIONS.binary_search_by_key(&name, |function| function.name()).ok()
}

/// A name without the number of its ABI, which is how the symbol that it stands for begins. Not a row of [`ALIASES`](crate::ALIASES),
/// whose pointers need relocation when a program starts: programs that do not use that table should not contain it.
#[derive(Clone, Copy)]
struct Unversioned {
    /// Where in [`FUNCTIONS`] the symbol is.
    function: u16,
    /// How much of the symbol is the name.
    len: u8,
}

impl Unversioned {
    fn name(self) -> &'static str {
        FUNCTIONS
            .get(usize::from(self.function))
            .and_then(|f| f.name().get(..self.len.into()))
            .unwrap_or_default()
    }
}

/// In the order of [`ALIASES`](crate::ALIASES).
static UNVERSIONED: [Unversioned; crate::ALIASES.len()] = {
    let mut all = [Unversioned { function: 0, len: 0 }; crate::ALIASES.len()];
    let mut row = 0;
    while row < all.len() {
        let (name, symbol) = crate::ALIASES[row];
        assert!(order(symbol.as_bytes().split_at(name.len()).0, name.as_bytes()) == 0);
        // The compiler runs this in each build of the crate: half of what is left, not one after the other.
        let (mut start, mut end) = (0, COUNT);
        while start + 1 < end {
            let middle = usize::midpoint(start, end);
            if order(FUNCTIONS[middle].name().as_bytes(), symbol.as_bytes()) <= 0 {
                start = middle;
            } else {
                end = middle;
            }
        }
        assert!(order(FUNCTIONS[start].name().as_bytes(), symbol.as_bytes()) == 0);
        all[row] = Unversioned { function: start as u16, len: name.len() as u8 };
        row += 1;
    }
    all
};

/// Below 0, 0 or above 0, as `one` comes before `other`, is the same, or comes after it.
const fn order(one: &[u8], other: &[u8]) -> isize {
    let mut index = 0;
    while index < one.len() && index < other.len() {
        if one[index] != other[index] {
            return one[index] as isize - other[index] as isize;
        }
        index += 1;
    }
    one.len() as isize - other.len() as isize
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_first_abi_has_no_number_in_a_library() {
        for (name, symbol) in [
            (c"cuMemAdvise_v1", c"cuMemAdvise"),
            (c"cuMemAdvise_v2", c"cuMemAdvise_v2"),
            (c"cuInit", c"cuInit"),
        ] {
            assert_eq!(&*super::exported(name), symbol);
        }
    }
}
