// A texture is there until the operation is gone.

use cuda_launch::operation::*;
use cuda_launch::*;
use cuda_launch::texture::TextureObject;

#[cuda_module("tests/kernels/textures.ptx")]
mod kernels {
    use cuda_launch::texture::TextureHandle;

    unsafe extern "C" {
        pub fn sample_1d(texture: TextureHandle, out: *mut f32, x0: f32, step: f32);
    }
}

fn sample(module: &kernels::Module, texture: TextureObject, mut out: DeviceBuffer<f32>) -> Result<(), Error> {
    let op = unsafe { module.sample_1d_async(LaunchConfig::for_num_elems(8), &texture, &mut out, 0.0, 1.0) }?;
    drop(texture);
    op.sync()
}

fn main() {}
