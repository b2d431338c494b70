//! Arguments, packet, attributes and check against a table of Rust functions: what reaches the driver, and what does not.
//! Runs under Miri (`cargo miri test --test packet`): the table reads the packet as a driver does.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

use cuda_launch::error::LaunchError;
use cuda_launch::foundation::{ArgumentList, Cons, Nil, Signature, Value};
use cuda_launch::launch::{
    AccessPolicyWindow, AccessProperty, ClusterSchedulingPolicy, MemSyncDomain, PortableClusterMode,
    SharedMemoryMode, SynchronizationPolicy,
};
use cuda_launch::memory::SliceParts;
use cuda_launch::{
    Attribute, CudaContext, CudaEvent, CudaFunction, CudaStream, DeviceBuffer, DeviceCopy, DevicePtr,
    DeviceSlice, DeviceSliceMut, ErrorKind, LaunchConfig, cuda_launch,
};
use support::{LOG, counted, expect_parameters, reset};

const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
const PTX: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";

struct Rig {
    stream: CudaStream,
    module: cuda_launch::CudaModule,
    names: usize,
}

impl Rig {
    fn new() -> Self {
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        Self { stream: ctx.new_stream().unwrap(), module: ctx.load_module(PTX).unwrap(), names: 0 }
    }

    /// A kernel that says its parameters have these sizes.
    fn kernel(&mut self, sizes: &[usize]) -> CudaFunction {
        expect_parameters(sizes);
        self.names += 1;
        self.module.load_function(&format!("kernel_{}", self.names)).unwrap()
    }
}

fn packet() -> Vec<Vec<u8>> {
    LOG.with(|log| log.packet.borrow().clone())
}

#[test]
fn every_kind_of_argument_arrives_byte_for_byte() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        bias: f64,
        tag: u16,
        idx: [i32; 4],
    }
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8, 40, 4, 8, 16, 8]);
    let buffer = DeviceBuffer::<f32>::uninit(&rig.stream, 5).unwrap();
    let p = Params { scale: 2.0, bias: 0.5, tag: 7, idx: [1, 2, 3, 4] };
    let (k, l) = (3u64, 9u64);
    let closure = move || k + l;
    let nothing = || ();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE,
        args: [slice(buffer), p, -1i32, buffer.as_device_ptr(), byval(closure), byval(nothing), [1u16, 2, 3, 4]] }
    }
    .unwrap();
    let packet = packet();
    assert_eq!(packet[0], buffer.cu_deviceptr().to_ne_bytes());
    assert_eq!(packet[1], 5u64.to_ne_bytes());
    assert_eq!(packet[2][..4], 2.0f32.to_ne_bytes());
    assert_eq!(packet[2][8..16], 0.5f64.to_ne_bytes());
    assert_eq!(packet[2][20..24], 1i32.to_ne_bytes());
    assert_eq!(packet[3], (-1i32).to_ne_bytes());
    assert_eq!(packet[4], buffer.cu_deviceptr().to_ne_bytes());
    assert_eq!(packet[5], [3u64.to_ne_bytes(), 9u64.to_ne_bytes()].concat());
    assert_eq!(packet[6], [1u8, 0, 2, 0, 3, 0, 4, 0]);
    assert_eq!(closure(), 12);
}

#[test]
fn arguments_are_evaluated_once_and_in_order() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4, 4]);
    let mut seen = Vec::new();
    let mut next = |n: u32| {
        seen.push(n);
        n
    };
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [next(1), next(2)] }
    }
    .unwrap();
    assert_eq!(seen, [1, 2]);
    assert_eq!(packet(), [1u32.to_ne_bytes(), 2u32.to_ne_bytes()]);
}

