// A reference to a structure of the host.

use cuda_launch::*;

// A reference to a structure of the host.
mod reference_of_struct {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        factor: f32,
    }

    #[cuda_module("images/numbers.ptx")]
    mod kernels {
        use super::Params;

        unsafe extern "C" {
            pub fn of_f32(out: *mut u32, value: &Params);
            //~ pub fn of_f32(out: *mut u32, value: Params);
        }
    }
}

// A kernel reads textures.
#[cuda_module("../kernels/objects.ptx")]
mod texture_written {
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        pub safe fn sample(texture: &mut TextureObject, out: &mut [f32]);
        //~ pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
    }
}

fn main() {}
