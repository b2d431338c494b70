//! cust. Its calls go to the context that is current.

use ::cust::context::Context;
use ::cust::device::Device;
use ::cust::event::{Event, EventFlags};
use ::cust::function::Function;
use ::cust::launch;
use ::cust::memory::{DeviceBuffer, DevicePointer};
use ::cust::module::Module;
use ::cust::stream::{Stream, StreamFlags};

use crate::{ALPHA, images};

pub(crate) struct Cust {
    function: Function<'static>,
    /// A function borrows its module, and this one lives as long as the process.
    module: &'static Module,
    stream: Stream,
    event: Event,
    x: DeviceBuffer<f32>,
    y: DeviceBuffer<f32>,
    text: String,
    image: Vec<u8>,
    _context: Context,
}

impl Cust {
    pub(crate) fn new(text: &str, image: &[u8]) -> Self {
        ::cust::init(::cust::CudaFlags::empty()).unwrap();
        let context = Context::new(Device::get_device(0).unwrap()).unwrap();
        let module: &Module = Box::leak(Box::new(Module::from_ptx(images::FOUR, &[]).unwrap()));
        Self {
            function: module.get_function("four").unwrap(),
            module,
            stream: new_stream(),
            event: Event::new(EventFlags::DISABLE_TIMING).unwrap(),
            x: DeviceBuffer::zeroed(32).unwrap(),
            y: DeviceBuffer::zeroed(32).unwrap(),
            text: text.into(),
            image: image.to_vec(),
            _context: context,
        }
    }

    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.x.as_device_ptr().as_raw(), self.y.as_device_ptr().as_raw())
    }

    pub(crate) fn launch(&mut self, n: u32) {
        let (x, y) = (self.x.as_device_ptr(), self.y.as_device_ptr());
        self.launch_function(&self.function, x, y, n);
    }

    fn launch_function(&self, function: &Function<'_>, x: DevicePointer<f32>, y: DevicePointer<f32>, n: u32) {
        let stream = &self.stream;
        // SAFETY: the kernel has these parameters, and writes 16 bytes to `y`.
        unsafe { launch!(function<<<1, 32, 0, stream>>>(x, y, n, ALPHA)) }.unwrap();
    }

    pub(crate) fn launch_by_name(&mut self, n: u32) {
        let function = self.module.get_function("four").unwrap();
        self.launch_function(&function, self.x.as_device_ptr(), self.y.as_device_ptr(), n);
    }

    pub(crate) fn launch_and_wait(&mut self, n: u32) {
        self.launch(n);
        self.wait();
    }

    pub(crate) fn wait(&mut self) {
        self.stream.synchronize().unwrap();
    }

    pub(crate) fn allocation(&mut self) {
        // SAFETY: nobody uses it.
        let buffer = unsafe { DeviceBuffer::<f32>::uninitialized_async(32, &self.stream) };
        buffer.unwrap().drop_async(&self.stream).unwrap();
    }

    pub(crate) fn event(&mut self) {
        drop(Event::new(EventFlags::DISABLE_TIMING).unwrap());
    }

    pub(crate) fn record(&mut self) {
        self.event.record(&self.stream).unwrap();
    }

    pub(crate) fn new_stream(&mut self) {
        drop(new_stream());
    }

    pub(crate) fn load_text(&mut self) {
        drop(Module::from_ptx(&self.text, &[]).unwrap());
    }

    pub(crate) fn load_image(&mut self) {
        drop(Module::from_cubin(&self.image, &[]).unwrap());
    }
}

fn new_stream() -> Stream {
    Stream::new(StreamFlags::NON_BLOCKING, None).unwrap()
}
