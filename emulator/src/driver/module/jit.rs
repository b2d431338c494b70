//! The options of `cuModuleLoadDataEx`. There is nothing to optimise; the logs, the target, the time, the limit of registers and the
//! addresses of variables that lie elsewhere count.
//!
//! Relies on the caller for its arrays, and for log buffers of the size it gives: C1 to C6 in `entry`.
#![allow(unsafe_code)]

use cuda_driver_sys::*;
use cuda_ptx::image::Arch;
use std::borrow::Cow;
use std::ffi::{c_char, c_uint, c_void};
use std::sync::Mutex;
use std::time::Instant;

use super::log::Refusal;
use super::seal;
use super::shape;
use crate::architecture::Architecture;
use crate::driver::entry::{Buffer, FromC, INVALID_VALUE, In, Out, Outcome, Text};
use crate::driver::handles::to_c;
use crate::driver::since::Known;
use crate::driver::state::lock;

/// The array of option numbers.
pub(super) type RawOptions<'call> = In<'call, CUjit_option>;
/// The array of option values, some of which are answers.
pub(super) type RawValues<'call> = Out<'call, *mut c_void>;

/// What the options ask for.
///
/// What the caller passed to one call, in [`read`](Options::read): the pointers in it are as C1 to C6 say, for `'call`.
pub(super) struct Options<'call> {
    /// An array of as many elements as `all`, not null.
    values: Option<RawValues<'call>>,
    all: Vec<*mut c_void>,
    info: Log,
    error: Log,
    target: Option<u32>,
    registers: Registers,
    /// Where the time that loading took is asked for, and when it began.
    wall_time: Option<(usize, Instant)>,
    /// Names, addresses and number of variables that lie elsewhere.
    symbol_names: Option<*mut c_void>,
    symbol_addresses: Option<*mut c_void>,
    symbol_count: usize,
}

/// `CU_JIT_MAX_REGISTERS`, and whether that goes before what a kernel says itself.
#[derive(Clone, Copy, Default)]
pub(super) struct Registers {
    most: u32,
    overrides: bool,
}

/// A log buffer: its address and where among the values its size stands.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: Option<*mut c_char>,
    size_at: Option<usize>,
}

/// Options that driver 580 knows are below this.
const KNOWN: u32 = 35;

impl<'call> Options<'call> {
    /// No options.
    pub(super) fn none() -> Self {
        Options {
            values: None,
            all: Vec::new(),
            info: Log::default(),
            error: Log::default(),
            target: None,
            registers: Registers::default(),
            wall_time: None,
            symbol_names: None,
            symbol_addresses: None,
            symbol_count: 0,
        }
    }

    /// Reads and checks the options.
    pub(super) fn read(count: c_uint, options: RawOptions, values: RawValues<'call>) -> Outcome<Self> {
        let mut read = Options::none();
        if count == 0 {
            return Ok(read);
        }
        if values.is_null() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: 1: array and `count` are the caller's, so by C1 it is null or has `count` elements.
        let options = unsafe { options.read_array(count as usize)? };
        // SAFETY: 1: not null, as was just looked, so by C1 it has `count` elements, too, as many as there are options.
        read.all = unsafe { values.all(options.len()) };
        for (at, option) in options.into_iter().enumerate() {
            read.add(option, at)?;
        }
        read.values = Some(values);
        for log in [read.info, read.error] {
            if log.buffer.is_some() && log.size_at.is_none() {
                return Err(INVALID_VALUE);
            }
        }
        Ok(read)
    }

