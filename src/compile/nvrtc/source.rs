//! CUDA C++ sources, with headers in memory and on disk.

use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind};

/// A CUDA C++ source for [`Nvrtc`](super::Nvrtc).
///
/// ```
/// use cuda_launch::compile::CudaSource;
/// let source = CudaSource::new("#include \"factor.h\"\ntemplate<class T> __global__ void scale(T* x) { *x *= FACTOR; }")
///     .name("scale.cu")
///     .header("factor.h", "#define FACTOR 3")
///     .expression("scale<float>");
/// assert_eq!(source.origin(), "scale.cu");
/// ```
#[derive(Clone, Debug)]
pub struct CudaSource {
    pub(super) text: String,
    pub(super) name: String,
    /// The folder that `#include "x"` starts from.
    pub(super) folder: Option<PathBuf>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) expressions: Vec<String>,
}

impl CudaSource {
    /// A source in memory.
    pub fn new(text: impl Into<String>) -> Self {
        let (text, name) = (text.into(), "source.cu".to_string());
        Self { text, name, folder: None, headers: Vec::new(), expressions: Vec::new() }
    }

    /// A source on disk; `#include "x"` finds files next to it.
    ///
    /// # Errors
    /// [`ErrorKind::File`] if it cannot be read, or is not UTF-8.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| Error::from(ErrorKind::File { path: path.to_path_buf(), error }))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = Some(folder.unwrap_or(Path::new(".")).to_path_buf());
        Ok(Self { folder, ..Self::new(text).name(path.display().to_string()) })
    }

    /// Sets its name in compiler messages; `source.cu` by default.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds a header in memory, which `#include "name"` and `#include <name>` find first.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Adds a template instance to compile (`scale<float>`), or any kernel or variable with a mangled name.
    /// [`CompiledCode::lowered_name`](crate::compile::CompiledCode::lowered_name) returns its name in the code.
    #[must_use]
    #[doc(alias = "nvrtcAddNameExpression")]
    pub fn expression(mut self, expression: impl Into<String>) -> Self {
        self.expressions.push(expression.into());
        self
    }

    /// The name.
    pub fn origin(&self) -> &str {
        &self.name
    }
}
