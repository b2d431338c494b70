use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/bounds.ptx")]
mod kernels {
    unsafe extern "C" {
        #[cluster_launch(4, 1, 1)]
        pub safe fn in_clusters(out: &mut [f32]);
    }
}
