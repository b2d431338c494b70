// A method takes stream, configuration and all arguments; an asynchronous one no stream.

use cuda_launch::*;

// An argument is left out.
mod argument_missing {
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
        kernels.vecadd(stream, config, &a, &mut c)
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// The launch configuration is left out.
mod config_missing {
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
        let _ = config;
        kernels.vecadd(stream, &a, &a, &mut c)
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// The stream is left out.
mod stream_missing {
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
        let _ = stream;
        kernels.vecadd(config, &a, &a, &mut c)
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)
    }
}

// The schedule chooses the stream.
mod async_stream {
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
        module.vecadd_async(stream, LaunchConfig::for_num_elems(8), &a, &a, &mut c)?.sync()
        //~ module.vecadd_async(LaunchConfig::for_num_elems(8), &a, &a, &mut c)?.sync_on(stream)
    }
}

fn main() {}
