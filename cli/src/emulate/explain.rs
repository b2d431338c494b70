//! Determines why a program cannot run on the emulator, and a workaround, from the files that it searched for and loaded, from
//! their contents, and from what the emulator refused.

use cuda_emulator::Architecture;
use cuda_emulator::tool_report::Obstacle;
use cuda_emulator_stand_ins::{ASKED, COMPILERS, FOUND, LOADED, STAND_INS};
use cuda_launch::sys::CUresult;
use cuda_ptx::image::{Arch, EntryKind, Fatbin};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;

use crate::emulated::{elf::Elf, reach};
use crate::failure::Failure;
use crate::files::{self, Folder};

/// The section in which nvcc puts kernels, and the symbols with which the CUDA runtime registers them.
const KERNELS: &str = ".nv_fatbin";
const REGISTERED: &str = ".nvFatBinSegment";
/// A constant of NVIDIA's runtime, in every version from 11.8 to 13.5.
const RUNTIME: &[u8] = b"/cudart.shm.";
/// The names of the compilers for users, in the order of `COMPILERS`.
const PACKAGES: [(&str, &str); 2] = [("NVRTC", "nvidia-cuda-nvrtc"), ("nvJitLink", "nvidia-nvjitlink")];

/// An obstacle: its description, its location, and the advice.
pub(super) struct Reason {
    pub(super) subject: String,
    kind: Cow<'static, str>,
    /// The driver's result code, where something was refused.
    code: Option<u32>,
    pub(super) why: String,
    pub(super) way: String,
}

impl Reason {
    pub(super) fn json(&self) -> Value {
        json!({ "subject": self.subject, "kind": self.kind, "code": self.code, "why": self.why, "way": self.way })
    }

    /// What the emulator refused while the program ran.
    pub(super) fn of_obstacle(obstacle: &Obstacle) -> Self {
        let Obstacle { kind, code, subject, why, way } = obstacle.clone();
        let subject = if subject.is_empty() { "an image in memory".to_owned() } else { subject };
        let result = CUresult(code);
        let why = format!("{why} ({code}, {})", result.name().unwrap_or("unknown code"));
        Self { subject, kind: kind.into(), code: Some(code), why, way }
    }

    /// The obstacle that `reach` found, whose second line is the advice.
    pub(super) fn of_program(program: &OsStr, why: &str) -> Self {
        let (why, way) = why.split_once("\n  help: ").unwrap_or((why, "start another program"));
        let subject = program.to_string_lossy().into_owned();
        Self { subject, kind: "not-reached".into(), code: None, why: why.to_owned(), way: way.to_owned() }
    }
}

/// Makes the loader's auditor record the loaded files.
pub(super) fn start(folder: &Folder) -> Result<(), Failure> {
    files::write(&folder.path().join(LOADED), b"")
}

/// The compilers that the program looked for and did not find.
pub(super) fn absent(folder: &Folder) -> Vec<Reason> {
    let word = |compiler: &str, ending: &str| {
        std::fs::read_to_string(folder.path().join(STAND_INS).join(format!("{compiler}{ending}"))).ok()
    };
    let compilers = COMPILERS.iter().zip(PACKAGES);
    let absent = compilers.filter_map(|(compiler, (name, package))| {
        let asked = word(compiler, ASKED).filter(|_| word(compiler, FOUND).is_none())?;
        Some(Reason {
            subject: name.to_owned(),
            kind: "no-compiler".into(),
            code: None,
            why: format!("the program looked for {asked}, and it is not on this machine"),
            way: format!(
                "`pip install {package}` in its environment, or install the CUDA toolkit: `emulate` has no compiler of its own"
            ),
        })
    });
    absent.collect()
}

/// The obstacles in the program's file and in the libraries that it loaded.
pub(super) fn files(folder: &Folder, program: &OsStr, device: Architecture) -> Vec<Reason> {
    let loaded = std::fs::read(folder.path().join(LOADED)).unwrap_or_default();
    let loaded = String::from_utf8_lossy(&loaded).into_owned();
    let program = reach::file_of(program).map(|path| path.display().to_string());
    let names: BTreeSet<&str> =
        loaded.lines().chain(program.as_deref()).filter(|name| !name.is_empty()).collect();
    names.into_iter().flat_map(|name| file(Path::new(name), device)).collect()
}

