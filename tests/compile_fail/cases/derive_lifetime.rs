// A struct that borrows.

use cuda_launch::*;

// What is borrowed is in host memory.
mod lifetime {
    use super::*;

    //~ use cuda_launch::{DeviceCopy, DevicePtr};

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params<'a> {
    //~
        name: &'a [u8],
        //~ struct Params {
        //+ name: DevicePtr<u8>,
        //+ len: u64,
    }
}

// Also where nothing is borrowed yet.
mod lifetime_of_marker {
    use super::*;
    use std::marker::PhantomData;

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params<'a> {
    //~ struct Params {
        scale: f32,
        of: PhantomData<&'a f32>,
        //~
    }
}

fn main() {}
