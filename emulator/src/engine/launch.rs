//! The parameters of a launch and its results.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::kernel::Kernel;
use crate::check::launches::Ongoing;
use crate::interrupt;
use crate::progress::Progress;

type Sink = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// The destination of a kernel's `printf`: called with complete formatted strings, from any worker thread.
#[derive(Clone, Default)]
pub struct Printer(Option<Sink>);

impl Printer {
    /// Sends the output to `sink`. The default sends it to the process's standard output.
    pub fn new(sink: impl Fn(&[u8]) + Send + Sync + 'static) -> Printer {
        Printer(Some(Arc::new(sink)))
    }

    /// Delivers one formatted string.
    pub(super) fn print(&self, text: &[u8]) {
        match &self.0 {
            Some(sink) => sink(text),
            None => {
                use std::io::Write;
                crate::progress::hide();
                // A closed standard output is not the kernel's fault.
                let _ = std::io::stdout().write_all(text);
            }
        }
    }
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Printer(sink)" } else { "Printer(stdout)" })
    }
}

/// One launch. The driver layer has checked dimensions and limits.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Blocks in a cluster; divides `grid`. Ones if the launch does not specify it: the kernel's own
    /// `.reqnctapercluster` then applies.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// All blocks are resident at once and grid barriers work.
    pub cooperative: bool,
    /// The parameters at the offsets of [`Kernel::parameters`](super::Kernel::parameters).
    pub parameters: Box<[u8]>,
    /// The destination of `printf`.
    pub printer: Printer,
}

impl Default for Launch {
    /// One thread, no parameters.
    fn default() -> Launch {
        Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: [1; 3],
            dynamic_shared: 0,
            cooperative: false,
            parameters: Box::default(),
            printer: Printer::default(),
        }
    }
}

/// A launch that a kernel has requested.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Number of the kernel in the text of its module.
    pub function: usize,
    /// Blocks in the grid.
    pub grid: [u32; 3],
    /// Threads in a block.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
}

/// A launch that was checked, without its parameters.
#[derive(Clone, Debug)]
pub struct Child {
    /// What runs.
    pub kernel: Arc<Kernel>,
    /// How.
    pub launch: Launch,
}

/// A query of a kernel to its driver. Numbers are those of the runtime, which the driver has, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// A limit of the context.
    Limit(u32),
    /// The context's device.
    Device,
    /// The number of devices.
    Devices,
    /// An attribute of a device.
    Attribute {
        /// Which one.
        attribute: u32,
        /// Of which device.
        device: i32,
    },
    /// The cache preference of the context.
    Cache,
    /// An attribute of a function.
    Function {
        /// Which one.
        attribute: u32,
        /// Number of the kernel in the text of its module.
        function: usize,
    },
    /// Blocks of a kernel that a multiprocessor has at a time.
    Blocks {
        /// Number of the kernel in the text of its module.
        function: usize,
        /// Threads in a block.
        threads: i32,
        /// Bytes of dynamic shared memory.
        dynamic_shared: u32,
    },
}

/// Resolves the kernels that a kernel launches.
pub trait Launcher: Sync + fmt::Debug {
    /// Bytes of the parameters of the kernel with that number; `None` if there is none.
    fn parameter_bytes(&self, function: usize) -> Option<usize>;

    /// Checks a launch as one from the host is checked; a number of `cudaError_t` if it is refused.
    fn check(&self, asked: &Asked) -> Result<Child, u32>;

    /// How many launches may wait at a time (`CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT`).
    fn most_waiting(&self) -> usize;

    /// Answers a query; the error is a number of `cudaError_t`.
    fn answer(&self, question: Question) -> Result<u64, u32>;
}

/// Who launches graphs for the kernels of a graph.
pub trait GraphLauncher: Sync + fmt::Debug {
    /// The handle of the graph that the kernel is in; 0 if kernels cannot launch that one.
    fn current(&self) -> u64;

    /// Launches a graph to a stream: a number of `cudaError_t`, 0 if it is launched. What is wrong with a handle that is a fault.
    fn launch(&self, exec: u64, stream: u64) -> Result<u32, String>;
}

/// What a kernel changes of a kernel node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeUpdate {
    /// Its grid.
    Grid([u32; 3]),
    /// A part of its parameters.
    Parameters {
        /// Where these bytes begin.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Whether it runs.
    Enabled(bool),
}

/// Who changes kernel nodes for kernels.
pub trait NodeUpdater: Sync + fmt::Debug {
    /// Changes the nodes with these handles, or none of them: a number of `cudaError_t`, 0 if they are changed. What is wrong with a handle that
    /// is a fault.
    fn update(&self, updates: Vec<(u64, NodeUpdate)>) -> Result<u32, String>;
}

/// Controls for a running launch: early ends and observers.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunControl<'e> {
    /// It may run for so long; then it is a fault.
    pub limit: Option<Duration>,
    /// Once this is set, the launch is abandoned: it ends where it is, which is not a fault.
    pub unwanted: Option<&'e AtomicBool>,
    /// The progress to report to.
    pub progress: Option<&'e Progress>,
    /// Resolves the kernels that kernels launch; without it they cannot launch any.
    pub launcher: Option<&'e dyn Launcher>,
    /// Who launches graphs for it, if it is in a graph.
    pub graphs: Option<&'e dyn GraphLauncher>,
    /// Who changes nodes of graphs for it and for the kernels that it launches.
    pub nodes: Option<&'e dyn NodeUpdater>,
    /// What it is among the launches that are checked for races with each other.
    pub(crate) ongoing: Option<&'e Ongoing>,
}

impl RunControl<'_> {
    /// Whether the launch was abandoned.
    pub(super) fn is_unwanted(&self) -> bool {
        interrupt::is_asked() || self.unwanted.is_some_and(|unwanted| unwanted.load(Relaxed))
    }
}

/// Statistics of a finished launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// PTX instructions executed, each counted once for every thread that took part.
    pub instructions: u64,
}
