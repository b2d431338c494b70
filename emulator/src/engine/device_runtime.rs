//! What the device runtime keeps for one grid.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::kernel::Kernel;
use super::launch::{Asked, Child, Launcher};
use crate::memory::{Caller, Memory};

/// Bytes that the launches that wait may take in all, however many a GPU would have done by now: a million of them, and fewer if their
/// parameters are long.
const MOST_WAITING: usize = 256 << 20;

/// Streams and events that a grid may have at a time.
const MOST_HANDLES: usize = 1 << 20;

/// Codes of `cudaError_t`.
pub(super) const SUCCESS: u32 = 0;
pub(super) const INVALID_VALUE: u32 = 1;
pub(super) const MEMORY_ALLOCATION: u32 = 2;
pub(super) const LAUNCH_PENDING_COUNT_EXCEEDED: u32 = 69;
pub(super) const INVALID_RESOURCE_HANDLE: u32 = 400;

/// Streams that every grid has: that of the block, by its three names; that of the grid's tail; that of launches without an order.
pub(super) const BLOCK: std::ops::RangeInclusive<u64> = 0..=2;
pub(super) const TAIL: u64 = 3;
pub(super) const FORGET: u64 = 4;

/// A launch whose turn has not come.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) child: Child,
    /// How many launches by kernels are not done while it runs, itself and those that led to it: 0 for the one of the host.
    pub(super) depth: usize,
    /// The grid that launched it, by its number among all that the launch of the host leads to, and which of that one's launches it is.
    pub(super) parent: Option<(usize, usize)>,
}

impl Waiting {
    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.child.launch.parameters.len().max(256)
    }
}

/// What a handle may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stream,
    Event,
}

/// A thread of the grid: the number of its block, and its own in there.
pub(super) type Thread = (u64, u32);

/// What a watch keeps from one grid to the next: nobody else looks at it.
pub(super) type Kept = Box<dyn Any + Send>;

/// What the threads of a grid launch, and have made for that.
#[derive(Debug)]
pub(crate) struct Runtime<'e> {
    pub(super) launcher: &'e dyn Launcher,
    depth: usize,
    /// Bytes of the launches of other grids that wait.
    others: usize,
    /// Its kernel, if somebody has to know of it when it has ended.
    pub(super) kernel: Option<Arc<Kernel>>,
    /// As in [`Waiting`].
    pub(super) parent: Option<(usize, usize)>,
    /// Its own number.
    number: usize,
    /// Blocks that grids before it had.
    pub(super) blocks_before: u32,
    /// What the watch keeps of the grids before it, where they are checked: the worker has it while it runs.
    family: Mutex<Option<Kept>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Buffers for parameters, by address, with the launch that each was made for.
    buffers: HashMap<u64, Option<Asked>>,
    /// Launches, and those to the tail.
    launched: [Vec<Waiting>; 2],
    /// Bytes of them all.
    bytes: usize,
    /// Of the threads of blocks that are not done: by the number in the block, by the block's.
    errors: HashMap<u64, HashMap<u32, u32>>,
    handles: HashMap<u64, Kind>,
    /// Handles that there were.
    made: u64,
}

