//! cuda-launch.

use std::future::IntoFuture;

use cuda_launch::operation::KernelLaunch;
use cuda_launch::{
    AsyncKernelLaunch, CudaContext, CudaEvent, CudaFunction, CudaModule, CudaStream, DeviceBuffer,
    DeviceOperation, LaunchConfig, cuda_launch, cuda_launch_async,
};

use crate::{ALPHA, images};

pub(crate) const CONFIG: LaunchConfig = LaunchConfig::new((1, 1, 1), (32, 1, 1));

pub(crate) struct Ours {
    pub(crate) context: CudaContext,
    pub(crate) function: CudaFunction,
    module: CudaModule,
    stream: CudaStream,
    event: CudaEvent,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    name: String,
    text: String,
    image: Vec<u8>,
}

impl Ours {
    pub(crate) fn new(context: &CudaContext, text: &str, image: &[u8]) -> Self {
        let stream = context.new_stream().unwrap();
        let module = context.load_module(images::FOUR).unwrap();
        Self {
            function: module.load_function("four").unwrap(),
            module,
            event: context.new_event().unwrap(),
            x: DeviceBuffer::zeroed(&stream, 32).unwrap(),
            y: DeviceBuffer::zeroed(&stream, 32).unwrap(),
            stream,
            name: "four".into(),
            text: text.into(),
            image: image.to_vec(),
            context: context.clone(),
        }
    }

    /// Where the kernel reads and writes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.x.cu_deviceptr(), self.y.cu_deviceptr())
    }

    pub(crate) fn launch(&mut self, n: u32) {
        // SAFETY: 1: the kernel has these parameters; 2: it writes 16 bytes, all of `y`; 3, 4: the buffers are the stream's, and nothing else uses
        // them; 5: it writes floats; 6: it ends.
        unsafe {
            cuda_launch! { function: self.function, stream: self.stream, config: CONFIG,
            args: [ptr(self.x), ptr_mut(self.y), n, ALPHA] }
        }
        .unwrap();
    }

    pub(crate) fn launch_by_name(&mut self, n: u32) {
        // SAFETY: 1 to 6: as in `launch`.
        unsafe {
            cuda_launch! { kernel: (&self.name), module: self.module, stream: self.stream, config: CONFIG,
            args: [ptr(self.x), ptr_mut(self.y), n, ALPHA] }
        }
        .unwrap();
    }

    pub(crate) fn launch_cluster(&mut self, n: u32) {
        // SAFETY: 1 to 6: as in `launch`.
        unsafe {
            cuda_launch! { function: self.function, stream: self.stream, config: CONFIG, cluster_dim: (1, 1, 1),
            args: [ptr(self.x), ptr_mut(self.y), n, ALPHA] }
        }
        .unwrap();
    }

    pub(crate) fn launch_cooperative(&mut self, n: u32) {
        // SAFETY: 1 to 6: as in `launch`.
        unsafe {
            cuda_launch! { function: self.function, stream: self.stream, config: CONFIG, cooperative: true,
            args: [ptr(self.x), ptr_mut(self.y), n, ALPHA] }
        }
        .unwrap();
    }

    fn operation(&mut self, n: u32) -> KernelLaunch<'_> {
        // SAFETY: 1 to 6: as in `launch`.
        unsafe {
            cuda_launch_async! { function: self.function, config: CONFIG,
            args: [ptr(self.x), ptr_mut(self.y), n, ALPHA] }
        }
    }

    pub(crate) fn submit(&mut self, n: u32) {
        let stream = self.stream.clone();
        // SAFETY: 1: what it uses lives until all work is done.
        unsafe { self.operation(n).async_on(&stream) }.unwrap();
    }

    pub(crate) fn launch_and_wait(&mut self, n: u32) {
        self.launch(n);
        self.wait();
    }

    pub(crate) fn sync(&mut self, n: u32) {
        self.operation(n).sync().unwrap();
    }

    pub(crate) fn await_one(&mut self, n: u32) {
        pollster::block_on(self.operation(n).into_future()).unwrap();
    }

    pub(crate) fn wait(&mut self) {
        self.stream.synchronize().unwrap();
    }

    pub(crate) fn allocation(&mut self) {
        drop(DeviceBuffer::<f32>::uninit(&self.stream, 32).unwrap());
    }

    pub(crate) fn event(&mut self) {
        drop(self.context.new_event().unwrap());
    }

    pub(crate) fn record(&mut self) {
        self.event.record(&self.stream).unwrap();
    }

    pub(crate) fn new_stream(&mut self) {
        drop(self.context.new_stream().unwrap());
    }

    pub(crate) fn load_text(&mut self) {
        drop(self.context.load_module(&self.text).unwrap());
    }

    pub(crate) fn load_image(&mut self) {
        drop(self.context.load_module(&self.image).unwrap());
    }

    /// What `threads` measures.
    pub(crate) fn describe(function: &CudaFunction) {
        drop(std::hint::black_box(AsyncKernelLaunch::new(function)));
    }
}
