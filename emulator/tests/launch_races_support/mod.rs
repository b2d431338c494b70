//! A driver that checks for races between launches, and kernels that access memory in all ways.
#![allow(unsafe_code, dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_driver_sys::*;
use cuda_emulator::{Checks, Finding, FindingKind, Instance, InstanceOptions};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Arc;

use super::support::*;

/// Threads of each launch: each accesses one word.
pub const WORDS: usize = 32;
pub const BYTES: usize = 4 * WORDS;
pub const NON_BLOCKING: u32 = 1;

const KERNELS: &str = r"
.version 8.0 .target sm_90 .address_size 64
// Each thread stores a number.
.visible .entry put(.param .u64 p, .param .u32 v) {
    .reg .b64 %p, %o; .reg .b32 %v, %t;
    ld.param.u64 %p, [p]; ld.param.u32 %v, [v];
    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o;
    st.global.u32 [%p], %v;
    ret; }
// Each thread copies a word.
.visible .entry move(.param .u64 to, .param .u64 from) {
    .reg .b64 %p, %q, %o; .reg .b32 %v, %t;
    ld.param.u64 %q, [to]; ld.param.u64 %p, [from];
    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o; add.u64 %q, %q, %o;
    ld.global.u32 %v, [%p];
    st.global.u32 [%q], %v;
    ret; }
// Each thread adds a word, and one, to another one: what it stores is never there already.
.visible .entry mix(.param .u64 to, .param .u64 from) {
    .reg .b64 %p, %q, %o; .reg .b32 %v, %w, %t;
    ld.param.u64 %q, [to]; ld.param.u64 %p, [from];
    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o; add.u64 %q, %q, %o;
    ld.global.u32 %v, [%p]; ld.global.u32 %w, [%q];
    and.b32 %v, %v, 0xffff; add.u32 %w, %w, %v; add.u32 %w, %w, 1;
    st.global.u32 [%q], %w;
    ret; }
// Lets the next kernel begin, and stores.
.visible .entry early(.param .u64 p) {
    .reg .b64 %p, %o; .reg .b32 %t;
    griddepcontrol.launch_dependents;
    ld.param.u64 %p, [p];
    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o;
    st.global.u32 [%p], 3;
    ret; }
// Waits for the kernel before it, and stores.
.visible .entry late(.param .u64 p) {
    .reg .b64 %p, %o; .reg .b32 %t;
    ld.param.u64 %p, [p];
    mov.u32 %t, %tid.x; mul.wide.u32 %o, %t, 4; add.u64 %p, %p, %o;
    griddepcontrol.wait;
    st.global.u32 [%p], 4;
    ret; }
// All threads count in one word.
.visible .entry count(.param .u64 p) {
    .reg .b64 %p;
    ld.param.u64 %p, [p];
    red.global.add.u32 [%p], 1;
    ret; }
// Stores data, then raises a flag.
.visible .entry send(.param .u64 data, .param .u64 flag) {
    .reg .b64 %d, %f;
    ld.param.u64 %d, [data]; ld.param.u64 %f, [flag];
    st.global.u32 [%d], 7;
    fence.acq_rel.sys;
    st.volatile.global.u32 [%f], 1;
    ret; }
// Waits for a flag, then raises another one.
.visible .entry pass(.param .u64 flag, .param .u64 next) {
    .reg .b64 %n, %f; .reg .b32 %v; .reg .pred %p;
    ld.param.u64 %f, [flag]; ld.param.u64 %n, [next];
again: ld.volatile.global.u32 %v, [%f];
    setp.eq.u32 %p, %v, 0;
    @%p bra again;
    fence.acq_rel.sys;
    st.volatile.global.u32 [%n], 1;
    ret; }
// Waits for a flag, then reads data.
.visible .entry receive(.param .u64 flag, .param .u64 data, .param .u64 out) {
    .reg .b64 %d, %f, %o; .reg .b32 %v; .reg .pred %p;
    ld.param.u64 %d, [data]; ld.param.u64 %f, [flag]; ld.param.u64 %o, [out];
again: ld.volatile.global.u32 %v, [%f];
    setp.eq.u32 %p, %v, 0;
    @%p bra again;
    fence.acq_rel.sys;
    ld.global.u32 %v, [%d];
    st.global.u32 [%o], %v;
    ret; }
