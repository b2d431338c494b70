//! Memory and addresses apart: reservations, allocations, mappings, and buffers that grow.

#![allow(unsafe_code)] // Launches of kernels whose arguments the comment beside them tells.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::error::AliasedMemory;
use cuda_launch::memory::{GrowableBuffer, MemoryAccess, MemoryLocation};
use cuda_launch::virtual_memory::{Mapping, PhysicalAllocation, PhysicalOptions, VirtualReservation};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, ErrorKind, LaunchConfig, cuda_launch};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

fn granularity(context: &CudaContext) -> usize {
    PhysicalOptions::default().granularity(context, false).unwrap()
}

fn memory(context: &CudaContext, parts: usize) -> PhysicalAllocation {
    PhysicalAllocation::new(context, parts * granularity(context), PhysicalOptions::default()).unwrap()
}

#[test]
fn memory_is_used_where_it_is_mapped() {
    let stream = stream();
    let context = stream.context();
    let part = granularity(context);
    let addresses = VirtualReservation::new(context, 4 * part, 0).unwrap();
    let memory = memory(context, 2);
    assert_eq!(memory.location().unwrap(), MemoryLocation::from(context));
    let mapping = Mapping::new(&addresses, part, &memory).unwrap();
    assert_eq!((mapping.address(), mapping.byte_len()), (addresses.address() + part as u64, 2 * part));
    let device = MemoryLocation::from(context);
    assert_eq!(mapping.access(device).unwrap(), MemoryAccess::None);
    mapping.set_access(device, MemoryAccess::ReadWrite).unwrap();
    assert_eq!(mapping.access(device).unwrap(), MemoryAccess::ReadWrite);
    let mut buffer = DeviceBuffer::<u32>::from_mapping(mapping, part / 2).unwrap();
    let data: Vec<u32> = (0..part as u32 / 2).collect();
    buffer.copy_from_host(&stream, &data).unwrap();
    assert_eq!(buffer.to_host_vec(&stream).unwrap(), data);
}

#[test]
fn everything_may_be_dropped_in_any_order() {
    let stream = stream();
    let context = stream.context();
    for order in 0..3 {
        let addresses = VirtualReservation::new(context, granularity(context), 0).unwrap();
        let memory = memory(context, 1);
        let mapping = Mapping::new(&addresses, 0, &memory).unwrap();
        mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
        let mut buffer = DeviceBuffer::<u8>::from_mapping(mapping, 100).unwrap();
        buffer.view_mut().set_zero(&stream).unwrap();
        match order {
            0 => drop((addresses, memory, buffer)),
            1 => drop((buffer, memory, addresses)),
            _ => {
                drop((memory, addresses));
                assert_eq!(buffer.to_host_vec(&stream).unwrap(), [0; 100]);
            }
        }
    }
}

#[test]
fn one_memory_at_two_addresses() {
    let stream = stream();
    let context = stream.context();
    let part = granularity(context);
    let (addresses, memory) = (VirtualReservation::new(context, 2 * part, 0).unwrap(), memory(context, 1));
    let map = |index: usize| {
        let mapping = Mapping::new(&addresses, index * part, &memory).unwrap();
        mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
        mapping
    };
    let mut first = DeviceBuffer::<u32>::from_mapping(map(0), 16).unwrap();
    // SAFETY: 1: `first` writes and `second` reads the same bytes one after the other on one stream, which keeps the order; 2: no
    // multicast object is bound; 3: `map` has granted access.
    let second = unsafe { DeviceBuffer::<u32>::from_shared_mapping(map(1), 16) }.unwrap();
    first.copy_from_host(&stream, &[5; 16]).unwrap();
    assert_eq!(second.to_host_vec(&stream).unwrap(), [5; 16]);
}

#[test]
fn one_buffer_at_a_time_has_the_memory() {
    let stream = stream();
    let context = stream.context();
    let part = granularity(context);
    let (addresses, memory) = (VirtualReservation::new(context, 2 * part, 0).unwrap(), memory(context, 1));
    let buffer = |index: usize, memory: &PhysicalAllocation| {
        let mapping = Mapping::new(&addresses, index * part, memory).unwrap();
        mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
        DeviceBuffer::<u32>::from_mapping(mapping, 16)
    };
    for round in 0..3 {
        let mut first = buffer(0, &memory).unwrap();
        let error = buffer(1, &memory.clone()).unwrap_err();
        let ErrorKind::Aliased(AliasedMemory::Mapped { address, bytes }) = error.kind() else {
            panic!("{error}")
        };
        assert_eq!((*address, *bytes), (addresses.address() + part as u64, part));
        assert!(error.to_string().contains("from_shared_mapping"), "{error}");
        first.fill(&stream, round).unwrap();
        // What was written is there for whoever has the memory next, and comes first.
        drop(first);
        let next = buffer(1, &memory).unwrap();
        assert_eq!(next.to_host_vec(&stream).unwrap(), [round; 16]);
        // Its view keeps it, and a part of it is enough.
        assert!(buffer(0, &memory).is_err());
    }
    // What leaves this crate's hands is never anybody's alone again.
    let (_, len) = buffer(0, &memory).unwrap().into_raw_parts().unwrap();
    assert_eq!(len, 16);
    assert!(matches!(buffer(1, &memory).unwrap_err().kind(), ErrorKind::Aliased(_)));
}

