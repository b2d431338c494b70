//! Options of the driver's compiler, and its reports.

#![allow(unsafe_code)] // Declared here, relied on by the driver and by kernels.

pub(in crate::driver) mod slots;

use cuda_driver_sys::{CUjit_cacheMode, CUjit_fallback, CUjit_option as J, CUjit_target};
use std::ffi::CString;
use std::sync::Arc;
use std::time::Duration;

use super::kernel::kernel_name;
use crate::error::{Error, ErrorKind, Unsupported};
use crate::open_number::driver_number;

/// Options for the driver's compiler: how it compiles the PTX in an image, and how it links.
///
/// An option that is not set is left to the driver. Setting one again replaces it.
///
/// ```standalone_crate
/// use cuda_launch::module::JitOptions;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let options = JitOptions::new().max_registers(32).line_info(true).log_bytes(64 * 1024);
/// let (module, report) = ctx.load_module_with(include_str!("../../../examples/kernels/fill.ptx"), &options)?;
/// assert_eq!(module.load_function("fill")?.name(), "fill");
/// println!("{}", report.info_log);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[doc(alias = "CUjit_option")]
pub struct JitOptions {
    list: Vec<(J, usize)>,
    /// Shared by what is compiled with these options. Few programs name anything: then there is none.
    names: Option<Arc<Names>>,
    log_bytes: Option<usize>,
}

/// Names in options, to which the driver is given pointers.
#[derive(Clone, Debug, Default)]
struct Names {
    symbols: Vec<(CString, u64)>,
    kernels: Vec<CString>,
    variables: Vec<CString>,
}

/// An architecture to compile for.
///
/// ```
/// use cuda_launch::module::JitTarget;
/// assert_eq!(JitTarget::sm(90).raw().0, 90);
/// assert_ne!(JitTarget::sm(90), JitTarget::sm(90).arch_specific());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "CUjit_target")]
pub struct JitTarget(u32);

impl JitTarget {
    /// `sm_90` is `JitTarget::sm(90)`.
    pub const fn sm(number: u32) -> Self {
        Self(number)
    }

    /// The same with architecture-specific features, as `sm_90a`.
    #[must_use]
    pub const fn arch_specific(self) -> Self {
        Self(self.0 & 0xffff | 0x10000)
    }

    /// The same with family-specific features, as `sm_100f`.
    #[must_use]
    pub const fn family(self) -> Self {
        Self(self.0 & 0xffff | 0x20000)
    }
}

driver_number!(JitTarget(CUjit_target));

/// `90`, `90a`, `100f`.
impl std::fmt::Display for JitTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let suffix = match self.0 & !0xffff {
            0x10000 => "a",
            0x20000 => "f",
            _ => "",
        };
        write!(f, "{}{suffix}", self.0 & 0xffff)
    }
}

/// What to take from a fatbin that contains no exact match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JitFallback {
    /// Compile its PTX.
    PreferPtx,
    /// Compatible machine code.
    PreferBinary,
}

/// How loads from global memory are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JitCacheMode {
    /// As the kernel specifies.
    None,
    /// Not in L1.
    Global,
    /// In L1 too.
    All,
}

/// What the compiler reported about an image that it accepted.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct JitReport {
    /// The information log; often empty.
    pub info_log: String,
    /// Warnings, if any.
    pub error_log: String,
    /// The number of threads per block that it compiled for, if [`JitOptions::threads_per_block`] was set.
    pub threads_per_block: Option<u32>,
    /// How long it took, if [`JitOptions::wall_time`] was set.
    pub wall_time: Option<Duration>,
}

macro_rules! options {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $ty:ty)?) = $option:ident $value:expr;)*) => {
        impl JitOptions {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(self $(, $argument: $ty)?) -> Self {
                    self.set(J::$option, $value)
                }
            )*
        }
    };
}

