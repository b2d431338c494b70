//! `cuIpc*EventHandle`: events of one process that another one opens.

use cuda_driver_sys::*;
use std::sync::Arc;

use super::handle::{Handle, Kind};
use crate::driver::entry::{INVALID_HANDLE, Out, Outcome, entries};
use crate::driver::handles::to_c;
use crate::driver::state::Call;
use crate::driver::work::event::{EVENTS, Event};
use crate::driver::work::shared_event::SharedEvent;

entries! {
    cuIpcGetEventHandle(handle: *mut CUipcEventHandle, event: CUevent) = get;
    cuIpcOpenEventHandle(event: *mut CUevent, handle: CUipcEventHandle) = open;
}

/// Of an event that was made here with `CU_EVENT_INTERPROCESS`.
fn get(call: &Call, handle: Out<CUipcEventHandle>, event: CUevent) -> Outcome {
    let event = call.event(event)?;
    let place = handle.required()?;
    let made = event.shared.as_ref().and_then(|shared| shared.handle()).ok_or(INVALID_HANDLE)?;
    place.set(CUipcEventHandle { reserved: made.to_bytes().map(|byte| byte as _) });
    Ok(())
}

fn open(call: &Call, event: Out<CUevent>, handle: CUipcEventHandle) -> Outcome {
    let context = call.context()?;
    let place = event.required()?;
    let handle = Handle::from_bytes(Kind::Event, &handle.reserved.map(|byte| byte as u8))?;
    let shared = SharedEvent::opened(handle.open()?).ok_or(CUresult::CUDA_ERROR_MAP_FAILED)?;
    let handle = EVENTS.reserve();
    EVENTS.insert(handle, Arc::new(Event::shared(context, shared)));
    place.set(to_c(handle));
    Ok(())
}
