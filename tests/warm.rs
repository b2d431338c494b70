//! Which launches take the short way, where the driver is called at once and asked again only if it refuses: the second of each form.
//! Against a table of Rust functions, as `packet`.
//!
//! Where the table refuses every launch for what is current, and the context is, the short way calls it a second time by the long one, and
//! the long way does not.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/form.rs"]
mod form;
#[path = "support/rig.rs"]
mod rig;
mod support;

use cuda_launch::operation::DeviceOperation;
use cuda_launch::sys::{CUdevice, CUdevice_attribute, CUresult, CUstream, CUstreamCaptureMode, Driver, pfn};
use cuda_launch::{
    AsyncKernelLaunch, Attribute, CaptureMode, CudaContext, CudaFunction, CudaGraph, CudaModule, CudaStream,
    DeviceBuffer, Error, LaunchConfig, cuda_launch,
};
use form::FORMS;
use rig::{ONE, PTX, Rig};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Arc;
use support::{answer, counted, expect_parameters, reset, set_max_threads};

/// How often the driver is called for the third of three launches, which it refuses for what is current.
fn calls_of_third(what: &str, launch: impl FnMut() -> Result<(), Error>) -> usize {
    calls_of_refused(CUresult::CUDA_ERROR_INVALID_HANDLE, what, launch)
}

/// The same where it refuses with that code.
fn calls_of_refused(code: CUresult, what: &str, mut launch: impl FnMut() -> Result<(), Error>) -> usize {
    for _ in 0..2 {
        launch().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    answer(code);
    reset();
    let refused = launch();
    let (_, launches) = counted();
    answer(CUresult::SUCCESS);
    assert_eq!(refused.unwrap_err().code(), Some(code), "{what}");
    launches
}

fn assert_warm(what: &str, launch: impl FnMut() -> Result<(), Error>) {
    assert_eq!(calls_of_third(what, launch), 2, "{what} is not warm");
}

fn assert_cold(what: &str, launch: impl FnMut() -> Result<(), Error>) {
    assert_eq!(calls_of_third(what, launch), 1, "{what} is warm");
}

fn streams(rig: &Rig) -> [CudaStream; 3] {
    let ctx = rig.stream.context();
    ctx.bind().unwrap();
    [rig.stream.clone(), ctx.default_stream(), ctx.per_thread_stream()]
}

/// A buffer that nobody has to wait for.
fn buffer(stream: &CudaStream) -> DeviceBuffer<u32> {
    let buffer = DeviceBuffer::from_host(stream, &[0; 4]).unwrap();
    stream.synchronize().unwrap();
    buffer
}

#[test]
fn each_form_is_warm_with_memory() {
    let mut rig = Rig::new();
    let (pairs, step) = (rig.kernel(&[8, 8, 8, 8]), rig.kernel(&[8, 8, 4, 4]));
    for stream in &streams(&rig) {
        for form in FORMS {
            let what = |shape: &str| format!("{} on {stream:?}, {shape}", form.name());
            let (mut x, mut y) = (buffer(stream), buffer(stream));
            // What the table copies of a packet.
            expect_parameters(&[8, 8, 8, 8]);
            assert_warm(&what("two slices"), || form.collect((&pairs, stream, ONE), &mut x, &y));
            assert_warm(&what("one slice twice"), || form.read((&pairs, stream, ONE), &x));
            expect_parameters(&[8, 8, 4, 4]);
            assert_warm(&what("a slice and numbers"), || form.step((&step, stream, ONE), &mut y, 1, 2));
            expect_parameters(&[8, 8, 8, 8]);
            assert_warm(&what("an address"), || form.write((&pairs, stream, ONE), &mut x));
        }
    }
}

/// Each of more threads than there are keys, which end without having waited, on a handle of its own or on one that all share.
#[test]
fn each_thread_is_warm_on_its_own_stream_however_many_came_before() {
    let mut rig = Rig::new();
    let pairs = rig.kernel(&[8, 8, 8, 8]);
    let ctx = rig.stream.context();
    let (weights, shared) = (buffer(&rig.stream), ctx.per_thread_stream());
    expect_parameters(&[8, 8, 8, 8]);
    for own in [false, true] {
        for number in 0..150 {
            let run = || {
                ctx.bind().unwrap();
                let stream = if own { ctx.per_thread_stream() } else { shared.clone() };
                let mut y = DeviceBuffer::<u32>::zeroed(&stream, 4).unwrap();
                let what = format!("the stream of thread {number}");
                assert_warm(&what, || unsafe {
                    cuda_launch! { function: pairs, stream: stream, config: ONE, args: [slice(weights), slice_mut(y)] }
                });
            };
            std::thread::scope(|scope| scope.spawn(run).join().unwrap());
        }
    }
}

#[test]
fn launches_without_memory_or_parameters_are_warm() {
    let mut rig = Rig::new();
    let (none, some) = (rig.kernel(&[]), rig.kernel(&[4, 8]));
    for stream in &streams(&rig) {
        // What the table copies of a packet.
        expect_parameters(&[]);
        assert_warm("no parameters", || unsafe {
            cuda_launch! { function: none, stream: stream, config: ONE, args: [] }
        });
        expect_parameters(&[4, 8]);
        assert_warm("values", || unsafe {
            cuda_launch! { function: some, stream: stream, config: ONE, args: [1u32, byval([1u32; 2])] }
        });
        assert_warm("values with names", || unsafe {
            cuda_launch! { function: some, stream: stream, config: ONE, args: [named("n", 1u32), 2u64] }
        });
        expect_parameters(&[]);
        assert_warm("a builder without arguments", || {
            unsafe { stream.launch_builder(&none).launch(ONE) }.map(drop)
        });
        assert_warm("an owned launch without arguments", || {
            let mut launch = AsyncKernelLaunch::new(none.clone());
            launch.set_launch_config(ONE);
            unsafe { launch.into_operation() }.submit_on(stream).map(drop)
        });
    }
}

#[test]
fn shared_memory_within_the_limit_leaves_a_launch_warm() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    for stream in &streams(&rig) {
        assert_warm("shared memory", || unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE.with_shared(1000), args: [1u32] }
        });
    }
}

