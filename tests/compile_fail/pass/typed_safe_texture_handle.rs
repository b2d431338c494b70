use cuda_launch::cuda_module;

mod names {
    pub(super) use cuda_launch::texture::TextureObject as Picture;
}

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use super::names::Picture;

    unsafe extern "C" {
        pub safe fn sample(texture: &Picture, out: &mut [f32]);
    }
}

fn main() {}
