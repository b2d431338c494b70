//! The asynchronous methods of typed modules: borrowed, owned, chained, dropped, forgotten, and ordered as all other launches.

#![allow(unsafe_code)] // Launches of kernels whose every argument is checked against the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "operation_support/mod.rs"]
mod support;

use alone::{alone, hold};
use cuda_harness::wait_until;
use cuda_launch::operation::{
    self, Awaitable, DeviceOperation, OperationGraph, OwnedKernelLaunch, SingleStream, block_on, in_flight,
    value, zip,
};
use cuda_launch::{CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig, cuda_module};
use std::sync::Arc;
use support::{context, poll_once};

mod gpu {
    pub(crate) use cuda_launch as launch;
}

#[cuda_module("examples/kernels/vecadd.ptx", crate = crate::gpu::launch)]
mod kernels {
    type Element = f32;

    unsafe extern "C" {
        /// c = a + b, elementwise.
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        /// Names that differ only in how they are written.
        #[entry("vecadd")]
        #[allow(non_snake_case)]
        pub safe fn r#match(x_y: &[Element], xY: &[f32], r#in: &mut [f32]);
        #[cfg(any())]
        pub fn missing(a: &[Missing], b: u32);
        #[entry("vecadd")]
        pub fn with_nothing<F: Fn(f32) -> f32>(f: F, a: &[f32], b: &[f32], c: &mut [f32]);
        #[launch_contract(
            block = (256, 1, 1), grid = (4, 1, 1), dynamic_shared = 0, requires = (a.len() == c.len(), b.len() >= c.len(), true)
        )]
        #[entry("vecadd")]
        pub safe fn strict(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

#[cuda_module("tests/kernels/typed.ptx")]
mod typed {
    unsafe extern "C" {
        #[entry(f32 = "scale_float", f64 = "scale_double", i32 = "scale_int")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
        #[launch_bounds(128)]
        pub safe fn bounded(out: &mut [u32]);
        #[attributes(cuda_launch::Attribute::priority(0))]
        #[launch_contract(dynamic_shared = 16..=64)]
        pub safe fn dynamic(out: &mut [u32]);
    }
}

#[cuda_module("examples/kernels/mix.ptx")]
mod mix {
    unsafe extern "C" {
        pub fn apply<F: Fn(u32) -> u32>(f: F, out: &mut [u32]);
    }
}

#[cuda_module("examples/kernels/typed.ptx")]
mod special {
    unsafe extern "C" {
        pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        #[cooperative_launch]
        #[launch_contract(block = (256, 1, 1), requires = (n <= 4 * 256))]
        pub fn grid_sum(x: *const u32, n: u32, partial: *mut u32, out: *mut u32);
        #[cluster_launch(4, 1, 1)]
        pub safe fn ranks(out: &mut [u32]);
    }
}

#[cuda_module("tests/kernels/ordering.ptx")]
mod stepping {
    unsafe extern "C" {
        /// x = m * x + a, elementwise.
        pub safe fn step(x: &mut [u32], m: u32, a: u32);
    }
}

const N: usize = 1000;

fn stream() -> CudaStream {
    context().new_stream().unwrap()
}

fn floats(value: f32) -> DeviceBuffer<f32> {
    DeviceBuffer::from_host(&stream(), &[value; N]).unwrap()
}

fn read<T: cuda_launch::DeviceCopy>(buffer: &DeviceBuffer<T>) -> Vec<T> {
    buffer.to_host_vec(&stream()).unwrap()
}

fn config() -> LaunchConfig {
    LaunchConfig::for_num_elems(N as u32)
}

fn blocks(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig::new((grid, 1, 1), (block, 1, 1))
}

/// Waits until nothing is in flight that this test has left there.
fn drained() {
    wait_until("nothing is in flight", || in_flight() == 0).unwrap();
}

#[test]
fn a_borrowed_method_is_synchronised_awaited_or_submitted() {
    let _alone = alone();
    let module = kernels::load(&context()).unwrap();
    let (a, b, mut c, mut d, mut e) = (floats(1.0), floats(2.0), floats(0.0), floats(0.0), floats(0.0));
    module.vecadd_async(config(), &a, &b, &mut c).unwrap().sync().unwrap();
    block_on(module.vecadd_async(config(), &a, &c, &mut d).unwrap()).unwrap();
    operation::scope(|scope| {
        scope.submit(module.vecadd_async(config(), &c, &d, &mut e).unwrap()).unwrap();
    })
    .unwrap();
    assert_eq!((read(&c), read(&d), read(&e)), (vec![3.0; N], vec![4.0; N], vec![7.0; N]));
    // A view, and as long as the statement.
    module.vecadd_async(blocks(1, 32), &a, &b.slice(1..), &mut c.slice_mut(..1)).unwrap().sync().unwrap();
    module.vecadd_async(blocks(1, 32), &&a, &Arc::new(b), &mut c).unwrap().sync_on(&stream()).unwrap();
}

#[test]
fn an_owned_method_gives_its_buffers_back_in_order() {
    let _alone = alone();
    let (module, typed) = (kernels::load(&context()).unwrap(), typed::load(&context()).unwrap());
    type Buffer = DeviceBuffer<f32>;
    let op: OwnedKernelLaunch<(Buffer, Buffer, Buffer)> =
        module.vecadd_async_owned(config(), floats(1.0), floats(2.0), floats(0.0)).unwrap();
    assert!(format!("{op:?}").contains("vecadd"));
    let (a, b, c) = op.sync().unwrap();
    assert_eq!((read(&a), read(&b), read(&c)), (vec![1.0; N], vec![2.0; N], vec![3.0; N]));
    let (b, a, c) = block_on(module.match_async_owned(config(), b, a, c).unwrap()).unwrap();
    assert_eq!((read(&a), read(&b), read(&c)), (vec![1.0; N], vec![2.0; N], vec![3.0; N]));
    // One buffer is no tuple; none is nothing.
    let x: Buffer = typed.scale_async_owned(blocks(1, 1024), c, 2.0).unwrap().sync().unwrap();
    assert_eq!(read(&x), [6.0; N]);
    let (module, y) = (special::load(&context()).unwrap(), floats(1.0));
    // SAFETY: 1, 2: saxpy is declared as its image has it, and touches N elements, which both have; 3 to 6: the operation owns
    // both; it writes floats and ends.
    let op = unsafe { module.saxpy_async_owned(config(), N as u32, 0.5, x, y) };
    let (x, mut y): (Buffer, Buffer) = op.unwrap().sync().unwrap();
    assert_eq!((read(&x), read(&y)), (vec![6.0; N], vec![4.0; N]));
    // What is owned may be a view, for as long as it lasts.
    let views = typed.scale_async_owned(blocks(1, 32), y.slice_mut(..10), 3.0).unwrap().sync().unwrap();
    assert_eq!(views.len(), 10);
    assert_eq!(read(&y)[..12], [vec![12.0; 10], vec![4.0; 2]].concat());
}

#[test]
fn owned_operations_are_spawned_on_a_runtime_of_many_threads() {
    let _alone = alone();
    let module = typed::load(&context()).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(3).build().unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..32)
            .map(|n| {
                let op = module.scale_async_owned(blocks(1, 1024), floats(n as f32), 2.0).unwrap();
                tokio::spawn(op.into_future())
            })
            .collect();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(read(&task.await.unwrap().unwrap()), [2.0 * n as f32; N]);
        }
        // In a task of its own, with the module: a handle.
        let module = module.clone();
        let chain = tokio::spawn(async move {
            let mut x = floats(1.0);
            for _ in 0..3 {
                x = module.scale_async_owned(blocks(1, 1024), x, 3.0)?.await?;
            }
            Ok::<_, Error>(x)
        });
        assert_eq!(read(&chain.await.unwrap().unwrap()), [27.0; N]);
    });
}

