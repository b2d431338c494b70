//! The launch builder and prepared launches: what kernels make of their arguments. The order of streams is in `ordering`, what
//! reaches the driver in `builder_packet`, what must not compile in `compile_fail`.

#![allow(unsafe_code)] // Launches of kernels with the arguments they take.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::event::EventFlags;
use cuda_launch::foundation::Value;
use cuda_launch::graph::{InstantiateFlags, KernelNode};
use cuda_launch::launch::{PreparedLaunch, slice, slice_mut};
use cuda_launch::memory::{ManagedAttach, PinnedFlags};
use cuda_launch::{
    Attribute, CaptureMode, CudaContext, CudaFunction, CudaGraph, CudaStream, DeviceBuffer, DeviceCopy,
    DeviceSlice, LaunchConfig, LaunchPlan, ManagedBuffer, PinnedBuffer, kernel_args, load_kernel_module,
};
use std::sync::Arc;
use std::thread;

const N: usize = 500;
const CONFIG: LaunchConfig = LaunchConfig::for_num_elems(N as u32);

struct Gpu {
    ctx: CudaContext,
    stream: CudaStream,
    saxpy: CudaFunction,
    fill: CudaFunction,
    vecadd: CudaFunction,
}

impl Gpu {
    fn new() -> Self {
        let ctx = CudaContext::new(0).unwrap();
        let function = |file, name| load_kernel_module(&ctx, file).unwrap().load_function(name).unwrap();
        let (saxpy, fill) = (function("saxpy", "saxpy"), function("fill", "fill"));
        let (vecadd, stream) = (function("vecadd", "vecadd"), ctx.new_stream().unwrap());
        Self { ctx, stream, saxpy, fill, vecadd }
    }

    fn full(&self, value: f32) -> DeviceBuffer<f32> {
        self.stream.clone_htod(&[value; N]).unwrap()
    }

    fn all<S: DeviceSlice + ?Sized>(&self, x: &S) -> S::Element
    where
        S::Element: PartialEq + std::fmt::Debug,
    {
        let host = self.stream.clone_dtoh(x).unwrap();
        assert_eq!(host, vec![host[0]; host.len()]);
        host[0]
    }
}

#[test]
fn one_statement_or_many() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.full(1.0), gpu.full(3.0));
    let events = unsafe {
        gpu.stream.launch_builder(&gpu.saxpy).arg(&(N as u32)).arg(&2.0f32).arg(&x).arg(&mut y).launch(CONFIG)
    };
    assert!(events.unwrap().is_none(), "nobody asked for events");
    assert_eq!(gpu.all(&y), 5.0);
    let (n, alpha) = (N as u32, 0.5f32);
    let mut builder = gpu.stream.launch_builder(&gpu.saxpy);
    builder.arg(&n);
    builder.arg(&alpha).arg(&x);
    builder.arg(&mut y);
    unsafe { builder.launch(CONFIG) }.unwrap();
    assert_eq!(gpu.all(&y), 5.5, "the builder is not used any more, so y is free");
}

#[test]
fn a_second_launch_has_the_same_arguments() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut builder = gpu.stream.launch_builder(&gpu.saxpy);
    builder.arg(&(const { N as u32 })).arg(&1.0f32).arg(&x).arg(&mut y);
    for _ in 0..5 {
        unsafe { builder.launch(CONFIG) }.unwrap();
    }
    assert_eq!(gpu.all(&y), 5.0);
}

#[test]
fn slices_are_two_parameters() {
    let gpu = Gpu::new();
    let (a, b, mut c) = (gpu.full(1.0), gpu.full(2.0), gpu.full(0.0));
    unsafe { gpu.stream.launch_builder(&gpu.vecadd).slice(&a).slice(&b).slice_mut(&mut c).launch(CONFIG) }
        .unwrap();
    assert_eq!(gpu.all(&c), 3.0);
    let (front, mut middle) = (a.slice(..10), c.slice_mut(100..110));
    unsafe {
        gpu.stream
            .launch_builder(&gpu.vecadd)
            .arg(slice(&front))
            .slice(&b.slice(20..30))
            .arg(slice_mut(&mut middle))
            .launch(CONFIG)
    }
    .unwrap();
    assert_eq!(gpu.all(&c), 3.0);
}

