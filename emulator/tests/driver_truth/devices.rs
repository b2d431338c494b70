//! Initialisation, devices, `cuGetProcAddress`, fork.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("before_init", before_init),
    ("devices", devices),
    ("visible", visible),
    ("proc_address", proc_address),
    #[cfg(all(unix, not(miri)))]
    ("forked", forked),
    #[cfg(not(all(unix, not(miri))))]
    ("forked", |_| {}),
];

fn before_init(row: &mut Row) {
    let cuda = driver();
    let (mut number, mut pointer, mut text) = (0, null_mut(), null());
    unsafe {
        row.value("ver_before", cuda.cuDriverGetVersion(&mut number), number);
        row.code("count_before", cuda.cuDeviceGetCount(&mut number));
        row.code("errname_before", cuda.cuGetErrorName(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS, &mut text));
        row.code("curr_before", cuda.cuCtxGetCurrent(&mut pointer));
        row.code("setcurr0_before", cuda.cuCtxSetCurrent(null_mut()));
        row.code("mode_before", cuda.cuModuleGetLoadingMode(&mut CUmoduleLoadingMode(0)));
        row.code("evcreate_before", cuda.cuEventCreate(&mut null_mut(), 0));
        row.code("retain_before", cuda.cuDevicePrimaryCtxRetain(&mut pointer, 0));
        row.code("devget_before", cuda.cuDeviceGet(&mut number, 0));
        row.code("memfree0_before", cuda.cuMemFree(0));
        row.code("verNULL_before", cuda.cuDriverGetVersion(null_mut()));
        row.code("strdestroy0_before", cuda.cuStreamDestroy(null_mut()));
        row.code("init1", cuda.cuInit(1));
        row.code("init0", cuda.cuInit(0));
        row.code("again", cuda.cuInit(0));
    }
}

fn devices(row: &mut Row) {
    let cuda = cuda();
    let (mut number, mut bytes, mut text) = (0, 0, [0_i8; 64]);
    unsafe {
        row.value("count", cuda.cuDeviceGetCount(&mut number), number);
        row.code("countNULL", cuda.cuDeviceGetCount(null_mut()));
        row.code("getNULL", cuda.cuDeviceGet(null_mut(), 0));
        row.code("get-1", cuda.cuDeviceGet(&mut number, -1));
        row.code("get1", cuda.cuDeviceGet(&mut number, 1));
        row.code("namedev9", cuda.cuDeviceGetName(text.as_mut_ptr().cast(), 10, 9));
        row.code("uuid", cuda.cuDeviceGetUuid(&mut CUuuid { bytes: [0; 16] }, 0));
        row.code("uuid9", cuda.cuDeviceGetUuid(&mut CUuuid { bytes: [0; 16] }, 9));
        row.code("luid", cuda.cuDeviceGetLuid(text.as_mut_ptr().cast(), &mut 0, 0));
        row.code("totalNULL", cuda.cuDeviceTotalMem(null_mut(), 0));
        row.code("total9", cuda.cuDeviceTotalMem(&mut bytes, 9));
        let attribute = CUdevice_attribute(1);
        row.code("attrNULL", cuda.cuDeviceGetAttribute(null_mut(), attribute, 0));
        row.code("attrdev9", cuda.cuDeviceGetAttribute(&mut number, attribute, 9));
        row.code("attr999dev9", cuda.cuDeviceGetAttribute(&mut number, CUdevice_attribute(999), 9));
        row.code("pci12", cuda.cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 12, 0));
        row.code("pciNULL", cuda.cuDeviceGetPCIBusId(null_mut(), 13, 0));
        ok(cuda.cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), 13, 0));
        row.value("bypci", cuda.cuDeviceGetByPCIBusId(&mut number, text.as_ptr().cast()), number);
        row.code("bypcibad", cuda.cuDeviceGetByPCIBusId(&mut number, c"zz".as_ptr()));
        row.code("bypcinone", cuda.cuDeviceGetByPCIBusId(&mut number, c"0000:7f:1f.0".as_ptr()));
        row.code("peer00", cuda.cuDeviceCanAccessPeer(&mut number, 0, 0));
        row.code("peer01", cuda.cuDeviceCanAccessPeer(&mut number, 0, 1));
        for code in [0, 1, 700, 999, 36, 12_345] {
            let mut name = null();
            row.code(&format!("errname{code}"), cuda.cuGetErrorName(CUresult(code), &mut name));
            row.code(&format!("errstr{code}"), cuda.cuGetErrorString(CUresult(code), &mut name));
        }
    }
}

