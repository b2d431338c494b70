// The attribute on something else.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx")]
struct Kernels {
//~ mod kernels {
    module: cuda_launch::CudaModule,
    //~ unsafe extern "C" {
    //+     pub safe fn fill(out: &mut [u32], value: u32);
    //+ }
}

fn main() {}
