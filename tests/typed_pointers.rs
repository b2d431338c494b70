//! Addresses as parameters of typed kernels: device memory is passed for them, borrowed, ordered and kept as for slices, and with a
//! contract about its length a kernel that takes bare addresses is safe to launch. The one `unsafe` here passes numbers.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;

use alone::{alone, hold};
use cuda_launch::error::ObjectError;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::operation::{OperationGraph, block_on};
use cuda_launch::texture::{TextureDescriptor, TextureObject};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, DeviceOperation, DeviceSlice,
    DeviceSliceMut, Error, ErrorKind, LaunchConfig, cuda_module,
};
use std::sync::Arc;

#[cuda_module("examples/kernels/typed.ptx")]
mod kernels {
    use cuda_launch::{DevicePtr, DevicePtrMut};

    unsafe extern "C" {
        /// y = alpha * x + y for the first n elements.
        #[launch_contract(requires = (x.len() >= n as usize, r#in.len() >= n as usize))]
        pub safe fn saxpy(n: u32, alpha: f32, x: *const f32, r#in: *mut f32);
        /// The same, of numbers.
        #[entry("saxpy")]
        pub fn by_number(n: u32, alpha: f32, x: DevicePtr<f32>, y: DevicePtrMut<f32>);
    }
}

#[cuda_module("tests/kernels/textures.ptx")]
mod textures {
    use cuda_launch::texture::TextureObject;

    unsafe extern "C" {
        #[launch_contract(block = (4, 1, 1), grid = (1, 1, 1), requires = (out.len() >= 4))]
        pub safe fn sample_1d(texture: &TextureObject, out: *mut f32, x0: f32, step: f32);
    }
}

const N: usize = 100;

struct Rig {
    ctx: CudaContext,
    stream: CudaStream,
    module: kernels::Module,
}

/// The kernel was launched once: the first launch may load code, and wait for all streams.
fn rig() -> Rig {
    let ctx = CudaContext::new(0).unwrap();
    let rig = Rig { stream: ctx.new_stream().unwrap(), module: kernels::load(&ctx).unwrap(), ctx };
    let (x, mut y) = (rig.floats(1.0), rig.floats(1.0));
    rig.module.saxpy(&rig.stream, config(), N as u32, 1.0, &x, &mut y).unwrap();
    assert_eq!(rig.read(&y), [2.0; N]);
    rig
}

impl Rig {
    fn floats(&self, value: f32) -> DeviceBuffer<f32> {
        DeviceBuffer::from_host(&self.stream, &[value; N]).unwrap()
    }

