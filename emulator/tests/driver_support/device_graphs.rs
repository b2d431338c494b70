//! What the tests of graphs that kernels launch share.
//!
//! Relies on what `support` relies on.
#![allow(unsafe_code, dead_code, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::undocumented_unsafe_blocks)]

use crate::support::graphs::*;
use crate::support::*;
use cuda_driver_sys::*;
use cuda_emulator::Instance;
use std::ptr::null_mut;
use std::sync::Arc;

const GRAPH_LAUNCHES: &str = include_str!("../../../tests/kernels/graph_launches.ptx");
/// Streams of device code.
pub const TAIL: u64 = 1 << 56;
pub const FORGET: u64 = 2 << 56;
pub const SIBLING: u64 = 3 << 56;
pub const DEVICE_LAUNCH: u64 = 4;
/// The code of every launch that is refused.
pub const REFUSED: u32 = 1;

/// A parameter of a kernel.
pub trait Value: Copy {
    fn bytes(self) -> u64;
}

impl Value for u32 {
    fn bytes(self) -> u64 {
        self.into()
    }
}

impl Value for u64 {
    fn bytes(self) -> u64 {
        self
    }
}

impl Value for CUgraphExec {
    fn bytes(self) -> u64 {
        self.addr() as u64
    }
}

/// Parameters, each in 8 bytes: a number of 32 bits is the first half.
macro_rules! values {
    ($($value:expr),*) => {
        &[$($crate::device_graphs::Value::bytes($value)),*]
    };
}
pub(crate) use values;

/// The kernels, linked with the device runtime, in a context of the test's own.
pub struct Kernels {
    pub cuda: Arc<Driver>,
    pub module: CUmodule,
    pub stream: CUstream,
}

/// The library that a driver links; the emulator takes nothing of it but that it is this one.
fn library() -> Vec<u8> {
    if !on_system() {
        return b"!<arch>\ncuda_device_runtime.o/".to_vec();
    }
    let home = std::env::var("CUDA_HOME").expect("CUDA_HOME, where lib64/libcudadevrt.a is");
    std::fs::read(format!("{home}/lib64/libcudadevrt.a")).unwrap()
}

impl Kernels {
    pub fn new() -> Kernels {
        Kernels::of_text(GRAPH_LAUNCHES)
    }

    /// The kernels of another file.
    pub fn of_text(ptx: &str) -> Kernels {
        Kernels::on(with_own_context().0, ptx)
    }

    /// On an instance, which a fault may spoil.
    pub fn of(instance: &Instance) -> Kernels {
        Kernels::of_text_on(GRAPH_LAUNCHES, instance)
    }

    /// Those of another file.
    pub fn of_text_on(ptx: &str, instance: &Instance) -> Kernels {
        let (cuda, mut context) = (instance.driver(), null_mut());
        ok(unsafe { cuda.cuInit(0) });
        ok(unsafe { cuda.cuDevicePrimaryCtxRetain(&mut context, 0) });
        ok(unsafe { cuda.cuCtxSetCurrent(context) });
        Kernels::on(cuda, ptx)
    }

    /// In the context that is current.
    pub fn current(cuda: &Arc<Driver>) -> Kernels {
        Kernels::on(Arc::clone(cuda), GRAPH_LAUNCHES)
    }

    fn on(cuda: Arc<Driver>, ptx: &str) -> Kernels {
        let (mut state, mut image, mut module) = (null_mut(), null_mut(), null_mut());
        let parts = [
            (CUjitInputType::CU_JIT_INPUT_PTX, ptx.as_bytes().to_vec()),
            (CUjitInputType::CU_JIT_INPUT_LIBRARY, library()),
        ];
        ok(unsafe { cuda.cuLinkCreate(0, null_mut(), null_mut(), &mut state) });
        for (kind, data) in parts {
            let (from, size) = (data.as_ptr().cast_mut().cast(), data.len());
            let (none, values) = (null_mut(), null_mut());
            ok(unsafe { cuda.cuLinkAddData(state, kind, from, size, c"it".as_ptr(), 0, none, values) });
        }
        ok(unsafe { cuda.cuLinkComplete(state, &mut image, &mut 0) });
        ok(unsafe { cuda.cuModuleLoadData(&mut module, image) });
        ok(unsafe { cuda.cuLinkDestroy(state) });
        let stream = stream(&cuda, 1);
        Kernels { cuda, module, stream }
    }

    /// So many words of zeros.
    pub fn zeros(&self, words: usize) -> CUdeviceptr {
        let memory = alloc(&self.cuda, 4 * words);
        write(&self.cuda, memory, &vec![0; 4 * words]);
        memory
    }

    /// Memory with these handles.
    pub fn handles(&self, graphs: &[CUgraphExec]) -> CUdeviceptr {
        let memory = alloc(&self.cuda, 8 * graphs.len().max(1));
        let bytes: Vec<u8> = graphs.iter().flat_map(|graph| (graph.addr() as u64).to_ne_bytes()).collect();
        write(&self.cuda, memory, &bytes);
        memory
    }

    pub fn words(&self, memory: CUdeviceptr, words: usize) -> Vec<u32> {
        let bytes = read(&self.cuda, memory, 4 * words);
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    /// Adds a node of one thread to a graph.
    pub fn node(&self, graph: CUgraph, after: &[CUgraphNode], name: &str, values: &[u64]) -> CUgraphNode {
        let (mut values, mut node) = (values.to_vec(), null_mut());
        let mut arguments: Vec<_> = values.iter_mut().map(argument).collect();
        let parameters = kernel(function(&self.cuda, self.module, name), &mut arguments);
        let (from, count) = (after.as_ptr(), after.len());
        ok(unsafe { self.cuda.cuGraphAddKernelNode(&mut node, graph, from, count, &parameters) });
        node
    }

    /// A graph of one kernel.
    pub fn graph(&self, name: &str, values: &[u64]) -> CUgraph {
        let graph = graph(&self.cuda);
        self.node(graph, &[], name, values);
        graph
    }

    pub fn instantiate(&self, graph: CUgraph, flags: u64) -> CUgraphExec {
        let mut exec = null_mut();
        ok(unsafe { self.cuda.cuGraphInstantiateWithFlags(&mut exec, graph, flags) });
        exec
    }

    pub fn upload(&self, exec: CUgraphExec) {
        ok(unsafe { self.cuda.cuGraphUpload(exec, self.stream) });
        ok(unsafe { self.cuda.cuStreamSynchronize(self.stream) });
    }

    /// A graph of one kernel that kernels can launch.
    pub fn on_device(&self, name: &str, values: &[u64]) -> CUgraphExec {
        let exec = self.instantiate(self.graph(name, values), DEVICE_LAUNCH);
        self.upload(exec);
        exec
    }

    /// A graph of one kernel that the host launches.
    pub fn of_host(&self, name: &str, values: &[u64]) -> CUgraphExec {
        self.instantiate(self.graph(name, values), 0)
    }

    pub fn run(&self, exec: CUgraphExec) {
        run(&self.cuda, exec, self.stream);
    }

    /// The codes of launches of these graphs to a stream, by a kernel of a graph of the host.
    pub fn launch_each(&self, graphs: &[CUgraphExec], stream: u64) -> Vec<u32> {
        let (handles, codes) = (self.handles(graphs), self.zeros(graphs.len()));
        self.run(self.of_host("launch_each", values!(handles, graphs.len() as u32, stream, codes)));
        self.words(codes, graphs.len())
    }
}
