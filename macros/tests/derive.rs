//! Structs that `#[derive(DeviceCopy)]` accepts, each in a form that could break what the macro writes.

// What the macro writes needs no exception from any of these.
#![forbid(unsafe_code, clippy::all, clippy::pedantic)]

use std::marker::PhantomData;
use std::mem::{offset_of, size_of};

use cuda_launch::{DeviceCopy, DevicePtr, DevicePtrMut};

fn plain<T: DeviceCopy>() -> usize {
    size_of::<T>()
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    bias: f64,
    tag: u16,
    idx: [i32; 4],
}

#[test]
fn the_layout_is_that_of_c() {
    assert_eq!(plain::<Params>(), 40);
    assert_eq!([offset_of!(Params, scale), offset_of!(Params, bias)], [0, 8]);
    assert_eq!([offset_of!(Params, tag), offset_of!(Params, idx)], [16, 20]);
}

#[test]
fn nested_tuple_unit_and_empty_structs() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Outer {
        parts: [Params; 2],
        pair: Pair,
    }
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Pair(u8, DevicePtr<Params>);
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Unit;
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Empty {}
    assert_eq!((plain::<Outer>(), plain::<Pair>(), plain::<Unit>(), plain::<Empty>()), (96, 16, 0, 0));
}

#[test]
fn alignment_packing_and_transparent_wrappers() {
    #[repr(C, align(32))]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Wide(f32);
    #[repr(C, packed)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Packed {
        a: u8,
        b: u64,
    }
    #[repr(transparent)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Metres(f64);
    assert_eq!((plain::<Wide>(), plain::<Packed>(), plain::<Metres>()), (32, 9, 8));
    assert_eq!((offset_of!(Packed, a), offset_of!(Packed, b)), (0, 1));
}

#[test]
fn type_and_const_parameters() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Matrix<T, const N: usize = 2, const M: usize = 3> {
        rows: [[T; M]; N],
    }
    assert_eq!(plain::<Matrix<f32>>(), 24);
    assert_eq!(plain::<Matrix<Matrix<u8, 1, 1>, 4, 5>>(), 20);
}

#[test]
fn a_parameter_may_only_mark() {
    #[repr(transparent)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Index<T> {
        at: u32,
        of: PhantomData<[T]>,
    }
    assert_eq!(plain::<Index<f64>>(), 4);
}

trait Scalar: Copy + 'static {
    type Wide;
}

impl Scalar for f32 {
    type Wide = f64;
}

#[test]
fn where_clauses_and_associated_types() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Sum<T: Scalar>
    where
        T::Wide: DeviceCopy,
    {
        value: T,
        sum: T::Wide,
    }
    assert_eq!(plain::<Sum<f32>>(), 16);
}

#[test]
fn a_field_may_say_self() {
    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Node {
        value: f32,
        next: DevicePtr<Self>,
        others: [DevicePtrMut<Node>; Self::OTHERS],
    }
    impl Node {
        const OTHERS: usize = 2;
    }
    assert_eq!(plain::<Node>(), 32);
}

#[test]
fn types_and_names_from_a_macro() {
    macro_rules! record {
        ($name:ident { $($field:ident: $ty:ty),* }) => {
            #[repr(C)]
            #[derive(Clone, Copy, DeviceCopy)]
            struct $name { $($field: $ty),* }
        };
    }
    record!(Record { r#type: u32, of: [u8; 4], to: DevicePtr<f32> });
    assert_eq!(plain::<Record>(), 16);
}

mod gpu {
    pub(crate) use cuda_launch as launch;
}

/// Names that the macro's output uses mean something else here.
mod hostile {

    mod core {}
    mod cuda_launch {}
    #[allow(dead_code)]
    trait Copy {}
    #[allow(dead_code)]
    trait DeviceCopy {}

    #[repr(C)]
    #[derive(::core::clone::Clone, ::core::marker::Copy, crate::gpu::launch::DeviceCopy)]
    #[device_copy(crate = crate::gpu::launch)]
    pub(crate) struct Renamed<T>(T);

    #[repr(C)]
    #[derive(::core::clone::Clone, ::core::marker::Copy, ::cuda_launch::DeviceCopy)]
    pub(crate) struct Shadowed(f32);
}

#[test]
fn the_crate_may_have_another_name() {
    assert_eq!((plain::<hostile::Renamed<u16>>(), plain::<hostile::Shadowed>()), (2, 4));
}
