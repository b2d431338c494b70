//! Steps with operations: chains and branches, waited for, dropped and forgotten while they are under way, panicking, in scopes
//! and replayed.

#![deny(unsafe_code)]

use crate::change::{CONFIG, HALF, Halves, Random, assert_halves, kernels};
use crate::program::{Buffer, Program};
use cuda_launch::operation::{
    self, BoxedOperation, DeviceOperation, Either, ExecutionContext, RoundRobin, SchedulingPolicy,
    SingleStream, ThreadAffine, block_on, copy_to_host, from_result, memset, select, value, zeroed, zip,
};
use cuda_launch::{DeviceBuffer, Error};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

pub(crate) type Chain = BoxedOperation<'static, DeviceBuffer<u32>>;
pub(crate) type Policy = Arc<dyn SchedulingPolicy>;

/// One link of a chain: what happens to its buffer.
#[derive(Clone, Copy)]
pub(crate) enum Link {
    Step(u32, u32),
    Fill(u32),
    /// The chain so far and this step, on a stream of its own.
    Elsewhere(u32, u32),
    /// Each half in a branch. The branches may be forgotten, without a join.
    Branches {
        fills: Halves,
        forget: bool,
    },
    /// Collects another buffer that is made beside the chain. Nothing can be allocated in a graph.
    Beside(u32),
}

impl Link {
    fn random(random: &mut Random, allocates: bool) -> Self {
        match random.below(if allocates { 6 } else { 5 }) {
            0 => Self::Fill(random.number()),
            1 => Self::Elsewhere(2 * random.number() + 1, random.number()),
            2 => Self::Branches { fills: [random.number(), random.number()], forget: random.one_in(2) },
            3 | 4 => Self::Step(2 * random.number() + 1, random.number()),
            _ => Self::Beside(random.number()),
        }
    }

    /// Adds itself to a chain.
    fn after(self, chain: Chain, kernels: &kernels::Module, policy: &Policy) -> Chain {
        let kernels = kernels.clone();
        match self {
            Self::Step(m, a) => chain.and_then(move |x| kernels.step_async_owned(CONFIG, x, m, a)).boxed(),
            Self::Fill(value) => chain.and_then(move |x| memset(x, value)).boxed(),
            Self::Elsewhere(m, a) => {
                let step = chain.and_then(move |x| kernels.step_async_owned(CONFIG, x, m, a));
                step.schedule(policy.clone()).boxed()
            }
            Self::Branches { fills, forget } => chain
                .and_then_with_context(move |cx, x| from_result(fill_halves(cx, x, fills, forget)))
                .boxed(),
            Self::Beside(value) => {
                let other = zeroed::<u32>(2 * HALF).and_then(move |y| memset(y, value));
                zip!(chain, other)
                    .and_then(move |(x, y)| kernels.collect_async_owned(CONFIG, x, y))
                    .map(|(x, _)| x)
                    .boxed()
            }
        }
    }

    /// Does it to what should be there.
    fn apply(self, holds: &mut Halves) {
        *holds = match self {
            Self::Step(m, a) | Self::Elsewhere(m, a) => holds.map(|x| x.wrapping_mul(m).wrapping_add(a)),
            Self::Fill(value) => [value; 2],
            Self::Branches { fills, .. } => fills,
            Self::Beside(value) => holds.map(|x| x.wrapping_mul(31).wrapping_add(value)),
        }
    }
}

fn fill_halves(
    cx: &ExecutionContext,
    mut x: DeviceBuffer<u32>,
    fills: Halves,
    forget: bool,
) -> Result<DeviceBuffer<u32>, Error> {
    let (mut left, mut right) = x.split_at_mut(HALF);
    let mut branches = cx.branches();
    branches.branch(|cx| left.fill(cx.stream()?, fills[0]))?;
    branches.branch(|cx| right.fill(cx.stream()?, fills[1]))?;
    if forget {
        std::mem::forget(branches);
    } else {
        branches.join()?;
    }
    Ok(x)
}

/// Panics without a word.
fn unwind<T>() -> T {
    resume_unwind(Box::new("in an operation"))
}

