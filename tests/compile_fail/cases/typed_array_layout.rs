// Arrays of another layout than the kernel has.

use cuda_launch::*;

// An array whose elements are aligned to 4 where the kernel has 16, as of a `float4`.
#[cuda_module("images/structs.ptx")]
mod array_alignment {
    //+ #[repr(C, align(16))]
    //+ #[derive(Clone, Copy, cuda_launch::DeviceCopy)]
    //+ pub(super) struct Quaternion([f32; 4]);
    unsafe extern "C" {
        pub(super) safe fn turn_fast(points: &mut [f32], quaternion: [f32; 4]);
        //~ pub(super) safe fn turn_fast(points: &mut [f32], quaternion: Quaternion);
    }
}

// An array of another length.
#[cuda_module("images/structs.ptx")]
mod array_size {
    unsafe extern "C" {
        pub safe fn turn(points: &mut [f32], quaternion: [f32; 3]);
        //~ pub safe fn turn(points: &mut [f32], quaternion: [f32; 4]);
    }
}

// An array whose length is a constant: only the compiler knows it.
mod constant_size {
    use super::*;

    const LANES: usize = 8;
    //~ const LANES: usize = 4;

    #[cuda_module("images/structs.ptx")]
    mod kernels {
        use super::LANES;

        unsafe extern "C" {
            pub safe fn turn(points: &mut [f32], quaternion: [f32; LANES]);
        }
    }
}

fn main() {}
