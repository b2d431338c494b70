//! Devices of other architectures: their attributes and limits, what runs on them, and several of them beside each other.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_architectures/environment.rs"]
mod environment;
#[path = "driver_architectures/images.rs"]
mod images;
#[path = "driver_architectures/limits.rs"]
mod limits;
#[path = "driver_architectures/several.rs"]
mod several;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use cuda_emulator::{Architecture, Instance, InstanceOptions};
use std::ptr::null_mut;
use std::sync::Arc;
use support::*;

/// An instance with devices of these architectures.
fn instance(architectures: &[Architecture]) -> (Instance, Arc<Driver>) {
    let instance = InstanceOptions::new().architectures(architectures.iter().copied()).start().unwrap();
    let cuda = instance.driver();
    ok(unsafe { cuda.cuInit(0) });
    (instance, cuda)
}

/// Makes the primary context of a device current.
fn enter(cuda: &Driver, device: CUdevice) -> CUcontext {
    let mut context = null_mut();
    ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, device) });
    ok(unsafe { cuda.cuCtxSetCurrent(context) });
    context
}

/// A device of that architecture, with its context current.
fn device(architecture: Architecture) -> (Instance, Arc<Driver>) {
    let (instance, cuda) = instance(&[architecture]);
    enter(&cuda, 0);
    (instance, cuda)
}

fn attribute(cuda: &Driver, device: CUdevice, id: CUdevice_attribute) -> i32 {
    let mut value = 0;
    ok(unsafe { cuda.cuDeviceGetAttribute(&mut value, id, device) });
    value
}

/// A module for a target, with a kernel `number` that stores the number of multiprocessors, and `room` with dynamic shared memory.
fn ptx(version: &str, target: &str) -> String {
    format!(
        ".version {version}\n.target {target}\n.address_size 64\n\
         .extern .shared .align 16 .b8 memory[];\n\
         .visible .entry number(.param .u64 p) {{ .reg .b64 %p; .reg .b32 %n;\n\
         ld.param.u64 %p, [p]; mov.u32 %n, %nsmid; st.global.u32 [%p], %n; ret; }}\n\
         .visible .entry room() {{ .reg .b32 %a; mov.u32 %a, memory; st.shared.u32 [%a], %a; ret; }}\n"
    )
}

/// What loading a text answers, and the error log.
fn loads(cuda: &Driver, text: &str) -> (CUresult, String) {
    let text = std::ffi::CString::new(text).unwrap();
    let (code, log, _) = load_with_logs(cuda, text.as_ptr().cast());
    (code, log)
}

/// What the driver's log says.
fn logged(cuda: &Driver) -> String {
    let (mut log, mut size) = (vec![0_u8; 4096], 4096);
    ok(unsafe { cuda.cuLogsDumpToMemory(null_mut(), log.as_mut_ptr().cast(), &mut size, 0) });
    String::from_utf8_lossy(&log[..size]).into_owned()
}

/// What the kernel `number` of a module stores.
fn multiprocessors(cuda: &Driver, module: CUmodule) -> u32 {
    let (mut target, kernel) = (alloc(cuda, 4), function(cuda, module, "number"));
    ok(launch(cuda, kernel, null_mut(), &mut [argument(&mut target)]));
    u32::from_ne_bytes(read(cuda, target, 4).try_into().unwrap())
}
