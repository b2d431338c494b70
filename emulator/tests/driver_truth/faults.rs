//! Kernels that fault, and what every call answers then.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("fault_null", |row| fault(row, "poke", 0)),
    ("fault_wild", |row| fault(row, "poke", 0x7f00_1234_5678)),
    ("fault_misaligned", |row| fault(row, "poke", 0x7f00_1234_5679)),
    ("fault_trap", |row| fault(row, "trap_", 0)),
    ("fault_brkpt", |row| fault(row, "brkpt_", 0)),
    ("fault_assert", |row| fault(row, "assert_", 0)),
    ("fault_smem", |row| fault(row, "wild_shared", 0)),
    ("misaligned", misaligned),
    ("oob_near", oob_near),
    ("own_ctx_asr", |row| own_context(row, "assert_")),
    ("own_ctx_trp", |row| own_context(row, "trap_")),
    ("after_fault", after_fault),
];

/// The kernels that fault take an address or nothing.
fn start(cuda: &Driver, module: CUmodule, name: &str, mut address: u64) -> CUresult {
    launch(cuda, function(cuda, module, name), null_mut(), &mut [argument(&mut address)])
}

fn fault(row: &mut Row, name: &str, address: u64) {
    let (cuda, _) = with_context();
    let module = load(&cuda, KERNELS);
    let (side, event, memory) = (stream(&cuda, 1), event(&cuda, 0), alloc(&cuda, 64));
    let called = Arc::new(Mutex::new(Vec::new()));
    unsafe {
        // The kernel waits, so that all is in the stream when it faults.
        let held = Busy::new(&cuda, null_mut());
        row.code("launch", start(&cuda, module, name, address));
        ok(cuda.cuEventRecord(event, null_mut()));
        let list = Arc::clone(&called);
        row.code(
            "hostfn_enq",
            host_function(&cuda, null_mut(), move || list.lock().unwrap().push("hf".to_owned())),
        );
        let list = Arc::clone(&called);
        let note = move |status: CUresult| list.lock().unwrap().push(format!("cb{}", status.0));
        row.code("addcb_enq", callback(&cuda, null_mut(), note));
        drop(held);
        row.code("sync", cuda.cuCtxSynchronize());
        // The driver's own thread may be later than this one.
        for _ in 0..2000 {
            if !called.lock().unwrap().is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        row.text(format!("called={:?}", called.lock().unwrap()).replace('"', "'"));
        row.code("evq", cuda.cuEventQuery(event));
        row.code("other stream q", cuda.cuStreamQuery(side));
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 64));
        row.code("hostfn2", host_function(&cuda, null_mut(), || {}));
        row.code("dtoh", cuda.cuMemcpyDtoH([0_u8; 64].as_mut_ptr().cast(), memory, 64));
        row.code("evdestroy", cuda.cuEventDestroy(event));
        row.code("stdestroy", cuda.cuStreamDestroy(side));
        row.code("free", cuda.cuMemFree(memory));
        row.code("unload", cuda.cuModuleUnload(module));
        row.code("ctxsync", cuda.cuCtxSynchronize());
        row.code("primaryReset", cuda.cuDevicePrimaryCtxReset(0));
        row.code("retain", cuda.cuDevicePrimaryCtxRetain(&mut null_mut(), 0));
        row.code("alloc_after", cuda.cuMemAlloc(&mut 0, 64));
    }
}

fn misaligned(row: &mut Row) {
    let (cuda, _) = with_context();
    let memory = alloc(&cuda, 64);
    row.code("launch", start(&cuda, load(&cuda, KERNELS), "poke", memory + 1));
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}

fn oob_near(row: &mut Row) {
    // Each distance needs a process of its own: the case runs again for each.
    for distance in [4096, 65_536, 32 << 20] {
        let distance = distance.to_string();
        let output = child("near", &[("CUDA_LAUNCH_TEST_DISTANCE", &distance)]);
        let text = String::from_utf8_lossy(&output.stdout);
        let code = text.lines().find_map(|line| line.strip_prefix("near ")).unwrap_or("nothing");
        row.text(format!("+{distance}={code}"));
    }
}

/// Writes behind an allocation of 4096 bytes and prints what comes of it.
pub(crate) fn near(distance: u64) {
    let (cuda, _) = with_context();
    let memory = alloc(&cuda, 4096);
    ok(start(&cuda, load(&cuda, KERNELS), "poke", memory + distance));
    println!("\nnear {}", unsafe { cuda.cuCtxSynchronize() }.0);
}

fn own_context(row: &mut Row, name: &str) {
    let cuda = cuda();
    let mut context = null_mut();
    unsafe {
        ok(cuda.cuCtxCreate(&mut context, null_mut(), 0, 0));
        row.code("launch", start(&cuda, load(&cuda, KERNELS), name, 0));
        row.code("sync", cuda.cuCtxSynchronize());
        row.code("destroy", cuda.cuCtxDestroy(context));
        row.code("create again", cuda.cuCtxCreate(&mut context, null_mut(), 0, 0));
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 64));
    }
}

