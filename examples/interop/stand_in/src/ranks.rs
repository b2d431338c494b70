//! A communicator of several processes on one machine: the sums go through TCP to rank 0 and back, in the order of the stream.
//!
//! Like the real one, it waits forever for a rank that is gone, until it is aborted.

#![allow(unsafe_code)] // Host functions of streams, and memory that they share with copies.

use cuda_driver_sys::{CUdeviceptr, CUresult, CUstream, Driver};
use std::ffi::{c_int, c_void};
use std::io::{Error, Read, Result, Write};
use std::net::{TcpListener, TcpStream};
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::nccl::{CUDA, IN_PROGRESS, OK, SYSTEM, cuda};

const PAUSE: Duration = Duration::from_millis(2);
/// After which a socket looks whether it was aborted.
const TURN: Duration = Duration::from_millis(50);

/// Where rank 0 of this process listens, between the identifier and the communicator.
static LISTENER: Mutex<Option<TcpListener>> = Mutex::new(None);
/// The communicator of this process.
static COMM: Mutex<Option<Arc<Comm>>> = Mutex::new(None);

struct Comm {
    rank: u32,
    world: u32,
    state: AtomicI32,
    aborted: AtomicBool,
    /// To all other ranks in order, or to rank 0.
    sockets: Mutex<Vec<TcpStream>>,
    /// Pinned memory and the floats in it: sums are made there one after the other.
    staging: Mutex<Vec<(usize, usize)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn current() -> Option<Arc<Comm>> {
    locked(&COMM).clone()
}

/// A port of this machine, for which the identifier stands.
pub(crate) fn port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    *locked(&LISTENER) = Some(listener);
    Ok(port)
}

/// Begins to join the others.
pub(crate) fn join(rank: u32, world: u32, port: u16) {
    let comm = Arc::new(Comm {
        rank,
        world,
        state: AtomicI32::new(IN_PROGRESS),
        aborted: AtomicBool::new(false),
        sockets: Mutex::default(),
        staging: Mutex::default(),
    });
    *locked(&COMM) = Some(comm.clone());
    thread::spawn(move || {
        let state = match comm.connect(port) {
            Ok(()) => OK,
            Err(_) => SYSTEM,
        };
        comm.state.store(state, Ordering::Release);
    });
}

/// The state of the communicator.
pub(crate) fn state() -> c_int {
    current().map_or(SYSTEM, |comm| comm.state.load(Ordering::Acquire))
}

/// Ends what waits for other ranks.
pub(crate) fn abort() {
    if let Some(comm) = locked(&COMM).take() {
        comm.aborted.store(true, Ordering::Release);
    }
}

/// Frees what the sums needed.
///
/// # Safety
/// 1. All sums that were submitted are done.
pub(crate) unsafe fn destroy(driver: &Driver) -> c_int {
    let Some(comm) = locked(&COMM).take() else { return SYSTEM };
    let freed = locked(&comm.staging).drain(..).try_for_each(|(address, _)| {
        // SAFETY: `staging` allocated it with `cuMemHostAlloc`, and `drain` gives it out once; no work uses it any
        // more, by the caller's duty 1.
        cuda(unsafe { driver.cuMemFreeHost(with_exposed_provenance_mut(address)) })
    });
    freed.err().unwrap_or(OK)
}

/// Submits the sum to the stream.
///
/// # Safety
/// 1. There are so many floats on the device, `stream` is a live stream of it, whose context is current, and both stay
///    until the stream has done this.
pub(crate) unsafe fn all_reduce(
    driver: &Driver,
    device: CUdeviceptr,
    count: usize,
    stream: CUstream,
) -> c_int {
    let Some(comm) = current() else { return SYSTEM };
    if count == 0 {
        return OK;
    }
    // SAFETY: 1: the caller's duty 1.
    unsafe { submit(comm, driver, device, count, stream) }.err().unwrap_or(OK)
}

/// Down, over the host, and up again.
///
/// # Safety
/// 1. As duty 1 of [`all_reduce`].
unsafe fn submit(
    comm: Arc<Comm>,
    driver: &Driver,
    device: CUdeviceptr,
    count: usize,
    stream: CUstream,
) -> std::result::Result<(), c_int> {
    let address = comm.staging(driver, count)?;
    let host: *mut c_void = with_exposed_provenance_mut(address);
    let job = Box::into_raw(Box::new(Job { comm, address, count }));
    // SAFETY: the pinned memory has so many floats, and is freed after all work on the stream; so has the device's, and
    // the stream is live, by the caller's duty 1. The host function takes the job, once.
    unsafe {
        cuda(driver.cuMemcpyDtoHAsync(host, device, 4 * count, stream))?;
        cuda(driver.cuLaunchHostFunc(stream, Some(exchange), job.cast()))?;
        cuda(driver.cuMemcpyHtoDAsync(device, host, 4 * count, stream))
    }
}

