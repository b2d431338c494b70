//! What `cuda-launch bind` writes for every image of the tree compiles unchanged, loads, and launches, on whichever driver is chosen.
//!
//! `build.rs` has it written. All modules are loaded, and every kernel of those that the
//! driver can run is looked up and compared with its bound parameters: PTX on the emulator, and on a GPU also the cubins of its
//! generation. The others must be refused with a typed error.
//!
//! Launched, with results compared on the host:
//!
//! | kernels | of |
//! |---|---|
//! | `vecadd` | `vecadd` and `typed` of `examples/kernels`; `vecadd` of `clang`, `debug` and `lineinfo`; `vecadd.fatbin`, `vecadd_plain.fatbin` and both cubins of `tests/kernels`; `basic.*` of `ptx/tests/data`, except LTO IR, what is relocatable, and the PTX for sm_100 |
//! | `scale` | the same `basic.*`; `examples/kernels` |
//! | `saxpy`, `transpose`, `reduce_u32`, `reduce_f32`, `scan_blocks`, `scan_add` | `examples/kernels`, `clang`, `debug`, `lineinfo` |
//! | `histogram_*`, `matmul*` | `examples/kernels`, `clang`, `lineinfo` |
//! | `fill`, `apply`, `ranks_fixed` | `examples/kernels`, `lineinfo` |
//! | `strided_copy` | `examples/kernels` |
//! | `scale_float`, `convert_float_int`, `copy_u64`, `one_u64`, `one_f64`, `none`, `step`, `branch_table` | `tests/kernels` |
//!
//! The rest is only loaded here: a part of it stops, spins or writes where it must not on purpose, and what it computes is for the
//! `kernels_*` tests.

#![allow(unsafe_code)] // Launches: arguments as the sources of the kernels tell, buffers as long as said.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

/// As the tool writes it.
#[allow(missing_docs, dead_code, unreachable_pub)]
mod bound {
    include!(concat!(env!("OUT_DIR"), "/modules.rs"));
}
#[path = "../kernel_files/mod.rs"]
mod kernel_files;
#[path = "../references/mod.rs"]
mod references;

use std::path::PathBuf;

use cuda_launch::{CudaContext, Error, ErrorKind, LaunchConfig};
use cuda_ptx::image::{Arch, Cubin, Entry, EntryKind, Image};
use references::{Gpu, Random, each, line, shape};

const N: usize = 1000;

fn threads() -> LaunchConfig {
    LaunchConfig::for_num_elems(N as u32)
}

/// The same statements for each of some modules, which must load.
macro_rules! in_each {
    ($gpu:ident, [$($module:ident)*], |$loaded:ident, $name:ident| $body:block) => {$({
        let ($loaded, $name) = (bound::$module::load(&$gpu.ctx).unwrap(), stringify!($module));
        $body
    })*};
}

/// [`in_each`] for cubins: where the device runs none of them, nothing.
macro_rules! in_each_that_runs {
    ($gpu:ident, [$($module:ident)*], |$loaded:ident, $name:ident| $body:block) => {$(
        match (bound::$module::load(&$gpu.ctx), stringify!($module)) {
            (Ok($loaded), $name) => {
                println!("runs {}", $name);
                $body
            }
            (Err(error), name) => assert!(is_refusal(&error), "{name}: {error}"),
        }
    )*};
}

/// What an image that the device does not run is answered with.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Compiler(_) | ErrorKind::Artifacts(_)) && !error.is_sticky()
}

