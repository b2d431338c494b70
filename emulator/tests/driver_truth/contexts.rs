//! Contexts, and objects of several contexts.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::{null, null_mut};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("no_context", no_context),
    ("primary", primary),
    ("own", own),
    ("limits", limits),
    ("contexts", contexts),
    ("cross_nocurrent", cross_nocurrent),
    ("stream_after_ctx", stream_after_ctx),
    ("stream_after_other_ctx", stream_after_other_ctx),
    ("cross_destroyed", cross_destroyed),
    ("destroyed_event", destroyed_event),
    ("destroyed_wait", destroyed_wait),
    ("destroyed_unload", destroyed_unload),
    ("destroyed_getfn", destroyed_getfn),
    ("destroyed_launch", destroyed_launch),
    ("context_double_destroy", context_double_destroy),
    ("context_destroyed_set", context_destroyed_set),
    ("reset_kills", reset_kills),
];

fn no_context(row: &mut Row) {
    let cuda = cuda();
    let (mut pointer, mut number) = (null_mut(), 0);
    unsafe {
        row.code("pop_empty", cuda.cuCtxPopCurrent(&mut pointer));
        row.code("push0", cuda.cuCtxPushCurrent(null_mut()));
        row.code("setNULL", cuda.cuCtxSetCurrent(null_mut()));
        row.code("cur", cuda.cuCtxGetCurrent(&mut pointer));
        row.code("curNULL", cuda.cuCtxGetCurrent(null_mut()));
        row.code("dev", cuda.cuCtxGetDevice(&mut number));
        row.code("sync", cuda.cuCtxSynchronize());
        row.code("ver", cuda.cuCtxGetApiVersion(null_mut(), &mut 0));
        row.code("flags", cuda.cuCtxGetFlags(&mut 0));
        row.code("limit", cuda.cuCtxGetLimit(&mut 0, CUlimit(0)));
        row.code("memfree", cuda.cuMemFree(0x1000));
        row.code("memfree0", cuda.cuMemFree(0));
        row.code("evdestroy0", cuda.cuEventDestroy(null_mut()));
        row.code("strdestroy0", cuda.cuStreamDestroy(null_mut()));
        row.code("modunload0", cuda.cuModuleUnload(null_mut()));
        row.code("streamq", cuda.cuStreamQuery(null_mut()));
        row.code("streams", cuda.cuStreamSynchronize(null_mut()));
        row.code("prio", cuda.cuCtxGetStreamPriorityRange(&mut 0, &mut 0));
        row.code("launch0", launch(&cuda, null_mut(), null_mut(), &mut []));
        row.code("memset", cuda.cuMemsetD8(0, 0, 0));
        row.code("htod0", cuda.cuMemcpyHtoD(0, null(), 0));
        row.code("memcpyHH", cuda.cuMemcpy(0, 0, 0));
        row.code("mode", cuda.cuModuleGetLoadingMode(&mut CUmoduleLoadingMode(0)));
        row.code("pinned", cuda.cuMemAllocHost(&mut null_mut(), 64));
        row.code("destroy0", cuda.cuCtxDestroy(null_mut()));
        row.code("getinfo", cuda.cuMemGetInfo(&mut 0, &mut 0));
    }
}

