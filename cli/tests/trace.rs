//! The tool traces itself: a program that finds its driver by a variable, and one that finds it by name.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;
#[path = "support/timeline.rs"]
mod timeline;
#[path = "support/xml.rs"]
mod xml;

use serde_json::Value;
#[cfg(unix)]
use std::path::Path;
#[cfg(unix)]
use support::Run;
use support::{TOOL, finished, recorder, scratch, tool};
#[cfg(target_os = "linux")]
use support::{compiled, emulator_library};
#[cfg(target_os = "linux")]
use timeline::trace_on;
use timeline::{named, trace};

/// saxpy's arguments are count, factor, x, y.
fn saxpy(count: &str) -> Vec<&str> {
    let mut program = vec![TOOL, "run", "examples/kernels/saxpy.ptx", "saxpy"];
    program.extend([
        "--print",
        "0",
        "--arg",
        count,
        "--arg",
        "f32:2",
        "--arg",
        "in:f32:0..100",
        "--arg",
        "inout:f32:100*1",
    ]);
    program
}

#[test]
fn a_timeline_has_launches_copies_and_waits() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace");
    let good = saxpy("u32:100");
    // By the variable, and by the name of the library.
    let by_name = [&["env", "CUDA_LAUNCH_DRIVER=system"], good.as_slice()].concat();
    let ways = if cfg!(target_os = "linux") { vec![good, by_name] } else { vec![good] };
    for program in ways {
        let (run, events) = trace(&recorder, &folder, &program);
        assert_eq!(run.code, 0, "{}", run.err);
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!((&answer["schema"], &answer["unfinished"]), (&"cuda-launch.trace.1".into(), &0.into()));
        assert_eq!(answer["bytes_copied"], 1200);
        let [kernel] = named(&events, "saxpy")[..] else { panic!("{events:?}") };
        assert_eq!(
            (&kernel["cat"], &kernel["args"]["block"]),
            (&"kernel".into(), &serde_json::json!([256, 1, 1]))
        );
        assert_eq!(kernel["args"]["arguments"].as_array().unwrap()[..2], ["0x00000064", "0x40000000"]);
        assert!(kernel["dur"].as_f64().unwrap() > 0.0);
        // The device begins after the call, and the host waits for it.
        assert!(
            kernel["ts"].as_f64().unwrap() + 50.0 > kernel["args"]["called_us"].as_f64().unwrap(),
            "{kernel}"
        );
        assert_eq!((named(&events, "host to device").len(), named(&events, "device to host").len()), (2, 1));
        assert!(named(&events, "cuStreamSynchronize").iter().all(|wait| wait["cat"] == "wait"));
        assert!(events.iter().any(|event| event["name"] == "thread_name" && event["pid"] == 2));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_program_that_fails_leaves_its_timeline() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-fault");
    let (run, events) = trace(&recorder, &folder, &saxpy("u32:101"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(named(&events, "saxpy: not finished").len(), 1);
    let answers = |event: &&Value| {
        event["args"]["answer"].as_str().is_some_and(|code| code.contains("ILLEGAL_ADDRESS"))
    };
    assert!(events.iter().any(|event| answers(&event)));
    if cfg!(unix) {
        let (run, events) = trace(&recorder, &folder, &["sh", "-c", "exit 7"]);
        assert_eq!((run.code, events.iter().filter(|event| event["ph"] != "M").count()), (7, 0));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The end of the file's name says what it is; the sums are those of the text.
#[test]
fn a_timeline_is_a_picture_or_a_page() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-picture");
    let draw = |name: &str, program: &[&str]| {
        let file = folder.join(name);
        let mut command = tool();
        command.args(["trace", "--driver", "emulator", "--recorder"]).arg(&recorder).arg("-o").arg(&file);
        let run = finished(&command.arg("--").args(program).output().unwrap());
        (run, std::fs::read_to_string(file).unwrap_or_default())
    };
    let (run, svg) = draw("t.svg", &saxpy("u32:100"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(!xml::elements(&svg).unwrap().contains(&"script"));
    let bars = |text: &str, class: &str| text.matches(&format!("<rect class=\"b {class}")).count();
    assert_eq!((bars(&svg, "kernel"), bars(&svg, "h2d"), bars(&svg, "d2h")), (1, 2, 1), "{svg}");
    assert!(
        bars(&svg, "call") > 0 && svg.contains(">thread 1</text>") && svg.contains("grid: 1, 1, 1"),
        "{svg}"
    );
    let (facts, sums) = run.err.split_once('\n').unwrap();
    assert!(svg.contains(facts.split_once(": ").unwrap().1), "{facts}");
    let row: Vec<&str> = sums.lines().find(|row| row.contains("saxpy")).unwrap().split_whitespace().collect();
    assert!(row.iter().all(|cell| svg.contains(&format!(">{cell}</text>"))), "{row:?}");
    let (run, page) = draw("t.html", &saxpy("u32:101"));
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!((bars(&page, "kernel"), bars(&page, "unfinished")), (0, 1), "{page}");
    assert!(page.contains("1 piece of work not finished") && page.ends_with("</html>\n"));
    if cfg!(unix) {
        let (run, svg) = draw("none.svg", &["true"]);
        assert!(run.code == 0 && svg.contains("the program made no driver call"), "{}", run.err);
    }
    let own: [(&[&str], &str); 2] = [
        (
            &["emulate", "--", "true"],
            "put it in front, as `cuda-launch emulate -- cuda-launch trace -- PROGRAM`",
        ),
        (
            &[
                "run",
                "examples/kernels/fill.ptx",
                "fill",
                "--arg",
                "out:u32:4",
                "--arg",
                "u32:4",
                "--arg",
                "u32:7",
                "--schedules",
                "2",
            ],
            "used the emulator inside the tool",
        ),
    ];
    for (arguments, words) in own {
        let (run, svg) = draw("own.svg", &[&[TOOL], arguments].concat());
        assert!(run.code == 0 && run.says(words) && !run.says("libcuda.so.1"), "{}", run.err);
        assert!(svg.contains("cuda-launch"), "{svg}");
    }
    // Before the program starts.
    let ran = folder.join("ran.json");
    let (run, _) = draw("t.txt", &["touch", ran.to_str().unwrap()]);
    assert!(run.code == 2 && [".html", ".svg", ".json"].iter().all(|end| run.says(end)), "{}", run.err);
    assert!(!ran.exists() && !folder.join("t.txt").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_start_says_why() {
    let run = finished(&tool().args(["trace", "--recorder", "/no/such.so", "--", "true"]).output().unwrap());
    assert!(run.code == 3 && run.says("cargo install cuda-launch-cli"), "{}", run.err);
    let Some(recorder) = recorder() else { return };
    let mut command = tool();
    command.arg("trace").arg("--recorder").arg(recorder).args(["--", "/no/such/program"]);
    let run = finished(&command.output().unwrap());
    assert!(run.code == 3 && run.says("/no/such/program"), "{}", run.err);
    assert_eq!(finished(&tool().arg("trace").output().unwrap()).code, 2);
}

/// Set for the program that is traced: this one.
#[cfg(target_os = "linux")]
const ASKS: &str = "CUDA_LAUNCH_TEST_ASKS_BY_NAME";

/// As `cudart` has it: every function is asked for by its name, the version that brought it, and the kind of default stream.
#[test]
#[cfg(target_os = "linux")]
fn functions_that_are_asked_for_by_name_are_recorded() {
    if std::env::var_os(ASKS).is_some() {
        return asks_by_name::fills_and_reads();
    }
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-names");
    let events = traced(&recorder, &folder, "functions_that_are_asked_for_by_name_are_recorded");
    let kernels = named(&events, "fill");
    assert_eq!(kernels.len(), 2, "{events:?}");
    let blocks: Vec<&Value> = kernels.iter().map(|kernel| &kernel["args"]["block"][0]).collect();
    assert_eq!(blocks, [64, 32]);
    // One on the stream of its thread, one on the stream of all.
    assert!(kernels[0]["args"]["stream"].as_str().unwrap().ends_with("0002"), "{}", kernels[0]);
    assert_eq!(kernels[1]["args"]["stream"], "0x0");
    // The blocking copy of the thread's stream, the other one, and the wait.
    assert_eq!(named(&events, "host to device").len(), 1);
    assert_eq!(named(&events, "cuMemcpyDtoH_v2").len(), 1);
    assert!(named(&events, "cuStreamSynchronize").iter().all(|wait| wait["cat"] == "wait"));
    // Of the two functions of this name the one that takes a context.
    assert_eq!(
        (named(&events, "cuCtxSynchronize_v2").len(), named(&events, "cuCtxSynchronize").len()),
        (1, 0)
    );
    std::fs::remove_dir_all(folder).unwrap();
}

/// What ends a context is waited for by the name of its first ABI, too: programs of CUDA 3 and of CUDA 10 ask for that by their version.
#[test]
#[cfg(target_os = "linux")]
fn what_runs_where_an_old_function_ends_the_context_is_recorded() {
    if std::env::var_os(ASKS).is_some() {
        return asks_by_name::ends_contexts();
    }
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-old-ends");
    let events = traced(&recorder, &folder, "what_runs_where_an_old_function_ends_the_context_is_recorded");
    let kernels = named(&events, "fill");
    let blocks: Vec<&Value> = kernels.iter().map(|kernel| &kernel["args"]["block"][0]).collect();
    assert_eq!(blocks, [1, 2, 3], "{events:?}");
    assert!(kernels.iter().all(|kernel| kernel["dur"].as_f64().is_some()), "{kernels:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Traces this program, which runs one test of this file in the other way.
#[cfg(target_os = "linux")]
fn traced(recorder: &Path, folder: &Path, test: &str) -> Vec<Value> {
    let own = std::env::current_exe().unwrap();
    let asks = format!("{ASKS}=1");
    let program = ["env", &asks, own.to_str().unwrap(), "--exact", test, "--nocapture"];
    let (run, events) = trace(recorder, folder, &program);
    assert_eq!(run.code, 0, "{}", run.err);
    events
}

#[cfg(target_os = "linux")]
mod asks_by_name {
    #![allow(unsafe_code)] // Calls of the driver's functions by their addresses, with the signatures that they have.

    use cuda_launch::Driver;
    use cuda_launch::sys::*;
    use std::ffi::{CStr, c_int, c_uint, c_void};
    use std::mem::transmute;
    use std::ptr::null_mut;

    const ALL: cuuint64_t = 0;
    const PER_THREAD: cuuint64_t = 2;

    type Launch = unsafe extern "C" fn(
        CUfunction,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        c_uint,
        CUstream,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> CUresult;
    type ToDevice = unsafe extern "C" fn(CUdeviceptr, *const c_void, usize) -> CUresult;
    type ToHost = unsafe extern "C" fn(*mut c_void, CUdeviceptr, usize) -> CUresult;
    type Wait = unsafe extern "C" fn(CUstream) -> CUresult;
    type OfContext = unsafe extern "C" fn(CUcontext) -> CUresult;

    fn ok(code: CUresult) {
        assert_eq!(code, CUresult::SUCCESS);
    }

    /// The image of a kernel that writes a number to so many places: address, count, number.
    const FILL: &str = concat!(include_str!("../../examples/kernels/fill.ptx"), "\0");

    /// The function that a program of that version finds.
    fn found(driver: &Driver, name: &CStr, version: c_int, flags: cuuint64_t) -> *mut c_void {
        let mut place = null_mut();
        // SAFETY: the name is a C string, by its type; the output outlives the call; the status may be null.
        ok(unsafe { driver.cuGetProcAddress_v2(name.as_ptr(), &mut place, version, flags, null_mut()) });
        assert!(!place.is_null(), "{name:?}");
        place
    }

    /// Three contexts, each ended by a function of the first ABI while a launch in it has not been waited for.
    pub(super) fn ends_contexts() {
        type Create = unsafe extern "C" fn(*mut CUcontext, c_uint, CUdevice) -> CUresult;
        type OfDevice = unsafe extern "C" fn(CUdevice) -> CUresult;
        // SAFETY: 1, 2: the recorder has this name where the program is traced, and does what the emulator does. The functions are found
        // under their names, with the signatures of CUDA's header for these versions. Places outlive the calls; device 0 is there; each context
        // was made by the line above its use, and nothing of it is used after its end.
        unsafe {
            let driver = Driver::open("libcuda.so.1").unwrap();
            ok(driver.cuInit(0));
            let (mut own, mut primary) = (null_mut(), null_mut());
            let create: Create = transmute(found(&driver, c"cuCtxCreate", 3020, ALL));
            ok(create(&mut own, 0, 0));
            launch(&driver, 1);
            let destroy: OfContext = transmute(found(&driver, c"cuCtxDestroy", 3020, ALL));
            ok(destroy(own));
            for (block, name) in [(2, c"cuDevicePrimaryCtxRelease"), (3, c"cuDevicePrimaryCtxReset")] {
                ok(driver.cuDevicePrimaryCtxRetain(&mut primary, 0));
                ok(driver.cuCtxSetCurrent(primary));
                launch(&driver, block);
                let end: OfDevice = transmute(found(&driver, name, 10_020, PER_THREAD));
                ok(end(0));
            }
        }
    }

    /// Launches `fill` with so many threads, none of which writes.
    fn launch(driver: &Driver, threads: c_uint) {
        let (mut module, mut fill) = (null_mut(), null_mut());
        let (mut address, mut count, mut value) = (0_u64, 0_u32, 0_u32);
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut address).cast(), (&raw mut count).cast(), (&raw mut value).cast()];
        // SAFETY: the image is text with its NUL, the name a C string, and all places outlive the calls; `fill` takes an address and two numbers
        // of 4 bytes, for which there are pointers, and touches no memory where the count is 0.
        unsafe {
            ok(driver.cuModuleLoadData(&mut module, FILL.as_ptr().cast()));
            ok(driver.cuModuleGetFunction(&mut fill, module, c"fill".as_ptr()));
            let packet = parameters.as_mut_ptr();
            ok(driver.cuLaunchKernel(fill, 1, 1, 1, threads, 1, 1, 0, null_mut(), packet, null_mut()));
        }
    }

    /// Two launches over 64 numbers that are there: of 64 threads on the thread's stream, of 32 on that of all.
    pub(super) fn fills_and_reads() {
        // SAFETY: 1, 2: the recorder has this name where the program is traced, and does what the emulator does. Functions are found under their
        // names, with the signatures of CUDA's header for these versions. Places outlive the calls, the image is text with its NUL; `fill` takes
        // an address, a count of at most 64, as the memory of 256 bytes has, and a number; each launch is waited for before the next, and
        // before the memory goes.
        unsafe {
            let driver = Driver::open("libcuda.so.1").unwrap();
            let find = |name: &CStr, version: c_int, flags: cuuint64_t| found(&driver, name, version, flags);
            let init: unsafe extern "C" fn(c_uint) -> CUresult = transmute(find(c"cuInit", 2000, ALL));
            ok(init(0));
            let (mut context, mut module, mut fill, mut address) = (null_mut(), null_mut(), null_mut(), 0);
            ok(driver.cuDevicePrimaryCtxRetain(&mut context, 0));
            ok(driver.cuCtxSetCurrent(context));
            ok(driver.cuModuleLoadData(&mut module, FILL.as_ptr().cast()));
            ok(driver.cuModuleGetFunction(&mut fill, module, c"fill".as_ptr()));
            ok(driver.cuMemAlloc_v2(&mut address, 256));
            let to_device: ToDevice = transmute(find(c"cuMemcpyHtoD", 7000, PER_THREAD));
            ok(to_device(address, [7_u32; 64].as_ptr().cast(), 256));
            let wait: Wait = transmute(find(c"cuStreamSynchronize", 7000, PER_THREAD));
            for (version, flags, value) in [(7000, PER_THREAD, 5_u32), (4000, ALL, 6)] {
                let launch: Launch = transmute(find(c"cuLaunchKernel", version, flags));
                let (mut count, mut value) = (if flags == ALL { 32_u32 } else { 64 }, value);
                let mut parameters: [*mut c_void; 3] =
                    [(&raw mut address).cast(), (&raw mut count).cast(), (&raw mut value).cast()];
                let parameters = parameters.as_mut_ptr();
                ok(launch(fill, 1, 1, 1, count, 1, 1, 0, null_mut(), parameters, null_mut()));
                ok(wait(null_mut()));
            }
            // Since CUDA 13 it takes the context, which need not be the current one.
            let of_context: OfContext = transmute(find(c"cuCtxSynchronize", 13_000, PER_THREAD));
            ok(driver.cuCtxSetCurrent(null_mut()));
            ok(of_context(context));
            ok(driver.cuCtxSetCurrent(context));
            let mut numbers = [0_u32; 64];
            let to_host: ToHost = transmute(find(c"cuMemcpyDtoH", 3020, ALL));
            ok(to_host(numbers.as_mut_ptr().cast(), address, 256));
            assert_eq!((numbers[0], numbers[31], numbers[32], numbers[63]), (6, 6, 5, 5));
            ok(driver.cuMemFree_v2(address));
            ok(driver.cuDevicePrimaryCtxRelease_v2(0));
        }
    }
}

/// A kernel that never ends.
#[cfg(unix)]
const SPIN: &str = "\
.version 7.8
.target sm_75
.address_size 64
.visible .entry spin(.param .u32 n)
{
L:
    bra.uni L;
}
";

/// A trace of a program that waits for a kernel forever, and the folder that has the recorder's lines.
#[cfg(unix)]
struct Endless {
    tool: std::process::Child,
    folder: std::path::PathBuf,
    /// The process of the program.
    program: i32,
}

#[cfg(unix)]
impl Endless {
    #[allow(unsafe_code)]
    fn start(recorder: &Path, name: &str) -> Self {
        use std::os::unix::process::CommandExt;
        let folder = scratch(name);
        std::fs::write(folder.join("spin.ptx"), SPIN).unwrap();
        let mut command = tool();
        command.args(["trace", "--driver", "emulator", "--recorder"]).arg(recorder).current_dir(&folder);
        // A file, as a program that outlives the tool would keep a pipe open.
        let words = std::fs::File::create(folder.join("words")).unwrap();
        command.env("TMPDIR", &folder).process_group(0).stderr(words);
        let program = format!("echo $$ > process; exec {TOOL} run spin.ptx spin --arg u32:1");
        // A shell starts background jobs with ^C ignored, `nohup` starts what it runs with SIGHUP ignored, and children inherit both.
        let heard = || {
            for signal in [libc::SIGINT, libc::SIGHUP] {
                // SAFETY: takes two numbers: a signal that can be set, and the default action. POSIX lists `signal` as safe after a fork.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            Ok(())
        };
        // SAFETY: the closure allocates nothing, takes no lock and calls only `signal`, which is safe between fork and exec.
        unsafe { command.pre_exec(heard) };
        let mut tool = command.args(["--", "sh", "-c", &program]).spawn().unwrap();
        // Until the kernel is launched.
        let launched = || {
            let lines = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("lines")).ok();
            let folders = std::fs::read_dir(&folder).unwrap().flatten();
            folders.filter_map(lines).any(|lines| lines.contains("\"cuLaunchKernel"))
        };
        while !launched() {
            assert!(tool.try_wait().unwrap().is_none(), "the program ended");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let program = std::fs::read_to_string(folder.join("process")).unwrap().trim().parse().unwrap();
        Self { tool, folder, program }
    }

    /// Sends a signal to a process, or to a group by its negative number.
    #[allow(unsafe_code)]
    fn send(to: i32, signal: i32) {
        // SAFETY: takes two numbers. The processes are this test's, and nobody has waited for them.
        assert_eq!(unsafe { libc::kill(to, signal) }, 0);
    }

    fn tool(&self) -> i32 {
        i32::try_from(self.tool.id()).unwrap()
    }

    /// The exit code, the summary, and the events.
    fn ended(mut self) -> (Run, Vec<Value>) {
        let status = self.tool.wait().unwrap();
        let stderr = std::fs::read(self.folder.join("words")).unwrap();
        let run = finished(&std::process::Output { status, stdout: Vec::new(), stderr });
        let text = std::fs::read_to_string(self.folder.join("trace.json")).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let left = std::fs::read_dir(&self.folder).unwrap().flatten().filter(|e| e.path().is_dir()).count();
        assert_eq!(left, 0, "the folder of the recorder is gone");
        std::fs::remove_dir_all(&self.folder).unwrap();
        (run, whole["traceEvents"].as_array().unwrap().clone())
    }
}

/// Whatever the test finds, nothing spins on.
#[cfg(unix)]
impl Drop for Endless {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: takes two numbers; the group was made for this test, and its number is hardly given to another one so
        // soon after its end.
        unsafe { libc::kill(-self.tool(), libc::SIGKILL) };
    }
}

/// ^C goes to tool and program, `kill` to one of them: the timeline of what ran is written in any case.
#[test]
#[cfg(unix)]
fn signals_leave_the_timeline_of_what_ran() {
    let Some(recorder) = recorder() else { return };
    for (name, signal, to) in [
        ("trace-int-both", libc::SIGINT, (|run| -run.tool()) as fn(&Endless) -> i32),
        ("trace-int-tool", libc::SIGINT, |run| run.tool()),
        ("trace-term-tool", libc::SIGTERM, |run| run.tool()),
        ("trace-hup-tool", libc::SIGHUP, |run| run.tool()),
        ("trace-term-program", libc::SIGTERM, |run| run.program),
        ("trace-kill-program", libc::SIGKILL, |run| run.program),
        ("trace-abort-program", libc::SIGABRT, |run| run.program),
    ] {
        let endless = Endless::start(&recorder, name);
        Endless::send(to(&endless), signal);
        let (run, events) = endless.ended();
        assert_eq!(run.code, 128 + signal, "{name}: {}", run.err);
        assert!(run.says(&format!("signal {signal} ended the program")), "{name}: {}", run.err);
        assert!(events.iter().any(|event| event["args"]["kernel"] == "spin"), "{name}");
        // The kernel that hangs is what people look for.
        let [left] = named(&events, "spin: end not seen")[..] else { panic!("{name}: {events:?}") };
        assert_eq!(
            (&left["pid"], &left["args"]["block"]),
            (&2.into(), &serde_json::json!([256, 1, 1])),
            "{name}"
        );
        assert!(run.says("1 piece of work not finished"), "{name}: {}", run.err);
        assert!(events.iter().all(|event| event["work"].is_null()), "{name}");
    }
}

/// A program that handles a signal goes on, and so does its trace.
#[test]
#[cfg(unix)]
fn a_program_that_handles_signals_decides() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-trap");
    let program = "trap 'exit 5' TERM; touch ready; for i in $(seq 3000); do sleep 0.01; done";
    let mut command = tool();
    command.args(["trace", "--driver", "emulator", "--recorder"]).arg(recorder).current_dir(&folder);
    let mut tool =
        command.args(["--", "sh", "-c", program]).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !folder.join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    Endless::send(i32::try_from(tool.id()).unwrap(), libc::SIGTERM);
    assert_eq!(tool.wait().unwrap().code(), Some(5));
    assert!(folder.join("trace.json").exists());
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two programs, one after the other: the second does not write over what the first left.
#[test]
#[cfg(unix)]
fn every_process_of_a_program_is_in_the_timeline() {
    let Some(recorder) = recorder() else { return };
    let folder = scratch("trace-two");
    let one = saxpy("u32:100").join(" ");
    let both = format!("{one} && {one}");
    let (run, events) = trace(&recorder, &folder, &["sh", "-c", &both]);
    assert_eq!((run.code, named(&events, "saxpy").len()), (0, 2), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A library's kernel, launched by its own handle as the runtime does: no call of the recorder takes it for a function, which a
/// driver would write to its log.
#[test]
#[cfg(target_os = "linux")]
fn kernels_of_libraries_are_asked_about_as_such() {
    let (Some(recorder), Some(library)) = (recorder(), emulator_library()) else { return };
    let folder = scratch("trace-kernels");
    let source = r#"
#include <dlfcn.h>
#include <stddef.h>
#define CALL(name, ...) if (((int (*)())dlsym(cuda, #name))(__VA_ARGS__)) return 9
static void answer(void *place) { *(int *)place = 2; }
int main(void)
{
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *library, *kernel;
    int one = 1, two = 0;
    void *arguments[] = {&one};
    CALL(cuInit, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxSetCurrent, context);
    CALL(cuLibraryLoadData, &library, ".version 7.0 .target sm_75 .address_size 64 .visible .entry nothing(.param .u32 n) { ret; }",
         NULL, NULL, 0, NULL, NULL, 0);
    CALL(cuLibraryGetKernel, &kernel, library, "nothing");
    CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
    CALL(cuLaunchHostFunc, NULL, answer, &two);
    CALL(cuCtxSynchronize);
    return two != 2;
}
"#;
    let Some(program) = compiled(&folder, "launches", source, &[]) else { return };
    let (log, file) = (folder.join("log"), folder.join("trace.json"));
    let mut command = tool();
    command.arg("trace").arg("--driver").arg(library).arg("--recorder").arg(recorder).arg("-o").arg(&file);
    let run =
        finished(&command.env("CUDA_LAUNCH_HARNESS_LOG", &log).arg("--").arg(program).output().unwrap());
    let log = std::fs::read_to_string(log).unwrap();
    assert!(run.code == 0 && log.contains("cuKernelGetName("), "{}{log}", run.err);
    assert!(!log.contains("cuFuncGet") && !log.contains("INVALID_HANDLE"), "{log}");
    let timeline: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let events = timeline["traceEvents"].as_array().unwrap();
    assert_eq!(named(events, "nothing")[0]["args"]["arguments"][0], "0x00000001");
    assert_eq!(named(events, "host function").len(), 1);
    std::fs::remove_dir_all(folder).unwrap();
}

/// A program that has the recorder by its path, and a library in it that looks for the driver by its name, as NCCL does: the driver that the
/// recorder has loaded goes by that name, too.
#[test]
#[cfg(target_os = "linux")]
fn the_name_of_the_driver_is_the_recorders() {
    let (Some(recorder), Some(library)) = (recorder(), emulator_library()) else { return };
    let folder = scratch("trace-names");
    let source = r#"
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    int version = 0;
    void *first = dlopen(getenv("CUDA_LAUNCH_DRIVER"), RTLD_NOW);
    if (((int (*)(unsigned))dlsym(first, "cuInit"))(0)) return 9;
    void *second = dlopen("libcuda.so.1", RTLD_NOW);
    return ((int (*)(int *))dlsym(second, "cuDriverGetVersion"))(&version);
}
"#;
    let Some(program) = compiled(&folder, "names", source, &[]) else { return };
    let (run, events) = trace_on(&library, &recorder, &folder, &[program.to_str().unwrap()]);
    assert_eq!((run.code, named(&events, "cuDriverGetVersion").len()), (0, 1), "{}", run.err);
    std::fs::remove_dir_all(folder).unwrap();
}
