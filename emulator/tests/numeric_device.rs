//! Every instruction of `numeric` on a driver, compared bit by bit with our functions.
//!
//! On the emulator, always, with few operands. On a GPU of compute capability 9.0, with many, if asked to:
//! `cargo test -p cuda-emulator --test numeric_device -- --ignored --nocapture a_gpu`. `CUDA_LAUNCH_DRIVER` may
//! name the driver's file; `NUMERIC_STRIDE` sets how densely unary `.f32` instructions are swept (4093 by
//! default). What the ISA leaves open is counted and shown, anything else that differs fails the test.
//!
//! The unsafe code calls the C functions of the driver with pointers to live locals and buffers of the sizes given.
#![allow(unsafe_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod numeric_support;
mod numeric_table;

use cuda_driver_sys::{CUresult, Driver};
use numeric_support::{F16, F32, Layout, Random};
use numeric_table::{Kind, Row, table};
use std::ffi::CString;
use std::ptr::null_mut;

/// One kernel that loads three 64-bit words per thread, runs the instruction and stores its result as one.
fn module(row: &Row) -> String {
    let register = |kind: Kind, index: usize| match kind.width() {
        1 => format!("%p{index}"),
        16 => format!("%h{index}"),
        32 => format!("%r{index}"),
        _ => format!("%x{index}"),
    };
    let mut body = row.ptx.replace("{d}", &register(row.output, 0));
    for (i, (&kind, name)) in row.inputs.iter().zip(["{a}", "{b}", "{c}"]).enumerate() {
        body = body.replace(name, &register(kind, i + 1));
    }
    let widen = match row.output.width() {
        1 => "selp.b64 %x0, 1, 0, %p0;",
        16 => "cvt.u64.u16 %x0, %h0;",
        32 => "cvt.u64.u32 %x0, %r0;",
        _ => "",
    };
    format!(
        ".version 8.1\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 operands, .param .u64 results, .param .u32 count) {{\n\
         .reg .pred %p<5>; .reg .b16 %h<5>; .reg .b32 %r<9>; .reg .b64 %x<9>;\n\
         ld.param.u64 %x4, [operands]; ld.param.u64 %x5, [results]; ld.param.u32 %r8, [count];\n\
         mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %tid.x; mad.lo.u32 %r7, %r4, %r5, %r6;\n\
         setp.ge.u32 %p4, %r7, %r8; @%p4 ret;\n\
         mul.wide.u32 %x6, %r7, 24; add.u64 %x4, %x4, %x6; mul.wide.u32 %x6, %r7, 8; add.u64 %x5, %x5, %x6;\n\
         ld.global.b64 %x1, [%x4]; ld.global.b64 %x2, [%x4+8]; ld.global.b64 %x3, [%x4+16];\n\
         cvt.u32.u64 %r1, %x1; cvt.u32.u64 %r2, %x2; cvt.u32.u64 %r3, %x3;\n\
         cvt.u16.u32 %h1, %r1; cvt.u16.u32 %h2, %r2; cvt.u16.u32 %h3, %r3;\n\
         {body}\n{widen}\nst.global.b64 [%x5], %x0;\nret;\n}}\n"
    )
}

fn specials(kind: Kind) -> Vec<u64> {
    match kind {
        Kind::Float(layout) => layout.specials(),
        Kind::Pair(layout) => {
            let all = layout.specials();
            all.iter().zip(all.iter().rev()).map(|(a, b)| a | b << 16).collect()
        }
        Kind::Int(bits) => {
            let ends = [0, 1, 2, 3, 1 << (bits - 1), (1 << (bits - 1)) - 1, u64::MAX, u64::MAX - 1];
            ends.map(|a| a & u64::MAX >> (64 - bits)).to_vec()
        }
        Kind::Amount => vec![0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, u32::MAX as u64],
        Kind::Predicate => vec![0, 1],
    }
}

fn any(kind: Kind, random: &mut Random) -> u64 {
    match kind {
        Kind::Float(layout) => layout.any(random),
        Kind::Pair(layout) => layout.any(random) | layout.any(random) << 16,
        Kind::Int(bits) => random.integer(bits),
        Kind::Amount => random.below(70),
        Kind::Predicate => random.below(2),
    }
}

