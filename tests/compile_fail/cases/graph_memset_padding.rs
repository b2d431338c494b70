// A byte that nobody wrote lies between the fields: it is no part of a number.

use cuda_launch::graph::MemsetNode;
use cuda_launch::*;

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Pixel {
    kind: u8,
    value: u16,
}

fn set(pixels: &mut DeviceBuffer<Pixel>) -> Result<MemsetNode, Error> {
    MemsetNode::new(pixels, Pixel { kind: 1, value: 2 })
    //~ MemsetNode::new(&mut pixels.cast_mut::<u16>()?, 1)
}

fn main() {}
