//! A warm launch, on a stream of the program or on that of the thread, takes no lock that another thread has, whatever call of the driver
//! that thread is in: also where it has the list of the memory's accesses locked, which it has while it asks who is done. A launch that took
//! the lock would wait for the other thread, which goes on only when the launches have returned.

#![allow(unsafe_code)] // A table of functions, and launches of kernels that it does not run.
#![allow(non_snake_case)] // Functions of the driver's names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/form.rs"]
mod form;
#[path = "support/rig.rs"]
mod rig;
mod support;

use cuda_launch::sys::{self, CUresult, Driver, pfn};
use cuda_launch::{CudaContext, CudaFunction, CudaStream, DeviceBuffer, Error, cuda_launch};
use form::FORMS;
use rig::{ONE, PTX};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use support::{expect_parameters, progress};

/// A test that hangs fails then.
const LIMIT: Duration = Duration::from_secs(20);

type Meanwhile = Box<dyn FnOnce()>;

thread_local! {
    /// The call that this thread is held in, and how.
    static HELD: RefCell<Option<(&'static str, Meanwhile)>> = const { RefCell::new(None) };
}

fn arrive(call: &'static str) {
    let held = HELD.with(|held| held.borrow_mut().take_if(|(at, _)| *at == call));
    held.into_iter().for_each(|(_, meanwhile)| meanwhile());
}

macro_rules! held {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        /// Functions that a thread can be held in, before what the support's driver does.
        fn lookup(name: &CStr) -> *const c_void {
            match name.to_str().unwrap() {
                $(stringify!($name) => {
                    unsafe extern "C" fn $name($($argument: $type),*) -> CUresult {
                        arrive(stringify!($name));
                        let name = std::ffi::CString::new(stringify!($name)).unwrap();
                        // SAFETY: the support's function of that name, which has this signature; the arguments are the caller's.
                        unsafe {
                            std::mem::transmute::<*const c_void, pfn::$name>(support::lookup(&name))($($argument),*)
                        }
                    }
                    $name as pfn::$name as *const c_void
                })*
                _ => support::lookup(name),
            }
        }
    };
}

held! {
    cuStreamQuery(stream: sys::CUstream);
    cuStreamSynchronize(stream: sys::CUstream);
    cuStreamWaitEvent(stream: sys::CUstream, event: sys::CUevent, flags: u32);
    cuStreamCreateWithPriority(out: *mut sys::CUstream, flags: u32, priority: i32);
    cuEventRecord(event: sys::CUevent, stream: sys::CUstream);
    cuCtxSynchronize();
    cuMemAllocAsync(out: *mut sys::CUdeviceptr, bytes: usize, stream: sys::CUstream);
    cuMemFreeAsync(address: sys::CUdeviceptr, stream: sys::CUstream);
    cuMemsetD8Async(address: sys::CUdeviceptr, value: u8, bytes: usize, stream: sys::CUstream);
    cuModuleGetFunction(out: *mut sys::CUfunction, module: sys::CUmodule, name: *const c_char);
    cuLaunchKernelEx(config: *const sys::CUlaunchConfig, function: sys::CUfunction,
        parameters: *mut *mut c_void, extra: *mut *mut c_void);
}

/// What both threads have.
struct Rig {
    ctx: CudaContext,
    /// The stream of the warm launches.
    stream: CudaStream,
    others: Vec<CudaStream>,
    module: cuda_launch::CudaModule,
    f: CudaFunction,
    /// Many streams read it.
    shared: DeviceBuffer<u32>,
    /// `stream` alone writes it.
    own: Mutex<DeviceBuffer<u32>>,
    /// `stream` wrote it.
    written: Mutex<Option<DeviceBuffer<u32>>>,
}

/// As many readers as make the next one look who is done.
const READERS: usize = 64;

impl Rig {
    fn new(on: fn(&CudaContext) -> CudaStream) -> Self {
        // SAFETY: 1: the support's functions, and those above that call them, of the type that the name has; 2: they are functions of this
        // program.
        let driver = Arc::new(unsafe { Driver::from_lookup(lookup) });
        let ctx = CudaContext::with_driver(&driver, 0).unwrap();
        expect_parameters(&[8, 8, 8, 8]);
        let module = ctx.load_module(PTX).unwrap();
        // Streams that are gone: more than there are places for in what memory knows without its list.
        let mut used = DeviceBuffer::from_host(&ctx.new_stream().unwrap(), &[0u32; 4]).unwrap();
        (0..64).for_each(|_| used.view_mut().set_zero(&ctx.new_stream().unwrap()).unwrap());
        drop(used);
        let stream = on(&ctx);
        let buffer = || DeviceBuffer::from_host(&stream, &[0u32; 4]).unwrap();
        let (shared, own, mut written) = (buffer(), buffer(), buffer());
        stream.synchronize().unwrap();
        let f = module.load_function("collect").unwrap();
        written.view_mut().set_zero(&stream).unwrap();
        let others = (1..READERS).map(|_| ctx.new_stream().unwrap()).collect();
        let (own, written) = (Mutex::new(own), Mutex::new(Some(written)));
        let rig = Self { ctx, stream, others, module, f, shared, own, written };
        rig.launch();
        for other in &rig.others {
            rig.read_on(other).unwrap();
        }
        // From now on, they are warm.
        rig.launch();
        rig.launch();
        rig
    }