/// Operands that no combination of special ones has: products that `.rn` rounds up to the smallest normal number,
/// even if the exponent had no bound, and positions and lengths that use all 32 bits.
fn edges(row: &Row) -> Vec<[u64; 3]> {
    match row.inputs[..] {
        [Kind::Float(layout), Kind::Float(_), ..] => {
            let normal = 1 << layout.fraction;
            let (a, b) = (layout.one() - normal + 1, 2 * normal - 2);
            let with_signs = |c: u64| [[a, b, c], [a | layout.sign(), b, c]];
            [0, layout.sign()].into_iter().flat_map(with_signs).collect()
        }
        [Kind::Int(bits), Kind::Amount, Kind::Amount] => {
            let amounts = [3, 255, 256, 257, 1 << 31, u32::MAX as u64 - 1, u32::MAX as u64];
            let values = [3, 1 << (bits - 1), u64::MAX >> (64 - bits)];
            let pairs = amounts.iter().flat_map(|&p| amounts.map(|n| (p, n)));
            pairs.flat_map(|(p, n)| values.map(|a| [a, p, n])).collect()
        }
        _ => Vec::new(),
    }
}

/// Special operands in all combinations (of three, every third).
fn combinations(row: &Row) -> Vec<[u64; 3]> {
    let mut all = vec![[0; 3]];
    for (i, &kind) in row.inputs.iter().enumerate() {
        let step = if row.inputs.len() == 3 { 3 } else { 1 };
        let values: Vec<u64> = specials(kind).into_iter().step_by(step).collect();
        all = all.into_iter().flat_map(|a| values.iter().map(move |&v| with(a, i, v))).collect();
    }
    all
}

/// How many operands to try.
#[derive(Clone, Copy)]
struct Amount {
    /// Random ones.
    random: usize,
    /// The step of the sweep over `.f32`.
    stride: usize,
    /// The step of the sweep over numbers of 16 bits.
    halves: usize,
}

/// The special combinations and the edges; all numbers of 16 bits; a sweep over `.f32`; and random ones, of which
/// the later operands often lie near the first.
fn operands(row: &Row, amount: Amount) -> Vec<[u64; 3]> {
    let mut all = combinations(row);
    all.extend(edges(row));
    let is = |kind: Kind, layout: Layout| matches!(kind, Kind::Float(l) if l.exponent + l.fraction == layout.exponent + layout.fraction);
    if let [kind] = row.inputs[..] {
        if kind.width() == 16 {
            all.extend((0..1 << 16).step_by(amount.halves).map(|a| [a, 0, 0]));
        }
        if is(kind, F32) {
            all.extend((0..1u64 << 32).step_by(amount.stride).map(|a| [a, 0, 0]));
        }
    }
    let mut random = Random::new(71);
    for _ in 0..amount.random {
        let mut next = [0; 3];
        for (i, &kind) in row.inputs.iter().enumerate() {
            next[i] = match kind {
                Kind::Float(layout) if i > 0 && layout.fraction >= F16.fraction => {
                    layout.near(next[i - 1], &mut random)
                }
                _ => any(kind, &mut random),
            };
        }
        all.push(next);
    }
    all
}

fn with(mut operands: [u64; 3], index: usize, value: u64) -> [u64; 3] {
    operands[index] = value;
    operands
}

fn check(result: CUresult) {
    assert_eq!(result, CUresult::SUCCESS);
}

/// What the driver computes, or why it does not take the module.
fn run(driver: &Driver, row: &Row, operands: &[[u64; 3]]) -> Result<Vec<u64>, CUresult> {
    let text = CString::new(module(row)).unwrap();
    let mut results = vec![0u64; operands.len()];
    let (mut module, mut function) = (null_mut(), null_mut());
    let (mut input, mut output) = (0, 0);
    let mut count = operands.len() as u32;
    // SAFETY: `Driver`'s duties: 1 and 2: places for results are references to locals of the right types; the text ends with a NUL, `CString`;
    // operands and results have the lengths that are passed, and so has the device memory for them; `k` has three parameters, two
    // addresses and a `u32`, to which `parameters` points in this order, and touches `count` elements of both, as `module` writes it.
    // 3: handles and addresses are what this driver gave just before, as `check` panics otherwise, and are given back once, at the end.
    unsafe {
        let loaded = driver.cuModuleLoadData(&mut module, text.as_ptr().cast());
        if loaded != CUresult::SUCCESS {
            return Err(loaded);
        }
        check(driver.cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
        check(driver.cuMemAlloc(&mut input, size_of_val(operands)));
        check(driver.cuMemAlloc(&mut output, size_of_val(&results[..])));
        check(driver.cuMemcpyHtoD(input, operands.as_ptr().cast(), size_of_val(operands)));
        let mut parameters = [(&raw mut input).cast(), (&raw mut output).cast(), (&raw mut count).cast()];
        let blocks = count.div_ceil(256);
        let arguments = parameters.as_mut_ptr();
        check(driver.cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, null_mut(), arguments, null_mut()));
        check(driver.cuMemcpyDtoH(results.as_mut_ptr().cast(), output, size_of_val(&results[..])));
        check(driver.cuMemFree(input));
        check(driver.cuMemFree(output));
        check(driver.cuModuleUnload(module));
    }
    Ok(results)
}

