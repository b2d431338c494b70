//! `cargo xtask gate`: every check of this repository, the same on a developer's machine and in CI.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use crate::cargo::{OLDEST_RUST, answers, build as build_programs, cargo, on, root, run};
use crate::wheels::Wheels;
use crate::{
    Result, api, bindgen, build, cost, cust, docs, examples, features, flakes, gpu, imports, package, peers,
    skipped,
};

/// What Miri runs: tests against a table of Rust functions, and two on the emulator, which do few things with few bytes.
const MIRI: &[&[&str]] = &[
    // Without the two tests that go through the whole table hundreds of times.
    &["--package", "cuda-launch-sys", "--test", "table", "--", "--skip", "each_"],
    &["--package", "cuda-launch", "--test", "ordering_core"],
    &["--package", "cuda-launch", "--test", "packet"],
    &["--package", "cuda-launch", "--test", "packet_limits"],
    &["--package", "cuda-launch", "--test", "packet_kinds"],
    &["--package", "cuda-launch", "--test", "builder_packet"],
    &["--package", "cuda-launch", "--test", "operation_packet"],
    &["--package", "cuda-launch", "--test", "operation_late"],
    &["--package", "cuda-launch", "--test", "padding"],
    &["--package", "cuda-launch", "--test", "miri_memory"],
];

/// What runs under ThreadSanitizer: the order of work and what it keeps, copies, graphs, operations.
const TSAN: &[&str] = &[
    // That it reports what it should.
    "tsan",
    "ordering",
    "ordering_core",
    "ordering_threads",
    "ordering_ends",
    "ordering_races",
    "ordering_memory",
    "thread_ends",
    "ordering_handles",
    "safe_programs",
    "instances",
    "copies",
    "memory",
    "current_pool",
    "arrays",
    "globals",
    "peer",
    "pinned",
    "views",
    "textures",
    "external",
    "foreign",
    "stream_memory",
    "streams",
    "events",
    "callbacks",
    "deferred_drops",
    "nothing_lost",
    "unwinding",
    "unwinding_drops",
    "unwinding_lost",
    "unwinding_refused",
    "unwinding_never",
    "subscribers",
    "plan",
    "capture",
    "capture_ends",
    "capture_modes",
    "graphs",
    "graph_changes",
    "graph_lifetimes",
    "graph_callbacks",
    "graph_fault_beside",
    "operation",
    "operation_packet",
    "operation_late",
    "operation_executors",
    "operation_wakers",
    "operation_forms",
    "operation_hostile",
    "operation_launch",
    "operation_branches",
    "operation_others",
    "operation_random",
    "operation_fault_drill",
    "builder",
    "packet",
    "warm",
    "warm_locks",
    "green_steps",
    "robust_memory",
    "typed_async",
    "typed",
    "typed_objects",
    "object_ends",
    "typed_pointers",
];

/// Platforms that nothing runs on here, and that must compile all the same.
const TARGETS: &[&str] = &["x86_64-pc-windows-msvc", "aarch64-unknown-linux-gnu"];
/// Functions of tests that give bytes to two threads or streams at once on purpose, so that their order is not what is tested. All other
/// accesses of the host, of copies and of single threads of kernels are checked against each other.
const TSAN_SUPPRESSIONS: &[&str] = &[
    // Two copies to clones of one array have no order (`docs/safety.md`): each element is of either, which these tests check.
    "race:ordering_races::an_array_is_read_",
    "race:safe_programs::program::Program>::use_array",
    // A stream waits for a number by reading it while others write it.
    "race:stream_memory::",
];

/// A tool that a check needs besides the toolchain that builds this program.
struct Need {
    what: &'static str,
    is_here: fn() -> bool,
}

/// One check.
struct Step {
    name: &'static str,
    does: &'static str,
    needs: Option<Need>,
    run: fn() -> Result<()>,
    /// Runs only when it is named.
    on_request: bool,
    /// It keeps one core busy, in a folder of its own: runs beside the steps next to it that do so, too.
    one_core: bool,
}