#[test]
fn prepared_launches_are_warm_with_attributes_and_without() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    for stream in &streams(&rig) {
        let mut plain = stream.launch_builder(&f).arg(&1u32).prepare(ONE).unwrap();
        assert_warm("a prepared launch", || unsafe { plain.launch_on(stream) }.map(drop));
        let mut builder = stream.launch_builder(&f);
        let mut first = builder.arg(&1u32).attribute(Attribute::priority(1)).prepare(ONE).unwrap();
        assert_warm("a prepared launch with a priority", || unsafe { first.launch_on(stream) }.map(drop));
    }
}

#[test]
fn kernels_by_name_are_warm() {
    let rig = Rig::new();
    let module = &rig.module;
    expect_parameters(&[4]);
    for stream in &streams(&rig) {
        assert_warm("a name in the source", || unsafe {
            cuda_launch! { kernel: by_name, module: module, stream: stream, config: ONE, args: [1u32] }
        });
        let name = String::from("by_run_time_name");
        assert_warm("a name of run time", || unsafe {
            cuda_launch! { kernel: name.as_str(), module: module, stream: stream, config: ONE, args: [1u32] }
        });
    }
}

/// Those limits are compared that the kernel has, also where these are not the usual ones.
#[test]
fn a_kernel_that_allows_fewer_threads_is_warm_up_to_its_own_limit() {
    let mut rig = Rig::new();
    set_max_threads(256);
    let f = rig.kernel(&[4]);
    let launch = |threads: u32| unsafe {
        let config = LaunchConfig::new((1, 1, 1), (threads, 1, 1));
        cuda_launch! { function: f, stream: rig.stream, config: config, args: [1u32] }
    };
    assert_warm("as many threads as it allows", || launch(256));
    reset();
    assert!(launch(257).unwrap_err().is_launch_refused());
    assert_eq!(counted().1, 0, "the driver was asked");
}

/// One limit of a device, as it says.
type Limit = (CUdevice_attribute, i32);

thread_local! {
    /// What a device says of a limit besides what the support's driver says.
    static LIMIT: Cell<Option<Limit>> = const { Cell::new(None) };
}