    fn add(&mut self, option: CUjit_option, at: usize) -> Outcome {
        let value = self.all.get(at).copied().ok_or(INVALID_VALUE)?;
        match option.known()? {
            CUjit_option::CU_JIT_INFO_LOG_BUFFER => self.info.buffer = Some(value.cast()),
            CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => self.info.size_at = Some(at),
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER => self.error.buffer = Some(value.cast()),
            CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => self.error.size_at = Some(at),
            CUjit_option::CU_JIT_TARGET => self.target = Some(value.addr() as u32),
            CUjit_option::CU_JIT_MAX_REGISTERS => self.registers.most = value.addr() as u32,
            CUjit_option::CU_JIT_OVERRIDE_DIRECTIVE_VALUES => {
                self.registers.overrides = value.addr() as u32 != 0;
            }
            CUjit_option::CU_JIT_WALL_TIME => self.wall_time = Some((at, Instant::now())),
            CUjit_option::CU_JIT_GLOBAL_SYMBOL_NAMES => self.symbol_names = Some(value),
            CUjit_option::CU_JIT_GLOBAL_SYMBOL_ADDRESSES => self.symbol_addresses = Some(value),
            CUjit_option::CU_JIT_GLOBAL_SYMBOL_COUNT => self.symbol_count = value.addr() as u32 as usize,
            CUjit_option::CU_JIT_CACHE_MODE if value.addr() as u32 > 2 => return Err(INVALID_VALUE),
            CUjit_option(number) if number >= KNOWN => return Err(INVALID_VALUE),
            _ => {}
        }
        Ok(())
    }

    /// Refuses a target that the PTX is too new for, or that is none.
    pub(super) fn check_target(&self, text: &str, device: Architecture) -> Result<(), Refusal> {
        let Some(target) = self.target else { return Ok(()) };
        // Above the number stand bits for the variants with `a` and `f`.
        let (number, suffix) = match target >> 16 {
            0 => (target, None),
            1 => (target & 0xffff, Some('a')),
            2 => (target & 0xffff, Some('f')),
            _ => return Err(CUresult::CUDA_ERROR_INVALID_IMAGE.into()),
        };
        let wanted = Arch { sm: number, suffix };
        if !shape::is_target(wanted) {
            return Err(CUresult::CUDA_ERROR_INVALID_IMAGE.into());
        }
        if !device.runs(wanted) {
            return Err(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU.into());
        }
        match shape::target_of(text) {
            Some(of_text) if of_text.sm > number => Err(shape::target_too_new().help(format!(
                "the text is for {of_text}, and the option CU_JIT_TARGET asks for {wanted}: ask for {of_text}, or leave the option out"
            ))),
            _ => Ok(()),
        }
    }

    /// What the options say of registers.
    pub(super) fn registers(&self) -> Registers {
        self.registers
    }

    /// The variables that lie elsewhere, and where.
    pub(super) fn symbols(&self) -> Outcome<Vec<(String, u64)>> {
        if self.symbol_count == 0 {
            return Ok(Vec::new());
        }
        let (names, addresses) = self.symbol_names.zip(self.symbol_addresses).ok_or(INVALID_VALUE)?;
        // SAFETY: 1: pointers of the caller's options, as C1, C2 and C4 say for `'call`, as the type says; these live no longer than `self`.
        let (names, addresses): (In<*const c_char>, In<*mut c_void>) = unsafe {
            (In::from_c(names.cast::<*const c_char>()), In::from_c(addresses.cast::<*mut c_void>()))
        };
        // SAFETY: 1: the count is that of the same options, so by C1 each is null or has `symbol_count` elements.
        let (names, addresses) =
            unsafe { (names.read_array(self.symbol_count)?, addresses.read_array(self.symbol_count)?) };
        let name = |name: *const c_char| -> Outcome<String> {
            // SAFETY: 1: one of the names, as C6 says for `'call`; the text is copied while `self` is there.
            unsafe { Text::from_c(name) }.name().map(str::to_owned)
        };
        names.into_iter().zip(addresses).map(|(n, address)| Ok((name(n)?, address.addr() as u64))).collect()
    }

    /// Fills the logs and their sizes, and the time it took.
    pub(super) fn finish(&mut self, info: &str, error: &str) {
        self.write(self.info, info);
        self.write(self.error, error);
        if let (Some((at, began)), Some(values)) = (self.wall_time, &self.values) {
            let milliseconds = began.elapsed().as_secs_f32() * 1e3;
            // SAFETY: 1: `at` is where `add` found the option: an index into `all`, and `values` is not null and as
            // long as that (the field's doc).
            unsafe { values.put(at, to_c(milliseconds.to_bits() as usize)) };
        }
    }

