//! Random programs as operations of the crate.

use cuda_launch::operation::{
    BoxedOperation, DeviceOperation, Either, ExecutionContext, OwnedKernelLaunch, RoundRobin,
    SchedulingPolicy, SingleStream, all, from_result, lazy, scope, select, value, with_context, zeroed, zip,
};
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaFunction, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_launch,
};
use std::borrow::Borrow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::program::{Form, N, Op, Place};
use cuda_launch::operation::block_on;

/// What the operations of all programs use.
pub struct Rig {
    pub ctx: CudaContext,
    /// The only stream of [`Place::Single`].
    pub stream: CudaStream,
    step: CudaFunction,
    collect: CudaFunction,
    policies: [Arc<dyn SchedulingPolicy>; 3],
}

/// A new stream each time, which lives as long as somebody uses it.
struct Fresh(CudaContext);

impl SchedulingPolicy for Fresh {
    fn next_stream(&self) -> Result<CudaStream, Error> {
        self.0.new_stream()
    }
}

impl Rig {
    pub fn new() -> Result<Self, Error> {
        let ctx = CudaContext::new(0)?;
        let stream = ctx.new_stream()?;
        let module = ctx.load_module(include_str!("../kernels/ordering.ptx"))?;
        let (step, collect) = (module.load_function("step")?, module.load_function("collect")?);
        let policies: [Arc<dyn SchedulingPolicy>; 3] = [
            Arc::new(SingleStream::new(&stream)),
            Arc::new(RoundRobin::new(&ctx, 3)?),
            Arc::new(Fresh(ctx.clone())),
        ];
        Ok(Self { ctx, stream, step, collect, policies })
    }

    pub fn policy(&self, place: Place) -> Arc<dyn SchedulingPolicy> {
        self.policies[(place as usize).min(2)].clone()
    }
}

/// How many of something there are.
#[derive(Debug, Default)]
pub struct Alive(AtomicUsize);

