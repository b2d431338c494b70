//! What a stream that captures remembers: everything that the captured work uses, so that the graph can keep it.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use super::stream::CudaStream;
use super::uses::{Uses, Waits};
use crate::error::Error;

/// Memory that work on streams uses.
pub(crate) trait Resource: Send + Sync {
    /// Who used it last.
    fn uses(&self) -> &Uses;
}

/// The record of one capture, shared by all streams that take part in it.
#[derive(Default)]
pub(crate) struct Capture {
    memory: Mutex<Vec<Captured>>,
    objects: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// Memory that captured work uses.
pub(crate) struct Captured {
    /// The memory; kept as long as the graph can run.
    pub(crate) resource: Arc<dyn Resource>,
    /// Whether captured work writes it.
    pub(crate) written: bool,
    /// Its users among the streams of the capture: these wait for each other as streams outside do.
    within: Uses,
}

impl Capture {
    /// Notes a use and orders it after the uses on other streams of this capture.
    pub(super) fn touch(
        &self,
        resource: Arc<dyn Resource>,
        stream: &CudaStream,
        waits: &mut Waits,
        write: bool,
    ) -> Result<(), Error> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let known =
            memory.iter().position(|c| std::ptr::addr_eq(Arc::as_ptr(&c.resource), Arc::as_ptr(&resource)));
        let index = known.unwrap_or_else(|| {
            memory.push(Captured { resource, written: false, within: Uses::default() });
            memory.len() - 1
        });
        let Some(captured) = memory.get_mut(index) else { return Ok(()) };
        captured.written |= write;
        if write {
            captured.within.note_write(stream, waits)
        } else {
            captured.within.note_read(stream, waits)
        }
    }

    /// Keeps an object that captured work uses, such as a module, as long as the graph can run.
    pub(crate) fn keep(&self, object: Arc<dyn Any + Send + Sync>) {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).push(object);
    }

    /// All that was noted, for the graph.
    pub(crate) fn take(&self) -> (Vec<Captured>, Vec<Arc<dyn Any + Send + Sync>>) {
        let memory = std::mem::take(&mut *self.memory.lock().unwrap_or_else(PoisonError::into_inner));
        let objects = std::mem::take(&mut *self.objects.lock().unwrap_or_else(PoisonError::into_inner));
        (memory, objects)
    }
}

impl std::fmt::Debug for Capture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Capture")
    }
}
