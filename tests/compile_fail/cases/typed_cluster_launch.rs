// What `#[cluster_launch]` and `#[cooperative_launch]` take.

use cuda_launch::*;

// A cluster of four dimensions.
#[cuda_module("images/vectors.ptx")]
mod cluster_four {
    unsafe extern "C" {
        #[cluster_launch(4, 1, 1, 1)]
        //~ #[cluster_launch(4, 1, 1)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A cluster of no shape.
#[cuda_module("images/vectors.ptx")]
mod cluster_none {
    unsafe extern "C" {
        #[cluster_launch]
        //~ #[cluster_launch(4, 1, 1)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A cluster in words.
#[cuda_module("images/vectors.ptx")]
mod cluster_text {
    unsafe extern "C" {
        #[cluster_launch("four", 1, 1)]
        //~ #[cluster_launch(4, 1, 1)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A cluster without blocks.
#[cuda_module("images/vectors.ptx")]
mod cluster_zero {
    unsafe extern "C" {
        #[cluster_launch(4, 0, 1)]
        //~ #[cluster_launch(4, 1, 1)]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A cooperative launch with a value.
#[cuda_module("images/vectors.ptx")]
mod cooperative_true {
    unsafe extern "C" {
        #[cooperative_launch(true)]
        //~ #[cooperative_launch]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

fn main() {}
