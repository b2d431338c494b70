// Device memory of other elements than the kernel declares.

use cuda_launch::*;

// A buffer of another element type is read.
mod buffer_of_another_type {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        a: DeviceBuffer<f64>,
        //~ a: DeviceBuffer<f32>,
        mut c: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// Memory of another element type for an address.
mod pointer_of_another_type {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        x: DeviceBuffer<f64>,
        //~ x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A buffer of another element type is written.
mod written_of_another_type {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        a: DeviceBuffer<f32>,
        mut c: DeviceBuffer<u32>,
        //~ mut c: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// The kernel adds floats.
mod async_element {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn add(module: &kernels::Module, a: DeviceBuffer<f64>, c: DeviceBuffer<f32>) -> Result<(), Error> {
    //~ fn add(module: &kernels::Module, a: DeviceBuffer<f32>, c: DeviceBuffer<f32>) -> Result<(), Error> {
        module.vecadd_async_owned(LaunchConfig::for_num_elems(8), c.view(), a, c)?.sync().map(drop)
        //~ module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.view(), a.view(), c)?.sync().map(drop)
    }
}

fn main() {}
