//! What a launch costs: instructions against a driver that does nothing, nanoseconds against a real one.
//!
//! - `cargo xtask cost` counts instructions with callgrind: it runs `loop VARIANT N` for two N and divides the difference.
//! - `launch_cost count` prints heap and driver calls of a launch.
//! - `launch_cost time [VARIANT..]` times every variant, or these, in turn with the raw calls on the default driver (a GPU's, to mean
//!   anything).
//!
//! The floor is what a careful person writes by hand: an array of pointers on the stack and the raw call, result checked.

#![allow(unsafe_code)] // Launches of kernels that do nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod around;
mod driver;
mod readers;

use cuda_harness::null;
use cuda_launch::launch::PreparedLaunch;
use cuda_launch::operation::{BoxedOperation, OwnedKernelLaunch, value};
use cuda_launch::{
    AsyncKernelLaunch, Attribute, CudaContext, CudaFunction, CudaModule, CudaStream, DeviceBuffer,
    DeviceCopy, DeviceOperation, Driver, LaunchConfig, cuda_launch, cuda_launch_async, cuda_module, sys,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use around::Around;
use driver::{DRIVER_CALLS, no_op_driver};
use readers::Readers;

struct Counting;
static HEAP_CALLS: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HEAP_CALLS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HEAP_CALLS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Shape {
    extent: [u64; 4],
    scale: f64,
    tag: u64,
}

#[cuda_module("../kernels/seven.ptx")]
mod kernels {
    unsafe extern "C" {
        pub safe fn slices(a: &[f32], b: &[f32], c: &mut [f32], n: u32);
    }
}

struct Bench {
    function: CudaFunction,
    slices: CudaFunction,
    module: CudaModule,
    typed: kernels::Module,
    stream: CudaStream,
    a: DeviceBuffer<f32>,
    b: DeviceBuffer<f32>,
    c: DeviceBuffer<f32>,
    config: LaunchConfig,
    /// What the floor points at: a careful person keeps the arguments where they are.
    held: Held,
    shape: Shape,
    prepared: PreparedLaunch<'static>,
    named: PreparedLaunch<'static>,
    name: String,
    around: Around,
    readers: Readers,
    owned: Option<Owned>,
}

type Owned = (DeviceBuffer<f32>, DeviceBuffer<f32>);

fn chain(function: &CudaFunction, buffers: Owned) -> BoxedOperation<'static, Owned> {
    (0..100).fold(value(buffers).boxed(), |op, _| {
        let function = function.clone();
        op.and_then(move |buffers| unsafe {
            OwnedKernelLaunch::new(buffers, move |(x, y): &mut Owned| {
                let mut launch = AsyncKernelLaunch::new(function);
                launch.slice(x).slice(x).slice_mut(y).value(&32u32);
                launch.set_launch_config(CONFIG);
                Ok(launch)
            })
        })
        .boxed()
    })
}

struct Held {
    a: u64,
    b: u64,
    c: u64,
    n: u32,
    alpha: f32,
    flags: u32,
}

const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
type Variant = (&'static str, fn(&mut Bench));

fn variants() -> impl Iterator<Item = &'static Variant> {
    VARIANTS.iter().chain(readers::VARIANTS).chain(around::VARIANTS)
}

