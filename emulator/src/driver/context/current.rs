//! Each thread's stack of current contexts, by handle: a context may be destroyed while it is current somewhere. And the
//! contexts that arguments mean.

use cuda_driver_sys::{CUcontext, CUresult};
use std::cell::RefCell;
use std::sync::Arc;

use super::{CONTEXTS, Context};
use crate::driver::entry::{INVALID_CONTEXT, Outcome};
use crate::driver::slot_use;
use crate::driver::state::Call;

thread_local! {
    /// A stack for each slot that the thread has worked for, with the number of its life.
    static STACKS: RefCell<Vec<(u64, Vec<usize>)>> = const { RefCell::new(Vec::new()) };
}

/// Works on this thread's stack; does nothing on a thread that is ending, whose stack is gone.
fn with<T>(work: impl FnOnce(&mut Vec<usize>) -> Option<T>) -> Option<T> {
    STACKS.try_with(|stacks| work(own(&mut stacks.borrow_mut())?)).ok().flatten()
}

/// The stack of the current slot, in its present life.
fn own(stacks: &mut Vec<(u64, Vec<usize>)>) -> Option<&mut Vec<usize>> {
    let life = slot_use::life();
    if !stacks.iter().any(|(of, _)| *of == life) {
        stacks.retain(|(of, _)| slot_use::is_present(*of));
        stacks.push((life, Vec::new()));
    }
    stacks.iter_mut().find(|(of, _)| *of == life).map(|(_, stack)| stack)
}

/// The current context.
pub(in crate::driver) fn get() -> Option<usize> {
    with(|stack| stack.last().copied())
}

/// Puts a context on top.
pub(super) fn push(context: usize) {
    with(|stack| -> Option<()> {
        stack.push(context);
        None
    });
}

/// Takes the top off.
pub(super) fn pop() -> Option<usize> {
    with(Vec::pop)
}

/// Replaces the top; `None` takes it off.
pub(super) fn set(context: Option<usize>) {
    pop();
    if let Some(context) = context {
        push(context);
    }
}

impl Call {
    /// The context that is current on this thread, alive and without a fault.
    pub(in crate::driver) fn context(&self) -> Outcome<Arc<Context>> {
        let state = self.state()?;
        let handle = get().ok_or(INVALID_CONTEXT)?;
        let context = CONTEXTS.get(handle);
        let context =
            context.filter(|context| context.is_alive()).ok_or(CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED)?;
        state.fault.check()?;
        Ok(context)
    }
}

/// The context that is current, even if it is destroyed.
pub(super) fn present() -> Outcome<Option<Arc<Context>>> {
    Ok(CONTEXTS.get(get().ok_or(INVALID_CONTEXT)?))
}

/// The context with that handle, or for NULL the current one; must be alive.
pub(in crate::driver) fn named(context: CUcontext, destroyed: CUresult) -> Outcome<Arc<Context>> {
    let context = match context.addr() {
        0 => present()?,
        handle => Some(CONTEXTS.get(handle).ok_or(INVALID_CONTEXT)?),
    };
    context.filter(|context| context.is_alive()).ok_or(destroyed)
}

/// The context with that handle, which is alive, in a process without a fault.
pub(in crate::driver) fn living(call: &Call, context: CUcontext) -> Outcome<Arc<Context>> {
    call.healthy()?;
    CONTEXTS.get(context.addr()).filter(|context| context.is_alive()).ok_or(INVALID_CONTEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_for_each_thread() {
        assert_eq!((get(), pop()), (None, None));
        push(1);
        push(2);
        set(Some(3));
        assert_eq!(get(), Some(3));
        assert_eq!(std::thread::spawn(get).join().ok().flatten(), None);
        set(None);
        assert_eq!((pop(), pop()), (Some(1), None));
        set(Some(5));
        assert_eq!((get(), pop()), (Some(5), Some(5)));
    }
}
