// What one argument writes, no other argument of the launch reads or writes.

use cuda_launch::*;

// A buffer that the same launch reads and writes.
fn read_and_write(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn read_and_write(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&x).arg(&mut y).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// The same with lengths.
fn slices(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn slices(stream: &CudaStream, f: &CudaFunction, x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).slice_mut(&mut x).slice(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).slice_mut(&mut y).slice(&x).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A buffer that one launch writes twice.
fn two_writes(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
//~ fn two_writes(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>, mut y: DeviceBuffer<f32>) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&mut x).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&mut x).arg(&mut y).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// A part that is read of a buffer that is written.
fn view_and_buffer(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    //+ let (left, mut right) = x.split_at_mut(5);
    // SAFETY: compiled, never run.
    unsafe { stream.launch_builder(f).arg(&x.slice(..5)).arg(&mut x).launch(LaunchConfig::for_num_elems(100)) }?;
    //~ unsafe { stream.launch_builder(f).arg(&left).arg(&mut right).launch(LaunchConfig::for_num_elems(100)) }?;
    Ok(())
}

// Two mutable views of one buffer.
fn views(stream: &CudaStream, f: &CudaFunction, mut x: DeviceBuffer<f32>) -> Result<(), Error> {
    //+ let (mut left, mut right) = x.split_at_mut(5);
    // SAFETY: compiled, never run.
    unsafe {
        stream
            .launch_builder(f)
            .arg(&mut x.slice_mut(..5))
            //~ .arg(&mut left)
            .arg(&mut x.slice_mut(5..))
            //~ .arg(&mut right)
            .launch(LaunchConfig::for_num_elems(100))
    }?;
    Ok(())
}

fn main() {}