    fn write(&self, log: Log, text: &str) {
        let (Some(values), Some(size_at)) = (&self.values, log.size_at) else { return };
        // As it was when the options were read: the slot holds the answer of the last step.
        let size = self.all.get(size_at).map_or(0, |value| value.addr() as u32 as usize);
        if let Some(buffer) = log.buffer {
            // SAFETY: 1 of `from_c`: a pointer of the caller's options, as C1 and C4 say for `'call`, as the type says. 1 of `write`: by C1 the
            // buffer is null or has the size that stood beside it, at `size_at`, when the options were read.
            unsafe { Buffer::from_c(buffer).write(text.as_bytes(), size) };
        }
        // The length without the NUL, or the whole buffer where the text was cut.
        // SAFETY: 1: `size_at` is where `add` found the option: an index into `all`, and `values` is not null and as
        // long as that (the field's doc).
        unsafe { values.put(size_at, to_c(text.len().min(size))) };
    }
}

impl Registers {
    /// The text in which the limit stands as each kernel's `.maxnreg`, on the lines that are there.
    pub(super) fn limit<'a>(self, text: Cow<'a, str>) -> Cow<'a, str> {
        seal::kept(text, |text| match text {
            Cow::Borrowed(text) => cuda_ptx::limit_registers(text, self.most, self.overrides),
            Cow::Owned(text) => {
                cuda_ptx::limit_registers(&text, self.most, self.overrides).into_owned().into()
            }
        })
    }
}

/// The options of a link, whose logs are filled as long as it lasts.
pub(super) struct KeptOptions(Mutex<Options<'static>>);

// SAFETY: what makes options not `Send` are pointers to memory of the program, which is there on every thread alike. By C5 it is there, and
// nothing else uses it, until the link is destroyed, on whatever thread; the link has these options, and nothing else has.
unsafe impl Send for KeptOptions {}
// SAFETY: the field is private, and every method takes the lock: it gives the options to one thread at a time, which may be any, as for `Send`.
unsafe impl Sync for KeptOptions {}

impl KeptOptions {
    pub(super) fn new(options: Options<'static>) -> Self {
        KeptOptions(Mutex::new(options))
    }

    /// Refuses a target that the PTX is too new for, or that is none.
    pub(super) fn check_target(&self, text: &str, device: Architecture) -> Result<(), Refusal> {
        lock(&self.0).check_target(text, device)
    }

    /// What the options say of registers.
    pub(super) fn registers(&self) -> Registers {
        lock(&self.0).registers()
    }

    /// Fills the logs with the outcome of a step.
    pub(super) fn finish<T>(&self, outcome: Result<T, Refusal>) -> Outcome<T> {
        let log = outcome.as_ref().err().map_or("", |refusal| refusal.log.as_str());
        lock(&self.0).finish("", log);
        outcome.map_err(|refusal| {
            refusal.send("");
            refusal.answer()
        })
    }
}

impl RawValues<'_> {
    /// # Safety
    ///
    /// 1. It is not null, and an array of `count` elements.
    unsafe fn all(&self, count: usize) -> Vec<*mut c_void> {
        // SAFETY: 1: not null, and below `count`, so inside the array: duty 1. Each is dropped before the next is made,
        // and `self`, which is of the first element, is not used for that meanwhile.
        (0..count).filter_map(|at| unsafe { self.element(at) }.get()).collect()
    }

    /// # Safety
    ///
    /// 1. It is not null, and an array that has this element.
    unsafe fn put(&self, at: usize, value: *mut c_void) {
        // SAFETY: 1: not null, and an array with this element: duty 1. It is dropped on this line, where no other `Out`
        // of the element is used.
        unsafe { self.element(at) }.set(value);
    }
}
