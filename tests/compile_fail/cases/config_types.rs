// What the size of a launch is made of.

use cuda_launch::*;

// `cluster_dim` has three dimensions.
fn cluster_dim_integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cluster_dim: 4,
            //~ cluster_dim: (4, 1, 1),
        }
    }
}

// Not two.
fn cluster_dim_two(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cluster_dim: (4, 1),
            //~ cluster_dim: (4, 1, 1),
        }
    }
}

// `config` takes a `LaunchConfig`.
fn config_integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: 100,
            //~ config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

// `for_num_elems` counts in `u32`.
fn config_number_of_elements(module: &CudaModule, stream: &CudaStream, n: usize) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(n),
            //~ config: LaunchConfig::for_num_elems(n as u32),
            args: [],
        }
    }
}

// Not a reference.
fn config_reference(module: &CudaModule, stream: &CudaStream, config: &LaunchConfig) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: config,
            //~ config: *config,
            args: [],
        }
    }
}

// Not a tuple.
fn config_tuple(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: ((1, 1, 1), (256, 1, 1), 0),
            //~ config: LaunchConfig::new((1, 1, 1), (256, 1, 1)),
            args: [],
        }
    }
}

// `cooperative` is true or false.
fn cooperative_integer(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cooperative: 1,
            //~ cooperative: true,
        }
    }
}

fn main() {}