fn primary(row: &mut Row) {
    let cuda = cuda();
    let (mut first, mut second, mut flags, mut active) = (null_mut(), null_mut(), 0, 0);
    macro_rules! state {
        () => {{
            let code = cuda.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active);
            row.value("state", code, format!("{flags},{active}"));
        }};
    }
    unsafe {
        state!();
        row.code("setflags1", cuda.cuDevicePrimaryCtxSetFlags(0, 1));
        state!();
        row.code("setflags3", cuda.cuDevicePrimaryCtxSetFlags(0, 3));
        row.code("setflags8000", cuda.cuDevicePrimaryCtxSetFlags(0, 0x8000));
        row.code("setflags0", cuda.cuDevicePrimaryCtxSetFlags(0, 0));
        row.code("release_unretained", cuda.cuDevicePrimaryCtxRelease(0));
        row.code("reset_unretained", cuda.cuDevicePrimaryCtxReset(0));
        row.code("retainNULL", cuda.cuDevicePrimaryCtxRetain(null_mut(), 0));
        row.code("retain9", cuda.cuDevicePrimaryCtxRetain(&mut first, 9));
        row.code("retain", cuda.cuDevicePrimaryCtxRetain(&mut first, 0));
        row.value("retain2", cuda.cuDevicePrimaryCtxRetain(&mut second, 0), first == second);
        state!();
        row.code("setflags_active", cuda.cuDevicePrimaryCtxSetFlags(0, 4));
        state!();
        row.code("destroy_primary", cuda.cuCtxDestroy(first));
        row.code("set", cuda.cuCtxSetCurrent(first));
        row.value("flags", cuda.cuCtxGetFlags(&mut flags), flags);
        row.code("release", cuda.cuDevicePrimaryCtxRelease(0));
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
        row.code("release", cuda.cuDevicePrimaryCtxRelease(0));
        row.value("cur", cuda.cuCtxGetCurrent(&mut second), first == second);
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
        row.code("sync", cuda.cuCtxSynchronize());
        row.code("dev", cuda.cuCtxGetDevice(&mut 0));
        row.code("streamq", cuda.cuStreamQuery(null_mut()));
        row.code("set_released", cuda.cuCtxSetCurrent(first));
        row.code("push_released", cuda.cuCtxPushCurrent(first));
        row.code("pop", cuda.cuCtxPopCurrent(&mut second));
        row.code("release", cuda.cuDevicePrimaryCtxRelease(0));
        row.code("free_released", cuda.cuMemFree(0x1000));
        row.code("ver_released", cuda.cuCtxGetApiVersion(first, &mut flags));
        row.code("id_released", cuda.cuCtxGetId(first, &mut 0));
        row.value("retain", cuda.cuDevicePrimaryCtxRetain(&mut second, 0), first == second);
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
        row.code("reset", cuda.cuDevicePrimaryCtxReset(0));
        state!();
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
        row.code("release", cuda.cuDevicePrimaryCtxRelease(0));
        row.value("retain", cuda.cuDevicePrimaryCtxRetain(&mut second, 0), first == second);
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
    }
}

fn own(row: &mut Row) {
    let cuda = cuda();
    let (mut a, mut b, mut found) = (null_mut(), null_mut(), null_mut());
    let create = |context: *mut CUcontext, flags, device| unsafe {
        cuda.cuCtxCreate(context, null_mut(), flags, device)
    };
    unsafe {
        row.code("createNULL", create(null_mut(), 0, 0));
        row.code("dev9", create(&mut a, 0, 9));
        row.code("flags3", create(&mut a, 3, 0));
        row.code("flags1000", create(&mut a, 0x1000, 0));
        row.code("c1", create(&mut a, 0, 0));
        row.code("c2", create(&mut b, 0, 0));
        row.code("push1", cuda.cuCtxPushCurrent(a));
        row.code("destroy2_inside", cuda.cuCtxDestroy(b));
        row.value("pop", cuda.cuCtxPopCurrent(&mut found), found == a);
        row.value("cur", cuda.cuCtxGetCurrent(&mut found), found == b);
        row.code("alloc", cuda.cuMemAlloc(&mut 0, 16));
        row.code("sync", cuda.cuCtxSynchronize());
        row.value("pop", cuda.cuCtxPopCurrent(&mut found), found == b);
        row.value("cur", cuda.cuCtxGetCurrent(&mut found), found == a);
        row.code("destroy_cur", cuda.cuCtxDestroy(a));
        row.value("cur", cuda.cuCtxGetCurrent(&mut found), found.is_null());
    }
}

fn limits(row: &mut Row) {
    let (cuda, _) = with_context();
    for limit in 0..12 {
        let mut value = 77;
        let code = unsafe { cuda.cuCtxGetLimit(&mut value, CUlimit(limit)) };
        row.value(&format!("limit{limit}"), code, value);
    }
    for (limit, value) in [
        (0, 4096),
        (0, 10),
        (0, 1 << 20),
        (1, 1 << 21),
        (1, 5),
        (2, 1 << 24),
        (3, 3),
        (4, 100),
        (5, 64),
        (5, 200),
        (6, 1 << 20),
        (6, 1 << 40),
        (7, 1),
        (8, 1),
        (9, 1),
        (20, 1),
    ] {
        let code = unsafe { cuda.cuCtxSetLimit(CUlimit(limit), value) };
        let mut now = 0;
        let _ = unsafe { cuda.cuCtxGetLimit(&mut now, CUlimit(limit)) };
        row.value(&format!("set{limit}:{value}"), code, now);
    }
}

/// Two contexts, the second one current, with a stream and an event each, and a module of the first.
struct Two {
    cuda: std::sync::Arc<Driver>,
    a: CUcontext,
    module: CUmodule,
    memory: CUdeviceptr,
    streams: [CUstream; 2],
    events: [CUevent; 2],
}

