//! The ways to launch the same kernel, so that one test shows that they behave the same. A new way is a type and a line in
//! [`FORMS`].

#![allow(unsafe_code, dead_code, unreachable_pub)] // Launches of kernels whose arguments are the buffers they take.
#![allow(clippy::undocumented_unsafe_blocks)]

use cuda_launch::operation::DeviceOperation;
use cuda_launch::{
    CudaFunction, CudaModule, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_launch, cuda_module,
};

/// What is launched, and where.
pub type Call<'a> = (&'a CudaFunction, &'a CudaStream, LaunchConfig);
type Buffer = DeviceBuffer<u32>;

/// A way to launch kernels of the shapes that tests need.
pub trait Form: Sync {
    /// For messages.
    fn name(&self) -> &'static str;

    /// `(to, len, from, len)`: writes `to`, reads `from`.
    fn collect(&self, call: Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error>;

    /// `(x, len, x, len)`: reads it.
    fn read(&self, call: Call<'_>, x: &Buffer) -> Result<(), Error>;

    /// `(x, len, m, a)`: writes `x`; `m` and `a` are `u32`.
    fn step(&self, call: Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error>;

    /// `(x, 0, 0, 0)`: writes `x`, whose length it is not told.
    fn write(&self, call: Call<'_>, x: &mut Buffer) -> Result<(), Error>;
}

/// All of them.
pub const FORMS: &[&dyn Form] = &[&Macro, &Named, &Typed, &TypedAsync, &Builder, &Prepared];

struct Macro;
struct Named;
struct Typed;
struct TypedAsync;
struct Builder;
struct Prepared;

impl Form for Macro {
    fn name(&self) -> &'static str {
        "cuda_launch!"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [slice_mut(to), slice(from)] }
        }
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [slice(x), slice(x)] }
        }
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [slice_mut(x), m, a] }
        }
    }

    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [ptr_mut(x), 0u64, 0u64, 0u64] }
        }
    }
}

impl Form for Named {
    fn name(&self) -> &'static str {
        "cuda_launch! with names"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config,
            args: [named("to", slice_mut(to)), named("from", slice(from))] }
        }
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config,
            args: [named("x", slice(x)), named("again", slice(x))] }
        }
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config,
            args: [named("x", slice_mut(x)), named("m", m), named("a", a)] }
        }
    }

    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: config,
            args: [named("x", ptr_mut(x)), 0u64, 0u64, 0u64] }
        }
    }
}

#[cuda_module("tests/kernels/ordering.ptx")]
mod collecting {
    unsafe extern "C" {
        pub safe fn collect(to: &mut [u32], from: &[u32]);
        #[entry("collect")]
        pub safe fn read(x: &[u32], again: &[u32]);
        #[entry("collect")]
        pub safe fn write(x: &mut [u32], nothing: u64, no_length: u64);
    }
}

#[cuda_module("tests/kernels/ordering.ptx")]
mod stepping {
    unsafe extern "C" {
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
    }
}

fn module(f: &CudaFunction) -> CudaModule {
    f.module().cloned().unwrap_or_else(|| unreachable!("tests load their kernels"))
}

impl Form for Typed {
    fn name(&self) -> &'static str {
        "a typed method"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        unsafe { collecting::from_module(module(f)) }?.collect(stream, config, to, from)
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        unsafe { collecting::from_module(module(f)) }?.read(stream, config, x, x)
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        unsafe { stepping::from_module(module(f)) }?.step(stream, config, x, m, a)
    }

    /// With the length: a typed method takes a bare address as a number, which nobody orders.
    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        unsafe { collecting::from_module(module(f)) }?.write(stream, config, x, 0, 0)
    }
}

/// Submitted, and not waited for: what is borrowed orders itself.
impl Form for TypedAsync {
    fn name(&self) -> &'static str {
        "a typed asynchronous method"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        let module = unsafe { collecting::from_module(module(f)) }?;
        unsafe { module.collect_async(config, to, from)?.async_on(stream) }
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        let module = unsafe { collecting::from_module(module(f)) }?;
        unsafe { module.read_async(config, x, x)?.async_on(stream) }
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        let module = unsafe { stepping::from_module(module(f)) }?;
        unsafe { module.step_async(config, x, m, a)?.async_on(stream) }
    }

    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        let module = unsafe { collecting::from_module(module(f)) }?;
        unsafe { module.write_async(config, x, 0, 0)?.async_on(stream) }
    }
}

impl Form for Builder {
    fn name(&self) -> &'static str {
        "the builder"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        unsafe { stream.launch_builder(f).slice_mut(to).slice(from).launch(config) }.map(drop)
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        unsafe { stream.launch_builder(f).slice(x).slice(x).launch(config) }.map(drop)
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        unsafe { stream.launch_builder(f).slice_mut(x).arg(&m).arg(&a).launch(config) }.map(drop)
    }

    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        unsafe { stream.launch_builder(f).arg(x).arg(&0u64).arg(&0u64).arg(&0u64).launch(config) }.map(drop)
    }
}

/// Prepared on another stream than the one it is launched on.
impl Form for Prepared {
    fn name(&self) -> &'static str {
        "a prepared launch"
    }

    fn collect(&self, (f, stream, config): Call<'_>, to: &mut Buffer, from: &Buffer) -> Result<(), Error> {
        let other = stream.context().default_stream();
        let mut launch = other.launch_builder(f).slice_mut(to).slice(from).prepare(config)?;
        unsafe { launch.launch_on(stream) }.map(drop)
    }

    fn read(&self, (f, stream, config): Call<'_>, x: &Buffer) -> Result<(), Error> {
        let other = stream.context().default_stream();
        let mut launch = other.launch_builder(f).slice(x).slice(x).prepare(config)?;
        unsafe { launch.launch_on(stream) }.map(drop)
    }

    fn step(&self, (f, stream, config): Call<'_>, x: &mut Buffer, m: u32, a: u32) -> Result<(), Error> {
        let other = stream.context().default_stream();
        let mut launch = other.launch_builder(f).slice_mut(x).named("m", &0u32).arg(&a).prepare(config)?;
        launch.set("m", m)?;
        unsafe { launch.launch_on(stream) }.map(drop)
    }

    fn write(&self, (f, stream, config): Call<'_>, x: &mut Buffer) -> Result<(), Error> {
        let other = stream.context().default_stream();
        let mut launch = other.launch_builder(f).arg(x).arg(&0u64).arg(&0u64).arg(&0u64).prepare(config)?;
        unsafe { launch.launch_on(stream) }.map(drop)
    }
}
