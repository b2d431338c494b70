//! The heap for `malloc` and `free` in kernels; a second one holds the parameters of their launches.
//!
//! Its bytes are one arena of the size of the limit, allocated when the first kernel requests memory, and kept until the context is
//! destroyed, so the bytes of a freed block remain valid. Addresses are separate: each block has its own, with a gap after it, so that
//! an access outside of a block or into a freed one is detected and can be described. Lookups find live blocks one at a time, and their
//! results are not cached.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{Allocation, Reach, Written};

/// The first address of heaps: far from other device memory, and below the addresses at which systems load programs.
const FIRST: u64 = 0x5000_0000_0000;
/// Addresses of one heap.
const ROOM: u64 = 1 << 40;
/// Heaps with different addresses.
const HEAPS: u64 = 4;
/// The first address for the parameters of launches, after all heaps.
const BUFFERS: u64 = FIRST + HEAPS * ROOM;
/// Alignment of blocks; CUDA promises 16.
const ALIGNMENT: u64 = 256;
/// Alignment of blocks, to which sizes are rounded up.
const STEP: u64 = 16;
/// The minimum number of unused addresses after every block.
const GAP: u64 = 4096;
/// The number of freed blocks that are remembered for reports.
const REMEMBERED: usize = 4096;
/// The default size of a heap, in bytes (`CU_LIMIT_MALLOC_HEAP_SIZE`).
const DEFAULT: u64 = 8 << 20;

/// The heap of a context.
#[derive(Debug)]
pub struct Heap {
    base: u64,
    /// The functions that allocate and free a block, for reports.
    names: [&'static str; 2],
    arena: OnceLock<Option<Allocation>>,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    limit: u64,
    /// Whether the limit can be changed no longer.
    fixed: bool,
    /// Blocks by address.
    live: BTreeMap<u64, Block>,
    /// Freed blocks by address, with the caller that freed them; and their addresses, oldest first.
    freed: BTreeMap<u64, (Block, Caller)>,
    freed_order: VecDeque<u64>,
    /// Free bytes of the arena: length by offset, and offsets by length.
    free: BTreeMap<u64, u64>,
    by_length: BTreeSet<(u64, u64)>,
    /// The position from which the next address is searched, relative to the heap's first address.
    next: u64,
}

/// A block.
#[derive(Clone, Debug)]
struct Block {
    /// As asked for.
    len: u64,
    /// The offset in the arena.
    offset: u64,
    by: Caller,
}

/// The thread that called `malloc` or `free`, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The kernel.
    pub kernel: String,
    /// Block index in the grid.
    pub block: [u32; 3],
    /// Thread index in the block.
    pub thread: [u32; 3],
    /// Line of the call in the PTX text, counted from 1.
    pub ptx_line: u32,
    /// File and line of the source, if the PTX has `.loc`.
    pub source: Option<(String, u32)>,
}

/// A live block.
#[derive(Debug)]
pub(crate) struct Found<'h> {
    /// Address of the first byte.
    pub(crate) base: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// The bytes, valid for reads and writes as long as the heap is borrowed; used as the head of [`access`](super::access) says. As far
    /// from a multiple of 16 as `base`.
    pub(crate) host: *mut u8,
    /// Which of the heap's bytes were written, and the offset of the block in the heap.
    pub(crate) written: Option<(&'h Written, u64)>,
}

/// Blocks from one call of `malloc` that were never freed.
#[derive(Clone, Debug)]
pub struct Leak {
    /// The first thread that called it.
    pub by: Caller,
    /// Address and bytes of that thread's block.
    pub first: (u64, u64),
    /// Blocks.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Default for Heap {
    fn default() -> Heap {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % HEAPS * ROOM;
        let state = State { limit: DEFAULT, ..State::default() };
        Heap { base, names: ["malloc", "free"], arena: OnceLock::new(), state: RwLock::new(state) }
    }
}

impl Heap {
    /// For the parameters of launches that one launch leads to.
    pub(crate) fn for_buffers(bytes: u64) -> Heap {
        let state = State { limit: bytes, ..State::default() };
        let names = ["cudaGetParameterBuffer", "cudaLaunchDevice"];
        Heap { base: BUFFERS, names, arena: OnceLock::new(), state: RwLock::new(state) }
    }

    /// Bytes in all.
    pub fn limit(&self) -> u64 {
        self.read().limit
    }

    /// Another number of bytes; false when a kernel may have allocated already.
    pub fn set_limit(&self, bytes: u64) -> bool {
        let mut state = self.write();
        if !state.fixed {
            state.limit = bytes;
        }
        !state.fixed
    }

    /// From now on the limit stays as it is: a kernel is launched that may allocate.
    pub fn fix_limit(&self) {
        self.write().fixed = true;
    }

    /// `malloc`: the address of a new block, a multiple of 16; `None` if the heap has no room for it.
    pub(crate) fn allocate(&self, bytes: u64, device: u32, tracked: bool, by: Caller) -> Option<u64> {
        let arena = self.arena.get_or_init(|| {
            let mut state = self.write();
            state.fixed = true;
            let limit = state.limit;
            let arena = Allocation::new(self.base, limit.max(1), device, Reach::Granted(0), tracked)?;
            state.give(0, limit);
            Some(arena)
        });
        let arena = arena.as_ref()?;
        let mut state = self.write();
        let rounded = bytes.max(1).checked_next_multiple_of(STEP)?;
        let address = state.place(self.base, rounded)?;
        let offset = state.take(rounded)?;
        if let Some(written) = arena.written() {
            written.forget(offset, rounded);
        }
        state.freed.remove(&address);
        state.live.insert(address, Block { len: bytes.max(1), offset, by });
        Some(address)
    }

