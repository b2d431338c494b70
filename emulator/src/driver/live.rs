//! How many objects a program has created and not released: the ledger of live handles.

use super::{array, context, function, graph, memory, module, state, stream, texture, work};

macro_rules! live {
    ($($(#[$doc:meta])* $name:ident: $table:path;)*) => {
        /// What the program holds, by kind. Two that are equal, before and after a piece of work: it left nothing behind.
        ///
        /// ```
        /// # use std::ptr::null_mut;
        /// let cuda = cuda_emulator::driver();
        /// let mut context = null_mut();
        /// let mut event = null_mut();
        /// unsafe {
        ///     cuda.cuInit(0);
        ///     cuda.cuDevicePrimaryCtxRetain(&mut context, 0);
        ///     cuda.cuCtxSetCurrent(context);
        /// }
        /// let before = cuda_emulator::live_handles();
        /// unsafe { cuda.cuEventCreate(&mut event, 0) };
        /// assert_eq!(cuda_emulator::live_handles().events, before.events + 1);
        /// unsafe { cuda.cuEventDestroy(event) };
        /// assert_eq!(cuda_emulator::live_handles(), before);
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct LiveHandles {
            $($(#[$doc])* pub $name: usize,)*
        }

        impl LiveHandles {
            fn now() -> Self {
                Self { $($name: $table.len(),)* }
            }
        }
    };
}

live! {
    /// Contexts, primary ones among them.
    contexts: context::CONTEXTS;
    /// Green contexts.
    green_contexts: context::green::GREENS;
    /// Streams, without those that each context has by itself.
    streams: stream::STREAMS;
    /// Events.
    events: work::event::EVENTS;
    /// Modules.
    modules: module::MODULES;
    /// Functions that were looked up in them.
    functions: function::FUNCTIONS;
    /// Libraries.
    libraries: module::library::LIBRARIES;
    /// Kernels that were looked up in them.
    kernels: module::library::KERNELS;
    /// Linkers.
    links: module::link::LINKS;
    /// Graphs, with those that are parts of others.
    graphs: graph::GRAPHS;
    /// Their nodes.
    nodes: graph::NODES;
    /// Executable graphs.
    execs: graph::EXECS;
    /// User objects.
    user_objects: graph::USER_OBJECTS;
    /// Arrays.
    arrays: array::ARRAYS;
    /// Arrays of mipmap levels.
    mipmaps: array::mipmap::MIPMAPS;
    /// Texture objects.
    textures: texture::TEXTURES;
    /// Surface objects.
    surfaces: texture::SURFACES;
    /// Memory pools, including the default one of each device.
    pools: memory::POOLS;
    /// Allocations of device memory. One that was freed in stream order counts until the stream has reached the free.
    allocations: memory::ALLOCATIONS;
    /// Pinned ranges of host memory, allocated or registered.
    pinned: memory::host::PINNED;
}

/// What the program currently holds. Nothing, before the first `cuInit`.
pub fn live_handles() -> LiveHandles {
    state::get().map(|_| LiveHandles::now()).unwrap_or_default()
}
