//! `cuda-launch doctor`.

use cuda_launch::diagnostics::{DeviceReport, Doctor, DriverReport, DriverSource};
use serde_json::{Value, json};

use crate::failure::Exit;
use crate::output::Outcome;
use crate::style;
use crate::table::wrap;

pub(crate) fn run() -> Outcome {
    let found = cuda_launch::diagnostics::doctor();
    let mut outcome = Outcome::new(text(&found), json(&found));
    if found.serving().is_none() {
        outcome.exit = Exit::Found;
    }
    outcome
}

fn text(found: &Doctor) -> String {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let mut text = format!("cuda-launch {} on {system} {machine}\n", env!("CARGO_PKG_VERSION"));
    let module = found.kernel_module.as_ref().map_or("none found", |module| &module.version);
    text += &format!("{} {module}\n", style::strong("kernel module:"));
    text += &format!("{}\n", style::strong("drivers:"));
    found.drivers.iter().for_each(|report| text += &driver(report));
    if !found.variables.is_empty() {
        text += &format!("{}\n", style::strong("variables:"));
    }
    for variable in &found.variables {
        text += &wrap(&format!("{}={} ({})", variable.name, variable.value, variable.effect), "  ");
    }
    if found.advice.is_empty() {
        text += &format!("{}\n", style::good("all is well"));
    } else {
        text += &format!("{}\n", style::strong("advice:"));
        found.advice.iter().for_each(|line| text += &wrap(line, "  "));
    }
    text
}

fn driver(report: &DriverReport) -> String {
    let source = match report.source {
        DriverSource::Variable => "CUDA_LAUNCH_DRIVER",
        DriverSource::Emulator => "compiled in",
        _ => "this machine's",
    };
    let mark = if report.serves { style::good("* used") } else { style::faint("  -   ") };
    let mut text = format!("{mark}  {} ({source})", style::strong(&report.name));
    if let Some(version) = report.cuda_version {
        text += &format!(", supports CUDA up to {}", cuda(version));
    }
    text.push('\n');
    if let Some(file) = &report.file {
        let version = report.library_version.as_ref().map_or(String::new(), |v| format!(", version {v}"));
        text += &wrap(&format!("loaded from {}{version}", file.display()), "        ");
    }
    for line in report.problem.iter().flat_map(|problem| problem.lines()) {
        text += &wrap(line, "        ");
    }
    for device in &report.devices {
        let DeviceReport { ordinal, name, memory, uuid, pci_bus_id, .. } = device;
        let (major, minor) = device.compute_capability;
        let memory = *memory as f64 / f64::from(1_u32 << 30);
        text += &wrap(&format!("device {ordinal}: {name}"), "        ");
        text += &wrap(&format!("sm_{major}{minor}, {memory:.1} GiB, {pci_bus_id}"), "          ");
        text += &format!("          {uuid}\n");
    }
    text
}

/// 13000 is 13.0.
fn cuda(version: u32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn json(found: &Doctor) -> Value {
    let variables = found.variables.iter();
    json!({
        "schema": "cuda-launch.doctor.1",
        "version": env!("CARGO_PKG_VERSION"),
        "serving": found.serving().map(|driver| driver.name.clone()),
        "kernel_module": found.kernel_module.as_ref().map(|module| json!({
            "version": module.version, "has_device_files": module.has_device_files,
        })),
        "drivers": found.drivers.iter().map(driver_json).collect::<Vec<_>>(),
        "variables": variables.map(|v| json!({ "name": v.name, "value": v.value, "effect": v.effect })).collect::<Vec<_>>(),
        "advice": found.advice,
    })
}

fn driver_json(report: &DriverReport) -> Value {
    json!({
        "name": report.name,
        "source": match report.source {
            DriverSource::Variable => "variable",
            DriverSource::Emulator => "emulator",
            _ => "system",
        },
        "serves": report.serves,
        "file": report.file.as_ref().map(|file| file.display().to_string()),
        "library_version": report.library_version,
        "cuda": report.cuda_version.map(cuda),
        "problem": report.problem,
        "code": report.code.map(|code| code.0),
        "is_stub": report.is_stub,
        "devices": report.devices.iter().map(device_json).collect::<Vec<_>>(),
    })
}

fn device_json(device: &DeviceReport) -> Value {
    let (major, minor) = device.compute_capability;
    json!({
        "ordinal": device.ordinal,
        "name": device.name,
        "arch": format!("sm_{major}{minor}"),
        "memory_bytes": device.memory,
        "uuid": device.uuid,
        "pci_bus_id": device.pci_bus_id,
    })
}