fn two() -> Two {
    let cuda = cuda();
    let (mut a, mut b) = (null_mut(), null_mut());
    ok(unsafe { cuda.cuCtxCreate(&mut a, null_mut(), 0, 0) });
    let (module, memory) = (load(&cuda, KERNELS), alloc(&cuda, 64));
    let (stream_a, event_a) = (stream(&cuda, 0), event(&cuda, 0));
    ok(unsafe { cuda.cuCtxCreate(&mut b, null_mut(), 0, 0) });
    let (stream_b, event_b) = (stream(&cuda, 0), event(&cuda, 0));
    Two { cuda, a, module, memory, streams: [stream_a, stream_b], events: [event_a, event_b] }
}

fn contexts(row: &mut Row) {
    let cuda = driver();
    row.code("before init: alloc", unsafe { cuda.cuMemAlloc(&mut 0, 16) });
    let Two { cuda, module, memory, streams: [stream_a, stream_b], events: [event_a, event_b], a } = two();
    unsafe {
        row.code("dev99", cuda.cuDeviceGet(&mut 0, 99));
        let other = std::thread::scope(|scope| scope.spawn(|| cuda.cuMemAlloc(&mut 0, 16)).join().unwrap());
        row.code("alloc on thread without ctx", other);
        let nop = function(&cuda, module, "nop");
        row.code("fn ctx1 on stream ctx2", launch(&cuda, nop, stream_b, &mut []));
        row.code("fn ctx1, null stream, ctx2 current", launch(&cuda, nop, null_mut(), &mut []));
        row.code("fn ctx1 on stream ctx1, ctx2 current", launch(&cuda, nop, stream_a, &mut []));
        row.code("event ctx1 rec stream ctx2", cuda.cuEventRecord(event_a, stream_b));
        row.code("stream ctx2 waits event ctx1", cuda.cuStreamWaitEvent(stream_b, event_a, 0));
        row.code(
            "getfunction ctx2 current",
            cuda.cuModuleGetFunction(&mut null_mut(), module, c"nop".as_ptr()),
        );
        row.code("rec_e2_s1", cuda.cuEventRecord(event_b, stream_a));
        row.code("el", cuda.cuEventElapsedTime(&mut 0.0, event_a, event_b));
        let mut host = [0_u8; 64];
        row.code("htod_other_ctx_mem", cuda.cuMemcpyHtoD(memory, host.as_mut_ptr().cast(), 64));
        row.code("memset", cuda.cuMemsetD8Async(memory, 0, 64, stream_b));
        row.code("free", cuda.cuMemFree(memory));
        row.code("destroy", cuda.cuCtxDestroy(a));
    }
}

fn cross_nocurrent(row: &mut Row) {
    let Two { cuda, module, memory, streams: [stream_a, stream_b], events: [event_a, _], .. } = two();
    let nop = function(&cuda, module, "nop");
    let mut host = [0_u8; 64];
    let host = host.as_mut_ptr().cast();
    unsafe {
        row.code("pop", cuda.cuCtxPopCurrent(null_mut()));
        row.code("pop", cuda.cuCtxPopCurrent(null_mut()));
        row.code("launch_s1", launch(&cuda, nop, stream_a, &mut []));
        row.code("launch_null", launch(&cuda, nop, null_mut(), &mut []));
        row.code("ssync", cuda.cuStreamSynchronize(stream_a));
        row.code("sq", cuda.cuStreamQuery(stream_a));
        row.code("rec", cuda.cuEventRecord(event_a, stream_a));
        row.code("evsync", cuda.cuEventSynchronize(event_a));
        row.code("wait", cuda.cuStreamWaitEvent(stream_a, event_a, 0));
        row.code("htodasync", cuda.cuMemcpyHtoDAsync(memory, host, 64, stream_a));
        row.code("memsetasync", cuda.cuMemsetD8Async(memory, 0, 64, stream_a));
        row.code("dtoh", cuda.cuMemcpyDtoH(host, memory, 64));
        row.code("fattr", cuda.cuFuncGetAttribute(&mut 0, CUfunction_attribute(0), nop));
        row.code("fset", cuda.cuFuncSetAttribute(nop, CUfunction_attribute(9), 50));
        row.code("getfn", cuda.cuModuleGetFunction(&mut null_mut(), module, c"nop".as_ptr()));
        row.code("getglobal", cuda.cuModuleGetGlobal(&mut 0, null_mut(), module, c"counter".as_ptr()));
        row.code("occ", cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut 0, nop, 32, 0));
        let kind = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        row.code("ptr", cuda.cuPointerGetAttribute(argument(&mut 0_u64), kind, memory));
        row.code("range", cuda.cuMemGetAddressRange(&mut 0, &mut 0, memory));
        row.code("sflags", cuda.cuStreamGetFlags(stream_a, &mut 0));
        row.code("sctx", cuda.cuStreamGetCtx(stream_a, &mut null_mut()));
        row.code("el", cuda.cuEventElapsedTime(&mut 0.0, event_a, event_a));
        row.code("evcreate", cuda.cuEventCreate(&mut null_mut(), 0));
        row.code("free", cuda.cuMemFree(memory));
        row.code("unload", cuda.cuModuleUnload(module));
        row.code("evdestroy", cuda.cuEventDestroy(event_a));
        row.code("sdestroy", cuda.cuStreamDestroy(stream_a));
        row.code("freehost", cuda.cuMemFreeHost(std::ptr::without_provenance_mut(0x1000)));
        row.code("allocasync", cuda.cuMemAllocAsync(&mut 0, 4, stream_b));
        row.code("freeasync", cuda.cuMemFreeAsync(0x1000, stream_b));
    }
}

