//! Options of NVRTC.

use std::path::PathBuf;

use crate::compile::code::CodeKind;
use crate::driver::{CudaContext, JitTarget};

/// A C++ standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CppStandard {
    /// C++11
    Cpp11,
    /// C++14
    Cpp14,
    /// C++17
    Cpp17,
    /// C++20
    Cpp20,
}

/// One option of NVRTC.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NvrtcOption {
    /// Faster and less precise: flushes denormals, approximates division and square roots, contracts operations, and
    /// uses the fast versions of functions (`--use_fast_math`).
    FastMath,
    /// Contracts a multiplication and an addition into one operation (`--fmad`).
    FusedMultiplyAdd(bool),
    /// Flushes denormal numbers to zero (`--ftz`).
    FlushDenormals(bool),
    /// Uses division that complies with IEEE 754 (`--prec-div`).
    PreciseDivision(bool),
    /// Uses square roots that comply with IEEE 754 (`--prec-sqrt`).
    PreciseSqrt(bool),
    /// A folder that `#include` searches (`--include-path`).
    Include(PathBuf),
    /// A macro, with its value (`--define-macro`).
    Define(String, Option<String>),
    /// A macro to undefine (`--undefine-macro`).
    Undefine(String),
    /// Debug information, for `cuda-gdb` (`--device-debug`).
    DebugInfo,
    /// Line numbers, for profilers and sanitizers (`--generate-line-info`).
    LineInfo,
    /// The dialect (`--std`).
    Standard(CppStandard),
    /// Maximum number of registers per thread (`--maxrregcount`).
    MaxRegisters(u32),
    /// Code that can be linked with other code (`--relocatable-device-code`).
    Relocatable(bool),
    /// Functions without an annotation are for the device (`--device-as-default-execution-space`).
    DeviceByDefault,
    /// Promises that no two pointer parameters of a kernel reach the same memory (`--restrict`).
    RestrictPointers,
    /// Suppresses warnings (`--disable-warnings`).
    NoWarnings,
    /// Any other option, in the compiler's syntax.
    Raw(String),
}

impl NvrtcOption {
    /// The compiler's form.
    fn text(&self) -> String {
        match self {
            Self::FastMath => "--use_fast_math".into(),
            Self::FusedMultiplyAdd(on) => format!("--fmad={on}"),
            Self::FlushDenormals(on) => format!("--ftz={on}"),
            Self::PreciseDivision(on) => format!("--prec-div={on}"),
            Self::PreciseSqrt(on) => format!("--prec-sqrt={on}"),
            Self::Include(folder) => format!("--include-path={}", folder.display()),
            Self::Define(name, None) => format!("--define-macro={name}"),
            Self::Define(name, Some(value)) => format!("--define-macro={name}={value}"),
            Self::Undefine(name) => format!("--undefine-macro={name}"),
            Self::DebugInfo => "--device-debug".into(),
            Self::LineInfo => "--generate-line-info".into(),
            Self::Standard(standard) => format!(
                "--std=c++{}",
                match standard {
                    CppStandard::Cpp11 => 11,
                    CppStandard::Cpp14 => 14,
                    CppStandard::Cpp17 => 17,
                    CppStandard::Cpp20 => 20,
                }
            ),
            Self::MaxRegisters(count) => format!("--maxrregcount={count}"),
            Self::Relocatable(on) => format!("--relocatable-device-code={on}"),
            Self::DeviceByDefault => "--device-as-default-execution-space".into(),
            Self::RestrictPointers => "--restrict".into(),
            Self::NoWarnings => "--disable-warnings".into(),
            Self::Raw(text) => text.clone(),
        }
    }
}

/// What NVRTC produces, for which architecture, and how.
///
/// ```
/// use cuda_launch::compile::{CodeKind, NvrtcOption, NvrtcOptions};
/// use cuda_launch::module::JitTarget;
/// use cuda_launch::CudaContext;
/// let ctx = CudaContext::new(0)?;
/// let options = NvrtcOptions::for_context(&ctx)
///     .option(NvrtcOption::FusedMultiplyAdd(false))
///     .option(NvrtcOption::Define("N".into(), Some("32".into())));
/// assert_eq!(options.output, CodeKind::Ptx);
/// let other = NvrtcOptions::new(JitTarget::sm(90).arch_specific()).output(CodeKind::Cubin);
/// assert_eq!(other.arguments(), ["--gpu-architecture=sm_90a"]);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct NvrtcOptions {
    /// The architecture.
    pub target: JitTarget,
    /// Whether the target is a device's, for which the nearest architecture serves that the compiler knows.
    pub(super) nearest: bool,
    /// The output.
    pub output: CodeKind,
    /// The other options, in order.
    pub options: Vec<NvrtcOption>,
    /// The driver version that the result is for, in the format of `cuDriverGetVersion`; 0 for none. Part of the cache
    /// key.
    pub(super) driver: u32,
}

