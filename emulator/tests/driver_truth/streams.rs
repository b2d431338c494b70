//! Streams, callbacks, the legacy stream's order.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use crate::support::*;
use crate::{Case, Row};

pub(crate) const CASES: &[(&str, Case)] = &[
    ("streams", streams),
    ("hostfn_reenter", hostfn_reenter),
    ("hostfn", hostfn),
    ("legacy", legacy),
    ("stream_destroy_busy", stream_destroy_busy),
];

fn streams(row: &mut Row) {
    let (cuda, context) = with_context();
    let (mut made, mut flags, mut priority, mut found) = (null_mut(), 0, 0, null_mut());
    unsafe {
        row.code("createNULL", cuda.cuStreamCreate(null_mut(), 0));
        row.code("flags2", cuda.cuStreamCreate(&mut made, 2));
        row.code("create", cuda.cuStreamCreate(&mut made, 0));
        row.value("flags", cuda.cuStreamGetFlags(made, &mut flags), flags);
        let other = stream(&cuda, 1);
        row.value("flagsNB", cuda.cuStreamGetFlags(other, &mut flags), flags);
        for handle in 0..3 {
            let default = std::ptr::without_provenance_mut(handle);
            row.value(&format!("flags_h{handle}"), cuda.cuStreamGetFlags(default, &mut flags), flags);
            row.value(&format!("prio_h{handle}"), cuda.cuStreamGetPriority(default, &mut priority), priority);
            row.value(&format!("ctx_h{handle}"), cuda.cuStreamGetCtx(default, &mut found), found == context);
            row.code(&format!("q_h{handle}"), cuda.cuStreamQuery(default));
            row.code(&format!("sync_h{handle}"), cuda.cuStreamSynchronize(default));
            let mut capture = CUstreamCaptureStatus(9);
            row.value(&format!("cap_h{handle}"), cuda.cuStreamIsCapturing(default, &mut capture), capture.0);
        }
        row.code("flagsNULL", cuda.cuStreamGetFlags(made, null_mut()));
        row.code("idNULL", cuda.cuStreamGetId(made, null_mut()));
        row.code("capNULL", cuda.cuStreamIsCapturing(made, null_mut()));
        for asked in [-99, -5, -3, 0, 3, 99] {
            let code = cuda.cuStreamCreateWithPriority(&mut found.cast(), 0, asked);
            let mut with = null_mut();
            ok(cuda.cuStreamCreateWithPriority(&mut with, 0, asked));
            ok(cuda.cuStreamGetPriority(with, &mut priority));
            row.value(&format!("prio{asked}"), code, priority);
        }
        row.code("prioflags2", cuda.cuStreamCreateWithPriority(&mut made, 2, 0));
        let made = stream(&cuda, 0);
        row.code("wait_flags1", cuda.cuStreamWaitEvent(made, null_mut(), 1));
        let event = event(&cuda, 0);
        row.code("wait0", cuda.cuStreamWaitEvent(made, event, 0));
        row.code("waitNULL", cuda.cuStreamWaitEvent(made, null_mut(), 0));
        row.code("waitext", cuda.cuStreamWaitEvent(made, event, 1));
        row.code("wait2", cuda.cuStreamWaitEvent(made, event, 2));
        row.code("waitlegacy", cuda.cuStreamWaitEvent(null_mut(), event, 0));
        row.code("addcbNULL", cuda.cuStreamAddCallback(made, None, null_mut(), 0));
        row.code("hostfnNULL", cuda.cuLaunchHostFunc(made, None, null_mut()));
        row.code("destroy_h1", cuda.cuStreamDestroy(CU_STREAM_LEGACY));
        row.code("destroy_h2", cuda.cuStreamDestroy(CU_STREAM_PER_THREAD));
        row.code("destroy0", cuda.cuStreamDestroy(null_mut()));
        for id in 0..12 {
            let mut value = CUlaunchAttributeValue::default();
            let code = cuda.cuStreamGetAttribute(made, CUlaunchAttributeID(id), &mut value);
            row.code(&format!("sattr{id}"), code);
        }
        let policy = |value| CUlaunchAttributeValue { syncPolicy: CUsynchronizationPolicy(value) };
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
        row.code("setattr3", cuda.cuStreamSetAttribute(made, id, &policy(2)));
        row.code("setattr3:9", cuda.cuStreamSetAttribute(made, id, &policy(9)));
        let id = CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        row.code("setattr2", cuda.cuStreamSetAttribute(made, id, &policy(1)));
        row.code("copyattr", cuda.cuStreamCopyAttributes(other, made));
    }
}