/// Whether the device must run an image; `None` where it may, which depends on what the image is linked with.
fn must_run(ctx: &CudaContext, bytes: &[u8]) -> Option<bool> {
    let emulated = ctx.device_name().unwrap().contains("emulator");
    let (major, minor) = ctx.limits().compute_capability;
    // PTX for one architecture with all that it has is for no other.
    let compiles = |arch: Arch| match arch.suffix {
        None => (arch.major(), arch.minor()) <= (major, minor),
        Some(_) => (arch.major(), arch.minor()) == (major, minor),
    };
    match Image::read(bytes).unwrap() {
        Image::Ptx(text) => {
            let module = cuda_ptx::parse(text).unwrap();
            let arch = module.targets.first().and_then(|name| Arch::from_name(name)).unwrap();
            let whole = module.functions.iter().all(|function| function.body.is_some());
            if whole { Some(compiles(arch)) } else { (!compiles(arch)).then_some(false) }
        }
        Image::Cubin(cubin) => match cubin.arch() {
            Some(arch) if arch.runs_on(major, minor) && !emulated => {
                (!cubin.is_relocatable()).then_some(true)
            }
            _ => Some(false),
        },
        Image::Fatbin(fatbin) => {
            let answer = |entry: &Entry<'_>| match entry.kind() {
                EntryKind::Ptx => Some(compiles(entry.arch())),
                EntryKind::Cubin if emulated || !entry.arch().runs_on(major, minor) => Some(false),
                EntryKind::Cubin => (!is_relocatable(entry)?).then_some(true),
                // LTO IR.
                _ => None,
            };
            let answers: Option<Vec<bool>> = fatbin.entries().iter().map(answer).collect();
            answers.map(|answers| answers.contains(&true))
        }
        _ => None,
    }
}

/// `None` where this build of the reader cannot look into a fatbin's entry.
fn is_relocatable(entry: &Entry<'_>) -> Option<bool> {
    let content = entry.content().ok()?;
    Some(Cubin::read(&content).unwrap().is_relocatable())
}

/// The repository's folder, or that of a bundle which has the same images.
fn root() -> PathBuf {
    let package = kernel_files::root();
    if package.ends_with("tests/bound") { package.join("../..") } else { package }
}

