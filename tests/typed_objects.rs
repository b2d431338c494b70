//! Textures, surfaces and tensor maps as arguments of typed kernels: ordered, kept, and no substitute for each other's memory.
//! There is no `unsafe` here: all kernels are declared as safe.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_harness::skipped;
use cuda_launch::error::ObjectError;
use cuda_launch::memory::{NoAddress, PitchedBuffer};
use cuda_launch::tensor::{TensorMap, TensorMapObject};
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::{
    CaptureMode, CudaContext, CudaGraph, CudaStream, DeviceBuffer, DeviceCopy, ErrorKind, LaunchConfig,
    PinnedBuffer, cuda_module,
};

/// The same type by another name, in another place.
mod names {
    pub(crate) use cuda_launch::texture::TextureObject as Picture;
    pub(crate) type Target = cuda_launch::texture::SurfaceObject;
}

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use super::names::{Picture, Target};
    use cuda_launch::tensor::TensorMapObject;
    use cuda_launch::texture::{SurfaceObject, TextureObject};

    unsafe extern "C" {
        /// Reads one element of the texture for each of the slice.
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
        pub safe fn fetch(texture: &Picture, out: &mut [f32]);
        /// Reads zero outside, and writes nothing there.
        pub safe fn add_one(source: &SurfaceObject, target: &mut Target);
        #[launch_contract(block = (16, 1, 1), requires = (out.len() == 16))]
        pub safe fn map_words(map: &TensorMapObject, out: &mut [u64]);
        #[entry("map_words")]
        pub safe fn map_written(map: &mut TensorMapObject, out: &mut [u64]);
    }
}

struct Rig {
    ctx: CudaContext,
    stream: CudaStream,
    module: kernels::Module,
}

fn rig() -> Rig {
    let ctx = CudaContext::new(0).unwrap();
    let (stream, module) = (ctx.new_stream().unwrap(), kernels::load(&ctx).unwrap());
    Rig { ctx, stream, module }
}

fn line(threads: u32) -> LaunchConfig {
    LaunchConfig::new((1, 1, 1), (threads, 1, 1))
}

fn row<T: cuda_launch::texture::ArrayElement>(ctx: &CudaContext, width: usize) -> CudaArray<T> {
    CudaArray::new(ctx, ArrayShape::D1 { width }, ArrayFlags::SURFACE).unwrap()
}

fn texture<T: cuda_launch::texture::ArrayElement>(array: &CudaArray<T>) -> TextureObject {
    TextureObject::from_array(array, &TextureDescriptor::default()).unwrap()
}

#[test]
fn objects_are_what_the_kernel_reads_and_writes() {
    let Rig { ctx, stream, module } = rig();
    let array = row::<f32>(&ctx, 4);
    array.copy_from_host(&stream, &[10.0, 20.0, 30.0, 40.0]).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    module.sample(&stream, line(32), &texture(&array), &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [10.0, 20.0, 30.0, 40.0]);
    let source = DeviceBuffer::from_host(&stream, &[1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let linear =
        std::sync::Arc::new(TextureObject::from_linear(&source, &TextureDescriptor::default()).unwrap());
    drop(source); // the texture keeps it
    module.fetch(&stream, line(32), &linear, &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), [1.0, 2.0, 3.0, 4.0]);

    let arrays = [(); 2].map(|()| row::<u32>(&ctx, 3));
    arrays[0].copy_from_host(&stream, &[7, 8, 9]).unwrap();
    let [source, mut target] = arrays.each_ref().map(|array| SurfaceObject::new(array).unwrap());
    module.add_one(&stream, line(32), &source, &mut target).unwrap();
    assert_eq!(arrays[1].to_host_vec(&stream).unwrap(), [8, 9, 10]);
}

/// What the stream is given from here on begins late.
fn delay(stream: &CudaStream) {
    stream.call_host(|| std::thread::sleep(std::time::Duration::from_millis(50))).unwrap();
}

/// Without a word from the program: a launch that reads waits for the one that wrote, and one that writes for those that read.
#[test]
fn launches_on_two_streams_are_ordered_by_their_objects() {
    let Rig { ctx, stream, module } = rig();
    let second = ctx.new_stream().unwrap();
    let arrays = [(); 3].map(|()| row::<u32>(&ctx, 4));
    arrays.iter().for_each(|array| array.copy_from_host(&stream, &[0; 4]).unwrap());
    stream.synchronize().unwrap();
    let [a, mut b, mut c] = arrays.each_ref().map(|array| SurfaceObject::new(array).unwrap());
    delay(&stream);
    module.add_one(&stream, line(4), &a, &mut b).unwrap(); // b = 1
    module.add_one(&second, line(4), &b, &mut c).unwrap(); // c = 2
    assert_eq!(arrays[2].to_host_vec(&second).unwrap(), [2; 4], "the reader waits for the writer");
    delay(&stream);
    module.add_one(&stream, line(4), &c, &mut b).unwrap(); // b = 3, reads c
    module.add_one(&second, line(4), &b, &mut c).unwrap(); // c = 4
    delay(&second);
    module.add_one(&second, line(4), &a, &mut c).unwrap(); // c = 1
    assert_eq!(arrays[1].to_host_vec(&stream).unwrap(), [3; 4], "the writer waits for the reader");
    assert_eq!(arrays[2].to_host_vec(&stream).unwrap(), [1; 4]);
}

/// Copies on other streams wait for launches, too, and a texture of a buffer orders the buffer.
#[test]
fn copies_and_launches_with_textures_are_ordered() {
    let Rig { ctx, stream, module } = rig();
    let second = ctx.new_stream().unwrap();
    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let linear = TextureObject::from_linear(&buffer, &TextureDescriptor::default()).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&second, 4).unwrap();
    for round in 1..4u8 {
        delay(&stream);
        buffer.fill(&stream, f32::from(round)).unwrap();
        module.fetch(&second, line(4), &linear, &mut out).unwrap();
        assert_eq!(out.to_host_vec(&second).unwrap(), [f32::from(round); 4]);
        delay(&second);
        module.fetch(&second, line(4), &linear, &mut out).unwrap();
        buffer.fill(&stream, -1.0).unwrap();
        assert_eq!(out.to_host_vec(&second).unwrap(), [f32::from(round); 4], "the fill waits for the reader");
    }
}