fn file(path: &Path, device: Architecture) -> Vec<Reason> {
    let Some(mut elf) = Elf::open(path) else { return Vec::new() };
    let is_cudart = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libcudart.so"));
    let runtime = runtime(&mut elf, is_cudart).map(|(why, way)| ("runtime", why, way.to_owned()));
    let kernels = elf.section(KERNELS).and_then(|kernels| without_ptx(&kernels, device)).map(|why| {
        let number = device.number();
        let way = format!("build it with PTX, too: `-gencode arch=compute_{number},code=compute_{number}`");
        ("no-ptx", why, way)
    });
    let reason = |(kind, why, way): (&'static str, _, _)| {
        let subject = path.display().to_string();
        Reason { subject, kind: kind.into(), code: None, why, way }
    };
    runtime.into_iter().chain(kernels).map(reason).collect()
}

/// How a file uses the CUDA runtime, and the advice.
fn runtime(elf: &mut Elf, is_cudart: bool) -> Option<(String, &'static str)> {
    const PROOF: &str = "asks a driver to prove that it is NVIDIA's, and the emulator does not answer";
    if elf.has_section(REGISTERED) {
        let is_shared = elf.dynamic().needed.iter().any(|needed| needed.starts_with("libcudart.so"));
        let place = if is_shared { "in libcudart.so" } else { "in this file (nvcc links it statically)" };
        return Some((
            format!("its kernels are launched by the CUDA runtime (<<<>>>), {place}. The runtime {PROOF}"),
            "make PTX of its kernels (`nvcc --ptx`) and load it by the driver API, or give that file to `cuda-launch run`; the program \
             as it is needs a GPU",
        ));
    }
    let has_it = is_cudart || holds(&elf.section(".rodata").unwrap_or_default(), RUNTIME);
    has_it.then(|| {
        (
            format!(
                "it has the CUDA runtime in it, which {PROOF}: every call of the runtime fails (operation not supported). Calls of the \
                 driver API beside it run"
            ),
            "use the driver API for what must run here, or a machine with a GPU",
        )
    })
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// Why there is no PTX of kernels that the device runs; `None` if each fatbin has some, or none has a kernel.
fn without_ptx(section: &[u8], device: Architecture) -> Option<String> {
    let mut rest = section;
    let (mut machine_code, mut ptx) = (BTreeSet::new(), BTreeSet::new());
    while let Some(at) = rest.windows(4).step_by(8).position(|magic| magic == b"\x50\xed\x55\xba") {
        let fatbin = rest.get(at * 8..)?;
        let body = fatbin.get(8..16).and_then(|size| size.try_into().ok()).map_or(0, u64::from_le_bytes);
        let length = usize::try_from(body)
            .ok()
            .and_then(|body| body.checked_add(16))
            .filter(|length| *length <= fatbin.len());
        let length = length.unwrap_or(fatbin.len());
        if let Ok(read) = Fatbin::read(fatbin.get(..length)?) {
            let of = |kind| read.entries().iter().filter(move |entry| entry.kind() == kind);
            if !of(EntryKind::Ptx).any(|entry| device.runs(entry.arch())) {
                ptx.extend(of(EntryKind::Ptx).map(|entry| (entry.arch().sm, entry.arch().suffix)));
                if of(EntryKind::Ptx).next().is_none() {
                    machine_code.extend(of(EntryKind::Cubin).map(|entry| entry.arch().sm));
                }
            }
        }
        rest = fatbin.get(length.next_multiple_of(8)..).unwrap_or_default();
    }
    let machine_code: Vec<String> = machine_code.iter().map(|sm| format!("sm_{sm}")).collect();
    let ptx: Vec<String> =
        ptx.iter().map(|(sm, suffix)| Arch { sm: *sm, suffix: *suffix }.to_string()).collect();
    let newer = || format!("its PTX is for {}, which {device} does not run", ptx.join(", "));
    let only = || format!("machine code only, for {}: the emulator runs PTX", machine_code.join(", "));
    match (ptx.is_empty(), machine_code.is_empty()) {
        (false, true) => Some(newer()),
        (true, false) => Some(format!("its kernels are {}", only())),
        (false, false) => Some(format!("{}; other kernels are {}", newer(), only())),
        (true, true) => None,
    }
}
