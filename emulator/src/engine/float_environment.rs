//! The floating-point environment of the host's thread. Arithmetic of the host's is a kernel's as long as that is as a thread starts: rounding
//! to nearest, with denormals, without signals. A thread of the program may have it otherwise, and those that it starts inherit that.
#![allow(unsafe_code)]
// Relies on: the assembly reads and writes the register that has the environment, and nothing else.

/// The environment is that of the start of a program until this is dropped; then it is what it was.
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
        // SAFETY: the instruction, which every x86-64 has, writes four bytes where `value` is.
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

/// Only for the environment of a start, which is what compiled code expects, and for one that [`read`] gave on this thread.
fn write(value: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        let value = value as u32;
        // SAFETY: the instruction reads four bytes, which are there; no reserved bit is set, in the start's value nor in one that was read, so
        // that it does not fault. Not `nomem`: what is computed before and after keeps to its side.
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
