//! Images of every form, what is in a module, and parameters on their way to a kernel.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::{CString, OsStr, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use support::*;

/// A file of the workspace's test kernels.
fn image(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/kernels").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_ptx_in_a_fatbin_is_found() {
    let (cuda, _) = with_own_context();
    for name in ["vecadd.fatbin", "vecadd_plain.fatbin"] {
        let bytes = image(name);
        let (code, error, _) = load_with_logs(&cuda, bytes.as_ptr().cast());
        assert_eq!((code, error.as_str()), (CUresult::SUCCESS, ""), "{name}");
        let mut module = null_mut();
        ok(unsafe { cuda.cuModuleLoadFatBinary(&mut module, bytes.as_ptr().cast()) });
        vecadd(&cuda, module);
    }
}

/// Compilers put a fatbin's address into a wrapper.
#[test]
fn a_wrapped_fatbin_is_found() {
    #[repr(C)]
    struct Wrapper {
        magic: u32,
        version: u32,
        data: *const u8,
        unused: *const u8,
    }
    let (cuda, _) = with_own_context();
    let bytes = image("vecadd.fatbin");
    let wrapper = Wrapper { magic: 0x4662_43b1, version: 1, data: bytes.as_ptr(), unused: std::ptr::null() };
    let mut module = null_mut();
    ok(unsafe { cuda.cuModuleLoadData(&mut module, (&raw const wrapper).cast()) });
    vecadd(&cuda, module);
}

/// Runs `vecadd` on 1000 numbers.
fn vecadd(cuda: &Driver, module: CUmodule) {
    let kernel = function(cuda, module, "vecadd");
    let floats: Vec<u8> = (0..1000).flat_map(|n| (n as f32).to_ne_bytes()).collect();
    let (mut a, mut b, mut c, mut n) = (alloc(cuda, 4000), alloc(cuda, 4000), alloc(cuda, 4000), 1000_u64);
    write(cuda, a, &floats);
    write(cuda, b, &floats);
    let length = argument(&mut n);
    let mut arguments = [argument(&mut a), length, argument(&mut b), length, argument(&mut c), length];
    let launch =
        launch_as(cuda, kernel, [4, 1, 1], [256, 1, 1], 0, null_mut(), arguments.as_mut_ptr(), null_mut());
    ok(launch);
    let sums: Vec<f32> =
        read(cuda, c, 4000).chunks(4).map(|b| f32::from_ne_bytes(b.try_into().unwrap())).collect();
    assert!(sums.iter().enumerate().all(|(index, sum)| *sum == 2.0 * index as f32));
}

#[test]
fn machine_code_is_refused_with_a_sentence() {
    let (cuda, _) = with_own_context();
    for name in ["vecadd_sm90.cubin", "vecadd_sm80.cubin"] {
        let (code, error, _) = load_with_logs(&cuda, image(name).as_ptr().cast());
        assert_eq!(code, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
        assert!(error.contains("the emulator runs PTX only") && error.contains("--explain"), "{error}");
    }
    // Other ELF files are no images.
    let mut other = image("vecadd_sm90.cubin");
    other[18] = 62;
    let (code, _, _) = load_with_logs(&cuda, other.as_ptr().cast());
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_IMAGE);
}

#[test]
fn files_are_read_no_further_than_they_go() {
    let (cuda, _) = with_own_context();
    let good = image("vecadd.fatbin");
    let address = good.as_ptr().expose_provenance() as u64;
    // What compilers put around a fatbin in a program: an address, which means nothing in a file.
    let wrapper = [0x1_4662_43b1_u64.to_le_bytes(), address.to_le_bytes(), [0; 8]].concat();
    assert_eq!(load_with_logs(&cuda, wrapper.as_ptr().cast()).0, CUresult::SUCCESS);
    let path = std::env::temp_dir().join(format!("driver_modules_cut_{}", std::process::id()));
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    for bytes in [&wrapper, &good[..good.len() - 1], &good[..10], b"\x7fELF"] {
        std::fs::write(&path, bytes).unwrap();
        let code = unsafe { cuda.cuModuleLoad(&mut null_mut(), name.as_ptr()) };
        assert_eq!(code, CUresult::CUDA_ERROR_INVALID_IMAGE, "{} bytes", bytes.len());
    }
    std::fs::remove_file(&path).unwrap();
}

