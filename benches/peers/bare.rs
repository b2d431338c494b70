//! By hand: what a careful person calls, with the context current and the results checked.

use cuda_launch::sys::{self, CUresult, Driver};
use cuda_launch::{CudaContext, CudaStream, DeviceBuffer};
use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use crate::images;

/// The driver's functions, and what they are called with. The objects are made by this crate, so that they end with it.
pub(crate) struct Bare {
    pub(crate) driver: Arc<Driver>,
    pub(crate) function: sys::CUfunction,
    pub(crate) stream: sys::CUstream,
    module: sys::CUmodule,
    event: sys::CUevent,
    /// A careful person keeps the arguments where they are.
    x: u64,
    y: u64,
    n: u32,
    alpha: f32,
    name: CString,
    text: CString,
    image: Vec<u8>,
    _owners: (cuda_launch::CudaModule, CudaStream, cuda_launch::CudaEvent, [DeviceBuffer<f32>; 2]),
}

pub(crate) fn ok(code: CUresult) {
    assert!(code == CUresult::SUCCESS, "{code:?}");
}

impl Bare {
    pub(crate) fn new(context: &CudaContext, text: &str, image: &[u8]) -> Self {
        let (stream, event) = (context.new_stream().unwrap(), context.new_event().unwrap());
        let module = context.load_module(images::FOUR).unwrap();
        let buffer = || DeviceBuffer::<f32>::zeroed(&stream, 32).unwrap();
        let buffers = [buffer(), buffer()];
        Self {
            driver: context.driver().clone(),
            function: module.load_function("four").unwrap().raw(),
            stream: stream.raw(),
            module: module.raw(),
            event: event.raw(),
            x: buffers[0].cu_deviceptr(),
            y: buffers[1].cu_deviceptr(),
            n: 0,
            alpha: crate::ALPHA,
            name: CString::new("four").unwrap(),
            text: CString::new(text).unwrap(),
            image: image.to_vec(),
            _owners: (module, stream, event, buffers),
        }
    }

    /// The bytes of the linked image.
    pub(crate) fn image_size(&self) -> usize {
        self.image.len()
    }

    /// Where the kernel reads and writes.
    pub(crate) fn memory(&self) -> (u64, u64) {
        (self.x, self.y)
    }

    pub(crate) fn launch(&mut self, n: u32) {
        self.n = n;
        self.launch_function(self.function);
    }

    fn launch_function(&mut self, function: sys::CUfunction) {
        let mut arguments = self.arguments();
        let (arguments, stream) = (arguments.as_mut_ptr(), self.stream);
        // SAFETY: the kernel has these four parameters; the handles are alive.
        ok(unsafe {
            self.driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, arguments, null_mut())
        });
    }

    fn arguments(&mut self) -> [*mut c_void; 4] {
        [
            (&raw mut self.x).cast(),
            (&raw mut self.y).cast(),
            (&raw mut self.n).cast(),
            (&raw mut self.alpha).cast(),
        ]
    }

    pub(crate) fn launch_by_name(&mut self, n: u32) {
        self.n = n;
        let mut function = null_mut();
        // SAFETY: the module is alive, the name ends with a zero.
        ok(unsafe { self.driver.cuModuleGetFunction(&mut function, self.module, self.name.as_ptr()) });
        self.launch_function(function);
    }

    fn launch_with(&mut self, id: sys::CUlaunchAttributeID, value: sys::CUlaunchAttributeValue) {
        let mut attribute = sys::CUlaunchAttribute { id, value, ..Default::default() };
        let mut arguments = self.arguments();
        let config = sys::CUlaunchConfig {
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 32,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            hStream: self.stream,
            attrs: &mut attribute,
            numAttrs: 1,
        };
        // SAFETY: as in `launch_function`; the attribute is alive, and its value is that of its kind.
        ok(unsafe {
            self.driver.cuLaunchKernelEx(&config, self.function, arguments.as_mut_ptr(), null_mut())
        });
    }

    pub(crate) fn launch_cluster(&mut self, n: u32) {
        self.n = n;
        let shape = sys::CUlaunchAttributeValue_clusterDim { x: 1, y: 1, z: 1 };
        let value = sys::CUlaunchAttributeValue { clusterDim: shape };
        self.launch_with(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
    }

    pub(crate) fn launch_cooperative(&mut self, n: u32) {
        self.n = n;
        let value = sys::CUlaunchAttributeValue { cooperative: 1 };
        self.launch_with(sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
    }

    pub(crate) fn launch_and_wait(&mut self, n: u32) {
        self.launch(n);
        self.wait();
    }

    pub(crate) fn wait(&mut self) {
        // SAFETY: the stream is alive.
        ok(unsafe { self.driver.cuStreamSynchronize(self.stream) });
    }

    pub(crate) fn allocation(&mut self) {
        let mut address = 0;
        // SAFETY: the stream is alive, and the memory is freed once.
        unsafe {
            ok(self.driver.cuMemAllocAsync(&mut address, 128, self.stream));
            ok(self.driver.cuMemFreeAsync(address, self.stream));
        }
    }

    pub(crate) fn event(&mut self) {
        let mut event = null_mut();
        // SAFETY: it is destroyed once; 2 is "no timing".
        unsafe {
            ok(self.driver.cuEventCreate(&mut event, 2));
            ok(self.driver.cuEventDestroy(event));
        }
    }

    pub(crate) fn record(&mut self) {
        // SAFETY: both are alive.
        ok(unsafe { self.driver.cuEventRecord(self.event, self.stream) });
    }

    pub(crate) fn new_stream(&mut self) {
        let mut stream = null_mut();
        // SAFETY: it is destroyed once; 1 is "does not wait for the default stream".
        unsafe {
            ok(self.driver.cuStreamCreateWithPriority(&mut stream, 1, 0));
            ok(self.driver.cuStreamDestroy(stream));
        }
    }

    fn load(&mut self, image: *const c_void) {
        let mut module = null_mut();
        // SAFETY: the image is whole; the module is unloaded once.
        unsafe {
            ok(self.driver.cuModuleLoadDataEx(&mut module, image, 0, null_mut(), null_mut()));
            ok(self.driver.cuModuleUnload(module));
        }
    }

    pub(crate) fn load_text(&mut self) {
        self.load(self.text.as_ptr().cast());
    }

    pub(crate) fn load_image(&mut self) {
        self.load(self.image.as_ptr().cast());
    }

    /// Waits for all work of the context.
    pub(crate) fn wait_for_all(&self) {
        // SAFETY: no pointers.
        ok(unsafe { self.driver.cuCtxSynchronize() });
    }
}
