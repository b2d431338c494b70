// Which instance of a generic kernel has which name.

use cuda_launch::*;

// Types for a kernel that is not generic.
#[cuda_module("images/generic.ptx")]
mod entry_of_one {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32")]
        //~ #[entry("scale_f32")]
        pub safe fn scale(x: &mut [f32], factor: f32);
    }
}

// One type for a kernel with two type parameters.
#[cuda_module("images/generic.ptx")]
mod entry_tuple {
    unsafe extern "C" {
        #[entry(f32 = "_Z6gatherPKfPf")]
        //~ #[entry((f32, f32) = "_Z6gatherPKfPf")]
        pub fn gather<A, B>(from: *const A, to: *mut B);
    }
}

// Two entries for one type.
#[cuda_module("images/generic.ptx")]
mod entry_twice {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f32 = "scale_f64")]
        //~ #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

// The entry for one of the types is that of another.
#[cuda_module("images/generic.ptx")]
mod entry_of_another_type {
    unsafe extern "C" {
        #[entry(f32 = "scale_f32", f64 = "scale_f32")]
        //~ #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

// A kernel over elements of any type, without names of what it was compiled to.
#[cuda_module("images/generic.ptx")]
mod elements_without_entry {
    unsafe extern "C" {
        //+ #[entry(f32 = "_Z6gatherPKfPf")]
        pub fn gather<T>(from: *const T, to: *mut T);
    }
}

// A generic kernel without names of what it was compiled to.
#[cuda_module("images/generic.ptx")]
mod without_entry {
    unsafe extern "C" {
        //+ #[entry(f32 = "scale_f32", f64 = "scale_f64")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
    }
}

fn main() {}
