//! Functions on the host.

#![allow(unsafe_code)] // A function that the driver calls with a pointer to what the graph keeps.

use cuda_driver_sys::CUDA_HOST_NODE_PARAMS;
use std::any::Any;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::graph::{CudaGraph, What};
use super::node::{GraphNode, NodeKind, Share};
use crate::driver::Keep;
use crate::error::Error;

/// A function that graphs call, and the panic that it left.
pub(super) struct HostCall {
    function: Box<dyn Fn() + Send + Sync>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl HostCall {
    pub(super) fn new(function: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { function: Box::new(function), panic: Mutex::new(None) })
    }

    /// The driver's form, valid as long as `self`.
    pub(super) fn params(self: &Arc<Self>) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(call), userData: Arc::as_ptr(self).cast_mut().cast() }
    }
}

/// The first panic of a host function since the last time that this was asked; `None` also for any other object.
pub(super) fn panic_of(object: &Keep) -> Option<Box<dyn Any + Send>> {
    let host = object.downcast_ref::<HostCall>()?;
    host.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Calls the function; a panic stays here, because it must not run through the driver.
///
/// # Safety
/// 1. `data` points to a live `HostCall`.
unsafe extern "C" fn call(data: *mut c_void) {
    // SAFETY: 1: graph and executable graph keep it until no launch can run.
    let host = unsafe { &*data.cast::<HostCall>() };
    // After a panic the function is called again at the next launch: what it captured has to be fit for that.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(&host.function)) {
        host.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
    }
}

impl CudaGraph {
    /// Adds a call of a function on the host, on a thread of the driver. Two launches of different executable graphs may call
    /// it at once. It must not call CUDA: that answers `CUDA_ERROR_NOT_PERMITTED`. The nodes that depend on it wait for it.
    ///
    /// A panic inside is kept, and raised by [`GraphExec::synchronize`](super::GraphExec::synchronize).
    ///
    /// ```
    /// use cuda_launch::{CudaContext, CudaGraph, InstantiateFlags};
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering}};
    /// let ctx = CudaContext::new(0)?;
    /// let (count, stream) = (Arc::new(AtomicU32::new(0)), ctx.new_stream()?);
    /// let mut graph = CudaGraph::new(&ctx)?;
    /// let counter = count.clone();
    /// graph.add_host(&[], move || {
    ///     counter.fetch_add(1, Ordering::Relaxed);
    /// })?;
    /// let mut exec = graph.instantiate(InstantiateFlags::empty())?;
    /// exec.launch(&stream)?;
    /// exec.launch(&stream)?;
    /// exec.synchronize()?;
    /// assert_eq!(count.load(Ordering::Relaxed), 2);
    /// # Ok::<(), cuda_launch::Error>(())
    /// ```
    ///
    /// Driver call: `cuGraphAddHostNode`.
    ///
    /// # Errors
    /// A node of `after` is not of this graph, or whatever the driver answers.
    #[doc(alias = "cuGraphAddHostNode")]
    pub fn add_host(
        &mut self,
        after: &[GraphNode],
        function: impl Fn() + Send + Sync + 'static,
    ) -> Result<GraphNode, Error> {
        let host = HostCall::new(function);
        let params = host.params();
        let what = What::new("cuGraphAddHostNode", NodeKind::Host).using(Share::object(host as Keep));
        // SAFETY: the function and its data are kept with the node; the rest are those of `add`.
        self.add(after, what, |driver, node, graph, after, count| unsafe {
            driver.cuGraphAddHostNode(node, graph, after, count, &params)
        })
    }
}