#[test]
fn handles_and_buffers_may_be_values_references_or_smart_pointers() {
    use std::sync::Arc;
    let mut rig = Rig::new();
    rig.kernel(&[8, 8]);
    let module = Arc::new(rig.module.clone());
    let stream = &Arc::new(rig.stream.clone());
    let buffer = Arc::new(DeviceBuffer::<u8>::uninit(stream, 1).unwrap());
    let mut boxed = Box::new(DeviceBuffer::<u8>::uninit(stream, 2).unwrap());
    fn by_reference(out: &mut DeviceBuffer<u8>, stream: &CudaStream, f: &Arc<CudaFunction>) {
        unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE, args: [slice_mut(out)] }
        }
        .unwrap();
    }
    unsafe {
        cuda_launch! { kernel: kernel_1, module: module, stream: stream, config: ONE, args: [slice(buffer)] }
    }
    .unwrap();
    unsafe { cuda_launch! { kernel: "kernel_1", module: &module, stream: stream, config: ONE, args: [slice_mut(boxed)] } }
        .unwrap();
    assert_eq!(packet()[1], 2u64.to_ne_bytes());
    let f = Arc::new(module.load_function("kernel_1").unwrap());
    by_reference(&mut boxed, stream, &f);
    let name = String::from("kernel_1");
    let mut view = boxed.slice_mut(1..);
    unsafe {
        cuda_launch! { kernel: (name), module: module, stream: stream, config: ONE, args: [slice_mut(view)] }
    }
    .unwrap();
    assert_eq!(packet()[1], 1u64.to_ne_bytes());
    assert_eq!(buffer.len() + boxed.len(), 3, "nothing was moved");
}

#[test]
fn a_list_may_have_a_hundred_arguments_and_one_may_fill_the_limit() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[32764]);
    let big = [7u8; 32764];
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [big] }
    }
    .unwrap();
    assert_eq!(packet(), [vec![7u8; 32764]]);
    let f = rig.kernel(&[4; 100]);
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
            30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56,
            57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83,
            84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99] }
    }
    .unwrap();
    assert!(packet().iter().enumerate().all(|(i, bytes)| *bytes == (i as i32).to_ne_bytes()));
}

// ---- generated lists: right ones pass, wrong ones never reach the driver -------------------------------------------

/// Calls `$go` with every list of three of these types, 6 x 6 x 6 of them.
macro_rules! lists {
    ($go:ident, $context:expr) => { lists!(@first $go, $context, [u8, u16, u32, f64, [u32; 3], Wide]) };
    (@first $go:ident, $context:expr, [$($a:ty),*]) => {$(
        lists!(@second $go, $context, $a, [u8, u16, u32, f64, [u32; 3], Wide]);
    )*};
    (@second $go:ident, $context:expr, $a:ty, [$($b:ty),*]) => {$(
        lists!(@third $go, $context, $a, $b, [u8, u16, u32, f64, [u32; 3], Wide]);
    )*};
    (@third $go:ident, $context:expr, $a:ty, $b:ty, [$($c:ty),*]) => {$(
        $go::<$a, $b, $c>($context);
    )*};
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy, Default)]
struct Wide {
    bytes: [u64; 6],
}

struct Trial {
    rig: Rig,
    random: u64,
    right: usize,
    wrong: usize,
}

impl Trial {
    fn new() -> Self {
        Self { rig: Rig::new(), random: 0x9e37_79b9_7f4a_7c15, right: 0, wrong: 0 }
    }

    /// A value of any bit pattern (xorshift).
    fn value<T: DeviceCopy>(&mut self) -> T {
        let mut value = std::mem::MaybeUninit::<T>::uninit();
        for i in 0..size_of::<T>() {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            unsafe { value.as_mut_ptr().cast::<u8>().add(i).write(self.random as u8) };
        }
        unsafe { value.assume_init() }
    }
}

fn bytes_of<T: DeviceCopy>(value: &T) -> Vec<u8> {
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }.to_vec()
}

