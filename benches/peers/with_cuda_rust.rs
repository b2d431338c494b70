//! NVIDIA's crates of github.com/NVIDIA/cuda-rust: cuda-core, and cuda-async for operations. Both take addresses, and order nothing.

use ::cuda_async::device_operation::DeviceOp;
use ::cuda_async::launch::{AsyncKernelLaunch, AsyncKernelLaunchBuilder};
use ::cuda_core::{
    Context, DeviceBuffer, Event, Function, LaunchConfig, Module, Stream,
    launch_kernel_cooperative_on_stream, launch_kernel_ex_on_stream, launch_kernel_on_stream,
};
use std::ffi::{CStr, c_void};
use std::future::IntoFuture;
use std::sync::Arc;

use crate::{ALPHA, images};

const CONFIG: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
const GRID: (u32, u32, u32) = CONFIG.grid_dim;
const BLOCK: (u32, u32, u32) = CONFIG.block_dim;

pub(crate) struct CudaRust {
    pub(crate) context: Arc<Context>,
    pub(crate) function: Arc<Function>,
    module: Arc<Module>,
    stream: Arc<Stream>,
    event: Event,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    text: String,
    image: Vec<u8>,
}

impl CudaRust {
    pub(crate) fn new(text: &str, image: &[u8]) -> Self {
        let context = Context::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        let module = context.load_module_from_ptx_src(images::FOUR).unwrap();
        Self {
            function: Arc::new(module.load_function("four").unwrap()),
            module,
            event: context.new_event_with_flags(None).unwrap(),
            x: DeviceBuffer::zeroed(&stream, 32).unwrap(),
            y: DeviceBuffer::zeroed(&stream, 32).unwrap(),
            stream,
            context,
            text: text.into(),
            image: image.to_vec(),
        }
    }

    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.x.cu_deviceptr(), self.y.cu_deviceptr())
    }

    pub(crate) fn launch(&mut self, n: u32) {
        self.launch_function(&self.function, n);
    }

    fn launch_function(&self, function: &Function, n: u32) {
        let (x, y) = self.memory();
        let mut arguments = arguments(&x, &y, &n);
        // SAFETY: the kernel has these parameters, and writes 16 bytes to `y`.
        unsafe { launch_kernel_on_stream(function, GRID, BLOCK, 0, &self.stream, &mut arguments) }.unwrap();
    }

    pub(crate) fn launch_by_name(&mut self, n: u32) {
        self.launch_function(&self.module.load_function("four").unwrap(), n);
    }

    pub(crate) fn launch_cluster(&mut self, n: u32) {
        let (x, y) = self.memory();
        let mut arguments = arguments(&x, &y, &n);
        let cluster = (1, 1, 1);
        // SAFETY: as in `launch_function`.
        unsafe {
            launch_kernel_ex_on_stream(&self.function, GRID, BLOCK, 0, cluster, &self.stream, &mut arguments)
        }
        .unwrap();
    }

    pub(crate) fn launch_cooperative(&mut self, n: u32) {
        let (x, y) = self.memory();
        let mut arguments = arguments(&x, &y, &n);
        // SAFETY: as in `launch_function`.
        unsafe {
            launch_kernel_cooperative_on_stream(&self.function, GRID, BLOCK, 0, &self.stream, &mut arguments)
        }
        .unwrap();
    }

    pub(crate) fn submit(&mut self, n: u32) {
        // SAFETY: what it uses lives until all work is done.
        unsafe { operation(&self.function, self.memory(), n).async_on(&self.stream) }.unwrap();
    }

    pub(crate) fn launch_and_wait(&mut self, n: u32) {
        self.launch(n);
        self.wait();
    }

    pub(crate) fn sync(&mut self, n: u32) {
        operation(&self.function, self.memory(), n).sync().unwrap();
    }

    pub(crate) fn await_one(&mut self, n: u32) {
        pollster::block_on(operation(&self.function, self.memory(), n).into_future()).unwrap();
    }

    pub(crate) fn wait(&mut self) {
        self.stream.synchronize().unwrap();
    }

    pub(crate) fn allocation(&mut self) {
        // SAFETY: nobody reads it.
        drop(unsafe { DeviceBuffer::<f32>::uninitialized_async(&self.stream, 32) }.unwrap());
    }

    pub(crate) fn event(&mut self) {
        drop(self.context.new_event_with_flags(None).unwrap());
    }

    pub(crate) fn record(&mut self) {
        self.event.record(&self.stream).unwrap();
    }

    pub(crate) fn new_stream(&mut self) {
        drop(self.context.new_stream().unwrap());
    }

    pub(crate) fn load_text(&mut self) {
        drop(self.context.load_module_from_ptx_src(&self.text).unwrap());
    }

    pub(crate) fn load_image(&mut self) {
        if images::is_cubin(&self.image) {
            // SAFETY: it is what the driver's linker made.
            drop(unsafe { self.context.load_module_from_bytes(&self.image) }.unwrap());
        } else {
            let text = CStr::from_bytes_until_nul(&self.image).unwrap().to_str().unwrap();
            drop(self.context.load_module_from_ptx_src(text).unwrap());
        }
    }

    /// What `threads` measures.
    pub(crate) fn describe(function: &Arc<Function>) {
        drop(std::hint::black_box(AsyncKernelLaunchBuilder::new(function.clone())));
    }
}

fn arguments(x: &u64, y: &u64, n: &u32) -> [*mut c_void; 4] {
    let alpha: &'static f32 = &ALPHA;
    let pointers: [*const c_void; 4] =
        [(&raw const *x).cast(), (&raw const *y).cast(), (&raw const *n).cast(), (&raw const *alpha).cast()];
    pointers.map(<*const c_void>::cast_mut)
}

/// A launch as an operation.
pub(crate) fn operation(function: &Arc<Function>, (x, y): (u64, u64), n: u32) -> AsyncKernelLaunch<'static> {
    let mut launch = AsyncKernelLaunchBuilder::new(function.clone());
    // SAFETY: the kernel has these parameters, and writes 16 bytes to `y`, which lives until all work is done.
    unsafe {
        launch.push_device_ptr(x).push_device_ptr(y).push_arg(n).push_arg(ALPHA);
        launch.finalize_unchecked(CONFIG)
    }
}
