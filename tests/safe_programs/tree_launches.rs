//! Steps that launch, change and let go of the graphs of `trees.rs`.

#![deny(unsafe_code)]

use crate::change::Planned;
use crate::program::Program;
use crate::trees::{Does, Part, Role, Tree};
use cuda_launch::Error;
use std::sync::Arc;
use std::thread;

impl Tree {
    pub(crate) fn uses(&self, id: usize) -> bool {
        let mut does = self.parts.iter().flat_map(|part| &part.does);
        does.any(|does| matches!(does, Does::Change(planned) if planned.uses(id)))
    }

    /// What all parts do before the first of this role.
    fn does_before(&self, role: Role) -> impl Iterator<Item = &Does> {
        self.parts.iter().take_while(move |part| part.role != role).flat_map(|part| &part.does)
    }

    fn check(&self) -> Result<(), Error> {
        self.exec.synchronize()?;
        self.witness.check(&self.expected);
        Ok(())
    }
}

impl Program {
    pub(crate) fn launch_tree(&mut self) -> Result<(), Error> {
        if self.trees.is_empty() {
            return self.build_tree();
        }
        let index = self.random.below(self.trees.len());
        self.launch(index)
    }

    fn launch(&mut self, index: usize) -> Result<(), Error> {
        let ([stream, other], [pace, before]) =
            ([self.stream(), self.stream()], [(); 2].map(|()| self.random.pace()));
        let (upload, on_thread, waits) = (self.random.one_in(4), self.random.one_in(3), self.random.below(3));
        let tree = &mut self.trees[index];
        tree.launches += 1;
        if let Some(event) = &tree.before {
            tree.witness.open_on(&other, before.busy, tree.launches)?;
            event.record(&other)?;
        }
        let exec = &mut tree.exec;
        let mut launch = || {
            if upload {
                exec.upload(&stream)?;
            }
            pace.set(&stream)?;
            exec.launch(&stream)
        };
        if on_thread {
            thread::scope(|scope| scope.spawn(launch).join().unwrap())?;
        } else {
            launch()?;
        }
        let witness = |does: &&Does| matches!(does, Does::Tell(_));
        if let Some(event) = &tree.after {
            let count = tree.expected.len() + tree.does_before(Role::EventRecord).filter(witness).count();
            let witness = tree.witness.clone();
            match waits {
                0 => {
                    event.synchronize()?;
                    witness.must_have(count);
                }
                _ => {
                    other.wait(event)?;
                    other.call_host(move || witness.must_have(count))?;
                }
            }
        }
        for does in tree.parts.iter().flat_map(|part| &part.does) {
            match does {
                Does::Change(planned) => planned.apply(&mut self.holds),
                Does::Tell(number) => tree.expected.push(*number),
            }
        }
        if self.random.one_in(3) { self.trees[index].check() } else { Ok(()) }
    }

    /// By what a driver takes: the same work with other numbers, and other events. Launched before and after.
    pub(crate) fn change_tree(&mut self) -> Result<(), Error> {
        if self.trees.is_empty() {
            self.build_tree()?;
        }
        let index = self.random.below(self.trees.len());
        self.launch(index)?;
        // A launch that is on its way may still wait for the one before.
        let event = Arc::new(self.ctx.new_event()?);
        for which in 0..self.trees[index].parts.len() {
            let Part { node, role, .. } = self.trees[index].parts[which];
            let Some(again) = self.again(index, which) else { continue };
            let witness = self.trees[index].witness.clone();
            let child = (role == Role::Child).then(|| self.line(&witness, &again)).transpose()?;
            let Tree { exec, before, after, .. } = &mut self.trees[index];
            match role {
                Role::Host => {
                    let [Does::Tell(number)] = again[..] else { continue };
                    exec.set_host(node, witness.teller(number, 0))?;
                }
                Role::Child => child.iter().try_for_each(|child| exec.set_child(node, child))?,
                Role::EventWait => {
                    exec.set_event_wait(node, &event)?;
                    *before = Some(event.clone());
                }
                Role::EventRecord => {
                    exec.set_event_record(node, &event)?;
                    *after = Some(event.clone());
                }
                Role::Fixed => continue,
            }
            let again = self.kept_does(again);
            self.trees[index].parts[which].does = again;
        }
        self.launch(index)
    }

    /// What the part does with other numbers, by places; none where the program does not have a buffer any more.
    fn again(&mut self, tree: usize, part: usize) -> Option<Vec<Does>> {
        let Self { trees, buffers, random, .. } = self;
        let place = |id: usize| buffers.iter().position(|buffer| buffer.id == id);
        let again = trees[tree].parts[part].does.iter().map(|does| match *does {
            Does::Tell(_) => Some(Does::Tell(random.number())),
            Does::Change(Planned { to, from, half, change }) => Some(Does::Change(Planned {
                to: place(to)?,
                from: place(from)?,
                half,
                change: change.again(random),
            })),
        });
        again.collect()
    }

    pub(crate) fn drop_tree(&mut self) -> Result<(), Error> {
        if self.trees.is_empty() {
            return Ok(());
        }
        let index = self.random.below(self.trees.len());
        let tree = self.trees.swap_remove(index);
        if self.random.one_in(2) { tree.check() } else { tree.exec.close() }
    }

    pub(crate) fn check_trees(&self) -> Result<(), Error> {
        self.trees.iter().try_for_each(Tree::check)
    }
}