fn right<A: DeviceCopy, B: DeviceCopy, C: DeviceCopy>(trial: &mut Trial) {
    let f = trial.rig.kernel(&[size_of::<A>(), size_of::<B>(), size_of::<C>()]);
    reset();
    let rounds = if cfg!(miri) { 1 } else { 15 };
    for round in 0..rounds {
        let (a, b, c) = (trial.value::<A>(), trial.value::<B>(), trial.value::<C>());
        unsafe {
            cuda_launch! { function: f, stream: trial.rig.stream, config: ONE, args: [a, b, c] }
        }
        .unwrap();
        assert_eq!(packet(), [bytes_of(&a), bytes_of(&b), bytes_of(&c)]);
        assert_eq!(counted().1, round + 1);
        trial.right += 1;
    }
}

#[test]
fn three_thousand_right_lists_all_launch() {
    let mut trial = Trial::new();
    lists!(right, &mut trial);
    assert_eq!(trial.right, if cfg!(miri) { 216 } else { 3240 });
}

fn wrong<A: DeviceCopy, B: DeviceCopy, C: DeviceCopy>(trial: &mut Trial) {
    // Building the messages takes Miri long.
    if cfg!(miri) && trial.wrong >= 60 {
        return;
    }
    let sizes = vec![size_of::<A>(), size_of::<B>(), size_of::<C>()];
    let mut kernels = vec![
        sizes[..2].to_vec(),
        [sizes.clone(), vec![4]].concat(),
        sizes[1..].to_vec(),
        sizes[..1].to_vec(),
    ];
    for i in 0..3 {
        for size in [1, 2, 4, 8, 12, 48, 4096] {
            let mut changed = sizes.clone();
            changed[i] = size;
            kernels.push(changed);
        }
    }
    for (i, j) in [(0, 1), (1, 2), (0, 2)] {
        let mut swapped = sizes.clone();
        swapped.swap(i, j);
        kernels.push(swapped);
    }
    kernels.retain(|k| *k != sizes);
    // Building the messages is what takes Miri long.
    let keep = if !cfg!(miri) {
        kernels.len()
    } else if trial.wrong < 60 {
        2
    } else {
        0
    };
    for kernel in kernels.into_iter().take(keep) {
        let f = trial.rig.kernel(&kernel);
        let (a, b, c) = (trial.value::<A>(), trial.value::<B>(), trial.value::<C>());
        reset();
        let result = unsafe {
            cuda_launch! { function: f, stream: trial.rig.stream, config: ONE, args: [a, b, c] }
        };
        let error = result.unwrap_err();
        assert!(error.is_argument_mismatch(), "{error}");
        assert_eq!(counted(), (0, 0), "the driver was called for {kernel:?} with {sizes:?}");
        trial.wrong += 1;
    }
}

#[test]
fn wrong_lists_never_reach_the_driver() {
    let mut trial = Trial::new();
    lists!(wrong, &mut trial);
    assert!(trial.wrong >= if cfg!(miri) { 60 } else { 3000 }, "{}", trial.wrong);
}

#[test]
fn the_check_is_made_once_for_a_signature_and_again_for_another() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4, 8]);
    for _ in 0..3 {
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32, 2u64] }
        }
        .unwrap();
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1i32, 2.0f64] }
        }
        .unwrap();
        let wrong = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32, 2u32] }
        };
        assert!(wrong.unwrap_err().is_argument_mismatch());
    }
    let warm = |launch: &dyn Fn()| {
        launch();
        reset();
        launch();
        counted()
    };
    let launch = || {
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32, 2u64] }
        }
        .unwrap();
    };
    assert_eq!(warm(&launch), (1, 1), "one driver call");
    let by_name = || {
        let (m, s) = (&rig.module, &rig.stream);
        unsafe {
            cuda_launch! { kernel: kernel_1, module: m, stream: s, config: ONE, args: [1u32, 2u64] }
        }
        .unwrap();
    };
    assert_eq!(warm(&by_name), (1, 1), "no look-up");
}

