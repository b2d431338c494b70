use cuda_launch::DeviceCopy;

trait Number: Copy {
    type Wide: DeviceCopy;
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params<T: Number> {
    value: T,
    sum: T::Wide,
}
