// Buffers that are gone.

use cuda_launch::*;

// A buffer is used after it was given away.
mod moved_buffer {
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
        drop(x);
        //~ let _ = x.len();
        kernels.swap(stream, config, &mut x, &mut y)
    }
}

// A view that outlives its buffer.
mod view_outlives_buffer {
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
        let part = {
            let b = DeviceBuffer::<f32>::zeroed(stream, 8)?;
            b.slice(..4)
            //~ a.slice(..4)
        };
        kernels.vecadd(stream, config, &a, &part, &mut c)
    }
}

fn main() {}