/// The kernel has another place in the table of each module, and at its place in the first the second has one that takes the same:
/// a site that goes by the place alone launches that.
#[test]
fn a_call_site_tells_modules_apart() {
    let rig = Rig::new();
    let ctx = rig.stream.context();
    let launch = |module: &cuda_launch::CudaModule| unsafe {
        cuda_launch! { kernel: k, module: module, stream: rig.stream, config: ONE, args: [1u32] }
    };
    for _ in 0..if cfg!(miri) { 3 } else { 100 } {
        expect_parameters(&[4]);
        let good = ctx.load_module(PTX).unwrap();
        launch(&good).unwrap();
        launch(&good).unwrap();
        let other = ctx.load_module(PTX).unwrap();
        unsafe {
            cuda_launch! { kernel: decoy, module: other, stream: rig.stream, config: ONE, args: [1u32] }
        }
        .unwrap();
        expect_parameters(&[8]);
        assert!(launch(&other).unwrap_err().is_argument_mismatch());
        // The packet that is launched is read by these sizes.
        expect_parameters(&[4]);
        launch(&good).unwrap();
        expect_parameters(&[8]);
        assert!(launch(&other).unwrap_err().is_argument_mismatch());
        drop(good);
        assert!(launch(&other).unwrap_err().is_argument_mismatch());
    }
}

#[test]
fn a_signature_is_its_types_in_order() {
    fn of<L: ArgumentList>(_: &L) -> Vec<(usize, &'static str)> {
        Signature::parameters(L::SIGNATURE).map(|p| (p.size, (p.type_name)())).collect()
    }
    assert_eq!(of(&Cons(Value(&1u8), Cons(Value(&()), Cons(Value(&2.0f64), Nil)))), [(1, "u8"), (8, "f64")]);
    assert_eq!(of(&Nil), []);
    assert_eq!(of(&Cons(Value(&DevicePtr::<u8>::from_raw(1)), Nil))[0].0, 8);
}

// ---- dimensions, contexts, attributes ------------------------------------------------------------------------------

fn launch(rig: &Rig, f: &CudaFunction, config: LaunchConfig) -> Result<(), cuda_launch::Error> {
    reset();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: config, args: [] }
    }
}

#[test]
fn dimensions_outside_the_limits_are_errors_with_value_and_limit() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let config = |grid_dim, block_dim, shared_mem_bytes| {
        LaunchConfig::new(grid_dim, block_dim).with_shared(shared_mem_bytes)
    };
    let one = (1, 1, 1);
    let big = i32::MAX as u32;
    for (bad, text) in [
        (config((0, 1, 1), one, 0), "grid x is 0 blocks; this device supports 1 to 2147483647"),
        (config((1, 0, 1), one, 0), "grid y is 0"),
        (config((1, 1, 0), one, 0), "grid z is 0"),
        (config((big + 1, 1, 1), one, 0), "grid x is 2147483648"),
        (config((u32::MAX, 1, 1), one, 0), "grid x is 4294967295"),
        (config((1, 65536, 1), one, 0), "grid y is 65536 blocks; this device supports 1 to 65535"),
        (config((1, 1, 65536), one, 0), "grid z is 65536"),
        (config(one, (0, 1, 1), 0), "block x is 0 threads; this device supports 1 to 1024"),
        (config(one, (1, 0, 1), 0), "block y is 0"),
        (config(one, (1, 1, 0), 0), "block z is 0"),
        (config(one, (1025, 1, 1), 0), "block x is 1025"),
        (config(one, (1, 1025, 1), 0), "block y is 1025"),
        (config(one, (1, 1, 65), 0), "block z is 65 threads; this device supports 1 to 64"),
        (config(one, (1024, 2, 1), 0), "1024 x 2 x 1 = 2048 threads; the kernel takes at most 1024"),
        (config(one, (u32::MAX, u32::MAX, u32::MAX), 0), "block x is 4294967295"),
        (config(one, (1024, 1024, 64), 0), "67108864 threads"),
        (config(one, one, 49153), "49153 bytes of dynamic shared memory"),
        (config(one, one, u32::MAX), "4294967295 bytes of dynamic shared memory"),
    ] {
        // Cold, and once a good launch has made the kernel warm.
        for _ in 0..2 {
            let error = launch(&rig, &f, bad).unwrap_err();
            assert!(
                error.is_launch_refused() && error.to_string().contains(text),
                "{error}\nshould say: {text}"
            );
            assert_eq!(counted().1, 0);
            launch(&rig, &f, ONE).unwrap();
        }
    }
    for good in [
        config((big, 65535, 65535), one, 0),
        config(one, (1024, 1, 1), 49152),
        config(one, (1, 1024, 1), 0),
        config(one, (4, 4, 64), 0),
    ] {
        launch(&rig, &f, good).unwrap();
        assert_eq!(counted(), (1, 1));
    }
}

