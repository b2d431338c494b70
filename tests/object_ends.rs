//! Where textures and surfaces end: after the work that uses them, and beside all other.

#![deny(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use alone::{alone, hold};
use cuda_harness::{Fault, Spy};
use cuda_launch::memory::PitchedBuffer;
use cuda_launch::texture::{
    ArrayElement, ArrayFlags, ArrayShape, CudaArray, MipmappedArray, SurfaceObject, TextureDescriptor,
    TextureObject,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, LaunchConfig, cuda_module};
use spies::spied;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::{SurfaceObject, TextureObject};

    unsafe extern "C" {
        /// Reads one element of the texture for each of the slice.
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
        pub safe fn fetch(texture: &TextureObject, out: &mut [f32]);
        /// Reads zero outside, and writes nothing there.
        pub safe fn add_one(source: &SurfaceObject, target: &mut SurfaceObject);
    }
}

fn line() -> LaunchConfig {
    LaunchConfig::new((1, 1, 1), (4, 1, 1))
}

fn row<T: ArrayElement>(ctx: &CudaContext) -> CudaArray<T> {
    CudaArray::new(ctx, ArrayShape::D1 { width: 4 }, ArrayFlags::SURFACE).unwrap()
}

/// What kernels use, one of each kind, and what they write.
struct Objects {
    picture: TextureObject,
    linear: TextureObject,
    pitched: TextureObject,
    levels: TextureObject,
    source: SurfaceObject,
    target: SurfaceObject,
}

/// The objects, and the owners of what is behind them.
fn objects(stream: &CudaStream) -> (Objects, impl Sized) {
    let (ctx, described) = (stream.context(), TextureDescriptor::default());
    let array = row::<f32>(ctx);
    let buffer = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    let rows = PitchedBuffer::<f32>::uninit(stream, 4, 1).unwrap();
    let shape = ArrayShape::D2 { width: 4, height: 4 };
    let mipmap = MipmappedArray::<f32>::new(ctx, shape, ArrayFlags::empty(), 2).unwrap();
    let written = [(); 2].map(|()| row::<u32>(ctx));
    let [source, target] = written.each_ref().map(|array| SurfaceObject::new(array).unwrap());
    let objects = Objects {
        picture: TextureObject::from_array(&array, &described).unwrap(),
        linear: TextureObject::from_linear(&buffer, &described).unwrap(),
        pitched: TextureObject::from_pitched(&rows, &described).unwrap(),
        levels: TextureObject::from_mipmap(&mipmap, &described).unwrap(),
        source,
        target,
    };
    (objects, (array, buffer, rows, mipmap, written))
}

/// A stream that the spy hears, and the kernels.
fn rig() -> (Spy, CudaStream, kernels::Module) {
    let (spy, ctx) = spied();
    (spy, ctx.new_stream().unwrap(), kernels::load(&ctx).unwrap())
}

/// Each kernel once.
fn launch(stream: &CudaStream, module: &kernels::Module, used: &mut Objects) -> DeviceBuffer<f32> {
    let mut out = DeviceBuffer::<f32>::zeroed(stream, 4).unwrap();
    module.sample(stream, line(), &used.picture, &mut out).unwrap();
    module.fetch(stream, line(), &used.linear, &mut out).unwrap();
    module.add_one(stream, line(), &used.source, &mut used.target).unwrap();
    out
}

/// Neither the end of an object nor that of what is behind it waits for streams that have nothing to do with them.
#[test]
fn objects_end_beside_work_that_does_not_use_them() {
    let _alone = alone();
    let (spy, stream, module) = rig();
    let other = stream.context().new_stream().unwrap();
    let (mut used, behind) = objects(&stream);
    let _out = launch(&stream, &module, &mut used);
    let held = hold(&other);
    drop(used);
    // It would tell that somebody waited for the other stream.
    drop(held);
    // A driver may wait for all of the device where it frees memory; this crate does not ask for that.
    let ((), calls) = spy.during(|| drop(behind));
    assert_eq!(calls.count("cuCtxSynchronize"), 0, "{}", calls.snapshot());
    assert_eq!(calls.count("cuArrayDestroy"), 3, "{}", calls.snapshot());
}