/// What never ends is read up to a limit.
#[test]
#[cfg(target_os = "linux")]
fn a_device_is_no_image() {
    let (cuda, _) = with_own_context();
    let code = unsafe { cuda.cuModuleLoad(&mut null_mut(), c"/dev/zero".as_ptr()) };
    assert_eq!(code, CUresult::CUDA_ERROR_INVALID_IMAGE);
}

#[test]
fn corrupt_fatbins_are_errors() {
    let (cuda, _) = with_own_context();
    let good = image("vecadd.fatbin");
    // The length in the header is the driver's to believe, so only what stands behind it is changed.
    for at in 16..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 0xff;
        let (code, _, _) = load_with_logs(&cuda, bytes.as_ptr().cast());
        assert_ne!(code, CUresult::CUDA_ERROR_UNKNOWN, "byte {at}");
    }
}

#[test]
fn a_module_comes_from_a_file() {
    let (cuda, _) = with_own_context();
    let mut name = format!("driver_modules_{}", std::process::id()).into_bytes();
    // Names of files are any bytes there.
    name.extend(cfg!(target_os = "linux").then_some(0xff));
    // SAFETY: text, and on Linux any bytes.
    let path = std::env::temp_dir().join(unsafe { OsStr::from_encoded_bytes_unchecked(&name) });
    std::fs::write(&path, KERNELS).unwrap();
    let name = CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    let (mut module, mut library, mut kernel) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuModuleLoad(&mut module, name.as_ptr()) });
    function(&cuda, module, "nop");
    ok(unsafe {
        cuda.cuLibraryLoadFromFile(
            &mut library,
            name.as_ptr(),
            null_mut(),
            null_mut(),
            0,
            null_mut(),
            null_mut(),
            0,
        )
    });
    ok(unsafe { cuda.cuLibraryGetKernel(&mut kernel, library, c"nop".as_ptr()) });
    std::fs::remove_file(path).unwrap();
}

#[test]
fn variables_have_their_initial_values() {
    let (cuda, _) = with_own_context();
    let module = load(&cuda, KERNELS);
    let global = |name: &std::ffi::CStr| {
        let (mut address, mut bytes) = (0, 0);
        ok(unsafe { cuda.cuModuleGetGlobal(&mut address, &mut bytes, module, name.as_ptr()) });
        (address, bytes)
    };
    let words = |(address, bytes)| -> Vec<u32> {
        read(&cuda, address, bytes).chunks(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap())).collect()
    };
    assert_eq!(words(global(c"counter")), [1, 2, 3, 4]);
    assert_eq!(words(global(c"table")), [10, 11, 12, 13, 14, 15, 16, 17]);
    let (address, bytes) = global(c"counter");
    let (mut base, mut size) = (0, 0);
    ok(unsafe { cuda.cuMemGetAddressRange(&mut base, &mut size, address + 5) });
    assert_eq!((base, size), (address, bytes));
    assert_eq!(unsafe { cuda.cuMemFree(address) }, CUresult::CUDA_ERROR_INVALID_VALUE);
    write(&cuda, address, &[9; 16]);
    // Another load has variables of its own.
    let other = load(&cuda, KERNELS);
    let mut second = 0;
    ok(unsafe { cuda.cuModuleGetGlobal(&mut second, null_mut(), other, c"counter".as_ptr()) });
    assert_eq!(words((second, 16)), [1, 2, 3, 4]);
}