struct Job {
    comm: Arc<Comm>,
    address: usize,
    count: usize,
}

/// The host function.
unsafe extern "C" fn exchange(job: *mut c_void) {
    // SAFETY: `submit` made it with `Box::into_raw` and gave it to this one host function, which the driver calls once.
    let job = unsafe { Box::from_raw(job.cast::<Job>()) };
    // SAFETY: `staging` gave pinned memory of at least `count` floats, aligned to a page, which the copy before on this
    // stream has written; the stream uses it next when this returns, and a rank sums on one stream.
    let own =
        unsafe { std::slice::from_raw_parts_mut(with_exposed_provenance_mut::<f32>(job.address), job.count) };
    if job.comm.sum(own).is_err() {
        job.comm.state.store(SYSTEM, Ordering::Release);
    }
}

impl Comm {
    fn connect(&self, port: u16) -> Result<()> {
        let mut sockets = Vec::new();
        if self.rank == 0 {
            let listener =
                locked(&LISTENER).take().ok_or_else(|| Error::other("no identifier was made here"))?;
            let mut all = Vec::new();
            while all.len() + 1 < self.world as usize {
                self.alive()?;
                match listener.accept() {
                    Ok((mut socket, _)) => {
                        let mut rank = [0; 4];
                        socket.set_nonblocking(false)?;
                        self.read(&mut socket, &mut rank)?;
                        all.push((u32::from_le_bytes(rank), socket));
                    }
                    Err(_) => thread::sleep(PAUSE),
                }
            }
            all.sort_by_key(|(rank, _)| *rank);
            sockets.extend(all.into_iter().map(|(_, socket)| socket));
        } else {
            let mut socket = TcpStream::connect(("127.0.0.1", port))?;
            self.write(&mut socket, &self.rank.to_le_bytes())?;
            sockets.push(socket);
        }
        *locked(&self.sockets) = sockets;
        Ok(())
    }

    fn alive(&self) -> Result<()> {
        if self.aborted.load(Ordering::Acquire) { Err(Error::other("aborted")) } else { Ok(()) }
    }

    /// All of it, unless aborted: the end of a connection is not noticed.
    fn read(&self, socket: &mut TcpStream, mut into: &mut [u8]) -> Result<()> {
        socket.set_read_timeout(Some(TURN))?;
        while !into.is_empty() {
            self.alive()?;
            match socket.read(into) {
                Ok(count) if count > 0 => into = &mut into[count..],
                _ => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    fn write(&self, socket: &mut TcpStream, mut from: &[u8]) -> Result<()> {
        socket.set_write_timeout(Some(TURN))?;
        while !from.is_empty() {
            self.alive()?;
            match socket.write(from) {
                Ok(count) if count > 0 => from = &from[count..],
                _ => thread::sleep(PAUSE),
            }
        }
        Ok(())
    }

    /// Every rank's numbers, summed in the order of ranks.
    fn sum(&self, own: &mut [f32]) -> Result<()> {
        let mut sockets = locked(&self.sockets);
        let mut bytes = vec![0; 4 * own.len()];
        if self.rank == 0 {
            for socket in sockets.iter_mut() {
                self.read(socket, &mut bytes)?;
                own.iter_mut().zip(floats(&bytes)).for_each(|(own, other)| *own += other);
            }
        }
        let all: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
        sockets.iter_mut().try_for_each(|socket| self.write(socket, &all))?;
        if let (true, Some(socket)) = (self.rank != 0, sockets.first_mut()) {
            self.read(socket, &mut bytes)?;
            own.iter_mut().zip(floats(&bytes)).for_each(|(own, sum)| *own = sum);
        }
        Ok(())
    }

    /// Pinned memory for so many floats.
    fn staging(&self, driver: &Driver, count: usize) -> std::result::Result<usize, c_int> {
        let mut all = locked(&self.staging);
        if let Some((address, _)) = all.iter().find(|(_, floats)| *floats >= count) {
            return Ok(*address);
        }
        let mut address = null_mut();
        // SAFETY: the output is a local that outlives the call; the caller of NCCL has made a context current.
        if unsafe { driver.cuMemHostAlloc(&mut address, 4 * count, 0) } != CUresult::SUCCESS {
            return Err(CUDA);
        }
        all.push((address.expose_provenance(), count));
        Ok(address.expose_provenance())
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
}
