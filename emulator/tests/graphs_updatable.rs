//! What kernels change of kernel nodes (`tests/kernels/graph_updates.cu`), with the answers of an H200 (driver 580).
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/device_graphs.rs"]
mod device_graphs;
#[path = "driver_support/mod.rs"]
mod support;
#[path = "driver_support/updatable.rs"]
mod updatable;

use cuda_driver_sys::*;
use device_graphs::*;
use support::graphs::instantiate;
use support::*;
use updatable::*;

#[test]
fn a_kernel_changes_the_parameters_of_one_behind_it() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (21, vec![0]));
}

#[test]
fn a_kernel_changes_the_grid_of_one_behind_it_and_whether_it_runs() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_grid", values!(own.handle, 2_u32, 5_u32, 1_u32, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (10, vec![0]));
    let own = Updatable::new(&kernels);
    own.behind(&kernels, "set_enabled", values!(own.handle, 0_u32, own.code));
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!((own.adds(&kernels, exec), kernels.words(own.code, 1)), (0, vec![0]));
}

#[test]
fn a_change_outlasts_launches_and_uploads() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 3);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 5_u64, 4_u64, own.code)), 0);
    assert_eq!(own.change(&kernels, "set_grid", values!(own.handle, 2_u32, 1_u32, 1_u32, own.code)), 0);
    assert_eq!([own.adds(&kernels, exec), own.adds(&kernels, exec)], [10, 10]);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 10);
    // A node that the host has switched off can be switched on.
    ok(unsafe { kernels.cuda.cuGraphNodeSetEnabled(exec, own.node, 0) });
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 0);
    assert_eq!(own.change(&kernels, "set_enabled", values!(own.handle, 1_u32, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 10);
}

/// Gives the node another number, and one block.
fn set_by_host(kernels: &Kernels, own: &Updatable, exec: CUgraphExec, number: u32) {
    let (mut sum, mut number) = (own.sum, number);
    let mut arguments = [argument(&mut sum), argument(&mut number)];
    let parameters = support::graphs::kernel(function(&kernels.cuda, kernels.module, "add"), &mut arguments);
    ok(unsafe { kernels.cuda.cuGraphExecKernelNodeSetParams(exec, own.node, &parameters) });
}

#[test]
fn what_the_host_says_later_counts() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 21);
    set_by_host(&kernels, &own, exec, 100);
    assert_eq!(own.adds(&kernels, exec), 100);
    kernels.upload(exec);
    assert_eq!(own.adds(&kernels, exec), 100);
    assert_eq!(own.change(&kernels, "set_enabled", values!(own.handle, 0_u32, own.code)), 0);
    let mut enabled = 9;
    ok(unsafe { kernels.cuda.cuGraphNodeGetEnabled(exec, own.node, &mut enabled) });
    assert_eq!((enabled, own.adds(&kernels, exec)), (1, 0));
    ok(unsafe { kernels.cuda.cuGraphNodeSetEnabled(exec, own.node, 1) });
    assert_eq!(own.adds(&kernels, exec), 100);
}

#[test]
fn what_the_host_says_does_not_change_launches_before_it() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.change(&kernels, "set_param", values!(own.handle, NUMBER, 7_u64, 4_u64, own.code)), 0);
    let gate = kernels.zeros(1);
    ok(unsafe { kernels.cuda.cuStreamWaitValue32(kernels.stream, gate, 1, 0) });
    ok(unsafe { kernels.cuda.cuGraphLaunch(exec, kernels.stream) });
    set_by_host(&kernels, &own, exec, 100);
    ok(unsafe { kernels.cuda.cuGraphLaunch(exec, kernels.stream) });
    let other = stream(&kernels.cuda, 1);
    ok(unsafe { kernels.cuda.cuStreamWriteValue32(other, gate, 1, 0) });
    ok(unsafe { kernels.cuda.cuStreamSynchronize(kernels.stream) });
    assert_eq!(kernels.words(own.sum, 1), [121]);
}

