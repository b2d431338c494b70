// Types of one parameter, of another size than the kernel takes.

use cuda_launch::*;

// An alias of a type of another size: only the compiler knows it.
#[cuda_module("images/vectors.ptx")]
mod alias_size {
    type Count = u64;
    //~ type Count = u32;

    unsafe extern "C" {
        pub fn axpy(n: Count, alpha: f32, x: *const f32, y: *mut f32);
    }
}

// A wrapper of a type of another size.
mod newtype_size {
    use super::*;

    #[repr(transparent)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Celsius(f64);
    //~ struct Celsius(f32);

    #[cuda_module("images/numbers.ptx")]
    mod kernels {
        use super::Celsius;

        unsafe extern "C" {
            pub(super) fn of_f32(out: *mut u32, value: Celsius);
        }
    }
}

// A struct where the kernel takes a number.
#[cuda_module("images/numbers.ptx")]
mod struct_for_number {
    use cuda_launch::DeviceCopy;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    pub(super) struct Step {
        x: f32,
        y: f32,
        //~
    }

    unsafe extern "C" {
        pub(super) fn of_f32(out: *mut u32, value: Step);
    }
}

// Eight bytes for sixteen.
#[cuda_module("images/numbers.ptx")]
mod u64_for_bytes {
    unsafe extern "C" {
        pub fn of_wide(out: *mut u32, value: u64);
        //~ pub fn of_wide(out: *mut u32, value: u128);
    }
}

fn main() {}