/// A graph replays with the texture after everybody else has dropped it.
#[test]
fn graphs_keep_objects() {
    let Rig { ctx, stream, module } = rig();
    let array = row::<f32>(&ctx, 4);
    array.copy_from_host(&stream, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let picture = texture(&array);
    let surfaces = [(); 2].map(|()| row::<u32>(&ctx, 4));
    surfaces[0].copy_from_host(&stream, &[5; 4]).unwrap();
    let [source, mut target] = surfaces.each_ref().map(|array| SurfaceObject::new(array).unwrap());
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
        module.sample(stream, line(4), &picture, &mut out)?;
        module.add_one(stream, line(4), &source, &mut target)
    })
    .unwrap();
    let mut exec = graph.instantiate(cuda_launch::graph::InstantiateFlags::empty()).unwrap();
    drop((graph, array, picture, source, target));
    // Others that could get their handles.
    let others: Vec<_> = (0..4).map(|_| texture(&row::<f32>(&ctx, 4))).collect();
    for _ in 0..3 {
        out.fill(&stream, 0.0).unwrap();
        exec.launch(&stream).unwrap();
        assert_eq!(out.to_host_vec(&stream).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(surfaces[1].to_host_vec(&stream).unwrap(), [6; 4]);
    }
    drop(others);
}

fn object_error(result: Result<(), cuda_launch::Error>) -> ObjectError {
    let error = result.unwrap_err();
    assert!(error.is_launch_refused(), "{error}");
    match error.kind() {
        ErrorKind::Object(error) => error.clone(),
        other => panic!("{other:?}"),
    }
}

