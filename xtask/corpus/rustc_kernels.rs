//! Kernels for rustc's target `nvptx64-nvidia-cuda`.
#![no_std]
#![feature(abi_ptx, core_intrinsics, stdarch_nvptx)]
#![allow(internal_features)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _syncthreads, _thread_idx_x};

#[panic_handler]
fn panicked(_: &core::panic::PanicInfo) -> ! {
    unsafe { core::arch::nvptx::trap() }
}

fn index() -> usize {
    unsafe { (_block_idx_x() * _block_dim_x() + _thread_idx_x()) as usize }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Body {
    at: [f32; 3],
    mass: f64,
    tag: Option<u32>,
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn saxpy(y: *mut f32, x: *const f32, a: f32, n: usize) {
    let i = index();
    if i < n {
        unsafe { *y.add(i) += a * *x.add(i) }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn slices(data: *mut u32, n: usize) {
    let data = unsafe { core::slice::from_raw_parts_mut(data, n) };
    let i = index();
    data[i] = data[i..].iter().filter(|x| **x % 3 == 1).map(|x| x.wrapping_mul(7)).fold(0, u32::wrapping_add);
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn bodies(bodies: *mut Body, n: usize) {
    let mut mine = unsafe { *bodies.add(index()) };
    for other in 0..n {
        let other = unsafe { *bodies.add(other) };
        for (to, from) in mine.at.iter_mut().zip(other.at) {
            *to += (from - *to) * other.mass as f32;
        }
        mine.tag = mine.tag.and_then(|tag| tag.checked_sub(other.tag.unwrap_or(1)));
    }
    unsafe {
        _syncthreads();
        *bodies.add(index()) = mine;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sort(data: *mut i64, n: usize) {
    let data = unsafe { core::slice::from_raw_parts_mut(data.add(index() * n), n) };
    data.sort_unstable();
    if let Ok(at) | Err(at) = data.binary_search(&42) {
        data[0] = at as i64;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn wide(data: *mut u128, text: *const u8, n: usize) {
    let text = unsafe { core::slice::from_raw_parts(text, n) };
    let i = index();
    unsafe {
        let v = *data.add(i);
        *data.add(i) = v / (v >> 60 | 1) + v.leading_zeros() as u128 + u128::from(core::str::from_utf8(text).is_ok());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn atomics(data: *const core::sync::atomic::AtomicU32, n: u32) {
    use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
    let cell = unsafe { &*data.add(index() % 4) };
    cell.fetch_add(n, Relaxed);
    cell.fetch_max(n, AcqRel);
    let _ = cell.compare_exchange(n, 3, SeqCst, Acquire);
}
