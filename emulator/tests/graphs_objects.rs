//! What a graph keeps alive, and what can be told about it.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use support::graphs::*;
use support::*;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// Says when it goes.
fn object(cuda: &Driver, count: u32) -> (CUuserObject, Receiver<CUresult>) {
    unsafe extern "C" fn gone(data: *mut c_void) {
        let sender = unsafe { Box::from_raw(data.cast::<Sender<CUresult>>()) };
        let code = unsafe { driver().cuMemFree(0) };
        let _ = sender.send(code);
    }
    let (sender, receiver) = channel();
    let data = Box::into_raw(Box::new(sender));
    let mut object = null_mut();
    ok(unsafe { cuda.cuUserObjectCreate(&mut object, data.cast(), Some(gone), count, 1) });
    (object, receiver)
}

fn is_there(gone: &Receiver<CUresult>) -> bool {
    gone.recv_timeout(Duration::from_millis(20)).is_err()
}

#[track_caller]
fn goes(gone: &Receiver<CUresult>) {
    let code = gone.recv_timeout(Duration::from_secs(20)).expect("it goes");
    assert_eq!(code, CUresult::CUDA_ERROR_NOT_PERMITTED, "CUDA inside is refused");
}

#[test]
fn objects_go_with_the_last_reference() {
    let (cuda, _) = with_own_context();
    let (mine, gone) = object(&cuda, 2);
    ok(unsafe { cuda.cuUserObjectRetain(mine, 1) });
    ok(unsafe { cuda.cuUserObjectRelease(mine, 2) });
    assert!(is_there(&gone));
    ok(unsafe { cuda.cuUserObjectRelease(mine, 1) });
    goes(&gone);
    assert_eq!(unsafe { cuda.cuUserObjectRelease(mine, 1) }, INVALID);
    let mut other = null_mut();
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    unsafe {
        assert_eq!(cuda.cuUserObjectCreate(&mut other, null_mut(), Some(nothing), 0, 1), INVALID);
        assert_eq!(cuda.cuUserObjectCreate(&mut other, null_mut(), Some(nothing), 1, 0), INVALID);
        assert_eq!(cuda.cuUserObjectCreate(&mut other, null_mut(), None, 1, 1), INVALID);
    }
}

#[test]
fn graphs_and_what_is_made_of_them_keep_objects() {
    let (cuda, _) = with_own_context();
    let (graph, stream) = (graph(&cuda), stream(&cuda, 1));
    empty(&cuda, graph, &[]);
    let (object, gone) = object(&cuda, 1);
    // The caller's reference becomes the graph's.
    ok(unsafe { cuda.cuGraphRetainUserObject(graph, object, 1, 1) });
    let mut clone = null_mut();
    ok(unsafe { cuda.cuGraphClone(&mut clone, graph) });
    ok(unsafe { cuda.cuGraphDestroy(graph) });
    assert!(is_there(&gone));
    let exec = instantiate(&cuda, clone);
    ok(unsafe { cuda.cuGraphReleaseUserObject(clone, object, 1) });
    assert_eq!(unsafe { cuda.cuGraphReleaseUserObject(clone, object, 1) }, INVALID);
    ok(unsafe { cuda.cuGraphDestroy(clone) });
    assert!(is_there(&gone));
    let held = Busy::new(&cuda, stream);
    ok(unsafe { cuda.cuGraphLaunch(exec, stream) });
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    assert!(is_there(&gone), "a launch is under way");
    drop(held);
    goes(&gone);
}

#[test]
fn an_update_brings_its_objects() {
    let (cuda, _) = with_own_context();
    let (one, other) = (graph(&cuda), graph(&cuda));
    let ((old, old_gone), (new, new_gone)) = (object(&cuda, 1), object(&cuda, 1));
    ok(unsafe { cuda.cuGraphRetainUserObject(one, old, 1, 1) });
    ok(unsafe { cuda.cuGraphRetainUserObject(other, new, 1, 1) });
    let exec = instantiate(&cuda, one);
    ok(unsafe { cuda.cuGraphDestroy(one) });
    ok(unsafe { cuda.cuGraphExecUpdate(exec, other, &mut Default::default()) });
    goes(&old_gone);
    ok(unsafe { cuda.cuGraphDestroy(other) });
    assert!(is_there(&new_gone));
    ok(unsafe { cuda.cuGraphExecDestroy(exec) });
    goes(&new_gone);
}

#[test]
fn dot_has_every_node_and_edge() {
    let (cuda, _) = with_own_context();
    let module = load(&cuda, KERNELS);
    let (graph, memory) = (graph(&cuda), alloc(&cuda, 4));
    let first = number(&cuda, graph, &[], function(&cuda, module, "store"), memory, 1);
    empty(&cuda, graph, &[first]);
    let path = std::env::temp_dir().join(format!("cuda-emulator-{}.dot", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    ok(unsafe { cuda.cuGraphDebugDotPrint(graph, name.as_ptr(), 1) });
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.starts_with("digraph dot {") && text.ends_with("}\n"), "{text}");
    assert!(text.contains("store") && text.contains("grid 1x1x1") && text.contains("EMPTY"), "{text}");
    assert_eq!(text.matches(" -> ").count(), 1);
    let nowhere = CString::new("/nonexistent/folder/x.dot").unwrap();
    assert_ne!(unsafe { cuda.cuGraphDebugDotPrint(graph, nowhere.as_ptr(), 0) }, CUresult::SUCCESS);
}