impl Step {
    const fn new(name: &'static str, does: &'static str, run: fn() -> Result<()>) -> Step {
        Step { name, does, needs: None, run, on_request: false, one_core: false }
    }

    const fn needs(self, what: &'static str, is_here: fn() -> bool) -> Step {
        Step { needs: Some(Need { what, is_here }), ..self }
    }

    const fn on_request(self) -> Step {
        Step { on_request: true, ..self }
    }

    const fn one_core(self) -> Step {
        Step { one_core: true, ..self }
    }

    /// What this machine lacks for the check.
    fn lacks(&self) -> Option<&'static str> {
        self.needs.as_ref().filter(|need| !(need.is_here)()).map(|need| need.what)
    }
}

/// In the order of execution: fast checks first.
const STEPS: &[Step] = &[
    Step::new("fmt", "formatting", || run(&mut cargo(&["fmt", "--all", "--check"])?)),
    Step::new("imports", "no circle of imports between files of different folders", imports::check),
    Step::new("deny", "licences, duplicate versions and sources of the dependencies", deny)
        .needs("cargo-deny", || answers("cargo-deny", &["--version"])),
    Step::new("clippy", "clippy without a warning, also without features", clippy),
    Step::new("doc", "rustdoc without a warning", doc),
    // The longest begins first: it waits for downloads.
    Step::new("bindgen", "sys/src/generated/ and the list of exports are what bindgen.toml makes", || {
        bindgen::run(bindgen::Mode::Check)
    })
    .needs("python3 with pip", || answers("python3", &["-m", "pip", "--version"]))
    .one_core(),
    Step::new(
        "docs",
        "the documentation as docs.rs builds it, without a warning or a dead link",
        docs::check,
    )
    .needs("a nightly toolchain", || toolchain("nightly", &["--version"]))
    .one_core(),
    Step::new("api", "docs/api/ lists what is public", api::check)
        .needs("the Rust that the manifests promise", has_oldest)
        .one_core(),
    // In the folder of `api`, after it.
    Step::new("examples", "enough public items have an example", examples::check)
        .needs("the Rust that the manifests promise", has_oldest),
    Step::new("test", "all tests, as the README runs them", || {
        skipped::told(root()?, &mut cargo(&["test", "--workspace"])?)
    }),
    Step::new("unchecked", "arithmetic with the caller's numbers, without overflow checks", unchecked),
    Step::new(
        "compilers",
        "the run-time compilers and the CUDA runtime of the pinned wheels, for real",
        compilers,
    )
    .needs("python3 with pip", || answers("python3", &["-m", "pip", "--version"])),
    Step::new("oldest", "the libraries compile with the Rust that the manifests promise", oldest)
        .needs("that toolchain", has_oldest),
    Step::new("build", "crates and size of a program without features, within their limits", build::check),
    Step::new("package", "what is published has what belongs there, and nothing else", package::check),
    // The longest begins first.
    Step::new(
        "loom",
        "no order of events loses a wake-up, an output or an entry (with 1 to 4 preemptions)",
        loom,
    )
    .one_core(),
    Step::new("cost", "instructions of a launch, within their limits", cost::run)
        .needs("valgrind", has_valgrind)
        .one_core(),
    Step::new("emulator-cost", "instructions of the emulator, within their limits", cost::emulator::run)
        .needs("valgrind", has_valgrind)
        .one_core(),
    Step::new("miri", "no undefined behaviour in the tests that Miri can run", miri)
        .needs("a nightly toolchain with miri", || toolchain("nightly", &["miri", "--version"]))
        .one_core(),
    Step::new(
        "targets",
        "the workspace compiles for Windows and for Linux on aarch64, without a warning",
        targets,
    )
    .needs("the standard libraries of both (`rustup target add`)", has_targets)
    .one_core(),
    Step::new("features", "the library with no feature, with each one alone, and with all", features::check)
        .on_request(),
    Step::new(
        "tsan",
        "no data race in ordering, copies, graphs and operations (builds the standard library anew)",
        tsan,
    )
    .needs("a nightly toolchain with rust-src", || toolchain("nightly", &["miri", "--version"]))
    .on_request(),
    Step::new(
        "publish",
        "all packages build as users get them (asks crates.io, uploads nothing)",
        package::publish,
    )
    .on_request(),
    Step::new("flakes", "all tests ten times, beside four busy processes for each core", || {
        flakes::flakes(flakes::ROUNDS)
    })
    .on_request(),
    Step::new("cust", "a program of cust, with each of its calls failing (fetches cust)", cust::check)
        .on_request(),
    Step::new(
        "peers",
        "the bench of this crate beside others builds, and runs on the emulator (fetches them)",
        peers::check,
    )
    .needs("python3 with pip", || answers("python3", &["-m", "pip", "--version"]))
    .on_request(),
    Step::new("kernels", "the PTX in the tree is what the pinned compilers make (downloads 0.6 GB)", kernels)
        .on_request(),
];

