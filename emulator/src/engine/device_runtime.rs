//! The device runtime's state for one grid.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kernel::Kernel;
use super::launch::{Asked, Child, Launcher};
use crate::memory::{Caller, Memory};

/// The maximum number of bytes of all pending launches, which a GPU might have completed by now: enough for a million, or fewer with
/// long parameters.
const MOST_WAITING: usize = 256 << 20;

/// The maximum number of streams and events of a grid at a time.
const MOST_HANDLES: usize = 1 << 20;

/// Codes of `cudaError_t`.
pub(super) const SUCCESS: u32 = 0;
pub(super) const INVALID_VALUE: u32 = 1;
pub(super) const MEMORY_ALLOCATION: u32 = 2;
pub(super) const LAUNCH_PENDING_COUNT_EXCEEDED: u32 = 69;
pub(super) const INVALID_RESOURCE_HANDLE: u32 = 400;

/// Streams that every grid has: that of the block, with three names; the tail stream; the fire-and-forget stream.
pub(super) const BLOCK: std::ops::RangeInclusive<u64> = 0..=2;
pub(super) const TAIL: u64 = 3;
pub(super) const FORGET: u64 = 4;

/// A pending launch.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) child: Child,
    /// The nesting depth: the number of unfinished launches by kernels while it runs, itself included; 0 for the launch
    /// from the host.
    pub(super) depth: usize,
    /// The grid that launched it, by its number among all grids of the host's launch, and the index among that grid's launches.
    pub(super) parent: Option<(usize, usize)>,
}

impl Waiting {
    /// The approximate number of bytes that it occupies.
    pub(super) fn bytes(&self) -> usize {
        self.child.launch.parameters.len().max(256)
    }
}

/// The kind of a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Event,
}

/// A thread of the grid: the number of its block, and its number in the block.
pub(super) type Thread = (u64, u32);

/// The state that a watch keeps from one grid to the next, which is opaque here.
pub(super) type Kept = Box<dyn Any + Send>;

/// The launches of the threads of a grid, and the objects created for them.
#[derive(Debug)]
pub(crate) struct Runtime<'e> {
    pub(super) launcher: &'e dyn Launcher,
    depth: usize,
    /// Bytes of the pending launches of other grids.
    others: usize,
    /// Its kernel, if it is needed after the grid has ended.
    pub(super) kernel: Option<Arc<Kernel>>,
    /// As in [`Waiting`].
    pub(super) parent: Option<(usize, usize)>,
    /// Its own number.
    number: usize,
    /// The number of blocks of earlier grids.
    pub(super) blocks_before: u32,
    /// The watch's state from earlier grids, if they are checked; the worker holds it while the grid runs.
    family: Mutex<Option<Kept>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Parameter buffers by address, each with the launch for which it was created.
    buffers: HashMap<u64, Option<Asked>>,
    /// Launches, and those to the tail.
    launched: [Vec<Waiting>; 2],
    /// Bytes of them all.
    bytes: usize,
    /// The last errors of the threads of unfinished blocks: by block, then by thread.
    errors: HashMap<u64, HashMap<u32, u32>>,
    handles: HashMap<u64, Kind>,
    /// The number of handles created so far.
    made: u64,
}

impl<'e> Runtime<'e> {
    pub(super) fn new(launcher: &'e dyn Launcher, depth: usize, others: usize) -> Runtime<'e> {
        let (kernel, parent, number, blocks_before) = (None, None, 0, 0);
        let (family, state) = (Mutex::default(), Mutex::default());
        Runtime { launcher, depth, others, kernel, parent, number, blocks_before, family, state }
    }

    /// The same for the grid with that number, which runs after so many blocks of earlier grids and after their
    /// effects.
    pub(super) fn behind(
        self,
        number: usize,
        blocks_before: u32,
        (kernel, parent): (&Arc<Kernel>, Option<(usize, usize)>),
        family: Option<Kept>,
    ) -> Runtime<'e> {
        let kernel = Some(Arc::clone(kernel));
        Runtime { kernel, parent, number, blocks_before, family: Mutex::new(family), ..self }
    }

