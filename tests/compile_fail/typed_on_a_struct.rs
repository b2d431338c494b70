// The attribute on something else.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
struct Kernels {
    module: cuda_launch::CudaModule,
}

fn main() {}
