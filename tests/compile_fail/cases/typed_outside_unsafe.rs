// What the kernel or the caller must promise is unsafe.

use cuda_launch::*;

// A kernel that is not `safe`, launched outside of `unsafe`.
mod called_without_unsafe {
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
        x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.axpy(stream, config, 8, 2.0, &x, &mut y)
        //~ // SAFETY: compiled, never run.
        //+ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// Its author did not promise that it stays inside its arguments.
mod fn_called_safe {
    use super::*;

    #[cuda_module("../../examples/kernels/saxpy.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        }
    }

    fn launch(
        module: &kernels::Module,
        stream: &CudaStream,
        x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        module.saxpy(stream, LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y)
        //~ // SAFETY: compiled, never run.
        //+ unsafe { module.saxpy(stream, LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y) }
    }
}

// Its author did not promise that it stays inside its arguments.
mod async_fn_called_safe {
    use super::*;

    #[cuda_module("../../examples/kernels/saxpy.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        }
    }

    fn launch(module: &kernels::Module, x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
        module.saxpy_async(LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y)?.sync()
        //~ // SAFETY: compiled, never run.
        //+ unsafe { module.saxpy_async(LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y) }?.sync()
    }
}

// Nobody waits: that what is borrowed stays is for the caller to promise.
mod async_on_safe {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn add(
        module: &kernels::Module,
        stream: &CudaStream,
        a: &DeviceBuffer<f32>,
        c: &mut DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, c)?.async_on(stream)
        //~ // SAFETY: compiled, never run.
        //+ unsafe { module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, c)?.async_on(stream) }
    }
}

// The same of the owned operation.
mod async_owned_fn_called_safe {
    use super::*;

    #[cuda_module("../../examples/kernels/saxpy.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub fn saxpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        }
    }

    fn launch(
        module: &kernels::Module,
        x: DeviceBuffer<f32>,
        y: DeviceBuffer<f32>,
    ) -> Result<(DeviceBuffer<f32>, DeviceBuffer<f32>), Error> {
        module.saxpy_async_owned(LaunchConfig::for_num_elems(8), 8, 2.0, x, y)?.sync()
        //~ // SAFETY: compiled, never run.
        //+ unsafe { module.saxpy_async_owned(LaunchConfig::for_num_elems(8), 8, 2.0, x, y) }?.sync()
    }
}

// A module as the driver knows it, where a typed one is asked for.
mod loaded_module {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod vectors {
        unsafe extern "C" {
            pub safe fn fill(out: &mut [u32], value: u32);
        }
    }

    fn launch(module: CudaModule) -> Result<vectors::Module, Error> {
        vectors::from_module(module)
        //~ // SAFETY: compiled, never run.
        //+ unsafe { vectors::from_module(module) }
    }
}

fn main() {}