/// Objects borrow nothing, so what the compiler refuses for slices is refused by the launch.
#[test]
fn what_is_written_is_reached_by_one_argument() {
    let Rig { ctx, stream, module } = rig();
    let array = row::<u32>(&ctx, 4);
    array.copy_from_host(&stream, &[1; 4]).unwrap();
    let (source, mut target) =
        (SurfaceObject::new(&array).unwrap(), SurfaceObject::new(&array.clone()).unwrap());
    let error = object_error(module.add_one(&stream, line(4), &source, &mut target));
    assert!(matches!(&error, ObjectError::Aliased { first: "source", second: "target", .. }), "{error}");
    assert!(error.to_string().contains("add_one: the arguments `source` and `target` reach the same memory"));
    assert_eq!(array.to_host_vec(&stream).unwrap(), [1; 4], "nothing was launched");

    let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 1024).unwrap();
    let linear = |range: std::ops::Range<usize>| {
        TextureObject::from_linear(&buffer.slice(range), &TextureDescriptor::default()).unwrap()
    };
    let (low, all, end) = (linear(0..512), linear(0..1024), linear(768..1024));
    let error = object_error(module.fetch(&stream, line(4), &all, &mut buffer.slice_mut(512..)));
    assert!(matches!(error, ObjectError::Aliased { first: "texture", second: "out", .. }), "{error}");
    module.fetch(&stream, line(4), &low, &mut buffer.slice_mut(512..)).unwrap();
    object_error(module.fetch(&stream, line(4), &end, &mut buffer.slice_mut(512..)));

    // A texture of pitched rows reaches the last of them.
    let mut rows = PitchedBuffer::<f32>::uninit(&stream, 4, 3).unwrap();
    rows.fill(&stream, 1.0).unwrap();
    let picture = TextureObject::from_pitched(&rows, &TextureDescriptor::default()).unwrap();
    for y in 0..3 {
        object_error(module.fetch(&stream, line(4), &picture, &mut rows.row_mut(y).unwrap()));
    }

    // Levels of a mipmapped array are memory of their own, but for a texture of all of them.
    let shape = ArrayShape::D1 { width: 8 };
    let mipmap = MipmappedArray::<u32>::new(&ctx, shape, ArrayFlags::SURFACE, 2).unwrap();
    let levels = [0, 1].map(|level| SurfaceObject::new(&mipmap.level(level).unwrap()).unwrap());
    let [large, mut small] = levels;
    module.add_one(&stream, line(4), &large, &mut small).unwrap();
    let mut again = SurfaceObject::new(&mipmap.level(0).unwrap()).unwrap();
    object_error(module.add_one(&stream, line(4), &large, &mut again));
}

/// Safe code may have a `&mut [T]` of pinned memory while a kernel runs; with a slice it could not.
#[test]
fn textures_of_host_memory_are_for_unsafe_kernels() {
    let Rig { ctx, stream, module } = rig();
    let pinned =
        PinnedBuffer::<f32>::zeroed(&ctx, 1024, cuda_launch::memory::PinnedFlags::DEVICE_MAP).unwrap();
    let texture = TextureObject::from_linear(&pinned.device_view(), &TextureDescriptor::default()).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let error = object_error(module.fetch(&stream, line(4), &texture, &mut out));
    assert!(matches!(error, ObjectError::SeenByHost { object: "texture", .. }), "{error}");
    let managed =
        cuda_launch::ManagedBuffer::<f32>::zeroed(&stream, 1024, cuda_launch::memory::ManagedAttach::Global)
            .unwrap();
    let texture = TextureObject::from_linear(&managed, &TextureDescriptor::default()).unwrap();
    let error = object_error(module.fetch(&stream, line(4), &texture, &mut out));
    assert!(matches!(error, ObjectError::SeenByHost { .. }), "{error}");
}

#[test]
fn a_tensor_map_keeps_and_orders_its_buffer() {
    let Rig { ctx, stream, module } = rig();
    let mut memory = DeviceBuffer::<f32>::zeroed(&stream, 64 * 64).unwrap();
    let tiled = TensorMap::tiled([64, 64], [32, 8]);
    let map = match tiled.encode(&ctx, &memory) {
        Err(error) if error.is_unsupported() => return skipped(error),
        map => map.unwrap(),
    };
    let mut object: TensorMapObject = tiled.encode_object(&memory).unwrap();
    let mut out = DeviceBuffer::<u64>::zeroed(&stream, 16).unwrap();
    module.map_words(&stream, line(16), &object, &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), map.raw().opaque);
    assert!(module.map_words(&stream, line(17), &object, &mut out).unwrap_err().is_contract_violation());

    // A kernel that may write through it comes after a fill elsewhere, and before the next.
    let second = ctx.new_stream().unwrap();
    delay(&second);
    memory.fill(&second, 1.0).unwrap();
    out.copy_from_host(&stream, &[0; 16]).unwrap();
    module.map_written(&stream, line(16), &mut object, &mut out).unwrap();
    assert!(second.query().unwrap() || !stream.query().unwrap());
    stream.synchronize().unwrap();
    assert!(second.query().unwrap(), "the launch waited for the fill");
    drop(memory);
    module.map_words(&stream, line(16), &object, &mut out).unwrap();
    assert_eq!(out.to_host_vec(&stream).unwrap(), map.raw().opaque);
}

#[test]
fn objects_of_another_context_are_refused() {
    let Rig { stream, module, .. } = rig();
    let other =
        stream.context().device().create_context(&cuda_launch::context::ContextOptions::default()).unwrap();
    let picture = texture(&row::<f32>(&other, 4));
    let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
    let error = module.sample(&stream, line(4), &picture, &mut out).unwrap_err();
    assert!(error.is_context_mismatch(), "{error}");
}

#[cfg(feature = "async")]
mod later {
    use super::*;
    use cuda_harness::Spy;
    use cuda_launch::DeviceOperation;
    use std::sync::Arc;