    /// In each form: a launch that reads shared memory, one that reads it and writes memory of its own, one that writes that twice. And
    /// kernels by their names.
    fn launch(&self) {
        let own = &mut self.own.lock().unwrap();
        for form in FORMS {
            form.read((&self.f, &self.stream, ONE), &self.shared).unwrap();
            form.collect((&self.f, &self.stream, ONE), own, &self.shared).unwrap();
            form.write((&self.f, &self.stream, ONE), own).unwrap();
        }
        self.launch_named("collect", own).unwrap();
        self.launch_named("step", own).unwrap();
    }

    /// By a name that is known only at run time.
    fn launch_named(&self, name: &str, own: &mut DeviceBuffer<u32>) -> Result<(), Error> {
        let (module, stream) = (&self.module, &self.stream);
        // SAFETY: 1 to 6: the support's driver runs no kernel.
        unsafe {
            cuda_launch! { kernel: (name), module: module, stream: stream, config: ONE,
            args: [slice_mut(own), slice(&self.shared)] }
        }
    }

    fn read_on(&self, stream: &CudaStream) -> Result<(), Error> {
        let (f, x) = (&self.f, &self.shared);
        // SAFETY: 1 to 6: the support's driver runs no kernel.
        unsafe {
            cuda_launch! { function: f, stream: stream, config: ONE, args: [slice(x), slice(x)] }
        }
    }
}

/// What another thread does, and the call that it is held in.
type Work = fn(&Rig) -> Result<(), Error>;

const WORK: &[(&str, Work)] = &[
    // It has the list of the shared memory.
    ("cuStreamQuery", |rig| rig.read_on(&rig.ctx.new_stream()?)),
    ("cuEventRecord", |rig| after(rig, &rig.others[0])),
    ("cuStreamWaitEvent", |rig| after(rig, &rig.others[0])),
    ("cuStreamSynchronize", |rig| rig.stream.synchronize()),
    ("cuStreamCreateWithPriority", |rig| rig.ctx.new_stream().map(drop)),
    ("cuCtxSynchronize", |rig| rig.ctx.synchronize()),
    ("cuMemAllocAsync", |rig| DeviceBuffer::<u32>::uninit(&rig.stream, 4).map(drop)),
    ("cuMemFreeAsync", |rig| rig.written.lock().unwrap().take().unwrap().close()),
    ("cuMemsetD8Async", |rig| after(rig, &rig.stream)),
    ("cuModuleGetFunction", |rig| rig.module.load_function("another").map(drop)),
    // Where the others are launched.
    ("cuModuleGetFunction", |rig| rig.launch_named("a third", &mut DeviceBuffer::uninit(&rig.stream, 4)?)),
    ("cuLaunchKernelEx", |rig| rig.read_on(&rig.stream)),
    ("cuLaunchKernelEx", |rig| rig.read_on(&rig.others[0])),
];

/// Work after that of the stream of the warm launches.
fn after(rig: &Rig, stream: &CudaStream) -> Result<(), Error> {
    rig.written.lock().unwrap().as_mut().unwrap().view_mut().set_zero(stream)
}

#[test]
fn warm_launches_return_while_another_thread_is_in_a_call() {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let on_own: fn(&CudaContext) -> CudaStream = |ctx| ctx.new_stream().unwrap();
    let own = WORK.iter().map(|(call, work)| (on_own, *call, work));
    let per_thread = WORK.iter().map(|(call, work)| {
        let on: fn(&CudaContext) -> CudaStream = CudaContext::per_thread_stream;
        match *call {
            // Another thread waits for the context.
            "cuEventRecord" | "cuStreamWaitEvent" => (on, "cuCtxSynchronize", work),
            call => (on, call, work),
        }
    });
    for (on, call, work) in own.chain(per_thread) {
        let rig = &Rig::new(on);
        // Readers that are done lose their bits.
        progress(CUresult::CUDA_ERROR_NOT_READY);
        let late = &AtomicBool::new(false);
        thread::scope(|scope| {
            let (entered, is_in) = mpsc::channel();
            let (go, may_go) = mpsc::channel::<()>();
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                let meanwhile = move || {
                    entered.send(()).unwrap();
                    let _ = may_go.recv();
                };
                HELD.with(|held| *held.borrow_mut() = Some((call, Box::new(meanwhile))));
                expect_parameters(&[8, 8, 8, 8]);
                work(rig).unwrap();
                assert!(HELD.with(|held| held.borrow().is_none()), "{call} was not called");
            });
            scope.spawn(move || {
                late.store(is_done.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout), Ordering::SeqCst);
                drop(go);
            });
            is_in.recv().unwrap();
            rig.launch();
            drop(done);
        });
        assert!(!late.load(Ordering::SeqCst), "a warm launch waited for a thread that is in {call}");
        progress(CUresult::SUCCESS);
    }
}
