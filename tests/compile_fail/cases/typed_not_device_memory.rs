// Arguments that are no device memory, or none that can be written.

use cuda_launch::*;

// Memory of the host for a slice that is read.
mod host_slice {
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
        host: Vec<f32>,
    ) -> Result<(), Error> {
        kernels.vecadd(stream, config, &a, &host[..], &mut c)
        //~ kernels.vecadd(stream, config, &a, &DeviceBuffer::from_host(stream, &host)?, &mut c)
    }
}

// A vector of the host for a slice that is read.
mod host_vec {
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
        host: Vec<f32>,
    ) -> Result<(), Error> {
        kernels.vecadd(stream, config, &a, &host, &mut c)
        //~ kernels.vecadd(stream, config, &a, &DeviceBuffer::from_host(stream, &host)?, &mut c)
    }
}

// Memory of the host for a slice that is written.
mod host_written {
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
        mut y: Vec<f32>,
        //~ mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.swap(stream, config, &mut x, &mut y)
    }
}

// A view that only reads is written.
mod read_view_written {
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
        kernels.swap(stream, config, &mut x, &mut y.slice(..8))
        //~ kernels.swap(stream, config, &mut x, &mut y.slice_mut(..8))
    }
}

// Kernels read constants through a cache: none may write them, not even by way of a view for copies.
mod constant_written {
    use super::*;
    use cuda_launch::module::ModuleConstant;

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
        mut x: ModuleConstant<f32>,
        mut y: DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        kernels.swap(stream, config, &mut x.view_mut(), &mut y)
        //~ let mut written = DeviceBuffer::<f32>::uninit(stream, x.len())?;
        //+ kernels.swap(stream, config, &mut written, &mut y)?;
        //+ x.view_mut().copy_from_device(stream, &written)
    }
}

// Several have what is in an `Arc`: none may write it.
mod async_arc_written {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn add(module: &kernels::Module, a: std::sync::Arc<DeviceBuffer<f32>>) -> Result<(), Error> {
    //~ fn add(module: &kernels::Module, a: std::sync::Arc<DeviceBuffer<f32>>, c: DeviceBuffer<f32>) -> Result<(), Error> {
        module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.clone(), a.clone(), a)?.sync().map(drop)
        //~ module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.clone(), a.clone(), c)?.sync().map(drop)
    }
}

// An owned operation takes the buffers themselves.
mod async_reference_owned {
    use super::*;

    #[cuda_module("../../examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }

    fn add(module: &kernels::Module, a: &DeviceBuffer<f32>, mut c: DeviceBuffer<f32>) -> Result<(), Error> {
    //~ fn add(module: &kernels::Module, a: &DeviceBuffer<f32>, c: DeviceBuffer<f32>) -> Result<(), Error> {
        module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a, a, &mut c)?.sync().map(drop)
        //~ module.vecadd_async_owned(LaunchConfig::for_num_elems(8), a.view(), a.view(), c)?.sync().map(drop)
    }
}

fn main() {}
