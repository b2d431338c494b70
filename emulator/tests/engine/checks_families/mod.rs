//! Each family of instructions: kernels with one mistake, and the same kernels without it. The mistake is found; of the correct kernel nothing
//! is reported, in the ordinary order and under others.

mod clusters;
mod copies;
mod functions;
mod mbarriers;
mod others;

use cuda_emulator::check::{Finding, FindingKind};
use cuda_emulator::engine::{Fault, FaultKind, Launch};
use cuda_emulator::{Checks, Schedules};

use crate::schedules_planted::side;
use crate::support::{Args, Device, launch, snippet_with};

/// Other orders of the threads that each correct kernel runs under.
const ORDERS: u32 = 20;

/// What tells of a mistake.
enum Told {
    /// A finding, one of whose two places is the line that ends with `// here`.
    Check(FindingKind),
    /// A fault.
    Fault(FaultKind),
    /// A difference of that kind, in other orders only.
    Orders(&'static str),
    /// Nothing: docs/sanitizer.md says so.
    Nothing,
}

use Told::{Check, Fault as Stops, Nothing, Orders};

/// A kernel in which `<<wrong|right>>` stands where the two differ.
struct Twin {
    name: &'static str,
    /// Blocks of a cluster, blocks, and threads of a block.
    shape: (u32, u32, u32),
    told: Told,
    text: &'static str,
}

const fn twin(name: &'static str, shape: (u32, u32, u32), told: Told, text: &'static str) -> Twin {
    Twin { name, shape, told, text }
}

/// What the kernels begin with: addresses of shared memory (`%r59`: `s`, `%r54`: the thread's word there) and of two mbarriers (`%r60` and
/// `%r61`), the own rank in the cluster and that of the neighbour (`%r58`, `%r57`), and the thread's word in global memory (`%rd63`). `%p31`
/// holds in thread 0. `next` is named, because what no kernel uses lies behind what is used.
const START: &str = "mov.u32 %r62, next; mov.u32 %r59, s; mov.u32 %r60, bar; mov.u32 %r61, room; setp.eq.u32 %p31, %t, 0; mov.u32 %r58, %cluster_ctarank; \
    xor.b32 %r57, %r58, 1; mov.u32 %r56, %ctaid.x; mov.u32 %r55, %ntid.x; mad.lo.u32 %r55, %r56, %r55, %t; mul.wide.u32 %rd63, %r55, 4; \
    add.u64 %rd63, %rd63, %out; mad.lo.u32 %r54, %t, 4, %r59;";

const SHARED: &str = ".shared .align 1024 .b8 s[8192]; .shared .align 1024 .b8 next[1024]; .shared .align 8 .b64 bar; .shared .align 8 .b64 room;";

/// Functions that the kernels call, and a variable.
const FUNCTIONS: &str = ".global .align 16 .b32 numbers[4] = {1, 2, 3, 4}; .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a]; add.u32 %x, %x, %x; st.param.b32 [r], %x; ret; } \
    .func (.param .b32 r) sum(.param .align 8 .b8 a[16]) { .reg .b32 %x, %y; ld.param.b32 %x, [a]; ld.param.b32 %y, [a+12]; add.u32 %x, %x, %y; st.param.b32 [r], %x; ret; } \
    .func (.param .b32 r) never(.param .b32 a) { ret; }";

/// The text of a kernel, and the line that is marked.
fn text(twin: &Twin, right: bool) -> (String, Option<u32>) {
    let body = side(twin.text, right);
    let text = snippet_with("", &format!("{START}\n{body}"));
    let text = text
        .replace(".target sm_90\n", ".target sm_90a\n")
        .replace("{\n.reg", &format!("{{ {SHARED}\n.reg"))
        .replace(".visible .entry", &format!("{FUNCTIONS} .visible .entry"));
    let line = text.lines().position(|line| line.ends_with("// here")).map(|line| line as u32 + 1);
    (text, line)
}

/// Runs it with an output of 16 KiB of zeros.
fn run(twin: &Twin, device: &Device) -> Result<(), Box<Fault>> {
    let out = device.zeroed::<u32>(4096);
    let (cluster, blocks, threads) = twin.shape;
    let asked = launch(device, "k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    let cooperative = twin.text.contains("// cooperative");
    device.try_launch("k", Launch { cluster: [cluster, 1, 1], cooperative, ..asked }).map(drop)
}

fn checked(twin: &Twin, text: &str) -> (Vec<Finding>, Option<Box<Fault>>) {
    let device = Device::checked(text);
    let fault = run(twin, &device).err();
    (device.findings(), fault)
}

/// The kinds of what other orders show, and what it is in words.
fn ordered(twin: &Twin, text: &str, orders: u32) -> Vec<(&'static str, String)> {
    let device = Device::scheduled(text, Schedules::new(orders), Some(Checks::KERNELS));
    let fault = run(twin, &device).err();
    let differences = device.differences();
    let all = differences.iter().map(|difference| (difference.kind.name(), difference.to_string()));
    all.chain(fault.map(|fault| ("fault", fault.to_string()))).collect()
}

/// Whether that is told of the kernel with the mistake; else what is.
fn is_told(twin: &Twin) -> Result<(), String> {
    let (text, line) = text(twin, false);
    let (found, fault) = checked(twin, &text);
    let at = |finding: &Finding| {
        let places = [Some(finding.access.ptx_line), finding.other.as_ref().map(|other| other.ptx_line)];
        line.is_some() && places.contains(&line)
    };
    let is_right = match twin.told {
        Check(kind) => found.iter().any(|finding| finding.kind == kind && at(finding)),
        Stops(kind) => fault.as_ref().is_some_and(|fault| fault.kind == kind),
        Orders(kind) => {
            found.is_empty()
                && fault.is_none()
                && ordered(twin, &text, 32).iter().any(|(found, _)| *found == kind)
        }
        Nothing => found.is_empty() && fault.is_none() && ordered(twin, &text, ORDERS).is_empty(),
    };
    is_right.then_some(()).ok_or_else(|| format!("{}: line {line:?}: {found:#?} {fault:?}", twin.name))
}

#[test]
fn each_mistake_is_told() {
    let missed: Vec<String> = twins().filter_map(|twin| is_told(twin).err()).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n\n"));
}

#[test]
fn nothing_is_told_of_the_twins() {
    let mut wrong = Vec::new();
    for twin in twins() {
        let (text, _) = text(twin, true);
        let (found, fault) = checked(twin, &text);
        if !found.is_empty() || fault.is_some() {
            wrong.push(format!("{}: {found:#?} {fault:?}", twin.name));
        }
        let differences = ordered(twin, &text, ORDERS);
        if !differences.is_empty() {
            wrong.push(format!("{}, in another order: {differences:#?}", twin.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// All of them.
fn twins() -> impl Iterator<Item = &'static Twin> {
    [mbarriers::TWINS, clusters::TWINS, functions::TWINS, copies::TWINS, others::TWINS].into_iter().flatten()
}
