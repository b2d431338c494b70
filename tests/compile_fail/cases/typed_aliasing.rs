// What one argument writes, no other argument of the launch reads or writes.

use cuda_launch::*;

// What is written is read through another argument.
mod aliasing {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn launch(module: &kernels::Module, stream: &CudaStream, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
        module.vecadd(stream, LaunchConfig::for_num_elems(8), &x, &x, &mut x)
        //~ let (read, mut written) = x.split_at_mut(8);
        //+ module.vecadd(stream, LaunchConfig::for_num_elems(8), &read, &read, &mut written)
    }
}

// One buffer is written through two arguments.
mod written_twice {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn swap(x: &mut [f32], y: &mut [f32]);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        mut x: DeviceBuffer<f32>,
        //+ mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.swap(stream, config, &mut x, &mut x)
        //~ kernels.swap(stream, config, &mut x, &mut y)
    }
}

// A buffer that is written is not mutable.
mod immutable_buffer {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn swap(x: &mut [f32], y: &mut [f32]);
        }
    }

    fn launch(
        kernels: &kernels::Module,
        stream: &CudaStream,
        config: LaunchConfig,
        x: DeviceBuffer<f32>,
        //~ mut x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.swap(stream, config, &mut x, &mut y)
    }
}

// A buffer is read through one address and written through another.
mod pointer_read_and_written {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub fn axpy(n: u32, alpha: f32, x: *const f32, y: *mut f32);
        }
    }

    fn launch(kernels: &kernels::Module, stream: &CudaStream, config: LaunchConfig, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
    //~ fn launch(
    //+     kernels: &kernels::Module,
    //+     stream: &CudaStream,
    //+     config: LaunchConfig,
    //+     x: DeviceBuffer<f32>,
    //+     mut y: DeviceBuffer<f32>,
    //+ ) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { kernels.axpy(stream, config, 8, 2.0, &y, &mut y) }
        //~ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A part of the buffer that is written is read.
mod view_of_written {
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
        mut c: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.vecadd(stream, config, &a, &c.slice(..8), &mut c)
        //~ kernels.vecadd(stream, config, &a, &a.slice(..8), &mut c)
    }
}

// A kernel that writes through a surface takes it as mutable.
mod surface_written_shared {
    use super::*;
    use cuda_launch::texture::SurfaceObject;

    #[cuda_module("../kernels/objects.ptx")]
    mod kernels {
        use cuda_launch::texture::SurfaceObject;

        unsafe extern "C" {
            pub safe fn add_one(source: &SurfaceObject, target: &mut SurfaceObject);
        }
    }

    fn add(module: &kernels::Module, stream: &CudaStream, surface: &mut SurfaceObject) -> Result<(), Error> {
    //~ fn add(module: &kernels::Module, stream: &CudaStream, source: &SurfaceObject, target: &mut SurfaceObject) -> Result<(), Error> {
        module.add_one(stream, LaunchConfig::for_num_elems(8), surface, surface)
        //~ module.add_one(stream, LaunchConfig::for_num_elems(8), source, target)
    }
}

// A constant is written by way of its handle while it is only shared.
mod variable_read_only {
    use super::*;

    #[cuda_module("images/variables.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub static mut counter: u64;
        }
    }

    fn launch(kernels: &kernels::Module, stream: &CudaStream) -> Result<(), Error> {
        let counter = kernels.counter()?;
        //~ let mut counter = kernels.counter()?;
        counter.copy_from_host(stream, &[1])
    }
}

fn main() {}