";

/// A driver of its own, that checks for races.
pub struct Setup {
    pub cuda: Arc<Driver>,
    pub context: CUcontext,
    instance: Instance,
    module: CUmodule,
    /// How often numbers were stored.
    stored: Cell<u32>,
}

pub fn setup() -> Setup {
    setup_of(1)
}

/// With so many devices.
pub fn setup_of(devices: u32) -> Setup {
    let mut races = Checks::NONE;
    races.races = true;
    let instance = InstanceOptions::new().checks(races).devices(devices).memory(64 << 20).start().unwrap();
    let cuda = instance.driver();
    let mut context = null_mut();
    ok(unsafe { cuda.cuInit(0) });
    ok(unsafe { cuda.cuCtxCreate(&mut context, null_mut(), 0, 0) });
    let module = load(&cuda, KERNELS);
    Setup { cuda, context, instance, module, stored: Cell::new(0) }
}

impl Setup {
    pub fn function(&self, name: &str) -> CUfunction {
        function(&self.cuda, self.module, name)
    }

    pub fn stream(&self) -> CUstream {
        stream(&self.cuda, NON_BLOCKING)
    }

    /// Memory for a launch.
    pub fn words(&self) -> CUdeviceptr {
        alloc(&self.cuda, BYTES)
    }

    /// Memory that is zero, as all know.
    pub fn zeroes(&self) -> CUdeviceptr {
        let address = self.words();
        ok(unsafe { self.cuda.cuMemsetD8(address, 0, BYTES) });
        self.synchronize();
        address
    }

    fn run(&self, name: &str, threads: u32, stream: CUstream, arguments: &mut [*mut std::ffi::c_void]) {
        let (function, arguments) = (self.function(name), arguments.as_mut_ptr());
        ok(launch_as(&self.cuda, function, [1; 3], [threads, 1, 1], 0, stream, arguments, null_mut()));
    }

    /// Stores a number that is not there yet, at least `value`: who stores what is there changes nothing.
    pub fn put(&self, stream: CUstream, mut address: CUdeviceptr, value: u32) {
        self.stored.set(self.stored.get() + 1);
        let mut value = value + (self.stored.get() << 12);
        self.run("put", WORDS as u32, stream, &mut [argument(&mut address), argument(&mut value)]);
    }

    pub fn shift(&self, stream: CUstream, mut to: CUdeviceptr, mut from: CUdeviceptr) {
        self.run("move", WORDS as u32, stream, &mut [argument(&mut to), argument(&mut from)]);
    }

    pub fn count(&self, stream: CUstream, mut address: CUdeviceptr) {
        self.run("count", WORDS as u32, stream, &mut [argument(&mut address)]);
    }

    pub fn send(&self, stream: CUstream, mut data: CUdeviceptr, mut flag: CUdeviceptr) {
        self.run("send", 1, stream, &mut [argument(&mut data), argument(&mut flag)]);
    }

    pub fn pass(&self, stream: CUstream, mut flag: CUdeviceptr, mut next: CUdeviceptr) {
        self.run("pass", 1, stream, &mut [argument(&mut flag), argument(&mut next)]);
    }

    pub fn receive(
        &self,
        stream: CUstream,
        mut flag: CUdeviceptr,
        mut data: CUdeviceptr,
        mut out: CUdeviceptr,
    ) {
        let arguments = &mut [argument(&mut flag), argument(&mut data), argument(&mut out)];
        self.run("receive", 1, stream, arguments);
    }

