//! An all-reduce over all devices of this machine with NCCL, which receives the raw streams and addresses of this crate.
//!
//! `cargo run -p cuda-launch-interop --example nccl`
//!
//! NCCL is loaded at run time: `libnccl.so.2`, or the library that `CUDA_LAUNCH_NCCL` names. The program is the same for one
//! device and for eight.

#![allow(non_snake_case)] // Names of NCCL.
#![allow(unsafe_code)] // Calls of NCCL, with handles and memory that live until the communicators are gone.

use cuda_launch::sys::{CUstream, open_library};
use cuda_launch::{CudaContext, CudaDevice, CudaStream, DeviceBuffer};
use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null_mut, with_exposed_provenance, with_exposed_provenance_mut};

/// `ncclComm_t`
type Comm = *mut c_void;

/// `ncclFloat32` and `ncclSum`, as NCCL's header numbers them.
const FLOAT32: c_int = 7;
const SUM: c_int = 0;

/// Declares the functions that are called, and takes them from the library.
macro_rules! functions {
    ($($name:ident: $type:ty;)*) => {
        struct Nccl { $($name: $type,)* }

        impl Nccl {
            /// # Safety
            /// 1. What the library exports under these names is NCCL's.
            unsafe fn new(lookup: impl Fn(&CStr) -> *const c_void) -> Result<Self, String> {
                $(
                    let name = concat!(stringify!($name), "\0");
                    let symbol = lookup(CStr::from_bytes_with_nul(name.as_bytes()).unwrap_or_default());
                    if symbol.is_null() {
                        return Err(format!("the library has no {}: it is not NCCL 2", stringify!($name)));
                    }
                    // SAFETY: by the caller's duty 1 it is NCCL's function of this name, and not null; `$type` is what NCCL's
                    // header declares.
                    let $name = unsafe { std::mem::transmute::<*const c_void, $type>(symbol) };
                )*
                Ok(Self { $($name,)* })
            }
        }
    };
}

functions! {
    ncclGetVersion: unsafe extern "C" fn(*mut c_int) -> c_int;
    ncclCommInitAll: unsafe extern "C" fn(*mut Comm, c_int, *const c_int) -> c_int;
    ncclGroupStart: unsafe extern "C" fn() -> c_int;
    ncclGroupEnd: unsafe extern "C" fn() -> c_int;
    ncclAllReduce: unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, Comm, CUstream) -> c_int;
    ncclCommDestroy: unsafe extern "C" fn(Comm) -> c_int;
    ncclGetErrorString: unsafe extern "C" fn(c_int) -> *const c_char;
}

impl Nccl {
    /// The library, or why there is none.
    fn load() -> Result<Self, String> {
        let name = std::env::var_os("CUDA_LAUNCH_NCCL").unwrap_or("libnccl.so.2".into());
        // SAFETY: 1 of both: the name is that of NCCL, whose initialisers are sound and whose exports are its own; who sets the
        // variable answers for that library.
        unsafe { Self::new(open_library(&name).map_err(|reason| reason.to_string())?) }
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any code, and gives a text with NUL for each, constant in the library, which is never
        // unloaded.
        let text = unsafe { CStr::from_ptr((self.ncclGetErrorString)(code)) };
        Err(format!("{call}: {} ({code}); NCCL_DEBUG=WARN has it say more", text.to_string_lossy()))
    }
}

/// One device's part.
struct Rank {
    stream: CudaStream,
    send: DeviceBuffer<f32>,
    receive: DeviceBuffer<f32>,
}

#[allow(dead_code)] // A test calls `run`.
fn main() -> Result<(), Box<dyn Error>> {
    run()
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let nccl = match Nccl::load() {
        Ok(nccl) => nccl,
        Err(reason) => {
            println!(
                "This example needs NCCL ({reason}): `pip install nvidia-nccl-cu13`, then set CUDA_LAUNCH_NCCL to its libnccl.so.2."
            );
            return Ok(());
        }
    };
    let mut version = 0;
    // SAFETY: it writes one number to the output, a local that outlives the call.
    nccl.check("ncclGetVersion", unsafe { (nccl.ncclGetVersion)(&mut version) })?;
    const N: usize = 1000;
    let count = CudaDevice::count()?;
    println!("NCCL {version}, {count} devices");

    let rank = |ordinal| -> Result<Rank, cuda_launch::Error> {
        let stream = CudaContext::new(ordinal)?.new_stream()?;
        let data: Vec<f32> = (0..N).map(|i| (ordinal + 1) as f32 * i as f32).collect();
        let send = DeviceBuffer::from_host(&stream, &data)?;
        let receive = DeviceBuffer::zeroed(&stream, N)?;
        Ok(Rank { stream, send, receive })
    };
    let mut ranks = (0..count).map(rank).collect::<Result<Vec<_>, _>>()?;
    all_reduce(&nccl, &mut ranks, N)?;

    let factor = (1..=count).sum::<u32>() as f32;
    let wanted: Vec<f32> = (0..N).map(|i| factor * i as f32).collect();
    for rank in &ranks {
        assert_eq!(rank.receive.to_host_vec(&rank.stream)?, wanted);
    }
    println!("the sum of {count} devices is on each of them: {factor} times 0..{N}");
    Ok(())
}

/// Sums the `send`s of all ranks into the `receive` of each, on their streams, and waits.
fn all_reduce(nccl: &Nccl, ranks: &mut [Rank], count: usize) -> Result<(), Box<dyn Error>> {
    let devices: Vec<c_int> = ranks.iter().map(|rank| rank.stream.context().raw_device()).collect();
    let mut comms = vec![null_mut(); devices.len()];
    let init = (nccl.ncclCommInitAll, comms.as_mut_ptr(), devices.len() as c_int);
    // SAFETY: both lists have `devices.len()` entries and outlive the call; every device exists, its context is a rank's.
    nccl.check("ncclCommInitAll", unsafe { init.0(init.1, init.2, devices.as_ptr()) })?;

    // One thread has all devices: without a group, the first call would wait for the others forever.
    // SAFETY: it takes nothing, and the group that it begins is ended below, whatever comes of the calls between.
    nccl.check("ncclGroupStart", unsafe { (nccl.ncclGroupStart)() })?;
    let queued = ranks.iter_mut().zip(&comms).try_for_each(|(rank, comm)| {
        let (stream, from, to) = (rank.stream.raw(), rank.send.cu_deviceptr(), rank.receive.cu_deviceptr());
        println!("device {}: stream {stream:p}, {from:#x} -> {to:#x}", rank.stream.context().ordinal());
        let (from, to) = (with_exposed_provenance(from as usize), with_exposed_provenance_mut(to as usize));
        // SAFETY: both have `count` floats on the communicator's device; `ranks` owns them, and their end comes after the work of
        // their stream, also after an error. The stream is of that device's primary context, which is NCCL's; what came before on
        // it made the data.
        let code = unsafe { (nccl.ncclAllReduce)(from, to, count, FLOAT32, SUM, *comm, stream) };
        nccl.check("ncclAllReduce", code)
    });
    // SAFETY: it takes nothing, and ends the group that was begun above, also where a call in it failed.
    let ended = nccl.check("ncclGroupEnd", unsafe { (nccl.ncclGroupEnd)() });
    queued.and(ended)?;
    for rank in ranks.iter() {
        rank.stream.synchronize()?;
    }
    for comm in comms {
        // SAFETY: `ncclCommInitAll` made it, this loop takes each once, and the streams of all its work were waited for above.
        nccl.check("ncclCommDestroy", unsafe { (nccl.ncclCommDestroy)(comm) })?;
    }
    Ok(())
}
