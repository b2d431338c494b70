// Values of another type than the method takes.

use cuda_launch::*;

// An attribute of launches that is a number.
#[cuda_module("images/vectors.ptx")]
mod attributes_number {
    unsafe extern "C" {
        #[attributes(1)]
        //~ #[attributes(cuda_launch::Attribute::priority(1))]
        pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
    }
}

// A buffer is passed itself, where it is read.
mod buffer_by_move {
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
        kernels.vecadd(stream, config, &a, a, &mut c)
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// A number of threads for the launch configuration.
mod config_number {
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
        kernels.vecadd(stream, a.len() as u32, &a, &a, &mut c)
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// An address of the host.
mod host_pointer {
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
        x: Vec<f32>,
        //~ x: DeviceBuffer<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { kernels.axpy(stream, config, 8, 2.0, x.as_ptr(), &mut y) }
        //~ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A number for an address.
mod number_for_pointer {
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
        unsafe { kernels.axpy(stream, config, 8, 2.0, x.as_device_ptr(), &mut y) }
        //~ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A loaded module of another kind.
mod other_module {
    use super::*;

    #[cuda_module("images/vectors.ptx")]
    mod vectors {
        unsafe extern "C" {
            pub safe fn fill(out: &mut [u32], value: u32);
        }
    }

    #[cuda_module("images/bounds.ptx")]
    mod reductions {
        unsafe extern "C" {
            pub safe fn reduce(out: &mut [u32]);
        }
    }

    fn clear(
        kernels: &vectors::Module,
        stream: &CudaStream,
        out: &mut DeviceBuffer<u32>,
    ) -> Result<(), Error> {
        kernels.fill(stream, LaunchConfig::for_num_elems(8), out, 0)
    }

    fn launch(context: &CudaContext, stream: &CudaStream, mut out: DeviceBuffer<u32>) -> Result<(), Error> {
        let kernels = reductions::load(context)?;
        //~ let kernels = vectors::load(context)?;
        clear(&kernels, stream, &mut out)
    }
}

// Memory that is read for an address that is written.
mod read_pointer_written {
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
        unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &y) }
        //~ unsafe { kernels.axpy(stream, config, 8, 2.0, &x, &mut y) }
    }
}

// A buffer that is written is passed as one that is read.
mod shared_for_written {
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
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.swap(stream, config, &mut x, &y)
        //~ kernels.swap(stream, config, &mut x, &mut y)
    }
}

// The number of a texture for the texture.
mod texture_by_number {
    use super::*;
    use cuda_launch::texture::TextureObject;

    #[cuda_module("../kernels/objects.ptx")]
    mod kernels {
        use cuda_launch::texture::TextureObject;

        unsafe extern "C" {
            pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
        }
    }

    fn sample(
        module: &kernels::Module,
        stream: &CudaStream,
        texture: TextureObject,
        out: &mut DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        module.sample(stream, LaunchConfig::for_num_elems(8), texture.handle(), out)
        //~ module.sample(stream, LaunchConfig::for_num_elems(8), &texture, out)
    }
}

// A variable is set to a value of another type.
mod variable_of_another_type {
    use super::*;

    #[cuda_module("images/variables.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub static levels: [f32; 4];
        }
    }

    fn launch(kernels: &kernels::Module, stream: &CudaStream) -> Result<(), Error> {
        kernels.set_levels(stream, [0u32; 4])
        //~ kernels.set_levels(stream, [0.0; 4])
    }
}

fn main() {}
