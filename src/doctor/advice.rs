//! What to do, from what was found: no look at the machine here, so that every case can be tested.

use cuda_driver_sys::CUresult;

use super::{Doctor, DriverReport, DriverSource};
use crate::error::device_hint;

/// The oldest driver that is supported: CUDA 11.8.
const OLDEST: u32 = 11080;

/// A line for each thing that is wrong. `wish` is what `CUDA_LAUNCH_DRIVER` says.
pub(super) fn advice(found: &Doctor, wish: Option<&str>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for driver in &found.drivers {
        let line = match driver.source {
            DriverSource::Variable => named(driver),
            DriverSource::System if wish.is_none_or(|wish| wish == "system") => system(found, driver),
            DriverSource::System | DriverSource::Emulator => None,
        };
        lines.extend(line);
    }
    lines.extend(found.drivers.iter().filter(|d| d.source != DriverSource::Emulator).filter_map(too_old));
    if wish == Some("emulator") && found.serving().is_none() {
        let compiled_in = found.drivers.iter().any(|driver| driver.source == DriverSource::Emulator);
        lines.push(if compiled_in {
            "the emulator provides no device: set CUDA_LAUNCH_EMULATOR_DEVICES to 1 or more, or unset it"
                .into()
        } else {
            "CUDA_LAUNCH_DRIVER is `emulator`: build the program with feature `emulator`".into()
        });
    }
    lines
}

/// A driver that the variable names.
fn named(driver: &DriverReport) -> Option<String> {
    driver.problem.as_ref()?;
    let why = match driver.code {
        Some(code) => device_hint(code)?,
        None => "it does not load as a driver".into(),
    };
    let name = &driver.name;
    Some(format!("CUDA_LAUNCH_DRIVER is {name:?}: {why}; unset the variable to take this machine's driver"))
}

/// This machine's driver.
fn system(found: &Doctor, driver: &DriverReport) -> Option<String> {
    if driver.is_stub {
        return device_hint(CUresult::CUDA_ERROR_STUB_LIBRARY);
    }
    if driver.problem.is_none() {
        return mismatch(found, driver);
    }
    match (driver.code, &found.kernel_module) {
        (Some(code), _) => Some(of_code(found, code)),
        (None, _) if driver.cuda_version.is_some() => Some(of_code(found, CUresult::CUDA_ERROR_NO_DEVICE)),
        (None, Some(module)) => Some(format!(
            "the kernel module {} is loaded, but its library libcuda.so.1 is not found: install the package of that \
             version, or start the container with NVIDIA's runtime",
            module.version
        )),
        (None, None) => Some(if found.serving().is_some() {
            "no NVIDIA driver is installed here, so kernels run on the emulator: install the driver to use a GPU".into()
        } else {
            "no NVIDIA driver is installed here: install it, or build the program with feature `emulator`"
                .into()
        }),
    }
}

/// What a driver that was loaded says when it is initialised.
fn of_code(found: &Doctor, code: CUresult) -> String {
    let files = found.kernel_module.as_ref().is_none_or(|module| module.has_device_files);
    match code {
        CUresult::CUDA_ERROR_NO_DEVICE if !files => {
            "the files /dev/nvidia* are missing: pass the devices into the container, or let nvidia-modprobe make them"
                .into()
        }
        CUresult::CUDA_ERROR_NO_DEVICE if found.kernel_module.is_none() && cfg!(target_os = "linux") => {
            "libcuda is there, but NVIDIA's kernel module is not loaded: run `modprobe nvidia`, and see the kernel's log"
                .into()
        }
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY => {
            "the links between the GPUs are not set up: start the service nvidia-fabricmanager of the driver's version"
                .into()
        }
        CUresult::CUDA_ERROR_UNKNOWN => {
            "the driver cannot reach its kernel module: load nvidia_uvm (`modprobe nvidia-uvm`), or reboot after an update \
             or suspend"
                .into()
        }
        CUresult::CUDA_ERROR_MPS_CONNECTION_FAILED => {
            "the MPS server does not respond: start nvidia-cuda-mps-control, or unset CUDA_MPS_PIPE_DIRECTORY".into()
        }
        code => device_hint(code).unwrap_or_else(|| format!("the driver returns {code:?}: see the kernel's log")),
    }
}

