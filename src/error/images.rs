//! Errors about images and what was looked for in them: the compiler's log, kernels, module files.

use cuda_driver_sys::CUresult;
use std::fmt;
use std::path::PathBuf;

use super::arguments::{count, joined};

/// The driver's compiler or loader rejected an image.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompilerLog {
    /// The driver function.
    pub call: &'static str,
    /// Its result.
    pub code: CUresult,
    /// The file, or "image in memory".
    pub origin: String,
    /// The error log, as the driver wrote it.
    pub error_log: String,
    /// The info log.
    pub info_log: String,
    /// The line of the PTX text that the log points at, counted from 1.
    pub line: Option<u32>,
    /// That line's text.
    pub excerpt: Option<String>,
    /// What to do next, computed from image and device.
    pub hint: Option<String>,
}

impl fmt::Display for CompilerLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}: {}", self.call, self.code, self.origin)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        if let Some(text) = &self.excerpt {
            write!(f, "\n  | {}", text.trim_end())?;
        }
        for line in self.error_log.lines() {
            write!(f, "\n  {line}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CompilerLog {}

/// No kernel of this name in the module.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KernelNotFound {
    /// The requested name.
    pub name: String,
    /// The module.
    pub module: String,
    /// The most similar names, best first.
    pub nearest: Vec<String>,
    /// How many kernels the module has, if known.
    pub available: Option<usize>,
}

impl fmt::Display for KernelNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kernel {:?} in {}", self.name, self.module)?;
        if let Some(n) = self.available {
            write!(f, ", which has {}", count(n, "kernel"))?;
        }
        if !self.nearest.is_empty() {
            write!(f, "\n  help: did you mean {}?", joined(&self.nearest, " or "))?;
        } else {
            f.write_str("\n  help: `kernel_names` of the module lists the names that it has")?;
        }
        if self.nearest.iter().any(|n| n.starts_with("_Z") || n.starts_with("_R")) {
            write!(
                f,
                " (names that begin with _Z or _R are mangled: declare the kernel `extern \"C\"` or `#[no_mangle]`)"
            )?;
        }
        Ok(())
    }
}

impl std::error::Error for KernelNotFound {}

/// One place that was searched for a module file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SearchAttempt {
    /// The file.
    pub path: PathBuf,
    /// Why it could not be used.
    pub reason: String,
}

/// No usable module file of this name; every path that was tried.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleNotFound {
    /// The requested name.
    pub name: String,
    /// The paths, in the order in which they were tried.
    pub tried: Vec<SearchAttempt>,
}

impl fmt::Display for ModuleNotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no kernel module {:?}; tried:", self.name)?;
        // Files of one folder that are all not there are one line: `kernels/name.cubin, .fatbin, .ptx: no such file`.
        let alike = |a: &SearchAttempt, b: &SearchAttempt| {
            a.reason == b.reason && a.path.with_extension("") == b.path.with_extension("")
        };
        for group in self.tried.chunk_by(alike) {
            let Some((first, more)) = group.split_first() else { continue };
            write!(f, "\n  {}", first.path.display())?;
            let endings = more.iter().filter_map(|t| t.path.extension());
            endings.into_iter().try_for_each(|ending| write!(f, ", .{}", ending.display()))?;
            write!(f, ": {}", first.reason.replace('\n', "\n    "))?;
        }
        f.write_str("\n  help: set CUDA_LAUNCH_KERNEL_DIR to the folder that holds the file")
    }
}

impl std::error::Error for ModuleNotFound {}
