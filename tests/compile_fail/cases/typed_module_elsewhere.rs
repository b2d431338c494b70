// A module in another file.

use cuda_launch::cuda_module;

#[cuda_module("images/vectors.ptx")]
mod kernels;
//~ mod kernels {
//+     unsafe extern "C" {
//+         pub safe fn fill(out: &mut [u32], value: u32);
//+     }
//+ }

fn main() {}
