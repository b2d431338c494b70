//! Tensors handed to another library and back.

#![allow(unsafe_code)] // Plays the other library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/alone.rs"]
mod alone;
#[path = "support/spies.rs"]
mod spies;

use cuda_launch::context::ContextOptions;
use cuda_launch::interop::dlpack_abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
};
use cuda_launch::interop::{DlElement, DlTensor, RawOwnership};
use cuda_launch::memory::PointerAttributes;
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer, DeviceCopy, Error, ErrorKind};
use std::cell::Cell;
use std::ptr::NonNull;

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

thread_local! {
    /// On this thread: each test has one.
    static GIVEN_BACK: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn give_back(tensor: *mut DLManagedTensorVersioned) {
    let tensor = unsafe { Box::from_raw(tensor) };
    drop(unsafe { Box::from_raw(tensor.manager_ctx.cast::<Foreign>()) });
    GIVEN_BACK.set(GIVEN_BACK.get() + 1);
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
    let before = GIVEN_BACK.get();
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
    // Numbers that no memory has.
    for (shape, what) in [([i64::MAX, 2], "layout"), ([-1, -1], "layout"), ([i64::MIN, i64::MIN], "layout")] {
        let tensor = foreign(&stream, None, |t| unsafe { t.dl_tensor.shape.cast::<[i64; 2]>().write(shape) });
        let error = tensor.into_buffer::<u16>(stream.context()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::DlPack(e) if e.what == what), "{error}");
    }
    let wide = foreign(&stream, None, |t| unsafe {
        (t.dl_tensor.dtype.bits, t.dl_tensor.byte_offset) = (64, 0);
        t.dl_tensor.shape.cast::<[i64; 2]>().write([i64::MAX, 1]);
    });
    assert!(wide.into_buffer::<u64>(stream.context()).unwrap_err().is_out_of_memory());
    // Each was given back once, also those that were refused.
    assert_eq!(GIVEN_BACK.get() - before, 12);
}

/// The older form has neither a place of its own for the description, nor one for distances that are not said.
#[test]
fn a_foreign_tensor_goes_on_in_either_form() {
    let stream = stream();
    for strides in [None, Some([5, 1])] {
        let tensor = foreign(&stream, strides, |_| ());
        let older = unsafe { DlTensor::from_raw_legacy(tensor.into_raw_legacy()) };
        let tensor = unsafe { DlTensor::from_raw(older.into_raw()) };
        assert_eq!(
            (tensor.shape(), tensor.strides()),
            (&[2, 5][..], strides.as_ref().map_or(&[][..], |s| s))
        );
        let buffer = tensor.into_buffer::<u16>(stream.context()).unwrap();
        assert_eq!(buffer.to_host_vec(&stream).unwrap(), (2..12).collect::<Vec<_>>(), "its offset counts");
    }
}

