//! Launch plans: launches recorded once, replayed, and changed by name. One test at a time: the driver that counts calls is
//! another one than the default, and neither knows what is captured through the other.

#![allow(unsafe_code)] // Launches of saxpy, fill and vecadd: lengths as the buffers have them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::alone;
use cuda_launch::error::PlanError;
use cuda_launch::{
    CudaContext, CudaModule, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, LaunchPlan,
    cuda_launch,
};
use std::sync::Barrier;

const N: usize = 500;

struct Gpu {
    ctx: CudaContext,
    stream: CudaStream,
    saxpy: CudaModule,
    vecadd: CudaModule,
    config: LaunchConfig,
}

impl Gpu {
    fn new(ctx: CudaContext) -> Self {
        let stream = ctx.new_stream().unwrap();
        let saxpy = ctx.load_module(include_str!("../examples/kernels/saxpy.ptx")).unwrap();
        let vecadd = ctx.load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap();
        Self { ctx, stream, saxpy, vecadd, config: LaunchConfig::for_num_elems(N as u32) }
    }

    fn full(&self, value: f32) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, &[value; N]).unwrap()
    }

    /// y += alpha * x, with a name for `alpha`
    fn saxpy(
        &self,
        stream: &CudaStream,
        x: &DeviceBuffer<f32>,
        y: &mut DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        unsafe {
            cuda_launch! { kernel: saxpy, module: self.saxpy, stream: stream, config: self.config,
            args: [N as u32, named("alpha", 2.0f32), ptr(x), ptr_mut(y)] }
        }
    }

    fn first(&self, buffer: &DeviceBuffer<f32>) -> f32 {
        let host = buffer.to_host_vec(&self.stream).unwrap();
        assert!(host.iter().all(|&x| x == host[0]));
        host[0]
    }
}

fn plan_error<T>(result: Result<T, Error>) -> PlanError {
    let Err(error) = result else { panic!("nothing was refused") };
    assert!(error.is_plan_error(), "{error}");
    let ErrorKind::Plan(plan) = error.kind() else { panic!("{error}") };
    plan.clone()
}

#[test]
fn a_plan_is_replayed_with_arguments_set_by_name() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| gpu.saxpy(stream, &x, &mut y)).unwrap();
    assert_eq!(plan.names(), ["alpha"]);
    assert_eq!(gpu.first(&y), 0.0);
    plan.launch(&gpu.stream).unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 4.0);
    for (alpha, expected) in [(10.0f32, 14.0), (-4.0, 10.0), (0.5, 10.5)] {
        unsafe { plan.set("alpha", alpha) }.unwrap();
        plan.launch(&gpu.stream).unwrap();
        assert_eq!(gpu.first(&y), expected);
    }
    // What was set stays, on whatever stream.
    plan.launch(&gpu.ctx.new_stream().unwrap()).unwrap();
    plan.synchronize().unwrap();
    assert_eq!(gpu.first(&y), 11.0);
}

#[test]
fn one_name_is_set_for_all_launches_that_have_it() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan =
        LaunchPlan::record(&gpu.ctx, |stream| (0..10).try_for_each(|_| gpu.saxpy(stream, &x, &mut y)))
            .unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 20.0);
    unsafe { plan.set("alpha", 3.0f32) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 50.0);
}

/// What is set by a name is the argument of that launch, whoever gave work to the stream at the same time.
#[test]
fn names_are_found_where_two_threads_record_on_one_stream() {
    let _alone = alone();
    const LAUNCHES: usize = 20;
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let event = gpu.ctx.new_event().unwrap();
    let x = gpu.full(1.0);
    for round in 0..20 {
        let mut sums: [Vec<_>; 2] = std::array::from_fn(|_| (0..LAUNCHES).map(|_| gpu.full(0.0)).collect());
        let mut plan = LaunchPlan::record(&gpu.ctx, |stream| {
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                for (thread, sums) in sums.iter_mut().enumerate() {
                    let (gpu, x, event, start) = (&gpu, &x, &event, &start);
                    scope.spawn(move || {
                        start.wait();
                        for (launch, sum) in sums.iter_mut().enumerate() {
                            let name = format!("{thread} {launch}");
                            unsafe {
                                cuda_launch! { kernel: saxpy, module: gpu.saxpy, stream: stream, config: gpu.config,
                                args: [N as u32, named(&name, 0.0f32), ptr(x), ptr_mut(sum)] }
                            }
                            .unwrap();
                            event.record(stream).unwrap();
                            stream.wait(event).unwrap();
                        }
                    });
                }
            });
            Ok(())
        })
        .unwrap();
        let value = |thread: usize, launch: usize| (100 * thread + launch + 1) as f32;
        for (thread, launch) in (0..2).flat_map(|thread| (0..LAUNCHES).map(move |launch| (thread, launch))) {
            unsafe { plan.set(&format!("{thread} {launch}"), value(thread, launch)) }.unwrap();
        }
        plan.launch(&gpu.stream).unwrap();
        for (thread, sums) in sums.iter().enumerate() {
            for (launch, sum) in sums.iter().enumerate() {
                assert_eq!(gpu.first(sum), value(thread, launch), "round {round}: {thread} {launch}");
            }
        }
    }
}

