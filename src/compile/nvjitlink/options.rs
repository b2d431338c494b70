//! Options of nvJitLink.

use crate::compile::code::CodeKind;
use crate::driver::{CudaContext, JitTarget};

/// One option of nvJitLink.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NvJitLinkOption {
    /// Optimisation level, 0 or 3; the default is 3 (`-O`).
    OptimizationLevel(u32),
    /// Debug information, for `cuda-gdb` (`-g`).
    DebugInfo,
    /// Line numbers, for profilers and sanitizers (`-lineinfo`).
    LineInfo,
    /// Contracts a multiplication and an addition into one operation; for LTO IR (`-fma`).
    FusedMultiplyAdd(bool),
    /// Flushes denormal numbers to zero; for LTO IR (`-ftz`).
    FlushDenormals(bool),
    /// Uses division that complies with IEEE 754; for LTO IR (`-prec-div`).
    PreciseDivision(bool),
    /// Uses square roots that comply with IEEE 754; for LTO IR (`-prec-sqrt`).
    PreciseSqrt(bool),
    /// Maximum number of registers per thread (`-maxrregcount`).
    MaxRegisters(u32),
    /// The kernels that are used; code that none of them needs is omitted. For LTO IR (`-kernels-used`).
    KernelsUsed(Vec<String>),
    /// Removes variables that no kernel uses; for LTO IR (`-optimize-unused-variables`).
    OptimizeUnusedVariables,
    /// Number of threads that compile in parallel; 0 for one per processor; for LTO IR (`-split-compile`).
    SplitCompile(u32),
    /// Any other option, in the linker's syntax.
    Raw(String),
}

impl NvJitLinkOption {
    fn text(&self) -> String {
        let flag = |name: &str, on: bool| format!("-{name}={}", u8::from(on));
        match self {
            Self::OptimizationLevel(level) => format!("-O{level}"),
            Self::DebugInfo => "-g".into(),
            Self::LineInfo => "-lineinfo".into(),
            Self::FusedMultiplyAdd(on) => flag("fma", *on),
            Self::FlushDenormals(on) => flag("ftz", *on),
            Self::PreciseDivision(on) => flag("prec-div", *on),
            Self::PreciseSqrt(on) => flag("prec-sqrt", *on),
            Self::MaxRegisters(count) => format!("-maxrregcount={count}"),
            Self::KernelsUsed(names) => format!("-kernels-used={}", names.join(",")),
            Self::OptimizeUnusedVariables => "-optimize-unused-variables".into(),
            Self::SplitCompile(threads) => format!("-split-compile={threads}"),
            Self::Raw(text) => text.clone(),
        }
    }
}

/// What nvJitLink produces, for which architecture, and how. `-lto` is added if an input may be LTO IR.
///
/// ```
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{CodeKind, NvJitLinkOption, NvJitLinkOptions};
/// let options = NvJitLinkOptions::new(JitTarget::sm(90)).option(NvJitLinkOption::MaxRegisters(64));
/// assert_eq!(options.output, CodeKind::Cubin);
/// assert_eq!(options.arguments(), ["-arch=sm_90", "-maxrregcount=64"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NvJitLinkOptions {
    /// The architecture.
    pub target: JitTarget,
    /// The output: a cubin, or PTX from LTO IR.
    pub output: CodeKind,
    /// The other options, in order.
    pub options: Vec<NvJitLinkOption>,
    /// The driver version that the result is for, in the format of `cuDriverGetVersion`; 0 for none. Part of the cache
    /// key.
    pub(super) driver: u32,
}

impl NvJitLinkOptions {
    /// A cubin for an architecture.
    pub fn new(target: JitTarget) -> Self {
        Self { target, output: CodeKind::Cubin, options: Vec::new(), driver: 0 }
    }

    /// A cubin for a context's device.
    ///
    /// No driver call.
    pub fn for_context(context: &CudaContext) -> Self {
        let (major, minor) = context.limits().compute_capability;
        Self { driver: context.driver_version(), ..Self::new(JitTarget::sm(major * 10 + minor)) }
    }

    /// Sets the output, instead of a cubin.
    #[must_use]
    pub fn output(mut self, output: CodeKind) -> Self {
        self.output = output;
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, option: NvJitLinkOption) -> Self {
        self.options.push(option);
        self
    }

    /// The options as passed to the linker, except for `-lto`.
    pub fn arguments(&self) -> Vec<String> {
        let ptx = (self.output == CodeKind::Ptx).then(|| "-ptx".to_string());
        let arch = format!("-arch=sm_{}", self.target);
        std::iter::once(arch).chain(ptx).chain(self.options.iter().map(NvJitLinkOption::text)).collect()
    }

    /// Whether an option may refer to files whose contents this crate does not see.
    pub(super) fn has_raw(&self) -> bool {
        self.options.iter().any(|option| matches!(option, NvJitLinkOption::Raw(_)))
    }
}
