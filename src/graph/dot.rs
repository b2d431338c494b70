//! A graph in the DOT language, for Graphviz.

#![allow(unsafe_code)] // A call of the driver with a path.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::graph::CudaGraph;
use crate::error::{Error, ErrorKind};
use crate::flags::flags;

flags! {
    /// What the picture shows besides the nodes and their dependencies (`CUgraphDebugDot_flags`).
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub struct DotFlags: u32 {
        /// All of it.
        const VERBOSE = 1;
        /// What kernel nodes launch.
        const KERNEL_NODE_PARAMS = 4;
        /// What memcpy nodes copy.
        const MEMCPY_NODE_PARAMS = 8;
        /// What memset nodes set.
        const MEMSET_NODE_PARAMS = 16;
        /// What host nodes call.
        const HOST_NODE_PARAMS = 32;
        /// Which events are recorded and waited for.
        const EVENT_NODE_PARAMS = 64;
        /// The launch attributes of kernel nodes.
        const KERNEL_NODE_ATTRIBUTES = 512;
        /// The driver's handles.
        const HANDLES = 1024;
        /// What allocation nodes allocate.
        const MEM_ALLOC_NODE_PARAMS = 2048;
        /// What free nodes free.
        const MEM_FREE_NODE_PARAMS = 4096;
        /// The edge data.
        const EXTRA_TOPO_INFO = 16384;
        /// The values and graphs of conditional nodes.
        const CONDITIONAL_NODE_PARAMS = 32768;
        // Flags of newer drivers pass through.
        const _ = !0;
    }
}

impl CudaGraph {
    /// Writes the graph to a file in the DOT language.
    ///
    /// Driver call: `cuGraphDebugDotPrint`.
    ///
    /// # Errors
    /// The path contains a NUL byte, or any error returned by the driver: `CUDA_ERROR_OPERATING_SYSTEM` if it cannot
    /// write there.
    #[doc(alias = "cuGraphDebugDotPrint")]
    pub fn write_dot(&self, path: impl AsRef<Path>, flags: DotFlags) -> Result<(), Error> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let c_path = CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| {
            Error::from(ErrorKind::Name { name: name.clone(), reason: "it contains a NUL byte" })
        })?;
        let _family = self.family.lock()?;
        self.context().call(
            "cuGraphDebugDotPrint",
            || name,
            // SAFETY: the graph lives as long as this value (`CudaGraph::raw`), and is locked; the path is a `CString`, which ends in NUL
            // and outlives the call.
            |driver| unsafe { driver.cuGraphDebugDotPrint(self.raw, c_path.as_ptr(), flags.bits()) },
        )
    }

    /// The graph in the DOT language: `dot -Tsvg` makes a picture of it. The driver writes it to a temporary file.
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, graph::DotFlags};
    /// let mut graph = CudaGraph::new(&CudaContext::new(0)?)?;
    /// graph.add_empty(&[])?;
    /// assert!(graph.to_dot(DotFlags::empty())?.starts_with("digraph"));
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphDebugDotPrint`.
    ///
    /// # Errors
    /// As for [`CudaGraph::write_dot`]; the file cannot be read.
    pub fn to_dot(&self, flags: DotFlags) -> Result<String, Error> {
        let file = Temporary::new();
        self.write_dot(&file.0, flags)?;
        let bytes = std::fs::read(&file.0)
            .map_err(|error| Error::from(ErrorKind::File { path: file.0.clone(), error }))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A file of its own, removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("cuda-launch-{}-{number}.dot", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // A file that is left over does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}
