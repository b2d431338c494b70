//! Room on the stack: a thread may have as little as 16 KiB, or run on a stack that the program made, and what looks at its calls, with
//! the driver behind, needs more.
//!
//! Relies on: the functions of the C library are declared below as it has them on Linux of 64 bits, where a thread's attributes
//! take less than 128 bytes.
#![allow(unsafe_code)]

use cuda_driver_sys::CUresult;

/// Calls a function, on another stack if the thread's has little room left. The function must not panic: that ends the process.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
pub fn with_room(call: &mut dyn FnMut() -> CUresult) -> CUresult {
    let here = 0_u8;
    // The thread is ending, and its thread-local storage is gone.
    let top = own::OWN.try_with(|own| own.take((&raw const here).addr())).ok().flatten();
    let Some(top) = top else { return call() };
    let mut work = own::Work { call, answer: CUresult::CUDA_ERROR_UNKNOWN };
    // SAFETY: 1: the thread's own stack, which `take` gives to one call at a time, until `leave`; nothing of it is used below the top.
    // 2: what `run` takes is `work`, which outlives the call.
    unsafe { own::switch((&raw mut work).cast(), own::run, top) };
    let _ = own::OWN.try_with(own::Own::leave);
    work.answer
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
pub fn with_room(call: &mut dyn FnMut() -> CUresult) -> CUresult {
    call()
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
mod own {
    use cuda_driver_sys::CUresult;
    use std::arch::naked_asm;
    use std::cell::Cell;
    use std::ffi::{c_int, c_void};
    use std::ptr::{null_mut, without_provenance_mut};

    /// Bytes that have to be left.
    const NEEDED: usize = 128 << 10;
    /// The size of the other stack, whose pages the system provides when they are used, and of the guard pages below it.
    const BYTES: usize = 512 << 10;
    const GUARD: usize = 64 << 10;

    unsafe extern "C" {
        fn pthread_self() -> usize;
        fn pthread_getattr_np(thread: usize, attributes: *mut [u64; 16]) -> c_int;
        fn pthread_attr_getstack(
            attributes: *const [u64; 16],
            start: *mut *mut c_void,
            bytes: *mut usize,
        ) -> c_int;
        fn pthread_attr_destroy(attributes: *mut [u64; 16]) -> c_int;
        fn mmap(
            at: *mut c_void,
            len: usize,
            rights: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        fn mprotect(at: *mut c_void, len: usize, rights: c_int) -> c_int;
        fn munmap(at: *mut c_void, len: usize) -> c_int;
    }

    thread_local! {
        pub(super) static OWN: Own = const { Own { low: Cell::new(0), high: Cell::new(0), start: Cell::new(0), is_busy: Cell::new(false) } };
    }

    /// What a thread has.
    pub(super) struct Own {
        /// The ends of its stack; 0 before that is asked for.
        low: Cell<usize>,
        high: Cell<usize>,
        /// Where the other stack starts, with its guard; 0 while there is none.
        start: Cell<usize>,
        is_busy: Cell<bool>,
    }

    impl Own {
        /// The top of the other stack, if a caller at this stack address needs it. Reserved for the caller until `leave`.
        pub(super) fn take(&self, here: usize) -> Option<usize> {
            if self.high.get() == 0 {
                self.ask();
            }
            let has_room = here >= self.low.get().saturating_add(NEEDED) && here <= self.high.get();
            if has_room || self.is_busy.get() {
                return None;
            }
            if self.start.get() == 0 {
                self.start.set(new()?);
            }
            self.is_busy.set(true);
            Some(self.start.get() + GUARD + BYTES)
        }

        pub(super) fn leave(&self) {
            self.is_busy.set(false);
        }

        /// Where the thread's stack is; if that is not known, it is taken to have room.
        fn ask(&self) {
            let (mut attributes, mut start, mut bytes) = ([0; 16], null_mut(), 0);
            // SAFETY: the places are as large as the C library's, aligned, and outlive the calls; the thread is the calling one. The attributes
            // are destroyed once, if they were made.
            let code = unsafe {
                let mut code = pthread_getattr_np(pthread_self(), &mut attributes);
                if code == 0 {
                    code = pthread_attr_getstack(&attributes, &mut start, &mut bytes);
                    pthread_attr_destroy(&mut attributes);
                }
                code
            };
            let (low, high) =
                if code == 0 { (start.addr(), start.addr().saturating_add(bytes)) } else { (0, usize::MAX) };
            self.low.set(low);
            self.high.set(high);
        }
    }

    impl Drop for Own {
        fn drop(&mut self) {
            let start = self.start.get();
            if start != 0 && !self.is_busy.get() {
                // SAFETY: it is what `new` mapped, with that length; no thread runs on it, as it is not busy.
                unsafe { munmap(without_provenance_mut(start), GUARD + BYTES) };
            }
        }
    }

    /// Another stack; `None` if the system has no room.
    fn new() -> Option<usize> {
        // PROT_READ | PROT_WRITE; MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        // SAFETY: the system chooses a free place (no address, and no flag that forces one), so that no mapping in use is replaced; of no file.
        let start = unsafe { mmap(null_mut(), GUARD + BYTES, 3, 0x2 | 0x20 | 0x4000, -1, 0) };
        // Failure is the address -1.
        if start.is_null() || start.addr() == usize::MAX {
            return None;
        }
        // SAFETY: these are the first pages of what was just mapped, and nothing uses them yet.
        unsafe { mprotect(start, GUARD, 0) };
        Some(start.expose_provenance())
    }

    pub(super) struct Work<'call> {
        pub(super) call: &'call mut dyn FnMut() -> CUresult,
        pub(super) answer: CUresult,
    }

    /// # Safety
    ///
    /// 1. It is the address of a `Work`, which nothing else uses.
    pub(super) unsafe extern "C" fn run(work: *mut c_void) {
        // SAFETY: such an address, by duty 1.
        let work = unsafe { &mut *work.cast::<Work<'_>>() };
        work.answer = (work.call)();
    }

    /// Calls a function with what it takes, on the stack with that top.
    ///
    /// # Safety
    ///
    /// 1. The top is a multiple of 16, below which is a stack that nobody uses.
    /// 2. The function may be called with that.
    #[cfg(target_arch = "x86_64")]
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn switch(
        work: *mut c_void,
        function: unsafe extern "C" fn(*mut c_void),
        top: usize,
    ) {
        // The first argument stays where it is. `rbp` is the callee's to keep.
        naked_asm!(
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "mov rsp, rdx",
            "call rsi",
            "mov rsp, rbp",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            ".cfi_restore rbp",
            "ret",
            ".cfi_endproc",
        )
    }

    /// # Safety
    ///
    /// 1. The top is a multiple of 16, below which is a stack that nobody uses.
    /// 2. The function may be called with that.
    #[cfg(target_arch = "aarch64")]
    #[unsafe(naked)]
    pub(super) unsafe extern "C" fn switch(
        work: *mut c_void,
        function: unsafe extern "C" fn(*mut c_void),
        top: usize,
    ) {
        // The first argument stays where it is. `x29` is the callee's to keep, and `x30`, which the call overwrites, is where to return to.
        naked_asm!(
            ".cfi_startproc",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            ".cfi_def_cfa_register x29",
            "mov sp, x2",
            "blr x1",
            "mov sp, x29",
            "ldp x29, x30, [sp], #16",
            ".cfi_def_cfa sp, 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            ".cfi_endproc",
        )
    }
}
