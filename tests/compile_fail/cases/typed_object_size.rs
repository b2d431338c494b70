// A tensor map has 128 bytes, the handle of a texture 8.

use cuda_launch::cuda_module;

#[cuda_module("../kernels/objects.ptx")]
mod kernels {
    use cuda_launch::tensor::TensorMapObject;
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        pub safe fn map_words(map: &TextureObject, out: &mut [u64]);
        //~ pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
        pub safe fn sample(texture: &TensorMapObject, out: &mut [f32]);
        //~ pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
    }
}

fn main() {}