fn stream_after_ctx(row: &mut Row) {
    let cuda = cuda();
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let stream = stream(&cuda, 0);
    ok(unsafe { cuda.cuCtxDestroy(context) });
    row.code("sync stream of destroyed ctx", unsafe { cuda.cuStreamSynchronize(stream) });
}

fn stream_after_other_ctx(row: &mut Row) {
    destroyed(row, |row, two| row.code("sync", unsafe { two.cuda.cuStreamSynchronize(two.streams[0]) }));
}

fn cross_destroyed(row: &mut Row) {
    destroyed(row, |row, two| unsafe {
        row.code("free", two.cuda.cuMemFree(two.memory));
        row.code("htod", two.cuda.cuMemcpyHtoD(two.memory, [0_u8; 64].as_ptr().cast(), 64));
        row.code("evq", two.cuda.cuEventQuery(two.events[0]));
    });
}

// What a driver answers for handles that are none depends on what was done before: each is asked alone.

fn destroyed_event(row: &mut Row) {
    destroyed(row, |row, two| row.code("evdestroy", unsafe { two.cuda.cuEventDestroy(two.events[0]) }));
}

fn destroyed_wait(row: &mut Row) {
    destroyed(row, |row, two| {
        row.code("wait", unsafe { two.cuda.cuStreamWaitEvent(two.streams[1], two.events[0], 0) });
    });
}

fn destroyed_unload(row: &mut Row) {
    destroyed(row, |row, two| row.code("unload", unsafe { two.cuda.cuModuleUnload(two.module) }));
}

fn destroyed_getfn(row: &mut Row) {
    destroyed(row, |row, two| {
        let name = c"nop".as_ptr();
        row.code("getfn", unsafe { two.cuda.cuModuleGetFunction(&mut null_mut(), two.module, name) });
    });
}

fn destroyed_launch(row: &mut Row) {
    let two = two();
    let nop = function(&two.cuda, two.module, "nop");
    row.code("destroy1", unsafe { two.cuda.cuCtxDestroy(two.a) });
    row.code("launch", launch(&two.cuda, nop, null_mut(), &mut []));
}

fn destroyed(row: &mut Row, ask: impl FnOnce(&mut Row, &Two)) {
    let two = two();
    row.code("destroy1", unsafe { two.cuda.cuCtxDestroy(two.a) });
    ask(row, &two);
}

fn context_double_destroy(row: &mut Row) {
    let cuda = cuda();
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    row.code("d1", unsafe { cuda.cuCtxDestroy(context) });
    row.code("d2", unsafe { cuda.cuCtxDestroy(context) });
}

fn context_destroyed_set(row: &mut Row) {
    let cuda = cuda();
    let mut context = null_mut();
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    row.code("d1", unsafe { cuda.cuCtxDestroy(context) });
    row.code("set", unsafe { cuda.cuCtxSetCurrent(context) });
    row.code("alloc", unsafe { cuda.cuMemAlloc(&mut 0, 16) });
}

fn reset_kills(row: &mut Row) {
    let (cuda, context) = with_context();
    let (memory, event) = (alloc(&cuda, 64), event(&cuda, 0));
    unsafe {
        row.code("reset", cuda.cuDevicePrimaryCtxReset(0));
        row.code("retain", cuda.cuDevicePrimaryCtxRetain(&mut null_mut(), 0));
        row.code("set", cuda.cuCtxSetCurrent(context));
        row.code("free", cuda.cuMemFree(memory));
        row.code("evq", cuda.cuEventQuery(event));
        row.code("evdestroy", cuda.cuEventDestroy(event));
    }
}
