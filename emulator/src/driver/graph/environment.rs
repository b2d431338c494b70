//! What a launch of a graph leads to where its kernels launch graphs.
//!
//! A graph runs in an [`Environment`] of its own, inside that of whoever launched it; the outermost is that of the stream. It is done when
//! its nodes are, and all that was launched into it. Then what its kernels have put into its tail takes its place, one graph after the other,
//! each with its own tail before the next. What is launched without an order begins at once, beside the rest, on a thread of its own.

use std::sync::{Arc, Mutex};

use cuda_driver_sys::CUdevice;

use super::device::Claim;
use super::exec::{EXECS, Exec};
use super::plan::Plan;
use crate::check::launches::VectorClock;
use crate::driver::counted::Counted;
use crate::driver::current_work::{self, CurrentWork};
use crate::driver::entry::INVALID_VALUE;
use crate::driver::handles::Found;
use crate::driver::logs;
use crate::driver::queue::{Completion, Job};
use crate::driver::slot;
use crate::driver::state::{Shared, lock};
use crate::driver::work::event::Points;
use crate::driver::work::{RunningGraph, Turn};
use crate::engine::{Fault, GraphLauncher};

/// Streams that device code launches graphs to (`cudaStreamGraph*`).
const TAIL: u64 = 1 << 56;
const FIRE_AND_FORGET: u64 = 2 << 56;
const SIBLING: u64 = 3 << 56;
/// Graphs that can be launched into an environment while it lasts.
const MOST_BESIDE: u32 = 120;
/// Graphs that its tail can have.
const MOST_TAILS: usize = 255;

/// A graph that runs, with all that was launched into it; or a stream's launch.
pub(super) struct Environment {
    launch: Arc<HostLaunch>,
    /// What runs; `None` for a stream's.
    exec: Option<Arc<Exec>>,
    /// What it runs in; `None` for a stream's.
    outer: Option<Arc<Environment>>,
    launched: Mutex<Launched>,
}

/// The launch of the host that all of it belongs to.
pub(super) struct HostLaunch {
    pub(super) state: Shared,
    /// Handle of the stream.
    pub(super) stream: usize,
    /// Whose driver it is: the threads that run a kernel work for none.
    pub(super) slot: usize,
    /// Who counts what its kernels do.
    pub(super) counted: Option<Counted>,
}

/// What was launched into an environment.
#[derive(Default)]
struct Launched {
    /// How many there were that began at once.
    beside: u32,
    /// Those of them that nobody has waited for.
    running: Vec<Arc<Completion>>,
    /// If races between launches are checked: what is over when those are done that are done already.
    over: VectorClock,
    tails: Vec<Start>,
    /// Whether the log tells of a launch that was refused: of others it does not, for who is refused may try again and again.
    told: bool,
}

/// A launch that is about to begin.
pub(super) struct Start {
    pub(super) exec: Arc<Exec>,
    pub(super) plan: Arc<Plan>,
    pub(super) points: Points,
    /// Of a graph that kernels can launch.
    pub(super) claim: Option<Claim>,
}

/// Why a launch is refused. The code is the same for all of them.
type Refused = &'static str;

/// Does a launch of the host, and all that it leads to.
pub(super) fn run(launch: HostLaunch, start: Start) -> Result<(), Box<Fault>> {
    let stream = Arc::new(Environment {
        launch: Arc::new(launch),
        exec: None,
        outer: None,
        launched: Mutex::default(),
    });
    let outcome = stream.run(start);
    stream.wait();
    outcome
}

impl Environment {
    /// Runs a graph in here, and what comes in its place; after a fault their plans do nothing.
    fn run(self: &Arc<Self>, start: Start) -> Result<(), Box<Fault>> {
        // The next one is the last.
        let mut next = vec![start];
        while let Some(start) = next.pop() {
            next.extend(self.run_one(start)?.into_iter().rev());
        }
        Ok(())
    }

    /// Runs a graph until its environment is done; its tail.
    fn run_one(self: &Arc<Self>, start: Start) -> Result<Vec<Start>, Box<Fault>> {
        let Start { exec, plan, points, claim } = start;
        let launch = &self.launch;
        let inner = Arc::new(Environment {
            launch: Arc::clone(launch),
            exec: Some(exec),
            outer: Some(Arc::clone(self)),
            launched: Mutex::default(),
        });
        plan.begin();
        claim.iter().for_each(Claim::begin);
        current_work::begin_graph();
        let turn = Turn {
            state: launch.state.clone(),
            stream: launch.stream,
            caller: None,
            points: Some(points),
            counted: launch.counted.clone(),
            graph: Some(inner.clone()),
        };
        let outcome = plan.run(&turn);
        inner.wait();
        let tails = std::mem::take(&mut lock(&inner.launched).tails);
        claim.into_iter().for_each(Claim::end);
        outcome.map(|()| tails)
    }

    /// Waits for all that was launched beside, which may launch more.
    fn wait(&self) {
        loop {
            let running = std::mem::take(&mut lock(&self.launched).running);
            if running.is_empty() {
                break;
            }
            running.iter().for_each(|completion| completion.wait());
        }
        current_work::join(&lock(&self.launched).over);
    }

