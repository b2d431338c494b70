//! Errors of stream captures.

use std::fmt;

/// Something that a stream capture does not allow. The driver was not called, so the capture continues.
///
/// ```
/// use cuda_launch::{CaptureMode, CudaContext, CudaGraph};
/// let ctx = CudaContext::new(0)?;
/// let graph = CudaGraph::capture(&ctx, CaptureMode::ThreadLocal, |stream| {
///     let error = stream.synchronize().unwrap_err();
///     assert!(error.is_capture_error() && error.to_string().contains("cuStreamSynchronize"));
///     Ok(())
/// })?;
/// assert_eq!(graph.nodes().len(), 0);
/// # Ok::<(), cuda_launch::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CaptureError {
    /// The stream was made for a capture that has ended.
    Ended {
        /// The driver call that was requested.
        call: &'static str,
        /// The stream.
        stream: String,
    },
    /// A stream was told to wait for an event outside its capture, or for one that exists only inside a capture.
    Isolated {
        /// The driver call that was requested.
        call: &'static str,
        /// The stream.
        stream: String,
    },
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { call, stream } => write!(
                f,
                "{call}: {stream} was made for a capture that has ended\n  help: use a stream of the context; streams passed to a \
                 capture's closure, and their forks, are valid until it returns"
            ),
            Self::Isolated { call, stream } => write!(
                f,
                "{call}: {stream} cannot wait for this event: one is part of a capture, the other is not\n  help: inside a capture \
                 fork the captured stream (`stream.fork()`), record the event there, and wait for it on a stream of the same capture"
            ),
        }
    }
}

impl std::error::Error for CaptureError {}