fn visible(row: &mut Row) {
    // The case runs again with the device hidden.
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "no_device", "--nocapture"])
        .env("CUDA_LAUNCH_EMULATOR_DEVICES", "0")
        .env("CUDA_VISIBLE_DEVICES", "")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for answer in text.lines().filter_map(|line| line.strip_prefix("hidden ")) {
        row.text(answer);
    }
}

pub(crate) fn hidden() {
    let cuda = driver();
    println!("\nhidden init={}", unsafe { cuda.cuInit(0) }.0);
    println!("hidden count={}", unsafe { cuda.cuDeviceGetCount(&mut 0) }.0);
}

fn proc_address(row: &mut Row) {
    let cuda = driver();
    let mut ask = |name: &std::ffi::CStr, version, flags| {
        let (mut function, mut status) = (null_mut(), CUdriverProcAddressQueryResult(9));
        let code =
            unsafe { cuda.cuGetProcAddress(name.as_ptr(), &mut function, version, flags, &mut status) };
        let label = format!("{}@{version}/{flags}", name.to_str().unwrap());
        row.value(&label, code, format!("{},{}", status.0, !function.is_null()));
    };
    for (name, version, flags) in [
        (c"cuInit", 13_000, 0),
        (c"cuInit", 2000, 0),
        (c"cuInit", 1000, 0),
        (c"cuInit", 13_050, 0),
        (c"cuMemAlloc", 13_000, 0),
        (c"cuMemAlloc", 3020, 0),
        (c"cuMemAlloc_v2", 13_000, 0),
        (c"cuNoSuch", 13_000, 0),
        (c"cuFuncGetParamCount", 13_000, 0),
        (c"cuFuncGetParamCount", 13_020, 0),
        (c"cuLaunchKernelEx", 11_050, 0),
        (c"cuLaunchKernelEx", 11_060, 0),
        (c"cuStreamSynchronize", 13_000, 1),
        (c"cuStreamSynchronize", 13_000, 4),
        (c"", 13_000, 0),
        (c"cuGetProcAddress", 13_000, 0),
        (c"cuGetProcAddress_v2", 13_000, 0),
        (c"cuDeviceGetUuid", 13_000, 0),
        (c"cuGraphInstantiate", 12_000, 0),
        (c"cuInit", 0, 0),
        (c"cuInit", -1, 0),
    ] {
        ask(name, version, flags);
    }
}

#[cfg(all(unix, not(miri)))]
fn forked(row: &mut Row) {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(code: i32) -> !;
    }
    let (cuda, _) = with_context();
    unsafe {
        let process = fork();
        if process == 0 {
            // Three codes of at most two bits each, as the exit code.
            let codes = [cuda.cuInit(0), cuda.cuMemAlloc(&mut 0, 16), cuda.cuCtxSynchronize()];
            _exit(codes.iter().fold(0, |all, code| all << 2 | code.0.min(3) as i32));
        }
        let mut status = 0;
        waitpid(process, &mut status, 0);
        let codes = status >> 8 & 0xff;
        row.text(format!("child: init={};alloc={};ctxSync={}", codes >> 4 & 3, codes >> 2 & 3, codes & 3));
        row.code("parent alloc", cuda.cuMemAlloc(&mut 0, 16));
    }
}
