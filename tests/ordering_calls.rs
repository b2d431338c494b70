//! What each call that submits work does to memory, as the next stream sees it: that waits for a call that has written before it reads,
//! and for one that has read before it writes; two readers do not wait for each other.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_harness::{Spy, skipped};
use cuda_launch::context::ContextOptions;
use cuda_launch::memory::{
    CopyBatch, CopySource, CopyTarget, Extent, ManagedAttach, MemoryLocation, MemoryPool, PinnedFlags,
    PitchedBuffer, PoolOptions, PrefetchBatch, RegionBatch, RowLayout,
};
use cuda_launch::texture::{ArrayFlags, ArrayShape, CudaArray};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, Error, ManagedBuffer, PinnedBuffer};

const SIDE: usize = 8;
const N: usize = SIDE * SIDE;
const ROWS: Extent = Extent::rows(SIDE, SIDE);
const ATTACH: ManagedAttach = ManagedAttach::Global;

fn layout() -> RowLayout {
    RowLayout::packed::<u32>(SIDE, SIDE)
}

/// Memory of each kind, which nothing uses any more.
struct Memory {
    buffer: DeviceBuffer<u32>,
    far: DeviceBuffer<u32>,
    rows: PitchedBuffer<u32>,
    managed: ManagedBuffer<u32>,
    pinned: PinnedBuffer<u32>,
    array: CudaArray<u32>,
    pool: MemoryPool,
}

impl Memory {
    fn new(ctx: &CudaContext, other: &CudaContext) -> Result<Self, Error> {
        let stream = ctx.new_stream()?;
        let shape = ArrayShape::D2 { width: SIDE, height: SIDE };
        let memory = Self {
            buffer: DeviceBuffer::zeroed(&stream, N)?,
            far: DeviceBuffer::zeroed(&other.new_stream()?, N)?,
            rows: PitchedBuffer::uninit(&stream, SIDE, SIDE)?,
            managed: ManagedBuffer::zeroed(&stream, N, ATTACH)?,
            pinned: PinnedBuffer::zeroed(ctx, N, PinnedFlags::empty())?,
            array: CudaArray::new(ctx, shape, ArrayFlags::empty())?,
            pool: MemoryPool::new(ctx, PoolOptions::default())?,
        };
        other.synchronize()?;
        ctx.synchronize()?;
        Ok(memory)
    }
}

/// New memory, for the other side of a copy.
fn fresh(stream: &CudaStream) -> Result<DeviceBuffer<u32>, Error> {
    DeviceBuffer::uninit(stream, N)
}

type Call = fn(&CudaStream, &mut Memory) -> Result<(), Error>;

/// How another stream reads one kind of memory, and how it writes it.
struct Kind(Call, Call);

const BUFFER: &Kind = &Kind(
    |stream, memory| fresh(stream)?.view_mut().copy_from_device(stream, &memory.buffer),
    |stream, memory| memory.buffer.view_mut().fill(stream, 1),
);
const FAR: &Kind = &Kind(
    |stream, memory| fresh(stream)?.view_mut().copy_from_peer(stream, &memory.far),
    |stream, memory| memory.far.view_mut().copy_from_peer(stream, &fresh(stream)?),
);
const PITCHED: &Kind = &Kind(
    |stream, memory| {
        let mut copy = fresh(stream)?;
        stream.copy_region(&memory.rows.as_source(), &mut CopyTarget::device(&mut copy, layout()), ROWS)
    },
    |stream, memory| {
        let copy = fresh(stream)?;
        stream.copy_region(&CopySource::device(&copy, layout()), &mut memory.rows.as_target(), ROWS)
    },
);
const ARRAY: &Kind = &Kind(
    |stream, memory| {
        let mut copy = fresh(stream)?;
        stream.copy_region(&memory.array.as_source(), &mut CopyTarget::device(&mut copy, layout()), ROWS)
    },
    |stream, memory| {
        let copy = fresh(stream)?;
        stream.copy_region(&CopySource::device(&copy, layout()), &mut memory.array.as_target(), ROWS)
    },
);
const MANAGED: &Kind = &Kind(
    |stream, memory| fresh(stream)?.view_mut().copy_from_device(stream, &memory.managed),
    |stream, memory| memory.managed.view_mut().fill(stream, 1),
);
const PINNED: &Kind = &Kind(
    |stream, memory| fresh(stream)?.view_mut().copy_from_pinned(stream, &memory.pinned),
    |stream, memory| fresh(stream)?.view().copy_to_pinned(stream, &mut memory.pinned),
);