#[test]
fn branches_share_an_input() {
    let _alone = alone();
    let module = kernels::load(&context()).unwrap();
    for _ in 0..10 {
        let (input, one) = (Arc::new(floats(5.0)), Arc::new(floats(1.0)));
        let left = module.vecadd_async_owned(config(), input.clone(), one, floats(0.0)).unwrap();
        let right = module.vecadd_async_owned(config(), input.clone(), input, floats(0.0)).unwrap();
        let both = module.clone();
        let op = zip!(left, right).and_then(move |((_, one, left), (input, _, right))| {
            both.vecadd_async_owned(config(), left, right, floats(0.0))
                .map(|op| op.last().map(|c| (c, one, input)))
        });
        let (sum, one, input) = block_on(op).unwrap();
        assert_eq!((read(&sum), read(&input)), (vec![16.0; N], vec![5.0; N]));
        assert_eq!((Arc::strong_count(&input), Arc::strong_count(&one)), (1, 1));
    }
}

#[test]
fn a_chain_goes_from_method_to_method() {
    let _alone = alone();
    let (module, typed) = (kernels::load(&context()).unwrap(), typed::load(&context()).unwrap());
    let chain = |block: u32| {
        let (module, typed) = (module.clone(), typed.clone());
        value((floats(1.0), floats(2.0), floats(0.0)))
            .and_then(move |(a, b, c)| module.vecadd_async_owned(config(), a, b, c))
            .last()
            .and_then(move |c| typed.scale_async_owned(blocks(1, block), c, 10.0))
    };
    assert_eq!(read(&chain(1024).sync().unwrap()), [30.0; N]);
    assert_eq!(read(&block_on(chain(1024)).unwrap()), [30.0; N]);
    // An error ends it, where the call or the run finds it.
    assert!(chain(4096).sync().unwrap_err().is_launch_refused());
    let strict = module.clone();
    let refused = value(())
        .and_then(move |()| strict.strict_async_owned(blocks(4, 128), floats(1.0), floats(1.0), floats(0.0)));
    assert!(block_on(refused).unwrap_err().is_contract_violation());
    drained();
}

