//! Arguments, packet and their check against a table of Rust functions: what reaches the driver, and what does not.
//! Runs under Miri (`cargo miri test --test packet`): the table reads the packet as a driver does.

#![allow(unsafe_code)] // Launches of kernels that the table does not run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod support;

#[path = "support/rig.rs"]
mod rig;

use cuda_launch::foundation::{ArgumentList, Cons, Nil, Signature, Value};
use cuda_launch::memory::SliceParts;
use cuda_launch::{
    CudaFunction, CudaStream, DeviceBuffer, DeviceCopy, DevicePtr, DeviceSlice, DeviceSliceMut, cuda_launch,
};
use rig::{ONE, PTX, Rig, packet};
use support::{counted, expect_parameters, reset};

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
    // Each combination of types takes Miri long.
    if cfg!(miri) && trial.right >= 72 {
        return;
    }
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
    assert_eq!(trial.right, if cfg!(miri) { 72 } else { 3240 });
}

fn wrong<A: DeviceCopy, B: DeviceCopy, C: DeviceCopy>(trial: &mut Trial) {
    // Building the messages takes Miri long.
    if cfg!(miri) && trial.wrong >= 25 {
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
    assert!(trial.wrong >= if cfg!(miri) { 25 } else { 3000 }, "{}", trial.wrong);
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

#[test]
fn a_warm_launch_without_memory_asks_for_nothing() {
    let mut rig = Rig::new();
    let f = rig.kernel(&[4]);
    for shared_mem_bytes in [0, 1000, 49152] {
        let config = ONE.with_shared(shared_mem_bytes);
        let launch = || unsafe {
            cuda_launch! { function: f, stream: rig.stream, config: config, args: [1u32] }
        };
        launch().unwrap();
        reset();
        launch().unwrap();
        assert_eq!(counted(), (1, 1));
        assert_eq!(support::queries(), 0, "no cuCtxGetCurrent");
    }
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

/// Names are found again without the driver, whichever comes next; a kernel of another module is another one.
#[test]
fn kernels_of_names_that_are_known_at_run_time_are_told_apart() {
    let rig = Rig::new();
    let other = rig.stream.context().load_module(PTX).unwrap();
    let launch = |module: &cuda_launch::CudaModule, name: &str| unsafe {
        cuda_launch! { kernel: (name), module: module, stream: rig.stream, config: ONE, args: [1u32] }
    };
    let names: Vec<String> = (0..if cfg!(miri) { 20 } else { 300 }).map(|n| format!("kernel_{n}")).collect();
    expect_parameters(&[4]);
    names.iter().for_each(|name| launch(&rig.module, name).unwrap());
    // Those of the other module take something else.
    expect_parameters(&[8]);
    names.iter().for_each(|name| assert!(launch(&other, name).unwrap_err().is_argument_mismatch()));
    expect_parameters(&[4]);
    for name in names.iter().chain(names.iter().rev()) {
        reset();
        launch(&rig.module, name).unwrap();
        assert_eq!((counted(), support::queries()), ((1, 1), 0), "{name}");
        assert!(launch(&other, name).unwrap_err().is_argument_mismatch());
        let kernel = rig.module.load_function(name).unwrap();
        assert_eq!(kernel.name(), name);
    }
    for name in ["missing", "", "kernel_\0"] {
        assert!(launch(&rig.module, name).is_err());
    }
    // Found by name, and by the index that a call site remembers.
    reset();
    unsafe {
        cuda_launch! { kernel: kernel_7, module: rig.module, stream: rig.stream, config: ONE, args: [1u32] }
    }
    .unwrap();
    assert_eq!(counted(), (1, 1));
}

/// All threads get the same kernels, whoever asks first.
#[test]
fn kernels_are_looked_up_by_many_threads_at_once() {
    let rig = Rig::new();
    let names: Vec<String> = (0..40).map(|n| format!("kernel_{n}")).collect();
    let found = &|_: usize| -> Vec<usize> {
        let function = |name: &String| rig.module.load_function(name).unwrap();
        names.iter().map(|name| std::ptr::from_ref(function(name).kernel()).addr()).collect()
    };
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || found(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}