#[test]
fn several_changes_at_once_are_all_made_or_none() {
    let kernels = kernels();
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    let number = kernels.zeros(1);
    write(&kernels.cuda, number, &40_u32.to_ne_bytes());
    let apply = |updates: &[[u64; 5]]| {
        let at = alloc(&kernels.cuda, 40 * updates.len().max(1));
        let bytes: Vec<u8> = updates.iter().flatten().flat_map(|word| word.to_ne_bytes()).collect();
        if !bytes.is_empty() {
            write(&kernels.cuda, at, &bytes);
        }
        own.change(&kernels, "apply", values!(at, updates.len() as u64, own.code))
    };
    let grid = |x: u64| [own.handle, 1, x | 2 << 32, 2, 0];
    let parameter = [own.handle, 2, number, NUMBER, 4];
    let enabled = |enabled| [own.handle, 3, enabled, 0, 0];
    assert_eq!(apply(&[]), 0);
    assert_eq!((apply(&[grid(2), parameter, enabled(1)]), own.adds(&kernels, exec)), (0, 320));
    for field in [9, 0, 4] {
        let wrong = [own.handle, field, 0, 0, 0];
        assert_eq!((apply(&[grid(3), wrong, enabled(1)]), own.adds(&kernels, exec)), (1, 320), "{field}");
    }
    let beyond = [own.handle, 2, number, 12, 4];
    assert_eq!((apply(&[grid(3), enabled(0), beyond]), own.adds(&kernels, exec)), (1, 320));
    assert_eq!((apply(&[grid(3), [0, 3, 0, 0, 0]]), own.adds(&kernels, exec)), (1, 320), "no node");
    assert_eq!((apply(&[enabled(0)]), own.adds(&kernels, exec)), (0, 0));
}

/// What launches `set_param` as a child.
const PARENT: &str = "
.extern .func (.param .b64 o) __cudaCDP2GetParameterBufferV2(.param .b64 a, .param .align 4 .b8 b[12], .param .align 4 .b8 c[12], .param .b32 d);
.extern .func (.param .b32 o) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);
.visible .entry parent(.param .u64 node, .param .u64 code)
{
    .reg .b64 %f, %buffer, %v;
    mov.u64 %f, set_param;
    {
        .param .b64 a;
        .param .align 4 .b8 b[12];
        .param .align 4 .b8 c[12];
        .param .b32 d;
        .param .b64 o;
        st.param.b64 [a], %f;
        st.param.b32 [b], 1;
        st.param.b32 [b+4], 1;
        st.param.b32 [b+8], 1;
        st.param.b32 [c], 1;
        st.param.b32 [c+4], 1;
        st.param.b32 [c+8], 1;
        st.param.b32 [d], 0;
        call (o), __cudaCDP2GetParameterBufferV2, (a, b, c, d);
        ld.param.b64 %buffer, [o];
    }
    ld.param.u64 %v, [node];
    st.u64 [%buffer], %v;
    mov.u64 %v, 8;
    st.u64 [%buffer+8], %v;
    mov.u64 %v, 7;
    st.u64 [%buffer+16], %v;
    mov.u64 %v, 4;
    st.u64 [%buffer+24], %v;
    ld.param.u64 %v, [code];
    st.u64 [%buffer+32], %v;
    {
        .param .b64 a;
        .param .b64 b;
        .param .b32 o;
        st.param.b64 [a], %buffer;
        st.param.b64 [b], 0;
        call (o), __cudaCDP2LaunchDeviceV2, (a, b);
    }
    ret;
}
";

#[test]
fn a_kernel_that_a_kernel_launched_changes_nodes() {
    let kernels = Kernels::of_text(&format!("{UPDATES}{PARENT}"));
    let own = Updatable::new(&kernels);
    let exec = instantiate(&kernels.cuda, own.graph);
    kernels.upload(exec);
    assert_eq!(own.change(&kernels, "parent", values!(own.handle, own.code)), 0);
    assert_eq!(own.adds(&kernels, exec), 21);
}
