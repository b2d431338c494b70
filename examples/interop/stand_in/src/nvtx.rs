//! A tool for NVTX 3: attaches itself as the protocol says, and prints what it is told.
//!
//! `NVTX_INJECTION64_PATH` names the library.

#![allow(unsafe_code)] // C functions, called by a program that keeps to the protocol.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, without_provenance_mut};
use std::sync::atomic::{AtomicU64, Ordering};

type Parts = unsafe extern "system" fn(u32) -> *const c_void;
/// A place for a function.
type Slot = *mut *const c_void;

#[repr(C)]
struct Callbacks {
    size: usize,
    of_group: unsafe extern "system" fn(c_uint, *mut *const Slot, *mut c_uint) -> c_int,
}

#[repr(C)]
struct VersionInfo {
    size: usize,
    version: u32,
    reserved: u32,
    take: unsafe extern "system" fn(u32),
}

/// Attaches to the program.
///
/// # Safety
/// 1. `parts` is what the protocol says.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn InitializeInjectionNvtx2(parts: Parts) -> c_int {
    if std::env::var_os("CUDA_LAUNCH_TEST_REFUSES").is_some() {
        return 0;
    }
    // SAFETY: by the caller's duty 1 parts 1 and 3 are structures of these layouts that stay, and `of_group` gives the
    // list of a group's places: `count` of them and a null behind, each for a function, which nobody reads before this
    // returns. `FUNCTIONS` has the protocol's numbers, which are below `count`.
    unsafe {
        let callbacks = &*parts(1).cast::<Callbacks>();
        let version = &*parts(3).cast::<VersionInfo>();
        (version.take)(version.version);
        let unknown = (parts(2).is_null(), parts(9).is_null());
        eprintln!(
            "nvtx attach version={} sizes={} {} unknown={unknown:?}",
            version.version,
            callbacks.size == size_of::<Callbacks>(),
            version.size == size_of::<VersionInfo>()
        );
        for (group, functions) in FUNCTIONS {
            let (mut slots, mut count) = (null(), 0);
            if (callbacks.of_group)(*group, &mut slots, &mut count) == 0 {
                return 0;
            }
            let end = (*slots).is_null() && (*slots.add(count as usize)).is_null();
            eprintln!("nvtx group={group} count={count} ends={end}");
            for (number, function) in *functions {
                **slots.add(*number) = function.0;
            }
        }
        c_int::from((callbacks.of_group)(99, &mut null(), &mut 0) == 0)
    }
}

/// The address of a function.
#[derive(Clone, Copy)]
struct Address(*const c_void);

// SAFETY: it is the address of a function of this library: constant code, which any thread may call.
unsafe impl Sync for Address {}

macro_rules! functions {
    ($($group:literal: $($number:literal = $function:ident,)*;)*) => {
        static FUNCTIONS: &[(c_uint, &[(usize, Address)])] =
            &[$(($group, &[$(($number, Address($function as *const c_void)),)*]),)*];
    };
}

functions! {
    1: 1 = mark, 4 = start, 7 = end, 8 = push, 11 = pop,;
    2: 5 = name_stream,;
    3: ;
    4: ;
    5: 1 = domain_mark, 2 = domain_start, 3 = domain_end, 4 = domain_push, 5 = domain_pop, 12 = domain_create,
       14 = domain_destroy,;
    6: ;
}

#[repr(C)]
struct Event {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_char,
}

/// The event as text.
///
/// # Safety
/// 1. It is a live event with a message that ends in NUL, and nobody changes them meanwhile.
unsafe fn text(event: *const Event) -> String {
    // SAFETY: event and message are as duty 1 has them.
    let (e, name) = unsafe { (&*event, CStr::from_ptr((*event).message)) };
    assert_eq!((e.version, e.size, e.reserved, e.message_type), (3, 48, 0, 1));
    let name = name.to_str().unwrap_or("not UTF-8");
    format!(
        "{name:?} category={} color={}:{:08x} payload={}:{:#x}",
        e.category, e.color_type, e.color, e.payload_type, e.payload
    )
}

static NEXT: AtomicU64 = AtomicU64::new(100);

fn next() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

unsafe extern "system" fn mark(event: *const Event) {
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx mark {}", unsafe { text(event) });
}

unsafe extern "system" fn start(event: *const Event) -> u64 {
    let id = next();
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx start {id} {}", unsafe { text(event) });
    id
}

extern "system" fn end(id: u64) {
    eprintln!("nvtx end {id}");
}

unsafe extern "system" fn push(event: *const Event) -> c_int {
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx push {}", unsafe { text(event) });
    0
}

extern "system" fn pop() -> c_int {
    eprintln!("nvtx pop");
    0
}

unsafe extern "system" fn name_stream(stream: *mut c_void, name: *const c_char) {
    // SAFETY: by NVTX's contract the program passes a text that ends in NUL, and lives, as it is, during the call.
    let name = unsafe { CStr::from_ptr(name) };
    eprintln!("nvtx stream null={} {name:?}", stream.is_null());
}

unsafe extern "system" fn domain_create(name: *const c_char) -> *mut c_void {
    // SAFETY: by NVTX's contract the program passes a text that ends in NUL, and lives, as it is, during the call.
    let name = unsafe { CStr::from_ptr(name) };
    let id = next();
    eprintln!("nvtx domain {id} create {name:?}");
    without_provenance_mut(id as usize)
}

extern "system" fn domain_destroy(domain: *mut c_void) {
    eprintln!("nvtx domain {} destroy", domain.addr());
}

unsafe extern "system" fn domain_mark(domain: *mut c_void, event: *const Event) {
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx domain {} mark {}", domain.addr(), unsafe { text(event) });
}

unsafe extern "system" fn domain_start(domain: *mut c_void, event: *const Event) -> u64 {
    let id = next();
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx domain {} start {id} {}", domain.addr(), unsafe { text(event) });
    id
}

extern "system" fn domain_end(domain: *mut c_void, id: u64) {
    eprintln!("nvtx domain {} end {id}", domain.addr());
}

unsafe extern "system" fn domain_push(domain: *mut c_void, event: *const Event) -> c_int {
    // SAFETY: 1: what the program passes to this function by NVTX's contract.
    eprintln!("nvtx domain {} push {}", domain.addr(), unsafe { text(event) });
    0
}

extern "system" fn domain_pop(domain: *mut c_void) -> c_int {
    eprintln!("nvtx domain {} pop", domain.addr());
    0
}