/// Polls once, and asks nobody to wake it.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

impl Program {
    pub(crate) fn policy(&mut self) -> Policy {
        let streams = [self.stream(), self.stream(), self.stream()];
        match self.random.below(4) {
            0 => Arc::new(ThreadAffine::of(streams).unwrap()),
            1 => Arc::new(SingleStream::new(&streams[0])),
            _ => Arc::new(RoundRobin::of(streams).unwrap()),
        }
    }

    pub(crate) fn links(&mut self, allocates: bool) -> Vec<Link> {
        (0..1 + self.random.below(4)).map(|_| Link::random(&mut self.random, allocates)).collect()
    }

    /// A chain that owns one of the buffers, and the buffer's id.
    pub(crate) fn chain(&mut self, links: &[Link]) -> Result<(Chain, usize), Error> {
        let (policy, (memory, id)) = (self.policy(), self.take_device_buffer()?);
        let add = |chain, link: &Link| link.after(chain, &self.kernels, &policy);
        Ok((links.iter().fold(value(memory).boxed(), add), id))
    }

    /// The chain was submitted.
    pub(crate) fn apply(&mut self, links: &[Link], id: usize) {
        links.iter().for_each(|link| link.apply(&mut self.holds[id]));
    }

    /// Its buffer comes back, perhaps before its work is done.
    pub(crate) fn operation(&mut self) -> Result<(), Error> {
        let (links, stream, policy) = (self.links(true), self.stream(), self.policy());
        let (chain, id) = self.chain(&links)?;
        let memory = match self.random.below(4) {
            0 => chain.sync_on(&stream)?,
            1 => block_on(chain.schedule(policy))?,
            2 => thread::spawn(move || block_on(chain.schedule(policy))).join().unwrap()?,
            _ => chain.submit_on(&stream)?.0,
        };
        self.apply(&links, id);
        self.put_back(memory, id);
        Ok(())
    }

    /// Two of them, on streams of any policies: whichever is first, and then the other.
    pub(crate) fn select_operations(&mut self) -> Result<(), Error> {
        let (links, policies) = ([self.links(true), self.links(true)], [self.policy(), self.policy()]);
        let (first, first_id) = self.chain(&links[0])?;
        let (second, second_id) = self.chain(&links[1])?;
        let [one, other] = policies;
        let selected = select(first.schedule(one), second.schedule(other));
        let (first, second) = match block_on(selected)? {
            Either::Left(first, second) => (first, block_on(second)?),
            Either::Right(first, second) => (block_on(first)?, second),
        };
        self.apply(&links[0], first_id);
        self.apply(&links[1], second_id);
        self.put_back(first, first_id);
        self.put_back(second, second_id);
        Ok(())
    }

    /// Dropped or forgotten before or while it runs, or too late. What was submitted runs all the same.
    pub(crate) fn abandoned_operation(&mut self) -> Result<(), Error> {
        let (links, policy, polls) = (self.links(true), self.policy(), self.random.below(3));
        let (chain, id) = self.chain(&links)?;
        let memory = match self.random.below(4) {
            0 => {
                let mut future = chain.schedule(policy).future();
                let ready = (0..polls).find_map(|_| match poll_once(&mut future) {
                    Poll::Ready(memory) => Some(memory),
                    Poll::Pending => None,
                });
                if polls > 0 {
                    self.apply(&links, id);
                }
                ready.transpose()?
            }
            1 => {
                // The end of the buffer is behind the work, which keeps it, and nobody has the future.
                let keep = chain.and_then_with_context(|cx, memory| {
                    cx.keep(memory);
                    value(())
                });
                let mut future = keep.schedule(policy).future();
                if poll_once(&mut future).is_pending() {
                    std::mem::forget(future);
                }
                self.apply(&links, id);
                None
            }
            2 => {
                let mut future = chain.map(drop).schedule(policy).future();
                if poll_once(&mut future).is_pending() {
                    std::mem::forget(future);
                }
                self.apply(&links, id);
                None
            }
            _ => {
                let result = block_on(chain.schedule(policy).timeout(Duration::from_micros(50)));
                self.apply(&links, id);
                match result {
                    Err(error) if error.is_timed_out() => None,
                    result => Some(result?),
                }
            }
        };
        match memory {
            Some(memory) => self.put_back(memory, id),
            None => self.add_buffer()?,
        }
        Ok(())
    }