#[test]
fn everything_that_is_device_memory_is_an_argument() {
    let gpu = Gpu::new();
    let n = N as u32;
    macro_rules! filled {
        ($value:expr, $memory:expr) => {{
            let (value, memory) = ($value, $memory);
            unsafe { gpu.stream.launch_builder(&gpu.fill).arg(memory).arg(&n).arg(&value).launch(CONFIG) }
                .unwrap();
        }};
    }
    let mut boxed = Box::new(gpu.stream.alloc_zeros::<u32>(N).unwrap());
    filled!(1u32, &mut *boxed);
    assert_eq!(gpu.all(&boxed), 1);
    let by_reference = &mut *boxed;
    filled!(2u32, &mut *by_reference);
    filled!(3u32, &mut by_reference.view_mut());
    assert_eq!(gpu.all(&*boxed), 3);
    let mut managed = ManagedBuffer::<u32>::zeroed(&gpu.stream, N, ManagedAttach::Global).unwrap();
    filled!(4u32, &mut managed);
    assert_eq!(managed.as_slice().unwrap(), [4; N]);
    let mut pinned = PinnedBuffer::<u32>::zeroed(&gpu.ctx, N, PinnedFlags::empty()).unwrap();
    filled!(5u32, &mut pinned.device_view_mut());
    assert_eq!(pinned.as_slice().unwrap(), [5; N]);
    filled!(6u32, &boxed.as_mut_device_ptr());
    assert_eq!(gpu.all(&boxed), 6);
    // Read through smart pointers, as many times as there are parameters.
    let shared = Arc::new(gpu.full(2.0));
    let mut sum = gpu.full(0.0);
    unsafe {
        gpu.stream
            .launch_builder(&gpu.vecadd)
            .slice(&shared)
            .slice(&*shared)
            .slice_mut(&mut sum)
            .launch(CONFIG)
    }
    .unwrap();
    assert_eq!(gpu.all(&sum), 4.0);
}

#[test]
fn structs_closures_and_cooperative_grids() {
    #[derive(Clone, Copy, DeviceCopy)]
    #[repr(C)]
    struct Params {
        scale: f32,
        bias: f64,
        tag: u16,
        idx: [i32; 4],
    }
    let gpu = Gpu::new();
    let mix = load_kernel_module(&gpu.ctx, "mix").unwrap();
    let (apply, grid_sum) = (mix.load_function("apply").unwrap(), mix.load_function("grid_sum").unwrap());
    let f = mix.load_function("mix").unwrap();
    let (x, mut y) = (gpu.full(3.0), gpu.full(0.0));
    let params = Params { scale: 2.0, bias: 0.5, tag: 7, idx: [100; 4] };
    let n = N as u32;
    unsafe {
        gpu.stream.launch_builder(&f).arg(&params).arg(&x).arg(&mut y).arg(&n).arg(&10.0f32).launch(CONFIG)
    }
    .unwrap();
    assert_eq!(gpu.all(&y), 160.5);
    let k = 7u32;
    let add = move |i: u32| i + k;
    let mut out = gpu.stream.alloc_zeros::<u32>(N).unwrap();
    unsafe { gpu.stream.launch_builder(&apply).byval(&add).slice_mut(&mut out).launch(CONFIG) }.unwrap();
    let expected: Vec<u32> = (0..n).map(add).collect();
    assert_eq!(gpu.stream.clone_dtoh(&out).unwrap(), expected);

    let (mut partial, mut sum) =
        (gpu.stream.alloc_zeros::<u32>(4).unwrap(), gpu.stream.alloc_zeros::<u32>(1).unwrap());
    let four = LaunchConfig::new((4, 1, 1), (64, 1, 1));
    let mut builder = gpu.stream.launch_builder(&grid_sum);
    builder.arg(&out).arg(&n).arg(&mut partial).arg(&mut sum);
    unsafe { builder.launch_cooperative(four) }.unwrap();
    assert_eq!(gpu.stream.clone_dtoh(&sum).unwrap(), [expected.iter().sum::<u32>()]);
    let ranks = mix.load_function("ranks").unwrap();
    let mut of_blocks = gpu.stream.alloc_zeros::<u32>(8).unwrap();
    let eight = LaunchConfig::new((8, 1, 1), (32, 1, 1));
    let mut builder = gpu.stream.launch_builder(&ranks);
    builder.slice_mut(&mut of_blocks).cluster_dim((4, 1, 1)).attribute(Attribute::priority(0));
    unsafe { builder.launch(eight) }.unwrap();
    assert_eq!(gpu.stream.clone_dtoh(&of_blocks).unwrap(), [0, 1, 2, 3, 0, 1, 2, 3]);
}

