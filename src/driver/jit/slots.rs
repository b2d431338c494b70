//! Compiler options in the driver's form, with the memory that they point to.

#![allow(unsafe_code)] // The pointers lead into this value, which outlives each call that takes them.

use cuda_driver_sys::CUjit_option as J;
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use super::{JitOptions, JitReport, Names};
use crate::error::Error;

/// Room for each of the logs, in bytes.
const LOG_BYTES: usize = 16 * 1024;

/// Options in the driver's form, with the memory that they point to.
///
/// The driver writes logs and answers through `values` as long as a call or a link lasts; they are read behind it.
#[derive(Debug, Default)]
pub(in crate::driver) struct Slots {
    ids: Vec<J>,
    values: Vec<*mut c_void>,
    // What `values` point to; moving these moves no byte of theirs.
    errors: Vec<u8>,
    infos: Vec<u8>,
    lists: Vec<Vec<*const c_char>>,
    addresses: Vec<*mut c_void>,
    names: Option<Arc<Names>>,
}

// SAFETY: the pointers are numbers in their place, or to memory of vectors that this value owns, which goes with it, and of strings that
// it keeps and nobody changes (`JitOptions::names` changes those of nobody else), or values of `JitOptions::raw`, which are valid for any thread by its duty 2.
unsafe impl Send for Slots {}

impl Slots {
    /// # Errors
    /// An option that a driver of this version does not know.
    pub(in crate::driver) fn new(options: &JitOptions, driver_version: u32) -> Result<Self, Error> {
        options.check(driver_version)?;
        let bytes = options.log_bytes.unwrap_or(LOG_BYTES).clamp(1, i32::MAX as usize);
        let mut slots = Self {
            ids: Vec::new(),
            values: Vec::new(),
            errors: vec![0; bytes],
            infos: vec![0; bytes],
            lists: Vec::new(),
            addresses: Vec::new(),
            names: options.names.clone(),
        };
        slots.fill(bytes, &options.list);
        Ok(slots)
    }

    fn fill(&mut self, bytes: usize, list: &[(J, usize)]) {
        let (errors, infos) = (self.errors.as_mut_ptr().cast(), self.infos.as_mut_ptr().cast());
        self.push(J::CU_JIT_ERROR_LOG_BUFFER, errors);
        self.push(J::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, number(bytes));
        self.push(J::CU_JIT_INFO_LOG_BUFFER, infos);
        self.push(J::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(bytes));
        for &(option, value) in list {
            self.push(option, number(value));
        }
        let Some(names) = self.names.clone() else { return };
        if !names.symbols.is_empty() {
            self.addresses = names.symbols.iter().map(|(_, at)| number(*at as usize)).collect();
            let addresses = self.addresses.as_mut_ptr().cast();
            let symbols = names.symbols.iter().map(|(name, _)| name.as_ptr()).collect();
            self.list(symbols, J::CU_JIT_GLOBAL_SYMBOL_NAMES, J::CU_JIT_GLOBAL_SYMBOL_COUNT);
            self.push(J::CU_JIT_GLOBAL_SYMBOL_ADDRESSES, addresses);
        }
        let pointers = |names: &[CString]| names.iter().map(|name| name.as_ptr()).collect();
        let (kernels, variables) = (pointers(&names.kernels), pointers(&names.variables));
        self.list(kernels, J::CU_JIT_REFERENCED_KERNEL_NAMES, J::CU_JIT_REFERENCED_KERNEL_COUNT);
        self.list(variables, J::CU_JIT_REFERENCED_VARIABLE_NAMES, J::CU_JIT_REFERENCED_VARIABLE_COUNT);
    }

    /// A list of names and its length.
    #[inline(never)]
    fn list(&mut self, mut names: Vec<*const c_char>, list: J, count: J) {
        if names.is_empty() {
            return;
        }
        self.push(list, names.as_mut_ptr().cast());
        self.push(count, number(names.len()));
        self.lists.push(names);
    }

    #[inline(never)]
    fn push(&mut self, option: J, value: *mut c_void) {
        self.ids.push(option);
        self.values.push(value);
    }

    /// Number, options and values, as the driver takes them.
    pub(in crate::driver) fn parts(&mut self) -> (u32, *mut J, *mut *mut c_void) {
        (self.ids.len() as u32, self.ids.as_mut_ptr(), self.values.as_mut_ptr())
    }

    /// What the driver wrote.
    pub(in crate::driver) fn report(&self) -> JitReport {
        let slot = |option| self.ids.iter().position(|id| *id == option).and_then(|at| self.values.get(at));
        let bits = |option| slot(option).map(|value| value.addr() as u32);
        let milliseconds = bits(J::CU_JIT_WALL_TIME).map(f32::from_bits);
        JitReport {
            info_log: text(&self.infos),
            error_log: text(&self.errors),
            threads_per_block: bits(J::CU_JIT_THREADS_PER_BLOCK),
            wall_time: milliseconds.and_then(|ms| Duration::try_from_secs_f32(ms / 1e3).ok()),
        }
    }
}

/// A slot holds the value itself: a number in the place of a pointer.
fn number(value: usize) -> *mut c_void {
    std::ptr::without_provenance_mut(value)
}

fn text(buffer: &[u8]) -> String {
    let end = buffer.iter().position(|&b| b == 0).unwrap_or(buffer.len());
    String::from_utf8_lossy(&buffer[..end]).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn slots_hold_the_values() {
        let options = JitOptions::new().wall_time().log_bytes(32).referenced_kernel("k").unwrap();
        let mut slots = Slots::new(&options, 13000).unwrap();
        let (count, ..) = slots.parts();
        assert_eq!(count, 7);
        assert_eq!(slots.values[1].addr(), 32);
        slots.values[4] = number(2.5f32.to_bits() as usize);
        assert_eq!(slots.report().wall_time, Some(Duration::from_micros(2500)));
        assert_eq!((slots.ids[6], slots.values[6].addr()), (J::CU_JIT_REFERENCED_KERNEL_COUNT, 1));
    }

    #[test]
    fn names_stay_while_the_options_change() {
        let options = JitOptions::new().referenced_kernel("k").unwrap();
        let slots = Slots::new(&options, 13000).unwrap();
        let kept = slots.names.as_ref().unwrap().kernels[0].as_ptr();
        let options = options.referenced_kernel("other").unwrap();
        assert_eq!(options.names.as_ref().map(|names| names.kernels.len()), Some(2));
        assert_eq!(slots.lists[0], [kept]);
        assert_eq!(slots.names.as_ref().map(|names| names.kernels.len()), Some(1));
    }
}
