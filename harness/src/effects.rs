//! Tracks the effects of calls on objects: before a call those that it destroys, after it those that it creates.
//!
//! An object is marked as destroyed before the driver is called: afterwards another thread may already have received the same handle. If the
//! driver refuses, it is marked as alive again.

use crate::current;
use crate::functions::{Function, Parameter, Plain, Type};
use crate::kind::Kind;
use crate::ledger::{Mistake, Problem};
use crate::lists::Listed;
use crate::objects::{New, Object, Objects, Place};
use crate::read::common_stream;
use crate::rules::{Effect, Shares, Size};

/// A call in progress, with the information that its effects need.
#[derive(Clone, Copy)]
pub(crate) struct Doing<'call> {
    pub(crate) number: usize,
    pub(crate) function: &'static Function,
    pub(crate) words: &'call [u64],
    /// The context that is current.
    pub(crate) context: u64,
    /// Whether it adds a node to a capture: the graph allocates or frees the memory, each time that it is launched.
    pub(crate) is_captured: bool,
}

/// A change that is undone if the driver refuses the call.
#[derive(Clone, Copy)]
pub(crate) enum Undo {
    Ended(Place),
    Shares(Place, u64),
}

impl Doing<'_> {
    fn word(&self, number: usize) -> u64 {
        self.words.get(number).copied().unwrap_or(0)
    }

    /// What it does to objects itself.
    fn effects(&self) -> &'static [Effect] {
        if self.is_captured { &[] } else { &self.function.effects }
    }

    /// The handle in an argument.
    fn address(&self, kind: Kind, at: usize) -> u64 {
        let word = self.word(at);
        // CU_STREAM_PER_THREAD is the same handle for a different stream in each thread and context.
        if kind == Kind::Capture && word == 2 {
            let context = self.context & u64::from(u32::MAX);
            return 1 << 63 | (current::thread() as u64) << 32 | context;
        }
        word
    }

    /// The size of the device memory that the call allocates.
    pub(crate) fn bytes(&self) -> u64 {
        self.effects()
            .iter()
            .map(|effect| self.size(effect))
            .filter(|(_, counted)| *counted)
            .map(|(bytes, _)| bytes)
            .sum()
    }

    fn size(&self, effect: &Effect) -> (u64, bool) {
        match effect {
            Effect::Makes(_, _, Size::Counted(at)) => (self.word(*at), true),
            Effect::Makes(_, _, Size::Rows(_, width, rows)) => {
                (self.word(*width).saturating_mul(self.word(*rows)), true)
            }
            Effect::Makes(_, _, Size::Plain(at)) => (self.word(*at), false),
            _ => (0, false),
        }
    }

    fn shares(&self, shares: Shares) -> u64 {
        match shares {
            Shares::One => 1,
            Shares::Argument(at) => self.word(at),
            // CU_GRAPH_USER_OBJECT_MOVE
            Shares::Moved(count, flags) => {
                if self.word(flags) & 1 == 1 {
                    self.word(count)
                } else {
                    0
                }
            }
        }
    }

    fn problem(&self, objects: &Objects, place: Place, mistake: Mistake) -> Option<Problem> {
        let object = objects.at(place)?;
        let ended_by = object.ended_by.unwrap_or(0);
        Some(Problem {
            mistake,
            object: object.name,
            call: self.number,
            function: self.function.name,
            ended_by,
        })
    }

    /// Marks the objects that the call destroys, and returns what is wrong.
    pub(crate) fn before(
        &self,
        objects: &mut Objects,
        stream: Option<(u64, u64)>,
    ) -> (Vec<Undo>, Vec<Problem>) {
        let (mut undo, mut problems) = (Vec::new(), Vec::new());
        problems.extend(self.dead(objects));
        problems.extend(self.other_context(objects, stream));
        for effect in self.effects() {
            match *effect {
                Effect::Ends(kind, at) => self.end(objects, kind, at, 1, &mut undo, &mut problems),
                Effect::Unshares(kind, at, shares) => {
                    let shares = self.shares(shares);
                    self.end(objects, kind, at, shares, &mut undo, &mut problems);
                }
                Effect::EndsContext(at) => {
                    self.end(objects, Kind::Context, at, 1, &mut undo, &mut problems);
                    self.end_all_of(objects, self.word(at), &mut undo);
                }
                Effect::EndsPrimary(at) => {
                    if let Some(context) = objects.primaries.get(&self.word(at)).copied() {
                        self.end_all_of(objects, context, &mut undo);
                    }
                }
                Effect::EndsRange(kind, at, length) => {
                    let range = self.word(at)..self.word(at).saturating_add(self.word(length));
                    let inside = |o: &Object| o.name.kind() == kind && range.contains(&o.address);
                    self.end_all(objects, inside, &mut undo);
                }
                _ => {}
            }
        }
        (undo, problems)
    }

    /// Marks everything that is destroyed with a context.
    fn end_all_of(&self, objects: &mut Objects, context: u64, undo: &mut Vec<Undo>) {
        let of_it = |o: &Object| o.context == context && o.name.kind().ends_with_context();
        self.end_all(objects, of_it, undo);
    }

    fn end_all(&self, objects: &mut Objects, wanted: impl Fn(&Object) -> bool, undo: &mut Vec<Undo>) {
        let places = objects.live().filter(|(_, object)| wanted(object));
        let places: Vec<Place> = places.map(|(place, _)| place).collect();
        for place in places {
            objects.end(place, self.number);
            undo.push(Undo::Ended(place));
        }
    }

    fn end(
        &self,
        objects: &mut Objects,
        kind: Kind,
        at: usize,
        shares: u64,
        undo: &mut Vec<Undo>,
        problems: &mut Vec<Problem>,
    ) {
        let address = self.address(kind, at);
        // Releasing null is allowed; but the first device is number 0.
        if shares == 0 || (address == 0 && kind != Kind::PrimaryContext) {
            return;
        }
        let Some(place) = objects.find(kind, address) else { return };
        let Some(object) = objects.at_mut(place) else { return };
        if !object.is_live() {
            // A graph outlives the context with which it is marked as destroyed.
            if object.name.kind() == Kind::Graph && !object.is_released {
                return;
            }
            problems.extend(self.problem(objects, place, Mistake::DoubleFree));
            return;
        }
        let left = object.shares.saturating_sub(shares);
        if left > 0 {
            object.shares = left;
            undo.push(Undo::Shares(place, shares));
        } else {
            object.is_released = true;
            objects.end(place, self.number);
            undo.push(Undo::Ended(place));
        }
    }

    /// Destroyed handles and freed memory among the arguments of a call that does not release them itself.
    fn dead(&self, objects: &Objects) -> Vec<Problem> {
        // These functions may be called with any address.
        let asks = || self.function.name.starts_with("cuPointer") || self.function.name.contains("Address");
        let problem = |at: &usize| {
            let parameter = self.function.parameters.get(*at)?;
            let word = self.word(*at);
            let (place, mistake) = match parameter.ty {
                Type::Plain(Plain::Handle(kind)) => (objects.find(kind, word)?, Mistake::DeadHandle),
                Type::Plain(Plain::Memory) => (objects.memory_at(word)?.0, Mistake::DeadMemory),
                _ => return None,
            };
            let object = objects.at(place);
            // A driver may reuse addresses whose reservation has ended for objects whose creation is not observed, such as
            // the variables of modules.
            let is_reserved = object.is_some_and(|object| object.name.kind() == Kind::Reservation);
            let is_live = object.is_none_or(|object| object.is_live()) || is_reserved;
            if is_live || (mistake == Mistake::DeadMemory && asks()) {
                None
            } else {
                self.problem(objects, place, mistake)
            }
        };
        self.function.uses.iter().filter_map(problem).collect()
    }

    /// An event or kernel that is used with a stream of another context. For a launch, the kernel and stream are
    /// passed.
    fn other_context(&self, objects: &Objects, launch: Option<(u64, u64)>) -> Option<Problem> {
        let (place, stream) = match self.function.name {
            "cuEventRecord" | "cuEventRecordWithFlags" => {
                (objects.find(Kind::Event, self.word(0))?, self.word(1))
            }
            _ => {
                let (kernel, stream) = launch?;
                (objects.find(Kind::Function, kernel)?, stream)
            }
        };
        let of_stream = match common_stream(Kind::Stream, stream) {
            Some(_) => self.context,
            None => objects.at(objects.find(Kind::Stream, stream)?)?.context,
        };
        let object = objects.at(place).filter(|object| object.is_live())?;
        let differ = object.context != of_stream && object.context != 0 && of_stream != 0;
        if differ { self.problem(objects, place, Mistake::WrongContext) } else { None }
    }

    /// Undoes the changes after the driver has refused the call.
    pub(crate) fn refused(&self, objects: &mut Objects, undo: Vec<Undo>) {
        for undo in undo {
            match undo {
                Undo::Ended(place) => {
                    // A capture is over nevertheless.
                    if objects.at(place).is_some_and(|object| object.name.kind() != Kind::Capture) {
                        objects.revive(place, self.number);
                    }
                }
                Undo::Shares(place, shares) => {
                    if let Some(object) = objects.at_mut(place) {
                        object.shares = object.shares.saturating_add(shares);
                    }
                }
            }
        }
    }

    /// Records the objects that exist after a successful call.
    pub(crate) fn done(&self, objects: &mut Objects, results: &[(usize, u64)]) {
        let received = |at: usize| results.iter().find(|(number, _)| *number == at).map(|(_, word)| *word);
        if let (true, Some(address)) = (self.is_captured, received(0)) {
            // Of a graph, as the address of an allocation node is: see `nodes::memory`.
            objects.forget_freed(address, self.word(1));
        }
        for effect in self.effects() {
            match *effect {
                Effect::Makes(kind, at, size) => {
                    let (mut bytes, counted) = self.size(effect);
                    if let Size::Rows(pitch, _, rows) = size {
                        bytes = received(pitch).map_or(bytes, |pitch| pitch.saturating_mul(self.word(rows)));
                    }
                    let new = self.made(objects, kind, at, results);
                    if new.address != 0 {
                        objects.make(New { bytes, counted, ..new });
                    }
                }
                Effect::Finds(kind, at) => {
                    let new = self.made(objects, kind, at, results);
                    if new.address != 0 && !is_live(objects, kind, new.address) {
                        objects.make(new);
                    }
                }
                Effect::Tells(at, size) => {
                    let bytes = size.and_then(received).unwrap_or(1);
                    received(at).into_iter().for_each(|address| objects.forget_freed(address, bytes));
                }
                Effect::Belongs(kind, at, owner) => {
                    let new = self.made(objects, kind, at, results);
                    self.belongs(objects, new, owner);
                }
                Effect::Shares(kind, at, shares) => {
                    let new = self.made(objects, kind, at, results);
                    if let (Kind::PrimaryContext, Some((0, context))) = (kind, results.first()) {
                        objects.primaries.insert(new.address, *context);
                    }
                    let (shares, found) = (self.shares(shares), objects.find(kind, new.address));
                    match found
                        .filter(|_| is_live(objects, kind, new.address))
                        .and_then(|at| objects.at_mut(at))
                    {
                        Some(object) => object.shares = object.shares.saturating_add(shares),
                        None => {
                            objects.make(New { shares, ..new });
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Objects in a list that the driver returns exist, whoever created them.
    pub(crate) fn lists(&self, objects: &mut Objects, listed: &Listed) {
        for handle in &listed.handles {
            if !is_live(objects, listed.kind, *handle) {
                let new = New::of(listed.kind, *handle, Some((self.number, self.function.name)));
                self.belongs(objects, New { context: self.context, ..new }, listed.owner);
            }
        }
    }

    fn belongs(&self, objects: &mut Objects, new: New, owner: usize) {
        let kind = self.function.parameters.get(owner).map(|parameter| parameter.ty);
        let Some(Type::Plain(Plain::Handle(kind))) = kind else { return };
        if new.address == 0 {
            return;
        }
        let owner = objects.meet(kind, self.word(owner));
        let known = objects.find(new.kind, new.address).and_then(|place| objects.at(place));
        if known.is_some_and(|object| object.is_live() && object.owner == Some(owner)) {
            return;
        }
        // The objects of a module belong to the module's context; a kernel belongs to none until its function is
        // obtained.
        let context = match new.kind {
            Kind::Kernel => 0,
            Kind::Function if kind == Kind::Module => objects.at(owner).map_or(0, |object| object.context),
            _ => new.context,
        };
        objects.make(New { owner: Some(owner), context, ..new });
    }

    /// The object with the handle in an argument or output.
    fn made(&self, objects: &Objects, kind: Kind, at: usize, results: &[(usize, u64)]) -> New {
        let received = results.iter().find(|(number, _)| *number == at).map(|(_, word)| *word);
        let address = match self.function.parameters.get(at).map(|parameter| parameter.ty) {
            Some(Type::Out(_)) => received.unwrap_or(0),
            _ => self.address(kind, at),
        };
        let context = self.context_of_made(objects, kind);
        New { context, ..New::of(kind, address, Some((self.number, self.function.name))) }
    }

    /// The context of the object that the call creates.
    fn context_of_made(&self, objects: &Objects, kind: Kind) -> u64 {
        // Memory that is allocated on a stream belongs to the stream's context, whichever context is current.
        let asked = || {
            let is_stream = |parameter: &Parameter| parameter.ty == Type::Plain(Plain::Handle(Kind::Stream));
            let at = self.function.parameters.iter().position(is_stream)?;
            let stream =
                Some(self.word(at)).filter(|stream| common_stream(Kind::Stream, *stream).is_none())?;
            objects.at(objects.find(Kind::Stream, stream)?).map(|stream| stream.context)
        };
        match self.function.name {
            // A stream of a green context is not in the one that is current.
            "cuGreenCtxStreamCreate" => 0,
            _ if kind == Kind::Memory => asked().unwrap_or(self.context),
            _ => self.context,
        }
    }
}

fn is_live(objects: &Objects, kind: Kind, address: u64) -> bool {
    objects.find(kind, address).and_then(|place| objects.at(place)).is_some_and(|object| object.is_live())
}

#[cfg(test)]
mod tests;