/// The steps, for the usage text.
pub(crate) fn list() -> String {
    let note = |step: &Step| if step.on_request { "; only when named" } else { "" };
    STEPS.iter().map(|step| format!("      {:9} {}{}\n", step.name, step.does, note(step))).collect()
}

/// Runs the named steps, or all but those on request; stops at the first that fails.
pub(crate) fn gate(names: &[&str]) -> Result<()> {
    if let ["flakes", rounds] = names
        && let Ok(rounds) = rounds.parse()
    {
        return flakes::flakes(rounds);
    }
    let begin = Instant::now();
    let (mut passed, mut skipped) = (Vec::new(), Vec::new());
    let mut steps = Vec::new();
    for step in chosen(names)? {
        match step.lacks() {
            None => steps.push(step),
            Some(what) if names.is_empty() => {
                println!("\n=== {}: skipped, no {what}", step.name);
                skipped.push(step.name);
            }
            Some(what) => return Err(format!("gate: {} needs {what}, which is not here", step.name).into()),
        }
    }
    for beside in steps.chunk_by(|one, next| one.one_core && next.one_core) {
        side_by_side(beside)?;
        passed.extend(beside.iter().map(|step| step.name));
    }
    println!("\n=== gate: passed in {:.0} s: {}", begin.elapsed().as_secs_f64(), passed.join(" "));
    if !skipped.is_empty() {
        println!("=== gate: NOT checked on this machine: {}", skipped.join(" "));
    }
    Ok(())
}

/// Runs the steps in their order, one on each core; begins no more after one that fails.
fn side_by_side(steps: &[&Step]) -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> std::result::Result<(), String> {
        while let Some(step) = steps.get(next.fetch_add(1, Ordering::Relaxed)) {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            passes(step).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(steps.len())).map(|_| scope.spawn(work)).collect();
        let ends: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        ends.into_iter().try_for_each(|end| end.map_err(|_| "a panic".to_string())?)
    })?;
    Ok(())
}

/// Runs one step, and prints its name.
fn passes(step: &Step) -> std::result::Result<(), String> {
    let name = step.name;
    println!("\n=== {name}: {}", step.does);
    let start = Instant::now();
    let result = (step.run)();
    let seconds = start.elapsed().as_secs_f64();
    result.map_err(|failure| {
        format!("{failure}\n\n=== gate: {name} FAILED after {seconds:.1} s; alone: cargo xtask gate {name}")
    })?;
    println!("=== {name}: passed, {seconds:.1} s");
    Ok(())
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Step>> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        return Err(format!("gate: no step {unknown:?}; there are:\n{}", list()).into());
    }
    let wanted = |step: &&Step| if names.is_empty() { !step.on_request } else { names.contains(&step.name) };
    Ok(STEPS.iter().filter(wanted).collect())
}

fn deny() -> Result<()> {
    // Not the advisories: their database is a repository to clone, and what it says changes without a commit here.
    run(&mut cargo(&["deny", "--locked", "check", "--deny", "warnings", "bans", "licenses", "sources"])?)
}

