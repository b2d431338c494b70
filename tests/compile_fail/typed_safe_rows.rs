// A safe kernel that is not told where its rows end.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        pub safe fn of_u64(image: &mut PitchedBuffer<u32>);
    }
}

fn main() {}