/// Calls, of what they use, and whether they write it.
const CALLS: &[(&str, &Kind, bool, Call)] = &[
    ("uninit", BUFFER, true, |s, m| fresh(s).map(|new| m.buffer = new)),
    ("uninit_in", BUFFER, true, |s, m| DeviceBuffer::uninit_in(&m.pool, s, N).map(|new| m.buffer = new)),
    ("zeroed", BUFFER, true, |s, m| DeviceBuffer::zeroed(s, N).map(|new| m.buffer = new)),
    ("try_clone", BUFFER, false, |s, m| m.buffer.try_clone(s).map(drop)),
    ("fill", BUFFER, true, |s, m| m.buffer.view_mut().fill(s, 7)),
    ("set_zero", BUFFER, true, |s, m| m.buffer.view_mut().set_zero(s)),
    ("copy_from_device, from", BUFFER, false, BUFFER.0),
    ("copy_from_device, to", BUFFER, true, |s, m| m.buffer.view_mut().copy_from_device(s, &fresh(s)?)),
    ("copy_from_pinned, to", BUFFER, true, |s, m| m.buffer.view_mut().copy_from_pinned(s, &m.pinned)),
    ("copy_from_pinned, from", PINNED, false, PINNED.0),
    ("copy_to_pinned, from", BUFFER, false, |s, m| m.buffer.view().copy_to_pinned(s, &mut m.pinned)),
    ("copy_to_pinned, to", PINNED, true, PINNED.1),
    ("copy_from_peer, from", BUFFER, false, |s, m| m.far.view_mut().copy_from_peer(s, &m.buffer)),
    ("copy_from_peer, to", BUFFER, true, |s, m| m.buffer.view_mut().copy_from_peer(s, &m.far)),
    ("copy_from_peer, from there", FAR, false, FAR.0),
    ("copy_from_peer, to there", FAR, true, FAR.1),
    ("CopyBatch, from", BUFFER, false, |s, m| {
        let (mut copy, mut batch) = (fresh(s)?, CopyBatch::new());
        batch.push(&mut copy, &m.buffer)?;
        batch.submit(s)
    }),
    ("CopyBatch, to", BUFFER, true, |s, m| {
        let (copy, mut batch) = (fresh(s)?, CopyBatch::new());
        batch.push(&mut m.buffer, &copy)?;
        batch.submit(s)
    }),
    ("RegionBatch, from", BUFFER, false, |s, m| {
        let (mut copy, mut batch) = (fresh(s)?, RegionBatch::new());
        let source = CopySource::device(&m.buffer, layout());
        batch.push(source, CopyTarget::device(&mut copy, layout()), ROWS)?;
        batch.submit(s)
    }),
    ("RegionBatch, to", BUFFER, true, |s, m| {
        let (copy, mut batch) = (fresh(s)?, RegionBatch::new());
        let target = CopyTarget::device(&mut m.buffer, layout());
        batch.push(CopySource::device(&copy, layout()), target, ROWS)?;
        batch.submit(s)
    }),
    ("copy_region, from", BUFFER, false, |s, m| {
        let source = CopySource::device(&m.buffer, layout());
        s.copy_region(&source, &mut m.rows.as_target(), ROWS)
    }),
    ("copy_region, to", BUFFER, true, |s, m| {
        s.copy_region(&m.rows.as_source(), &mut CopyTarget::device(&mut m.buffer, layout()), ROWS)
    }),
    ("copy_region, from rows", PITCHED, false, PITCHED.0),
    ("copy_region, to rows", PITCHED, true, PITCHED.1),
    ("copy_region_peer, from", FAR, false, |s, m| {
        let source = CopySource::device(&m.far, layout());
        s.copy_region_peer(&source, &mut m.rows.as_target(), ROWS)
    }),
    ("copy_region_peer, to", FAR, true, |s, m| {
        s.copy_region_peer(&m.rows.as_source(), &mut CopyTarget::device(&mut m.far, layout()), ROWS)
    }),
    ("fill of rows", PITCHED, true, |s, m| m.rows.fill(s, 7)),
    ("copy_region, from an array", ARRAY, false, ARRAY.0),
    ("copy_region, to an array", ARRAY, true, ARRAY.1),
    ("prefetch", MANAGED, false, |s, m| m.managed.prefetch(s, .., MemoryLocation::Host)),
    ("PrefetchBatch", MANAGED, false, |s, m| {
        let mut batch = PrefetchBatch::new();
        batch.push(&m.managed, .., MemoryLocation::Host)?;
        batch.submit(s)
    }),
    ("attach", MANAGED, true, |s, m| m.managed.attach(s, ATTACH)),
];

/// How often `next` is made to wait for another stream.
fn waits(spy: &Spy, next: Call, stream: &CudaStream, memory: &mut Memory) -> usize {
    spy.clear();
    next(stream, memory).unwrap();
    spy.count("cuStreamWaitEvent")
}

#[test]
fn the_next_stream_waits_for_what_a_call_has_done() {
    let (spy, ctx) = spies::spied();
    let other = ctx.device().create_context(&ContextOptions::default()).unwrap();
    let mut wrong = Vec::new();
    for (name, Kind(read, write), writes, call) in CALLS {
        // The first stream of all that the memory is used on, so that nothing but this call is waited for.
        for (next, is_write) in [(read, false), (write, true)] {
            let mut memory = Memory::new(&ctx, &other).unwrap();
            let [first, second] = [(); 2].map(|()| ctx.new_stream().unwrap());
            match call(&first, &mut memory) {
                Err(error) if error.is_unsupported() => skipped(format!("{name}: {error}")),
                done => {
                    done.unwrap();
                    let seen = waits(&spy, *next, &second, &mut memory);
                    if seen != usize::from(*writes || is_write) {
                        wrong.push(format!(
                            "{name}: {seen} waits of what {}",
                            ["reads", "writes"][is_write as usize]
                        ));
                    }
                }
            }
            ctx.synchronize().unwrap();
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
