// A launch that runs later keeps borrowed what it was given.

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

    fn add(module: &kernels::Module, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    //~ fn add(module: &kernels::Module, x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
        module.vecadd_async(LaunchConfig::for_num_elems(8), &x, &x, &mut x)?.sync()
        //~ module.vecadd_async(LaunchConfig::for_num_elems(8), &x, &x, &mut y)?.sync()
    }
}

// An operation that borrows does not outlive its buffers.
mod escapes {
    use super::*;
    use cuda_launch::operation::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn operation<'a>(
        module: &kernels::Module,
        a: &'a DeviceBuffer<f32>,
        mut c: DeviceBuffer<f32>,
        //~ c: &'a mut DeviceBuffer<f32>,
    ) -> Result<KernelLaunch<'a>, Error> {
        module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, &mut c)
        //~ module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, c)
    }
}

// The operation has the buffers until it gives them back.
mod moved {
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
        a: DeviceBuffer<f32>,
        b: DeviceBuffer<f32>,
        c: DeviceBuffer<f32>,
    ) -> Result<Vec<f32>, Error> {
        let op = module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a, b, c)?;
        op.sync()?;
        //~ let (_, _, c) = op.sync()?;
        c.to_host_vec(stream)
    }
}

// A task of its own may go on after the borrow: it takes the buffers.
mod spawned {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn add(module: kernels::Module, a: &'static DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) -> Result<(), Error> {
    //~ fn add(module: kernels::Module, a: DeviceBuffer<f32>, c: DeviceBuffer<f32>) -> Result<(), Error> {
        //+ let a = std::sync::Arc::new(a);
        spawn(module.vecadd_async(LaunchConfig::for_num_elems(8), a, a, &mut c)?.into_future());
        //~ spawn(module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.clone(), a, c)?.into_future());
        Ok(())
    }

    /// As of an executor.
    fn spawn(_: impl Future + Send + 'static) {}
}

// A texture is there until the operation is gone.
mod texture {
    use super::*;
    use cuda_launch::texture::TextureObject;

    #[cuda_module("../kernels/textures.ptx")]
    mod kernels {
        use cuda_launch::texture::TextureHandle;

        unsafe extern "C" {
            pub fn sample_1d(texture: TextureHandle, out: *mut f32, x0: f32, step: f32);
        }
    }

    fn sample(
        module: &kernels::Module,
        texture: TextureObject,
        mut out: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        //+ // SAFETY: compiled, never run.
        let op = unsafe { module.sample_1d_async(LaunchConfig::for_num_elems(8), &texture, &mut out, 0.0, 1.0) }?;
        //+ op.sync()?;
        drop(texture);
        op.sync()
        //~ Ok(())
    }
}

// What an operation writes is not read before it is done.
mod used_between {
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
        a: DeviceBuffer<f32>,
        mut c: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        let op = module.vecadd_async(LaunchConfig::for_num_elems(8), &a, &a, &mut c)?;
        c.to_host_vec(stream)?;
        //~ op.sync()?;
        op.sync()
        //~ c.to_host_vec(stream).map(drop)
    }
}

fn main() {}
