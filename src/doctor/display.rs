//! What [`doctor`](super::doctor) found, in readable form.

use std::fmt;

use super::{DeviceReport, Doctor, DriverReport, DriverSource};

impl fmt::Display for Doctor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
        writeln!(f, "cuda-launch {} on {system} {machine}", env!("CARGO_PKG_VERSION"))?;
        match &self.kernel_module {
            Some(module) => writeln!(f, "kernel module: {}", module.version)?,
            None => writeln!(f, "kernel module: none found")?,
        }
        f.write_str("drivers:\n")?;
        for driver in &self.drivers {
            driver.fmt(f)?;
        }
        if !self.variables.is_empty() {
            f.write_str("variables:\n")?;
        }
        for variable in &self.variables {
            writeln!(f, "  {}={} ({})", variable.name, variable.value, variable.effect)?;
        }
        match self.advice.as_slice() {
            [] => f.write_str("all is well"),
            lines => {
                f.write_str("advice:")?;
                lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
        }
    }
}

impl fmt::Display for DriverReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = match self.source {
            DriverSource::Variable => "CUDA_LAUNCH_DRIVER",
            DriverSource::System => "this machine's",
            DriverSource::Emulator => "compiled in",
        };
        write!(f, "{} {} ({source})", if self.serves { "*" } else { " " }, self.name)?;
        if let Some(version) = self.cuda_version {
            write!(f, ", supports CUDA up to {}.{}", version / 1000, version % 1000 / 10)?;
        }
        if let Some(version) = &self.library_version {
            write!(f, ", version {version}")?;
        }
        if let Some(file) = &self.file {
            write!(f, ", loaded from {}", file.display())?;
        }
        f.write_str(if self.serves { ", is used\n" } else { "\n" })?;
        for line in self.problem.iter().flat_map(|problem| problem.lines()) {
            writeln!(f, "    {line}")?;
        }
        self.devices.iter().try_for_each(|device| writeln!(f, "    {device}"))
    }
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ordinal, name, memory, uuid, pci_bus_id, .. } = self;
        let (major, minor) = self.compute_capability;
        let memory = *memory as f64 / f64::from(1_u32 << 30);
        write!(f, "device {ordinal}: {name}, sm_{major}{minor}, {memory:.1} GiB, {pci_bus_id}, {uuid}")
    }
}