/// A parameter aligned over 16 bytes lies elsewhere in the packed buffer than in a C structure.
#[test]
fn both_ways_to_pass_parameters() {
    let (cuda, _) = with_own_context();
    let kernel = function(&cuda, load(&cuda, KERNELS), "aligned");
    let mut target = alloc(&cuda, 64);
    let (mut a, mut b, mut c, mut d) = (1_u32, [2_u8; 32], 3_u32, [4_u8; 64]);
    let mut arguments =
        [argument(&mut a), argument(&mut b), argument(&mut c), argument(&mut d), argument(&mut target)];
    ok(launch(&cuda, kernel, null_mut(), &mut arguments));
    assert_eq!(read(&cuda, target, 4), 3_u32.to_ne_bytes());
    let mut buffer = vec![0_u8; 512];
    let mut end = 0;
    for (index, bytes) in
        [&5_u32.to_ne_bytes()[..], &[6; 32], &7_u32.to_ne_bytes(), &[8; 64], &target.to_ne_bytes()]
            .iter()
            .enumerate()
    {
        let (mut offset, mut size) = (0, 0);
        ok(unsafe { cuda.cuFuncGetParamInfo(kernel, index, &mut offset, &mut size) });
        assert_eq!(size, bytes.len());
        buffer[offset..offset + size].copy_from_slice(bytes);
        end = offset + size;
    }
    let mut extra = [
        CU_LAUNCH_PARAM_BUFFER_POINTER,
        buffer.as_mut_ptr().cast(),
        CU_LAUNCH_PARAM_BUFFER_SIZE,
        argument(&mut end),
        CU_LAUNCH_PARAM_END,
    ];
    ok(launch_as(&cuda, kernel, [1; 3], [1; 3], 0, null_mut(), null_mut(), extra.as_mut_ptr()));
    assert_eq!(read(&cuda, target, 4), 7_u32.to_ne_bytes());
}

#[test]
fn arguments_are_copied_during_the_call() {
    let (cuda, _) = with_own_context();
    let (store, stream) = (function(&cuda, load(&cuda, KERNELS), "store"), stream(&cuda, 0));
    let held = Busy::new(&cuda, stream);
    let (mut target, mut number) = (alloc(&cuda, 4), 7_u32);
    let memory = target;
    ok(launch(&cuda, store, stream, &mut [argument(&mut target), argument(&mut number)]));
    (target, number) = (0, 8);
    drop(held);
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
    assert_eq!(read(&cuda, memory, 4), 7_u32.to_ne_bytes());
    assert_eq!((target, number), (0, 8));
}

#[test]
fn a_launch_attribute_signals_its_event() {
    let (cuda, _) = with_own_context();
    let (nop, stream) = (function(&cuda, load(&cuda, KERNELS), "nop"), stream(&cuda, 0));
    let event = event(&cuda, 2);
    let mut value = CUlaunchAttributeValue::default();
    value.launchCompletionEvent = CUlaunchAttributeValue_launchCompletionEvent { event, flags: 0 };
    let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    let mut attribute = CUlaunchAttribute { id, value, ..Default::default() };
    let config = CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        hStream: stream,
        attrs: &mut attribute,
        numAttrs: 1,
        ..Default::default()
    };
    let held = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuLaunchKernelEx(&config, nop, null_mut(), null_mut()) });
    assert_eq!(unsafe { cuda.cuEventQuery(event) }, CUresult::CUDA_ERROR_NOT_READY);
    drop(held);
    ok(unsafe { cuda.cuEventSynchronize(event) });
}

/// A kernel whose values are live at once: more than a thread of a block of 1024 can have.
fn hungry(directives: &str, values: u32) -> String {
    let all = || 0..values;
    let loads: String = all().map(|at| format!("ld.global.u32 %r{at}, [%a+{}];\n", 4 * at)).collect();
    let stores: String = all().map(|at| format!("st.global.u32 [%b+{}], %r{at};\n", 4 * at)).collect();
    format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n\
         .visible .entry hungry(.param .u64 a, .param .u64 b)\n{directives}\n{{\n.reg .b32 %r<{values}>; .reg .b64 %a, %b;\n\
         ld.param.u64 %a, [a]; ld.param.u64 %b, [b];\n{loads}bar.sync 0;\n{stores}ret;\n}}\n\
         .visible .entry small() {{ ret; }}\n"
    )
}

/// Options with these values, for a call that takes arrays.
fn jit(options: &[(CUjit_option, u32)]) -> (Vec<CUjit_option>, Vec<*mut c_void>) {
    let value = |(_, value): &(CUjit_option, u32)| std::ptr::without_provenance_mut(*value as usize);
    (options.iter().map(|(option, _)| *option).collect(), options.iter().map(value).collect())
}

/// What a module is made of, and with which options.
type Load<'a> = &'a dyn Fn(&str, &[(CUjit_option, u32)]) -> CUmodule;

fn registers(cuda: &Driver, module: CUmodule, name: &str) -> i32 {
    let mut count = 0;
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
    ok(unsafe { cuda.cuFuncGetAttribute(&mut count, attribute, function(cuda, module, name)) });
    count
}

