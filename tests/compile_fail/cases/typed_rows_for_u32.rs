// A kernel that takes 4 bytes where the pitch is passed.

use cuda_launch::cuda_module;

#[cuda_module("images/numbers.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        pub fn of_u32(image: &PitchedBuffer<u32>);
        //~ pub fn of_u64(image: &PitchedBuffer<u32>);
    }
}

fn main() {}
