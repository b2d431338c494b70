//! The floating-point environment of the host thread. Host arithmetic gives a kernel's results only in the default environment: rounding to
//! nearest, with denormals, without signals. A thread of the program may have changed it, and threads that it starts inherit that.
#![allow(unsafe_code)]
// Relies on: the assembly reads and writes only the register with the environment.

/// Sets the default environment until this is dropped, and then restores the previous one.
pub(super) struct FloatEnvironment {
    before: u64,
}

impl FloatEnvironment {
    /// Saves that of this thread.
    pub(super) fn standard() -> FloatEnvironment {
        let before = read();
        write(if cfg!(target_arch = "x86_64") { 0x1f80 } else { 0 });
        FloatEnvironment { before }
    }
}

impl Drop for FloatEnvironment {
    fn drop(&mut self) {
        write(self.before);
    }
}

fn read() -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let mut value = 0_u32;
        // SAFETY: the instruction, which every x86-64 CPU has, writes four bytes to `value`.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
        value.into()
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        let value: u64;
        // SAFETY: reads a register that every thread may read.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    0
}

/// The value is the default environment, which compiled code expects, or one that [`read`] returned on this thread.
fn write(value: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let value = value as u32;
        // SAFETY: the instruction reads four valid bytes; no reserved bit is set in the default value or in a value that was read, so it
        // does not fault. Not `nomem`, so that memory accesses are not moved across it.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags)) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: writes a register that every thread may write, with a value that it can have.
    unsafe {
        std::arch::asm!("msr fpcr, {}", in(reg) value, options(nostack, preserves_flags));
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = value;
}