    /// The state of earlier grids, for the worker that watches this one.
    pub(super) fn take_family(&self) -> Option<Kept> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives it back.
    pub(super) fn put_family(&self, family: Kept) {
        *self.family.lock().unwrap_or_else(PoisonError::into_inner) = Some(family);
    }

    // Only a bug in this file could panic while the lock is held, and the state would still be plain numbers.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a buffer, for a particular launch if that is known. `make` allocates it; returns an error code if
    /// there is no room.
    pub(super) fn buffer(
        &self,
        asked: Option<Asked>,
        make: impl FnOnce() -> Option<u64>,
    ) -> Result<u64, u32> {
        let address = make().ok_or(MEMORY_ALLOCATION)?;
        self.state().buffers.insert(address, asked);
        Ok(address)
    }

    /// Removes a buffer, and returns the launch for which it was created, if any.
    pub(super) fn take(&self, address: u64) -> Result<Option<Asked>, u32> {
        self.state().buffers.remove(&address).ok_or(INVALID_VALUE)
    }

    /// Adds a launch to a stream.
    pub(super) fn launch(&self, child: Child, stream: u64) -> Result<(), u32> {
        let mut state = self.state();
        let is_stream = |state: &State| state.handles.get(&stream) == Some(&Kind::Stream);
        // A tail launch begins after the grid is done, so the grid does not count for its depth.
        let (list, depth) = match stream {
            TAIL => (1, self.depth.max(1)),
            stream if BLOCK.contains(&stream) || stream == FORGET || is_stream(&state) => (0, self.depth + 1),
            _ => return Err(INVALID_VALUE),
        };
        let parent = Some((self.number, state.launched.iter().map(Vec::len).sum()));
        let waiting = Waiting { child, depth, parent };
        let bytes = state.bytes + waiting.bytes();
        // On a GPU, launches to other streams than the tail begin, and mostly end, while the grid runs.
        let [_, tail] = &state.launched;
        if self.depth + tail.len() >= self.launcher.most_waiting() || self.others + bytes > MOST_WAITING {
            return Err(LAUNCH_PENDING_COUNT_EXCEEDED);
        }
        state.bytes = bytes;
        state.launched[list].push(waiting);
        Ok(())
    }

    /// The last error of a thread; with `forget` it is cleared.
    pub(super) fn last_error(&self, thread: Thread, forget: bool) -> u32 {
        let mut state = self.state();
        let (block, thread) = thread;
        let Some(errors) = state.errors.get_mut(&block) else { return SUCCESS };
        let error = if forget { errors.remove(&thread) } else { errors.get(&thread).copied() };
        error.unwrap_or(SUCCESS)
    }

    /// Makes a code the last error of a thread, if it is an error, and returns the code.
    pub(super) fn fail(&self, thread: Thread, code: u32) -> u32 {
        if code != SUCCESS {
            let (block, thread) = thread;
            self.state().errors.entry(block).or_default().insert(thread, code);
        }
        code
    }

    /// Forgets the errors of a finished block's threads: a grid may have more threads than there is memory for their errors.
    pub(super) fn left(&self, block: u64) {
        self.state().errors.remove(&block);
    }

    /// Whether no thread has a last error.
    pub(super) fn has_no_errors(&self) -> bool {
        self.state().errors.is_empty()
    }

    /// A new stream or event; 0 if there is no room for it.
    pub(super) fn create(&self, kind: Kind) -> u64 {
        let mut state = self.state();
        if state.handles.len() >= MOST_HANDLES {
            return 0;
        }
        state.made += 1;
        // Differs from all streams that every grid has.
        let handle = state.made << 8;
        state.handles.insert(handle, kind);
        handle
    }

