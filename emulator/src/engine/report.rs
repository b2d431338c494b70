//! Turns the state of the interpreter into a [`Fault`].

use std::time::Duration;

use super::code::{Code, Control, Origin};
use super::env::{Block, Env};
use super::exec::lanes::{StopReason, WarpState};
use super::fault::{Fault, FaultKind};
use super::warp::{State, Waiting, Warp};

/// Waiting splits that a deadlock report lists.
const LISTED: usize = 6;

/// The report of a fault at an instruction of a function of the kernel.
pub(super) fn fault(
    env: &Env<'_>,
    block: &Block,
    warp: &WarpState,
    trouble: StopReason,
    code: usize,
    at: u32,
) -> Box<Fault> {
    let code = env.kernel.codes.get(code);
    let origin = code.and_then(|code| code.origins.get(at as usize)).copied().unwrap_or_default();
    let called = code.filter(|code| code.name != env.kernel.name);
    let message = match called {
        Some(code) => format!("{} in function `{}`", trouble.message, code.name),
        None => trouble.message,
    };
    Box::new(Fault {
        kind: trouble.kind,
        kernel: env.kernel.name.clone(),
        block: block.id,
        thread: thread(warp, trouble.lane),
        address: trouble.address,
        ptx_line: origin.line,
        source: source(env, origin),
        message,
    })
}

fn thread(warp: &WarpState, lane: u32) -> [u32; 3] {
    [0, 1, 2].map(|axis: usize| warp.tid[axis].0[lane as usize & 31])
}

fn source(env: &Env<'_>, origin: Origin) -> Option<(String, u32)> {
    env.kernel.source(origin).map(|(file, line)| (file.to_owned(), line))
}

/// The report of a group in which every thread waits.
pub(super) fn deadlock<'w>(env: &Env<'_>, warps: impl Iterator<Item = (&'w Block, &'w Warp)>) -> Box<Fault> {
    standing(env, warps, FaultKind::Deadlock, "deadlock: all remaining threads wait", &|_, _| None)
}

/// The report of a group whose turn it was when the kernel's time was over.
pub(super) fn overdue<'w>(env: &Env<'_>, warps: impl Iterator<Item = (&'w Block, &'w Warp)>) -> Box<Fault> {
    let limit = env.deadline.map_or_else(Duration::default, |(_, limit)| limit);
    standing(env, warps, FaultKind::TimeLimit, &too_long(limit), &|_, _| None)
}

/// The message for a kernel that has exceeded the limit.
pub(super) fn too_long(limit: Duration) -> String {
    let limit = limit.as_secs_f64();
    format!(
        "the kernel ran for longer than {limit} s, the limit that CUDA_LAUNCH_EMULATOR_TIMEOUT, `set_time_limit` or \
         `InstanceOptions::time_limit` has set"
    )
}

/// The report of blocks whose threads wait for something that cannot happen; `looks` describes the memory that a
/// running warp polls.
pub(super) fn hang<'w>(
    env: &Env<'_>,
    warps: impl Iterator<Item = (&'w Block, &'w Warp)>,
    what: &str,
    looks: &dyn Fn(&Block, u32) -> Option<String>,
) -> Box<Fault> {
    standing(env, warps, FaultKind::Deadlock, what, looks)
}

/// A report with the positions of the threads of a group.
fn standing<'w>(
    env: &Env<'_>,
    warps: impl Iterator<Item = (&'w Block, &'w Warp)>,
    kind: FaultKind,
    what: &str,
    looks: &dyn Fn(&Block, u32) -> Option<String>,
) -> Box<Fault> {
    let mut lines = Vec::new();
    let mut first = None;
    let mut more = 0;
    for (block, warp) in warps {
        for waiting in warp.waiting(env.kernel) {
            let lane = waiting.split.mask.trailing_zeros();
            let origin = waiting.code.origins.get(waiting.split.pc as usize).copied().unwrap_or_default();
            let thread = thread(warp.state(), lane);
            first.get_or_insert((block.id, thread, origin));
            if lines.len() == LISTED {
                more += 1;
                continue;
            }
            lines.push(describe(block, thread, &waiting, origin, looks(block, warp.state().index)));
        }
    }
    if more > 0 {
        lines.push(format!("and {more} more groups of threads"));
    }
    let (block, thread, origin) = first.unwrap_or_default();
    Box::new(Fault {
        kind,
        kernel: env.kernel.name.clone(),
        block,
        thread,
        address: None,
        ptx_line: origin.line,
        source: source(env, origin),
        message: format!("{what}; {}", lines.join("; ")),
    })
}

fn describe(
    block: &Block,
    thread: [u32; 3],
    waiting: &Waiting<'_>,
    origin: Origin,
    looks: Option<String>,
) -> String {
    let ([bx, by, bz], [x, y, z]) = (block.id, thread);
    let count = waiting.split.mask.count_ones();
    let others = if count == 1 { String::new() } else { format!(" and {} more of its warp", count - 1) };
    let who = format!("block ({bx}, {by}, {bz}) thread ({x}, {y}, {z}){others}");
    let what = match waiting.split.state {
        State::Barrier(id) => format!("barrier {id}"),
        State::Cluster(_) => "the cluster's barrier".to_owned(),
        State::WarpSync(op, members) => format!("`{}` with members 0x{members:08x}", op.name()),
        State::Rest => "the rest of its warp at a barrier".to_owned(),
        State::Ready | State::Opened(_) | State::Alone => match looks {
            Some(looks) => return format!("{who}: {looks}"),
            None => "its turn".to_owned(),
        },
    };
    let kind = control(waiting.code, waiting.split.pc);
    let line = origin.line;
    format!("{who}: {what}{kind}, PTX line {line}")
}

/// The requirement of a waiting instruction besides its number.
fn control(code: &Code, pc: u32) -> &'static str {
    let control = code.insts.get(pc as usize).and_then(|inst| code.controls.get(inst.imm as usize));
    match control {
        Some(Control::Barrier(barrier)) if barrier.counted => " with a thread count",
        _ => "",
    }
}

impl StopReason {
    /// For an instruction that stopped without saying why.
    pub(super) fn unknown() -> Box<StopReason> {
        let message = "the instruction could not be executed".to_owned();
        Box::new(StopReason { kind: FaultKind::UnsupportedInstruction, lane: 0, address: None, message })
    }
}
