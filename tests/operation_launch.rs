//! Kernel launches as operations: arguments of all kinds, borrowed and owned, the macro, errors.

#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_launch::operation::{
    DeviceOperation, ExecutionContext, KernelLaunch, OwnedKernelLaunch, SingleStream, block_on, value,
    with_context, zeroed, zip,
};
use cuda_launch::{
    AsyncKernelLaunch, Attribute, CudaFunction, DeviceBuffer, Error, LaunchConfig, LaunchPlan,
    cuda_launch_async,
};
use std::future::IntoFuture;
use std::sync::Arc;
use support::{context, fill_kernel, poll_once, read};

fn kernel(ptx: &str, name: &str) -> CudaFunction {
    context().load_module(ptx).unwrap().load_function(name).unwrap()
}

const VECADD: &str = include_str!("../examples/kernels/vecadd.ptx");
const SCALE: &str = include_str!("../examples/kernels/scale.ptx");
const SAXPY: &str = include_str!("../examples/kernels/saxpy.ptx");

fn floats(value: f32) -> DeviceBuffer<f32> {
    DeviceBuffer::from_host(&context().new_stream().unwrap(), &[value; 1000]).unwrap()
}

fn read_floats(buffer: &DeviceBuffer<f32>) -> Vec<f32> {
    buffer.to_host_vec(&context().new_stream().unwrap()).unwrap()
}

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (1, 1, 1));

fn config() -> LaunchConfig {
    LaunchConfig::for_num_elems(1000)
}

/// The operation of program p5.
struct Scale {
    f: CudaFunction,
    n: u32,
    factor: f32,
    input: Arc<DeviceBuffer<f32>>,
    output: DeviceBuffer<f32>,
}

impl DeviceOperation for Scale {
    type Output = (Arc<DeviceBuffer<f32>>, DeviceBuffer<f32>);

    unsafe fn execute(self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let mut launch = AsyncKernelLaunch::new(&self.f);
        launch.push_arg(self.n).push_arg(self.factor);
        unsafe {
            launch.push_device_ptr(self.input.cu_deviceptr()).push_device_ptr(self.output.cu_deviceptr())
        };
        launch.set_launch_config(LaunchConfig::for_num_elems(self.n));
        unsafe { launch.execute(cx)? };
        Ok((self.input, self.output))
    }
}

#[test]
fn an_operation_of_ones_own() {
    let _alone = alone();
    let scale = kernel(SCALE, "scale");
    let op = value((Arc::new(floats(3.0)), floats(0.0))).and_then(move |(input, output)| Scale {
        f: scale,
        n: 1000,
        factor: 10.0,
        input,
        output,
    });
    let other = with_context(|cx: &ExecutionContext| {
        let _ = cx.stream();
        value(7u32)
    });
    let ((_, output), seven) = block_on(zip!(op, other)).unwrap();
    assert_eq!((read_floats(&output), seven), (vec![30.0; 1000], 7));
}

#[test]
fn borrowed_launches_are_awaited_and_synchronised() {
    let _alone = alone();
    let vecadd = kernel(VECADD, "vecadd");
    let (a, b, mut c) = (floats(1.0), floats(2.0), floats(0.0));
    for round in 0..3 {
        let mut launch = AsyncKernelLaunch::new(&vecadd);
        launch.slice(&a).slice(&b).slice_mut(&mut c).set_launch_config(config());
        let op = unsafe { launch.into_operation() };
        if round == 0 {
            op.sync().unwrap()
        } else {
            block_on(op).unwrap()
        }
        assert_eq!(read_floats(&c), [3.0; 1000]);
    }
}

#[test]
fn the_macro_takes_all_fields_but_the_stream() {
    let _alone = alone();
    let module = context().load_module(VECADD).unwrap();
    let (a, b, mut c) = (floats(1.0), floats(2.0), floats(0.0));
    let name = String::from("vecadd");
    unsafe {
        cuda_launch_async! { kernel: (name), module: module, config: config(), attributes: [Attribute::priority(0)],
                             args: [slice(a), slice(b), slice_mut(c)] }
    }
    .sync()
    .unwrap();
    assert_eq!(read_floats(&c), [3.0; 1000]);
    let (saxpy, factor) = (kernel(SAXPY, "saxpy"), 2.0f32);
    let launch = |x, y: &mut DeviceBuffer<f32>| unsafe {
        block_on(cuda_launch_async! { function: saxpy, config: config(), cooperative: true,
        args: [1000u32, byval(factor), ptr(x), ptr_mut(y)] })
    };
    launch(&a, &mut c).unwrap();
    assert_eq!(read_floats(&c), [5.0; 1000]);
    let (x, y) = (a.as_device_ptr(), c.as_mut_device_ptr());
    unsafe {
        cuda_launch_async! { function: &saxpy, config: config(), args: [1000u32, 3.0f32, x, y] }
    }
    .sync()
    .unwrap();
    assert_eq!(read_floats(&c), [8.0; 1000]);
    // Clusters, and names for a plan.
    let ranks = kernel(include_str!("../examples/kernels/typed.ptx"), "ranks");
    let mut out = zeroed::<u32>(8).sync().unwrap();
    let blocks = LaunchConfig::new((8, 1, 1), (32, 1, 1));
    let op = unsafe {
        cuda_launch_async! { function: ranks, config: blocks, cluster_dim: (4, 1, 1), args: [slice_mut(out)] }
    };
    op.sync().unwrap();
    assert_eq!(read(&out), [0, 1, 2, 3, 0, 1, 2, 3]);
    let mut plan = LaunchPlan::record(&context(), |stream| unsafe {
        cuda_launch_async! { function: saxpy, config: config(),
        args: [1000u32, named("factor", 1.0f32), ptr(a), ptr_mut(c)] }
        .async_on(stream)
    })
    .unwrap();
    unsafe { plan.set("factor", 2.0f32) }.unwrap();
    plan.launch(&context().default_stream()).unwrap();
    assert_eq!(read_floats(&c), [10.0; 1000]);
}

