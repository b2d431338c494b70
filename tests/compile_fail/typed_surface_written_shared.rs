// A kernel that writes through a surface takes it as mutable.

use cuda_launch::*;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::SurfaceObject;

    unsafe extern "C" {
        pub safe fn add_one(source: &SurfaceObject, target: &mut SurfaceObject);
    }
}

fn add(module: &kernels::Module, stream: &CudaStream, surface: &mut SurfaceObject) -> Result<(), Error> {
    module.add_one(stream, LaunchConfig::for_num_elems(8), surface, surface)
}

fn main() {}