/// The support's driver, of a device with that limit, and such that a capture begins.
fn limited(limit: Option<Limit>) -> Arc<Driver> {
    unsafe extern "C" fn begin_capture(_: CUstream, _: CUstreamCaptureMode) -> CUresult {
        CUresult::SUCCESS
    }
    unsafe extern "C" fn attribute(out: *mut i32, which: CUdevice_attribute, device: CUdevice) -> CUresult {
        match LIMIT.get() {
            Some((limited, value)) if which == limited => {
                unsafe { out.write(value) };
                CUresult::SUCCESS
            }
            _ => {
                let support = support::lookup(c"cuDeviceGetAttribute");
                unsafe {
                    std::mem::transmute::<*const c_void, pfn::cuDeviceGetAttribute>(support)(
                        out, which, device,
                    )
                }
            }
        }
    }
    LIMIT.set(limit);
    Arc::new(unsafe {
        Driver::from_lookup(|name| match name.to_str() {
            Ok("cuDeviceGetAttribute") => attribute as pfn::cuDeviceGetAttribute as *const c_void,
            Ok("cuStreamBeginCapture_v2") => begin_capture as pfn::cuStreamBeginCapture_v2 as *const c_void,
            _ => support::lookup(name),
        })
    })
}

/// The limits of devices so far are compared without being read; those of another device are its own.
#[test]
fn a_warm_launch_is_within_each_limit_of_its_device() {
    use CUdevice_attribute as A;
    let limits = [
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, i32::MAX as u32),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65_535),
        (A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65_535),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024),
        (A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64),
    ];
    for (at, (attribute, usual)) in limits.into_iter().enumerate() {
        for told in [0, usual / 2, usual - 1, usual] {
            let ctx = CudaContext::with_driver(&limited(Some((attribute, told as i32))), 0).unwrap();
            // None can have no block or no thread, whatever it says.
            let most = told.max(1);
            ctx.bind().unwrap();
            expect_parameters(&[4]);
            let (stream, module) = (ctx.new_stream().unwrap(), ctx.load_module(PTX).unwrap());
            let f = module.load_function("k").unwrap();
            let config = |size: u32| {
                let [a, b, c, d, e, f] = std::array::from_fn(|other| if other == at { size } else { 1 });
                LaunchConfig::new((a, b, c), (d, e, f))
            };
            let listed = |size| unsafe {
                cuda_launch! { function: f, stream: stream, config: config(size), args: [1u32] }
            };
            let built = |size| unsafe { stream.launch_builder(&f).arg(&1u32).launch(config(size)) }.map(drop);
            assert_warm("the largest", || listed(most));
            assert_warm("the largest of a builder", || built(most));
            for too_large in [most + 1, 0] {
                reset();
                assert!(listed(too_large).unwrap_err().is_launch_refused(), "{attribute:?}, {too_large}");
                assert!(built(too_large).unwrap_err().is_launch_refused(), "{attribute:?}, {too_large}");
                assert_eq!(counted().1, 0, "the driver was asked");
            }
        }
    }
    // Each dimension is within its limit, and the product is not.
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let launch = |block| unsafe {
        let config = LaunchConfig::new((1, 1, 1), block);
        cuda_launch! { function: f, stream: rig.stream, config: config, args: [1u32] }
    };
    assert_warm("1024 threads", || launch((32, 8, 4)));
    reset();
    assert!(launch((41, 25, 1)).unwrap_err().is_launch_refused());
    assert_eq!(counted().1, 0, "the driver was asked");
}

/// The word that tells that a launch is warm is of signature and context.
#[test]
fn what_was_warm_in_one_context_is_not_so_on_a_stream_of_another() {
    let mut rig = Rig::new();
    let other = CudaContext::with_driver(rig.stream.context().driver(), 1).unwrap().new_stream().unwrap();
    let f = rig.kernel(&[4]);
    let launch = |stream: &CudaStream| unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u32] }
    };
    assert_warm("a launch on a stream of its context", || launch(&rig.stream));
    reset();
    assert!(launch(&other).unwrap_err().is_context_mismatch());
    assert_eq!(counted().1, 0, "the driver was asked");
}

