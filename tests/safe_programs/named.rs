//! Steps with launches that are made ready once: plans, and prepared launches of a typed module's function. Both own what they need, and
//! get other numbers and other memory by name in between.

#![allow(unsafe_code)] // Launches of `step`, a safe function of a typed module, by other ways than its method.

use crate::change::{CONFIG, Change};
use crate::program::Program;
use cuda_launch::launch::PreparedLaunch;
use cuda_launch::{Error, LaunchPlan, cuda_launch};
use std::thread;

/// What one launch does: `x = x * m + a` for half a buffer, by the buffer's id.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    id: usize,
    half: usize,
    m: u32,
    a: u32,
}

impl Step {
    fn apply(self, program: &mut Program) {
        Change::Step(self.m, self.a).apply(&mut program.holds[self.id][self.half], 0);
    }
}

pub(crate) enum Ready {
    /// Two launches, one after the other.
    Plan(LaunchPlan, [Step; 2]),
    Prepared(PreparedLaunch<'static>, Step),
}

impl Ready {
    fn steps(&self) -> &[Step] {
        match self {
            Self::Plan(_, steps) => steps,
            Self::Prepared(_, step) => std::slice::from_ref(step),
        }
    }

    pub(crate) fn uses(&self, id: usize) -> bool {
        self.steps().iter().any(|step| step.id == id)
    }
}

/// The names of a launch's arguments.
const NAMES: [[&str; 3]; 2] = [["x0", "m0", "a0"], ["x1", "m1", "a1"]];

impl Program {
    /// A step of one of the buffers, and where that is.
    fn step(&mut self) -> (Step, usize) {
        let (index, half) = (self.random.below(self.buffers.len()), self.random.below(2));
        let (m, a, id) = (2 * self.random.number() + 1, self.random.number(), self.buffers[index].id);
        self.in_graphs.push(id);
        (Step { id, half, m, a }, index)
    }

    pub(crate) fn make_plan(&mut self) -> Result<(), Error> {
        let steps = [self.step(), self.step()];
        let Self { buffers, kernels, ctx, .. } = self;
        let module = kernels.as_module();
        let plan = LaunchPlan::record(ctx, |stream| {
            for ((Step { half, m, a, .. }, index), [x, by, plus]) in steps.into_iter().zip(NAMES) {
                let mut view = buffers[index].memory.half_mut(half);
                // SAFETY: 1 to 6: `step` is safe for every slice and all numbers, as `kernels` declares it.
                unsafe {
                    cuda_launch! { kernel: step, module: module, stream: stream, config: CONFIG,
                    args: [named(x, slice_mut(view)), named(by, m), named(plus, a)] }
                }?;
            }
            Ok(())
        })?;
        self.ready.push(Ready::Plan(plan, steps.map(|(step, _)| step)));
        Ok(())
    }

    pub(crate) fn prepare(&mut self) -> Result<(), Error> {
        let (stream, (step, index)) = (self.stream(), self.step());
        let mut view = self.buffers[index].memory.half_mut(step.half);
        let mut builder = stream.launch_builder(&self.kernels.functions().step);
        let [x, by, plus] = NAMES[0];
        builder.named(x, cuda_launch::launch::slice_mut(&mut view)).named(by, &step.m).named(plus, &step.a);
        let launch = builder.prepare(CONFIG)?;
        self.ready.push(Ready::Prepared(launch, step));
        Ok(())
    }

    /// Other numbers, and other memory, which a stream may still be busy with; then they are launched.
    pub(crate) fn change_ready(&mut self) -> Result<(), Error> {
        for index in 0..self.ready.len() {
            let ((step, place), memory, which) = (self.step(), self.random.one_in(2), self.random.below(2));
            let (stream, value) = (self.stream(), self.random.number());
            let mut view = self.buffers[place].memory.half_mut(step.half);
            if memory {
                view.fill(&stream, value)?;
                self.holds[step.id][step.half] = value;
            }
            let Step { m, a, .. } = step;
            match &mut self.ready[index] {
                Ready::Plan(plan, steps) => {
                    let [x, by, plus] = NAMES[which];
                    // SAFETY: 1: any numbers, and any memory, as for `make_plan`.
                    unsafe { plan.set(by, m).and_then(|()| plan.set(plus, a)) }?;
                    if memory {
                        // SAFETY: 1: as above.
                        unsafe { plan.set_slice_mut(x, &mut view) }?;
                        steps[which] = step;
                    }
                    steps[which] = Step { m, a, ..steps[which] };
                }
                Ready::Prepared(launch, old) => {
                    let [x, by, plus] = NAMES[0];
                    launch.set(by, m)?;
                    launch.set(plus, a)?;
                    if memory {
                        launch.set_slice_mut(x, &mut view)?;
                        *old = step;
                    }
                    *old = Step { m, a, ..*old };
                }
            }
        }
        self.launch_ready()
    }

    /// Some times, on this thread or another one, between other uses of the memory.
    pub(crate) fn launch_ready(&mut self) -> Result<(), Error> {
        for index in 0..self.ready.len() {
            let (stream, pace, on_thread) = (self.stream(), self.random.pace(), self.random.one_in(2));
            let ready = &mut self.ready[index];
            let mut go = || {
                pace.set(&stream)?;
                match ready {
                    Ready::Plan(plan, _) => plan.launch(&stream),
                    // SAFETY: 1: as for `make_plan`: the memory is that of a mutable view; 2: this thread waits for the launch, and no
                    // other thread is there.
                    Ready::Prepared(launch, _) => unsafe { launch.launch_on(&stream) }.map(|_| ()),
                }
            };
            if on_thread { thread::scope(|scope| scope.spawn(go).join().unwrap()) } else { go() }?;
            let steps = self.ready[index].steps().to_vec();
            steps.into_iter().for_each(|step| step.apply(self));
        }
        Ok(())
    }

    pub(crate) fn drop_ready(&mut self) -> Result<(), Error> {
        if !self.ready.is_empty() {
            let index = self.random.below(self.ready.len());
            self.ready.swap_remove(index);
        }
        Ok(())
    }
}