/// Distance in units of the last place of a float format.
fn ulps(kind: Kind, a: u64, b: u64) -> u64 {
    let Kind::Float(layout) = kind else { return u64::MAX };
    let key = |a: u64| {
        let magnitude = (a & !layout.sign()) as i128;
        if a & layout.sign() == 0 { magnitude } else { -magnitude }
    };
    match layout.is_nan(a) || layout.is_nan(b) {
        true => u64::MAX,
        false => (key(a) - key(b)).unsigned_abs() as u64,
    }
}

/// Prints how the driver's results differ from ours; true if they do not.
fn compare(row: &Row, operands: &[[u64; 3]], results: &[u64]) -> bool {
    // A result narrower than its register is extended there; what fills the rest is not ours to say.
    let mask = if let Kind::Int(bits) = row.output { u64::MAX >> (64 - bits) } else { u64::MAX };
    let pairs =
        operands.iter().zip(results).map(|(o, theirs)| (o, theirs & mask, (row.ours)(o[0], o[1], o[2])));
    let different: Vec<_> = pairs.filter(|(_, theirs, ours)| theirs != ours).collect();
    if different.is_empty() {
        return true;
    }
    let largest = different.iter().map(|&(_, theirs, ours)| ulps(row.output, theirs, ours)).max().unwrap();
    println!("DIFFERS {}: {} of {}, at most {largest} ulp", row.ptx, different.len(), operands.len());
    for (operands, theirs, ours) in different.iter().step_by(different.len().div_ceil(12)) {
        println!("    {:x?}: driver {theirs:x}, ours {ours:x}", &operands[..row.inputs.len()]);
    }
    false
}

/// Runs the whole table on a driver; panics if anything that should be the same differs.
fn run_table(driver: &Driver, amount: Amount) {
    let (mut device, mut context) = (0, null_mut());
    // SAFETY: `Driver`'s duties: 1 and 2: numbers, and places for results that are references to locals of the right types, alone and alive for
    // the call. 3: device and context are what this driver gave just before, as `check` panics otherwise; the context is never released.
    unsafe {
        check(driver.cuInit(0));
        check(driver.cuDeviceGet(&mut device, 0));
        check(driver.cuDevicePrimaryCtxRetain(&mut context, device));
        check(driver.cuCtxSetCurrent(context));
    }
    let rows = table().0;
    let mut bad = 0;
    for row in &rows {
        let operands = operands(row, amount);
        match run(driver, row, &operands) {
            Ok(results) => bad += !compare(row, &operands, &results) as usize,
            Err(error) => {
                println!("REFUSED {}: {error:?}", row.ptx);
                bad += 1;
            }
        }
    }
    println!("{} instructions, {bad} differ or were refused", rows.len());
    assert_eq!(bad, 0);
}

#[test]
#[ignore = "needs a GPU"]
fn a_gpu_gives_the_bits_that_ours_give() {
    let driver = match std::env::var("CUDA_LAUNCH_DRIVER").as_deref() {
        Ok("system") | Err(_) => Driver::system().unwrap(),
        // SAFETY: 1 and 2: whoever runs this ignored test by hand, and sets the variable, names the file of a CUDA driver: its initialisers are sound,
        // and its functions are those of `cuda.h`. That is the one thing that a program cannot check.
        Ok(path) => unsafe { Driver::open(path) }.unwrap(),
    };
    let stride = std::env::var("NUMERIC_STRIDE").ok().and_then(|stride| stride.parse().ok());
    run_table(&driver, Amount { random: 1 << 17, stride: stride.unwrap_or(4093), halves: 1 });
}

/// The emulator's engine calls our functions: this finds an instruction that is decoded as another.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn the_emulator_gives_the_bits_that_ours_give() {
    run_table(&cuda_emulator::driver(), Amount { random: 300, stride: 40_000_003, halves: 251 });
}

/// The table without a driver: our parser takes every module, and our functions take the special operands.
#[test]
fn every_module_parses() {
    for row in &table().0 {
        let text = module(row);
        let module = cuda_ptx::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", row.ptx));
        module.functions[0].statements().unwrap_or_else(|error| panic!("{}: {error}", row.ptx));
        for operands in combinations(row) {
            (row.ours)(operands[0], operands[1], operands[2]);
        }
    }
}

/// Writes every module to the folder that `NUMERIC_PTX` names, for `ptxas`.
#[test]
#[ignore = "writes files"]
fn write_modules() {
    let folder = std::path::PathBuf::from(std::env::var_os("NUMERIC_PTX").unwrap());
    for (i, row) in table().0.iter().enumerate() {
        std::fs::write(folder.join(format!("{i:03}.ptx")), module(row)).unwrap();
    }
}