/// A limit of registers holds whichever way the code comes, and more threads fit then.
#[test]
fn registers_are_limited_by_option_and_directive() {
    const MOST: CUjit_option = CUjit_option::CU_JIT_MAX_REGISTERS;
    const OVERRIDE: CUjit_option = CUjit_option::CU_JIT_OVERRIDE_DIRECTIVE_VALUES;
    let (cuda, _) = with_own_context();
    let load: Load = &|ptx, options| {
        let (mut ids, mut values) = jit(options);
        let (text, mut module) = (CString::new(ptx).unwrap(), null_mut());
        let count = ids.len() as u32;
        let (ids, values) = (ids.as_mut_ptr(), values.as_mut_ptr());
        ok(unsafe { cuda.cuModuleLoadDataEx(&mut module, text.as_ptr().cast(), count, ids, values) });
        module
    };
    let library: Load = &|ptx, options| {
        let (mut ids, mut values) = jit(options);
        let (text, mut library, mut module) = (CString::new(ptx).unwrap(), null_mut(), null_mut());
        let (count, text) = (ids.len() as u32, text.as_ptr().cast());
        let (ids, values) = (ids.as_mut_ptr(), values.as_mut_ptr());
        unsafe {
            ok(cuda.cuLibraryLoadData(&mut library, text, ids, values, count, null_mut(), null_mut(), 0));
            ok(cuda.cuLibraryGetModule(&mut module, library));
        }
        module
    };
    let link: Load = &|ptx, options| {
        let (mut ids, mut values) = jit(options);
        let (mut state, mut image, mut size, mut module) = (null_mut(), null_mut(), 0, null_mut());
        let data = ptx.as_ptr().cast_mut().cast();
        let kind = CUjitInputType::CU_JIT_INPUT_PTX;
        unsafe {
            ok(cuda.cuLinkCreate(ids.len() as u32, ids.as_mut_ptr(), values.as_mut_ptr(), &mut state));
            ok(cuda.cuLinkAddData(state, kind, data, ptx.len(), null(), 0, null_mut(), null_mut()));
            ok(cuda.cuLinkComplete(state, &mut image, &mut size));
            ok(cuda.cuModuleLoadData(&mut module, image));
            ok(cuda.cuLinkDestroy(state));
        }
        module
    };
    for load in [load, library, link] {
        let of = |directives: &str, options: &[(CUjit_option, u32)]| {
            registers(&cuda, load(&hungry(directives, 200), options), "hungry")
        };
        assert!(of("", &[]) > 200);
        assert!(of("", &[(MOST, 0)]) > 200, "no limit");
        assert!((1..=64).contains(&of("", &[(MOST, 64)])));
        assert!((1..=38).contains(&of("", &[(MOST, 38)])));
        assert!((1..=40).contains(&of(".maxnreg 40", &[])));
        assert!((65..=96).contains(&of(".maxnreg 96", &[(MOST, 64)])), "the kernel's own goes first");
        assert!((1..=64).contains(&of(".maxnreg 96", &[(MOST, 64), (OVERRIDE, 1)])));
        assert!(of(".maxntid 128", &[(MOST, 64)]) > 200, "and so do bounds of threads");
        assert!((1..=64).contains(&of(".maxntid 128", &[(MOST, 64), (OVERRIDE, 1)])));
        assert_eq!(of("", &[(MOST, 1)]), 24, "the least that the compiler takes");
    }
    let module = load(&hungry("", 200), &[(MOST, 64)]);
    let (mut most, hungry) = (0, function(&cuda, module, "hungry"));
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    ok(unsafe { cuda.cuFuncGetAttribute(&mut most, attribute, hungry) });
    assert_eq!(most, 1024);
    let (mut from, mut to) = (alloc(&cuda, 800), alloc(&cuda, 800));
    let numbers: Vec<u8> = (0..200_u32).flat_map(|number| (number * number).to_ne_bytes()).collect();
    write(&cuda, from, &numbers);
    let mut arguments = [argument(&mut from), argument(&mut to)];
    ok(launch_as(&cuda, hungry, [1; 3], [1024, 1, 1], 0, null_mut(), arguments.as_mut_ptr(), null_mut()));
    assert_eq!(read(&cuda, to, 800), numbers);
    assert!((1..=24).contains(&registers(&cuda, module, "small")));
}