impl Alive {
    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Counts as long as it lives.
pub struct Token(Arc<Alive>);

impl Token {
    pub fn new(alive: &Arc<Alive>) -> Self {
        alive.0.fetch_add(1, Ordering::SeqCst);
        Self(alive.clone())
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What each operation gives.
pub struct Out {
    pub buffer: DeviceBuffer<u32>,
    _alive: Token,
}

type Boxed = BoxedOperation<'static, Out>;
/// A way to run an operation inside of another.
type Run = fn(Boxed) -> Result<Out, Error>;

/// Makes the operations of one item of a program.
#[derive(Clone)]
pub struct Maker {
    pub rig: Arc<Rig>,
    /// Outputs.
    pub outs: Arc<Alive>,
    /// What chains keep.
    pub kept: Arc<Alive>,
}

impl Maker {
    pub fn make(&self, op: Op) -> Boxed {
        match op {
            Op::Zeroed => self.zeroed(),
            Op::Filled(from) => self.filled(from),
            Op::Step(op, form, m, a) => self.step(*op, form, m, a),
            Op::Zip(a, b) => {
                let maker = self.clone();
                zip!(self.make(*a), self.make(*b)).and_then(move |(a, b)| maker.collect(a, b)).boxed()
            }
            Op::All(ops) => self.all(ops),
            Op::Shared(op) => self.shared(*op),
            Op::Unzip(a, b) => {
                let (maker, (a, b)) = (self.clone(), zip!(self.make(*a), self.make(*b)).unzip());
                zip!(b, a).and_then(move |(b, a)| maker.collect(b, a)).boxed()
            }
            Op::At(Place::Device, op) => self.make(*op).on_device(0).boxed(),
            Op::At(place, op) => self.make(*op).schedule(self.rig.policy(place)).boxed(),
            Op::Keep(op) => {
                let token = Token::new(&self.kept);
                self.make(*op)
                    .inspect(|_| {})
                    .and_then_with_context(move |cx, out| {
                        cx.keep(token);
                        value(out)
                    })
                    .boxed()
            }
            Op::Fail(op) => {
                self.make(*op).and_then(|_| from_result(CudaContext::new(99).map(|_| unreachable!()))).boxed()
            }
            // Unwinds without a word.
            Op::Panic(op) => {
                self.make(*op).map(|_| resume_unwind(Box::new("a panic of the program"))).boxed()
            }
            Op::Select(..) | Op::Sync(..) | Op::Await(..) | Op::Scope(..) => self.nested(op),
        }
    }

    fn out(&self) -> impl FnOnce(DeviceBuffer<u32>) -> Out + Send + use<> {
        let outs = self.outs.clone();
        move |buffer| Out { buffer, _alive: Token::new(&outs) }
    }

    fn zeroed(&self) -> Boxed {
        zeroed::<u32>(N).map(self.out()).boxed()
    }

    fn filled(&self, from: u32) -> Boxed {
        let words: [u32; N] = std::array::from_fn(|i| from.wrapping_add(i as u32));
        let copy = move |cx: &ExecutionContext| {
            from_result(cx.stream().and_then(|stream| DeviceBuffer::from_host(stream, &words)))
        };
        with_context(copy).map(self.out()).boxed()
    }

    fn step(&self, op: Op, form: Form, m: u32, a: u32) -> Boxed {
        let (step, op) = (self.rig.step.clone(), self.make(op));
        match form {
            Form::Owned => op
                .and_then(move |out| unsafe {
                    OwnedKernelLaunch::new(out, move |out: &mut Out| {
                        let mut launch = AsyncKernelLaunch::new(step);
                        launch.slice_mut(&mut out.buffer).push_arg(m).push_arg(a).set_launch_config(config());
                        Ok(launch)
                    })
                })
                .boxed(),
            _ => op.and_then(move |out| Step { step, out, form, m, a }).boxed(),
        }
    }

    /// `y = y * 31 + x`; gives `y`.
    fn collect<X: Borrow<Out> + Send>(&self, y: Out, x: X) -> Collect<X> {
        Collect { collect: self.rig.collect.clone(), y, x }
    }

    fn all(&self, ops: Vec<Op>) -> Boxed {
        let (maker, begin) = (self.clone(), self.zeroed());
        all(ops.into_iter().map(|op| self.make(op)).collect::<Vec<_>>())
            .and_then(move |outs| {
                outs.into_iter().fold(begin, move |y, x| {
                    let maker = maker.clone();
                    y.and_then(move |y| maker.collect(y, x)).boxed()
                })
            })
            .boxed()
    }

    fn shared(&self, op: Op) -> Boxed {
        let (maker, shared) = (self.clone(), self.make(op).shared());
        zip!(self.zeroed(), shared.clone(), shared)
            .and_then(move |(y, a, b)| maker.collect(y, a).and_then(move |y| maker.collect(y, b)))
            .boxed()
    }

    /// The other operation runs inside of a closure, as a whole.
    fn nested(&self, op: Op) -> Boxed {
        let maker = self.clone();
        let (first, second, run): (Op, Op, Run) = match op {
            Op::Select(a, b) => return self.select(self.make(*a), self.make(*b)),
            Op::Sync(a, b) => (*a, *b, |op| op.sync()),
            Op::Await(a, b) => (*a, *b, |op| block_on(op)),
            Op::Scope(a, b) => (*a, *b, |op| scope(|scope| scope.submit(op))?),
            _ => unreachable!(),
        };
        let second = self.make(second);
        self.make(first)
            .and_then(move |y| match run(second) {
                Ok(x) => maker.collect(y, x).boxed(),
                Err(error) => from_result(Err(error)).boxed(),
            })
            .boxed()
    }

    fn select(&self, a: Boxed, b: Boxed) -> Boxed {
        let maker = self.clone();
        let both = move || match block_on(select(a, b))? {
            Either::Left(a, b) => Ok((a, block_on(b)?)),
            Either::Right(a, b) => Ok((block_on(a)?, b)),
        };
        lazy(both).and_then(from_result).and_then(move |(a, b)| maker.collect(a, b)).boxed()
    }
}

fn config() -> LaunchConfig {
    LaunchConfig::for_num_elems(N as u32)
}

/// `x = x * m + a`.
struct Step {
    step: CudaFunction,
    out: Out,
    form: Form,
    m: u32,
    a: u32,
}

impl DeviceOperation for Step {
    type Output = Out;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Out, Error> {
        let (m, a) = (self.m, self.a);
        if matches!(self.form, Form::Macro) {
            unsafe {
                cuda_launch! { function: self.step, stream: cx.stream()?, config: config(), args: [slice_mut(self.out.buffer), m, a] }
            }?;
            return Ok(self.out);
        }
        let mut launch = AsyncKernelLaunch::new(&self.step);
        launch.set_launch_config(config());
        match self.form {
            Form::Address => unsafe { launch.push_device_ptr(self.out.buffer.cu_deviceptr()).push_arg(N) },
            _ => launch.slice_mut(&mut self.out.buffer),
        };
        launch.push_arg(m).push_arg(a);
        unsafe { launch.execute(cx) }?;
        Ok(self.out)
    }
}

/// `y = y * 31 + x`; the end of `x` comes right after the launch.
struct Collect<X> {
    collect: CudaFunction,
    y: Out,
    x: X,
}

impl<X: Borrow<Out> + Send> DeviceOperation for Collect<X> {
    type Output = Out;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Out, Error> {
        unsafe {
            cuda_launch! { function: self.collect, stream: cx.stream()?, config: config(),
            args: [slice_mut(self.y.buffer), slice(self.x.borrow().buffer)] }
        }?;
        Ok(self.y)
    }
}
