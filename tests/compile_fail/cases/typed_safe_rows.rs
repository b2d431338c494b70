// A safe kernel that is not told where its rows end.

use cuda_launch::cuda_module;

#[cuda_module("images/numbers.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        //+ #[launch_contract(requires = (image.height() >= 1, image.width() >= 1))]
        pub safe fn of_u64(image: &mut PitchedBuffer<u32>);
    }
}

fn main() {}
