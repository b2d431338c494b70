//! Which variables of a module, or of a library's modules, have a handle, and the accesses to them.
//!
//! They are identified by address: a variable that a library's image declares `.managed` is the same in all contexts.
//!
//! There is one handle at a time, so that a mutable view of a variable is the only one. The record of its accesses outlives
//! the handle: the next one continues from there.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::stream::thread::StreamAccesses;

/// The owner of a variable's memory, as `memory` knows it.
pub(super) type AnyAllocation = Arc<dyn Any + Send + Sync>;

/// The variables that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Symbols(Mutex<Vec<Symbol>>);

#[derive(Debug)]
struct Symbol {
    address: u64,
    /// A handle lives.
    taken: bool,
    /// The last owner, which stays alive while a graph uses the variable.
    allocation: Weak<dyn Any + Send + Sync>,
    /// What the last owner left behind.
    accesses: Option<StreamAccesses>,
}

impl Symbols {
    /// Hands out the variable at `address`; `None` if a handle to it already exists. `make` creates the owner, which continues
    /// with these accesses.
    pub(crate) fn take(
        &self,
        address: u64,
        make: impl FnOnce(Option<StreamAccesses>) -> AnyAllocation,
    ) -> Option<AnyAllocation> {
        let mut symbols = self.symbols();
        let Some(symbol) = find(&mut symbols, address) else {
            let allocation = make(None);
            let symbol =
                Symbol { address, taken: true, allocation: Arc::downgrade(&allocation), accesses: None };
            symbols.push(symbol);
            return Some(allocation);
        };
        if symbol.taken {
            return None;
        }
        let allocation = match symbol.allocation.upgrade() {
            Some(allocation) => allocation,
            // None: the last owner is about to leave them, on another thread.
            None => make(Some(symbol.accesses.take()?)),
        };
        symbol.allocation = Arc::downgrade(&allocation);
        symbol.taken = true;
        Some(allocation)
    }

    /// Records that the handle was dropped.
    pub(crate) fn give_back(&self, address: u64) {
        if let Some(symbol) = find(&mut self.symbols(), address) {
            symbol.taken = false;
        }
    }

    /// Records that the owner was dropped, and keeps its accesses for the next one.
    pub(crate) fn leave(&self, address: u64, accesses: StreamAccesses) {
        if let Some(symbol) = find(&mut self.symbols(), address) {
            symbol.accesses = Some(accesses);
        }
    }

    fn symbols(&self) -> MutexGuard<'_, Vec<Symbol>> {
        // Nothing below the lock panics; a poisoned lock would still hold a whole list.
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A program asks for few variables, each once.
fn find(symbols: &mut [Symbol], address: u64) -> Option<&mut Symbol> {
    symbols.iter_mut().find(|symbol| symbol.address == address)
}
