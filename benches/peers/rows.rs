//! What is timed, and the ways to do it.

use crate::measure::{self, Effort, Size};
use crate::{Bench, tasks, threads};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    Bare,
    /// The same once more: how far two measurements of one thing are apart.
    Again,
    Ours,
    Cudarc,
    CudarcWithout,
    Cust,
    CudaRust,
}

use Way::*;

/// The columns.
pub(crate) const WAYS: [(Way, &str); 7] = [
    (Bare, "bare calls, ns"),
    (Again, "again"),
    (Ours, "cuda-launch"),
    (Cudarc, "cudarc"),
    (CudarcWithout, "cudarc, no events"),
    (Cust, "cust"),
    (CudaRust, "cuda-core, cuda-async"),
];

type Run = fn(&mut Bench);

pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Whether the kernel is launched, so that its arguments can be checked.
    pub(crate) launches: bool,
    pub(crate) size: Size,
    /// Before each batch of so many, without the clock.
    pub(crate) before: fn(&mut Bench, usize),
    pub(crate) ways: &'static [(Way, Run)],
}

const NOTHING: fn(&mut Bench, usize) = |_, _| {};

const fn launch(name: &'static str, ways: &'static [(Way, Run)]) -> Row {
    Row { name, launches: true, size: Size::LAUNCH, before: NOTHING, ways }
}

const fn wait(name: &'static str, ways: &'static [(Way, Run)]) -> Row {
    Row { name, launches: true, size: Size::WAIT, before: NOTHING, ways }
}

const fn around(name: &'static str, ways: &'static [(Way, Run)]) -> Row {
    Row { name, launches: false, size: Size::WAIT, before: NOTHING, ways }
}

/// The methods of one name of all ways, for a row.
macro_rules! all {
    ($method:ident) => {
        &[
            (Bare, |b| b.bare.$method()),
            (Again, |b| b.bare.$method()),
            (Ours, |b| b.ours.$method()),
            (Cudarc, |b| b.cudarc.$method()),
            (CudarcWithout, |b| b.cudarc_without.$method()),
            (Cust, |b| b.cust.$method()),
            (CudaRust, |b| b.cuda_rust.$method()),
        ]
    };
}

/// The same of launches, which take `n`; of the ways that have it.
macro_rules! launches {
    ($bare:ident, $method:ident: $($way:ident $field:ident),*) => {
        &[
            (Bare, |b| b.bare.$bare(b.n)),
            (Again, |b| b.bare.$bare(b.n)),
            $(($way, |b| b.$field.$method(b.n)),)*
        ]
    };
}

macro_rules! launches_of_all {
    ($method:ident) => {
        launches!($method, $method: Ours ours, Cudarc cudarc, CudarcWithout cudarc_without, Cust cust, CudaRust cuda_rust)
    };
}

pub(crate) const ROWS: &[Row] = &[
    launch("launch", launches_of_all!(launch)),
    launch("launch-by-name", launches_of_all!(launch_by_name)),
    launch("launch-cluster", launches!(launch_cluster, launch_cluster: Ours ours, CudaRust cuda_rust)),
    launch(
        "launch-cooperative",
        launches!(launch_cooperative, launch_cooperative:
            Ours ours, Cudarc cudarc, CudarcWithout cudarc_without, CudaRust cuda_rust),
    ),
    launch("submit", launches!(launch, submit: Ours ours, CudaRust cuda_rust)),
    wait("launch-and-wait", launches_of_all!(launch_and_wait)),
    wait("sync", launches!(launch_and_wait, sync: Ours ours, CudaRust cuda_rust)),
    wait("await", launches!(launch_and_wait, await_one: Ours ours, CudaRust cuda_rust)),
    around("wait", all!(wait)),
    around("allocation", all!(allocation)),
    around("event", all!(event)),
    around("record", all!(record)),
    around("stream", all!(new_stream)),
    Row {
        name: "module-ptx",
        launches: false,
        size: Size::MODULE,
        before: |b, count| {
            b.cudarc.prepare_texts(count);
            b.cudarc_without.prepare_texts(count);
        },
        ways: all!(load_text),
    },
    Row {
        name: "module-cubin",
        launches: false,
        size: Size::IMAGE,
        before: |b, count| {
            b.cudarc.prepare_images(count);
            b.cudarc_without.prepare_images(count);
        },
        ways: all!(load_image),
    },
];

/// What a row says of itself.
pub(crate) fn title(name: &str, effort: &Effort) -> String {
    match name {
        "launch" => "launch of a function, 4 parameters".into(),
        "launch-by-name" => "look up by name, and launch".into(),
        "launch-cluster" => "launch with one attribute (cluster shape)".into(),
        "launch-cooperative" => "cooperative launch".into(),
        "submit" => "launch as an operation (`async_on`)".into(),
        "launch-and-wait" => "launch, and synchronise the stream".into(),
        "sync" => "`sync()` of an operation".into(),
        "await" => "`.await` of an operation".into(),
        "wait" => "synchronise an idle stream".into(),
        "allocation" => "allocate 128 bytes in stream order, and drop".into(),
        "event" => "create an event, and drop".into(),
        "record" => "record an event".into(),
        "stream" => "create a stream, and drop".into(),
        "module-ptx" => "load 24 kernels of PTX, compiled before, and drop".into(),
        _ => format!("load a linked image of {} kernels, and drop", effort.kernels),
    }
}

/// The names of all rows, and of the other two tables.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    ROWS.iter().map(|row| row.name).chain([tasks::NAME, threads::NAME])
}

/// Times the chosen rows and prints them: nanoseconds of the bare calls, then how many times that the others take.
pub(crate) fn print(bench: &mut Bench, effort: &Effort, chosen: impl Fn(&str) -> bool) {
    let chosen: Vec<_> = ROWS.iter().filter(|row| chosen(row.name)).collect();
    if chosen.is_empty() {
        return;
    }
    println!("| |{}", WAYS.map(|(_, name)| format!(" {name} |")).concat());
    println!("|---{}|", "|---".repeat(WAYS.len()));
    for row in chosen {
        let times = measure::in_turn(bench, effort, row);
        let bare = times[0];
        let cell = |(way, _): (Way, &str)| {
            let place = row.ways.iter().position(|(known, _)| *known == way);
            match place.map(|place| times[place]) {
                None => " - |".into(),
                Some(time) if way == Bare => format!(" {time:.0} |"),
                Some(time) => format!(" {:.3} |", time / bare),
            }
        };
        println!("| {} |{}", title(row.name, effort), WAYS.map(cell).concat());
    }
}
