//! The rules, by name, and findings.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $rule:ident $name:literal $level:ident $fix:literal;)*) => {
        /// A rule that a program can break.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $($(#[$doc])* $rule,)*
        }

        impl Rule {
            /// All rules.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule),*];

            /// Its name in options and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Rule::$rule => $name,)*
                }
            }

            /// Its level.
            pub fn level(self) -> Level {
                match self {
                    $(Rule::$rule => Level::$level,)*
                }
            }

            /// What to do about it.
            pub fn fix(self) -> &'static str {
                match self {
                    $(Rule::$rule => $fix,)*
                }
            }
        }
    };
}

rules! {
    /// No list of arguments for a kernel that has parameters.
    MissingArguments "missing-arguments" Error "pass a pointer to each argument in kernelParams, or all arguments in extra";
    /// An element of the list is null, or not an address.
    NullArgument "null-argument" Error "point each element of kernelParams to an argument, even if that argument is a null pointer";
    /// A list in `extra` that does not fit the kernel's parameters.
    ArgumentPacket "argument-packet" Error "pass a buffer with all parameters at their offsets and its size, and no kernelParams";
    /// A kernel uses an address where there is no memory.
    BadPointer "bad-pointer" Error "pass an address of live device memory; host memory has to be allocated by or registered with the driver";
    /// A kernel's argument is an address in memory that was freed.
    FreedPointer "freed-pointer" Error "free memory after the last launch that uses it";
    /// A kernel's argument is an address in memory that the kernel's device cannot access.
    PeerAccess "peer-access" Error "call cuCtxEnablePeerAccess in the kernel's context, cuMemPoolSetAccess for memory of a pool, cuMemSetAccess for mapped memory; or copy the data to the kernel's device";
    /// A kernel uses an address that is not aligned to what it loads or stores.
    MisalignedPointer "misaligned-pointer" Error "pass an address that is a multiple of the size of each load or store";
    /// A grid or block that is empty, or larger than the device allows.
    LaunchDimensions "launch-dimensions" Error "stay within the device's limits, which cuDeviceGetAttribute returns";
    /// More threads in a block than the kernel can have.
    BlockSize "block-size" Error "use fewer threads per block, or compile with fewer registers or a larger __launch_bounds__";
    /// More shared memory than the kernel can have.
    SharedMemory "shared-memory" Error "request less, or raise CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES before the launch";
    /// A cluster that the grid, the kernel or the device does not allow.
    ClusterSize "cluster-size" Error "make the grid a multiple of the cluster; beyond 8 blocks, set CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, and ask cuOccupancyMaxPotentialClusterSize";
    /// A cooperative grid of more blocks than fit on the device at once.
    CooperativeGrid "cooperative-grid" Error "launch no more blocks than cuOccupancyMaxActiveBlocksPerMultiprocessor times the number of multiprocessors, and let each process a part of the data in a loop";
    /// A handle that is null or cannot be one.
    NullHandle "null-handle" Error "check the result of the call that should have created it";
    /// A handle of another kind of object, or a number that is not a handle.
    WrongHandle "wrong-handle" Error "pass a handle of the parameter's type";
    /// Objects of two contexts in one call.
    WrongContext "wrong-context" Error "use streams, events and functions in the context in which they were created";
    /// A handle whose object was destroyed.
    DeadHandle "dead-handle" Error "destroy an object after its last use";
    /// Memory that was freed.
    UseAfterFree "use-after-free" Error "free memory after its last use";
    /// A copy or fill goes past the end of its memory.
    OutOfRange "out-of-range" Error "copy or fill no more bytes than the memory has";
    /// An object is released twice.
    DoubleFree "double-free" Error "release each object once";
    /// Unordered work on two streams, one of which writes memory that the other uses.
    StreamRace "stream-race" Error "record an event after the first and make the stream of the second wait for it, or wait on the host";
    /// A kernel faulted: no later call works.
    StickyFault "sticky-fault" Error "run the program on the emulator, or under compute-sanitizer, to find the kernel's mistake";
    /// An object was not released.
    Leak "leak" Warning "release it before the program ends";
    /// A capture was begun and not ended.
    OpenCapture "open-capture" Warning "call cuStreamEndCapture, even if the capture failed";
    /// Calls failed, and the program never queried why.
    FailedCall "failed-call" Warning "check every result";
}

impl Rule {
    /// The rule of that name.
    pub fn named(name: &str) -> Option<Rule> {
        Rule::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The level of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The program works, but does not clean up or check results.
    Warning,
    /// The program is wrong.
    Error,
}

impl Level {
    /// `error` or `warning`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }

    /// The level of that name.
    pub fn named(name: &str) -> Option<Level> {
        [Level::Warning, Level::Error].into_iter().find(|level| level.name() == name)
    }
}

/// A call that breaks a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    pub(crate) rule: Rule,
    pub(crate) call: usize,
    pub(crate) function: &'static str,
    pub(crate) kernel: Option<String>,
    pub(crate) message: String,
}

impl Finding {
    /// The broken rule.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The number of the call, from 1; 0 at the end of the program.
    pub fn call(&self) -> usize {
        self.call
    }

    /// The function that was called.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// The kernel, if the call is a launch.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// What is wrong.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// `error[bad-pointer]: call 12, cuLaunchKernel of saxpy: ..`, and the fix in a line of its own.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.rule.level().name(), self.rule)?;
        if self.call != 0 {
            write!(f, "call {}, {}", self.call, self.function)?;
            if let Some(kernel) = &self.kernel {
                write!(f, " of {kernel}")?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}\n  fix: {}", self.message, self.rule.fix())
    }
}
