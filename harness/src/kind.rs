//! The kinds of objects that a driver creates.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $text:literal $($type:literal)?;)*) => {
        /// A kind of object that a driver creates and that a program refers to by a handle or an address.
        ///
        /// ```
        /// assert_eq!(cuda_harness::Kind::ExecutableGraph.to_string(), "graph exec");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl fmt::Display for Kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Kind::$kind => $text,)*
                })
            }
        }

        /// The kind of object for which a C type is the handle.
        pub(crate) fn of_type(name: &str) -> Option<Kind> {
            match name {
                $($($type => Some(Kind::$kind),)?)*
                _ => None,
            }
        }
    };
}

kinds! {
    /// A reference to the primary context of a device: `cuDevicePrimaryCtxRetain`.
    PrimaryContext "primary context";
    /// A context.
    Context "context" "CUcontext";
    /// A green context.
    GreenContext "green context" "CUgreenCtx";
    /// A stream.
    Stream "stream" "CUstream";
    /// A capture that was begun on a stream.
    Capture "capture";
    /// An event.
    Event "event" "CUevent";
    /// A module.
    Module "module" "CUmodule";
    /// A library.
    Library "library" "CUlibrary";
    /// A function of a module.
    Function "function" "CUfunction";
    /// A kernel of a library.
    Kernel "kernel" "CUkernel";
    /// A linker.
    Linker "linker" "CUlinkState";
    /// Device memory: `cuMemAlloc`, `cuMemAllocAsync` and similar.
    Memory "memory";
    /// Managed memory.
    ManagedMemory "managed";
    /// Memory of another process, opened.
    IpcMemory "ipc memory";
    /// Host memory that the driver allocated.
    HostMemory "pinned";
    /// Host memory that was registered.
    Registration "registration";
    /// A pool.
    Pool "pool" "CUmemoryPool";
    /// Physical memory, and multicast objects: `cuMemCreate`.
    PhysicalMemory "physical" "CUmemGenericAllocationHandle";
    /// Reserved addresses.
    Reservation "reservation";
    /// A mapping of physical memory.
    Mapping "mapping";
    /// An array.
    Array "array" "CUarray";
    /// An array of mipmap levels.
    MipmappedArray "mipmap" "CUmipmappedArray";
    /// A texture object.
    Texture "texture" "CUtexObject";
    /// A surface object.
    Surface "surface" "CUsurfObject";
    /// A texture reference.
    TextureReference "texref" "CUtexref";
    /// A surface reference.
    SurfaceReference "surfref" "CUsurfref";
    /// A graph.
    Graph "graph" "CUgraph";
    /// An executable graph.
    ExecutableGraph "graph exec" "CUgraphExec";
    /// A node of a graph.
    GraphNode "node" "CUgraphNode";
    /// A condition of a graph.
    Condition "condition" "CUgraphConditionalHandle";
    /// References to a user object.
    UserObject "user object" "CUuserObject";
    /// Imported memory.
    ExternalMemory "external memory" "CUexternalMemory";
    /// An imported semaphore.
    ExternalSemaphore "external semaphore" "CUexternalSemaphore";
    /// A resource of a graphics API.
    GraphicsResource "graphics resource" "CUgraphicsResource";
    /// A description of resources for green contexts.
    ResourceDescription "resource description" "CUdevResourceDesc";
    /// A function that is called for each line of the driver's log.
    LogCallback "log callback" "CUlogsCallbackHandle";
    /// A function that is called for events of a device.
    Notification "notification" "CUasyncCallbackHandle";
    /// A function that is called for a core dump.
    CoredumpCallback "core dump callback" "CUcoredumpCallbackHandle";
}

impl Kind {
    /// Kinds of one family share their address space: `cuMemFree` accepts managed memory too.
    pub(crate) fn family(self) -> Kind {
        match self {
            Kind::ManagedMemory | Kind::IpcMemory => Kind::Memory,
            kind => kind,
        }
    }

    /// Whether it is destroyed with the context that was current when it was created. The others belong to the device or to the
    /// process. Graphs are treated as destroyed, because the objects that their nodes use are.
    pub(crate) fn ends_with_context(self) -> bool {
        !matches!(
            self,
            Kind::PrimaryContext
                | Kind::Context
                | Kind::GreenContext
                | Kind::Library
                | Kind::Kernel
                | Kind::Pool
                | Kind::PhysicalMemory
                | Kind::Reservation
                | Kind::Mapping
                | Kind::LogCallback
                | Kind::Notification
                | Kind::CoredumpCallback
                | Kind::ResourceDescription
        )
    }

    /// Whether the program has to release it. Others are released with the object that they belong to.
    pub fn is_owned(self) -> bool {
        !matches!(
            self,
            Kind::Function
                | Kind::Kernel
                | Kind::GraphNode
                | Kind::Condition
                | Kind::SurfaceReference
                | Kind::ResourceDescription
        )
    }
}