fn after_fault(row: &mut Row) {
    let (cuda, context) = with_context();
    let module = load(&cuda, KERNELS);
    let (stream, event, memory) = (stream(&cuda, 0), event(&cuda, 0), alloc(&cuda, 64));
    let (nop, store) = (function(&cuda, module, "nop"), function(&cuda, module, "store"));
    let text = std::ffi::CString::new(KERNELS).unwrap();
    let image = text.as_ptr().cast();
    let (mut library, mut kernel, mut host, mut made) = (null_mut(), null_mut(), null_mut(), null_mut());
    let mut number = 0;
    unsafe {
        ok(cuda.cuMemAllocHost(&mut host, 64));
        ok(cuda.cuLibraryLoadData(&mut library, image, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0));
        ok(cuda.cuLibraryGetKernel(&mut kernel, library, c"nop".as_ptr()));
        row.code("launch", start(&cuda, module, "poke", 0x10));
        row.code("sync", cuda.cuStreamSynchronize(null_mut()));
        for (label, code) in [
            ("init", cuda.cuInit(0)),
            ("version", cuda.cuDriverGetVersion(&mut number)),
            ("count", cuda.cuDeviceGetCount(&mut number)),
            ("devattr", cuda.cuDeviceGetAttribute(&mut number, CUdevice_attribute(1), 0)),
            ("errname", cuda.cuGetErrorName(CUresult(1), &mut std::ptr::null())),
            ("getcur", cuda.cuCtxGetCurrent(&mut null_mut())),
            ("setcur", cuda.cuCtxSetCurrent(context)),
            ("push", cuda.cuCtxPushCurrent(context)),
            ("pop", cuda.cuCtxPopCurrent(&mut null_mut())),
            ("ctxdev", cuda.cuCtxGetDevice(&mut 0)),
            ("ctxflags", cuda.cuCtxGetFlags(&mut 0)),
            ("ctxver", cuda.cuCtxGetApiVersion(context, &mut 0)),
            ("ctxid", cuda.cuCtxGetId(context, &mut 0)),
            ("limit", cuda.cuCtxGetLimit(&mut 0, CUlimit(0))),
            ("prio", cuda.cuCtxGetStreamPriorityRange(&mut 0, &mut 0)),
            ("state", cuda.cuDevicePrimaryCtxGetState(0, &mut 0, &mut 0)),
            ("retain", cuda.cuDevicePrimaryCtxRetain(&mut null_mut(), 0)),
            ("release", cuda.cuDevicePrimaryCtxRelease(0)),
            ("screate", cuda.cuStreamCreate(&mut made, 0)),
            ("sflags", cuda.cuStreamGetFlags(stream, &mut 0)),
            ("sctx", cuda.cuStreamGetCtx(stream, &mut null_mut())),
            ("sq", cuda.cuStreamQuery(stream)),
            ("swait", cuda.cuStreamWaitEvent(stream, event, 0)),
            ("evcreate", cuda.cuEventCreate(&mut null_mut(), 0)),
            ("evrec", cuda.cuEventRecord(event, stream)),
            ("evq_unrec", cuda.cuEventQuery(event)),
            ("elapsed", cuda.cuEventElapsedTime(&mut 0.0, event, event)),
            ("getfn", cuda.cuModuleGetFunction(&mut null_mut(), module, c"nop".as_ptr())),
            ("getglobal", cuda.cuModuleGetGlobal(&mut 0, null_mut(), module, c"counter".as_ptr())),
            ("modload", cuda.cuModuleLoadData(&mut null_mut(), image)),
            ("mode", cuda.cuModuleGetLoadingMode(&mut CUmoduleLoadingMode(0))),
            ("fattr", cuda.cuFuncGetAttribute(&mut number, CUfunction_attribute(0), nop)),
            ("fset", cuda.cuFuncSetAttribute(nop, CUfunction_attribute(9), 50)),
            ("fparam", cuda.cuFuncGetParamInfo(store, 0, &mut 0, &mut 0)),
            ("fname", cuda.cuFuncGetName(&mut std::ptr::null(), nop)),
            ("occ", cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut number, nop, 32, 0)),
            ("launch", launch(&cuda, nop, null_mut(), &mut [])),
            ("coop", cuda.cuLaunchCooperativeKernel(nop, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut())),
            ("freehost", cuda.cuMemFreeHost(host)),
            ("meminfo", cuda.cuMemGetInfo(&mut 0, &mut 0)),
            ("range", cuda.cuMemGetAddressRange(&mut 0, &mut 0, memory)),
            ("ptrattr", {
                let kind = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
                cuda.cuPointerGetAttribute(argument(&mut 0_u64), kind, memory)
            }),
            ("memset", cuda.cuMemsetD8(memory, 0, 4)),
            ("htod0", cuda.cuMemcpyHtoD(memory, host, 0)),
            ("allocasync", cuda.cuMemAllocAsync(&mut 0, 4, stream)),
            (
                "libload",
                cuda.cuLibraryLoadData(
                    &mut null_mut(),
                    image,
                    null_mut(),
                    null_mut(),
                    0,
                    null_mut(),
                    null_mut(),
                    0,
                ),
            ),
            ("libgetk", cuda.cuLibraryGetKernel(&mut null_mut(), library, c"nop".as_ptr())),
            ("libgetm", cuda.cuLibraryGetModule(&mut null_mut(), library)),
            ("kgetf", cuda.cuKernelGetFunction(&mut null_mut(), kernel)),
            ("kname", cuda.cuKernelGetName(&mut std::ptr::null(), kernel)),
            ("nullout_alloc", cuda.cuMemAlloc(null_mut(), 4)),
            ("free0", cuda.cuMemFree(0)),
            ("launch_dim0", launch_as(&cuda, nop, [0, 1, 1], [1; 3], 0, null_mut(), null_mut(), null_mut())),
            ("otherctx", cuda.cuCtxCreate(&mut null_mut(), null_mut(), 0, 0)),
            ("ctxset0", cuda.cuCtxSetCurrent(null_mut())),
            ("alloc_noctx", cuda.cuMemAlloc(&mut 0, 4)),
        ] {
            row.code(label, code);
        }
    }
}
