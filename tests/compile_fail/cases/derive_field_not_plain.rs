// Each field is plain data.

use cuda_launch::*;

// An array is as plain as its elements.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct FieldArrayOfBool {
    scale: f32,
    field: [bool; 4],
    //~ field: [u8; 4],
}

// What a kernel writes need not be a `bool`.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct FieldBool {
    scale: f32,
    field: bool,
    //~ field: u8,
}

// Nor a `char`.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct FieldChar {
    scale: f32,
    field: char,
    //~ field: u32,
}

// Nor a variant.
mod field_enum {
    use super::*;

    #[derive(Clone, Copy)]
    enum Mode {
        Fast,
    }

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        field: Mode,
        //~ field: u32,
    }
}

// Nor other than zero.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct FieldNonZero {
    scale: f32,
    field: std::num::NonZeroU32,
    //~ field: u32,
}

// Nor an `Option`.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct FieldOption {
    scale: f32,
    field: Option<u32>,
    //~ field: [u32; 2],
}

// A struct inside derives it too.
mod field_struct {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    //~ #[derive(Clone, Copy, DeviceCopy)]
    struct Inner {
        tag: u8,
    }

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params {
        scale: f32,
        field: Inner,
    }
}

// Fields without a name are numbered.
#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct TupleStructField(f32, bool);
//~ struct TupleStructField(f32, u8);

// A type that is only named through a parameter needs a bound of its own.
mod generic_without_bound {
    use super::*;

    trait Number: Copy {
        type Wide: Copy;
        //~ type Wide: DeviceCopy;
    }

    #[repr(C)]
    #[derive(Clone, Copy, DeviceCopy)]
    struct Params<T: Number> {
        value: T,
        sum: T::Wide,
    }
}

fn main() {}
