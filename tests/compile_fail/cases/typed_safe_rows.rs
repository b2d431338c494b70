use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/numbers.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        #[launch_contract(requires = (image.height() >= 1, image.width() >= 1))]
        pub safe fn of_u64(image: &mut PitchedBuffer<u32>);
    }
}
