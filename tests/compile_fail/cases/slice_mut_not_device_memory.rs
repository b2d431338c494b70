// `slice_mut` takes device memory that can be written.

use cuda_launch::*;

// Kernels read constants through a cache: none may write them.
mod constant {
    use super::*;
    use cuda_launch::module::ModuleConstant;

    fn launch(module: &CudaModule, stream: &CudaStream, x: &mut ModuleConstant<f32>) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe {
            cuda_launch! {
                kernel: k,
                module: module,
                stream: stream,
                config: LaunchConfig::for_num_elems(100),
                args: [slice_mut(x.view_mut())],
                //~ args: [slice(x)],
            }
        }
    }
}

// Nor a slice of the host.
fn host_slice(module: &CudaModule, stream: &CudaStream, host: &mut [f32]) -> Result<(), Error> {
    //+ let mut buffer = DeviceBuffer::from_host(stream, host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(host)],
            //~ args: [slice_mut(buffer)],
        }
    }
}

// A number is a value.
fn integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(3u32)],
            //~ args: [3u32],
        }
    }
}

// A pointer has no length.
fn pointer(module: &CudaModule, stream: &CudaStream, x: &mut DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x.as_mut_device_ptr())],
            //~ args: [ptr_mut(x), 100usize],
        }
    }
}

// `slice_mut` takes device memory.
fn vec(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    let mut host = vec![1.0f32; 100];
    //~ let host = vec![1.0f32; 100];
    //+ let mut buffer = DeviceBuffer::from_host(stream, &host)?;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(host)],
            //~ args: [slice_mut(buffer)],
        }
    }
}

// A view to read cannot be written.
fn view(module: &CudaModule, stream: &CudaStream, x: DeviceView<'_, f32>) -> Result<(), Error> {
//~ fn view(module: &CudaModule, stream: &CudaStream, mut x: DeviceViewMut<'_, f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [slice_mut(x)],
        }
    }
}

fn main() {}
