// `arg` takes references to plain data, buffers and views.

use cuda_launch::*;

// A `bool`: what a kernel takes as one may be of another size.
fn builder_arg_bool(stream: &CudaStream, f: &CudaFunction, yes: bool) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&yes).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).byval(&yes).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A buffer without a reference.
fn buffer_by_value(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A number without a reference.
fn by_value(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(3u32).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&3u32).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A `char`.
fn builder_arg_char(stream: &CudaStream, f: &CudaFunction, letter: char) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&letter).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).byval(&letter).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A closure without `byval`.
fn closure(stream: &CudaStream, f: &CudaFunction, k: u32) -> Result<(), Error> {
    let add = move |i: u32| i + k;
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&add).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).byval(&add).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A pointer to host memory.
fn host_pointer(stream: &CudaStream, f: &CudaFunction, p: *const f32) -> Result<(), Error> {
//~ fn host_pointer(stream: &CudaStream, f: &CudaFunction, p: DevicePtr<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&p).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A slice of host memory.
fn host_slice(stream: &CudaStream, f: &CudaFunction, data: &[f32]) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(data).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice(&stream.clone_htod(data)?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A number that the kernel would have to write.
fn mut_number(stream: &CudaStream, f: &CudaFunction, mut n: u32) -> Result<(), Error> {
//~ fn mut_number(stream: &CudaStream, f: &CudaFunction, _n: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&mut n).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&mut stream.alloc_zeros::<u32>(1)?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A view that is only read.
fn mut_view(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&mut x.slice(5..)).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&mut x.slice_mut(5..)).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A buffer that may not be there.
fn builder_arg_option(stream: &CudaStream, f: &CudaFunction, x: Option<DeviceBuffer<f32>>) -> Result<(), Error> {
//~ fn builder_arg_option(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// Pinned memory as the host sees it.
fn pinned(stream: &CudaStream, f: &CudaFunction, x: PinnedBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&x.device_view()).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// Text.
fn builder_arg_str(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg("text").launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice(&stream.clone_htod(b"text")?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A `String`.
fn string(stream: &CudaStream, f: &CudaFunction, text: String) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&text).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice(&stream.clone_htod(text.as_bytes())?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A struct whose layout nobody promises.
mod struct_without_derive {
    use super::*;

    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, DeviceCopy)]
    //+ #[repr(C)]
    struct Body {
        _mass: f32,
    }

    fn launch(stream: &CudaStream, f: &CudaFunction, body: Body) -> Result<(), Error> {
        // SAFETY: compiled, never run.
        unsafe { stream.launch_builder(f).arg(&body).launch(LaunchConfig::for_num_elems(100)) }?;
        Ok(())
    }
}

// A tuple, whose fields may be in any order.
fn tuple(stream: &CudaStream, f: &CudaFunction, _x: u32) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&(1u32, 2.0f32)).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&1u32).arg(&2.0f32).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// Host memory.
fn vec(stream: &CudaStream, f: &CudaFunction, data: Vec<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&data).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&stream.clone_htod(&data)?).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

fn main() {}