options! {
    /// Maximum number of registers per thread.
    max_registers(count: u32) = CU_JIT_MAX_REGISTERS count as usize;
    /// The minimum number of threads per block to compile for; the report has the actual number.
    threads_per_block(count: u32) = CU_JIT_THREADS_PER_BLOCK count as usize;
    /// Measures the compile time.
    wall_time() = CU_JIT_WALL_TIME 0;
    /// Optimisation level, 0 to 4; the default is 4.
    optimization_level(level: u32) = CU_JIT_OPTIMIZATION_LEVEL level as usize;
    /// What to take from a fatbin that contains no exact match. Not for a `Linker`.
    fallback(strategy: JitFallback) = CU_JIT_FALLBACK_STRATEGY match strategy {
        JitFallback::PreferPtx => CUjit_fallback::CU_PREFER_PTX.0 as usize,
        JitFallback::PreferBinary => CUjit_fallback::CU_PREFER_BINARY.0 as usize,
    };
    /// Debug information, for `cuda-gdb`.
    debug_info(on: bool) = CU_JIT_GENERATE_DEBUG_INFO on.into();
    /// Line numbers, for profilers and sanitizers.
    line_info(on: bool) = CU_JIT_GENERATE_LINE_INFO on.into();
    /// Makes the logs more verbose.
    verbose_log(on: bool) = CU_JIT_LOG_VERBOSE on.into();
    /// How loads from global memory are cached.
    cache_mode(mode: JitCacheMode) = CU_JIT_CACHE_MODE match mode {
        JitCacheMode::None => CUjit_cacheMode::CU_JIT_CACHE_OPTION_NONE.0 as usize,
        JitCacheMode::Global => CUjit_cacheMode::CU_JIT_CACHE_OPTION_CG.0 as usize,
        JitCacheMode::All => CUjit_cacheMode::CU_JIT_CACHE_OPTION_CA.0 as usize,
    };
    /// Compiles faster, with worse results. NVIDIA documents this option as internal.
    fast_compile(on: bool) = CU_JIT_FAST_COMPILE on.into();
    /// Optimises across the inputs of a link. Affects only LTO-IR older than CUDA 12.0, like the six options below.
    lto(on: bool) = CU_JIT_LTO on.into();
    /// Flushes denormal numbers to zero.
    flush_denormals(on: bool) = CU_JIT_FTZ on.into();
    /// Uses division that complies with IEEE 754.
    precise_division(on: bool) = CU_JIT_PREC_DIV on.into();
    /// Uses square roots that comply with IEEE 754.
    precise_sqrt(on: bool) = CU_JIT_PREC_SQRT on.into();
    /// Contracts a multiplication and an addition into one operation.
    fused_multiply_add(on: bool) = CU_JIT_FMA on.into();
    /// Removes variables that no kernel uses.
    optimize_unused_variables(on: bool) = CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES on.into();
    /// Position-independent code; current drivers always generate it.
    position_independent(on: bool) = CU_JIT_POSITION_INDEPENDENT_CODE on.into();
    /// The minimum number of blocks that should fit on a multiprocessor; requires
    /// [`max_threads_per_block`](JitOptions::max_threads_per_block) (CUDA 12.3).
    min_blocks_per_multiprocessor(count: u32) = CU_JIT_MIN_CTA_PER_SM count as usize;
    /// The maximum number of threads per block; a kernel's own `.maxntid` takes precedence unless
    /// [`override_directives`](JitOptions::override_directives) is set (CUDA 12.4).
    max_threads_per_block(count: u32) = CU_JIT_MAX_THREADS_PER_BLOCK count as usize;
    /// Makes registers and block sizes given here take precedence over the kernels' directives (CUDA 12.4).
    override_directives(on: bool) = CU_JIT_OVERRIDE_DIRECTIVE_VALUES on.into();
    /// Number of threads that compile in parallel; 0 for one per processor (CUDA 13.0).
    split_compile(threads: u32) = CU_JIT_SPLIT_COMPILE threads as usize;
    /// Number of threads that load machine code in parallel; 0 for one per processor (CUDA 13.1).
    binary_loader_threads(count: u32) = CU_JIT_BINARY_LOADER_THREAD_COUNT count as usize;
}

/// Options that came after 11.8.
const SINCE: [(J, u32); 5] = [
    (J::CU_JIT_MIN_CTA_PER_SM, 12030),
    (J::CU_JIT_MAX_THREADS_PER_BLOCK, 12040),
    (J::CU_JIT_OVERRIDE_DIRECTIVE_VALUES, 12040),
    (J::CU_JIT_SPLIT_COMPILE, 13000),
    (J::CU_JIT_BINARY_LOADER_THREAD_COUNT, 13010),
];

impl JitOptions {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    fn set(mut self, option: J, value: usize) -> Self {
        self.list.retain(|(other, _)| *other != option);
        self.list.push((option, value));
        self
    }

