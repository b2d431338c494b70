//! cudarc, with its events and without them.

use ::cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, LaunchConfig,
    PushKernelArg,
};
use ::cudarc::nvrtc::Ptx;
use std::sync::Arc;

use crate::{ALPHA, images};

const CONFIG: LaunchConfig = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };

pub(crate) struct Cudarc {
    context: Arc<CudaContext>,
    function: CudaFunction,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
    event: CudaEvent,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
    text: String,
    image: Vec<u8>,
    /// `load_module` takes what it loads; copied before the clock runs.
    texts: Vec<Ptx>,
    images: Vec<Ptx>,
}

impl Cudarc {
    pub(crate) fn new(events: bool, text: &str, image: &[u8]) -> Self {
        let context = CudaContext::new(0).unwrap();
        if !events {
            // SAFETY: its memory is used on one stream, and dropped after all work.
            unsafe { context.disable_event_tracking() };
        }
        let stream = context.new_stream().unwrap();
        let module = context.load_module(Ptx::from_src(images::FOUR)).unwrap();
        Self {
            function: module.load_function("four").unwrap(),
            module,
            event: context.new_event(None).unwrap(),
            x: stream.alloc_zeros(32).unwrap(),
            y: stream.alloc_zeros(32).unwrap(),
            stream,
            context,
            text: text.into(),
            image: image.to_vec(),
            texts: Vec::new(),
            images: Vec::new(),
        }
    }

    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.x.device_ptr(&self.stream).0, self.y.device_ptr(&self.stream).0)
    }

    /// Makes as many copies as the next batch takes.
    pub(crate) fn prepare_texts(&mut self, count: usize) {
        self.texts = (0..count).map(|_| Ptx::from_src(self.text.clone())).collect();
    }

    pub(crate) fn prepare_images(&mut self, count: usize) {
        self.images = (0..count).map(|_| Ptx::from_binary(self.image.clone())).collect();
    }

    pub(crate) fn launch(&mut self, n: u32) {
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&self.x).arg(&mut self.y).arg(&n).arg(&ALPHA);
        // SAFETY: the kernel has these parameters, and writes 16 bytes to `y`.
        unsafe { launch.launch(CONFIG) }.unwrap();
    }

    pub(crate) fn launch_by_name(&mut self, n: u32) {
        let function = self.module.load_function("four").unwrap();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&self.x).arg(&mut self.y).arg(&n).arg(&ALPHA);
        // SAFETY: as in `launch`.
        unsafe { launch.launch(CONFIG) }.unwrap();
    }

    pub(crate) fn launch_cooperative(&mut self, n: u32) {
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(&self.x).arg(&mut self.y).arg(&n).arg(&ALPHA);
        // SAFETY: as in `launch`.
        unsafe { launch.launch_cooperative(CONFIG) }.unwrap();
    }

    pub(crate) fn launch_and_wait(&mut self, n: u32) {
        self.launch(n);
        self.wait();
    }

    pub(crate) fn wait(&mut self) {
        self.stream.synchronize().unwrap();
    }

    pub(crate) fn allocation(&mut self) {
        // SAFETY: nobody reads it.
        drop(unsafe { self.stream.alloc::<f32>(32) }.unwrap());
    }

    pub(crate) fn event(&mut self) {
        drop(self.context.new_event(None).unwrap());
    }

    pub(crate) fn record(&mut self) {
        self.event.record(&self.stream).unwrap();
    }

    pub(crate) fn new_stream(&mut self) {
        drop(self.context.new_stream().unwrap());
    }

    pub(crate) fn load_text(&mut self) {
        drop(self.context.load_module(self.texts.pop().unwrap()).unwrap());
    }

    pub(crate) fn load_image(&mut self) {
        drop(self.context.load_module(self.images.pop().unwrap()).unwrap());
    }
}
