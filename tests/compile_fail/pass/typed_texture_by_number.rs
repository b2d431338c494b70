use cuda_launch::*;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
    }
}

fn sample(module: &kernels::Module, stream: &CudaStream, texture: TextureObject, out: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    module.sample(stream, LaunchConfig::for_num_elems(8), &texture, out)
}

fn main() {}
