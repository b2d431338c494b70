//! Elements that are aligned to more than a driver aligns memory to: `derive(DeviceCopy)` takes them, and every way to memory of
//! them either gives memory at such an address or says that it cannot.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::memory::{
    GrowableBuffer, ManagedAttach, MemoryAccess, MemoryPool, PinnedFlags, PitchedBuffer, PoolOptions,
    RegisterFlags,
};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{
    CudaContext, CudaStream, DeviceBuffer, DeviceCopy, Error, ErrorKind, ManagedBuffer, PinnedBuffer,
};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

macro_rules! elements {
    ($($name:ident = $align:literal;)*) => {$(
        #[derive(Clone, Copy, Debug, DeviceCopy)]
        #[repr(C, align($align))]
        struct $name([u8; $align]);
    )*};
}

elements! { Page = 4096; Pages16 = 65536; Pages256 = 1048576; }

/// The same without a size.
#[derive(Clone, Copy, Debug, DeviceCopy)]
#[repr(C, align(65536))]
struct Nothing([u8; 0]);

/// Memory whose first element is at a multiple of its alignment, or an error that says so.
fn fits<T, M>(what: &str, made: Result<M, Error>, address: impl Fn(&M) -> u64) {
    match made {
        Ok(memory) => {
            let address = address(&memory);
            assert!(address.is_multiple_of(align_of::<T>() as u64), "{what}: {address:#x}");
        }
        Err(error) => {
            assert!(error.is_misaligned(), "{what}: {error}");
            let ErrorKind::Alignment(found) = error.kind() else { panic!("{what}: {error}") };
            assert_eq!(found.align, align_of::<T>(), "{what}");
            assert!(!found.address.is_multiple_of(found.align as u64), "{what}: {error}");
            assert!(error.to_string().contains("help:"), "{error}");
        }
    }
}

/// Every way to memory of `T`; some more than once, because the driver may give a fitting address by chance.
fn every_way<T: DeviceCopy + Send + Sync + std::fmt::Debug>(element: T) {
    let stream = stream();
    let context = stream.context();
    let pool = MemoryPool::new(context, PoolOptions::default()).unwrap();
    for len in [0, 1, 3] {
        let pinned = || PinnedBuffer::<T>::zeroed(context, len, PinnedFlags::empty());
        for buffer in [pinned(), pinned(), pinned()] {
            fits::<T, _>("zeroed", buffer, |buffer| buffer.as_slice().unwrap().as_ptr().addr() as u64);
        }
        let source = vec![element; len];
        let made = PinnedBuffer::from_slice(context, &source, PinnedFlags::empty());
        fits::<T, _>("from_slice", made, |buffer| buffer.as_host_ptr().addr() as u64);
        let made = PinnedBuffer::register(context, source.clone(), RegisterFlags::empty());
        fits::<T, _>("register", made, |buffer| buffer.as_slice().unwrap().as_ptr().addr() as u64);
        let managed = || ManagedBuffer::<T>::uninit(context, len, ManagedAttach::Global);
        for buffer in [managed(), managed(), managed()] {
            fits::<T, _>("managed", buffer, |buffer| buffer.as_slice().unwrap().as_ptr().addr() as u64);
        }
        let made = ManagedBuffer::from_slice(&stream, &source, ManagedAttach::Global);
        fits::<T, _>("managed from_slice", made, |buffer| buffer.as_host_ptr().addr() as u64);
        let made =
            [DeviceBuffer::<T>::uninit(&stream, len), DeviceBuffer::<T>::uninit_in(&pool, &stream, len)];
        for (buffer, what) in made.into_iter().zip(["uninit", "uninit_in"]) {
            fits::<T, _>(what, buffer, DeviceBuffer::cu_deviceptr);
        }
        fits::<T, _>("plain", DeviceBuffer::<T>::uninit_plain(context, len), DeviceBuffer::cu_deviceptr);
        let made = PitchedBuffer::<T>::uninit(&stream, len, 2);
        if let Ok(buffer) = &made {
            assert!(buffer.pitch().is_multiple_of(align_of::<T>()), "rows of {}", buffer.pitch());
        }
        fits::<T, _>("pitched", made, PitchedBuffer::cu_deviceptr);
        fits::<T, _>("growable", GrowableBuffer::<T>::new(context, len), |buffer| {
            buffer.view().cu_deviceptr()
        });
        fits::<T, _>("mapped", mapped::<T>(context, len), DeviceBuffer::cu_deviceptr);
    }
}

fn mapped<T: DeviceCopy>(context: &CudaContext, len: usize) -> Result<DeviceBuffer<T>, Error> {
    let part = PhysicalOptions::default().granularity(context, false)?;
    let bytes = (len * size_of::<T>()).max(1).next_multiple_of(part);
    let memory = PhysicalAllocation::new(context, bytes, PhysicalOptions::default())?;
    let mapping = Mapping::new(&VirtualReservation::new(context, bytes, 0)?, 0, &memory)?;
    mapping.set_access(context.into(), MemoryAccess::ReadWrite)?;
    DeviceBuffer::from_mapping(mapping, len)
}

/// Elements of 1 MiB that are passed by value need room.
fn with_room(test: fn()) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(test).unwrap();
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn memory_is_aligned_for_its_elements_or_an_error() {
    with_room(|| {
        every_way(Page([1; _]));
        every_way(Pages16([2; _]));
        every_way(Pages256([3; _]));
        every_way(Nothing([]));
    });
}

#[test]
fn what_is_refused_is_given_back() {
    let (spy, context) = spies::spied();
    let stream = context.new_stream().unwrap();
    let mut refused = 0;
    let mut kept: Vec<Box<dyn std::any::Any>> = Vec::new();
    for _ in 0..16 {
        let live = spy.ledger();
        let made: [Result<Box<dyn std::any::Any>, Error>; 4] = [
            PinnedBuffer::<Pages256>::zeroed(&context, 1, PinnedFlags::empty())
                .map(|buffer| Box::new(buffer) as _),
            ManagedBuffer::<Pages256>::uninit(&context, 1, ManagedAttach::Global)
                .map(|buffer| Box::new(buffer) as _),
            DeviceBuffer::<Pages256>::uninit(&stream, 1).map(|buffer| Box::new(buffer) as _),
            DeviceBuffer::<Pages256>::uninit_plain(&context, 1).map(|buffer| Box::new(buffer) as _),
        ];
        let (given, errors): (Vec<_>, Vec<_>) = made.into_iter().partition(Result::is_ok);
        assert!(errors.iter().all(|error| matches!(error, Err(error) if error.is_misaligned())));
        refused += errors.len();
        assert_eq!(spy.ledger().live().len() - live.live().len(), given.len());
        kept.extend(given.into_iter().flatten());
    }
    // No driver aligns to 256 pages each time.
    assert!(refused > 0 || !on_emulator(&context));
}

fn on_emulator(context: &CudaContext) -> bool {
    context.device_name().unwrap().contains("emulator")
}