/// A library that is not of its kernel module's version, though it works.
fn mismatch(found: &Doctor, driver: &DriverReport) -> Option<String> {
    let (module, library) = (&found.kernel_module.as_ref()?.version, driver.library_version.as_ref()?);
    let file = driver.file.as_ref()?.display();
    (module != library).then(|| {
        format!(
            "{file} is of version {library}, the kernel module of {module}: that is a compatibility package, which not \
             every GPU supports, or a driver update that waits for a reboot"
        )
    })
}

fn too_old(driver: &DriverReport) -> Option<String> {
    let version = driver.cuda_version.filter(|version| *version < OLDEST)?;
    let [major, minor] = [version / 1000, version % 1000 / 10];
    Some(format!("the driver supports CUDA {major}.{minor}; this crate needs 11.8: update the driver"))
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceReport, KernelModule};
    use super::*;

    fn report(source: DriverSource, code: Option<CUresult>, problem: bool) -> DriverReport {
        DriverReport {
            name: "libcuda.so.1".into(),
            source,
            file: Some("/lib/libcuda.so.580.1.2".into()),
            library_version: Some("580.1.2".into()),
            cuda_version: None,
            devices: if problem { Vec::new() } else { vec![DeviceReport::default()] },
            problem: problem.then(|| "why".to_owned()),
            code,
            is_stub: false,
            serves: !problem,
        }
    }

    fn found(driver: DriverReport, module: Option<&str>) -> Doctor {
        let has_device_files = true;
        Doctor {
            drivers: vec![driver],
            kernel_module: module.map(|m| KernelModule { version: m.into(), has_device_files }),
            variables: Vec::new(),
            advice: Vec::new(),
        }
    }

    /// What is found, and a word of what is advised.
    #[test]
    fn each_case_has_its_line() {
        use CUresult as C;
        let bad = |code| report(DriverSource::System, code, true);
        let good = || report(DriverSource::System, None, false);
        let cases = [
            (found(bad(None), None), None, "no NVIDIA driver is installed"),
            (found(bad(None), Some("580.1.2")), None, "libcuda.so.1 is not found"),
            (found(DriverReport { is_stub: true, ..bad(None) }, None), None, "link stub"),
            (found(bad(Some(C::CUDA_ERROR_NO_DEVICE)), None), None, "modprobe nvidia"),
            (found(bad(Some(C::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH)), Some("1.2")), None, "different versions"),
            (
                found(bad(Some(C::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE)), None),
                None,
                "compatibility package",
            ),
            (found(bad(Some(C::CUDA_ERROR_SYSTEM_NOT_READY)), None), None, "fabricmanager"),
            (found(bad(Some(C::CUDA_ERROR_UNKNOWN)), None), None, "nvidia_uvm"),
            (found(bad(Some(C::CUDA_ERROR_LAUNCH_TIMEOUT)), None), Some("system"), "restart it"),
            (found(report(DriverSource::Variable, None, true), None), Some("/x"), "unset the variable"),
            (found(good(), Some("570.1.2")), None, "reboot"),
            (found(DriverReport { cuda_version: Some(11040), ..good() }, None), None, "CUDA 11.4"),
            (found(DriverReport { serves: false, ..good() }, None), Some("emulator"), "feature `emulator`"),
        ];
        for (found, wish, word) in cases {
            if word == "modprobe nvidia" && !cfg!(target_os = "linux") {
                continue;
            }
            let lines = advice(&found, wish);
            assert!(
                lines.len() == 1 && lines[0].contains(word) && !lines[0].contains('\n'),
                "{word}: {lines:?}"
            );
        }
        assert!(advice(&found(good(), Some("580.1.2")), None).is_empty());
        assert!(advice(&found(good(), None), None).is_empty());
    }
}