fn clippy() -> Result<()> {
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])?)?;
    // The library alone: its tests ask for every feature.
    let bare =
        ["clippy", "--package", "cuda-launch", "--lib", "--no-default-features", "--", "--deny", "warnings"];
    run(&mut cargo(&bare)?)
}

fn doc() -> Result<()> {
    run(cargo(&["doc", "--workspace", "--no-deps", "--all-features"])?.env("RUSTDOCFLAGS", "--deny warnings"))
}

/// The tests of `compile/` and of the tool, which skip what is not there, where they may not: with the libraries of the pinned wheels, the
/// CUDA runtime among them. Of the whole workspace, and with the profile of tests: nearly all is what the step `test` has built.
fn compilers() -> Result<()> {
    let wheels = Wheels::read(root()?)?;
    let mut tests = cargo(&["test", "--workspace", "--test", "sources", "--test", "emulate"])?;
    tests.args(gpu::TESTS_OF_COMPILERS.iter().flat_map(|test| ["--test", test]));
    let mut docs = cargo(&["test", "--workspace", "--doc", "compile::"])?;
    let built = build_programs(&["build", "--workspace", "--profile", "test", "--example", "compile"])?;
    let [example] = &built[..] else { return Err("cargo built another number of programs than one".into()) };
    let mut example = std::process::Command::new(&example.path);
    example.current_dir(root()?);
    for name in bindgen::COMPILERS {
        wheels.fetch(name)?;
        let (variable, file) =
            (format!("CUDA_LAUNCH_{}", name.to_uppercase()), wheels.file(name, "library")?);
        for command in [&mut tests, &mut docs, &mut example] {
            command.env(&variable, &file).env("CUDA_LAUNCH_REQUIRE_COMPILERS", "1");
        }
    }
    wheels.fetch("runtime")?;
    let mut check = cargo(&["test", "--workspace", "--test", "check", "the_actual_runtime"])?;
    check.env("CUDA_LAUNCH_CUDART", wheels.file("runtime", "library")?);
    [&mut tests, &mut check, &mut docs, &mut example].into_iter().try_for_each(run)
}

fn oldest() -> Result<()> {
    run(&mut on(OLDEST_RUST, &["check", "--workspace", "--all-features"])?)
}

fn has_valgrind() -> bool {
    answers("valgrind", &["--version"])
}

fn has_oldest() -> bool {
    toolchain(OLDEST_RUST, &["--version"])
}

fn targets() -> Result<()> {
    // A folder of its own: the flag would have everything else built anew.
    let folder = root()?.join("target/targets");
    TARGETS.iter().try_for_each(|target| {
        let mut check = cargo(&["check", "--jobs=1", "--workspace", "--all-features", "--target", target])?;
        // What tests do without on another system shows on the one that differs most.
        check.args((*target == TARGETS[0]).then_some("--all-targets"));
        run(check.env("RUSTFLAGS", "--deny warnings").env("CARGO_TARGET_DIR", &folder))
    })?;
    // A check does not assemble: this is the package with assembly of each machine.
    let mut object = cargo(&["rustc", "--package", "cuda-harness", "--lib", "--target", TARGETS[1]])?;
    run(object.args(["--", "--emit=obj"]).env("CARGO_TARGET_DIR", &folder))
}

fn has_targets() -> bool {
    let list = std::process::Command::new("rustup").args(["target", "list", "--installed"]).output();
    let installed = list.map(|list| String::from_utf8_lossy(&list.stdout).into_owned()).unwrap_or_default();
    TARGETS.iter().all(|target| installed.lines().any(|line| line == *target))
}

/// As in a release build, where a sum that wraps is no panic: what must be an error is one all the same.
///
/// Of the library alone, and of the whole workspace's features: all else is what the step `test` has built.
fn unchecked() -> Result<()> {
    let tests = ["numbers", "dlpack", "copies", "views", "misuse", "packet_limits", "virtual_memory"];
    let unchecked = "profile.test.package.cuda-launch.overflow-checks=false";
    let mut arguments = vec!["test", "--workspace", "--config", unchecked];
    arguments.extend(tests.iter().flat_map(|test| ["--test", test]));
    let mut command = cargo(&arguments)?;
    skipped::told(root()?, command.env("CUDA_LAUNCH_TEST_UNCHECKED", "1"))
}