#[test]
fn opting_in_raises_the_shared_memory_limit() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let config = ONE.with_shared(100_000);
    let error = launch(&rig, &f, config).unwrap_err();
    assert!(error.to_string().contains("set_max_dynamic_shared_memory(100000)"), "{error}");
    f.set_max_dynamic_shared_memory(100_000).unwrap();
    launch(&rig, &f, config).unwrap();
    let error = launch(&rig, &f, ONE.with_shared(300_000)).unwrap_err();
    assert!(error.to_string().contains("this device allows 232448 bytes in all"), "{error}");
}

#[test]
fn objects_of_two_contexts_do_not_meet() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8]);
    let driver = rig.stream.context().driver().clone();
    let other = CudaContext::with_driver(&driver, 1).unwrap().new_stream().unwrap();
    let (own, foreign) = (DeviceBuffer::<u8>::uninit(&rig.stream, 1), DeviceBuffer::<u8>::uninit(&other, 1));
    let (own, foreign) = (own.unwrap(), foreign.unwrap());
    for _ in 0..2 {
        reset();
        let error = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(foreign)] }
        };
        assert!(error.unwrap_err().to_string().contains(
            "a buffer among its arguments belongs to device 1, the stream of the launch to device 0"
        ));
        let error = unsafe {
            cuda_launch! { function: f, stream: other, config: ONE, args: [slice(foreign)] }
        };
        assert!(error.unwrap_err().is_context_mismatch());
        assert_eq!(counted(), (0, 0));
        unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(own)] }
        }
        .unwrap();
    }
    assert!(own.to_host_vec(&other).unwrap_err().is_context_mismatch());
    // Two handles of one device are one context.
    let again = CudaContext::with_driver(&driver, 0).unwrap();
    let buffer = DeviceBuffer::<u8>::uninit(&again.new_stream().unwrap(), 1).unwrap();
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [slice(buffer)] }
    }
    .unwrap();
}

fn every_attribute(event: &CudaEvent) -> Vec<Attribute<'_>> {
    let window = AccessPolicyWindow {
        base: 0x1000,
        bytes: 4096,
        hit_ratio: 0.5,
        hit: AccessProperty::Persisting,
        miss: AccessProperty::Streaming,
    };
    vec![
        Attribute::ignore(),
        Attribute::access_policy_window(window),
        Attribute::cooperative(true),
        Attribute::cluster_dimension((2, 1, 1)),
        Attribute::cluster_scheduling_policy_preference(ClusterSchedulingPolicy::Spread),
        Attribute::programmatic_stream_serialization(true),
        Attribute::programmatic_event(event, true),
        Attribute::priority(-1),
        Attribute::mem_sync_domain_map(0, 1),
        Attribute::mem_sync_domain(MemSyncDomain::Remote),
        Attribute::preferred_cluster_dimension((4, 1, 1)),
        Attribute::launch_completion_event(event),
        Attribute::device_updatable_kernel_node(),
        Attribute::preferred_shared_memory_carveout(50),
        Attribute::nvlink_util_centric_scheduling(true),
        Attribute::portable_cluster_size_mode(PortableClusterMode::AllowNonPortable),
        Attribute::shared_memory_mode(SharedMemoryMode::AllowNonPortable),
    ]
}

