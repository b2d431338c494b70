//! How many objects a program has and has not given back: the ledger of live handles.

use super::state::{self, State};

macro_rules! live {
    ($($(#[$doc:meta])* $name:ident: $field:ident;)*) => {
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
            fn of(state: &State) -> Self {
                Self { $($name: state.$field.len(),)* }
            }
        }
    };
}

live! {
    /// Contexts, primary ones among them.
    contexts: contexts;
    /// Green contexts.
    green_contexts: greens;
    /// Streams, without those that each context has by itself.
    streams: streams;
    /// Events.
    events: events;
    /// Modules.
    modules: modules;
    /// Functions that were looked up in them.
    functions: functions;
    /// Libraries.
    libraries: libraries;
    /// Kernels that were looked up in them.
    kernels: kernels;
    /// Linkers.
    links: links;
    /// Graphs, with those that are parts of others.
    graphs: graphs;
    /// Their nodes.
    nodes: nodes;
    /// Executable graphs.
    execs: execs;
    /// User objects.
    user_objects: user_objects;
    /// Arrays.
    arrays: arrays;
    /// Arrays of mipmap levels.
    mipmaps: mipmaps;
    /// Texture objects.
    textures: textures;
    /// Surface objects.
    surfaces: surfaces;
    /// Memory pools, including the default one of each device.
    pools: pools;
    /// Allocations of device memory. One that was freed in stream order counts until the stream has reached the free.
    allocations: allocations;
    /// Pinned ranges of host memory, allocated or registered.
    pinned: pinned;
}

/// What the program currently holds. Nothing, before the first `cuInit`.
pub fn live_handles() -> LiveHandles {
    state::get().map(LiveHandles::of).unwrap_or_default()
}
