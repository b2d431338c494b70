//! A launch between two events.

#![allow(unsafe_code)] // Submitting the launch; its caller vouches for what cannot be checked.

use super::attributes::Attribute;
use super::config::LaunchConfig;
use super::launch_arguments::LaunchArguments;
use super::submit::{Request, make_ready, submit_given};
use crate::driver::{CudaStream, EventFlags, Kernel, TimingEvent};
use crate::error::Error;
use crate::ordering::Submission;

/// The events before and after a kernel, where they were asked for.
pub type LaunchTimes = Option<(TimingEvent, TimingEvent)>;

/// As [`submit_given`], between two events if there are flags for them.
///
/// # Safety
/// 1. The duties of [`submit`](super::submit).
pub(super) unsafe fn submit_timed<'l, G: LaunchArguments<'l>>(
    timed: Option<EventFlags>,
    kernel: &Kernel,
    stream: &CudaStream,
    config: LaunchConfig,
    fields: &[Attribute<'_>],
    attributes: &[Attribute<'_>],
    given: G,
) -> Result<LaunchTimes, Error> {
    let Some(flags) = timed else {
        // SAFETY: 1: the caller's duty 1.
        unsafe { submit_given(kernel, stream, config, fields, attributes, given) }?;
        return Ok(None);
    };
    stream.refuse_in_capture("cuEventRecord")?;
    let context = stream.context();
    let (start, end) = (TimingEvent::new(context, flags)?, TimingEvent::new(context, flags)?);
    let raw = config.raw(stream.raw());
    // The waits for other streams come before the first event, so that they do not count as the kernel's time.
    make_ready(
        &Request { kernel, stream, config: &raw, fields, attributes },
        given.types().into(),
        &mut Submission::on(stream),
        &given.memory(),
    )?;
    start.record(stream)?;
    // SAFETY: 1: the caller's duty 1.
    unsafe { submit_given(kernel, stream, config, fields, attributes, given) }?;
    end.record(stream)?;
    Ok(Some((start, end)))
}