#[test]
fn an_owned_method_is_captured_and_replayed() {
    let _alone = alone();
    let typed = typed::load(&context()).unwrap();
    let op = typed.scale_async_owned(blocks(1, 1024), floats(1.0), 2.0).unwrap();
    let mut graph: OperationGraph<_> = op.graph_in(&context()).unwrap();
    (0..5).for_each(|_| graph.replay().sync().unwrap());
    assert_eq!(read(graph.output()), [32.0; N]);
}

#[test]
fn generic_kernels_closures_and_attributes() {
    let _alone = alone();
    let (typed, mix) = (typed::load(&context()).unwrap(), mix::load(&context()).unwrap());
    let mut doubles = DeviceBuffer::from_host(&stream(), &[1.0f64, 2.0]).unwrap();
    typed.scale_async::<f64>(blocks(1, 32), &mut doubles, 0.5).unwrap().sync().unwrap();
    let doubles = typed.scale_async_owned(blocks(1, 32), doubles, 3.0).unwrap().sync().unwrap();
    assert_eq!(read(&doubles), [1.5, 3.0]);
    let integers = DeviceBuffer::from_host(&stream(), &[1, -2]).unwrap();
    assert_eq!(read(&typed.scale_async_owned(blocks(1, 32), integers, 3).unwrap().sync().unwrap()), [3, -6]);

    let (k, mut out) = (40u32, DeviceBuffer::<u32>::zeroed(&stream(), 3).unwrap());
    // SAFETY: 1, 2: the kernel was compiled for a closure that captures one u32, and writes no further than `out` goes; 3 to 6:
    // `out` is a buffer, ordered and kept; it writes integers and ends.
    unsafe { mix.apply_async(blocks(1, 32), move |i| i + k, &mut out) }.unwrap().sync().unwrap();
    assert_eq!(read(&out), [40, 41, 42]);
    let k = 7u32;
    // SAFETY: 1 to 6: as above; the operation owns `out`.
    let op = unsafe { mix.apply_async_owned(blocks(1, 32), move |i| i + k, out) };
    assert_eq!(read(&block_on(op.unwrap()).unwrap()), [7, 8, 9]);
    let module = kernels::load(&context()).unwrap();
    // SAFETY: 1, 2: the image is vecadd's, which takes these three slices, none for the closure that captures nothing, and stays
    // inside; 3 to 6: the operation owns them; it writes floats and ends.
    let op =
        unsafe { module.with_nothing_async_owned(config(), |x| x, floats(1.0), floats(1.0), floats(0.0)) };
    assert_eq!(read(&op.unwrap().sync().unwrap().2), [2.0; N]);

    let out = DeviceBuffer::<u32>::zeroed(&stream(), 1).unwrap();
    let shared = blocks(1, 32).with_shared(48);
    let out = typed.dynamic_async_owned(shared, out).unwrap().sync().unwrap();
    assert_eq!(read(&out), [48]);
}