#[test]
fn events_stand_around_the_kernel() {
    let gpu = Gpu::new();
    let mut x = gpu.stream.alloc_zeros::<u32>(N).unwrap();
    let mut builder = gpu.stream.launch_builder(&gpu.fill);
    builder.arg(&mut x).arg(&(const { N as u32 })).arg(&7u32);
    let events = unsafe { builder.record_kernel_launch(EventFlags::BLOCKING_SYNC).launch(CONFIG) };
    let (start, end) = events.unwrap().expect("recorded");
    end.synchronize().unwrap();
    assert!(start.elapsed_ms(&end).unwrap() > 0.0);
    let mut launch = builder.prepare(CONFIG).unwrap();
    assert!(unsafe { launch.launch_on(&gpu.stream) }.unwrap().is_some(), "the prepared form has them, too");
    assert_eq!(gpu.all(&x), 7);
    let graph = CudaGraph::capture(&gpu.ctx, CaptureMode::ThreadLocal, |stream| {
        let mut builder = stream.launch_builder(&gpu.fill);
        builder.arg(&mut x).arg(&(const { N as u32 })).arg(&7u32).record_kernel_launch(EventFlags::empty());
        unsafe { builder.launch(CONFIG) }.map(drop)
    });
    assert!(graph.unwrap_err().is_refused_in_capture(), "no time passes in a capture");
}

#[test]
fn any_thread_launches() {
    let gpu = Gpu::new();
    let x = gpu.full(1.0);
    thread::scope(|s| {
        for i in 0..8 {
            let (gpu, x) = (&gpu, &x);
            s.spawn(move || {
                let stream = gpu.ctx.new_stream().unwrap();
                let mut y = stream.alloc_zeros::<f32>(N).unwrap();
                let (n, alpha) = (N as u32, i as f32);
                unsafe {
                    stream.launch_builder(&gpu.saxpy).arg(&n).arg(&alpha).arg(x).arg(&mut y).launch(CONFIG)
                }
                .unwrap();
                assert_eq!(stream.clone_dtoh(&y).unwrap(), [alpha; N]);
            });
        }
    });
}

#[test]
fn a_prepared_launch_owns_what_it_needs_and_goes_to_another_thread() {
    let gpu = Gpu::new();
    let mut y = gpu.full(0.0);
    let mut launch = {
        let (x, n, name) = (gpu.full(1.0), N as u32, String::from("alpha"));
        let mut builder = gpu.stream.launch_builder(&gpu.saxpy);
        builder.arg(&n).named(&name, &1.0f32).arg(&x).arg(&mut y);
        builder.prepare(CONFIG).unwrap()
    };
    assert_eq!(launch.names(), ["alpha"]);
    assert_eq!(launch.node().function().name(), "saxpy");
    // x, the number and the name are gone; the launch has a share of the one and copies of the others.
    let ctx = gpu.ctx.clone();
    let thread = thread::spawn(move || {
        for alpha in [1.0f32, 10.0, 100.0] {
            launch.set("alpha", alpha).unwrap();
            // A stream for each: the launch is ordered after the one before.
            unsafe { launch.launch_on(&ctx.new_stream().unwrap()) }.unwrap();
        }
        launch
    });
    let launch = thread.join().unwrap();
    assert_eq!(gpu.all(&y), 111.0);
    let mut clone: PreparedLaunch<'static> = launch.clone();
    drop(launch);
    unsafe { clone.launch_on(&gpu.stream) }.unwrap();
    assert_eq!(gpu.all(&y), 211.0, "values as they were set last");
}

