//! Function attributes and parameters. Readable and writable attributes and their bounds are those of driver 580 on
//! an H200, with the limits of the device.

use cuda_driver_sys::CUfunction_attribute as A;
use std::ffi::c_int;

use super::Function;
use crate::architecture::{Architecture, Machine};
use crate::driver::entry::{INVALID_VALUE, Out, Outcome};
use crate::driver::module::Shape;
use crate::driver::state::lock;
use crate::engine::Kernel;

/// Shared memory that a block can have without opting in.
const SHARED_DEFAULT: u32 = 48 << 10;
/// Registers that every thread of a block of 1024 can have.
const REGISTERS_OF_ALL: u32 = 64;
/// The limit that the compiler uses instead of a lower one.
const LOWEST_LIMIT: u32 = 24;

/// Attributes that can be set.
#[derive(Clone, Copy)]
pub(in crate::driver) struct Settings {
    /// `MAX_DYNAMIC_SHARED_SIZE_BYTES`
    pub(in crate::driver) dynamic_shared: u32,
    carveout: c_int,
    /// `REQUIRED_CLUSTER_*`; zeros where nothing is required.
    pub(in crate::driver) cluster: [c_int; 3],
    /// `NON_PORTABLE_CLUSTER_SIZE_ALLOWED`
    pub(in crate::driver) non_portable: bool,
    policy: c_int,
}

impl Settings {
    pub(super) fn of(kernel: &Kernel, shape: &Shape, machine: &Machine) -> Settings {
        Settings {
            // A kernel with more static shared memory than that has opted in implicitly.
            dynamic_shared: SHARED_DEFAULT
                .checked_sub(kernel.static_shared)
                .unwrap_or_else(|| machine.shared_optin.saturating_sub(kernel.static_shared)),
            carveout: -1,
            cluster: shape
                .cluster
                .map_or([0; 3], |dimensions| dimensions.map(|dimension| dimension as c_int)),
            non_portable: false,
            policy: 0,
        }
    }
}

impl Function {
    /// The limits of its device's multiprocessors.
    pub(in crate::driver) fn machine(&self) -> Machine {
        self.context.architecture().machine()
    }

    /// Registers of a thread. The engine counts values that are live at once; the real compiler reorders instructions,
    /// so a count slightly above the number that every launch can have is assumed to fit. It meets a limit by spilling
    /// values to memory.
    pub(in crate::driver) fn registers(&self) -> u32 {
        let count = match self.kernel.registers {
            count if count <= 2 * REGISTERS_OF_ALL => count.clamp(4, REGISTERS_OF_ALL),
            count => count.min(255),
        };
        let limit = self.shape.max_registers.map_or(255, |limit| limit.max(LOWEST_LIMIT));
        count.min(limit)
    }

    /// Most threads of a block: by `.maxntid` and by registers, of which a warp takes 256 at a time.
    pub(in crate::driver) fn max_threads(&self) -> u32 {
        let declared =
            self.shape.maxntid.map_or(1024, |[x, y, z]| x.saturating_mul(y).saturating_mul(z).min(1024));
        declared.min(self.warps_by_registers() * 32)
    }

    /// Warps whose registers fit into a multiprocessor.
    pub(in crate::driver) fn warps_by_registers(&self) -> u32 {
        self.machine().warps_by_registers(self.registers())
    }
}

/// `cuFuncGetAttribute`
pub(in crate::driver) fn get(function: &Function, attribute: A) -> Outcome<c_int> {
    get_of(function, &function.settings(), attribute)
}

/// The attribute of a function that has these settings.
pub(in crate::driver) fn get_of(function: &Function, settings: &Settings, attribute: A) -> Outcome<c_int> {
    let kernel = &function.kernel;
    let [width, height, depth] = settings.cluster;
    let number = |value: u32| c_int::try_from(value).unwrap_or(c_int::MAX);
    Ok(match attribute {
        A::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => number(function.max_threads()),
        A::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => number(kernel.static_shared),
        A::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => c_int::try_from(kernel.const_bytes).unwrap_or(c_int::MAX),
        A::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => number(kernel.local_bytes),
        A::CU_FUNC_ATTRIBUTE_NUM_REGS => number(function.registers()),
        A::CU_FUNC_ATTRIBUTE_PTX_VERSION => number(kernel.target),
        A::CU_FUNC_ATTRIBUTE_BINARY_VERSION => number(function.context.architecture().number()),
        A::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => 0,
        A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => number(settings.dynamic_shared),
        A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => settings.carveout,
        A::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET => {
            c_int::from(function.shape.explicit_cluster && !function.shape.blocks_are_clusters)
        }
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => width,
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => height,
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => depth,
        A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => c_int::from(settings.non_portable),
        A::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE => settings.policy,
        _ => return Err(INVALID_VALUE),
    })
}

/// `cuFuncSetAttribute`
pub(in crate::driver) fn set(function: &Function, attribute: A, value: c_int) -> Outcome {
    set_of(function, &mut lock(&function.settings), attribute, value)
}

/// Sets the attribute of a function that has these settings.
pub(in crate::driver) fn set_of(
    function: &Function,
    settings: &mut Settings,
    attribute: A,
    value: c_int,
) -> Outcome {
    let fixed = function.shape.cluster;
    let mut dimension = |axis: usize| {
        let slot = settings.cluster.get_mut(axis).ok_or(INVALID_VALUE)?;
        // A value that the kernel was compiled for can only be set to the same value.
        if value < 0 || fixed.is_some() && *slot != value {
            return Err(INVALID_VALUE);
        }
        *slot = value;
        Ok(())
    };
    match attribute {
        A::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
            let most = function.machine().shared_optin.saturating_sub(function.kernel.static_shared);
            settings.dynamic_shared =
                u32::try_from(value).ok().filter(|bytes| *bytes <= most).ok_or(INVALID_VALUE)?;
        }
        A::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
            settings.carveout = value;
        }
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH => dimension(0)?,
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT => dimension(1)?,
        A::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH => dimension(2)?,
        A::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => settings.non_portable = value != 0,
        A::CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE if (0..=2).contains(&value) => {
            settings.policy = value
        }
        _ => return Err(INVALID_VALUE),
    }
    Ok(())
}

/// The offsets of a kernel's parameters that the driver reports, and their total size. The compiler aligns addresses in the
/// bank of constants, not offsets: over-aligned parameters have other offsets than in a C structure.
pub(in crate::driver) fn offsets(kernel: &Kernel, device: Architecture) -> (Vec<usize>, usize) {
    let base = device.model().parameters;
    let mut end = base;
    let place = |parameter: &cuda_ptx::Parameter| {
        let start = end.next_multiple_of(parameter.align.max(1));
        end = start + parameter.size;
        start - base
    };
    let offsets = kernel.parameters.iter().map(place).collect();
    (offsets, end - base)
}

/// `cuFuncGetParamInfo`
pub(in crate::driver) fn parameter(
    function: &Function,
    index: usize,
    offset: &Out<usize>,
    size: &Out<usize>,
) -> Outcome {
    let parameter = function.kernel.parameters.get(index).ok_or(INVALID_VALUE)?;
    if offset.is_null() {
        return Err(INVALID_VALUE);
    }
    let offsets = offsets(&function.kernel, function.context.architecture()).0;
    offset.set(offsets.get(index).copied().ok_or(INVALID_VALUE)?);
    size.set(parameter.size);
    Ok(())
}
