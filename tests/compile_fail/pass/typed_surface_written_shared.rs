use cuda_launch::*;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::SurfaceObject;

    unsafe extern "C" {
        pub safe fn add_one(source: &SurfaceObject, target: &mut SurfaceObject);
    }
}

fn add(
    module: &kernels::Module,
    stream: &CudaStream,
    source: &SurfaceObject,
    target: &mut SurfaceObject,
) -> Result<(), Error> {
    module.add_one(stream, LaunchConfig::for_num_elems(8), source, target)
}

fn main() {}