/// Anybody may give a type of his a name; the memory has as many bytes as that says.
#[test]
fn elements_have_the_size_of_their_name() {
    #[derive(Clone, Copy, Debug, DeviceCopy)]
    #[repr(C)]
    struct Wide([f32; 64]);
    impl DlElement for Wide {
        const TYPE: DLDataType = f32::TYPE;
    }
    let stream = stream();
    let wrong =
        |error: Error| assert!(matches!(error.kind(), ErrorKind::DlPack(e) if e.what == "element size"));
    let tensor = DeviceBuffer::<f32>::zeroed(&stream, 4).unwrap().into_dlpack(&stream, &[4]).unwrap();
    wrong(tensor.into_buffer::<Wide>(stream.context()).unwrap_err());
    wrong(DeviceBuffer::<Wide>::zeroed(&stream, 4).unwrap().into_dlpack(&stream, &[4]).unwrap_err());
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

/// The buffer of a tensor in one of the ways that lead back: as it is, or handed around in either form.
fn back(tensor: DlTensor, form: usize, context: &CudaContext) -> Result<DeviceBuffer<f32>, Error> {
    let raw = |tensor: DlTensor| unsafe { DlTensor::from_raw(tensor.into_raw()) };
    let legacy = |tensor: DlTensor| unsafe { DlTensor::from_raw_legacy(tensor.into_raw_legacy()) };
    let tensor = match form {
        0 => tensor,
        1 => raw(tensor),
        2 => legacy(tensor),
        _ => raw(legacy(legacy(raw(tensor)))),
    };
    tensor.into_buffer(context)
}

#[test]
fn a_round_trip_keeps_the_order() {
    let _alone = alone::alone();
    let (spy, context) = spies::spied();
    let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
    for form in 0..4 {
        let mut buffer = DeviceBuffer::<f32>::zeroed(&stream, 1 << 10).unwrap();
        let mut copy = DeviceBuffer::<f32>::zeroed(&other, 1 << 10).unwrap();
        context.synchronize().unwrap();
        let held = alone::hold(&stream);
        buffer.fill(&stream, 7.0).unwrap();
        let tensor = buffer.into_dlpack(&stream, &[1 << 10]).unwrap();
        let buffer = back(tensor, form, &context).unwrap();
        spy.clear();
        copy.view_mut().copy_from_device(&other, &buffer).unwrap();
        let calls = spy.calls().names();
        assert!(calls.contains(&"cuStreamWaitEvent"), "form {form}: nobody waits for the fill: {calls:?}");
        drop(held);
        assert_eq!(copy.to_host_vec(&other).unwrap(), [7.0; 1 << 10], "form {form}");
        // Nothing but the buffer has the memory any more.
        let (address, len) = buffer.into_raw_parts().unwrap();
        drop(unsafe {
            DeviceBuffer::<f32>::from_raw_parts(&context, address, len, RawOwnership::Pool(stream.clone()))
        });
    }
}

#[test]
fn memory_of_another_context_or_driver_is_refused() {
    let _alone = alone::alone();
    let ((_, ours), (_, driver)) = (spies::spied(), spies::spied());
    let context = ours.device().create_context(&ContextOptions::default()).unwrap();
    let stream = ours.new_stream().unwrap();
    for other in [&driver, &context] {
        assert_eq!(other.raw_device(), ours.raw_device());
        for form in 0..4 {
            let buffer = DeviceBuffer::<f32>::zeroed(&stream, 16).unwrap();
            let tensor = buffer.into_dlpack(&stream, &[16]).unwrap();
            let error = back(tensor, form, other).unwrap_err();
            assert!(error.is_context_mismatch(), "form {form}: {error}");
        }
    }
}

#[test]
fn shapes_of_large_numbers_are_errors_or_empty() {
    let stream = stream();
    let numbers = [0, 1, 2, 1 << 32, 1 << 40, 1 << 62, 1 << 63, usize::MAX - 1, usize::MAX];
    for number in 0..numbers.len().pow(3) {
        let digit = |place: u32| numbers[number / numbers.len().pow(place) % numbers.len()];
        let (a, b, c) = (digit(0), digit(1), digit(2));
        let shape = [a, b, c];
        let counts = shape.iter().all(|len| i64::try_from(*len).is_ok());
        for len in [0, 1, 2] {
            let buffer = DeviceBuffer::<u8>::zeroed(&stream, len).unwrap();
            let product =
                if shape.contains(&0) { Some(0) } else { a.checked_mul(b).and_then(|ab| ab.checked_mul(c)) };
            match buffer.into_dlpack(&stream, &shape) {
                Ok(tensor) => {
                    assert!(counts && product == Some(len), "{shape:?} of {len}");
                    assert_eq!(tensor.into_buffer::<u8>(stream.context()).unwrap().len(), len);
                }
                Err(error) => {
                    assert!(!counts || product != Some(len), "{shape:?} of {len}: {error}");
                    assert!(matches!(error.kind(), ErrorKind::DlPack(e) if e.what == "shape"), "{error}");
                }
            }
        }
    }
}