const VARIANTS: &[Variant] = &[
    ("empty", |_| {}),
    ("floor", |b| floor(b)),
    ("floor-ex", |b| floor_ex(b)),
    ("function", |b| unsafe {
        cuda_launch! { function: b.function, stream: b.stream, config: CONFIG,
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
    ("kernel-module", |b| unsafe {
        cuda_launch! { kernel: seven, module: b.module, stream: b.stream, config: CONFIG,
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
    ("function-slices", |b| unsafe {
        cuda_launch! { function: b.slices, stream: b.stream, config: CONFIG,
        args: [slice(b.a), slice(b.b), slice_mut(b.c), 32u32] }
        .unwrap();
    }),
    ("kernel-module-slices", |b| unsafe {
        cuda_launch! { kernel: slices, module: b.module, stream: b.stream, config: CONFIG,
        args: [slice(b.a), slice(b.b), slice_mut(b.c), 32u32] }
        .unwrap();
    }),
    ("typed", |b| b.typed.slices(&b.stream, CONFIG, &b.a, &b.b, &mut b.c, 32).unwrap()),
    ("builder", |b| unsafe {
        b.stream
            .launch_builder(&b.function)
            .arg(&b.a)
            .arg(&b.b)
            .arg(&mut b.c)
            .arg(&32u32)
            .arg(&2.0f32)
            .arg(&1u32)
            .arg(&b.shape)
            .launch(CONFIG)
            .unwrap();
    }),
    ("builder-slices", |b| unsafe {
        b.stream
            .launch_builder(&b.slices)
            .slice(&b.a)
            .slice(&b.b)
            .slice_mut(&mut b.c)
            .arg(&32u32)
            .launch(CONFIG)
            .unwrap();
    }),
    ("prepared", |b| unsafe {
        b.prepared.launch_on(&b.stream).unwrap();
    }),
    // Four of its values set by name before each launch.
    ("prepared-set-4", |b| unsafe {
        let launch = &mut b.named;
        launch.set("n", black_box(32u32)).unwrap();
        launch.set("alpha", black_box(2.0f32)).unwrap();
        launch.set("flags", black_box(1u32)).unwrap();
        launch.set("shape", b.shape).unwrap();
        launch.launch_on(&b.stream).unwrap();
    }),
    ("name-at-run-time", |b| unsafe {
        cuda_launch! { kernel: (&b.name), module: b.module, stream: b.stream, config: CONFIG,
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
    ("async", |b| unsafe {
        let mut launch = AsyncKernelLaunch::new(&b.function);
        launch.ptr(&b.a).ptr(&b.b).ptr_mut(&mut b.c);
        launch.push_arg(32u32).push_arg(2.0f32).push_arg(1u32).push_arg(b.shape).set_launch_config(CONFIG);
        launch.into_operation().async_on(&b.stream).unwrap();
    }),
    ("async-macro", |b| unsafe {
        cuda_launch_async! { function: b.function, config: CONFIG,
        args: [ptr(b.a), ptr(b.b), ptr_mut(b.c), 32u32, 2.0f32, 1u32, b.shape] }
        .async_on(&b.stream)
        .unwrap();
    }),
    // A hundred launches, put together in a loop and run as one.
    ("async-chain-100", |b| unsafe {
        let buffers = b.owned.take().unwrap();
        b.owned = Some(chain(&b.slices, buffers).async_on(&b.stream).unwrap());
    }),
    ("function-any-config", |b| unsafe {
        cuda_launch! { function: b.function, stream: b.stream, config: b.config,
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
    ("function-attribute", |b| unsafe {
        cuda_launch! { function: b.function, stream: b.stream, config: CONFIG,
        attributes: [Attribute::priority(0)],
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
    ("function-cluster", |b| unsafe {
        cuda_launch! { function: b.function, stream: b.stream, config: CONFIG, cluster_dim: (1, 1, 1),
        args: [b.a.as_device_ptr(), b.b.as_device_ptr(), b.c.as_mut_device_ptr(), 32u32, 2.0f32, 1u32, b.shape] }
        .unwrap();
    }),
];

macro_rules! pointers {
    ($($value:expr),*) => { [$(std::ptr::from_mut(&mut $value).cast::<c_void>()),*] };
}

fn floor(b: &mut Bench) {
    let driver = b.function.context().driver();
    let held = &mut b.held;
    let mut params = pointers![held.a, held.b, held.c, held.n, held.alpha, held.flags, b.shape];
    let (config, stream) = (CONFIG, b.stream.raw());
    let ((gx, gy, gz), (bx, by, bz)) = (config.grid_dim, config.block_dim);
    let code = unsafe {
        let params = params.as_mut_ptr();
        driver.cuLaunchKernel(
            b.function.raw(),
            gx,
            gy,
            gz,
            bx,
            by,
            bz,
            0,
            stream,
            params,
            std::ptr::null_mut(),
        )
    };
    assert!(code == sys::CUresult::SUCCESS);
}

fn floor_ex(b: &mut Bench) {
    floor_with(b, &mut []);
}

/// What a way to launch is compared with: with an attribute, the same call with this attribute.
fn floor_of_launch(variant: &str) -> fn(&mut Bench) {
    match variant {
        "function-attribute" => |b| {
            let value = sys::CUlaunchAttributeValue { priority: 0 };
            floor_with(b, &mut [attribute(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PRIORITY, value)]);
        },
        "function-cluster" => |b| {
            let shape = sys::CUlaunchAttributeValue_clusterDim { x: 1, y: 1, z: 1 };
            let value = sys::CUlaunchAttributeValue { clusterDim: shape };
            floor_with(
                b,
                &mut [attribute(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value)],
            );
        },
        _ => floor,
    }
}

fn attribute(id: sys::CUlaunchAttributeID, value: sys::CUlaunchAttributeValue) -> sys::CUlaunchAttribute {
    sys::CUlaunchAttribute { id, value, ..Default::default() }
}

#[inline(always)]
fn floor_with(b: &mut Bench, attributes: &mut [sys::CUlaunchAttribute]) {
    let driver = b.function.context().driver();
    let held = &mut b.held;
    let mut params = pointers![held.a, held.b, held.c, held.n, held.alpha, held.flags, b.shape];
    let config = CONFIG;
    let raw = sys::CUlaunchConfig {
        gridDimX: config.grid_dim.0,
        gridDimY: config.grid_dim.1,
        gridDimZ: config.grid_dim.2,
        blockDimX: config.block_dim.0,
        blockDimY: config.block_dim.1,
        blockDimZ: config.block_dim.2,
        sharedMemBytes: config.shared_mem_bytes,
        hStream: b.stream.raw(),
        attrs: if attributes.is_empty() { std::ptr::null_mut() } else { attributes.as_mut_ptr() },
        numAttrs: attributes.len() as u32,
    };
    let code =
        unsafe { driver.cuLaunchKernelEx(&raw, b.function.raw(), params.as_mut_ptr(), std::ptr::null_mut()) };
    assert!(code == sys::CUresult::SUCCESS);
}

impl Bench {
    fn new(driver: &Arc<Driver>) -> Self {
        let ctx = CudaContext::with_driver(driver, 0).unwrap();
        let module = ctx.load_module(include_str!("../kernels/seven.ptx")).unwrap();
        null::set_parameters(&[8, 8, 8, 4, 4, 4, 48]);
        let function = module.load_function("seven").unwrap();
        null::set_parameters(&[8, 8, 8, 8, 8, 8, 4]);
        let slices = module.load_function("slices").unwrap();
        let typed = unsafe { kernels::from_module(module.clone()) }.unwrap();
        let stream = ctx.new_stream().unwrap();
        let buffer = || DeviceBuffer::uninit(&stream, 32).unwrap();
        let (a, b, mut c) = (buffer(), buffer(), buffer());
        let shape = Shape { extent: [1, 2, 3, 4], scale: 0.5, tag: 7 };
        let held = Held {
            a: a.cu_deviceptr(),
            b: b.cu_deviceptr(),
            c: c.cu_deviceptr(),
            n: 32,
            alpha: 2.0,
            flags: 1,
        };
        let mut builder = stream.launch_builder(&function);
        builder.arg(&a).arg(&b).arg(&mut c).arg(&32u32).arg(&2.0f32).arg(&1u32).arg(&shape);
        let prepared = builder.prepare(CONFIG).unwrap();
        let mut builder = stream.launch_builder(&function);
        builder.arg(&a).arg(&b).arg(&mut c).named("n", &32u32).named("alpha", &2.0f32);
        let named = builder.named("flags", &1u32).named("shape", &shape).prepare(CONFIG).unwrap();
        let (around, readers) = (Around::new(&stream), Readers::default());
        let owned = Some((buffer(), buffer()));
        Self {
            config: CONFIG,
            held,
            function,
            slices,
            module,
            typed,
            stream,
            a,
            b,
            c,
            shape,
            prepared,
            named,
            name: "seven".into(),
            around,
            readers,
            owned,
        }
    }
}

/// Aligns the frames of what is called from where it stands.
#[repr(align(4096))]
struct StartOfPage {
    _frame: u8,
}

fn run_loop(variant: fn(&mut Bench), n: usize) {
    // How many instructions a copy takes depends on how both ends are aligned, and the process's environment shifts the stack.
    black_box(&mut StartOfPage { _frame: 0 });
    let mut bench = Bench::new(&no_op_driver());
    for _ in 0..n {
        variant(black_box(&mut bench));
    }
}

fn count() {
    println!("{:24} {:>14} {:>12}", "variant", "driver calls", "heap calls");
    for (name, variant) in variants() {
        let mut bench = Bench::new(&no_op_driver());
        (0..16).for_each(|_| variant(&mut bench));
        let before = (DRIVER_CALLS.load(Ordering::Relaxed), HEAP_CALLS.load(Ordering::Relaxed));
        (0..1000).for_each(|_| variant(&mut bench));
        let driver = DRIVER_CALLS.load(Ordering::Relaxed) - before.0;
        let heap = HEAP_CALLS.load(Ordering::Relaxed) - before.1;
        println!("{name:24} {:>14.2} {:>12.2}", driver as f64 / 1000.0, heap as f64 / 1000.0);
    }
}

/// Most times the raw call that a launch may take on a GPU.
const LIMITS: &[(&str, f64)] =
    &[("typed", 1.02), ("builder", 1.05), ("builder-slices", 1.05), ("prepared", 1.05)];

const ROUNDS: usize = 400;
const BATCH: usize = 500;
/// For what stands around launches, most of which takes longer.
const FEWER_ROUNDS: usize = 41;
const SMALLER_BATCH: usize = 50;

/// Each round: a batch of the floor and one of the variant, order swapped every round, a wait after each batch.
fn time(names: &[&str]) {
    let driver = cuda_launch::default_driver().unwrap();
    let mut bench = Bench::new(&driver);
    println!(
        "device: {}, driver {}",
        bench.module.context().device_name().unwrap(),
        bench.module.context().driver_version()
    );
    println!("{:24} {:>9} {:>9} {:>7} {:>10} {:>6}", "variant", "ns", "floor", "x", "extra ns", "limit");
    let mut over = Vec::new();
    for (name, variant) in variants().skip(1) {
        // Machine code for sm_90, of which the emulator runs none: only where it is asked for.
        let is_asked = names.contains(name) || names.is_empty() && *name != "module-cubin";
        if !is_asked {
            continue;
        }
        let (raw, rounds, size) = match around::floor_of(name) {
            Some(raw) => (raw, FEWER_ROUNDS, SMALLER_BATCH),
            None => (floor_of_launch(name), ROUNDS, BATCH),
        };
        let (mut own, mut floors, mut extra) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..rounds {
            let (own_ns, floor_ns) = if round % 2 == 0 {
                let floor_ns = batch(&mut bench, raw, size);
                (batch(&mut bench, *variant, size), floor_ns)
            } else {
                let own_ns = batch(&mut bench, *variant, size);
                (own_ns, batch(&mut bench, raw, size))
            };
            own.push(own_ns);
            floors.push(floor_ns);
            extra.push(own_ns - floor_ns);
        }
        let (own, floor, extra) = (median(own), median(floors), median(extra));
        let ratio = own / floor;
        let limit = LIMITS.iter().find(|(of, _)| of == name).map(|(_, limit)| *limit);
        let shown = limit.map_or(String::new(), |limit| limit.to_string());
        println!("{name:24} {own:>9.0} {floor:>9.0} {ratio:>7.3} {extra:>10.0} {shown:>6}");
        over.extend(limit.filter(|limit| ratio > *limit).map(|_| *name));
    }
    assert!(over.is_empty(), "over the limit: {}", over.join(", "));
}

fn batch(bench: &mut Bench, variant: fn(&mut Bench), size: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..size {
        variant(black_box(bench));
    }
    let ns = start.elapsed().as_nanos() as f64 / size as f64;
    bench.stream.synchronize().unwrap();
    ns
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["loop", name, n] => {
            let (_, variant) = variants().find(|(v, _)| *v == name).expect("a variant");
            run_loop(*variant, n.parse().expect("a number"));
        }
        ["list"] => variants().for_each(|(name, _)| println!("{name}")),
        ["time", ref names @ ..] => time(names),
        _ => count(),
    }
}
