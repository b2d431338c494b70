//! Tensors handed to another library and back.

#![allow(unsafe_code)] // Plays the other library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

use cuda_launch::dlpack_abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DlTensor, ErrorKind, PointerAttributes};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

fn stream() -> CudaStream {
    CudaContext::new(0).unwrap().new_stream().unwrap()
}

#[test]
fn a_round_trip_keeps_the_memory() {
    let stream = stream();
    let data: Vec<f32> = (0..24).map(|i| i as f32).collect();
    for legacy in [false, true] {
        let buffer = DeviceBuffer::from_host(&stream, &data).unwrap();
        let address = buffer.cu_deviceptr();
        let tensor = buffer.into_dlpack(&stream, &[2, 3, 4]).unwrap();
        assert_eq!((tensor.shape(), tensor.strides()), ([2, 3, 4].as_slice(), [12, 4, 1].as_slice()));
        assert_eq!(tensor.tensor().data.addr() as u64, address);
        assert_eq!(tensor.tensor().device, DLDevice { device_type: DLDevice::CUDA, device_id: 0 });
        assert_eq!(tensor.tensor().dtype, DLDataType { code: 2, bits: 32, lanes: 1 });
        let tensor = match legacy {
            true => unsafe { DlTensor::from_raw_legacy(tensor.into_raw_legacy()) },
            false => unsafe { DlTensor::from_raw(tensor.into_raw()) },
        };
        let buffer = tensor.into_buffer::<f32>(stream.context()).unwrap();
        assert_eq!((buffer.cu_deviceptr(), buffer.to_host_vec(&stream).unwrap()), (address, data.clone()));
        // And once more, through both forms.
        let tensor = buffer.into_dlpack(&stream, &[24]).unwrap();
        let tensor =
            unsafe { DlTensor::from_raw(DlTensor::from_raw_legacy(tensor.into_raw_legacy()).into_raw()) };
        assert_eq!((tensor.shape(), tensor.is_read_only()), ([24].as_slice(), false));
        drop(tensor);
        stream.synchronize().unwrap();
    }
}

#[test]
fn the_consumer_gives_it_back() {
    let stream = stream();
    let buffer = DeviceBuffer::<u32>::uninit_plain(stream.context(), 8).unwrap();
    let address = buffer.cu_deviceptr();
    let known = || PointerAttributes::of(stream.context(), address).unwrap().is_some();
    let raw = buffer.into_dlpack(&stream, &[8]).unwrap().into_raw();
    assert!(known());
    unsafe { raw.as_ref().deleter.unwrap()(raw.as_ptr()) };
    assert!(!known());
}

static GIVEN_BACK: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn give_back(tensor: *mut DLManagedTensorVersioned) {
    let tensor = unsafe { Box::from_raw(tensor) };
    drop(unsafe { Box::from_raw(tensor.manager_ctx.cast::<Foreign>()) });
    GIVEN_BACK.fetch_add(1, Ordering::SeqCst);
}

/// What the other library keeps.
struct Foreign {
    _memory: DeviceBuffer<u16>,
    shape: [i64; 2],
    strides: [i64; 2],
}

/// A tensor of 2 by 5 from another library.
fn foreign(
    stream: &CudaStream,
    strides: Option<[i64; 2]>,
    change: impl Fn(&mut DLManagedTensorVersioned),
) -> DlTensor {
    let memory = DeviceBuffer::from_host(stream, &(0..20u16).collect::<Vec<_>>()).unwrap();
    let data = std::ptr::without_provenance_mut(memory.cu_deviceptr() as usize);
    let kept =
        Box::leak(Box::new(Foreign { _memory: memory, shape: [2, 5], strides: strides.unwrap_or_default() }));
    let mut tensor = DLManagedTensorVersioned {
        version: DLPackVersion { major: 1, minor: 1 },
        manager_ctx: (&raw mut *kept).cast(),
        deleter: Some(give_back),
        flags: 0,
        dl_tensor: DLTensor {
            data,
            device: DLDevice { device_type: DLDevice::CUDA, device_id: 0 },
            ndim: 2,
            dtype: DLDataType { code: 1, bits: 16, lanes: 1 },
            shape: kept.shape.as_mut_ptr(),
            strides: if strides.is_some() { kept.strides.as_mut_ptr() } else { std::ptr::null_mut() },
            byte_offset: 4,
        },
    };
    change(&mut tensor);
    unsafe { DlTensor::from_raw(NonNull::from(Box::leak(Box::new(tensor)))) }
}

#[test]
fn a_foreign_tensor_becomes_a_buffer() {
    let stream = stream();
    let before = GIVEN_BACK.load(Ordering::SeqCst);
    let nothing = |_: &mut DLManagedTensorVersioned| {};
    for strides in [None, Some([5, 1])] {
        let buffer = foreign(&stream, strides, nothing).into_buffer::<u16>(stream.context()).unwrap();
        // The offset counts bytes.
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), (2..12).collect::<Vec<_>>());
    }
    let refused = [
        ("element type", foreign(&stream, None, |t| t.dl_tensor.dtype.code = 0)),
        ("device", foreign(&stream, None, |t| t.dl_tensor.device.device_id = 7)),
        ("device", foreign(&stream, None, |t| t.dl_tensor.device.device_type = 1)),
        ("layout", foreign(&stream, Some([1, 2]), nothing)),
        ("access", foreign(&stream, None, |t| t.flags = 1)),
        ("alignment", foreign(&stream, None, |t| t.dl_tensor.byte_offset = 3)),
    ];
    for (what, tensor) in refused {
        let error = tensor.into_buffer::<u16>(stream.context()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DlPack(e) if e.what == what), "{error}");
    }
    // Each was given back once, also those that were refused.
    assert_eq!(GIVEN_BACK.load(Ordering::SeqCst) - before, 8);
}

#[test]
fn a_shape_must_fit() {
    let stream = stream();
    for shape in [[2, 4].as_slice(), &[], &[usize::MAX, 2], &[7]] {
        let buffer = DeviceBuffer::<u8>::zeroed(&stream, 6).unwrap();
        let error = buffer.into_dlpack(&stream, shape).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DlPack(e) if e.what == "shape"), "{error}");
    }
    let scalar = DeviceBuffer::from_host(&stream, &[7u8]).unwrap().into_dlpack(&stream, &[]).unwrap();
    assert_eq!(scalar.into_buffer::<u8>(stream.context()).unwrap().to_host_vec(&stream).unwrap(), [7]);
    let empty = DeviceBuffer::<u8>::zeroed(&stream, 0).unwrap().into_dlpack(&stream, &[3, 0]).unwrap();
    assert!(empty.into_buffer::<u8>(stream.context()).unwrap().is_empty());
}

#[test]
fn layouts_of_c() {
    assert_eq!((size_of::<DLManagedTensor>(), size_of::<DLManagedTensorVersioned>()), (64, 80));
    assert_eq!(std::mem::offset_of!(DLTensor, shape), 24);
    assert_eq!(std::mem::offset_of!(DLManagedTensorVersioned, dl_tensor), 32);
}
