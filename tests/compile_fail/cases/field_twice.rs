// A field is given once.

use cuda_launch::*;

// `args` is given once.
fn twice_args(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            args: [],
            //~
        }
    }
}

// `attributes` is given once.
fn twice_attributes(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: [Attribute::priority(0)],
            attributes: [Attribute::priority(0)],
            //~
        }
    }
}

// `cluster_dim` is given once.
fn twice_cluster_dim(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cluster_dim: (2, 1, 1),
            cluster_dim: (2, 1, 1),
            //~
        }
    }
}

// `config` is given once.
fn twice_config(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            config: LaunchConfig::for_num_elems(100),
            //~
        }
    }
}

// `cooperative` is given once.
fn twice_cooperative(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            cooperative: true,
            cooperative: true,
            //~
        }
    }
}

// `function` is given once.
fn twice_function(stream: &CudaStream, function: &CudaFunction) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            function: function,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            function: function,
            //~
        }
    }
}

// `kernel` is given once.
fn twice_kernel(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            kernel: k,
            //~
        }
    }
}

// `module` is given once.
fn twice_module(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            module: module,
            //~
        }
    }
}

// `stream` is given once.
fn twice_stream(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            stream: stream,
            //~
        }
    }
}

// Fields are separated by commas.
fn missing_comma(module: &CudaModule, stream: &CudaStream) -> Result<(), Error> {
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module
            //~ module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
        }
    }
}

fn main() {}
