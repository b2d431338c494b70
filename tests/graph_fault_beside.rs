//! A kernel of a graph that faults is named, also where another thread waited for the stream while the launch was on its way. Alone in
//! its program, because a fault ends CUDA for the process.

#![allow(unsafe_code)] // A kernel that stops itself, and a driver in front of another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::error::UnfinishedLaunch;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::sys::{CUevent, CUresult, CUstream, Driver, pfn};
use cuda_launch::{CaptureMode, CudaContext, CudaGraph, DeviceBuffer, ErrorKind, LaunchConfig, cuda_launch};
use std::ffi::{CStr, c_void};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

static BASE: OnceLock<Arc<Driver>> = OnceLock::new();
/// The stream that another thread waits for when an event is recorded.
static WAITED_FOR: Mutex<Option<cuda_launch::CudaStream>> = Mutex::new(None);

fn base() -> &'static Driver {
    BASE.get_or_init(|| cuda_launch::default_driver().unwrap())
}

unsafe extern "C" fn record(event: CUevent, stream: CUstream) -> CUresult {
    if let Some(other) = WAITED_FOR.lock().unwrap().take() {
        thread::spawn(move || other.synchronize().unwrap()).join().unwrap();
    }
    // SAFETY: `record` stands for this function: its caller meets the duties for just these arguments.
    unsafe { base().cuEventRecord(event, stream) }
}

#[test]
fn who_waits_for_the_stream_before_the_driver_has_the_launch_clears_nobody() {
    let lookup = |name: &CStr| match name.to_str().unwrap() {
        "cuEventRecord" => record as pfn::cuEventRecord as *const c_void,
        name => base().address(name),
    };
    // SAFETY: 1: the base's own functions, and one whose signature `pfn` checks, which calls it; 2: they are code of this program, or of
    // a library that is never unloaded.
    let ctx = CudaContext::with_driver(&Arc::new(unsafe { Driver::from_lookup(lookup) }), 0).unwrap();
    let [stream, earlier] = std::array::from_fn(|_| ctx.new_stream().unwrap());
    let module = ctx.load_module(include_str!("kernels/faults.ptx")).unwrap();
    let mut words = DeviceBuffer::<u32>::zeroed(&stream, 64).unwrap();
    let config = LaunchConfig::new((1, 1, 1), (32, 1, 1));
    // SAFETY: 1, 2: `trap_at` takes these three, and writes below the length of its argument, or ends with a trap; 3, 4: the graph keeps
    // `words`, and nothing else uses them while it runs; 5: they are numbers; 6: it ends.
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| unsafe {
        cuda_launch! { kernel: trap_at, module: module, stream: stream, config: config,
        args: [0u32, 5u32, ptr_mut(words)] }
    })
    .unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    ctx.synchronize().unwrap();
    words.view_mut().fill(&earlier, 1).unwrap();
    // The launch comes after the fill: it records an event there.
    *WAITED_FOR.lock().unwrap() = Some(stream.clone());
    exec.launch(&stream).unwrap();
    assert!(WAITED_FOR.lock().unwrap().is_none(), "nobody has waited for the stream");
    let error = exec.synchronize().unwrap_err();
    let ErrorKind::Faulted(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(fault.unfinished, [UnfinishedLaunch::Kernel("trap_at".into())]);
}
