//! The numbers of the instructions that access memory, and the information about watched ones.

use super::super::code::Exec;
use super::super::profile::Profiled;
use super::super::schedule::Scheduled;
use super::super::watch::{Base, Registers, Values, WATCH, Watched};
use super::draft::Draft;

/// The observers of the instructions of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Looks {
    /// Accesses to memory run through the [`watch`](super::super::watch).
    pub(in crate::engine) watches: bool,
    /// All instructions run through the [`profile`](super::super::profile).
    pub(in crate::engine) profiles: bool,
    /// Accesses run through the [`schedule`](super::super::schedule).
    pub(in crate::engine) schedules: bool,
}

/// The information about a watched instruction.
#[derive(Default)]
pub(super) struct Known {
    /// Those of its registers that asynchronous work may be using.
    pub(super) registers: Option<Box<Registers>>,
    /// Those that may hold undefined values.
    pub(super) values: Option<Box<Values>>,
    /// The base of its address.
    pub(super) base: Option<Base>,
    /// For a copy, the base of its source address.
    pub(super) source: Option<Base>,
}

/// Counts the sites of a kernel.
pub(super) struct Sites {
    /// The number of sites.
    pub(super) count: u32,
    /// The number of address shapes that loads record for each other.
    pub(super) shapes: u32,
    /// The kernel's own registers that may be read before they are written, if that is watched.
    pub(super) unwritten: Vec<u32>,
    /// By site; `None` if nothing is watched.
    watched: Option<Vec<Watched>>,
    /// Index of the function that is decoded.
    pub(super) function: usize,
    /// By function; `None` if nothing is counted.
    pub(super) profiled: Option<Vec<Vec<Profiled>>>,
    /// By function; `None` if schedules are off.
    pub(super) scheduled: Option<Vec<Vec<Scheduled>>>,
}

impl Sites {
    pub(super) fn new(looks: Looks) -> Sites {
        let (watched, profiled) = (looks.watches.then(Vec::new), looks.profiles.then(Vec::new));
        Sites {
            count: 0,
            shapes: 0,
            unwritten: Vec::new(),
            watched,
            function: 0,
            profiled,
            scheduled: looks.schedules.then(Vec::new),
        }
    }

    /// Whether instructions are watched.
    pub(super) fn watches(&self) -> bool {
        self.watched.is_some()
    }

    /// Whether there is an observer of instructions.
    pub(super) fn looks(&self) -> bool {
        self.watched.is_some() || self.profiled.is_some() || self.scheduled.is_some()
    }

    /// The site of an instruction, and the function that executes it.
    pub(super) fn take(&mut self, draft: &Draft, known: Known) -> (u32, Exec) {
        let Known { registers, values, base, source } = known;
        let Sites { count, watched, function, .. } = self;
        let (note, event) = (draft.note, draft.event);
        let noted = watched
            .as_mut()
            .filter(|_| note.is_some() || event.is_some() || registers.is_some() || values.is_some());
        if !draft.site && noted.is_none() {
            return (u32::MAX, draft.exec);
        }
        let site = *count;
        *count += 1;
        let Some(watched) = noted else { return (site, draft.exec) };
        // Sites of instructions that no check watches stay empty in between.
        watched.resize_with(site as usize, Watched::nothing);
        let (exec, origin, function) = (draft.exec, draft.origin, *function);
        watched.push(Watched { exec, note, event, registers, values, base, source, origin, function });
        (site, WATCH)
    }

    /// The watched instructions by site, and the counted and the scheduled ones by function.
    pub(super) fn noted(self) -> (Vec<Watched>, Vec<Vec<Profiled>>, Vec<Vec<Scheduled>>) {
        let Sites { watched, profiled, scheduled, .. } = self;
        (watched.unwrap_or_default(), profiled.unwrap_or_default(), scheduled.unwrap_or_default())
    }
}