#[test]
fn arguments_are_set_by_name_and_type() {
    let gpu = Gpu::new();
    let (a, b, mut c) = (gpu.full(1.0), gpu.full(2.0), gpu.full(0.0));
    let (ten, mut other) = (gpu.full(10.0), gpu.full(0.0));
    let mut builder = gpu.stream.launch_builder(&gpu.vecadd);
    builder.named("a", slice(&a)).slice(&b).named("c", slice_mut(&mut c));
    let mut launch = builder.prepare(CONFIG).unwrap();
    for _ in 0..3 {
        launch.set_slice("a", &ten).unwrap();
        launch.set_slice_mut("c", &mut other).unwrap();
    }
    drop((a, ten));
    unsafe { launch.launch_on(&gpu.stream) }.unwrap();
    assert_eq!((gpu.all(&c), gpu.all(&other)), (0.0, 12.0));

    let refused = [
        (launch.set("a", 1.0f32), "\"a\" of vecadd is slice(..) of f32, and cannot be set to f32"),
        (launch.set_slice("c", &b), "is slice_mut(..) of f32, and cannot be set to slice(..) of f32"),
        (launch.set_slice_mut("a", &mut c), "cannot be set to slice_mut(..) of f32"),
        (launch.set("b", 1u8), "no argument is named \"b\"\n  help: the names are a, c"),
    ];
    for (result, text) in refused {
        let error = result.unwrap_err();
        assert!(error.is_plan_error() && error.to_string().contains(text), "{error}");
    }
    unsafe { launch.launch_on(&gpu.stream) }.unwrap();
    assert_eq!((gpu.all(&c), gpu.all(&other)), (0.0, 12.0), "nothing was changed");

    let mut x = gpu.stream.alloc_zeros::<u32>(N).unwrap();
    let mut builder = gpu.stream.launch_builder(&gpu.fill);
    builder.named("x", &mut x).arg(&(const { N as u32 })).named("value", Value(&7u32));
    let mut launch = builder.prepare(CONFIG).unwrap();
    let mut elsewhere = gpu.stream.alloc_zeros::<u32>(N).unwrap();
    let error = launch.set_slice_mut("x", &mut elsewhere).unwrap_err().to_string();
    assert!(error.contains("is ptr_mut(..) of u32, and cannot be set to slice_mut(..) of u32"), "{error}");
    let error = launch.set_ptr("x", &elsewhere).unwrap_err().to_string();
    assert!(error.contains("is ptr_mut(..) of u32, and cannot be set to ptr(..) of u32"), "{error}");
    launch.set_ptr_mut("x", &mut elsewhere).unwrap();
    launch.set("value", 8u32).unwrap();
    assert!(launch.set("value", 8i32).is_err(), "of the same size, and another type");
    unsafe { launch.launch_on(&gpu.stream) }.unwrap();
    assert_eq!((gpu.all(&x), gpu.all(&elsewhere)), (0, 8));
    let mut unnamed = gpu.stream.launch_builder(&gpu.fill);
    unnamed.arg(&mut x).arg(&(const { N as u32 })).arg(&7u32);
    let error = unnamed.prepare(CONFIG).unwrap().set("value", 1u32).unwrap_err().to_string();
    assert!(error.contains(".named(\"alpha\", &2.0f32)"), "{error}");
}

