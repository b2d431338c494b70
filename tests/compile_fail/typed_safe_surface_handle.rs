// The handle of a surface, which the caller may have destroyed, by a type alias, in a module that a macro writes.

type Surface = cuda_launch::texture::SurfaceHandle;

macro_rules! kernels {
    ($name:ident, $ty:ty) => {
        #[cuda_launch::cuda_module("tests/kernels/objects.ptx")]
        mod $name {
            use super::Surface;

            unsafe extern "C" {
                pub safe fn add_one(source: $ty, target: &mut cuda_launch::texture::SurfaceObject);
            }
        }
    };
}
kernels!(kernels, Surface);

fn main() {}
