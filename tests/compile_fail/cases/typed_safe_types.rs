// A `safe fn` takes nothing that holds an address or a handle.

use cuda_launch::*;

// A safe kernel that reads an address which its caller chooses, in a wrapper.
#[cuda_module("images/numbers.ptx")]
mod device_ptr {
    unsafe extern "C" {
        pub safe fn of_u64(out: cuda_launch::DevicePtrMut<u32>, value: u64);
        //~ pub fn of_u64(out: cuda_launch::DevicePtrMut<u32>, value: u64);
    }
}

// A kernel that was compiled for addresses, too.
#[cuda_module("../kernels/typed.ptx")]
mod generic_of_addresses {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        #[entry(f64 = "scale_double", DevicePtr<u8> = "scale_double")]
        //~ #[entry(f64 = "scale_double", u64 = "scale_double")]
        pub safe fn scale<T>(x: &mut [T], factor: f64);
    }
}

// What lies at an address is what the caller copied there.
#[cuda_module("images/vectors.ptx")]
mod pointer_to_addresses {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        #[launch_contract(requires = (x.len() >= n as usize, y.len() >= n as usize))]
        pub safe fn axpy(n: u32, alpha: f32, x: *const DevicePtr<f32>, y: *mut f32);
        //~ pub fn axpy(n: u32, alpha: f32, x: *const DevicePtr<f32>, y: *mut f32);
    }
}

// The elements of a slice are what the caller copied there.
#[cuda_module("../../examples/kernels/vecadd.ptx")]
mod slice_of_addresses {
    use cuda_launch::DevicePtr;

    unsafe extern "C" {
        pub safe fn vecadd(a: &[DevicePtr<f32>], b: &[f32], c: &mut [f32]);
        //~ pub safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        //+ #[entry("vecadd")]
        //+ pub fn of_addresses(a: &[DevicePtr<f32>], b: &[f32], c: &mut [f32]);
    }
}

// A structure in a structure with an address in it.
mod struct_with_address {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Table<T> {
        rows: [T; 1],
    }

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Outer {
        table: Table<DevicePtr<f32>>,
        //~ table: Table<[f32; 2]>,
        len: [u64; 2],
    }

    #[cuda_module("images/structs.ptx")]
    mod kernels {
        use super::Outer;

        unsafe extern "C" {
            pub safe fn move_all(points: &mut [f32], table: Outer);
        }
    }
}

// The handle of a surface, which the caller may have destroyed, by a type alias, in a module that a macro writes.
mod surface_handle {
    type Surface = cuda_launch::texture::SurfaceHandle;
    //~ type Surface = cuda_launch::texture::SurfaceObject;

    macro_rules! kernels {
        ($name:ident, $ty:ty) => {
            #[cuda_launch::cuda_module("../kernels/objects.ptx")]
            mod $name {
                use super::Surface;

                unsafe extern "C" {
                    pub safe fn add_one(source: $ty, target: &mut cuda_launch::texture::SurfaceObject);
                }
            }
        };
    }
    kernels!(kernels, Surface);
    //~ kernels!(kernels, &Surface);
}

// A tensor map holds an address, as `TensorMap` and as the driver's own structure.
#[cuda_module("../kernels/objects.ptx")]
mod tensor_map {
    use cuda_launch::tensor::TensorMap;
    use cuda_launch::sys;
    //~ use cuda_launch::tensor::TensorMapObject;

    unsafe extern "C" {
        pub safe fn map_words(map: TensorMap, out: &mut [u64]);
        //~ pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
        #[entry("map_words")]
        pub safe fn raw_words(map: sys::CUtensorMap, out: &mut [u64]);
        //~ pub fn of_unsafe_kernels(map: TensorMap, out: &mut [u64]);
    }
}

// The handle of a texture, which the caller may have destroyed, by another name.
mod texture_handle {
    use super::*;

    mod names {
        pub(super) use cuda_launch::texture::TextureHandle as Picture;
        //~ pub(super) use cuda_launch::texture::TextureObject as Picture;
    }

    #[cuda_module("../kernels/objects.ptx")]
    mod kernels {
        use super::names::Picture;

        unsafe extern "C" {
            pub safe fn sample(texture: Picture, out: &mut [f32]);
            //~ pub safe fn sample(texture: &Picture, out: &mut [f32]);
        }
    }
}

fn main() {}