#[test]
fn cooperative_launches_and_clusters() {
    let _alone = alone();
    let module = special::load(&context()).unwrap();
    let mut ranks = DeviceBuffer::<u32>::zeroed(&stream(), 8).unwrap();
    module.ranks_async(blocks(8, 32), &mut ranks).unwrap().sync().unwrap();
    assert_eq!(read(&ranks), [0, 1, 2, 3, 0, 1, 2, 3]);
    let zeroed = DeviceBuffer::<u32>::zeroed(&stream(), 8).unwrap();
    let ranks = block_on(module.ranks_async_owned(blocks(8, 32), zeroed).unwrap()).unwrap();
    assert_eq!(read(&ranks), [0, 1, 2, 3, 0, 1, 2, 3]);
    // Whether the grid is made of clusters is found out when it runs.
    let six = module.ranks_async_owned(blocks(6, 32), ranks).unwrap();
    assert!(six.sync().unwrap_err().is_launch_refused());

    let x = DeviceBuffer::from_host(&stream(), &(0..1024u32).collect::<Vec<_>>()).unwrap();
    let mut partial = DeviceBuffer::<u32>::zeroed(&stream(), 4).unwrap();
    let mut sum = DeviceBuffer::<u32>::zeroed(&stream(), 1).unwrap();
    // SAFETY: 1, 2: grid_sum reads `n` elements of x, 1024 (1025 are refused), and writes a partial sum for each of 4 blocks and
    // one sum; 3 to 5: `sync` waits, all are buffers of integers; 6: the launch is cooperative, and 4 blocks are resident.
    let mut sums =
        |n| unsafe { module.grid_sum_async(blocks(4, 256), &x, n, &mut partial, &mut sum) }?.sync();
    sums(1024).unwrap();
    assert!(sums(1025).unwrap_err().is_contract_violation());
    assert_eq!(read(&sum), [1023 * 1024 / 2]);
}

