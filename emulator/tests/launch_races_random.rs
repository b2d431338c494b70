//! Random programs of streams, events, graphs and waits of the host: of programs with races at least one is reported, and no pair of works is
//! reported that a path through the program's own order connects. The order here is the transitive closure of edges, not clocks.
#![allow(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::undocumented_unsafe_blocks)]

#[path = "mutation_support/mod.rs"]
#[allow(dead_code)] // It needs random numbers alone.
mod mutation;
#[path = "launch_races_support/mod.rs"]
mod races;
#[path = "driver_support/mod.rs"]
mod support;

use cuda_driver_sys::*;
use mutation::Random;
use races::*;
use std::collections::BTreeSet;
use std::ptr::null_mut;
use support::graphs::{graph, instantiate};
use support::*;

const PROGRAMS: u64 = 250;
const STEPS: usize = 24;
const BUFFERS: usize = 5;

/// A point in the program, with all points that are before it.
#[derive(Default)]
struct Point {
    before: BTreeSet<usize>,
    /// Buffers that it accesses, and whether it writes them.
    accesses: Vec<(usize, bool)>,
    name: String,
}

/// What the program has asked for.
#[derive(Default)]
struct Oracle {
    points: Vec<Point>,
    /// What the host knows to be over.
    host: BTreeSet<usize>,
}

impl Oracle {
    /// Adds a point behind others, and all before them.
    fn add(
        &mut self,
        behind: impl IntoIterator<Item = usize>,
        accesses: &[(usize, bool)],
        name: &str,
    ) -> usize {
        let mut before = self.host.clone();
        for point in behind {
            before.insert(point);
            before.extend(self.points[point].before.iter().copied());
        }
        self.points.push(Point { before, accesses: accesses.to_vec(), name: name.to_owned() });
        self.points.len() - 1
    }

    fn learn(&mut self, points: impl IntoIterator<Item = usize>) {
        let known = self.add(points, &[], "");
        self.host.insert(known);
        let before = self.points[known].before.clone();
        self.host.extend(before);
    }

    /// The names of all pairs that race.
    fn races(&self) -> BTreeSet<[String; 2]> {
        let mut races = BTreeSet::new();
        for (later, point) in self.points.iter().enumerate() {
            for (earlier, other) in self.points[..later].iter().enumerate() {
                let clash = |(buffer, writes): &(usize, bool)| {
                    other.accesses.iter().any(|(own, wrote)| own == buffer && (*wrote || *writes))
                };
                if !point.before.contains(&earlier) && point.accesses.iter().any(clash) {
                    races.insert(pair(&other.name, &point.name));
                }
            }
        }
        races
    }
}

fn pair(one: &str, other: &str) -> [String; 2] {
    let mut both = [one.to_owned(), other.to_owned()];
    both.sort_unstable();
    both
}

struct Stream {
    handle: CUstream,
    is_blocking: bool,
    last: Option<usize>,
}

/// A graph of nodes that add: the two buffers of each, and its edges.
struct Graph {
    exec: CUgraphExec,
    nodes: Vec<([usize; 2], Vec<usize>)>,
    last: Option<usize>,
}

fn random_graph(random: &mut Random, setup: &Setup, buffers: &[CUdeviceptr]) -> Graph {
    let made = graph(&setup.cuda);
    let (mut nodes, mut handles) = (Vec::new(), Vec::new());
    for index in 0..2 + random.below(4) {
        let before: Vec<usize> = (0..index).filter(|_| random.below(3) > 0).collect();
        let after: Vec<CUgraphNode> = before.iter().map(|before| handles[*before]).collect();
        let [to, from] = [random.below(BUFFERS), random.below(BUFFERS)];
        handles.push(setup.node(made, &after, buffers[to], buffers[from]));
        nodes.push(([to, from], before));
    }
    let exec = instantiate(&setup.cuda, made);
    ok(unsafe { setup.cuda.cuGraphDestroy(made) });
    Graph { exec, nodes, last: None }
}

