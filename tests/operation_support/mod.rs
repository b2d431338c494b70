//! What the tests of operations share: kernels, operations, polls.

#![allow(dead_code, unreachable_pub)] // Each user needs a part of it.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks)] // Kernels.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use cuda_launch::operation::{DeviceOperation, ExecutionContext};
use cuda_launch::{CudaContext, CudaFunction, DeviceBuffer, Error, LaunchConfig, cuda_launch};
use std::future::Future;
use std::task::{Context, Poll, Waker};

/// Polls once, and wakes nobody.
pub fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

pub fn context() -> CudaContext {
    CudaContext::new(0).unwrap()
}

pub fn fill_kernel() -> CudaFunction {
    let module = context().load_module(include_str!("../../examples/kernels/fill.ptx")).unwrap();
    module.load_function("fill").unwrap()
}

/// Fills a buffer by a kernel.
pub struct Fill {
    pub function: CudaFunction,
    pub buffer: DeviceBuffer<u32>,
    pub value: u32,
}

impl DeviceOperation for Fill {
    type Output = DeviceBuffer<u32>;

    unsafe fn execute(mut self, cx: &ExecutionContext) -> Result<Self::Output, Error> {
        let len = self.buffer.len() as u32;
        unsafe {
            cuda_launch! { function: self.function, stream: cx.stream()?, config: LaunchConfig::for_num_elems(len),
            args: [ptr_mut(self.buffer), len, self.value] }
        }?;
        Ok(self.buffer)
    }
}

pub fn read(buffer: &DeviceBuffer<u32>) -> Vec<u32> {
    buffer.to_host_vec(&buffer.context().new_stream().unwrap()).unwrap()
}
