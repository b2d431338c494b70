use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::tensor::{TensorMap, TensorMapObject};

    unsafe extern "C" {
        pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
        #[entry("map_words")]
        pub fn of_unsafe_kernels(map: TensorMap, out: &mut [u64]);
    }
}

fn main() {}