    /// Launches a graph in here, beside all else; `place` is that of the kernel that launches it.
    fn begin(
        self: &Arc<Self>,
        exec: Arc<Exec>,
        plan: Arc<Plan>,
        place: Option<CurrentWork>,
    ) -> Result<u32, Refused> {
        let mut launched = lock(&self.launched);
        if launched.beside >= MOST_BESIDE {
            return Err(
                "120 graphs were launched there already while the launching graph runs, and that is the limit",
            );
        }
        let context = exec.device.as_ref().map(|device| Arc::clone(&device.context));
        let (Some(context), Some(claim)) = (context, exec.claim(0)) else { return Err(IN_USE) };
        let (here, start) = (Arc::clone(self), Start::by_kernel(exec, plan, claim));
        let run = move || {
            let mut outcome = Ok(());
            let over = current_work::beside(place, || outcome = here.run(start));
            lock(&here.launched).over.join(&over);
            outcome
        };
        let begun = context.order.beside().begin(Job::Run(Box::new(run)));
        Ok(match begun {
            Ok(done) => {
                launched.beside += 1;
                launched.running.push(done);
                0
            }
            Err(code) => code.0,
        })
    }

    /// Launches a graph when this one is done.
    fn put_into_tail(&self, exec: Arc<Exec>, plan: Arc<Plan>) -> Result<u32, Refused> {
        let mut launched = lock(&self.launched);
        if launched.tails.len() >= MOST_TAILS {
            return Err("255 graphs wait in the tail already, and that is the limit");
        }
        let is_own = self.exec.as_ref().is_some_and(|own| Arc::ptr_eq(own, &exec));
        let claim = exec.claim(u32::from(is_own)).ok_or(IN_USE)?;
        launched.tails.push(Start::by_kernel(exec, plan, claim));
        Ok(0)
    }
}

/// A graph runs once at a time.
const IN_USE: Refused = "a launch of that graph runs already, or waits in a tail";

impl Start {
    /// There are no event nodes in what kernels launch.
    fn by_kernel(exec: Arc<Exec>, plan: Arc<Plan>, claim: Claim) -> Start {
        Start { exec, plan, points: Points::default(), claim: Some(claim) }
    }
}

/// Launches graphs for a kernel.
struct Caller {
    environment: Arc<Environment>,
    /// Where the kernel runs.
    device: CUdevice,
    /// Where it is in the order, if races between launches are checked.
    place: Option<CurrentWork>,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("current", &self.current()).finish_non_exhaustive()
    }
}

impl Caller {
    fn launch_to(&self, exec: Arc<Exec>, stream: u64) -> Result<u32, Refused> {
        let here = &self.environment;
        let device = exec.device.as_ref().filter(|device| device.context.device == self.device);
        let device = device.ok_or("the graph is another device's")?;
        let plan = device.plan().ok_or("the graph was not uploaded, nor launched by the host")?;
        plan.check().map_err(|_| "a kernel of the graph was unloaded")?;
        match (stream, &here.outer) {
            (TAIL, _) => here.put_into_tail(exec, plan),
            (FIRE_AND_FORGET, _) => here.begin(exec, plan, self.place.clone()),
            (SIBLING, Some(outer)) => outer.begin(exec, plan, self.place.clone()),
            _ => Err(
                "graphs are launched to cudaStreamGraphFireAndForget, .. AsSibling and cudaStreamGraphTailLaunch alone",
            ),
        }
    }

    /// The code of a refused launch.
    fn refused(&self, why: Refused) -> u32 {
        if !std::mem::replace(&mut lock(&self.environment.launched).told, true) {
            logs::tell(vec![format!("cudaGraphLaunch in a kernel returns cudaErrorInvalidValue: {why}")]);
        }
        INVALID_VALUE.0
    }
}

impl RunningGraph for Environment {
    fn launcher(self: Arc<Self>, device: CUdevice) -> Box<dyn GraphLauncher> {
        Box::new(Caller { environment: self, device, place: current_work::with(|place| place.clone()) })
    }
}

impl GraphLauncher for Caller {
    fn current(&self) -> u64 {
        let exec = self.environment.exec.as_ref();
        exec.filter(|exec| exec.device.is_some()).map_or(0, |exec| exec.handle as u64)
    }

    fn launch(&self, exec: u64, stream: u64) -> Result<u32, String> {
        let _entered = slot::enter(self.environment.launch.slot);
        let known = usize::try_from(exec).map_or(Found::Unknown, |handle| EXECS.find(handle));
        let why = match known {
            Found::Live(exec) if exec.device.is_some() => match self.launch_to(exec, stream) {
                Ok(code) => return Ok(code),
                Err(why) => why,
            },
            Found::Live(_) => {
                return Err(format!(
                    "a launch of 0x{exec:x}, a graph that was not instantiated for kernels (CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)"
                ));
            }
            Found::Gone => "the graph was destroyed",
            Found::Unknown if exec == 0 => "there is no graph 0",
            Found::Unknown => {
                return Err(format!("a launch of 0x{exec:x}, which is not an executable graph"));
            }
        };
        Ok(self.refused(why))
    }
}
