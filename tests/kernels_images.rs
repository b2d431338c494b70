//! The forms that kernels come in, what they print, and kernels that take their time.

#![allow(unsafe_code)] // Launches of vecadd and of kernels without memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

mod references;

use cuda_harness::{child, skipped};
use cuda_launch::sys::CUresult;
use cuda_launch::{CudaModule, DevicePtr, Error, LaunchConfig, cuda_launch};
use references::{Gpu, Random, each, line};

const PTX: &str = include_str!("../examples/kernels/vecadd.ptx");
const SM90: &[u8] = include_bytes!("kernels/vecadd_sm90.cubin");
const SM80: &[u8] = include_bytes!("kernels/vecadd_sm80.cubin");
const FATBIN: &[u8] = include_bytes!("kernels/vecadd.fatbin");
const PLAIN_FATBIN: &[u8] = include_bytes!("kernels/vecadd_plain.fatbin");
const PRINT: &str = include_str!("kernels/print.ptx");
const FAULTS: &str = include_str!("kernels/faults.ptx");

/// Whether the device runs machine code for this compute capability; the emulator runs none.
fn runs_cubins(gpu: &Gpu, major: u32) -> bool {
    !gpu.is_emulator() && gpu.ctx.limits().compute_capability.0 == major
}

fn adds(gpu: &Gpu, module: &CudaModule, what: &str) {
    let n = 1000;
    let mut random = Random::new(50);
    let (a, b) = (random.f32s(n), random.f32s(n));
    let (da, db, mut dc) = (gpu.put(&a), gpu.put(&b), gpu.zeros::<f32>(n));
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: gpu.stream,
        config: LaunchConfig::for_num_elems(n as u32), args: [slice(da), slice(db), slice_mut(dc)] }
    }
    .unwrap();
    each(&gpu.get(&dc), what, |i| a[i] + b[i]);
    // The parameter list is known whatever the image.
    let wrong = unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: gpu.stream, config: line(1, 32), args: [slice(da), 1u32] }
    };
    assert!(wrong.unwrap_err().is_argument_mismatch(), "{what}");
}

#[test]
fn text_with_and_without_nul() {
    let gpu = Gpu::new();
    adds(&gpu, &gpu.module(PTX), "PTX");
    adds(&gpu, &gpu.module([PTX.as_bytes(), b"\0"].concat()), "PTX with NUL");
}

#[test]
fn fatbins_with_ptx() {
    let gpu = Gpu::new();
    adds(&gpu, &gpu.module(PLAIN_FATBIN), "plain fatbin");
    adds(&gpu, &gpu.module(FATBIN), "compressed fatbin");
}

fn refused(gpu: &Gpu, cubin: &[u8]) -> String {
    let error: Error = gpu.ctx.load_module(cubin).unwrap_err();
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU), "{error}");
    assert!(error.is_invalid_image() && !error.is_sticky());
    error.to_string()
}

#[test]
fn a_cubin_runs_where_it_fits() {
    let gpu = Gpu::new();
    for (cubin, major, arch) in [(SM90, 9, "sm_90"), (SM80, 8, "sm_80")] {
        if runs_cubins(&gpu, major) {
            adds(&gpu, &gpu.module(cubin), arch);
            continue;
        }
        let text = refused(&gpu, cubin);
        let (have, minor) = gpu.ctx.limits().compute_capability;
        let is_named =
            text.contains(&format!("is for {arch}")) && text.contains(&format!("sm_{have}{minor}"));
        let is_advised = text.contains("emulator runs PTX only") && text.contains("help: load PTX instead");
        assert_eq!((is_named, is_advised), (!gpu.is_emulator(), gpu.is_emulator()), "{text}");
    }
}

#[test]
fn damaged_images_are_refused_before_the_driver() {
    let gpu = Gpu::new();
    for (image, len) in [(SM90, SM90.len() - 100), (SM90, 70), (FATBIN, FATBIN.len() - 1), (PLAIN_FATBIN, 20)]
    {
        let error = gpu.ctx.load_module(&image[..len]).unwrap_err();
        assert!(error.is_invalid_image() && error.code().is_none(), "{error}");
    }
    adds(&gpu, &gpu.module(PTX), "after refusals");
}