fn loom() -> Result<()> {
    // A folder of its own: with this flag everything would be built anew, and then anew without it.
    let target = root()?.join("target/loom");
    let tests = ["test", "--release", "--package", "cuda-launch-loom"];
    run(cargo(&tests)?.env("RUSTFLAGS", "--cfg cuda_launch_loom").env("CARGO_TARGET_DIR", target))
}

/// Two at a time: Miri runs on one core.
fn miri() -> Result<()> {
    let next = std::sync::Mutex::new(MIRI.iter());
    let work = || -> std::result::Result<(), String> {
        let take = || next.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
        while let Some(tests) = take() {
            let arguments = [&["miri", "test"], *tests].concat();
            on("nightly", &arguments).and_then(|mut command| run(&mut command)).map_err(|e| e.to_string())?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(work);
        work()?;
        Ok(other.join().map_err(|_| "a panic")??)
    })
}

fn tsan() -> Result<()> {
    let target = root()?.join("target/tsan");
    let tests = TSAN.iter().flat_map(|test| ["--test", test]);
    let always = ["test", "-Zbuild-std", "--target", "x86_64-unknown-linux-gnu"];
    let always = always.into_iter().chain(["--package", "cuda-launch", "--features", "tracing"]);
    let mut command = on("nightly", &always.chain(tests).collect::<Vec<_>>())?;
    let suppressions = target.join("suppressions");
    std::fs::create_dir_all(&target)?;
    std::fs::write(&suppressions, TSAN_SUPPRESSIONS.join("\n"))?;
    // Tests ask for more memory than there is, and expect an error.
    let options = format!("allocator_may_return_null=1 suppressions={}", suppressions.display());
    command.env("RUSTFLAGS", "-Zsanitizer=thread").env("CARGO_TARGET_DIR", target);
    // The backtrace of a panic on purpose takes longer than tests wait.
    command.env("TSAN_OPTIONS", options).env("RUST_BACKTRACE", "0");
    command.env("CUDA_LAUNCH_RANDOM_PROGRAMS", "300").env("CUDA_LAUNCH_TEST_TSAN", "1");
    run(&mut command)
}

fn kernels() -> Result<()> {
    let mut python = std::process::Command::new("python3");
    run(python.args(["examples/kernels/rebuild.py", "--check"]).current_dir(root()?))
}

/// Whether another toolchain is installed whose cargo answers; asks without installing it.
fn toolchain(name: &str, cargo_arguments: &[&str]) -> bool {
    answers("rustup", &[&["run", name, "cargo"], cargo_arguments].concat())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{STEPS, Step, chosen, side_by_side};
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn steps_are_chosen_by_name() {
        let names = |asked: &[&str]| chosen(asked).unwrap().iter().map(|step| step.name).collect::<Vec<_>>();
        assert_eq!(names(&["clippy", "fmt"]), ["fmt", "clippy"]);
        assert_eq!(names(&["kernels"]), ["kernels"]);
        assert_eq!(names(&[]).len(), STEPS.iter().filter(|step| !step.on_request).count());
        assert!(chosen(&["clipy"]).err().unwrap().to_string().contains("\"clipy\""));
    }

    #[test]
    fn steps_side_by_side_run_once_each_and_fail_where_one_does() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        let counts = Step::new("counts", "counts", || {
            RUNS.fetch_add(1, Ordering::Relaxed);
            Ok(())
        });
        side_by_side(&[&counts; 9]).unwrap();
        assert_eq!(RUNS.load(Ordering::Relaxed), 9);
        let fails = Step::new("fails", "fails", || Err("on purpose".into()));
        let failure = side_by_side(&[&counts, &fails, &counts]).err().unwrap().to_string();
        assert!(failure.contains("on purpose") && failure.contains("fails FAILED"), "{failure}");
    }
}