    /// What was submitted before the panic runs; the buffer is gone.
    pub(crate) fn panic_in_operation(&mut self) -> Result<(), Error> {
        let (links, stream, policy) = (self.links(true), self.stream(), self.policy());
        let (chain, id) = self.chain(&links)?;
        let how = self.random.below(4);
        let panics: BoxedOperation<'static, ()> = match how {
            0 => chain.map(|_| unwind()).boxed(),
            1 => chain
                .and_then_with_context(move |cx, memory| {
                    cx.keep(memory);
                    unwind::<operation::Value<()>>()
                })
                .boxed(),
            2 => chain
                .and_then_with_context(move |cx, mut memory| {
                    let mut branches = cx.branches();
                    branches.branch(|cx| {
                        memory.fill(cx.stream().unwrap(), 5).unwrap();
                        unwind::<()>()
                    });
                    value(())
                })
                .boxed(),
            _ => chain.and_then(|_| unwind::<operation::Value<()>>()).boxed(),
        };
        let run = match self.random.below(3) {
            0 => catch_unwind(AssertUnwindSafe(|| panics.sync_on(&stream))),
            1 => catch_unwind(AssertUnwindSafe(|| panics.submit_on(&stream).map(drop))),
            _ => thread::spawn(move || block_on(panics.schedule(policy))).join(),
        };
        assert!(run.is_err(), "it panics");
        self.apply(&links, id);
        if how == 2 {
            self.holds[id] = [5; 2];
        }
        self.add_buffer()
    }

    /// They borrow, and are done at its end, also where that unwinds.
    pub(crate) fn scope(&mut self) -> Result<(), Error> {
        let (to, _) = self.two_buffers();
        let (policies, panics) = ([self.policy(), self.policy()], self.random.one_in(3));
        let numbers: [_; 2] = std::array::from_fn(|_| (2 * self.random.number() + 1, self.random.number()));
        let Buffer { memory, id } = &mut self.buffers[to];
        let before = self.holds[*id];
        let (mut seen, ended) = (None, Arc::new(AtomicUsize::new(0)));
        let busy = self.random.pace().busy;
        let result = catch_unwind(AssertUnwindSafe(|| {
            let host = operation::scope(|scope| {
                let host = scope.submit(copy_to_host(memory.view()).schedule(policies[0].clone()))?;
                Ok::<_, Error>(host)
            })??;
            seen = Some(host.as_slice()?.to_vec());
            // Which waits for the device: not after the scope below.
            drop(host);
            let (mut left, mut right) = memory.view_mut().split_at(HALF);
            operation::scope(|scope| {
                for ((half, (m, a)), policy) in
                    [&mut left, &mut right].into_iter().zip(numbers).zip(&policies)
                {
                    let ended = ended.clone();
                    // Nothing but the scope waits for this.
                    let end = move || {
                        thread::sleep(Duration::from_micros(busy));
                        ended.fetch_add(1, Ordering::SeqCst);
                    };
                    let step = self.kernels.step_async(CONFIG, half, m, a)?.and_then_with_context(|cx, _| {
                        from_result(cx.stream().and_then(|stream| stream.call_host(end)))
                    });
                    scope.submit(step.schedule(policy.clone()))?;
                }
                if panics {
                    unwind::<()>();
                }
                Ok::<_, Error>(())
            })?
        }));
        assert_eq!(result.is_err(), panics);
        result.unwrap_or(Ok(()))?;
        assert_eq!(ended.load(Ordering::SeqCst), 2, "a scope ends before its work");
        assert_halves(&seen.unwrap(), before, "what a scope copied");
        for (holds, (m, a)) in self.holds[*id].iter_mut().zip(numbers) {
            *holds = holds.wrapping_mul(m).wrapping_add(a);
        }
        Ok(())
    }
}
