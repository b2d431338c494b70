// Values whose bytes the kernel cannot take for granted.

use cuda_launch::*;

#[derive(Clone, Copy)]
#[repr(u32)]
enum Mode {
    Fast = 1,
}

#[derive(Clone, Copy)]
//~ #[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Params {
    scale: f32,
}

fn twice(x: u32) -> u32 {
    2 * x
}

fn launch<T: Copy>(module: &CudaModule, stream: &CudaStream, generic: T) -> Result<(), Error> {
//~ fn launch<T: DeviceCopy>(module: &CudaModule, stream: &CudaStream, generic: T) -> Result<(), Error> {
    let n = 5u32;
    let add = move |i: u32| i + n;
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [
                true,
                //~ byval(true),
                'x',
                //~ 'x' as u32,
                [true, false],
                //~ [1u8, 0],
                Mode::Fast,
                //~ Mode::Fast as u32,
                std::num::NonZeroU32::MIN,
                //~ std::num::NonZeroU32::MIN.get(),
                Some(n),
                //~ Some(n).unwrap_or(0),
                (1u32, 2.0f32),
                //~ byval((1u32, 2.0f32)),
                add,
                //~ byval(add),
                twice,
                //~ twice(n),
                Params { scale: 1.0 },
                generic,
                (),
                //~
            ],
        }
    }
}

fn main() {}