#[test]
fn kernels_by_name_are_warm_wherever_they_are_in_the_table_of_their_module() {
    let mut rig = Rig::new();
    let other = rig.stream.context().load_module(PTX).unwrap();
    (0..100).for_each(|_| _ = rig.kernel(&[8]));
    expect_parameters(&[4]);
    other.load_function("first").unwrap();
    let launch = |module: &CudaModule| unsafe {
        cuda_launch! { kernel: late, module: module, stream: rig.stream, config: ONE, args: [1u32] }
    };
    // The site remembers one of them at a time.
    for module in [&rig.module, &other, &rig.module] {
        assert_warm("a kernel behind others", || launch(module));
    }
}

#[test]
fn attributes_that_give_nothing_back_leave_a_launch_warm() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    let launch = |f: &CudaFunction, stream: &CudaStream, attributes: &[Attribute<'_>]| unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u32], attributes: attributes }
    };
    let event = rig.stream.context().new_event().unwrap();
    for stream in &streams(&rig) {
        let priority = [Attribute::priority(1)];
        let three =
            [Attribute::priority(1), Attribute::cooperative(false), Attribute::cluster_dimension((1, 1, 1))];
        assert_warm("a priority", || launch(&f, stream, &priority));
        assert_warm("three attributes", || launch(&f, stream, &three));
        assert_warm("cooperative", || unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE, args: [1u32], cooperative: true }
        });
        assert_warm("a cluster", || unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE, args: [1u32], cluster_dim: (1, 1, 1) }
        });
        // Of portable clusters, as many blocks as may be.
        for shape in [(8, 1, 1), (1, 8, 1), (1, 1, 8), (2, 2, 2)] {
            assert_warm("a cluster of 8", || unsafe {
                cuda_launch! { function: f, stream: stream, config: LaunchConfig::new((8, 8, 8), (32, 1, 1)), args: [1u32],
                cluster_dim: shape }
            });
        }
        // The crate has to note that the event is recorded.
        assert_cold("an event", || launch(&f, stream, &[Attribute::programmatic_event(&event, false)]));
    }
}

/// Whatever else the driver refuses a warm launch for, a second call could only do the work twice.
#[test]
fn a_warm_launch_is_submitted_again_only_if_it_was_refused_for_what_is_current() {
    let of_current = [
        CUresult::CUDA_ERROR_INVALID_CONTEXT,
        CUresult::CUDA_ERROR_INVALID_HANDLE,
        CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
    ];
    for (form, code) in FORMS.iter().flat_map(|form| (1..1000).map(move |code| (form, code))) {
        let mut rig = Rig::new();
        let pairs = rig.kernel(&[8, 8, 8, 8]);
        rig.stream.context().bind().unwrap();
        let (mut x, y) = (buffer(&rig.stream), buffer(&rig.stream));
        expect_parameters(&[8, 8, 8, 8]);
        let code = CUresult(code);
        let calls =
            calls_of_refused(code, form.name(), || form.collect((&pairs, &rig.stream, ONE), &mut x, &y));
        let expected = if of_current.contains(&code) { 2 } else { 1 };
        assert_eq!(calls, expected, "{}, {code:?}", form.name());
    }
}

/// What is launched for the first time, or into a graph, or while somebody listens, takes the long way.
#[test]
fn what_has_to_be_looked_at_is_not_warm() {
    let ctx = CudaContext::with_driver(&limited(None), 0).unwrap();
    let mut rig = Rig { stream: ctx.new_stream().unwrap(), module: ctx.load_module(PTX).unwrap(), names: 0 };
    let f = rig.kernel(&[4]);
    rig.stream.context().bind().unwrap();
    let launch = |f: &CudaFunction, stream: &CudaStream| unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u32] }
    };
    let mut kernels = (0..3).map(|_| rig.kernel(&[4])).collect::<Vec<_>>();
    let stream = rig.stream.clone();
    assert_cold("another kernel each time", || launch(&kernels.pop().unwrap(), &stream));
    assert_warm("the same kernel", || launch(&f, &stream));
    let mut is_recorded = false;
    let _ = CudaGraph::capture(stream.context(), CaptureMode::ThreadLocal, |stream| {
        assert_cold("in a capture", || launch(&f, stream));
        is_recorded = true;
        Ok(())
    });
    assert!(is_recorded);
}