/// Runs `ask` in a host function of a stream, and waits; the answers, then the code of the wait.
fn in_host_function(
    cuda: &Arc<Driver>,
    stream: CUstream,
    ask: impl FnOnce(&Driver) -> Vec<(&'static str, CUresult)> + Send + 'static,
) -> Vec<(&'static str, CUresult)> {
    let answers = Arc::new(Mutex::new(Vec::new()));
    let (inner, driver) = (Arc::clone(&answers), Arc::clone(cuda));
    ok(host_function(cuda, stream, move || *inner.lock().unwrap() = ask(&driver)));
    let sync = unsafe { cuda.cuStreamSynchronize(stream) };
    let mut answers = std::mem::take(&mut *answers.lock().unwrap());
    answers.push(("sync", sync));
    answers
}

fn hostfn_reenter(row: &mut Row) {
    let (cuda, _) = with_context();
    let stream = stream(&cuda, 0);
    let handle = stream.addr();
    let answers = in_host_function(&cuda, stream, move |cuda| unsafe {
        let stream = std::ptr::without_provenance_mut(handle);
        vec![("alloc in hostfn", cuda.cuMemAlloc(&mut 0, 4)), ("query", cuda.cuStreamQuery(stream))]
    });
    answers.iter().for_each(|(label, code)| row.code(label, *code));
}

fn hostfn(row: &mut Row) {
    let (cuda, context) = with_context();
    let (first, second, event) = (stream(&cuda, 0), stream(&cuda, 0), event(&cuda, 0));
    let module = load(&cuda, KERNELS);
    let nop = function(&cuda, module, "nop");
    let memory = alloc(&cuda, 64);
    let handles = [first.addr(), second.addr(), event.addr(), module.addr(), nop.addr(), context.addr()];
    let answers = in_host_function(&cuda, first, move |cuda| unsafe {
        let [first, second, event, module, nop, context] = handles;
        let (first, second) =
            (std::ptr::without_provenance_mut(first), std::ptr::without_provenance_mut(second));
        let (event, module) =
            (std::ptr::without_provenance_mut(event), std::ptr::without_provenance_mut(module));
        let (nop, context) =
            (std::ptr::without_provenance_mut(nop), std::ptr::without_provenance_mut(context));
        let (mut number, mut pointer, mut bytes) = (0, null_mut(), [0_u8; 4]);
        vec![
            ("getcur", cuda.cuCtxGetCurrent(&mut pointer)),
            ("version", cuda.cuDriverGetVersion(&mut number)),
            ("count", cuda.cuDeviceGetCount(&mut number)),
            ("attr", cuda.cuDeviceGetAttribute(&mut number, CUdevice_attribute(1), 0)),
            ("errname", cuda.cuGetErrorName(CUresult(1), &mut std::ptr::null())),
            ("setcur", cuda.cuCtxSetCurrent(context)),
            ("alloc", cuda.cuMemAlloc(&mut 0, 4)),
            ("free", cuda.cuMemFree(memory)),
            ("launch", launch(cuda, nop, second, &mut [])),
            ("streamq", cuda.cuStreamQuery(first)),
            ("streamq2", cuda.cuStreamQuery(second)),
            ("ssync", cuda.cuStreamSynchronize(second)),
            ("evq", cuda.cuEventQuery(event)),
            ("evcreate", cuda.cuEventCreate(&mut null_mut(), 0)),
            ("evrec", cuda.cuEventRecord(event, second)),
            ("evsync", cuda.cuEventSynchronize(event)),
            ("screate", cuda.cuStreamCreate(&mut null_mut(), 0)),
            ("htod", cuda.cuMemcpyHtoD(memory, bytes.as_mut_ptr().cast(), 4)),
            ("htodasync", cuda.cuMemcpyHtoDAsync(memory, bytes.as_mut_ptr().cast(), 4, second)),
            ("memset", cuda.cuMemsetD8Async(memory, 0, 4, second)),
            ("meminfo", cuda.cuMemGetInfo(&mut 0, &mut 0)),
            ("fattr", cuda.cuFuncGetAttribute(&mut number, CUfunction_attribute(0), nop)),
            ("getfn", cuda.cuModuleGetFunction(&mut null_mut(), module, c"nop".as_ptr())),
            ("ctxsync", cuda.cuCtxSynchronize()),
            ("pinned", cuda.cuMemAllocHost(&mut null_mut(), 4)),
            ("hostfn", host_function(cuda, second, || {})),
            ("init", cuda.cuInit(0)),
            ("retain", cuda.cuDevicePrimaryCtxRetain(&mut null_mut(), 0)),
            ("wait", cuda.cuStreamWaitEvent(second, event, 0)),
            ("occ", cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut number, nop, 32, 0)),
        ]
    });
    answers.iter().for_each(|(label, code)| row.code(label, *code));
}