#[test]
fn a_launch_is_checked_when_it_runs() {
    let _alone = alone();
    let module = context().load_module(VECADD).unwrap();
    let a = floats(1.0);
    let missing = unsafe {
        cuda_launch_async! { kernel: vecsub, module: module, config: config(), args: [slice(a)] }
    };
    assert!(missing.sync().unwrap_err().is_not_found());
    let short = unsafe {
        cuda_launch_async! { kernel: vecadd, module: module, config: config(), args: [slice(a)] }
    };
    let error = short.sync().unwrap_err();
    assert!(error.is_argument_mismatch() && error.to_string().contains("address of [f32]"), "{error}");
    let vecadd = kernel(VECADD, "vecadd");
    let none = unsafe { AsyncKernelLaunch::new(&vecadd).into_operation() };
    assert!(none.sync().unwrap_err().to_string().contains("vecadd: the launch has no configuration"));
}

#[test]
fn owned_launches_give_back_what_they_used() {
    let _alone = alone();
    let fill = fill_kernel();
    let buffer = DeviceBuffer::<u32>::zeroed(&context().new_stream().unwrap(), 1000).unwrap();
    let op = unsafe {
        OwnedKernelLaunch::new((buffer, "tag"), move |(buffer, _)| {
            let mut launch = AsyncKernelLaunch::new(fill);
            launch.arg(buffer).arg(&1000u32).push_arg(9u32).set_launch_config(config());
            Ok(launch)
        })
    };
    let (buffer, tag) = std::thread::spawn(move || block_on(op)).join().unwrap().unwrap();
    assert_eq!((read(&buffer), tag), (vec![9; 1000], "tag"));
}

fn fives<'a>(fill: &CudaFunction, buffer: &'a mut DeviceBuffer<u32>) -> KernelLaunch<'a> {
    let (len, config) = (buffer.len() as u32, LaunchConfig::for_num_elems(buffer.len() as u32));
    unsafe {
        cuda_launch_async! { function: fill, config: config, args: [ptr_mut(buffer), len, 5u32] }
    }
}

/// cuda-oxide: a borrowed launch dropped in flight leaves its buffers free to be written and freed.
#[test]
fn a_borrowed_launch_that_is_dropped_in_flight_is_still_ordered() {
    let _alone = alone();
    let (fill, stream) = (fill_kernel(), context().new_stream().unwrap());
    let mut first = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    fives(&fill, &mut first).sync().unwrap();
    for _ in 0..20 {
        let mut buffer = DeviceBuffer::<u32>::zeroed(&stream, 10_000).unwrap();
        let held = hold(&stream);
        let policy = Arc::new(SingleStream::new(&stream));
        let mut future = fives(&fill, &mut buffer).into_future().schedule(policy);
        assert!(poll_once(&mut future).is_pending());
        drop(future);
        let other = context().new_stream().unwrap();
        let copy = std::thread::spawn(move || buffer.to_host_vec(&other).unwrap());
        drop(held);
        assert_eq!(copy.join().unwrap(), [5; 10_000]);
    }
}

#[test]
fn many_arguments_and_large_ones() {
    let _alone = alone();
    let parameters = include_str!("kernels/parameters.ptx");
    let many = kernel(parameters, "many_100");
    let stream = context().new_stream().unwrap();
    let words: [u32; 99] = std::array::from_fn(|i| (i as u32 + 1) * 0x0101_0101);
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 99).unwrap();
    let mut launch = AsyncKernelLaunch::new(&many);
    launch.set_launch_config(ONE);
    for word in words {
        launch.push_arg(word);
    }
    launch.ptr_mut(&mut out);
    let moved = Box::new(unsafe { launch.into_operation() });
    block_on(*moved).unwrap();
    assert_eq!(read(&out), words);

    let large = kernel(parameters, "bytes_4096");
    let words: [u32; 1022] = std::array::from_fn(|i| i as u32 * 77);
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    let mut launch = AsyncKernelLaunch::new(&large);
    launch.set_launch_config(ONE);
    launch.byval(&words).byval(&()).ptr_mut(&mut out);
    block_on(unsafe { launch.into_operation() }).unwrap();
    let weighted = |sum: u32, (i, w): (usize, &u32)| sum.wrapping_add(w.wrapping_mul(i as u32 + 1));
    assert_eq!(read(&out), [words.iter().enumerate().fold(0, weighted)]);
}
