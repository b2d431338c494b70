//! Steps with operations that copy: from the host and back, pinned or not, and on a device, with work of other ways around them.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_all, assert_halves};
use crate::program::Program;
use cuda_launch::memory::PinnedFlags;
use cuda_launch::operation::{
    DeviceOperation, all, allocate, block_on, copy_from_pinned, copy_on_device, copy_to_device, copy_to_host,
    copy_to_pinned, from_event, from_result, from_stream, lazy, memset, select_all, value, with_context, zip,
};
use cuda_launch::{DeviceBuffer, Error, PinnedBuffer};
use std::sync::Arc;

impl Program {
    /// Memory that comes from the host replaces what a buffer holds, and what it held goes to the host. Everything that the operation owns
    /// may be dropped before the copies are done.
    pub(crate) fn transfer(&mut self) -> Result<(), Error> {
        let (policy, number, last) = (self.policy(), self.random.number(), self.stream());
        let (pinned_source, keeps) = (self.random.one_in(2), self.random.one_in(2));
        let (memory, id) = self.take_device_buffer()?;
        let held = self.holds[id];
        let source = if pinned_source {
            let host = PinnedBuffer::from_slice(&self.ctx, &[number; 2 * HALF], PinnedFlags::empty())?;
            copy_from_pinned(host).first().boxed()
        } else {
            copy_to_device(vec![number; 2 * HALF]).boxed()
        };
        let host = PinnedBuffer::zeroed(&self.ctx, 2 * HALF, PinnedFlags::empty())?;
        let out = lazy(move || memory).and_then(move |memory| copy_to_pinned(memory, host));
        let over = zip!(source, out).and_then(|(source, (memory, host))| {
            copy_on_device(source, memory).map(move |(_, memory)| (memory, host))
        });
        let (memory, host) = match self.random.below(3) {
            0 => block_on(over.schedule(policy))?,
            1 => over.sync_on(&last)?,
            _ => over.submit_on(&last)?.0,
        };
        self.holds[id] = [number; 2];
        self.put_back(memory, id);
        if keeps {
            assert_halves(host.as_slice()?, held, "what an operation copied to pinned memory");
        }
        Ok(())
    }

    /// Two parts of the output of an operation, used on two streams: it runs once, and both come after it.
    pub(crate) fn unzip_operation(&mut self) -> Result<(), Error> {
        let ([first, second], swap) = ([self.stream(), self.stream()], self.random.one_in(2));
        let [number, then] = [(); 2].map(|()| self.random.number());
        let (memory, id) = self.take_device_buffer()?;
        let host = PinnedBuffer::zeroed(&self.ctx, 2 * HALF, PinnedFlags::empty())?;
        let other = with_context(move |cx| {
            from_result(cx.stream().and_then(|stream| DeviceBuffer::filled(stream, HALF, number)))
        });
        // Nothing but the operation orders this against what comes after it, until that uses the memory.
        let (does, looks) = self.told_late();
        let both = zip!(value(memory), other).and_then_with_context(move |cx, both| {
            from_result(cx.stream().and_then(|stream| stream.call_host(does)).map(|()| both))
        });
        let (memory, other) = both.unzip();
        let look = looks.clone();
        let changed = memory
            .and_then_with_context(move |cx, memory| {
                from_result(cx.stream().and_then(|stream| stream.call_host(look)).map(|()| memory))
            })
            .and_then(move |memory| copy_to_pinned(memory, host))
            .and_then(move |(memory, host)| memset(memory, then).map(move |memory| (memory, host)));
        let copied = other
            .and_then_with_context(move |cx, other| {
                from_result(cx.stream().and_then(|stream| stream.call_host(looks)).map(|()| other))
            })
            .arc()
            .and_then(copy_to_host);
        let (copied, (memory, host)) = if swap {
            (copied.submit_on(&first)?.0, changed.submit_on(&second)?.0)
        } else {
            let changed = changed.submit_on(&first)?.0;
            (copied.submit_on(&second)?.0, changed)
        };
        assert_halves(host.as_slice()?, self.holds[id], "what one part of an operation's output held");
        assert_all(copied.as_slice()?, number, "the other part of an operation's output");
        self.holds[id] = [then; 2];
        self.put_back(memory, id);
        Ok(())
    }

    /// All of a list, or whichever is first and then the rest; each copies from the one before the list.
    pub(crate) fn list_operations(&mut self) -> Result<(), Error> {
        let (policy, select, count) = (self.policy(), self.random.one_in(2), 1 + self.random.below(4));
        let policies: Vec<_> = (0..count).map(|_| self.policy()).collect();
        let (memory, id) = self.take_device_buffer()?;
        let (source, last) = (Arc::new(memory), self.stream());
        let copy = |policy| {
            let source = source.clone();
            let copy = allocate(2 * HALF).and_then(move |target| copy_on_device(source, target));
            copy.map(|(_, target)| target)
                .inspect(|target| assert_eq!(target.len(), 2 * HALF))
                .schedule(policy)
                .boxed()
        };
        let copies: Vec<_> = policies.into_iter().map(copy).collect();
        let copies: Vec<DeviceBuffer<u32>> = if select {
            let (_, copy, rest) = block_on(select_all(copies))?;
            std::iter::once(Ok(copy)).chain(rest.into_iter().map(block_on)).collect::<Result<_, _>>()?
        } else {
            block_on(all(copies).schedule(policy))?
        };
        assert_eq!(copies.len(), count, "outputs of a list of operations");
        for copy in &copies {
            assert_halves(
                &copy.to_host_vec(&last)?,
                self.holds[id],
                "what one of a list of operations copied",
            );
        }
        match Arc::into_inner(source) {
            Some(memory) => self.put_back(memory, id),
            None => self.add_buffer()?,
        }
        Ok(())
    }

    /// After what an event marks, or what a stream was given, which nothing else orders against the operation.
    pub(crate) fn operation_after(&mut self) -> Result<(), Error> {
        let (stream, policy, (does, looks)) = (self.stream(), self.policy(), self.told_late());
        stream.call_host(does)?;
        let after = if self.random.one_in(2) {
            let event = self.ctx.new_event()?;
            event.record(&stream)?;
            from_event(event, looks).boxed()
        } else {
            from_stream(&stream, looks).boxed()
        };
        let look = after.and_then_with_context(move |cx, looks| {
            from_result(cx.stream().and_then(|stream| stream.call_host(looks)))
        });
        block_on(look.schedule(policy))
    }
}
