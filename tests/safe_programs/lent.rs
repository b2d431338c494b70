//! Steps with the program's own memory, pinned while a closure runs or for good, and with views of it.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_all};
use crate::pause::{self, Pace};
use crate::program::{Buffer, Program};
use cuda_launch::memory::{PinnedViewMut, RegisterFlags};
use cuda_launch::{CudaStream, Error, PinnedBuffer};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// The left half of a buffer goes to the host, and its right half comes from there: before or after that, since the stream of the
/// second copy waits for the first. The host does not.
fn copy(
    buffer: &mut Buffer,
    streams: [&CudaStream; 2],
    paces: [Pace; 2],
    mut host: PinnedViewMut<'_, u32>,
    out_first: bool,
) -> Result<(), Error> {
    for (stream, pace) in streams.into_iter().zip(paces) {
        pause::ends_before_unregister(stream, pace.busy)?;
    }
    for out in [out_first, !out_first] {
        if out {
            let target = host.view_mut().try_slice(..HALF).unwrap();
            buffer.memory.half(0).copy_to_pinned(streams[0], target)?;
        } else {
            let source = host.as_view().try_slice(HALF..).unwrap();
            buffer.memory.half_mut(1).copy_from_pinned(streams[1], source)?;
        }
    }
    Ok(())
}

impl Program {
    /// Copies on this thread or another one, on any stream or the thread's own. When the memory comes back, also after a panic, they
    /// are done: it can be read and written.
    pub(crate) fn lend(&mut self) -> Result<(), Error> {
        let (streams, paces) = ([self.stream(), self.stream()], [(); 2].map(|()| self.random.pace()));
        let (index, value) = (self.random.below(self.buffers.len()), self.random.number());
        let [on_thread, own, keeps, out_first] = [(); 4].map(|()| self.random.one_in(2));
        let panics = self.random.one_in(4);
        let mut host = vec![value; 2 * HALF];
        let Self { buffers, ctx, holds, .. } = self;
        let (buffer, shared) = (&mut buffers[index], ctx.per_thread_stream());
        let id = buffer.id;
        let mut go = |host: PinnedViewMut<'_, u32>| {
            let streams = if own { [&shared, &streams[1]] } else { streams.each_ref() };
            copy(buffer, streams, paces, host, out_first)
        };
        if keeps {
            // It goes with the buffer, after the copies.
            let mut pinned = PinnedBuffer::register(ctx, host, RegisterFlags::empty())?;
            go(pinned.view_mut())?;
            if !panics {
                assert_all(&pinned.as_slice()?[..HALF], holds[id][0], "memory that was registered");
            }
            drop(pinned);
        } else {
            let result = catch_unwind(AssertUnwindSafe(|| {
                ctx.with_registered(&mut host, RegisterFlags::empty(), |host| {
                    if on_thread {
                        thread::scope(|scope| scope.spawn(|| go(host)).join().unwrap())?;
                    } else {
                        go(host)?;
                    }
                    if panics { resume_unwind(Box::new("while memory is lent")) } else { Ok(()) }
                })
            }));
            assert_eq!(result.is_err(), panics);
            result.unwrap_or(Ok(()))?;
            assert_all(&host[..HALF], holds[id][0], "memory that was lent");
            // A copy that is still to come would show this.
            host.fill(value.wrapping_add(1));
        }
        holds[id][1] = value;
        pause::nothing_ended_early();
        Ok(())
    }
}