    fn unset(mut self, option: J) -> Self {
        self.list.retain(|(other, _)| *other != option);
        self
    }

    fn names(&mut self) -> &mut Names {
        Arc::make_mut(self.names.get_or_insert_default())
    }

    /// The architecture to compile for.
    #[must_use]
    pub fn target(self, target: JitTarget) -> Self {
        self.unset(J::CU_JIT_TARGET_FROM_CUCONTEXT).set(J::CU_JIT_TARGET, target.0 as usize)
    }

    /// Compiles for the device of the context, which is the default.
    #[must_use]
    pub fn target_from_context(self) -> Self {
        self.unset(J::CU_JIT_TARGET).set(J::CU_JIT_TARGET_FROM_CUCONTEXT, 0)
    }

    /// The capacity of each log, in bytes; 16 KiB by default. What does not fit is truncated.
    #[must_use]
    pub fn log_bytes(mut self, bytes: usize) -> Self {
        self.log_bytes = Some(bytes);
        self
    }

    /// A variable that the image declares `.extern`, and its address.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] for a name that is empty or contains a NUL byte.
    ///
    /// # Safety
    /// 1. `address` is memory that kernels in the image can access, as large as the image declares the variable.
    /// 2. It outlives every module that is loaded or linked with these options.
    #[doc(alias = "CU_JIT_GLOBAL_SYMBOL_ADDRESSES")]
    pub unsafe fn symbol_address(mut self, name: &str, address: u64) -> Result<Self, Error> {
        self.names().symbols.push((kernel_name(name)?, address));
        Ok(self)
    }

    /// Marks a kernel as used: a link may omit whatever no such kernel needs. Only LTO-IR older than CUDA
    /// 12.0.
    ///
    /// # Errors
    /// [`ErrorKind::Name`] for a name that is empty or contains a NUL byte.
    #[doc(alias = "CU_JIT_REFERENCED_KERNEL_NAMES")]
    pub fn referenced_kernel(mut self, name: &str) -> Result<Self, Error> {
        self.names().kernels.push(kernel_name(name)?);
        Ok(self)
    }

    /// Marks a variable as used by the host; otherwise like [`JitOptions::referenced_kernel`].
    ///
    /// # Errors
    /// As for [`JitOptions::referenced_kernel`].
    #[doc(alias = "CU_JIT_REFERENCED_VARIABLE_NAMES")]
    pub fn referenced_variable(mut self, name: &str) -> Result<Self, Error> {
        self.names().variables.push(kernel_name(name)?);
        Ok(self)
    }

    /// An option that this crate does not know, with the value in the driver's representation.
    ///
    /// # Safety
    /// 1. The driver accepts this value for this option, and the option is not one of the log buffers, which belong to
    ///    this crate.
    /// 2. If the value is a pointer, it stays valid, for any thread, as long as these options, a clone, or a link or
    ///    library created with them lives.
    #[must_use]
    pub unsafe fn raw(self, option: J, value: usize) -> Self {
        self.set(option, value)
    }

    /// Refuses options that this driver does not know.
    pub(super) fn check(&self, driver: u32) -> Result<(), Error> {
        let too_new =
            |(option, _): &(J, usize)| SINCE.iter().find(|(known, since)| known == option && *since > driver);
        match self.list.iter().find_map(too_new) {
            None => Ok(()),
            Some((option, since)) => {
                let what = format!("compiler option {}", option.0);
                Err(ErrorKind::Unsupported(Unsupported { what, since: *since, driver }).into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_option_that_is_set_again_is_replaced() {
        let options = JitOptions::new().max_registers(10).max_registers(20).target(JitTarget::sm(80));
        assert_eq!(options.list, [(J::CU_JIT_MAX_REGISTERS, 20), (J::CU_JIT_TARGET, 80)]);
        let options = options.target_from_context();
        assert_eq!(options.list, [(J::CU_JIT_MAX_REGISTERS, 20), (J::CU_JIT_TARGET_FROM_CUCONTEXT, 0)]);
    }

    #[test]
    fn options_newer_than_the_driver_are_named() {
        let options = JitOptions::new().split_compile(4);
        assert!(options.check(13000).is_ok());
        let error = options.check(12080).unwrap_err();
        assert!(error.is_unsupported() && error.to_string().contains("CUDA 13.0"), "{error}");
    }
}
