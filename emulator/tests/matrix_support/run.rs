//! Kernels of one matrix instruction, and what a driver computes with them.
//!
//! The unsafe code calls the C functions of the driver with pointers to live locals and buffers of the sizes given.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::ptr::null_mut;

use cuda_driver_sys::{CUresult, Driver};

use super::data::inputs;
use super::form::{Form, Kind};

pub const HEADER: &str = ".version 9.0\n.target sm_90\n.address_size 64\n";

/// A kernel whose blocks of one warp each load their registers, run the instruction and store the result.
pub fn module(form: &Form) -> String {
    let width = form.width();
    let ty = format!("b{}", 8 * width);
    let [a, b, c, d] = form.registers();
    let mut text = format!(
        "{HEADER}.visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %t<3>; .reg .b64 %p<4>;\n\
         .reg .{ty} %a<{a}>; .reg .{ty} %b<{b}>; .reg .{ty} %c<{c}>; .reg .{ty} %d<{d}>; .reg .{ty} %e<1>;\n\
         mov.u32 %t0, %tid.x; mov.u32 %t1, %ctaid.x; ld.param.u64 %p0, [in]; ld.param.u64 %p1, [out];\n\
         mul.wide.u32 %p2, %t0, {width}; add.u64 %p0, %p0, %p2; add.u64 %p1, %p1, %p2;\n\
         mul.wide.u32 %p2, %t1, {}; add.u64 %p0, %p0, %p2; mul.wide.u32 %p2, %t1, {}; add.u64 %p1, %p1, %p2;\n",
        inputs(form) * 32 * width,
        d * 32 * width,
    );
    let mut offset = 0;
    for (name, count) in [("a", a), ("b", b), ("c", c), ("e", inputs(form) - a - b - c)] {
        for index in 0..count {
            text += &format!("ld.global.{ty} %{name}{index}, [%p0+{offset}];\n");
            offset += 32 * width;
        }
    }
    let list = |name: &str, count| {
        let names: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let (la, lb, lc, ld) = (list("a", a), list("b", b), list("c", c), list("d", d));
    let end =
        if let Kind::Sparse(selector) = form.kind { format!(", %e0, {selector}") } else { String::new() };
    text += &format!("{} {ld}, {la}, {lb}, {lc}{end};\n", form.name);
    for index in 0..d {
        text += &format!("st.global.{ty} [%p1+{}], %d{index};\n", index * 32 * width);
    }
    text + "ret;\n}\n"
}

pub fn check(result: CUresult) {
    assert_eq!(result, CUresult::SUCCESS);
}

/// Makes the first device of a driver current.
pub fn start(driver: &Driver) {
    let (mut device, mut context) = (0, null_mut());
    // SAFETY: `Driver`'s duties: 1 and 2: numbers, and places for results that are references to locals of the right types, alone and alive for
    // the call. 3: device and context are what this driver gave just before, as `check` panics otherwise; the context is never released.
    unsafe {
        check(driver.cuInit(0));
        check(driver.cuDeviceGet(&mut device, 0));
        check(driver.cuDevicePrimaryCtxRetain(&mut context, device));
        check(driver.cuCtxSetCurrent(context));
    }
}

/// Runs kernel `k(in, out)` of a module over so many blocks of so many threads: what it leaves in `out`, or why the module was not taken.
pub fn launch(
    driver: &Driver,
    text: &str,
    input: &[u8],
    output: usize,
    (blocks, threads): (u32, u32),
) -> Result<Vec<u8>, CUresult> {
    let text = CString::new(text).unwrap();
    let (mut module, mut function) = (null_mut(), null_mut());
    let (mut source, mut target) = (0, 0);
    let mut results = vec![0u8; output];
    // SAFETY: `Driver`'s duties: 1 and 2: places for results are references to locals of the right types; the text ends with a NUL, `CString`;
    // `input` and `results` have the lengths that are passed, and so has the device memory beside them, at least; both parameters of `k`
    // are addresses, and `parameters` points to two, for the call; if it goes beyond the memory, that is a fault of the device, which the
    // copy after it reports. 3: handles and addresses are what this driver gave just before, as `check` panics otherwise, and are given
    // back once, at the end.
    unsafe {
        let loaded = driver.cuModuleLoadData(&mut module, text.as_ptr().cast());
        if loaded != CUresult::SUCCESS {
            return Err(loaded);
        }
        check(driver.cuModuleGetFunction(&mut function, module, c"k".as_ptr()));
        check(driver.cuMemAlloc(&mut source, input.len().max(16)));
        check(driver.cuMemAlloc(&mut target, output));
        check(driver.cuMemcpyHtoD(source, input.as_ptr().cast(), input.len()));
        check(driver.cuMemsetD8(target, 0xee, output));
        let mut parameters = [(&raw mut source).cast(), (&raw mut target).cast()];
        let arguments = parameters.as_mut_ptr();
        check(driver.cuLaunchKernel(
            function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            null_mut(),
            arguments,
            null_mut(),
        ));
        check(driver.cuMemcpyDtoH(results.as_mut_ptr().cast(), target, output));
        check(driver.cuMemFree(source));
        check(driver.cuMemFree(target));
        check(driver.cuModuleUnload(module));
    }
    Ok(results)
}

/// The registers of D of all instances.
pub fn results(driver: &Driver, form: &Form, operands: &[u64]) -> Result<Vec<u64>, CUresult> {
    let width = form.width();
    let input: Vec<u8> =
        operands.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect();
    let count = operands.len() / (inputs(form) * 32);
    let output = count * form.registers()[3] * 32 * width;
    let bytes = launch(driver, &module(form), &input, output, (count as u32, 32))?;
    Ok(bytes.chunks(width).map(number).collect())
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
