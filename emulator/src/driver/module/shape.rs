//! The launch properties of kernels in the text of a module, and whether the module can run on this device.

use cuda_ptx::image::Arch;
use cuda_ptx::{Directives, Function, FunctionKind, Module};
use std::collections::HashMap;

use super::log::Refusal;
use crate::architecture::Architecture;
use crate::driver::state::newest_ptx;
use crate::engine::is_version;

/// The directives that bound a kernel's launches.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::driver) struct Shape {
    /// `.maxntid`
    pub(in crate::driver) maxntid: Option<[u32; 3]>,
    /// `.reqntid`
    pub(in crate::driver) reqntid: Option<[u32; 3]>,
    /// `.maxnreg`
    pub(in crate::driver) max_registers: Option<u32>,
    /// `.reqnctapercluster`
    pub(in crate::driver) cluster: Option<[u32; 3]>,
    /// `.explicitcluster`
    pub(in crate::driver) explicit_cluster: bool,
    /// `.maxclusterrank`
    pub(in crate::driver) max_cluster_rank: Option<u32>,
    /// `.blocksareclusters`: the grid of a launch counts clusters.
    pub(in crate::driver) blocks_are_clusters: bool,
}

impl From<&Directives> for Shape {
    fn from(directives: &Directives) -> Self {
        Shape {
            maxntid: directives.maxntid,
            reqntid: directives.reqntid,
            max_registers: directives.maxnreg,
            cluster: directives.reqnctapercluster,
            explicit_cluster: directives.explicitcluster,
            max_cluster_rank: directives.maxclusterrank,
            blocks_are_clusters: directives.blocksareclusters,
        }
    }
}

/// The architectures that PTX has had, and the version that brought each.
const ARCHITECTURES: &[(u32, (u32, u32))] = &[
    (10, (1, 0)),
    (11, (1, 0)),
    (12, (1, 2)),
    (13, (1, 2)),
    (20, (2, 0)),
    (30, (3, 0)),
    (32, (4, 0)),
    (35, (3, 1)),
    (37, (4, 1)),
    (50, (4, 0)),
    (52, (4, 1)),
    (53, (4, 2)),
    (60, (5, 0)),
    (61, (5, 0)),
    (62, (5, 0)),
    (70, (6, 0)),
    (72, (6, 1)),
    (75, (6, 3)),
    (80, (7, 0)),
    (86, (7, 1)),
    (87, (7, 4)),
    (88, (7, 3)),
    (89, (7, 8)),
    (90, (7, 8)),
    (100, (8, 6)),
    (101, (8, 6)),
    (103, (8, 8)),
    (110, (9, 0)),
    (120, (8, 7)),
    (121, (8, 8)),
];

/// The version that brought a target: those with a letter came later than the first ones without (ptxas 13.0). `None` if PTX has no such
/// target.
fn since(arch: Arch) -> Option<(u32, u32)> {
    let (_, since) = *ARCHITECTURES.iter().find(|(known, _)| *known == arch.sm)?;
    match arch.suffix {
        None => Some(since),
        Some('a') if arch.sm >= 90 => Some(since.max((8, 0))),
        Some('f') if arch.sm >= 100 => Some(since.max((8, 8))),
        Some(_) => None,
    }
}

/// Whether PTX has such a target.
pub(super) fn is_target(arch: Arch) -> bool {
    since(arch).is_some()
}

/// The target of a module; `None` if PTX has no such target.
fn arch(module: &Module<'_>) -> Option<Arch> {
    module.arch().filter(|arch| is_target(*arch))
}

/// The target that a module is for.
pub(super) fn target_of(text: &str) -> Option<Arch> {
    arch(&cuda_ptx::parse(text).ok()?)
}

/// The refusal of PTX for a newer device.
pub(super) fn target_too_new() -> Refusal {
    let message = "SM version specified by .target is higher than default SM version assumed";
    Refusal::fatal(message).of_kind("target")
}

