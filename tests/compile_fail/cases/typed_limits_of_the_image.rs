// Limits that differ from those that the kernel was compiled with.

use cuda_launch::*;

// Other blocks of a multiprocessor than the kernel was compiled for.
#[cuda_module("images/bounds.ptx")]
mod bounds_blocks {
    unsafe extern "C" {
        #[launch_bounds(128, 4)]
        //~ #[launch_bounds(128, 2)]
        pub safe fn reduce(out: &mut [f32]);
    }
}

// More threads than the kernel requires exactly.
#[cuda_module("images/bounds.ptx")]
mod bounds_exact {
    unsafe extern "C" {
        #[launch_bounds(65)]
        //~ #[launch_bounds(64)]
        pub safe fn exact(out: &mut [f32]);
    }
}

// More threads than the kernel was compiled for.
#[cuda_module("images/bounds.ptx")]
mod bounds_over {
    unsafe extern "C" {
        #[launch_bounds(256)]
        //~ #[launch_bounds(128)]
        pub safe fn reduce(out: &mut [f32]);
    }
}

// Other clusters than the kernel was compiled for.
#[cuda_module("images/bounds.ptx")]
mod cluster_other {
    unsafe extern "C" {
        #[cluster_launch(2, 1, 1)]
        //~ #[cluster_launch(4, 1, 1)]
        pub safe fn in_clusters(out: &mut [f32]);
    }
}

fn main() {}