fn legacy(row: &mut Row) {
    let (cuda, _) = with_context();
    let (blocking, non_blocking) = (stream(&cuda, 0), stream(&cuda, 1));
    let nop = function(&cuda, load(&cuda, KERNELS), "nop");
    let run = |stream| ok(launch(&cuda, nop, stream, &mut []));
    let query = |stream| unsafe { cuda.cuStreamQuery(stream) };
    let null = null_mut();
    // A stream with nothing but finished work answers once its thread has done it.
    let settled = |stream| {
        let mut code = query(stream);
        for _ in 0..20_000 {
            if code == CUresult::SUCCESS {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            code = query(stream);
        }
        code
    };
    let busy = |stream| Busy::new(&cuda, stream);
    let wait = || ok(unsafe { cuda.cuCtxSynchronize() });

    let held = busy(blocking);
    run(null);
    row.code("null_after_blocking", query(null));
    row.code("nb", query(non_blocking));
    drop(held);
    wait();
    let held = busy(non_blocking);
    run(null);
    row.code("null_after_nb", settled(null));
    drop(held);
    wait();
    let held = busy(null);
    run(blocking);
    run(non_blocking);
    row.code("blocking_after_null", query(blocking));
    row.code("nb_after_null", settled(non_blocking));
    drop(held);
    wait();
    let held = busy(CU_STREAM_PER_THREAD);
    run(null);
    row.code("null_after_ptds", query(null));
    drop(held);
    wait();
    let held = busy(null);
    run(CU_STREAM_PER_THREAD);
    row.code("ptds_after_null", query(CU_STREAM_PER_THREAD));
    drop(held);
    wait();
    let held = busy(blocking);
    row.code("null_query_while_blocking_busy", query(null));
    let event = event(&cuda, 0);
    ok(unsafe { cuda.cuEventRecord(event, null) });
    row.code("ev_on_null_behind_a", unsafe { cuda.cuEventQuery(event) });
    drop(held);
    wait();
}

fn stream_destroy_busy(row: &mut Row) {
    let (cuda, _) = with_context();
    let stream = stream(&cuda, 0);
    let held = Busy::new(&cuda, stream);
    // It would not return if it waited.
    row.code("destroy", unsafe { cuda.cuStreamDestroy(stream) });
    drop(held);
    row.code("sync", unsafe { cuda.cuCtxSynchronize() });
}