impl NvrtcOptions {
    /// PTX for an architecture, which the compiler must know.
    pub fn new(target: JitTarget) -> Self {
        Self { target, nearest: false, output: CodeKind::Ptx, options: Vec::new(), driver: 0 }
    }

    /// PTX for a context's device; if the compiler is older than the device, for the newest architecture that both
    /// support.
    ///
    /// No driver call.
    pub fn for_context(context: &CudaContext) -> Self {
        let (major, minor) = context.limits().compute_capability;
        let driver = context.driver_version();
        Self { nearest: true, driver, ..Self::new(JitTarget::sm(major * 10 + minor)) }
    }

    /// Sets the output, instead of PTX.
    #[must_use]
    pub fn output(mut self, output: CodeKind) -> Self {
        self.output = output;
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, option: NvrtcOption) -> Self {
        self.options.push(option);
        self
    }

    /// Adds folders that `#include` searches, after those already set.
    #[must_use]
    pub fn include(self, folder: impl Into<PathBuf>) -> Self {
        self.option(NvrtcOption::Include(folder.into()))
    }

    /// The options as passed to the compiler.
    pub fn arguments(&self) -> Vec<String> {
        let arch = match self.output {
            CodeKind::Cubin => format!("--gpu-architecture=sm_{}", self.target),
            CodeKind::Ptx | CodeKind::LtoIr => format!("--gpu-architecture=compute_{}", self.target),
        };
        let lto = (self.output == CodeKind::LtoIr).then(|| "--dlink-time-opt".to_string());
        std::iter::once(arch).chain(lto).chain(self.options.iter().map(NvrtcOption::text)).collect()
    }

    /// Whether an option may refer to files whose contents this crate does not see.
    pub(super) fn has_raw(&self) -> bool {
        self.options.iter().any(|option| matches!(option, NvrtcOption::Raw(_)))
    }

    pub(super) fn include_folders(&self) -> impl Iterator<Item = &PathBuf> {
        self.options.iter().filter_map(|option| match option {
            NvrtcOption::Include(folder) => Some(folder),
            _ => None,
        })
    }
}

/// Options that NVRTC knows, to guess what a misspelt one was meant to be.
pub(super) const KNOWN: &[&str] = &[
    "--gpu-architecture",
    "--device-c",
    "--device-w",
    "--relocatable-device-code",
    "--extensible-whole-program",
    "--device-debug",
    "--generate-line-info",
    "--dopt",
    "--ptxas-options",
    "--maxrregcount",
    "--ftz",
    "--prec-sqrt",
    "--prec-div",
    "--fmad",
    "--use_fast_math",
    "--extra-device-vectorization",
    "--dlink-time-opt",
    "--define-macro",
    "--undefine-macro",
    "--include-path",
    "--pre-include",
    "--std",
    "--builtin-move-forward",
    "--disable-warnings",
    "--restrict",
    "--device-as-default-execution-space",
    "--optimization-info",
    "--display-error-number",
    "--diag-suppress",
    "--split-compile",
    "--minimal",
    "--device-int128",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_out_as_the_compiler_takes_them() {
        let options = NvrtcOptions::new(JitTarget::sm(100).family())
            .output(CodeKind::LtoIr)
            .option(NvrtcOption::FastMath)
            .option(NvrtcOption::Standard(CppStandard::Cpp20))
            .include("a folder")
            .option(NvrtcOption::Define("N".into(), Some("3".into())))
            .option(NvrtcOption::Raw("--minimal".into()));
        let expected = [
            "--gpu-architecture=compute_100f",
            "--dlink-time-opt",
            "--use_fast_math",
            "--std=c++20",
            "--include-path=a folder",
            "--define-macro=N=3",
            "--minimal",
        ];
        assert_eq!(options.arguments(), expected);
        assert!(options.has_raw());
        assert_eq!(options.include_folders().count(), 1);
    }
}