#[test]
fn buffers_are_set_by_name_and_kept() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (mut sum, mut other) = (gpu.full(0.0), gpu.full(0.0));
    let mut plan = {
        let (a, b) = (gpu.full(1.0), gpu.full(2.0));
        LaunchPlan::record(&gpu.ctx, |stream| unsafe {
            cuda_launch! { kernel: vecadd, module: gpu.vecadd, stream: stream, config: gpu.config,
            args: [named("a", slice(a)), slice(b), named("sum", slice_mut(sum))] }
        })
        .unwrap()
    };
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&sum), 3.0);
    unsafe { plan.set_slice("a", &gpu.full(10.0)) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&sum), 12.0);
    unsafe { plan.set_slice_mut("sum", &mut other) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!((gpu.first(&sum), gpu.first(&other)), (12.0, 12.0));
    let wrong = plan_error(unsafe { plan.set_slice("sum", &other) }).to_string();
    assert!(wrong.contains("slice_mut(..) of f32") && wrong.contains("vecadd"), "{wrong}");
}

/// A replay comes after what wrote them before, and before what reads and writes them next.
#[test]
fn buffers_that_are_set_by_name_are_ordered() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let other = gpu.ctx.new_stream().unwrap();
    let late = |stream: &CudaStream| {
        stream.call_host(|| std::thread::sleep(std::time::Duration::from_millis(30))).unwrap();
    };
    let (a, b, mut sum) = (gpu.full(1.0), gpu.full(2.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| unsafe {
        cuda_launch! { kernel: vecadd, module: gpu.vecadd, stream: stream, config: gpu.config,
        args: [named("a", slice(a)), slice(b), named("sum", slice_mut(sum))] }
    })
    .unwrap();
    plan.launch(&gpu.stream).unwrap();
    let (mut a, mut sum) = (gpu.full(0.0), gpu.full(0.0));
    unsafe { plan.set_slice("a", &a) }.unwrap();
    unsafe { plan.set_slice_mut("sum", &mut sum) }.unwrap();
    gpu.ctx.synchronize().unwrap();
    late(&other);
    a.view_mut().fill(&other, 10.0).unwrap();
    plan.launch(&gpu.stream).unwrap();
    gpu.ctx.synchronize().unwrap();
    assert_eq!(gpu.first(&sum), 12.0, "the replay reads what was written before");
    // From here on the other stream is the last that wrote both.
    sum.view_mut().fill(&other, 0.0).unwrap();
    a.view_mut().fill(&other, 20.0).unwrap();
    other.synchronize().unwrap();
    late(&gpu.stream);
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(sum.to_host_vec(&other).unwrap(), [22.0; N], "what is read next waits for the replay");
    late(&gpu.stream);
    plan.launch(&gpu.stream).unwrap();
    a.view_mut().fill(&other, 0.0).unwrap();
    assert_eq!(gpu.first(&sum), 22.0, "what is written next waits for the replay");
}

#[test]
fn a_pointer_is_set_by_name_too() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| unsafe {
        cuda_launch! { kernel: saxpy, module: gpu.saxpy, stream: stream, config: gpu.config,
        args: [named("n", N as u32), 1.0f32, named("x", ptr(x)), ptr_mut(y)] }
    })
    .unwrap();
    unsafe { plan.set_ptr("x", &gpu.full(7.0)) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 7.0);
    unsafe { plan.set("n", 0u32) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 7.0);
}

