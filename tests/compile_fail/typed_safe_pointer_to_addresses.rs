// What lies at an address is what the caller copied there.

use cuda_launch::cuda_module;

#[cuda_module("tests/compile_fail/images/vectors.ptx")]
mod kernels {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
        pub safe fn axpy(n: u32, alpha: f32, x: *const DevicePtr<f32>, y: *mut f32);
    }
}

fn main() {}
