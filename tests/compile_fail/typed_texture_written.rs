// A kernel reads textures.

use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        pub safe fn sample(texture: &mut TextureObject, out: &mut [f32]);
    }
}

fn main() {}