#[test]
fn names_and_types_that_do_not_fit_are_refused_and_change_nothing() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| gpu.saxpy(stream, &x, &mut y)).unwrap();
    let unknown = plan_error(unsafe { plan.set("beta", 1.0f32) });
    assert_eq!(unknown, PlanError::NoSuchArgument { name: "beta".into(), names: vec!["alpha".into()] });
    for wrong in [unsafe { plan.set("alpha", 1.0f64) }, unsafe { plan.set("alpha", 1u32) }, unsafe {
        plan.set_slice("alpha", &x)
    }] {
        let PlanError::ArgumentType { recorded, kernel, .. } = plan_error(wrong) else {
            panic!("another error")
        };
        assert_eq!((recorded.as_str(), kernel.as_str()), ("f32", "saxpy"));
    }
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 2.0);
    let mut nameless = LaunchPlan::record(&gpu.ctx, |_| Ok(())).unwrap();
    let help = plan_error(unsafe { nameless.set("alpha", 1.0f32) }).to_string();
    assert!(help.contains("named(\"alpha\""), "{help}");
}

#[test]
fn a_plan_keeps_its_modules_and_buffers() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let mut y = gpu.full(0.0);
    let mut plan = {
        let (inner, x) = (Gpu::new(gpu.ctx.clone()), gpu.full(1.0));
        LaunchPlan::record(&gpu.ctx, |stream| inner.saxpy(stream, &x, &mut y)).unwrap()
    };
    let _others: Vec<_> = (0..8).map(|_| gpu.full(100.0)).collect();
    unsafe { plan.set("alpha", 3.0f32) }.unwrap();
    plan.launch(&gpu.stream).unwrap();
    assert_eq!(gpu.first(&y), 3.0);
}

#[test]
fn a_named_argument_is_launched_like_any_other() {
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    for _ in 0..3 {
        gpu.saxpy(&gpu.stream, &x, &mut y).unwrap();
    }
    assert_eq!(gpu.first(&y), 6.0);
}

#[test]
fn what_the_driver_refuses_a_graph_is_told() {
    let _alone = alone();
    let exec = |hidden| {
        let ctx = CudaContext::with_driver(&spies::driver_without(hidden), 0).unwrap();
        let mut graph = cuda_launch::CudaGraph::new(&ctx).unwrap();
        graph.add_empty(&[]).unwrap();
        (graph.instantiate(cuda_launch::graph::InstantiateFlags::empty()).unwrap(), ctx.new_stream().unwrap())
    };
    let (mut unlaunched, stream) = exec("cuGraphLaunch");
    let error = unlaunched.launch(&stream).unwrap_err();
    assert!(error.to_string().contains("a graph of 1 nodes"), "{error}");
    assert!(exec("cuGraphExecDestroy").0.close().is_err());
}

#[test]
fn whoever_waits_for_a_plan_waits_for_its_replay() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let _alone = alone();
    let gpu = Gpu::new(CudaContext::new(0).unwrap());
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| gpu.saxpy(stream, &x, &mut y)).unwrap();
    let (before, done) = (std::sync::Arc::new(AtomicBool::new(false)), Ordering::SeqCst);
    let set = before.clone();
    let late = move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        set.store(true, done);
    };
    gpu.stream.call_host(late).unwrap();
    plan.launch(&gpu.stream).unwrap();
    plan.synchronize().unwrap();
    assert!(before.load(done), "the replay comes after the call");
}

/// The replay of a hundred launches is one driver call, and one more for each launch that was changed.
#[test]
fn a_replay_makes_one_driver_call_and_one_for_each_change() {
    let _alone = alone();
    let (spy, context) = spies::spied();
    let gpu = Gpu::new(context);
    let (x, mut y) = (gpu.full(1.0), gpu.full(0.0));
    let mut plan = LaunchPlan::record(&gpu.ctx, |stream| {
        (0..99).try_for_each(|_| unsafe {
            cuda_launch! { kernel: saxpy, module: gpu.saxpy, stream: stream, config: gpu.config,
            args: [N as u32, 1.0f32, ptr(x), ptr_mut(y)] }
        })?;
        gpu.saxpy(stream, &x, &mut y)
    })
    .unwrap();
    plan.launch(&gpu.stream).unwrap();
    let calls = |plan: &mut LaunchPlan| {
        spy.clear();
        plan.launch(&gpu.stream).unwrap();
        spy.calls().names().into_iter().filter(|call| *call != "cuCtxGetCurrent").collect::<Vec<_>>()
    };
    assert_eq!(calls(&mut plan), ["cuGraphLaunch"]);
    unsafe { plan.set("alpha", 5.0f32) }.unwrap();
    unsafe { plan.set("alpha", 3.0f32) }.unwrap();
    assert_eq!(calls(&mut plan), ["cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"]);
    assert_eq!(calls(&mut plan), ["cuGraphLaunch"]);
    assert_eq!(gpu.first(&y), 4.0 * 99.0 + 2.0 * 2.0 + 3.0 * 2.0);
}
