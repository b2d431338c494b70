// Arguments of another type than the kernel declares.

use cuda_launch::*;

// A value of another type than the parameter.
mod argument_size {
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
        // SAFETY: compiled, never run.
        unsafe { module.saxpy(stream, LaunchConfig::for_num_elems(8), 8u64, 2.0, &x, &mut y) }
        //~ unsafe { module.saxpy(stream, LaunchConfig::for_num_elems(8), 8, 2.0, &x, &mut y) }
    }
}

// A buffer for an address that is declared as a number.
mod buffer_for_pointer {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        use cuda_launch::{DevicePtr, DevicePtrMut};

        unsafe extern "C" {
            pub fn axpy(n: u32, alpha: f32, x: DevicePtr<f32>, y: DevicePtrMut<f32>);
            //~ pub fn axpy(n: u32, alpha: f32, x: *const f32, y: DevicePtrMut<f32>);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { kernels.axpy(stream, config, 8, 2.0, &x, y.as_mut_device_ptr()) }
    }
}

// Two types where the kernel has one.
mod generic_two_types {
    use super::*;

    #[cuda_module("images/generic.ptx")]
    mod kernels {
        unsafe extern "C" {
            #[entry(f32 = "scale_f32", f64 = "scale_f64")]
            pub safe fn scale<T>(x: &mut [T], factor: T);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        mut x: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.scale(stream, config, &mut x, 2.0f64)
        //~ kernels.scale(stream, config, &mut x, 2.0f32)
    }
}

// A number of another type.
mod number_of_another_type {
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
        // SAFETY: compiled, never run.
        unsafe { kernels.axpy(stream, config, x.len(), 2.0, &x, &mut y) }
        //~ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A struct of another type.
mod struct_of_another_type {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Step {
        x: f64,
        y: f64,
        z: f64,
    }

    #[cuda_module("images/structs.ptx")]
    mod kernels {
        use super::Step;

        unsafe extern "C" {
            pub(super) safe fn move_all(points: &mut [f32], step: Step);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        mut points: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.move_all(stream, LaunchConfig::for_num_elems(8), &mut points, [1.0, 0.0, 0.0])
        //~ kernels.move_all(stream, LaunchConfig::for_num_elems(8), &mut points, Step { x: 1.0, y: 0.0, z: 0.0 })
    }
}

fn main() {}
