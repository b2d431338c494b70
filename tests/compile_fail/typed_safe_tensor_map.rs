// A tensor map holds an address, as `TensorMap` and as the driver's own structure.

use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::tensor::TensorMap;
    use cuda_launch::sys;

    unsafe extern "C" {
        pub safe fn map_words(map: TensorMap, out: &mut [u64]);
        #[entry("map_words")]
        pub safe fn raw_words(map: sys::CUtensorMap, out: &mut [u64]);
    }
}

fn main() {}
