//! What the tests of graphs share: two kernels as nodes, and a stream to run them on.

#![allow(unreachable_pub, dead_code)] // Each user needs a part of it.
#![allow(clippy::unwrap_used, clippy::panic)]

use cuda_launch::error::GraphError;
use cuda_launch::graph::{GraphExec, InstantiateFlags, KernelNode};
use cuda_launch::{
    CudaContext, CudaFunction, CudaGraph, CudaStream, DeviceBuffer, Error, ErrorKind, LaunchConfig,
    kernel_args,
};
use std::path::PathBuf;

pub const N: usize = 1000;

/// The archive with the device's part of the CUDA runtime: of a toolkit, or of NVIDIA's wheel in a Python environment.
pub fn device_runtime() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
    let mut folders: Vec<_> = toolkits.flat_map(|home| [home.join("lib64"), home.join("lib")]).collect();
    if let Some(environment) = variable("VIRTUAL_ENV") {
        let pythons = std::fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
        folders.extend(pythons.map(|python| python.path().join("site-packages/nvidia/cu13/lib")));
    }
    folders.into_iter().map(|folder| folder.join("libcudadevrt.a")).find(|file| file.is_file())
}

pub struct Gpu {
    pub ctx: CudaContext,
    pub stream: CudaStream,
    pub scale: CudaFunction,
    pub fill: CudaFunction,
}

impl Gpu {
    pub fn new() -> Self {
        Self::on(CudaContext::new(0).unwrap())
    }

    pub fn on(ctx: CudaContext) -> Self {
        let stream = ctx.new_stream().unwrap();
        let function = |ptx: &str, name| ctx.load_module(ptx).unwrap().load_function(name).unwrap();
        let scale = function(include_str!("../../examples/kernels/scale.ptx"), "scale");
        let fill = function(include_str!("../../examples/kernels/fill.ptx"), "fill");
        Self { ctx, stream, scale, fill }
    }

    pub fn graph(&self) -> CudaGraph {
        CudaGraph::new(&self.ctx).unwrap()
    }

    pub fn put(&self, host: &[f32]) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, host).unwrap()
    }

    pub fn zeros(&self) -> DeviceBuffer<u32> {
        DeviceBuffer::zeroed(&self.stream, N).unwrap()
    }

    /// out = factor * x
    pub fn scale(
        &self,
        factor: f32,
        x: &DeviceBuffer<f32>,
        out: &mut DeviceBuffer<f32>,
    ) -> KernelNode<'static> {
        let config = LaunchConfig::for_num_elems(x.len() as u32);
        KernelNode::new(&self.scale, config, &[], kernel_args![x.len() as u32, factor, ptr(x), ptr_mut(out)])
            .unwrap()
    }

    pub fn fill(&self, x: &mut DeviceBuffer<u32>, value: u32) -> KernelNode<'static> {
        let (n, config) = (x.len() as u32, LaunchConfig::for_num_elems(x.len() as u32));
        KernelNode::new(&self.fill, config, &[], kernel_args![ptr_mut(x), n, value]).unwrap()
    }

    pub fn run(&self, graph: &CudaGraph) {
        let mut exec = exec(graph);
        exec.launch(&self.stream).unwrap();
        exec.synchronize().unwrap();
    }
}

pub fn exec(graph: &CudaGraph) -> GraphExec {
    graph.instantiate(InstantiateFlags::empty()).unwrap()
}

pub fn graph_error<T>(result: Result<T, Error>) -> GraphError {
    let Err(error) = result else { panic!("nothing was refused") };
    assert!(error.is_graph_error(), "{error}");
    let ErrorKind::Graph(error) = error.kind() else { panic!("{error}") };
    error.clone()
}

pub fn input() -> Vec<f32> {
    (0..N).map(|i| i as f32).collect()
}
