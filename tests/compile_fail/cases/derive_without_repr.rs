// The layout is that of C.

use cuda_launch::*;

// Rust orders the fields of a plain struct as it likes.
mod without_repr {
    use cuda_launch::DeviceCopy;
    //+ #[repr(C)]

    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
    }
}

// Nor does alignment.
#[repr(align(16))]
//~ #[repr(C, align(16))]
#[derive(Clone, Copy, DeviceCopy)]
struct ReprAlign {
    scale: f32,
}

// Packing does not fix the order.
#[repr(packed)]
//~ #[repr(C, packed)]
#[derive(Clone, Copy, DeviceCopy)]
struct ReprPacked {
    tag: u8,
    scale: f64,
}

fn main() {}
