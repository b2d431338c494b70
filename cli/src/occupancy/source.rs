//! Registers, shared memory and limits: from the image, or from a driver that compiled it.

use cuda_launch::device::DeviceAttribute;
use cuda_launch::{CudaContext, Error};
use cuda_ptx::image::Arch;

use super::Arguments;
use crate::failure::Failure;
use crate::image::volume;
use crate::kernel_file::File;
use crate::model::{Kernel, Part};
use cuda_emulator::architecture::{Machine, Resources};

pub(super) struct Known {
    pub(super) origin: String,
    pub(super) machine: Machine,
    pub(super) resources: Resources,
    /// Whether the registers are the emulator's estimate of ptxas' allocation.
    pub(super) estimated: bool,
}

/// With `--arch` the values come from the image, otherwise from the driver; for a cubin that the driver does not
/// accept, they come from the cubin.
pub(super) fn find(file: &File, kernel: &Kernel, arguments: &Arguments) -> Result<Known, Failure> {
    if let Some(name) = &arguments.arch {
        // `86`, as the other commands take it, too.
        let arch = Arch::from_name(name)
            .or_else(|| Arch::from_name(&format!("sm_{name}")))
            .ok_or_else(|| Failure::usage(format!("no architecture `{name}`; {}", Machine::known())))?;
        return of_image(file, kernel, Some(arch), arguments.registers.is_some());
    }
    let context = arguments.place.context()?;
    match of_driver(&context, file, kernel) {
        Ok(known) => Ok(known),
        Err(error) if error.is_invalid_image() => {
            of_image(file, kernel, None, false).map_err(|_| error.into())
        }
        Err(error) => Err(error.into()),
    }
}

fn of_driver(context: &CudaContext, file: &File, kernel: &Kernel) -> Result<Known, Error> {
    let function = file.load(context)?.load_function(&kernel.name)?;
    let number = |attribute: DeviceAttribute| -> Result<u32, Error> {
        Ok(u32::try_from(context.device_attribute(attribute)?).unwrap_or(0))
    };
    let limits = context.limits();
    let machine = Machine {
        threads: number(DeviceAttribute::MAX_THREADS_PER_MULTIPROCESSOR)?,
        blocks: number(DeviceAttribute::MAX_BLOCKS_PER_MULTIPROCESSOR)?,
        registers: number(DeviceAttribute::MAX_REGISTERS_PER_MULTIPROCESSOR)?,
        shared: number(DeviceAttribute::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        shared_reserved: number(DeviceAttribute::RESERVED_SHARED_MEMORY_PER_BLOCK)?,
        shared_optin: limits.max_shared_memory_optin,
        max_block: limits.max_threads_per_block,
    };
    let resources = Resources {
        registers: function.registers()?,
        shared: function.static_shared_memory(),
        max_threads: function.max_threads_per_block(),
    };
    let origin = context.device_name()?;
    // The emulator compiles nothing: it counts the values that are needed at once.
    let estimated = origin.to_lowercase().contains("emulator");
    Ok(Known { origin, machine, resources, estimated })
}

fn of_image(file: &File, kernel: &Kernel, arch: Option<Arch>, has_registers: bool) -> Result<Known, Failure> {
    let has =
        |part: &&Part| part.kernels.iter().any(|own| own.name == kernel.name && own.registers.is_some());
    // The entry for that architecture, or for the nearest before it.
    let cubins = file
        .parts
        .iter()
        .filter(has)
        .filter(|part| arch.is_none_or(|arch| part.arch.is_some_and(|own| own.sm <= arch.sm)));
    let part = cubins.max_by_key(|part| part.arch.map_or(0, |own| own.sm));
    let own = part.and_then(|part| part.kernels.iter().find(|own| own.name == kernel.name));
    if own.is_none() && !has_registers {
        return Err(Failure::usage(
            "PTX does not record register counts: give --registers with --arch, or let a driver compile it",
        ));
    }
    let arch = arch
        .or(part.and_then(|part| part.arch))
        .ok_or_else(|| Failure::usage("the image names no architecture: give --arch"))?;
    let machine = Machine::of_number(arch.sm)
        .ok_or_else(|| Failure::usage(format!("the limits of {arch} are not known; {}", Machine::known())))?;
    let kernel = own.unwrap_or(kernel);
    let declared = kernel.max_threads.or(kernel.required_threads);
    let threads = declared.map_or(u64::from(machine.max_block), volume);
    let resources = Resources {
        registers: kernel.registers.unwrap_or(0),
        shared: kernel.shared_bytes.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0),
        max_threads: u32::try_from(threads).unwrap_or(u32::MAX).min(machine.max_block),
    };
    Ok(Known { origin: format!("{arch}, by its published limits"), machine, resources, estimated: false })
}
