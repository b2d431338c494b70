//! `cuInit`.

use std::ffi::c_uint;

use super::entry::{INVALID_VALUE, Outcome, entries};
use super::state::{self, Call, ContextCleanup};
use super::{array, memory, module, stream, texture};

entries! {
    cuInit(flags: c_uint) [always] = init;
}

/// What a context takes with it when it ends.
const CONTEXT_CLEANUP: &[ContextCleanup] =
    &[module::forget, texture::forget, array::forget, memory::forget, memory::host::forget, stream::forget];

fn init(_: &Call, flags: c_uint) -> Outcome {
    if flags != 0 {
        return Err(INVALID_VALUE);
    }
    let state = state::initialize(CONTEXT_CLEANUP)?;
    memory::POOLS.begin(&state);
    Ok(())
}
