//! Every form that the fields and arguments of `cuda_launch!` may have. That this compiles is the test; nothing is run.

#![allow(
    unsafe_code,
    dead_code,
    clippy::match_single_binding,
    clippy::unwrap_used,
    clippy::undocumented_unsafe_blocks
)]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use cuda_launch::{
    Attribute, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceBuffer, DeviceCopy, DeviceSlice,
    DeviceSliceMut, DeviceView, DeviceViewMut, Error, LaunchConfig, cuda_launch,
};

type Buffer = DeviceBuffer<f32>;

const CONFIG: LaunchConfig = LaunchConfig::for_num_elems(100);

struct Kernels {
    module: Arc<CudaModule>,
    functions: Vec<CudaFunction>,
    stream: CudaStream,
    input: Buffer,
    output: Buffer,
}

/// `$args` on a stream `s` with a function `f`.
macro_rules! with {
    ($f:ident, $s:ident, [$($args:tt)*]) => {
        unsafe { cuda_launch! { function: $f, stream: $s, config: CONFIG, args: [$($args)*] } }
    };
}

fn owners_of_handles(
    mut kernels: Kernels,
    module: &CudaModule,
    stream: Rc<CudaStream>,
    boxed: Box<CudaFunction>,
) -> Result<(), Error> {
    unsafe {
        cuda_launch! { kernel: k, module: kernels.module, stream: kernels.stream, config: CONFIG,
        args: [slice(kernels.input), slice_mut(kernels.output)] }?;
        cuda_launch! { function: kernels.functions[0], stream: &*stream, config: CONFIG, args: [] }?;
        cuda_launch! { function: boxed, stream: &mut kernels.stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: "k", module: &Arc::clone(&kernels.module), stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: k, module: module, stream: kernels.stream.fork()?, config: CONFIG, args: [] }?;
        cuda_launch! { function: module.load_function("k")?, stream: stream, config: CONFIG, args: [] }?;
    }
    // None of them was moved.
    drop((kernels, stream, boxed));
    Ok(())
}

