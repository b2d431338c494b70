//! Options of libNVVM.

use crate::compile::code::CodeKind;
use crate::driver::{CudaContext, JitTarget};

/// One option of libNVVM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NvvmOption {
    /// Optimisation level, 0 or 3; the default is 3 (`-opt`).
    OptimizationLevel(u32),
    /// Debug information, for `cuda-gdb` (`-g`).
    DebugInfo,
    /// Line numbers, for profilers and sanitizers (`-generate-line-info`).
    LineInfo,
    /// Contracts a multiplication and an addition into one operation (`-fma`).
    FusedMultiplyAdd(bool),
    /// Flushes denormal numbers to zero (`-ftz`).
    FlushDenormals(bool),
    /// Uses division that complies with IEEE 754 (`-prec-div`).
    PreciseDivision(bool),
    /// Uses square roots that comply with IEEE 754 (`-prec-sqrt`).
    PreciseSqrt(bool),
    /// Any other option, in the compiler's syntax.
    Raw(String),
}

impl NvvmOption {
    fn text(&self) -> String {
        let flag = |name: &str, on: bool| format!("-{name}={}", u8::from(on));
        match self {
            Self::OptimizationLevel(level) => format!("-opt={level}"),
            Self::DebugInfo => "-g".into(),
            Self::LineInfo => "-generate-line-info".into(),
            Self::FusedMultiplyAdd(on) => flag("fma", *on),
            Self::FlushDenormals(on) => flag("ftz", *on),
            Self::PreciseDivision(on) => flag("prec-div", *on),
            Self::PreciseSqrt(on) => flag("prec-sqrt", *on),
            Self::Raw(text) => text.clone(),
        }
    }
}

/// What libNVVM produces, for which architecture, and how.
///
/// ```
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::compile::{CodeKind, NvvmOption, NvvmOptions};
/// let options = NvvmOptions::new(JitTarget::sm(90)).option(NvvmOption::FlushDenormals(true)).output(CodeKind::LtoIr);
/// assert_eq!(options.arguments(), ["-arch=compute_90", "-gen-lto", "-ftz=1"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NvvmOptions {
    /// The architecture.
    pub target: JitTarget,
    /// Whether the target is a device's, for which the newest older architecture serves where the library does not know it.
    pub(super) nearest: bool,
    /// The output: PTX or LTO IR.
    pub output: CodeKind,
    /// The other options, in order.
    pub options: Vec<NvvmOption>,
    /// The driver version that the result is for, in the format of `cuDriverGetVersion`; 0 for none. Part of the cache
    /// key.
    pub(super) driver: u32,
}

impl NvvmOptions {
    /// PTX for an architecture, which the library must know.
    pub fn new(target: JitTarget) -> Self {
        Self { target, nearest: false, output: CodeKind::Ptx, options: Vec::new(), driver: 0 }
    }

    /// PTX for a context's device; if the library is older than the device, for the newest architecture that it
    /// supports: PTX and LTO IR work on every later one.
    ///
    /// No driver call.
    pub fn for_context(context: &CudaContext) -> Self {
        let (major, minor) = context.limits().compute_capability;
        Self {
            nearest: true,
            driver: context.driver_version(),
            ..Self::new(JitTarget::sm(major * 10 + minor))
        }
    }

    /// Sets the output, instead of PTX.
    #[must_use]
    pub fn output(mut self, output: CodeKind) -> Self {
        self.output = output;
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, option: NvvmOption) -> Self {
        self.options.push(option);
        self
    }

    /// The options as passed to the compiler.
    pub fn arguments(&self) -> Vec<String> {
        let lto = (self.output == CodeKind::LtoIr).then(|| "-gen-lto".to_string());
        let arch = format!("-arch=compute_{}", self.target);
        std::iter::once(arch).chain(lto).chain(self.options.iter().map(NvvmOption::text)).collect()
    }

    /// Whether an option may refer to files whose contents this crate does not see.
    pub(super) fn has_raw(&self) -> bool {
        self.options.iter().any(|option| matches!(option, NvvmOption::Raw(_)))
    }
}
