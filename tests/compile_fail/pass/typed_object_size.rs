use cuda_launch::cuda_module;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::tensor::TensorMapObject;
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
    }
}

fn main() {}