    /// `free`: frees a block. The error describes the address if no block begins there.
    pub(crate) fn free(&self, address: u64, by: Caller) -> Result<(), Option<String>> {
        let mut state = self.write();
        let Some(block) = state.live.remove(&address) else {
            return Err(state.describe(address, 1, self.names));
        };
        state.give(block.offset, block.len.next_multiple_of(STEP));
        state.freed.insert(address, (block, by));
        state.freed_order.push_back(address);
        if state.freed_order.len() > REMEMBERED
            && let Some(oldest) = state.freed_order.pop_front()
        {
            state.freed.remove(&oldest);
        }
        Ok(())
    }

    /// The block around an address.
    pub(crate) fn find(&self, address: u64) -> Option<Found<'_>> {
        if address.wrapping_sub(self.base) >= ROOM {
            return None;
        }
        let arena = self.arena.get()?.as_ref()?;
        let state = self.read();
        let (base, block) = state.live.range(..=address).next_back()?;
        // Blocks are inside the arena (`State::take`).
        let host = arena.host().wrapping_add(block.offset as usize);
        (address - base < block.len).then(|| Found {
            base: *base,
            len: block.len,
            host,
            written: arena.written().map(|written| (written, block.offset)),
        })
    }

    /// Describes the position of the bytes at an address; `None` if it is not related to a block of the heap.
    pub(super) fn describe(&self, address: u64, bytes: u64) -> Option<String> {
        self.read().describe(address, bytes, self.names)
    }

    /// The blocks that were allocated and not freed, by place in the code.
    pub fn leaks(&self) -> Vec<Leak> {
        let mut places: Vec<Leak> = Vec::new();
        for (address, block) in &self.read().live {
            let same = |leak: &&mut Leak| {
                (&leak.by.kernel, leak.by.ptx_line) == (&block.by.kernel, block.by.ptx_line)
            };
            match places.iter_mut().find(same) {
                Some(leak) => (leak.blocks, leak.bytes) = (leak.blocks + 1, leak.bytes + block.len),
                None => places.push(Leak {
                    by: block.by.clone(),
                    first: (*address, block.len),
                    blocks: 1,
                    bytes: block.len,
                }),
            }
        }
        places
    }

    // Only a bug in this file could panic while the lock is held, and the state would still be plain numbers.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl State {
    /// Takes `bytes` bytes of the arena, from the shortest free piece that is large enough; returns their offset.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let (len, offset) = *self.by_length.range((bytes, 0)..).next()?;
        self.by_length.remove(&(len, offset));
        self.free.remove(&offset);
        if len > bytes {
            self.free.insert(offset + bytes, len - bytes);
            self.by_length.insert((len - bytes, offset + bytes));
        }
        Some(offset)
    }

    /// Gives bytes of the arena back, and joins them with free ones beside them.
    fn give(&mut self, offset: u64, bytes: u64) {
        let (mut start, mut len) = (offset, bytes);
        if let Some((before, its)) = self.free.range(..offset).next_back().map(|(at, len)| (*at, *len))
            && before + its == offset
        {
            self.free.remove(&before);
            self.by_length.remove(&(its, before));
            (start, len) = (before, its + len);
        }
        if let Some(its) = self.free.remove(&(offset + bytes)) {
            self.by_length.remove(&(its, offset + bytes));
            len += its;
        }
        if len > 0 {
            self.free.insert(start, len);
            self.by_length.insert((len, start));
        }
    }

    /// An address followed by `bytes` free addresses and a gap.
    fn place(&mut self, base: u64, bytes: u64) -> Option<u64> {
        let span = bytes.checked_add(GAP)?.checked_next_multiple_of(ALIGNMENT)?;
        let end = base + ROOM;
        let mut at = base + self.next;
        let mut restarted = self.next == 0;
        loop {
            if span > end - at {
                if restarted || span > ROOM {
                    return None;
                }
                (at, restarted) = (base, true);
            }
            let before = self.live.range(..at + span).next_back();
            let behind = before
                .map(|(address, block)| (address + block.len + GAP).next_multiple_of(ALIGNMENT))
                .filter(|behind| *behind > at);
            match behind {
                Some(behind) => at = behind.min(end),
                None => break,
            }
        }
        self.next = at + span - base;
        Some(at)
    }

    fn describe(&self, address: u64, bytes: u64, [taken, given]: [&str; 2]) -> Option<String> {
        /// An address farther after a block than this is not related to it.
        const NEAR: u64 = GAP;
        let live = self.live.range(..=address).next_back().map(|(base, block)| (*base, block, None));
        let freed =
            self.freed.range(..=address).next_back().map(|(base, (block, by))| (*base, block, Some(by)));
        let (base, block, freed) = live.into_iter().chain(freed).max_by_key(|(base, ..)| *base)?;
        let offset = address - base;
        if offset >= block.len + NEAR {
            return None;
        }
        let Block { len, by, .. } = block;
        let end = freed.map_or_else(String::new, |freed| format!("; `{given}` in {freed}"));
        let freed = if freed.is_some() { "freed " } else { "" };
        let whose = format!("the {freed}block 0x{base:x} of {len} bytes (`{taken}` in {by}{end})");
        let inside = offset < *len;
        Some(if inside && (offset.saturating_add(bytes) <= *len || !end.is_empty()) {
            format!("inside {whose}, at offset {offset}")
        } else {
            let past = if inside { offset + bytes - len } else { offset - len };
            format!("{past} bytes past the end of {whose}")
        })
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`, PTX line {}", self.kernel, self.ptx_line)?;
        match &self.source {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}
