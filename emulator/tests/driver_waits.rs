//! Threads that wait for work of a stream, and do it themselves where they can: what is done on which thread, and in what state of it.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;
use support::*;

/// Time after which something that does not wait has surely come.
const SOON: Duration = Duration::from_secs(60);

const SPIN: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry spin(.param .u64 flag)
{
.reg .b64 %a;
.reg .b32 %v;
.reg .pred %p;
ld.param.u64 %a, [flag];
again:
ld.volatile.u32 %v, [%a];
setp.eq.u32 %p, %v, 0;
@%p bra again;
ret;
}
.visible .entry sums(.param .u64 out, .param .f32 x, .param .f32 y)
{
.reg .b64 %a;
.reg .f32 %x, %y, %z;
ld.param.u64 %a, [out];
ld.param.f32 %x, [x];
ld.param.f32 %y, [y];
add.rn.f32 %z, %x, %y;
st.f32 [%a], %z;
ret;
}
";

/// What `program` does on a thread of its own is over soon.
fn ends(program: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        program();
        let _ = sender.send(());
    });
    assert_ne!(receiver.recv_timeout(SOON), Err(mpsc::RecvTimeoutError::Timeout), "it hangs");
    thread.join().unwrap();
}

/// A number in memory that host and device have.
fn number(cuda: &Driver) -> &'static AtomicU32 {
    let mut place: *mut c_void = null_mut();
    ok(unsafe { cuda.cuMemAllocHost(&mut place, 4) });
    unsafe { &*place.cast() }
}

fn sync(cuda: &Driver, stream: CUstream) {
    ok(unsafe { cuda.cuStreamSynchronize(stream) });
}

#[test]
fn who_waits_for_an_event_does_nothing_that_comes_after_it() {
    ends(|| {
        let (cuda, _) = with_own_context();
        let (own, event, flag) = (stream(&cuda, 1), event(&cuda, 2), number(&cuda));
        let (spin, nop) =
            (function(&cuda, load(&cuda, SPIN), "spin"), function(&cuda, load(&cuda, KERNELS), "nop"));
        let mut address = std::ptr::from_ref(flag).addr();
        for _ in 0..100 {
            flag.store(0, Ordering::Release);
            ok(launch(&cuda, nop, own, &mut []));
            ok(unsafe { cuda.cuEventRecord(event, own) });
            ok(launch(&cuda, spin, own, &mut [argument(&mut address)]));
            ok(unsafe { cuda.cuEventSynchronize(event) });
            flag.store(1, Ordering::Release);
            sync(&cuda, own);
        }
    });
}

#[test]
fn functions_of_the_program_run_on_a_thread_of_the_driver() {
    let (cuda, _) = with_own_context();
    let own = stream(&cuda, 1);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = || {
        let seen = Arc::clone(&seen);
        move || seen.lock().unwrap().push(thread::current().id())
    };
    unsafe extern "C" fn run(data: *mut c_void) {
        let seen = unsafe { &*data.cast::<Mutex<Vec<thread::ThreadId>>>() };
        seen.lock().unwrap().push(thread::current().id());
    }
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    ok(unsafe { cuda.cuGraphCreate(&mut graph, 0) });
    let parameters = CUDA_HOST_NODE_PARAMS { fn_: Some(run), userData: Arc::as_ptr(&seen).cast_mut().cast() };
    ok(unsafe { cuda.cuGraphAddHostNode(&mut node, graph, null(), 0, &parameters) });
    ok(unsafe { cuda.cuGraphInstantiateWithFlags(&mut exec, graph, 0) });
    for _ in 0..100 {
        ok(host_function(&cuda, own, note()));
        sync(&cuda, own);
        let noted = note();
        ok(callback(&cuda, own, move |_| noted()));
        sync(&cuda, own);
        ok(unsafe { cuda.cuGraphLaunch(exec, own) });
        sync(&cuda, own);
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 300);
    assert!(!seen.contains(&thread::current().id()));
}

/// A stream's thread whose work others have done so far is not woken for each piece, but does what nobody waits for.
#[test]
fn what_nobody_waits_for_is_done_all_the_same() {
    ends(|| {
        let (cuda, _) = with_own_context();
        let (own, place) = (stream(&cuda, 1), number(&cuda));
        let store = function(&cuda, load(&cuda, KERNELS), "store");
        let (mut address, mut value) = (std::ptr::from_ref(place).addr(), 0_u32);
        for _ in 0..20 {
            for _ in 0..100 {
                value += 1;
                ok(launch(&cuda, store, own, &mut [argument(&mut address), argument(&mut value)]));
                sync(&cuda, own);
                assert_eq!(place.load(Ordering::Acquire), value);
            }
            value += 1;
            ok(launch(&cuda, store, own, &mut [argument(&mut address), argument(&mut value)]));
            while place.load(Ordering::Acquire) != value {
                thread::yield_now();
            }
        }
        sync(&cuda, own);
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
#[allow(deprecated, reason = "what programs in C do")]
fn a_kernel_does_not_have_the_threads_rounding() {
    use std::arch::x86_64::{_mm_getcsr, _mm_setcsr};
    /// Rounds up; denormals are zero, as operands and as results.
    const OTHER: u32 = 0x1f80 | 0x4000 | 0x8000 | 0x40;
    let (cuda, _) = with_own_context();
    let (own, mut out) = (stream(&cuda, 1), alloc(&cuda, 4));
    let sums = function(&cuda, load(&cuda, SPIN), "sums");
    for (mut x, mut y) in [(1.0_f32, f32::EPSILON / 4.0), (f32::from_bits(3), f32::from_bits(4))] {
        let sum = x + y;
        let before = unsafe { _mm_getcsr() };
        unsafe { _mm_setcsr(OTHER) };
        let launched =
            launch(&cuda, sums, own, &mut [argument(&mut out), argument(&mut x), argument(&mut y)]);
        let waited = unsafe { cuda.cuStreamSynchronize(own) };
        let after = unsafe { _mm_getcsr() };
        unsafe { _mm_setcsr(before) };
        ok(launched);
        ok(waited);
        assert_eq!(after, OTHER, "the program's own");
        assert_eq!(read(&cuda, out, 4), sum.to_bits().to_le_bytes());
    }
}
