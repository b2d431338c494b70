// Which part of an enum or union is valid is not known.

use cuda_launch::*;

// What a kernel writes need not be a variant.
#[repr(u32)]
//~ #[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
enum DeriveEnum {
//~ struct DeriveEnum {
    Slow,
    //~ number: u32,
    Fast,
    //~
}

// Which field a kernel wrote is not known.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
union DeriveUnion {
//~ struct DeriveUnion {
    float: f32,
    //~ bits: u32,
    int: u32,
    //~
}

fn main() {}