#[test]
fn mistakes_are_errors() {
    let stream = stream();
    let context = stream.context();
    let part = granularity(context);
    let error = PhysicalAllocation::new(context, part + 1, PhysicalOptions::default()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Mapping(m) if m.granularity == part), "{error}");
    assert!(PhysicalAllocation::new(context, 0, PhysicalOptions::default()).is_err());
    let error = PhysicalAllocation::new(context, 1 << 50, PhysicalOptions::default()).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let (addresses, memory) = (VirtualReservation::new(context, 2 * part, 0).unwrap(), memory(context, 1));
    for offset in [2 * part, part / 2, usize::MAX] {
        let error = Mapping::new(&addresses, offset, &memory).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Mapping(_)), "{error}");
    }
    let mapping = Mapping::new(&addresses, 0, &memory).unwrap();
    assert_eq!(Mapping::new(&addresses, 0, &memory).unwrap_err().call(), Some("cuMemMap"));
    let error = DeviceBuffer::<u64>::from_mapping(mapping, part / 8 + 1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Length(_)), "{error}");
}

#[test]
fn a_buffer_grows_where_it_is() {
    let stream = stream();
    let context = stream.context();
    let module = context.load_module(include_str!("../examples/kernels/vecadd.ptx")).unwrap();
    let part = PhysicalOptions::default().granularity(context, true).unwrap() / 4;
    let mut buffer = GrowableBuffer::<f32>::new(context, 3 * part).unwrap();
    assert!(buffer.is_empty() && buffer.capacity() == 0);
    buffer.grow_to(part).unwrap();
    buffer.view_mut().copy_from_host(&stream, &vec![1.0; part]).unwrap();
    let address = buffer.view().cu_deviceptr();
    buffer.grow_to(3 * part).unwrap();
    assert_eq!(
        (buffer.view().cu_deviceptr(), buffer.len(), buffer.capacity()),
        (address, 3 * part, 3 * part)
    );
    // Copies, fills and kernels span the seams.
    let rest = vec![2.0; 2 * part];
    buffer.view_mut().slice(part..).copy_from_host(&stream, &rest).unwrap();
    let same = DeviceBuffer::from_host(&stream, &vec![10.0f32; 3 * part]).unwrap();
    let mut sum = DeviceBuffer::<f32>::uninit(&stream, 3 * part).unwrap();
    // const float* a, its length, const float* b, its length, float* c, its length
    unsafe {
        cuda_launch! { kernel: vecadd, module: module, stream: stream, config: LaunchConfig::for_num_elems(3 * part as u32),
        args: [slice(buffer), slice(same), slice_mut(sum)] }
    }
    .unwrap();
    let sum = sum.to_host_vec(&stream).unwrap();
    assert!(sum.iter().enumerate().all(|(i, x)| *x == if i < part { 11.0 } else { 12.0 }));
    buffer.view_mut().slice(part - 10..part + 10).set_zero(&stream).unwrap();
    assert_eq!(
        buffer.view().slice(part - 11..part + 11).to_host_vec(&stream).unwrap()[..12],
        [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    );
    let error = buffer.grow_to(3 * part + 1).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Mapping(_)), "{error}");
    assert_eq!(buffer.len(), 3 * part);
}

/// A safe kernel that got it would fault.
#[test]
fn memory_that_kernels_may_not_use_becomes_no_buffer() {
    let stream = stream();
    let context = stream.context();
    let part = granularity(context);
    let addresses = VirtualReservation::new(context, part, 0).unwrap();
    for (access, words) in
        [(None, "has no access to the mapping"), (Some(MemoryAccess::Read), "has read access to")]
    {
        let mapping = Mapping::new(&addresses, 0, &memory(context, 1)).unwrap();
        if let Some(access) = access
            && mapping.set_access(context.into(), access).is_err()
        {
            cuda_harness::skipped("this driver grants no read access alone");
            continue;
        }
        let error = DeviceBuffer::<u32>::from_mapping(mapping, 4).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Inaccessible(_)) && error.to_string().contains(words),
            "{error}"
        );
    }
    // Nothing is left: the same addresses serve again.
    let mapping = Mapping::new(&addresses, 0, &memory(context, 1)).unwrap();
    mapping.set_access(context.into(), MemoryAccess::ReadWrite).unwrap();
    assert_eq!(DeviceBuffer::<u32>::from_mapping(mapping, 4).unwrap().len(), 4);
}