/// Whoever has a handle may have launched something with it that nobody noted.
#[test]
fn objects_whose_handle_was_given_out_end_after_all_work_and_so_does_their_memory() {
    let _alone = alone();
    let (spy, stream, _module) = rig();
    // How often all work is waited for, which is before each call that ends something.
    let waits = |end: &mut dyn FnMut()| {
        let names = spy.during(end).1.names();
        let ends = |name: &str| name.contains("Destroy") || name.contains("Free") && name != "cuMemFreeAsync";
        let mut waited = 0;
        for (at, name) in names.iter().enumerate() {
            let is_wait = *name == "cuCtxSynchronize";
            waited += usize::from(is_wait);
            assert!(is_wait || !ends(name) || waited > 0, "{name} is call {at} of {names:?}");
        }
        waited
    };
    let (Objects { picture, linear, pitched, levels, source, target }, behind) = objects(&stream);
    // From here on the objects alone have their memory.
    drop(behind);
    for (texture, least) in [(picture, 2), (linear, 1), (pitched, 1), (levels, 2)] {
        let _ = texture.handle();
        let mut texture = Some(texture);
        let waited = waits(&mut || drop(texture.take()));
        // The object, and its memory, unless that goes by a call that waits.
        assert!(waited >= least, "{waited} of {least}");
    }
    for surface in [source, target] {
        let _ = surface.handle();
        let mut surface = Some(surface);
        assert_eq!(waits(&mut || drop(surface.take())), 2);
    }
}

/// Whether all that the stream was given, `work` included, is done when the driver is told to destroy what is dropped then. The stream goes
/// on when somebody waits.
fn is_done_before<T>(
    destroys: &'static str,
    spy: &Spy,
    stream: &CudaStream,
    mut last: T,
    work: impl FnOnce(&mut T),
) -> bool {
    let held = Mutex::new(Some(hold(stream)));
    work(&mut last);
    let (done, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
    let (set, found) = (done.clone(), seen.clone());
    stream.call_host(move || set.store(true, Ordering::SeqCst)).unwrap();
    let looks = spy.inject(Fault::any().when(move |call| {
        if call.name().starts_with("cuStreamSynchronize") || call.name().starts_with("cuCtxSynchronize") {
            drop(held.lock().unwrap().take());
        } else if call.name() == destroys {
            found.lock().unwrap().push(done.load(Ordering::SeqCst));
            // Also where nobody has waited.
            drop(held.lock().unwrap().take());
        }
        false
    }));
    drop(last);
    looks.unwrap().lift();
    stream.synchronize().unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1, "{destroys}");
    seen[0]
}

#[test]
fn objects_end_after_the_work_that_uses_them() {
    let _alone = alone();
    let (spy, stream, module) = rig();
    let (mut used, _behind) = objects(&stream);
    // A driver may load a kernel at its first launch, and wait for all streams to do so.
    let mut out = launch(&stream, &module, &mut used);
    let Objects { picture, linear, source, target, .. } = used;
    let sample = |texture: &mut TextureObject| module.sample(&stream, line(), texture, &mut out).unwrap();
    assert!(is_done_before("cuTexObjectDestroy", &spy, &stream, picture, sample));
    let fetch = |texture: &mut TextureObject| module.fetch(&stream, line(), texture, &mut out).unwrap();
    assert!(is_done_before("cuTexObjectDestroy", &spy, &stream, linear, fetch));
    let add = |target: &mut SurfaceObject| module.add_one(&stream, line(), &source, target).unwrap();
    assert!(is_done_before("cuSurfObjectDestroy", &spy, &stream, target, add));
}
