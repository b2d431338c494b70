//! What `#[cuda_module]` writes is clean under the strictest lints that a user's crate may set, from inside modules, from a
//! library's macro, and by another name of this crate. That this file compiles is the test; one launch shows that it runs.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    unsafe_op_in_unsafe_fn,
    unused,
    unused_qualifications,
    unnameable_types,
    trivial_bounds,
    elided_lifetimes_in_paths,
    rust_2018_idioms,
    future_incompatible,
    nonstandard_style,
    let_underscore_drop,
    rustdoc::all,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::missing_safety_doc,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]
#![forbid(unsafe_code)]

use another_name::{CudaContext, DeviceBuffer, DeviceCopy, Error, LaunchConfig};
use cuda_launch as another_name;

/// An element that the kernels are not asked about.
#[repr(C)]
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[device_copy(crate = crate::another_name)]
pub struct Step {
    /// Along each axis.
    pub by: [f64; 3],
}

/// Every kind of item, seen from everywhere.
#[another_name::cuda_module("tests/compile_fail/images/structs.ptx", crate = crate::another_name)]
pub mod structs {
    use super::Step;

    /// Stays.
    pub const LANES: u32 = 32;

    unsafe extern "C" {
        /// Moves every point.
        pub safe fn move_all(points: &mut [Step], step: Step);
        /// Turns every point.
        pub fn turn(points: *mut f32, points_len: u64, quaternion: [f32; 4]);
        /// Turns every point of memory that is long enough.
        #[launch_contract(requires = (points.len() as u64 >= points_len, !points.is_empty()))]
        #[entry("turn")]
        pub safe fn turn_points(points: *mut f32, points_len: u64, quaternion: [f32; 4]);
        pub fn apply<F: Fn(u32) -> u32>(f: F, out: &mut [u32]);
    }
}

/// Objects that are read and written.
#[another_name::cuda_module("tests/kernels/objects.ptx", crate = crate::another_name)]
pub mod objects {
    use crate::another_name::tensor::TensorMapObject;
    use crate::another_name::texture::{SurfaceObject, TextureObject};

    unsafe extern "C" {
        /// Reads one.
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
        /// Reads one and writes one.
        pub fn add_one(r#in: &SurfaceObject, target: &mut SurfaceObject);
        /// Reads a tensor map.
        pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
    }
}

/// Names for several types, variables.
#[another_name::cuda_module("tests/kernels/typed.ptx", crate = crate::another_name)]
pub mod typed {
    unsafe extern "C" {
        #[entry(f32 = "scale_float", f64 = "scale_double")]
        pub safe fn scale<T>(x: &mut [T], factor: T);
        #[launch_contract(block = (32, 1, 1), dynamic_shared = 0, requires = (out.len() == 5, true))]
        #[attributes(cuda_launch::Attribute::priority(0))]
        pub safe fn variables(out: &mut [f32]);
        #[deprecated = "a word of the language, and a lint of its own"]
        #[entry("bounded")]
        #[launch_bounds(128)]
        pub safe fn r#loop(r#type: &mut [u32]);
        /// How often.
        pub static mut counts: [u32; 4];
        #[entry("last")]
        pub static mut LAST_VALUE: f32;
        pub static LEVELS: [f32; 4];
    }
}

mod inner {
    /// In a module that nobody else sees, kernels for nobody else.
    #[crate::another_name::cuda_module("examples/kernels/vecadd.ptx", crate = crate::another_name)]
    pub(crate) mod kernels {
        unsafe extern "C" {
            pub(crate) safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
            #[entry("vecadd")]
            pub safe fn more_public_than_its_module(a: &[f32], b: &[f32], c: &mut [f32]);
            #[entry("vecadd")]
            safe fn unused(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }
}

macro_rules! by_macro {
    ($name:ident, $element:ty) => {
        #[cuda_launch::cuda_module("examples/kernels/vecadd.ptx")]
        mod $name {
            unsafe extern "C" {
                pub safe fn vecadd(a: &[$element], b: &[$element], c: &mut [$element]);
            }
        }
    };
}
by_macro!(written_by_macro, f32);

/// A module inside of a function.
fn local(ctx: &CudaContext) -> Result<(), Error> {
    #[cuda_launch::cuda_module("examples/kernels/vecadd.ptx")]
    mod kernels {
        unsafe extern "C" {
            pub(super) safe fn vecadd(a: &[f32], b: &[f32], c: &mut [f32]);
        }
    }
    let stream = ctx.default_stream();
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 8])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 8)?;
    kernels::load(ctx)?.vecadd(&stream, LaunchConfig::for_num_elems(8), &a, &a, &mut c)?;
    assert_eq!(c.to_host_vec(&stream)?, [2.0; 8]);
    Ok(())
}

#[test]
fn what_is_written_is_clean_and_runs() -> Result<(), Error> {
    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let a = DeviceBuffer::from_host(&stream, &[1.0f32; 8])?;
    let mut c = DeviceBuffer::<f32>::zeroed(&stream, 8)?;
    let config = LaunchConfig::for_num_elems(8);
    inner::kernels::load(&ctx)?.vecadd(&stream, config, &a, &a, &mut c)?;
    assert_eq!(c.to_host_vec(&stream)?, [2.0; 8]);
    written_by_macro::load(&ctx)?.vecadd(&stream, config, &a, &a, &mut c)?;
    local(&ctx)
}
