// Device memory read on the host as if it were there, with nothing to wait for.

use cuda_launch::*;

fn first(buffer: &DeviceBuffer<f32>) -> f32 {
    buffer[0]
}

fn all(buffer: &DeviceBuffer<f32>) -> Result<Vec<f32>, Error> {
    buffer.to_host_vec()
}

fn main() {}