#[test]
fn every_attribute_of_the_header_is_there_and_arrives() {
    let ids = [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18];
    let ctx = CudaContext::with_driver(&support::driver_of_version(13050, &[]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    expect_parameters(&[]);
    let f = ctx.load_module(PTX).unwrap().load_function("k").unwrap();
    let event = ctx.new_event().unwrap();
    let all = every_attribute(&event);
    assert_eq!(all.iter().map(|a| a.raw().id.0).collect::<Vec<_>>(), ids);
    assert!(all.iter().all(|a| a.since() >= 11080 && !a.name().contains("unknown")));
    let grid = LaunchConfig::new((8, 1, 1), ONE.block_dim);
    unsafe {
        cuda_launch! { function: f, stream: stream, config: grid, args: [], attributes: all }
    }
    .unwrap();
    assert_eq!(LOG.with(|log| log.attributes.borrow().clone()), ids);
    let of_streams = [Attribute::synchronization_policy(SynchronizationPolicy::Spin)];
    let error = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [], attributes: of_streams }
    };
    assert!(error.unwrap_err().to_string().contains("a stream attribute"));
    let many = vec![Attribute::ignore(); 25];
    let error = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [], attributes: many }
    };
    assert!(error.unwrap_err().to_string().contains("25 launch attributes"));
}

#[test]
fn fields_become_attributes() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    let grid = LaunchConfig::new((8, 1, 1), ONE.block_dim);
    unsafe {
        cuda_launch! { args: [], cooperative: true, attributes: [Attribute::priority(1)], cluster_dim: (4, 1, 1),
        config: grid, stream: rig.stream, function: f }
    }
    .unwrap();
    assert_eq!(LOG.with(|log| log.attributes.borrow().clone()), [4, 2, 8]);
    assert_eq!(LOG.with(|log| log.config.get()), [8, 1, 1, 32, 1, 1, 0]);
}

#[test]
fn an_attribute_newer_than_the_driver_is_named_with_both_versions() {
    let ctx = CudaContext::with_driver(&support::driver_of_version(12030, &[]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    expect_parameters(&[]);
    let f = ctx.load_module(PTX).unwrap().load_function("k").unwrap();
    let event = ctx.new_event().unwrap();
    for attribute in every_attribute(&event) {
        reset();
        let config = LaunchConfig::new((8, 1, 1), ONE.block_dim);
        let result = unsafe {
            cuda_launch! { function: f, stream: stream, config: config, args: [], attributes: [attribute] }
        };
        if attribute.since() <= 12030 {
            result.unwrap();
        } else {
            let text = result.unwrap_err().to_string();
            let since =
                format!("requires CUDA {}.{}", attribute.since() / 1000, attribute.since() % 1000 / 10);
            assert!(
                text.contains(attribute.name()) && text.contains(&since) && text.contains("CUDA 12.3"),
                "{text}"
            );
            assert_eq!(counted(), (0, 0));
        }
    }
}

#[test]
fn clusters_that_do_not_fit_are_refused() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    for (grid, cluster, text) in [
        ((8, 1, 1), (3, 1, 1), "must be a multiple"),
        ((8, 1, 1), (0, 1, 1), "may be 0"),
        ((32, 1, 1), (32, 1, 1), "no device has clusters of more than 16"),
        ((16, 1, 1), (16, 1, 1), "more than 8 need"),
    ] {
        let config = LaunchConfig::new(grid, ONE.block_dim);
        reset();
        let result = unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: config, args: [], cluster_dim: cluster }
        };
        let error = result.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Launch(LaunchError::Cluster { .. })), "{error}");
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(counted().1, 0);
    }
}