    /// A kernel that may begin before the one before it in the stream is over.
    pub fn launch_early(&self, name: &str, stream: CUstream, mut address: CUdeviceptr) {
        let mut attribute = CUlaunchAttribute {
            id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            ..CUlaunchAttribute::default()
        };
        attribute.value.programmaticStreamSerializationAllowed = 1;
        let config = CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: WORDS as u32,
            blockDimY: 1,
            blockDimZ: 1,
            hStream: stream,
            attrs: &mut attribute,
            numAttrs: 1,
            ..CUlaunchConfig::default()
        };
        let mut value = 9_u32;
        let mut arguments = [argument(&mut address), argument(&mut value)];
        let function = self.function(name);
        ok(unsafe { self.cuda.cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), null_mut()) });
    }

    /// A kernel that lets the next one begin before it is over.
    pub fn early(&self, stream: CUstream, mut address: CUdeviceptr) {
        self.run("early", WORDS as u32, stream, &mut [argument(&mut address)]);
    }

    pub fn mix(&self, stream: CUstream, mut to: CUdeviceptr, mut from: CUdeviceptr) {
        self.run("mix", WORDS as u32, stream, &mut [argument(&mut to), argument(&mut from)]);
    }

    /// A node that adds, behind others.
    pub fn node(
        &self,
        graph: CUgraph,
        after: &[CUgraphNode],
        mut to: CUdeviceptr,
        mut from: CUdeviceptr,
    ) -> CUgraphNode {
        let mut arguments = [argument(&mut to), argument(&mut from)];
        let parameters = CUDA_KERNEL_NODE_PARAMS {
            func: self.function("mix"),
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: WORDS as u32,
            blockDimY: 1,
            blockDimZ: 1,
            kernelParams: arguments.as_mut_ptr(),
            ..CUDA_KERNEL_NODE_PARAMS::default()
        };
        let (mut node, count) = (null_mut(), after.len());
        ok(unsafe { self.cuda.cuGraphAddKernelNode(&mut node, graph, after.as_ptr(), count, &parameters) });
        node
    }

    pub fn launch_graph(&self, graph: CUgraphExec, stream: CUstream) {
        ok(unsafe { self.cuda.cuGraphLaunch(graph, stream) });
    }

    pub fn event(&self) -> CUevent {
        event(&self.cuda, 2)
    }

    pub fn record(&self, event: CUevent, stream: CUstream) {
        ok(unsafe { self.cuda.cuEventRecord(event, stream) });
    }

    pub fn wait(&self, stream: CUstream, event: CUevent) {
        ok(unsafe { self.cuda.cuStreamWaitEvent(stream, event, 0) });
    }

    /// The second stream goes on behind the first one.
    pub fn order(&self, first: CUstream, second: CUstream) {
        let event = self.event();
        self.record(event, first);
        self.wait(second, event);
    }

    pub fn synchronize(&self) {
        ok(unsafe { self.cuda.cuCtxSynchronize() });
    }

    pub fn synchronize_stream(&self, stream: CUstream) {
        ok(unsafe { self.cuda.cuStreamSynchronize(stream) });
    }

    /// Pinned memory of the host, zero.
    pub fn pinned(&self) -> *mut u8 {
        let mut address = null_mut();
        ok(unsafe { self.cuda.cuMemHostAlloc(&mut address, BYTES, 0) });
        unsafe { address.cast::<u8>().write_bytes(0, BYTES) };
        address.cast()
    }

    /// All that was found when all is done.
    pub fn findings(&self) -> Vec<Finding> {
        self.synchronize();
        assert!(self.instance.faults().is_empty(), "{:?}", self.instance.last_fault());
        let found = self.instance.take_findings();
        assert!(!found.incomplete && found.left_out == 0);
        let other = found.list.iter().find(|finding| finding.kind != FindingKind::LaunchRace);
        assert!(other.is_none(), "{other:?}");
        found.list
    }

    /// Nothing was found.
    #[track_caller]
    pub fn assert_silent(&self, name: &str) {
        let found: Vec<String> = self.findings().iter().map(Finding::to_string).collect();
        assert!(found.is_empty(), "{name}: {found:#?}");
    }

    /// Races were found between two pieces of work with these names, in any order, and no others. There may be several: of two kernels
    /// that do run at once, some stores leave what the other one has stored just before.
    #[track_caller]
    pub fn assert_race(&self, name: &str, mut between: [&str; 2]) -> Finding {
        let found = self.findings();
        between.sort_unstable();
        for finding in &found {
            let mut names =
                [finding.kernel.as_str(), finding.other.as_ref().unwrap().kernel.as_deref().unwrap()];
            names.sort_unstable();
            assert_eq!(names, between, "{name}");
        }
        found.first().unwrap_or_else(|| panic!("{name}: nothing was found")).clone()
    }
}