#[test]
fn a_prepared_launch_is_a_node_and_a_node_is_a_launch() {
    let gpu = Gpu::new();
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let n = N as u32;
    let launch = gpu
        .stream
        .launch_builder(&gpu.saxpy)
        .arg(&n)
        .arg(&2.0f32)
        .arg(&x)
        .arg(&mut y)
        .prepare(CONFIG)
        .unwrap();
    let mut graph = CudaGraph::new(&gpu.ctx).unwrap();
    unsafe { graph.add_kernel(&[], launch.node().clone()) }.unwrap();
    graph.instantiate(InstantiateFlags::empty()).unwrap().launch(&gpu.stream).unwrap();
    assert_eq!(gpu.all(&y), 2.0);
    let arguments = kernel_args![n, named("alpha", 2.0f32), ptr(x), ptr_mut(y)];
    let mut launch = PreparedLaunch::from(KernelNode::new(&gpu.saxpy, CONFIG, &[], arguments).unwrap());
    launch.set("alpha", 5.0f32).unwrap();
    unsafe { launch.launch_on(&gpu.stream) }.unwrap();
    assert_eq!(gpu.all(&y), 7.0);
}

#[test]
fn plans_record_builders_and_prepared_launches_with_their_names() {
    let gpu = Gpu::new();
    let (a, b, mut c) = (gpu.full(1.0), gpu.full(2.0), gpu.full(0.0));
    let (mut y, n) = (gpu.full(0.0), N as u32);
    let mut prepared = gpu
        .stream
        .launch_builder(&gpu.saxpy)
        .arg(&n)
        .named("alpha", &1.0f32)
        .arg(&a)
        .arg(&mut y)
        .prepare(CONFIG)
        .unwrap();
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| unsafe {
        stream
            .launch_builder(&gpu.vecadd)
            .named("a", slice(&a))
            .slice(&b)
            .slice_mut(&mut c)
            .launch(CONFIG)?;
        prepared.launch_on(stream).map(drop)
    })
    .unwrap();
    assert_eq!(plan.names(), ["a", "alpha"]);
    drop(prepared);
    plan.launch(&gpu.stream).unwrap();
    assert_eq!((gpu.all(&c), gpu.all(&y)), (3.0, 1.0));
    unsafe { plan.set("alpha", 10.0f32) }.unwrap();
    unsafe { plan.set_slice("a", &gpu.full(40.0)) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!((gpu.all(&c), gpu.all(&y)), (42.0, 11.0));
}

#[test]
fn special_rules_of_a_kernel_hold() {
    let gpu = Gpu::new();
    let module = gpu.ctx.load_module(include_str!("kernels/clusters.ptx")).unwrap();
    let f = module.load_function("required_64_2").unwrap();
    let sizes: Vec<usize> = f.parameters().list().unwrap().iter().map(|p| p.size).collect();
    let mut out = gpu.stream.alloc_zeros::<u32>(1000).unwrap();
    let mut builder = gpu.stream.launch_builder(&f);
    builder.arg(&mut out);
    sizes[1..].iter().for_each(|&size| {
        if size == 8 {
            builder.arg(&1u64)
        } else {
            builder.arg(&1u32)
        };
    });
    for _ in 0..2 {
        let error = unsafe { builder.launch(CONFIG) }.unwrap_err();
        assert!(error.is_launch_refused() && error.to_string().contains("(64, 2, 1)"), "{error}");
        assert!(builder.prepare(CONFIG).unwrap_err().is_launch_refused());
    }
}

#[test]
fn an_empty_buffer_is_fine() {
    let gpu = Gpu::new();
    let mut nothing = DeviceBuffer::<f32>::uninit(&gpu.stream, 0).unwrap();
    let a = gpu.full(1.0);
    for _ in 0..2 {
        unsafe {
            gpu.stream.launch_builder(&gpu.vecadd).slice(&a).slice(&a).slice_mut(&mut nothing).launch(CONFIG)
        }
        .unwrap();
    }
    assert_eq!(gpu.stream.clone_dtoh(&nothing).unwrap(), []);
}