fn names(module: &CudaModule, stream: &CudaStream, name: String, names: &[&str]) -> Result<(), Error> {
    unsafe {
        cuda_launch! { kernel: r#match, module: module, stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: "_Z1kPf", module: module, stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: (&name), module: module, stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: (name), module: module, stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: names[0], module: module, stream: stream, config: CONFIG, args: [] }?;
        cuda_launch! { kernel: format!("k{}", 1), module: module, stream: stream, config: CONFIG, args: [] }
    }
}

fn optional_fields(f: &CudaFunction, s: &CudaStream, event: &CudaEvent, big: bool) -> Result<(), Error> {
    let listed = vec![Attribute::priority(-1), Attribute::launch_completion_event(event)];
    unsafe {
        cuda_launch! { attributes: listed, args: [], stream: s, function: f, config: CONFIG }?;
        cuda_launch! { attributes: &listed[1..], args: [], stream: s, function: f, config: CONFIG }?;
        cuda_launch! { attributes: &listed, args: [], stream: s, function: f, config: CONFIG }?;
        cuda_launch! { attributes: [], args: [], stream: s, function: f, config: CONFIG }?;
        cuda_launch! {
            config: if big { LaunchConfig::new((8, 1, 1), CONFIG.block_dim) } else { CONFIG },
            cooperative: !big,
            cluster_dim: if big { (2, 1, 1) } else { (1, 1, 1) },
            attributes: [Attribute::programmatic_event(event, true)],
            args: [],
            stream: s,
            function: f
        }
    }
}

fn memory(f: &CudaFunction, s: &CudaStream, mut x: Buffer, y: &mut Buffer, z: &Buffer) -> Result<(), Error> {
    with!(f, s, [slice(x), slice(&x), slice(y), slice(z), slice(&&z)])?;
    with!(f, s, [slice_mut(x), slice_mut(y)])?;
    with!(f, s, [slice_mut(&mut x), slice_mut(&mut *y)])?;
    with!(f, s, [slice(x.slice(1..3)), slice_mut(y.slice_mut(2..)), slice(z.view())])?;
    let (left, mut right) = x.split_at_mut(50);
    with!(f, s, [slice(left), slice_mut(right)])?;
    with!(f, s, [slice_mut(right.view_mut()), slice(left.as_view()), left.len()])?;
    drop((x, y));
    Ok(())
}

fn views(
    f: &CudaFunction,
    s: &CudaStream,
    a: DeviceView<'_, u8>,
    mut b: DeviceViewMut<'_, u8>,
) -> Result<(), Error> {
    with!(f, s, [slice(a), slice_mut(b), slice(a)])?;
    with!(f, s, [slice(a), slice_mut(b), a.len()])
}

fn owners_of_memory(
    f: &CudaFunction,
    s: &CudaStream,
    shared: Arc<Buffer>,
    mut boxed: Box<Buffer>,
    cell: &RefCell<Buffer>,
    lock: &Mutex<Buffer>,
    list: &mut [Buffer],
) -> Result<(), Error> {
    with!(
        f,
        s,
        [slice(shared), slice(boxed), slice(*cell.borrow()), slice(*lock.lock().unwrap()), slice(list[0])]
    )?;
    with!(f, s, [slice_mut(boxed), slice_mut(cell.borrow_mut()), slice_mut(lock.lock().unwrap())])?;
    with!(f, s, [slice_mut(list[1])])?;
    drop((shared, boxed));
    Ok(())
}

fn generic<S: DeviceSlice, M: DeviceSliceMut, T: DeviceCopy, B: Copy + 'static>(
    (f, s): (&CudaFunction, &CudaStream),
    (source, mut target): (&S, M),
    (value, bytes): (T, B),
) -> Result<(), Error> {
    with!(f, s, [slice(source), slice_mut(target), value, [value; 4], byval(bytes)])
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Params {
    scale: f32,
    extent: [u32; 3],
}

fn values(f: &CudaFunction, s: &CudaStream, x: &mut Buffer, held: &Params) -> Result<(), Error> {
    let (n, p) = (3usize, Params { scale: 1.0, extent: [1, 2, 3] });
    with!(
        f,
        s,
        [1, -2i8, 3.0, n, p, *held, held.extent, held.scale + 1.0, x.as_device_ptr(), x.as_mut_device_ptr()]
    )?;
    with!(
        f,
        s,
        [{ n * 2 }, if n > 1 { 1u8 } else { 2 }, u64::MAX, Params { scale: 2.0, ..p }, p.extent[n - 1]]
    )?;
    with!(f, s, [byval(p), byval((1u8, 'x')), byval(true), byval(move |i: usize| i + n), byval(()), p])
}

/// What an argument's expression does happens once, and it may do anything.
async fn expressions(
    f: &CudaFunction,
    s: &CudaStream,
    list: Vec<u32>,
    mut next: impl FnMut() -> u32,
) -> Option<()> {
    fn total(list: Vec<u32>) -> u32 {
        list.into_iter().sum()
    }
    let mut count = 0u32;
    with!(
        f,
        s,
        [
            total(list),
            next(),
            next(),
            {
                count += 1;
                count
            },
            std::future::ready(1u8).await
        ]
    )
    .ok()?;
    with!(f, s, ["7".parse::<u32>().ok()?, byval(std::future::ready(1u8).await), byval(total(vec![count]))])
        .ok()
}

#[test]
fn an_argument_is_evaluated_once() {
    // The expansion mentions it twice, once in a branch that is never taken.
    let mut count = 0;
    let mut next = || {
        count += 1;
        count
    };
    match cuda_launch::__cuda_launch_args!(next(), byval(next())) {
        list => assert_eq!((list.0.0, list.1.0.0), (&1, &2)),
    }
    assert_eq!(count, 2);
}
