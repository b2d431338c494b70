//! Pitched rows: what the driver is asked for, and where rows are.

#![allow(unsafe_code)] // A function in the driver's place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "support/spies.rs"]
mod spies;

use cuda_launch::memory::{DeviceCopy, Extent, PitchedBuffer, RowLayout};
use cuda_launch::sys::{CUdeviceptr, CUresult, pfn};
use cuda_launch::{CudaContext, CudaStream};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};

thread_local! {
    /// The bytes of a row, the rows, and the widest access, of the last call.
    static ASKED: Cell<(usize, usize, c_uint)> = const { Cell::new((0, 0, 0)) };
}

unsafe extern "C" fn allocate(
    address: *mut CUdeviceptr,
    pitch: *mut usize,
    width: usize,
    height: usize,
    access: c_uint,
) -> CUresult {
    ASKED.set((width, height, access));
    let driver = cuda_launch::default_driver().unwrap();
    unsafe { driver.cuMemAllocPitch(address, pitch, width, height, access) }
}

fn replaced(name: &str) -> *const c_void {
    let function: pfn::cuMemAllocPitch_v2 = allocate;
    if name == "cuMemAllocPitch_v2" { function as *const c_void } else { std::ptr::null() }
}

fn asked<T: DeviceCopy>(stream: &CudaStream, width: usize, height: usize) -> (usize, usize, c_uint) {
    ASKED.set((0, 0, 0));
    let rows = PitchedBuffer::<T>::uninit(stream, width, height).unwrap();
    assert_eq!((rows.width(), rows.height(), rows.len()), (width, height, width * height));
    assert_eq!(rows.is_empty(), width * height == 0);
    ASKED.get()
}

#[test]
fn the_driver_is_told_of_the_widest_access() {
    let ctx = CudaContext::with_driver(&spies::driver_with(replaced), 0).unwrap();
    let stream = ctx.new_stream().unwrap();
    assert_eq!(asked::<u8>(&stream, 7, 3), (7, 3, 4));
    assert_eq!(asked::<u32>(&stream, 7, 3), (28, 3, 4));
    assert_eq!(asked::<[u8; 5]>(&stream, 7, 3), (35, 3, 4));
    assert_eq!(asked::<[u32; 3]>(&stream, 7, 3), (84, 3, 4));
    assert_eq!(asked::<u64>(&stream, 7, 3), (56, 3, 8));
    assert_eq!(asked::<[u64; 3]>(&stream, 7, 3), (168, 3, 8));
    assert_eq!(asked::<[u32; 4]>(&stream, 7, 3), (112, 3, 16));
    assert_eq!(asked::<[u64; 4]>(&stream, 7, 3), (224, 3, 16));
    for (width, height) in [(0, 3), (7, 0)] {
        assert_eq!(asked::<u32>(&stream, width, height), (0, 0, 0), "there is nothing to allocate");
    }
    assert_eq!(asked::<[u32; 0]>(&stream, 7, 3), (0, 0, 0));
}

#[test]
fn rows_start_a_pitch_apart() {
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    let mut rows = PitchedBuffer::<u16>::uninit(&stream, 5, 3).unwrap();
    let (start, pitch) = (rows.cu_deviceptr(), rows.pitch());
    assert!(start != 0 && pitch > 10);
    assert_eq!((rows.as_device_ptr().addr(), rows.as_mut_device_ptr().addr()), (start, start));
    assert_eq!((rows.layout(), rows.extent()), (RowLayout { pitch, rows: 3 }, Extent::rows(5, 3)));
    for y in 0..3 {
        let address = start + (y * pitch) as u64;
        let row = rows.row(y).unwrap();
        assert_eq!((row.as_device_ptr().addr(), row.len()), (address, 5));
        let mut row = rows.row_mut(y).unwrap();
        assert_eq!((row.as_mut_device_ptr().addr(), row.len()), (address, 5));
        row.fill(&stream, y as u16).unwrap();
    }
    assert!(rows.row(3).is_none() && rows.row_mut(3).is_none());
    assert_eq!(rows.to_host_vec(&stream).unwrap(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    assert_eq!(rows.context().raw(), stream.context().raw());
}