/// The refusal of PTX that runs on other devices only, in ptxas' words, with advice.
fn not_for(device: Architecture, target: Arch) -> Refusal {
    let (refusal, which) = match target.suffix {
        _ if target.sm > device.number() => (target_too_new(), format!("newer than this device ({device})")),
        Some('f') => {
            let message = format!(
                "Program with .target '{target}' cannot be compiled to different SM-family architecture"
            );
            let family = target.sm / 10;
            (
                Refusal::fatal(&message),
                format!("which only devices sm_{family}x run, and this one is {device}"),
            )
        }
        _ => {
            let message =
                format!("Program with .target '{target}' cannot be compiled to future architecture");
            let only = target.sm;
            (Refusal::fatal(&message), format!("which only sm_{only} runs, and this device is {device}"))
        }
    };
    let other = Architecture::ALL.iter().find(|architecture| architecture.runs(target));
    let elsewhere = other.map(|other| {
        format!(
            "CUDA_LAUNCH_EMULATOR_ARCH={other} (`--arch {other}`, `InstanceOptions::architecture`) makes the emulator's device one that runs \
             it, or "
        )
    });
    let elsewhere = elsewhere.unwrap_or_default();
    refusal
        .of_kind("target")
        .help(format!("the text is for {target}, {which}: {elsewhere}compile for {device}"))
}

/// The parts of a module's text that the driver reads.
#[derive(Default)]
pub(super) struct Outline {
    /// The shapes of the kernels, by name.
    pub(super) shapes: HashMap<String, Shape>,
    /// The names of the variables.
    pub(super) variables: Vec<String>,
}

/// Reads the text of a module; refuses modules that are not for this driver and device.
pub(super) fn outline(text: &str, device: Architecture) -> Result<Outline, Refusal> {
    // If the parser refuses it, the engine will, too, with the reason.
    let Ok(module) = cuda_ptx::parse(text) else { return Ok(Outline::default()) };
    check(&module, text, device)?;
    let kernels = || module.functions.iter().filter(|f| f.kind == FunctionKind::Entry);
    kernels().try_for_each(|kernel| check_kernel(kernel, module.version))?;
    let shapes = kernels().map(|f| (f.name.to_owned(), Shape::from(&f.directives))).collect();
    Ok(Outline { shapes, variables: module.variables.iter().map(|v| v.name.to_owned()).collect() })
}

fn check(module: &Module<'_>, text: &str, device: Architecture) -> Result<(), Refusal> {
    if module.version > newest_ptx() || !is_version(module.version.0, module.version.1) {
        return Err(Refusal::version(text));
    }
    let line =
        |directive: &str| 1 + text.split(directive).next().unwrap_or_default().matches('\n').count() as u32;
    let Some(target) = module.targets.first() else {
        let message = "Missing .target directive at start of file 'application ptx input'";
        return Err(Refusal::at(line(".version") + 1, "fatal", message));
    };
    let at = line(".target");
    let Some(arch) = arch(module) else {
        return Err(Refusal::at(at, "fatal", &format!("Unsupported .target '{target}'")));
    };
    if !device.runs(arch) {
        return Err(not_for(device, arch));
    }
    let (major, minor) = module.version;
    if since(arch) > Some(module.version) {
        let message = format!("PTX .version {major}.{minor} does not support .target {target}");
        return Err(Refusal::at(at, "error", &message));
    }
    if module.address_size != 64 {
        return Err(Refusal::fatal(if device < Architecture::Sm90 {
            " 32-Bit compilation is no longer supported"
        } else {
            " 32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures."
        }));
    }
    Ok(())
}

/// Bytes of parameters that a kernel may have, before and from PTX 8.1.
const PARAMETERS: (usize, usize) = (4352, 32_764);

fn check_kernel(kernel: &Function<'_>, version: (u32, u32)) -> Result<(), Refusal> {
    if kernel.directives.maxntid.is_some() && kernel.directives.reqntid.is_some() {
        let message = "Conflicting directives: .maxntid and .reqntid cannot both be specified";
        return Err(Refusal::at(kernel.line, "error", message));
    }
    let most = if version < (8, 1) { PARAMETERS.0 } else { PARAMETERS.1 };
    let bytes = kernel.parameter_bytes();
    if bytes > most {
        let name = kernel.name;
        let message = format!(
            "Entry function '{name}' uses too much parameter space (0x{bytes:x} bytes, 0x{most:x} max)."
        );
        return Err(Refusal::at(kernel.line, "error", &message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(newest_ptx(), (9, 0), "the process's own driver");
    }

    #[test]
    fn targets() {
        let target = |name: &str| target_of(&format!(".version 9.0 .target {name}")).map(|arch| arch.sm);
        assert_eq!(target("sm_90a"), Some(90));
        assert_eq!(target("sm_120f"), Some(120));
        assert_eq!(target("compute_90"), Some(90), "as ptxas has it");
        for wrong in ["sm_80a", "sm_999", "sm_90f", "sm_", "compute_", "90", "foo"] {
            assert_eq!(target(wrong), None, "{wrong}");
        }
    }
}