/// Runs a program; what the oracle says, and what was found.
fn run(seed: u64, setup: &Setup, buffers: &[CUdeviceptr]) -> (BTreeSet<[String; 2]>, BTreeSet<[String; 2]>) {
    let mut random = Random(seed);
    let mut oracle = Oracle::default();
    // The first one is the legacy stream.
    let mut streams = vec![Stream { handle: null_mut(), is_blocking: false, last: None }];
    for _ in 0..2 + random.below(3) {
        let is_blocking = random.below(2) == 0;
        let handle = stream(&setup.cuda, u32::from(!is_blocking));
        streams.push(Stream { handle, is_blocking, last: None });
    }
    let mut graphs = [(); 2].map(|()| random_graph(&mut random, setup, buffers));
    let mut events: Vec<(CUevent, Option<usize>)> = (0..3).map(|_| (setup.event(), None)).collect();
    // Programs with many orders have few races, and others many.
    let orders = random.below(60);
    for step in 0..STEPS {
        let at = random.below(streams.len());
        // What any work that is given to that stream comes behind.
        let mut behind: Vec<usize> = streams[at].last.into_iter().collect();
        match (at, streams[at].is_blocking) {
            (0, _) => {
                behind
                    .extend(streams.iter().filter(|other| other.is_blocking).filter_map(|other| other.last));
            }
            (_, true) => behind.extend(streams[0].last),
            _ => {}
        }
        let handle = streams[at].handle;
        let (one, other) = (random.below(BUFFERS), random.below(BUFFERS));
        let value = 1 << 31 | (seed as u32) << 8 | step as u32;
        let last = match random.below(10 + orders) {
            0..3 => {
                setup.put(handle, buffers[one], 0);
                oracle.add(behind, &[(one, true)], "put")
            }
            3 if one != other => {
                ok(unsafe { setup.cuda.cuMemcpyDtoDAsync(buffers[one], buffers[other], BYTES, handle) });
                oracle.add(behind, &[(one, true), (other, false)], "cuMemcpyDtoDAsync_v2")
            }
            4 => {
                ok(unsafe { setup.cuda.cuMemsetD32Async(buffers[one], value, WORDS, handle) });
                oracle.add(behind, &[(one, true)], "cuMemsetD32Async")
            }
            5 if one != other => {
                setup.mix(handle, buffers[one], buffers[other]);
                oracle.add(behind, &[(one, true), (other, false)], "mix")
            }
            6 => {
                let graph = &mut graphs[random.below(2)];
                setup.launch_graph(graph.exec, handle);
                behind.extend(graph.last);
                let start = oracle.add(behind, &[], "");
                let mut points = Vec::new();
                for ([to, from], before) in &graph.nodes {
                    let before: Vec<usize> =
                        before.iter().map(|before| points[*before]).chain([start]).collect();
                    points.push(oracle.add(before, &[(*to, true), (*from, false)], "mix"));
                }
                let end = oracle.add(points, &[], "");
                graph.last = Some(end);
                end
            }
            7 => {
                setup.synchronize_stream(handle);
                // Another stream's work counts as the legacy stream's alone.
                let own = if at == 0 { behind } else { Vec::from_iter(streams[at].last) };
                oracle.learn(own);
                continue;
            }
            8 if random.below(4) == 0 => {
                setup.synchronize();
                let all: Vec<usize> = (0..oracle.points.len()).collect();
                oracle.learn(all);
                continue;
            }
            choice if choice % 2 == 0 => {
                let event = &mut events[one % 3];
                setup.record(event.0, handle);
                let point = oracle.add(behind, &[], "");
                event.1 = Some(point);
                point
            }
            _ => {
                let event = events[one % 3];
                setup.wait(handle, event.0);
                if event.1.is_none() {
                    continue;
                }
                oracle.add(behind.into_iter().chain(event.1), &[], "")
            }
        };
        streams[at].last = Some(last);
    }
    let found = setup.findings();
    let names = |finding: &cuda_emulator::Finding| {
        let other = finding.other.as_ref().and_then(|other| other.kernel.clone()).unwrap();
        pair(&finding.kernel, &other)
    };
    for stream in &streams[1..] {
        ok(unsafe { setup.cuda.cuStreamDestroy(stream.handle) });
    }
    for graph in &graphs {
        ok(unsafe { setup.cuda.cuGraphExecDestroy(graph.exec) });
    }
    (oracle.races(), found.iter().map(names).collect())
}

#[test]
fn random_programs_have_the_races_that_their_order_leaves() {
    let setup = setup();
    let buffers: Vec<CUdeviceptr> = (0..BUFFERS).map(|_| setup.zeroes()).collect();
    let from: u64 = std::env::var("CUDA_LAUNCH_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut counts = [0; 2];
    for seed in from..from + PROGRAMS {
        let (expected, found) = run(seed, &setup, &buffers);
        counts[usize::from(expected.is_empty())] += 1;
        assert_eq!(
            found.is_empty(),
            expected.is_empty(),
            "seed {seed}: expected {expected:?}, found {found:?}"
        );
        let wrong: Vec<_> = found.difference(&expected).collect();
        assert!(wrong.is_empty(), "seed {seed}: found {wrong:?}, expected {expected:?}");
    }
    assert!(counts.iter().all(|count| *count > PROGRAMS as usize / 8), "one-sided: {counts:?}");
}