/// What a child prints that runs the test of this name up to `work`; `None` in the child itself.
fn printed(test: &str, work: impl FnOnce(&Gpu, &CudaModule)) -> Option<String> {
    if child::is_child(test) {
        let gpu = Gpu::new();
        work(&gpu, &gpu.module(PRINT));
        gpu.ctx.synchronize().unwrap();
        return None;
    }
    let ended = child::run(test).unwrap();
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    Some(ended.stdout)
}

#[test]
fn lines_of_threads_are_never_torn() {
    let printed = printed("lines_of_threads_are_never_torn", |gpu, module| {
        unsafe {
            cuda_launch! { kernel: hello, module: module, stream: gpu.stream, config: line(3, 40), args: [] }
        }
        .unwrap();
    });
    let Some(printed) = printed else { return };
    // The harness prints the beginning of a line before the first.
    let mut lines: Vec<&str> =
        printed.lines().filter_map(|line| line.find("hello").map(|at| &line[at..])).collect();
    let mut expected: Vec<String> =
        (0..120).map(|i| format!("hello from block {}, thread {}", i / 40, i % 40)).collect();
    lines.sort();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn formats() {
    let printed = printed("formats", |gpu, module| {
        unsafe {
            cuda_launch! { kernel: formats, module: module, stream: gpu.stream, config: line(1, 1),
            args: [-1234.56789f64, -5_000_000_000i64] }
        }
        .unwrap();
    });
    let Some(printed) = printed else { return };
    let expected = "\
no arguments
-1 42 42 ff FF 10
   42|42   |00042|+42| 42
-5000000000 18446744068709551616 fffffffed5fa0e00 -5000000000
-1234.567890 -1.234568e+03 -1234.57 -1234.568   -1234.57|-1234.57  |
ok text      right|left      |cu
-1 -2 100%
-0x1.34a4584f4c6e7p+10 -1234.57 -1.234568E+03
    42|-1234.57";
    // A GPU's driver (580) reads too much for %hd and does not know %.*f.
    let differs = |line: &str| !Gpu::new().is_emulator() && (line.contains("-2") || line.contains("    42|"));
    // The harness prints the beginning of a line before the first.
    let (_, printed) = printed.split_at(printed.find("no arguments").unwrap());
    for (line, expected) in printed.lines().zip(expected.lines()) {
        assert!(line == expected || differs(expected), "expected\n{expected}\nin\n{printed}");
    }
    assert!(printed.lines().count() >= expected.lines().count(), "{printed}");
}

#[test]
fn pointers_and_results() {
    let printed = printed("pointers_and_results", |gpu, module| {
        let mut out = gpu.zeros::<i32>(2);
        unsafe {
            cuda_launch! { kernel: pointer, module: module, stream: gpu.stream, config: line(1, 1),
            args: [DevicePtr::<u8>::from_raw(0x1234_5678_9abc)] }
            .unwrap();
            cuda_launch! { kernel: result, module: module, stream: gpu.stream, config: line(1, 1),
            args: [out.as_mut_device_ptr()] }
            .unwrap();
        }
        println!("returned {:?}", gpu.get(&out));
    });
    let Some(printed) = printed else { return };
    assert!(printed.contains("0x123456789abc\n") && printed.contains("1 2 3\nplain\n"), "{printed}");
    assert!(printed.contains("returned [3, 0]"), "{printed}");
}

#[test]
fn a_barrier_after_half_the_block_has_left() {
    let gpu = Gpu::new();
    let module = gpu.module(FAULTS);
    let mut out = gpu.zeros::<u32>(256);
    unsafe {
        cuda_launch! { kernel: barrier_after_exit, module: module, stream: gpu.stream, config: line(1, 256),
        args: [out.as_mut_device_ptr()] }
    }
    .unwrap();
    each(&gpu.get(&out), "barrier_after_exit", |t| (t < 128).into());
}

#[test]
fn work_that_takes_its_time_runs_beside_the_host_and_in_order() {
    let gpu = Gpu::new();
    let module = gpu.module(FAULTS);
    let (mut out, steps) = (gpu.zeros::<u32>(1), 300_000u32);
    let mut launch = |steps: u32| unsafe {
        cuda_launch! { kernel: delay, module: module, stream: gpu.stream, config: line(1, 1),
        args: [steps, out.as_mut_device_ptr()] }
        .unwrap();
    };
    // The later, shorter one writes last.
    launch(steps);
    launch(1000);
    let after =
        |steps: u32| (0..steps).fold(0u32, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    assert_eq!(gpu.get(&out), [after(1000)]);
    assert_ne!(after(1000), after(steps));
}

#[test]
fn a_stack_of_many_calls() {
    let gpu = Gpu::new();
    let module = gpu.module(FAULTS);
    let mut out = gpu.zeros::<u32>(1);
    // One frame of 1,000 bytes is what a GPU has without being asked for more.
    for depth in if gpu.is_emulator() { 0..20 } else { 0..1 } {
        unsafe {
            cuda_launch! { kernel: stack_depth, module: module, stream: gpu.stream, config: line(1, 1),
            args: [depth, out.as_mut_device_ptr()] }
        }
        .unwrap();
        assert_eq!(gpu.get(&out), [depth * (depth + 1) / 2]);
    }
}

/// The kernels that fault elsewhere, where they may access: a value is written, and read back to the next place.
#[test]
fn accesses_that_are_allowed() {
    let gpu = Gpu::new();
    let module = gpu.module(FAULTS);
    macro_rules! there_and_back {
        ($($write:ident $read:ident $value:expr;)*) => {$(
            let value = $value;
            let mut bytes = gpu.zeros::<u8>(256);
            let size = size_of_val(&value) as i64;
            let p = bytes.as_mut_device_ptr();
            unsafe {
                cuda_launch! { kernel: $write, module: module, stream: gpu.stream, config: line(1, 1),
                args: [p, 3 * size, value] }
                .unwrap();
                cuda_launch! { kernel: $read, module: module, stream: gpu.stream, config: line(1, 1),
                args: [p, 3 * size, p.wrapping_add(4 * size as u64)] }
                .unwrap();
            }
            let (size, raw) = (size as usize, &raw const value);
            let expected = unsafe { std::slice::from_raw_parts(raw.cast::<u8>(), size) };
            each(&gpu.get(&bytes), stringify!($write), |i| {
                if (3 * size..5 * size).contains(&i) { expected[i % size] } else { 0 }
            });
        )*};
    }
    there_and_back! {
        write_u8 read_u8 0xa5u8;
        write_u16 read_u16 0xa55au16;
        write_u32 read_u32 0xdead_beefu32;
        write_u64 read_u64 0x0123_4567_89ab_cdefu64;
        write_f32 read_f32 -1.5f32;
        write_uint2 read_uint2 [1u32, 0x8000_0000];
        write_uint4 read_uint4 [1u32, 2, 3, 0xffff_ffff];
    }
}

/// Not for a GPU: a kernel that waits for a copy on another stream hangs it if the copy cannot pass.
#[test]
fn a_kernel_waits_for_a_copy_on_another_stream() {
    let name = "a_kernel_waits_for_a_copy_on_another_stream";
    let gpu = Gpu::new();
    if !gpu.is_emulator() {
        return skipped("a GPU may hang");
    }
    if !child::is_child(name) {
        // A child, because it could hang forever.
        assert_eq!(child::run(name).unwrap().code, Some(0));
        return;
    }
    let module = gpu.module(FAULTS);
    let (mut flag, one) = (gpu.zeros::<u32>(1), gpu.put(&[1u32]));
    unsafe {
        cuda_launch! { kernel: spin_until, module: module, stream: gpu.stream, config: line(1, 1),
        args: [flag.as_mut_device_ptr()] }
    }
    .unwrap();
    assert!(!gpu.stream.query().unwrap(), "the kernel spins");
    // By the raw call: a copy of the crate's own would wait for the stream that used the buffer last.
    let (other, driver) = (gpu.ctx.new_stream().unwrap(), gpu.ctx.driver());
    let code = unsafe {
        driver.cuMemcpyDtoDAsync(flag.cu_deviceptr(), one.cu_deviceptr(), one.byte_len(), other.raw())
    };
    assert_eq!(code, CUresult::SUCCESS);
    gpu.stream.synchronize().unwrap();
}
