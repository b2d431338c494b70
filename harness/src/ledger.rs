//! Objects that were not released, and uses of destroyed objects.

use crate::kind::Kind;
use crate::objects::Object;
use crate::value::ObjectName;
use std::backtrace::Backtrace;
use std::fmt;
use std::sync::Arc;

/// The objects that calls have created and not released, and the calls that used an object after it was destroyed.
///
/// Only calls through the spy count. Objects that are released with another one (functions of a module, nodes of a graph) are not listed,
/// nor is memory that launches of a graph allocate and free, by its nodes or by calls that were captured.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    pub(crate) live: Vec<Entry>,
    pub(crate) problems: Vec<Problem>,
}

impl Ledger {
    /// The objects that were not released, in the order in which they were created.
    pub fn live(&self) -> &[Entry] {
        &self.live
    }

    /// How many objects of a kind are live.
    pub fn count(&self, kind: Kind) -> usize {
        self.live.iter().filter(|entry| entry.kind() == kind).count()
    }

    /// The mistakes of calls, in their order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Whether everything was released, and nothing was used after it was destroyed.
    pub fn is_clean(&self) -> bool {
        self.live.is_empty() && self.problems.is_empty()
    }

    /// The objects that are live here and were not in the earlier ledger.
    pub fn since(&self, before: &Ledger) -> Ledger {
        let is_new = |entry: &&Entry| !before.live.iter().any(|old| old.name == entry.name);
        Ledger {
            live: self.live.iter().filter(is_new).cloned().collect(),
            problems: self.problems.iter().skip(before.problems.len()).cloned().collect(),
        }
    }

    /// Panics unless it [is clean](Self::is_clean), with the list.
    ///
    /// # Panics
    ///
    /// If an object is live, or was used after it was destroyed.
    #[track_caller]
    #[allow(clippy::panic, reason = "it is an assertion")]
    pub fn assert_clean(&self) {
        assert!(self.is_clean(), "the ledger is not clean:\n{self}");
    }
}

/// One line for each object and mistake; `nothing is live` if there is none.
impl fmt::Display for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_clean() {
            return f.write_str("nothing is live\n");
        }
        self.live.iter().try_for_each(|entry| writeln!(f, "live: {entry}"))?;
        self.problems.iter().try_for_each(|problem| writeln!(f, "{problem}"))
    }
}

/// An object that was created and not released.
#[derive(Clone, Debug)]
pub struct Entry {
    name: ObjectName,
    bytes: u64,
    shares: u64,
    made_by: usize,
    function: &'static str,
    backtrace: Option<Arc<Backtrace>>,
}

impl Entry {
    /// The entry of an object.
    pub(crate) fn of(object: &Object) -> Entry {
        let (made_by, function) = object.made_by.unwrap_or((0, "an unknown call"));
        Entry {
            name: object.name,
            bytes: object.bytes,
            shares: object.shares,
            made_by,
            function,
            backtrace: object.backtrace.clone(),
        }
    }

    /// Its name.
    pub fn name(&self) -> ObjectName {
        self.name
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.name.kind()
    }

    /// Its size in bytes; 0 if it is not memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many references have to be released, of a primary context, a user object or physical memory; 1 for everything else.
    pub fn shares(&self) -> u64 {
        self.shares
    }

    /// The number of the call that created it.
    pub fn made_by(&self) -> usize {
        self.made_by
    }

    /// The function that created it.
    pub fn function(&self) -> &'static str {
        self.function
    }

    /// Where in the program it was created, with [`SpyOptions::backtraces`](crate::SpyOptions::backtraces).
    pub fn backtrace(&self) -> Option<&Backtrace> {
        self.backtrace.as_deref()
    }
}

/// `stream#2, created by call 14, cuStreamCreate`
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if self.bytes != 0 {
            write!(f, " ({} bytes)", self.bytes)?;
        }
        if self.shares != 1 {
            write!(f, " ({} shares)", self.shares)?;
        }
        write!(f, ", created by call {}, {}", self.made_by, self.function)?;
        match &self.backtrace {
            Some(backtrace) => write!(f, "\n{backtrace}"),
            None => Ok(()),
        }
    }
}

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mistake {
    /// It releases an object that was released before.
    DoubleFree,
    /// It uses a handle whose object was destroyed.
    DeadHandle,
    /// It uses memory that was freed.
    DeadMemory,
    /// It uses objects of two contexts where the driver requires one.
    WrongContext,
}

/// A call that misused an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub(crate) mistake: Mistake,
    pub(crate) object: ObjectName,
    pub(crate) call: usize,
    pub(crate) function: &'static str,
    pub(crate) ended_by: usize,
}

impl Problem {
    /// What is wrong.
    pub fn mistake(&self) -> Mistake {
        self.mistake
    }

    /// The object.
    pub fn object(&self) -> ObjectName {
        self.object
    }

    /// The number of the call that used it.
    pub fn call(&self) -> usize {
        self.call
    }

    /// The function that was called.
    pub fn function(&self) -> &'static str {
        self.function
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { object, call, function, ended_by, .. } = self;
        write!(f, "call {call}, {function}, ")?;
        match self.mistake {
            Mistake::DoubleFree => write!(f, "releases {object} again; call {ended_by} already released it"),
            Mistake::DeadHandle => write!(f, "uses {object}, which call {ended_by} destroyed"),
            Mistake::DeadMemory => write!(f, "uses {object}, which call {ended_by} freed"),
            Mistake::WrongContext => write!(f, "uses {object}, which belongs to another context"),
        }
    }
}