    fn read(&self, buffer: &DeviceBuffer<f32>) -> Vec<f32> {
        buffer.to_host_vec(&self.stream).unwrap()
    }
}

fn config() -> LaunchConfig {
    LaunchConfig::for_num_elems(N as u32)
}

#[test]
fn memory_of_every_kind_is_passed_for_an_address() {
    let _alone = alone();
    let rig = rig();
    let Rig { stream, module, .. } = &rig;
    let (x, mut y) = (Arc::new(rig.floats(2.0)), rig.floats(1.0));
    module.saxpy(stream, config(), N as u32, 3.0, &x, &mut y).unwrap();
    assert_eq!(rig.read(&y), [7.0; N]);
    module.saxpy(stream, config(), 10, 1.0, &x.slice(90..), &mut y.slice_mut(5..20)).unwrap();
    let expected = |range: std::ops::Range<usize>, inside: f32, outside: f32| -> Vec<f32> {
        (0..N).map(|i| if range.contains(&i) { inside } else { outside }).collect()
    };
    assert_eq!(rig.read(&y), expected(5..15, 9.0, 7.0));
    let any: (&dyn DeviceSlice<Element = f32>, &mut dyn DeviceSliceMut<Element = f32>) = (&x, &mut y);
    module.saxpy(stream, config(), 5, 0.5, any.0, any.1).unwrap();
    assert_eq!(rig.read(&y)[..6], [8.0, 8.0, 8.0, 8.0, 8.0, 9.0]);
}

#[test]
#[allow(unsafe_code)]
fn numbers_are_passed_where_they_are_declared() {
    let _alone = alone();
    let rig = rig();
    let (mut x, mut y) = (rig.floats(2.0), rig.floats(1.0));
    // SAFETY: 1, 2: both have N elements, of which the kernel touches the first N; 3, 4: they live until `read` below has waited,
    // and this one stream uses them; 5, 6: it writes floats and ends.
    unsafe {
        let (stream, to) = (&rig.stream, y.as_mut_device_ptr());
        rig.module.by_number(stream, config(), N as u32, 1.0, x.as_device_ptr(), to).unwrap();
        rig.module.by_number(stream, config(), N as u32, 1.0, x.as_mut_device_ptr(), to).unwrap();
    }
    assert_eq!(rig.read(&y), [5.0; N]);
}

fn contract(result: Result<(), Error>) -> (String, String) {
    match result.unwrap_err().kind() {
        ErrorKind::Contract(e) => (e.required.clone(), e.given.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_contract_knows_the_length_of_an_address() {
    let _alone = alone();
    let rig = rig();
    let Rig { stream, module, .. } = &rig;
    let (x, mut y) = (rig.floats(2.0), rig.floats(1.0));
    let n = N as u32;
    let short = contract(module.saxpy(stream, config(), n, 1.0, &x.slice(1..), &mut y));
    assert_eq!(short, ("x.len() >= n as usize".into(), "99 and 100".into()));
    let short = contract(module.saxpy(stream, config(), n + 1, 1.0, &x, &mut y));
    assert_eq!(short, ("x.len() >= n as usize".into(), "100 and 101".into()));
    let short = contract(module.saxpy(stream, config(), n, 1.0, &x, &mut y.slice_mut(..7)));
    assert_eq!(short, ("r#in.len() >= n as usize".into(), "7 and 100".into()));
    assert_eq!(rig.read(&y), [1.0; N], "nothing was launched");
    // Nothing is a length, too.
    module.saxpy(stream, config(), 0, 1.0, &x.slice(..0), &mut y.slice_mut(..0)).unwrap();
    let short = contract(module.saxpy_async(config(), n + 1, 1.0, &x, &mut y).map(drop));
    assert_eq!(short.1, "100 and 101");
}

/// Without a word from the program: a launch that reads waits for the one that wrote, and one that writes for those that read.
#[test]
fn launches_on_two_streams_are_ordered_by_their_addresses() {
    let _alone = alone();
    let rig = rig();
    let (n, Rig { ctx, stream, module }) = (N as u32, &rig);
    let second = ctx.new_stream().unwrap();
    // `a` alone is used on both.
    let (one, mut a) = (rig.floats(1.0), rig.floats(0.0));
    let mut b = DeviceBuffer::<f32>::zeroed(&second, N).unwrap();
    let held = hold(stream);
    module.saxpy(stream, config(), n, 1.0, &one, &mut a).unwrap(); // a = 1
    module.saxpy(&second, config(), n, 10.0, &a, &mut b).unwrap(); // b = 10
    assert!(!second.query().unwrap(), "the reader waits for the writer");
    drop(held);
    assert_eq!(b.to_host_vec(&second).unwrap(), [10.0; N]);

    let held = hold(&second);
    module.saxpy(&second, config(), n, 10.0, &a, &mut b).unwrap(); // b = 20, reads a
    module.saxpy(stream, config(), n, 1.0, &one, &mut a).unwrap(); // a = 2
    assert!(!stream.query().unwrap(), "the writer waits for the reader");
    drop(held);
    assert_eq!(b.to_host_vec(&second).unwrap(), [20.0; N]);
    assert_eq!(rig.read(&a), [2.0; N]);
}

/// A graph replays with memory after everybody else has dropped it.
#[test]
fn graphs_keep_what_an_address_is_of() {
    let _alone = alone();
    let rig = rig();
    let Rig { ctx, stream, module } = &rig;
    let (x, mut middle, mut y) = (rig.floats(3.0), rig.floats(1.0), rig.floats(0.0));
    stream.synchronize().unwrap();
    let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
        module.saxpy(stream, config(), N as u32, 2.0, &x, &mut middle)?;
        module.saxpy(stream, config(), N as u32, 1.0, &middle, &mut y)
    })
    .unwrap();
    let mut exec = graph.instantiate(InstantiateFlags::empty()).unwrap();
    drop((graph, x, middle));
    // Others that could get their memory.
    let others: Vec<_> = (0..8).map(|_| rig.floats(-1.0)).collect();
    stream.synchronize().unwrap();
    let mut expected = 0.0;
    for replay in 1..=3u8 {
        exec.launch(stream).unwrap();
        expected += 1.0 + 6.0 * f32::from(replay);
        assert_eq!(rig.read(&y), [expected; N]);
    }
    others.iter().for_each(|other| assert_eq!(rig.read(other), [-1.0; N], "nobody else's memory is written"));
}

/// Objects borrow nothing, so a launch compares where they reach with what an address is of.
#[test]
fn what_is_written_by_address_is_not_reached_through_a_texture() {
    let _alone = alone();
    let rig = rig();
    let textures = textures::load(&rig.ctx).unwrap();
    let mut memory = DeviceBuffer::from_host(&rig.stream, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let texture = TextureObject::from_linear(&memory, &TextureDescriptor::default()).unwrap();
    let line = LaunchConfig::new((1, 1, 1), (4, 1, 1));
    let error = textures.sample_1d(&rig.stream, line, &texture, &mut memory, 0.5, 1.0).unwrap_err();
    match error.kind() {
        ErrorKind::Object(ObjectError::Aliased { first: "texture", second: "out", .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn memory_of_another_context_is_refused() {
    let _alone = alone();
    let rig = rig();
    let other = rig.ctx.device().create_context(&cuda_launch::context::ContextOptions::default()).unwrap();
    let foreign = DeviceBuffer::from_host(&other.new_stream().unwrap(), &[1.0f32; N]).unwrap();
    let mut y = rig.floats(1.0);
    let error = rig.module.saxpy(&rig.stream, config(), N as u32, 1.0, &foreign, &mut y).unwrap_err();
    assert!(error.is_context_mismatch(), "{error}");
}

mod later {
    use super::*;

    #[test]
    fn operations_borrow_what_an_address_is_of_or_own_it() {
        let _alone = alone();
        let rig = rig();
        let (n, module) = (N as u32, &rig.module);
        let (x, mut y) = (Arc::new(rig.floats(2.0)), rig.floats(1.0));
        module.saxpy_async(config(), n, 1.0, &x, &mut y).unwrap().sync().unwrap();
        block_on(module.saxpy_async(config(), n, 1.0, &x.slice(..), &mut y).unwrap()).unwrap();
        assert_eq!(rig.read(&y), [5.0; N]);
        let (shared, y) = module.saxpy_async_owned(config(), n, 2.0, x.clone(), y).unwrap().sync().unwrap();
        assert_eq!((rig.read(&shared), rig.read(&y)), (vec![2.0; N], vec![9.0; N]));
        let refused = module.saxpy_async_owned(config(), n + 1, 2.0, x.clone(), y).unwrap_err();
        assert!(refused.is_contract_violation());
        drop(shared);
        assert_eq!(Arc::strong_count(&x), 1, "nothing is kept after an error");
    }

    #[test]
    fn operations_are_ordered_by_their_addresses() {
        let _alone = alone();
        let rig = rig();
        let (n, Rig { ctx, stream, module }) = (N as u32, &rig);
        let second = ctx.new_stream().unwrap();
        let of = |stream: &CudaStream, value: f32| DeviceBuffer::from_host(stream, &[value; N]).unwrap();
        // Each of the stream that uses it: only one crosses at a time.
        let (one, mut a, mut c) = (of(stream, 1.0), of(stream, 0.0), of(stream, 0.0));
        let (other, b) = (of(&second, 1.0), of(&second, 0.0));

        let held = hold(stream);
        module.saxpy(stream, config(), n, 1.0, &one, &mut a).unwrap(); // a = 1
        let operation = module.saxpy_async_owned(config(), n, 10.0, a, b).unwrap(); // b = 10
        let ((_, b), _event) = operation.submit_on(&second).unwrap();
        assert!(!second.query().unwrap(), "the operation waits for the launch that writes");
        drop(held);
        assert_eq!(b.to_host_vec(&second).unwrap(), [10.0; N]);

        let held = hold(&second);
        let operation = module.saxpy_async_owned(config(), n, 10.0, other, b).unwrap(); // b = 20
        let ((_, b), _event) = operation.submit_on(&second).unwrap();
        module.saxpy(stream, config(), n, 1.0, &b, &mut c).unwrap(); // c = 20
        assert!(!stream.query().unwrap(), "the launch waits for the operation that writes");
        drop(held);
        assert_eq!(rig.read(&c), [20.0; N]);
    }

    #[test]
    fn operations_are_captured_and_replayed() {
        let _alone = alone();
        let rig = rig();
        let op = rig.module.saxpy_async_owned(config(), N as u32, 2.0, rig.floats(3.0), rig.floats(0.0));
        let mut graph: OperationGraph<_> = op.unwrap().graph_in(&rig.ctx).unwrap();
        (0..5).for_each(|_| graph.replay().sync().unwrap());
        let (x, y) = graph.output();
        assert_eq!((rig.read(x), rig.read(y)), (vec![3.0; N], vec![30.0; N]));
    }
}
