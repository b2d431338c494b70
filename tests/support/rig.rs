//! Kernels of any parameters on a table of Rust functions.

#![allow(unreachable_pub, dead_code)] // Each test program needs a part of it.
#![allow(clippy::unwrap_used)]

use cuda_launch::{CudaContext, CudaFunction, CudaStream, LaunchConfig};

use crate::support::{self, expect_parameters};

pub const ONE: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));
pub const PTX: &str = ".version 7.8\n.target sm_52\n.address_size 64\n";

pub struct Rig {
    pub stream: CudaStream,
    pub module: cuda_launch::CudaModule,
    pub names: usize,
}

impl Rig {
    pub fn new() -> Self {
        let ctx = CudaContext::with_driver(&support::driver(&[]), 0).unwrap();
        Self { stream: ctx.new_stream().unwrap(), module: ctx.load_module(PTX).unwrap(), names: 0 }
    }

    /// A kernel that says its parameters have these sizes.
    pub fn kernel(&mut self, sizes: &[usize]) -> CudaFunction {
        expect_parameters(sizes);
        self.names += 1;
        self.module.load_function(&format!("kernel_{}", self.names)).unwrap()
    }
}

pub fn packet() -> Vec<Vec<u8>> {
    support::packet()
}
