//! Matrix instructions on a GPU and on the emulator, bit by bit.
//!
//! `cargo test -p cuda-emulator --test matrix_device -- --ignored --nocapture` on a GPU of compute capability 9.0 compares at least a million
//! products of each form with operands of each kind; `MATRIX_PRODUCTS` sets another number. `EXACTNESS.md` has what came of it.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod matrix_support;
mod numeric_support;

use cuda_driver_sys::Driver;
use cuda_emulator::Instance;
use matrix_support::form::{Form, Kind, forms};
use matrix_support::moves::{INPUT, products, rows};
use matrix_support::{data, run};
use numeric_support::Random;
use std::ptr::null_mut;

/// The result of the GEMM in `tests/kernels`, of 256 by 256 random numbers near 1.
fn gemm(driver: &Driver) -> Vec<u8> {
    const N: usize = 256;
    let mut random = Random::new(9);
    let mut half = || (random.u64() & 0x83ff) as u16 | (11 + random.below(8) as u16) << 10;
    let factors: Vec<u8> = (0..2 * N * N).flat_map(|_| half().to_le_bytes()).collect();
    let text = include_str!("../../tests/kernels/handwritten/gemm.ptx");
    let text = std::ffi::CString::new(text).unwrap();
    let (mut module, mut function) = (null_mut(), null_mut());
    let (mut a, mut c, mut n) = (0, 0, N as u32);
    let mut results = vec![0u8; 4 * N * N];
    run::start(driver);
    // SAFETY: `Driver`'s duties: 1 and 2: places for results are references to locals of the right types; the text ends with a NUL, `CString`;
    // `factors` and `results` have the lengths that are passed, as the device memory `a` and `c`; `b` is the second half of `a`.
    // `gemm_f16` has four parameters, three addresses and a `u32`, to which `parameters` points in this order, and touches N by N numbers
    // of each. 3: handles and addresses are what this driver gave just before, as `check` panics otherwise, and are
    // given back once, at the end.
    unsafe {
        run::check(driver.cuModuleLoadData(&mut module, text.as_ptr().cast()));
        run::check(driver.cuModuleGetFunction(&mut function, module, c"gemm_f16".as_ptr()));
        run::check(driver.cuMemAlloc(&mut a, factors.len()));
        run::check(driver.cuMemAlloc(&mut c, results.len()));
        run::check(driver.cuMemcpyHtoD(a, factors.as_ptr().cast(), factors.len()));
        let mut b = a + 2 * (N * N) as u64;
        let mut parameters =
            [(&raw mut a).cast(), (&raw mut b).cast(), (&raw mut c).cast(), (&raw mut n).cast()];
        let (blocks, arguments) = (n / 64, parameters.as_mut_ptr());
        run::check(driver.cuLaunchKernel(
            function,
            blocks,
            blocks,
            1,
            128,
            1,
            1,
            0,
            null_mut(),
            arguments,
            null_mut(),
        ));
        run::check(driver.cuMemcpyDtoH(results.as_mut_ptr().cast(), c, results.len()));
        run::check(driver.cuMemFree(a));
        run::check(driver.cuMemFree(c));
        run::check(driver.cuModuleUnload(module));
    }
    results
}

/// What a comparison found.
#[derive(Default)]
struct Found {
    forms: usize,
    products: u64,
    different: u64,
}

/// Operands of one mode out of [`data::MODES`] are random bits, of another random numbers of near exponents; the others are chosen to be hard.
fn compare(gpu: &Driver, emulator: &Driver, form: &Form, products: usize, found: &mut Found) {
    let instances = (products * data::MODES).div_ceil(form.m * form.n * form.k).next_multiple_of(data::MODES);
    let operands = data::operands(form, 12, instances);
    run::start(gpu);
    let theirs = match run::results(gpu, form, &operands) {
        Ok(theirs) => theirs,
        Err(error) => return println!("{}: the GPU's driver says {error:?}", form.name),
    };
    run::start(emulator);
    let ours = run::results(emulator, form, &operands);
    let ours = ours.unwrap_or_else(|error| panic!("{}: {error:?}", form.name));
    let registers = form.registers()[3] * 32;
    let mut by_mode = [0; data::MODES];
    for (index, (a, b)) in ours.iter().zip(&theirs).enumerate() {
        if a != b {
            if by_mode.iter().sum::<u64>() < 3 {
                println!(
                    "    instance {}, register {}: {a:x}, the GPU {b:x}",
                    index / registers,
                    index % registers
                );
            }
            by_mode[index / registers % data::MODES] += 1;
        }
    }
    let different = by_mode.iter().sum::<u64>();
    let count = (instances * form.m * form.n * form.k) as u64;
    println!(
        "{}: {count} products, {different} registers differ {}",
        form.name,
        if different > 0 { format!("{by_mode:?}") } else { String::new() }
    );
    (found.forms, found.products, found.different) =
        (found.forms + 1, found.products + count, found.different + different);
}

#[test]
#[ignore = "needs a GPU"]
fn a_gpu_gives_the_bits_of_the_emulator() {
    let gpu = Driver::system().unwrap();
    let instance = Instance::new().unwrap();
    let emulator = instance.driver();
    let products_of_a_mode =
        std::env::var("MATRIX_PRODUCTS").ok().and_then(|number| number.parse().ok()).unwrap_or(1 << 20);
    let name_of = |form: &Form| match form.kind {
        Kind::Dense | Kind::Quads(..) => "mma",
        Kind::Sparse(_) => "mma.sp",
        Kind::Wmma => "wmma.mma",
    };
    let mut failed = 0;
    let mut summary = Vec::new();
    for name in ["mma", "mma.sp", "wmma.mma"] {
        let mut found = Found::default();
        for form in forms().iter().filter(|form| name_of(form) == name) {
            compare(&gpu, &emulator, form, products_of_a_mode, &mut found);
        }
        failed += found.different;
        summary.push(format!(
            "{name}: {} forms, {} products, {} registers differ",
            found.forms, found.products, found.different
        ));
    }
    let mut random = Random::new(5);
    let input: Vec<u8> = (0..INPUT).map(|_| random.u64() as u8).collect();
    let moves: Vec<_> = rows().into_iter().chain(products().iter().map(|product| product.kernel())).collect();
    let mut different = 0u64;
    for one in &moves {
        let run = |driver: &Driver| {
            run::start(driver);
            run::launch(driver, &one.text, &input, one.output, (1, 32))
        };
        let (theirs, ours) = (run(&gpu), run(&emulator));
        if theirs != ours {
            println!("{} differs, the GPU's driver {:?}", one.name, theirs.as_ref().map(|_| ()));
            different += 1;
        }
    }
    summary.push(format!(
        "ldmatrix, stmatrix, movmatrix, wmma from memory to memory: {} kernels, {different} differ",
        moves.len()
    ));
    let (theirs, ours) = (gemm(&gpu), gemm(&emulator));
    let same = theirs == ours && ours.iter().any(|byte| *byte != 0);
    summary
        .push(format!("a GEMM of halves, 256 by 256 by 256: {}", if same { "the same" } else { "differs" }));
    different += usize::from(!same) as u64;
    summary.iter().for_each(|line| println!("{line}"));
    assert_eq!(failed + different, 0);
}
