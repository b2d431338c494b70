//! Each thread's stack of current contexts, by handle: a context may be destroyed while it is current somewhere.

use std::cell::RefCell;

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Works on this thread's stack; does nothing on a thread that is ending, whose stack is gone.
fn with<T>(work: impl FnOnce(&mut Vec<usize>) -> Option<T>) -> Option<T> {
    STACK.try_with(|stack| work(&mut stack.borrow_mut())).ok().flatten()
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