impl<'e> Runtime<'e> {
    pub(super) fn new(launcher: &'e dyn Launcher, depth: usize, others: usize) -> Runtime<'e> {
        let (kernel, parent, number, blocks_before) = (None, None, 0, 0);
        let (family, state) = (Mutex::default(), Mutex::default());
        Runtime { launcher, depth, others, kernel, parent, number, blocks_before, family, state }
    }

    /// The same, for the grid of that number, which runs behind so many blocks of others and what they did.
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

    /// What the grids before did, for the worker that watches this one.
    pub(super) fn take_family(&self) -> Option<Kept> {
        self.family.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives it back.
    pub(super) fn put_family(&self, family: Kept) {
        *self.family.lock().unwrap_or_else(PoisonError::into_inner) = Some(family);
    }

    // A panic while the lock is held is a bug of this file alone, and what is behind it is still only numbers.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a buffer, for one launch if that is known. `make` allocates it; a code if there is no room.
    pub(super) fn buffer(
        &self,
        asked: Option<Asked>,
        make: impl FnOnce() -> Option<u64>,
    ) -> Result<u64, u32> {
        let address = make().ok_or(MEMORY_ALLOCATION)?;
        self.state().buffers.insert(address, asked);
        Ok(address)
    }

    /// Takes a buffer and the launch that it was made for, if it was made for one.
    pub(super) fn take(&self, address: u64) -> Result<Option<Asked>, u32> {
        self.state().buffers.remove(&address).ok_or(INVALID_VALUE)
    }

    /// A launch to a stream.
    pub(super) fn launch(&self, child: Child, stream: u64) -> Result<(), u32> {
        let mut state = self.state();
        let is_stream = |state: &State| state.handles.get(&stream) == Some(&Kind::Stream);
        // A tail begins when the grid is done, which then counts no more.
        let (list, depth) = match stream {
            TAIL => (1, self.depth.max(1)),
            stream if BLOCK.contains(&stream) || stream == FORGET || is_stream(&state) => (0, self.depth + 1),
            _ => return Err(INVALID_VALUE),
        };
        let parent = Some((self.number, state.launched.iter().map(Vec::len).sum()));
        let waiting = Waiting { child, depth, parent };
        let bytes = state.bytes + waiting.bytes();
        // On a GPU what is launched elsewhere than to a tail begins, and mostly ends, beside the grid.
        let [_, tail] = &state.launched;
        if self.depth + tail.len() >= self.launcher.most_waiting() || self.others + bytes > MOST_WAITING {
            return Err(LAUNCH_PENDING_COUNT_EXCEEDED);
        }
        state.bytes = bytes;
        state.launched[list].push(waiting);
        Ok(())
    }

    /// The last error of a thread; with `forget` it is none from now on.
    pub(super) fn last_error(&self, thread: Thread, forget: bool) -> u32 {
        let mut state = self.state();
        let (block, thread) = thread;
        let Some(errors) = state.errors.get_mut(&block) else { return SUCCESS };
        let error = if forget { errors.remove(&thread) } else { errors.get(&thread).copied() };
        error.unwrap_or(SUCCESS)
    }

    /// Makes a code the last error of a thread, if it is an error, and answers it.
    pub(super) fn fail(&self, thread: Thread, code: u32) -> u32 {
        if code != SUCCESS {
            let (block, thread) = thread;
            self.state().errors.entry(block).or_default().insert(thread, code);
        }
        code
    }

    /// A block is done: nobody asks for the errors of its threads any more, and a grid may have more threads than there is memory for those.
    pub(super) fn left(&self, block: u64) {
        self.state().errors.remove(&block);
    }

    /// Whether it has no thread's last error.
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
        // None of the streams that every grid has.
        let handle = state.made << 8;
        state.handles.insert(handle, kind);
        handle
    }

    /// Whether a handle stands for that, as a code; what all work that was given to a stream waits for is done in any case.
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
            // Nothing can be ordered before or after what is launched to the tail or without an order.
            (_, Kind::Stream) => INVALID_VALUE,
            _ if handle == 0 => INVALID_VALUE,
            _ => INVALID_RESOURCE_HANDLE,
        }
    }

    /// The grid has ended: what it launched, and what it launched to its tail. Buffers that were not launched are given back.
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

    /// One that knows no kernels.
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

    /// The host has no room for any number of parameters.
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

    /// Nor for any number of handles.
    #[test]
    fn a_grid_has_so_many_handles() {
        let runtime = Runtime::new(&Nobody, 0, 0);
        let first = runtime.create(Kind::Event);
        assert!((1..MOST_HANDLES).all(|_| runtime.create(Kind::Stream) != 0));
        assert_eq!(runtime.create(Kind::Event), 0);
        assert_eq!(runtime.use_handle(first, Kind::Event, true), SUCCESS);
        assert_ne!(runtime.create(Kind::Stream), 0, "there is room again");
    }

    /// A grid of many threads has no room for the errors of all of them.
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