    /// Returns an error code unless a handle is of that kind. Nothing else is needed: the dependencies of all work on a
    /// stream are complete in any case.
    pub(super) fn use_handle(&self, handle: u64, kind: Kind, destroy: bool) -> u32 {
        let mut state = self.state();
        match (state.handles.get(&handle), kind) {
            (Some(known), _) if *known == kind => {
                if destroy {
                    state.handles.remove(&handle);
                }
                SUCCESS
            }
            (None, Kind::Stream) if !destroy && BLOCK.contains(&handle) => SUCCESS,
            // Events cannot be ordered with the tail stream or the fire-and-forget stream.
            (_, Kind::Stream) => INVALID_VALUE,
            _ if handle == 0 => INVALID_VALUE,
            _ => INVALID_RESOURCE_HANDLE,
        }
    }

    /// Ends the grid, and returns its launches and those to its tail stream. Buffers that were not launched are freed.
    pub(super) fn end(self, memory: &Memory, kernel: &str) -> [Vec<Waiting>; 2] {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for address in state.buffers.into_keys() {
            let by = Caller {
                kernel: kernel.to_owned(),
                block: [0; 3],
                thread: [0; 3],
                ptx_line: 0,
                source: None,
            };
            memory.free_buffer(address, by);
        }
        state.launched
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::launch::{Launch, Question};
    use super::super::program::Program;
    use super::*;

    /// A resolver that knows no kernels.
    #[derive(Debug)]
    struct Nobody;

    impl Launcher for Nobody {
        fn parameter_bytes(&self, _: usize) -> Option<usize> {
            None
        }

        fn check(&self, _: &Asked) -> Result<Child, u32> {
            Err(INVALID_VALUE)
        }

        fn most_waiting(&self) -> usize {
            usize::MAX
        }

        fn answer(&self, _: Question) -> Result<u64, u32> {
            Err(INVALID_VALUE)
        }
    }

    /// The memory for pending parameters is bounded.
    #[test]
    fn launches_that_wait_take_so_many_bytes() {
        let text = ".version 7.0 .target sm_70 .address_size 64 .visible .entry k() { ret; }";
        let kernel = Program::load(text, &Arc::new(Memory::new(1 << 20))).unwrap().kernel("k").unwrap();
        let child = |bytes: usize| {
            let launch = Launch { parameters: vec![0; bytes].into(), ..Launch::default() };
            Child { kernel: Arc::clone(&kernel), launch }
        };
        let runtime = Runtime::new(&Nobody, 0, MOST_WAITING - 2 * 4096 - 256);
        assert_eq!(runtime.launch(child(4096), 0), Ok(()));
        assert_eq!(runtime.launch(child(4097), FORGET), Ok(()));
        assert_eq!(runtime.launch(child(4096), TAIL), Err(LAUNCH_PENDING_COUNT_EXCEEDED));
        assert_eq!(runtime.launch(child(0), 0), Err(LAUNCH_PENDING_COUNT_EXCEEDED), "255 bytes are left");
        let runtime = Runtime::new(&Nobody, 0, MOST_WAITING - 512);
        assert_eq!([0, 1, 256].map(|bytes| runtime.launch(child(bytes), 0).is_ok()), [true, true, false]);
    }

    /// The number of handles is bounded.
    #[test]
    fn a_grid_has_so_many_handles() {
        let runtime = Runtime::new(&Nobody, 0, 0);
        let first = runtime.create(Kind::Event);
        assert!((1..MOST_HANDLES).all(|_| runtime.create(Kind::Stream) != 0));
        assert_eq!(runtime.create(Kind::Event), 0);
        assert_eq!(runtime.use_handle(first, Kind::Event, true), SUCCESS);
        assert_ne!(runtime.create(Kind::Stream), 0, "there is room again");
    }

    /// The errors of a block are forgotten with it.
    #[test]
    fn errors_of_a_block_go_with_it() {
        let runtime = Runtime::new(&Nobody, 0, 0);
        [(3, 0), (3, 31), (4, 0)].into_iter().for_each(|thread| {
            runtime.fail(thread, INVALID_VALUE);
        });
        runtime.left(3);
        let last = [(3, 0), (3, 31), (4, 0)].map(|thread| runtime.last_error(thread, false));
        assert_eq!(last, [SUCCESS, SUCCESS, INVALID_VALUE]);
        assert!(!runtime.has_no_errors());
        runtime.left(4);
        assert!(runtime.has_no_errors());
    }
}