#[test]
fn what_the_driver_refuses_comes_back_with_the_launch() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[]);
    support::answer(cuda_launch::sys::CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    let error = launch(&rig, &f, ONE).unwrap_err();
    assert_eq!(error.call(), Some("cuLaunchKernelEx"));
    let text = error.to_string();
    assert!(text.contains("kernel_1") && text.contains("32 registers a thread times 32 threads"), "{text}");
    support::answer(cuda_launch::sys::CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let error = launch(&rig, &f, ONE).unwrap_err();
    assert!(error.is_sticky() && error.to_string().contains("restart it"), "{error}");
}

/// A fault names the launches that may have caused it: not one that the driver refused, though it was warm and so noted first.
#[test]
fn a_refused_launch_is_no_suspect() {
    use cuda_launch::sys::CUresult;
    let mut rig = Rig::new();
    let (refused, other) = (rig.kernel(&[4]), rig.kernel(&[4]));
    // With an argument: launches of kernels that take none are all examined.
    let launch = |f: &CudaFunction| unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE, args: [1u32] }
    };
    launch(&refused).unwrap();
    rig.stream.synchronize().unwrap();
    support::answer(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    assert_eq!(launch(&refused).unwrap_err().call(), Some("cuLaunchKernelEx"));
    support::answer(CUresult::SUCCESS);
    launch(&other).unwrap();
    support::answer(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let error = launch(&other).unwrap_err();
    let ErrorKind::Faulted(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(fault.suspects, [cuda_launch::error::Suspect::Kernel("kernel_2".into())], "{error}");
}

#[test]
fn a_driver_that_knows_no_parameters_says_why_and_launches() {
    let ctx =
        CudaContext::with_driver(&support::driver_of_version(12000, &["cuFuncGetParamInfo"]), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    let known = format!("{PTX}.visible .entry k(.param .u32 a) {{ ret; }}");
    let f = ctx.load_module(known).unwrap().load_function("k").unwrap();
    assert!(matches!(
        f.parameters(),
        cuda_launch::module::Parameters::Known(_, cuda_launch::module::ParameterSource::Image)
    ));
    let wrong = unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u64] }
    };
    assert!(wrong.unwrap_err().is_argument_mismatch());
    let f = ctx.load_module(PTX).unwrap().load_function("unlisted").unwrap();
    let cuda_launch::module::Parameters::Unknown(why) = f.parameters() else { panic!("nobody knows them") };
    assert!(why.contains("12000") && why.contains("cuFuncGetParamInfo"), "{why}");
    expect_parameters(&[8]);
    unsafe {
        cuda_launch! { function: f, stream: stream, config: ONE, args: [1u64] }
    }
    .unwrap();
}

/// A buffer with a shape, as a framework would have.
struct Matrix {
    elements: DeviceBuffer<f32>,
    columns: u32,
}

unsafe impl DeviceSlice for Matrix {
    type Element = f32;

    fn parts(&self) -> SliceParts<'_, f32> {
        self.elements.parts()
    }
}

unsafe impl DeviceSliceMut for Matrix {
    fn parts_mut(&mut self) -> SliceParts<'_, f32> {
        self.elements.parts_mut()
    }
}

#[test]
fn a_slice_type_of_a_user_is_an_argument() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[8, 8, 4, 8, 8]);
    let matrix = |columns| Matrix { elements: DeviceBuffer::uninit(&rig.stream, 12).unwrap(), columns };
    let (source, mut target) = (matrix(3), matrix(4));
    unsafe {
        cuda_launch! { function: f, stream: rig.stream, config: ONE,
        args: [slice(source), source.columns, slice_mut(target)] }
    }
    .unwrap();
    let packet = packet();
    assert_eq!(packet[0], source.elements.cu_deviceptr().to_ne_bytes());
    assert_eq!((&packet[1][..], &packet[2][..]), (&12u64.to_ne_bytes()[..], &3u32.to_ne_bytes()[..]));
    assert_eq!(packet[4], 12u64.to_ne_bytes());
}
