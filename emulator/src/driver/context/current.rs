//! Each thread's stack of current contexts, by handle: a context may be destroyed while it is current somewhere. And the
//! contexts that arguments mean.

use cuda_driver_sys::{CUcontext, CUresult};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{CONTEXTS, Context};
use crate::driver::entry::{INVALID_CONTEXT, Outcome};
use crate::driver::slot::{PerThread, per_thread};
use crate::driver::slot_use;
use crate::driver::state::{Call, lock};

/// Contexts of a stack that the thread itself keeps; there are seldom more.
const KEPT: usize = 4;

/// A stack: its lowest contexts, and where the others are. Without a destructor, as programs call CUDA at the very end of a thread or of
/// the process, in `atexit` functions and in destructors of static and thread-local objects: after all destructors of this library.
#[derive(Clone, Copy)]
struct Stack {
    depth: usize,
    kept: [usize; KEPT],
    /// The number of the others in `MORE`; 0 if there are none.
    more: u64,
}

const EMPTY: Stack = Stack { depth: 0, kept: [0; KEPT], more: 0 };

thread_local! {
    static STACK: PerThread<Stack> = const { per_thread!(EMPTY) };
}

/// The upper part of stacks that are deeper than `KEPT`, with the life of the slot that each is of. What a thread leaves there when it ends
/// stays as long as that.
static MORE: Mutex<BTreeMap<u64, (u64, Vec<usize>)>> = Mutex::new(BTreeMap::new());

impl Stack {
    fn get(&self) -> Option<usize> {
        let top = self.depth.checked_sub(1)?;
        match self.kept.get(top) {
            Some(context) => Some(*context),
            None => lock(&MORE).get(&self.more).and_then(|(_, more)| more.last().copied()),
        }
    }

    fn push(&mut self, context: usize) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        match self.kept.get_mut(self.depth) {
            Some(place) => *place = context,
            None => {
                let mut all = lock(&MORE);
                if self.more == 0 {
                    all.retain(|_, (life, _)| slot_use::is_present(*life));
                    self.more = NUMBERS.fetch_add(1, Ordering::Relaxed);
                }
                let (_, more) = all.entry(self.more).or_insert_with(|| (slot_use::life(), Vec::new()));
                more.push(context);
            }
        }
        self.depth += 1;
    }

    fn pop(&mut self) -> Option<usize> {
        let top = self.get()?;
        self.depth -= 1;
        if self.depth >= KEPT {
            let mut all = lock(&MORE);
            let is_last = all.get_mut(&self.more).is_none_or(|(_, more)| {
                more.pop();
                more.is_empty()
            });
            if is_last {
                all.remove(&self.more);
                self.more = 0;
            }
        }
        Some(top)
    }
}

/// Works on this thread's stack for the current slot.
fn with<T>(work: impl FnOnce(&mut Stack) -> T) -> T {
    STACK.with(|own| {
        let mut stack = own.get();
        let result = work(&mut stack);
        own.replace(stack);
        result
    })
}

/// The current context.
pub(in crate::driver) fn get() -> Option<usize> {
    STACK.with(PerThread::get).get()
}

/// Puts a context on top.
pub(super) fn push(context: usize) {
    with(|stack| stack.push(context));
}

/// Takes the top off.
pub(super) fn pop() -> Option<usize> {
    with(Stack::pop)
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

/// The context with that handle, or the current one for NULL; it must be alive.
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

    #[test]
    fn a_stack_may_be_deep() {
        for context in 1..=20 {
            push(context);
        }
        assert_eq!(std::thread::spawn(get).join().ok().flatten(), None);
        set(Some(30));
        assert_eq!(get(), Some(30));
        set(None);
        for context in (1..=19).rev() {
            assert_eq!((get(), pop()), (Some(context), Some(context)));
        }
        assert_eq!((get(), pop()), (None, None));
        // Nothing is left of it, and the next one is its own.
        assert!(STACK.with(PerThread::get).more == 0);
        (1..=6).for_each(push);
        assert_eq!(
            (1..=7).map(|_| pop()).collect::<Vec<_>>(),
            [6, 5, 4, 3, 2, 1].map(Some).into_iter().chain([None]).collect::<Vec<_>>()
        );
    }

    /// After the destructors of this library's own thread-local variables.
    #[test]
    fn a_thread_has_its_context_up_to_its_end() {
        use std::cell::RefCell;
        use std::sync::mpsc::{Sender, channel};
        struct Late(Sender<(Option<usize>, Option<usize>)>);
        impl Drop for Late {
            fn drop(&mut self) {
                let before = get();
                set(Some(8));
                let _ = self.0.send((before, get()));
            }
        }
        thread_local! { static LATE: RefCell<Option<Late>> = const { RefCell::new(None) }; }
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || {
            // What is used first ends last.
            LATE.set(Some(Late(sender)));
            push(7);
        });
        assert!(thread.join().is_ok());
        assert_eq!(receiver.recv().ok(), Some((Some(7), Some(8))));
    }
}
