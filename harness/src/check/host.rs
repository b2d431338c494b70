//! What is mapped at a host address of this process.
#![allow(unsafe_code)] // Calls functions of POSIX.

#[cfg(all(target_os = "linux", not(miri)))]
mod asked {
    use std::ffi::{c_int, c_long, c_uchar, c_void};
    use std::io::Error;
    use std::ptr::without_provenance_mut;

    // SAFETY: the declarations match those of POSIX and of Linux's `sys/mman.h`.
    unsafe extern "C" {
        safe fn sysconf(name: c_int) -> c_long;
        fn mincore(start: *mut c_void, bytes: usize, pages: *mut c_uchar) -> c_int;
    }

    const SC_PAGESIZE: c_int = 30;
    const ENOMEM: i32 = 12;

    /// Bytes of a page.
    pub(crate) fn page() -> u64 {
        u64::try_from(sysconf(SC_PAGESIZE)).ok().filter(|page| page.is_power_of_two()).unwrap_or(4096)
    }

    /// Whether something is mapped there; true if unknown.
    pub(crate) fn is_mapped(address: u64) -> bool {
        let start = without_provenance_mut((address & !(page() - 1)) as usize);
        let mut pages = 0;
        // SAFETY: the range is one byte and so one page, for which the output has an element; any address may be passed, because its memory
        // is not read.
        let answer = unsafe { mincore(start, 1, &mut pages) };
        answer == 0 || Error::last_os_error().raw_os_error() != Some(ENOMEM)
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod asked {
    pub(crate) fn page() -> u64 {
        4096
    }

    pub(crate) fn is_mapped(_: u64) -> bool {
        true
    }
}

pub(super) use asked::{is_mapped, page};

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn an_address_is_mapped_or_not() {
        let own = [0_u8; 3];
        assert!(super::is_mapped(own.as_ptr().addr() as u64));
        assert!(!super::is_mapped(64) && !super::is_mapped(0x7fff_ffff_0000_0000));
        assert!(super::page() >= 4096);
    }
}