    #[test]
    fn operations_borrow_objects_or_own_them() {
        let Rig { ctx, stream, module } = rig();
        let array = row::<f32>(&ctx, 4);
        array.copy_from_host(&stream, &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let picture = Arc::new(texture(&array));
        let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
        module.sample_async(line(4), &picture, &mut out).unwrap().sync().unwrap();
        assert_eq!(out.to_host_vec(&stream).unwrap(), [1.0, 2.0, 3.0, 4.0]);
        out.fill(&stream, 0.0).unwrap();
        let (_, out) = module.sample_async_owned(line(4), picture.clone(), out).unwrap().sync().unwrap();
        assert_eq!(out.to_host_vec(&stream).unwrap(), [1.0, 2.0, 3.0, 4.0]);

        let arrays = [(); 2].map(|()| row::<u32>(&ctx, 3));
        arrays[0].copy_from_host(&stream, &[7, 8, 9]).unwrap();
        let [source, target] = arrays.each_ref().map(|array| SurfaceObject::new(array).unwrap());
        let (source, _target) =
            module.add_one_async_owned(line(4), source, Box::new(target)).unwrap().sync().unwrap();
        assert_eq!(arrays[1].to_host_vec(&stream).unwrap(), [8, 9, 10]);
        let other = ctx.device().create_context(&cuda_launch::context::ContextOptions::default()).unwrap();
        let picture = texture(&row::<f32>(&other, 4));
        let mut out = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap();
        let strange = module.sample_async(line(4), &picture, &mut out).unwrap().sync_on(&stream);
        assert!(strange.unwrap_err().is_context_mismatch());
        let same = SurfaceObject::new(&arrays[0]).unwrap();
        let error = module.add_one_async_owned(line(4), source, same).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Object(ObjectError::Aliased { .. })), "{error}");
    }

    /// All of them but the kernel are of one context, and nobody has to wait for them. No driver is asked whether that goes together.
    #[test]
    fn a_kernel_of_another_context_is_refused_also_with_objects() {
        let spy = Spy::over(&cuda_launch::default_driver().unwrap()).unwrap();
        let ctx = CudaContext::with_driver(&spy.driver(), 0).unwrap();
        let other = ctx.device().create_context(&cuda_launch::context::ContextOptions::default()).unwrap();
        let [own, strange] = [&ctx, &other].map(|ctx| kernels::load(ctx).unwrap());
        let stream = ctx.new_stream().unwrap();
        let (picture, mut out) =
            (texture(&row::<f32>(&ctx, 4)), DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap());
        let mut launch = |module: &kernels::Module| {
            spy.clear();
            let launched = module.sample_async(line(4), &picture, &mut out).unwrap().sync_on(&stream);
            (launched, spy.calls().names().contains(&"cuLaunchKernelEx"))
        };
        for _ in 0..3 {
            let (launched, is_asked) = launch(&own);
            launched.unwrap();
            assert!(is_asked);
            let (refused, is_asked) = launch(&strange);
            assert!(refused.unwrap_err().is_context_mismatch() && !is_asked);
        }
    }

    /// Of an operation on one stream and a launch on another; the object is dropped right after the operation.
    #[test]
    fn operations_are_ordered_by_their_objects() {
        let Rig { ctx, stream, module } = rig();
        let second = ctx.new_stream().unwrap();
        let arrays = [(); 3].map(|()| row::<u32>(&ctx, 4));
        arrays.iter().for_each(|array| array.copy_from_host(&stream, &[0; 4]).unwrap());
        stream.synchronize().unwrap();
        let [a, mut b, mut c] = arrays.each_ref().map(|array| SurfaceObject::new(array).unwrap());
        super::delay(&stream);
        module.add_one(&stream, line(4), &a, &mut b).unwrap();
        module.add_one_async(line(4), &b, &mut c).unwrap().sync_on(&second).unwrap();
        drop((b, c));
        assert_eq!(arrays[2].to_host_vec(&second).unwrap(), [2; 4]);
    }
}

// ---- what has no address ------------------------------------------------------------------------------------------------

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Inner<T> {
    value: T,
}

#[repr(C)]
#[derive(Clone, Copy, DeviceCopy)]
struct Outer<T, const N: usize> {
    inner: [Inner<T>; N],
    of: std::marker::PhantomData<*const T>,
    wrapped: std::num::Wrapping<u8>,
}

#[test]
fn structs_of_numbers_have_no_address() {
    fn none<T: NoAddress>() {}
    none::<Outer<f32, 3>>();
    none::<[Outer<[u16; 2], 0>; 4]>();
}