#[test]
fn every_module_loads_where_its_image_runs() {
    let (gpu, root) = (Gpu::new(), root());
    let files = kernel_files::all(&root);
    let names: Vec<_> = files.iter().map(|path| kernel_files::name(path, &root)).collect();
    assert_eq!(names, bound::MODULES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    let emulated = gpu.ctx.device_name().unwrap().contains("emulator");
    let (mut loaded, mut refused) = (0, 0);
    for (path, (name, load)) in files.iter().zip(bound::MODULES) {
        let expected = if kernel_files::REFUSED.contains(name) && !emulated {
            Some(false)
        } else {
            must_run(&gpu.ctx, &std::fs::read(path).unwrap())
        };
        match load(&gpu.ctx) {
            Ok(()) => {
                assert_ne!(expected, Some(false), "{name}: loaded");
                loaded += 1;
            }
            Err(error) => {
                assert!(expected != Some(true) && is_refusal(&error), "{name}: {error}");
                println!("{name}: {error}");
                refused += 1;
            }
        }
    }
    println!("{loaded} modules loaded, {refused} refused");
    assert!(loaded > 70);
}

#[test]
fn vecadd_of_slices() {
    let gpu = Gpu::new();
    let (a, b) = (Random::new(1).f32s(N), Random::new(2).f32s(N));
    let (da, db) = (gpu.put(&a), gpu.put(&b));
    in_each!(gpu, [examples_kernels_vecadd_ptx examples_kernels_typed_ptx tests_kernels_clang_vecadd_ptx
        tests_kernels_debug_vecadd_ptx tests_kernels_lineinfo_vecadd_ptx tests_kernels_vecadd_fatbin
        tests_kernels_vecadd_plain_fatbin], |module, name| {
        let mut sum = gpu.zeros::<f32>(N);
        unsafe { module.vecadd(&gpu.stream, threads(), &da, &db, &mut sum) }.unwrap();
        each(&gpu.get(&sum), name, |i| a[i] + b[i]);
    });
}

/// A cubin says how large parameters are, not what they are: addresses and lengths are numbers.
#[test]
fn vecadd_of_cubins() {
    let gpu = Gpu::new();
    let (a, b, n) = (Random::new(3).f32s(N), Random::new(4).f32s(N), N as u64);
    let (da, db) = (gpu.put(&a), gpu.put(&b));
    let (pa, pb) = (da.as_device_ptr().addr(), db.as_device_ptr().addr());
    in_each_that_runs!(gpu, [tests_kernels_vecadd_sm80_cubin tests_kernels_vecadd_sm90_cubin], |module, name| {
        let mut sum = gpu.zeros::<f32>(N);
        let out = sum.as_mut_device_ptr().addr();
        unsafe { module.vecadd(&gpu.stream, threads(), pa, n, pb, n, out, n) }.unwrap();
        each(&gpu.get(&sum), name, |i| a[i] + b[i]);
    });
    in_each_that_runs!(gpu, [ptx_tests_data_basic_sm_75_cubin ptx_tests_data_basic_sm_90_cubin
        ptx_tests_data_basic_sm_90a_cubin ptx_tests_data_basic_sm_100a_cubin], |module, name| {
        let mut sum = gpu.zeros::<f32>(N);
        let out = sum.as_mut_device_ptr().addr();
        unsafe { module.vecadd(&gpu.stream, threads(), pa, pb, out, n) }.unwrap();
        each(&gpu.get(&sum), name, |i| a[i] + b[i]);
        let mut x = gpu.put(&[1.5f64; N]);
        let at = x.as_mut_device_ptr().addr();
        unsafe { module.scale(&gpu.stream, threads(), at, 2f64.to_bits(), n as u32, 1, -3i16 as u16) }.unwrap();
        each(&gpu.get(&x), name, |_| 0.0);
    });
}

/// The same source as PTX, with debug information and in fatbins.
#[test]
fn vecadd_and_scale_of_pointers() {
    let gpu = Gpu::new();
    let (a, b) = (Random::new(5).f32s(N), Random::new(6).f32s(N));
    let (da, db) = (gpu.put(&a), gpu.put(&b));
    in_each!(gpu, [ptx_tests_data_basic_ptx ptx_tests_data_basic_debug_ptx ptx_tests_data_basic_plain_fatbin
        ptx_tests_data_basic_lz4_fatbin ptx_tests_data_basic_zstd_fatbin ptx_tests_data_basic_suffixes_fatbin], |module, name| {
        let mut sum = gpu.zeros::<f32>(N);
        let (pa, pb) = (&da, &db);
        unsafe { module.vecadd(&gpu.stream, threads(), pa, pb, &mut sum, N as u64 - 1) }.unwrap();
        each(&gpu.get(&sum), name, |i| if i == N - 1 { 0.0 } else { a[i] + b[i] });
        let mut x = gpu.put(&[1.5f64; N]);
        unsafe { module.scale(&gpu.stream, threads(), &mut x, 2.0, N as i32, 1, -2) }.unwrap();
        each(&gpu.get(&x), name, |_| 1.0);
    });
}

#[test]
fn saxpy_fill_and_scale() {
    let gpu = Gpu::new();
    // Whole numbers: whether a multiplication and an addition are fused does not show.
    let x: Vec<f32> = Random::new(7).u32s(N).iter().map(|x| (x % 1000) as f32).collect();
    let n = N as u32;
    let dx = gpu.put(&x);
    in_each!(gpu, [examples_kernels_saxpy_ptx examples_kernels_typed_ptx tests_kernels_clang_saxpy_ptx
        tests_kernels_debug_saxpy_ptx tests_kernels_lineinfo_saxpy_ptx], |module, name| {
        let mut y = gpu.put(&[0.5f32; N]);
        unsafe { module.saxpy(&gpu.stream, threads(), n, 3.0, &dx, &mut y) }.unwrap();
        each(&gpu.get(&y), name, |i| 3.0 * x[i] + 0.5);
    });
    in_each!(gpu, [examples_kernels_fill_ptx tests_kernels_lineinfo_fill_ptx], |module, name| {
        let mut out = gpu.zeros::<u32>(N);
        unsafe { module.fill(&gpu.stream, threads(), &mut out, n - 1, 77) }.unwrap();
        each(&gpu.get(&out), name, |i| if i == N - 1 { 0 } else { 77 });
    });
    in_each!(gpu, [examples_kernels_scale_ptx], |module, name| {
        let mut out = gpu.zeros::<f32>(N);
        unsafe { module.scale(&gpu.stream, threads(), n, 3.0, &dx, &mut out) }.unwrap();
        each(&gpu.get(&out), name, |i| 3.0 * x[i]);
    });
    in_each!(gpu, [examples_kernels_strided_copy_ptx], |module, name| {
        let mut out = gpu.zeros::<f32>(N / 3);
        unsafe { module.strided_copy(&gpu.stream, line(2, 64), &mut out, &dx, n / 3, 3) }.unwrap();
        each(&gpu.get(&out), name, |i| x[3 * i]);
    });
}

#[test]
fn histograms() {
    let gpu = Gpu::new();
    let bytes: Vec<u8> = Random::new(8).u32s(N).into_iter().map(|x| x as u8).collect();
    let data = gpu.put(&bytes);
    let count = |bin: usize| bytes.iter().filter(|&&byte| usize::from(byte) == bin).count() as u32;
    in_each!(gpu, [examples_kernels_histogram_ptx tests_kernels_clang_histogram_ptx
        tests_kernels_lineinfo_histogram_ptx], |module, name| {
        let (mut global, mut shared) = (gpu.zeros::<u32>(256), gpu.zeros::<u32>(256));
        let (from, n) = (&data, N as u32);
        unsafe {
            module.histogram_global(&gpu.stream, line(3, 64), from, n, &mut global).unwrap();
            module.histogram_shared(&gpu.stream, line(3, 64), from, n, &mut shared).unwrap();
        }
        each(&gpu.get(&global), name, count);
        each(&gpu.get(&shared), name, count);
    });
}

#[test]
fn sums_and_prefix_sums() {
    let gpu = Gpu::new();
    let (x, n) = (Random::new(9).u32s(N), N as u32);
    // Whole numbers, so that the order of additions does not matter.
    let small: Vec<f32> = x.iter().map(|x| (x % 100) as f32).collect();
    let sum = |x: &[u32]| x.iter().fold(0u32, |sum, x| sum.wrapping_add(*x));
    let (dx, dsmall) = (gpu.put(&x), gpu.put(&small));
    in_each!(gpu, [examples_kernels_reduce_ptx tests_kernels_clang_reduce_ptx tests_kernels_debug_reduce_ptx
        tests_kernels_lineinfo_reduce_ptx], |module, name| {
        let (mut whole, mut float) = (gpu.zeros::<u32>(1), gpu.zeros::<f32>(1));
        unsafe {
            module.reduce_u32(&gpu.stream, line(1, 256), &dx, n, &mut whole).unwrap();
            module.reduce_f32(&gpu.stream, line(1, 256), &dsmall, n, &mut float).unwrap();
        }
        each(&gpu.get(&whole), name, |_| sum(&x));
        each(&gpu.get(&float), name, |_| small.iter().sum());
    });
    in_each!(gpu, [examples_kernels_scan_ptx tests_kernels_clang_scan_ptx tests_kernels_debug_scan_ptx
        tests_kernels_lineinfo_scan_ptx], |module, name| {
        let (mut out, mut sums) = (gpu.zeros::<u32>(N), gpu.zeros::<u32>(2));
        unsafe {
            module.scan_blocks(&gpu.stream, line(2, 512), &dx, &mut out, &mut sums, n).unwrap();
            module.scan_add(&gpu.stream, line(2, 512), &mut out, &sums, n).unwrap();
        }
        each(&gpu.get(&out), name, |i| sum(&x[..=i]));
    });
}

#[test]
fn matrices() {
    let gpu = Gpu::new();
    let (m, n, k) = (20, 17, 33);
    let small = |seed, len| Random::new(seed).u32s(len).iter().map(|x| (x % 16) as f32).collect::<Vec<f32>>();
    let (a, b) = (small(10, m * k), small(11, k * n));
    let (da, db) = (gpu.put(&a), gpu.put(&b));
    let (pa, pb) = (&da, &db);
    let product = |at: usize| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum::<f32>();
    in_each!(gpu, [examples_kernels_matmul_ptx tests_kernels_clang_matmul_ptx tests_kernels_lineinfo_matmul_ptx], |module, name| {
        let (mut plain, mut tiled) = (gpu.zeros::<f32>(m * n), gpu.zeros::<f32>(m * n));
        let grid = shape((2, 2, 1), (16, 16, 1));
        unsafe {
            module.matmul_naive(&gpu.stream, grid, pa, pb, &mut plain, 20, 17, 33).unwrap();
            module.matmul(&gpu.stream, grid, pa, pb, &mut tiled, 20, 17, 33).unwrap();
        }
        each(&gpu.get(&plain), name, product);
        each(&gpu.get(&tiled), name, product);
    });
    in_each!(gpu, [examples_kernels_transpose_ptx tests_kernels_clang_transpose_ptx tests_kernels_debug_transpose_ptx
        tests_kernels_lineinfo_transpose_ptx], |module, name| {
        let mut out = gpu.zeros::<f32>(m * k);
        unsafe { module.transpose(&gpu.stream, shape((2, 1, 1), (32, 8, 1)), &mut out, pa, 33, 20) }.unwrap();
        each(&gpu.get(&out), name, |at| a[at % m * k + at / m]);
    });
}

/// Structs by value are arrays of their words; a cluster that the kernel fixes is launched as it is.
#[test]
fn a_closure_and_a_cluster() {
    let gpu = Gpu::new();
    in_each!(gpu, [examples_kernels_mix_ptx tests_kernels_lineinfo_mix_ptx], |module, name| {
        let (mut out, mut ranks) = (gpu.zeros::<u32>(100), gpu.zeros::<u32>(8));
        unsafe {
            module.apply(&gpu.stream, line(4, 32), [7], &mut out).unwrap();
            module.ranks_fixed(&gpu.stream, line(8, 32), &mut ranks).unwrap();
        }
        each(&gpu.get(&out), name, |i| i as u32 + 7);
        each(&gpu.get(&ranks), name, |block| block as u32 % 4);
    });
}

#[test]
fn kernels_of_tests() {
    let gpu = Gpu::new();
    let typed = bound::tests_kernels_typed_ptx::load(&gpu.ctx).unwrap();
    let (mut x, mut to) = (gpu.put(&[2.5f32; N]), gpu.zeros::<i32>(N));
    unsafe {
        typed.scale_float(&gpu.stream, threads(), &mut x, 4.0).unwrap();
        typed.convert_float_int(&gpu.stream, threads(), &x, &mut to).unwrap();
    }
    each(&gpu.get(&to), "scale_float, convert_float_int", |_| 10);

    let memory = bound::tests_kernels_memory_ptx::load(&gpu.ctx).unwrap();
    let from: Vec<u64> = (0..N as u64).map(|i| i << 40 | i).collect();
    let (dfrom, mut copy) = (gpu.put(&from), gpu.zeros::<u64>(N));
    unsafe { memory.copy_u64(&gpu.stream, threads(), &dfrom, &mut copy, N as u32) }.unwrap();
    each(&gpu.get(&copy), "copy_u64", |i| from[i]);

    let parameters = bound::tests_kernels_parameters_ptx::load(&gpu.ctx).unwrap();
    let (mut word, mut double) = (gpu.zeros::<u64>(1), gpu.zeros::<f64>(1));
    unsafe {
        parameters.one_u64(&gpu.stream, line(1, 1), u64::MAX - 1, &mut word).unwrap();
        parameters.one_f64(&gpu.stream, line(1, 1), -0.25, &mut double).unwrap();
        parameters.none(&gpu.stream, line(1, 1)).unwrap();
    }
    assert_eq!((gpu.get(&word), gpu.get(&double)), (vec![u64::MAX - 1], vec![-0.25]));

    let ordering = bound::tests_kernels_ordering_ptx::load(&gpu.ctx).unwrap();
    let mut steps = gpu.put(&[5u32; N]);
    unsafe { ordering.step(&gpu.stream, threads(), &mut steps, 3, 7) }.unwrap();
    each(&gpu.get(&steps), "step", |_| 22);

    let branches = bound::tests_kernels_handwritten_branches_ptx::load(&gpu.ctx).unwrap();
    let mut out = gpu.zeros::<u32>(32);
    unsafe { branches.branch_table(&gpu.stream, line(1, 32), &mut out) }.unwrap();
    each(&gpu.get(&out), "branch_table", |t| 10 * (t as u32 % 4 + 1) + t as u32);
}
