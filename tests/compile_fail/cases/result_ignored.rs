// Nobody looks whether the launch was accepted.

#![deny(unused_must_use)]

use cuda_launch::*;

// The result of a launch has to be looked at.
mod macro_ignored {
    use super::*;

    fn launch(module: &CudaModule, stream: &CudaStream) {
        // SAFETY: compiled, never run.
        unsafe {
            cuda_launch! {
            //~ let result = cuda_launch! {
                kernel: k,
                module: module,
                stream: stream,
                config: LaunchConfig::for_num_elems(100),
                args: [],
            };
            //+ assert!(result.is_ok());
        }
    }
}

// Nobody looks whether the launch was taken.
mod method_ignored {
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
        kernels.vecadd(stream, config, &a, &a, &mut c);
        //~ kernels.vecadd(stream, config, &a, &a, &mut c)?;
        Ok(())
    }
}

fn main() {}