fn contract(error: &Error) -> (String, String) {
    match error.kind() {
        ErrorKind::Contract(e) => (e.required.clone(), e.given.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn contracts_are_checked_by_the_call() {
    let _alone = alone();
    let (module, typed) = (kernels::load(&context()).unwrap(), typed::load(&context()).unwrap());
    let (a, mut c) = (floats(1.0), floats(0.0));
    let good = blocks(4, 256);
    module.strict_async(good, &a, &a, &mut c).unwrap().sync().unwrap();
    assert_eq!(read(&c), [2.0; N]);
    let error = module.strict_async(blocks(4, 128), &a, &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("block = (256, 1, 1)".into(), "(128, 1, 1)".into()));
    let error = module.strict_async(good, &a.slice(1..), &a, &mut c).unwrap_err();
    assert_eq!(contract(&error), ("a.len() == c.len()".into(), "999 and 1000".into()));
    let a = Arc::new(a);
    let error = module.strict_async_owned(good, a.clone(), a.clone(), floats(0.0)).unwrap().sync();
    assert_eq!(read(&error.unwrap().2), [2.0; N]);
    let short = DeviceBuffer::<f32>::zeroed(&stream(), 2).unwrap();
    let error = module.strict_async_owned(good, a.clone(), short, floats(0.0)).unwrap_err();
    assert_eq!(contract(&error), ("b.len() >= c.len()".into(), "2 and 1000".into()));
    assert_eq!(Arc::strong_count(&a), 1, "nothing is kept after an error");

    let mut out = DeviceBuffer::<u32>::zeroed(&stream(), 1).unwrap();
    let error = typed.bounded_async(blocks(1, 160), &mut out).unwrap_err();
    assert_eq!(contract(&error).0, "at most 128 threads per block");
    let error = typed.dynamic_async_owned(blocks(1, 32), out).unwrap_err();
    assert_eq!(contract(&error).0, "dynamic_shared = 16..=64");
}

/// The module, its kernel launched once: the first launch may load code, and wait for all streams.
fn warm() -> stepping::Module {
    let module = stepping::load(&context()).unwrap();
    let mut x = DeviceBuffer::from_host(&stream(), &[1u32; N]).unwrap();
    module.step(&stream(), config(), &mut x, 1, 0).unwrap();
    assert_eq!(read(&x), [1; N]);
    module
}

/// A future that is gone while its work is held leaves the work ordered and its buffers alive.
#[test]
fn dropped_and_forgotten_futures() {
    let _alone = alone();
    let (module, held_on) = (warm(), stream());
    for forget in [false, true] {
        let mut x = DeviceBuffer::from_host(&stream(), &[1u32; N]).unwrap();
        let policy = Arc::new(SingleStream::new(&held_on));
        let held = hold(&held_on);
        // Borrowed: what comes after waits for it.
        let mut future =
            module.step_async(config(), &mut x, 2, 3).unwrap().into_future().schedule(policy.clone());
        assert!(poll_once(&mut future).is_pending());
        if forget {
            std::mem::forget(future);
        } else {
            drop(future);
        }
        // One that was never polled does nothing.
        drop(module.step_async(config(), &mut x, 0, 0).unwrap().into_future());
        let later = module.clone();
        let reader = std::thread::spawn(move || {
            later.step(&stream(), config(), &mut x, 10, 1).unwrap();
            read(&x)
        });
        drop(held);
        assert_eq!(reader.join().unwrap(), [51; N]);
        // Owned: the buffer lives until the work is done, and is then gone unless the future is still somewhere.
        let held = hold(&held_on);
        let x = DeviceBuffer::from_host(&stream(), &[1u32; N]).unwrap();
        let mut future = module.step_async_owned(config(), x, 2, 3).unwrap().into_future().schedule(policy);
        assert!(poll_once(&mut future).is_pending());
        assert!(in_flight() >= 1);
        if forget {
            std::mem::forget(future);
        } else {
            drop(future);
        }
        drop(held);
        held_on.synchronize().unwrap();
    }
    drained();
}

/// Launches of all three kinds and of three streams on one buffer, none of which is waited for.
#[test]
fn methods_of_all_kinds_are_ordered() {
    let _alone = alone();
    let module = warm();
    let streams = [stream(), stream(), stream()];
    for slow in &streams {
        let mut x = DeviceBuffer::from_host(&stream(), &[1u32; N]).unwrap();
        let mut expected = 1u32;
        let held = hold(slow);
        for (round, (m, a)) in (1..10).map(|n| (2 * n + 1, n)).enumerate() {
            let on = &streams[round % 3];
            match round % 2 {
                0 => module.step(on, config(), &mut x, m, a).unwrap(),
                // SAFETY: 1: only `x` is borrowed: its memory, which moves with it below, lives until `read` has waited
                // for the last access, and its accesses are ordered.
                _ => unsafe { module.step_async(config(), &mut x, m, a).unwrap().async_on(on) }.unwrap(),
            }
            let (kept, _event) = module.step_async_owned(config(), x, m, a).unwrap().submit_on(on).unwrap();
            x = kept;
            expected = expected.wrapping_mul(m).wrapping_add(a).wrapping_mul(m).wrapping_add(a);
        }
        drop(held);
        assert_eq!(read(&x), [expected; N]);
    }
}

/// What it is made of is nobody's business; that it can be awaited is.
fn doubled(module: &typed::Module, x: DeviceBuffer<f32>) -> impl Awaitable<DeviceBuffer<f32>> + use<> {
    let launch = module.scale_async_owned(LaunchConfig::for_num_elems(x.len() as u32), x, 2.0);
    operation::from_result(launch).and_then(|launch| launch)
}

/// And so on, for whoever does not know what is inside.
fn twice<T: Clone + Send + 'static>(op: impl Awaitable<T> + 'static) -> impl Awaitable<(T, T)> {
    op.map(|output| (output.clone(), output))
}

#[test]
fn what_a_function_returns_is_awaited() {
    let module = typed::load_async(0).unwrap();
    assert_eq!(module.origin(), "tests/kernels/typed.ptx");
    let stream = operation::device_context(0).unwrap().default_stream();
    assert_eq!(module.as_module().context().ordinal(), stream.context().ordinal());
    block_on(async {
        let x = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0])?;
        let x = doubled(&module, x).await?;
        let own = stream.clone();
        let values = doubled(&module, x).map(move |x| x.to_host_vec(&own)).await??;
        assert_eq!(values, [4.0, 8.0]);
        assert_eq!(twice(value(7)).await?, (7, 7));
        // Futures of such operations go to other threads.
        let spawned = doubled(&module, DeviceBuffer::from_host(&stream, &[3.0f32])?).into_future();
        let there = std::thread::spawn(|| block_on(spawned)).join().unwrap()?;
        assert_eq!(there.to_host_vec(&stream)?, [6.0]);
        Ok::<(), Error>(())
    })
    .unwrap();
    assert!(typed::load_async(99).is_err());
}
