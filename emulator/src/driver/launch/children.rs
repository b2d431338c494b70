//! Launches of kernels by kernels: checked as those from the host are.

use cuda_driver_sys::{CUdevice_attribute, CUfunction_attribute, CUlimit};
use std::ffi::c_int;
use std::fmt;
use std::sync::Arc;

use super::cluster::Request;
use super::{begin, dimensions, has_registers};
use crate::driver::device::attributes::attribute_of;
use crate::driver::entry::{INVALID_VALUE, Outcome};
use crate::driver::function::{Function, attributes, occupancy};
use crate::driver::module::{MODULES, Module};
use crate::driver::{slot, state};
use crate::engine::{Asked, Child, Launch, Launcher, Question};

/// `cudaErrorInvalidConfiguration`
const INVALID_CONFIGURATION: u32 = 9;
/// `cudaErrorInvalidDevice`
const INVALID_DEVICE: u32 = 101;
/// `cudaErrorInvalidDeviceFunction`
const INVALID_DEVICE_FUNCTION: u32 = 98;

/// The kernels of a module, for one of them.
struct Children {
    module: Arc<Module>,
    /// Whose driver it is: the threads that run a kernel work for none.
    slot: usize,
    /// Whether what kernels do is counted.
    counted: bool,
    most: usize,
}

impl fmt::Debug for Children {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Children").field("module", &self.module.handle).finish_non_exhaustive()
    }
}

/// The kernels that a function may launch; `None` once its module is gone.
pub(super) fn of(function: &Function, counted: bool) -> Option<Box<dyn Launcher>> {
    let module = MODULES.get(function.module)?;
    let most = function.context.pending_launches();
    Some(Box::new(Children { module, slot: slot::current(), counted, most }))
}

impl Children {
    fn checked(&self, asked: &Asked) -> Result<Child, u32> {
        let function = self.module.function_at(asked.function).ok_or(INVALID_DEVICE_FUNCTION)?;
        let launch = place(&function, asked).map_err(|code| match code {
            INVALID_VALUE => INVALID_CONFIGURATION,
            // The others have the same number there.
            code => code.0,
        })?;
        let kernel = if self.counted { function.countable.counted() } else { &function.kernel };
        Ok(Child { kernel: Arc::clone(kernel), launch })
    }

    /// Both interfaces number attributes and limits, and the codes that these may have, alike.
    fn answered(&self, question: Question) -> Result<u64, u32> {
        let context = &self.module.context;
        let function = |at: usize| self.module.function_at(at).ok_or(INVALID_DEVICE_FUNCTION);
        let number = |value: c_int| value as u32;
        Ok(match question {
            Question::Limit(limit) => context.limit(CUlimit(limit)).map_err(|code| code.0)? as u64,
            Question::Device => number(context.device).into(),
            Question::Devices => state::get().map_or(0, |state| state.devices.len() as u64),
            Question::Attribute { device: ..0, .. } => return Err(INVALID_DEVICE),
            // Of others than its own a kernel is told nothing, and that there is number 0.
            Question::Attribute { attribute, device } if attribute == 0 || device != context.device => 0,
            Question::Attribute { attribute, device } => {
                let value = attribute_of(device, CUdevice_attribute(attribute));
                number(value.ok_or(INVALID_VALUE.0)?).into()
            }
            Question::Cache => number(context.cache().0 as c_int).into(),
            Question::Function { attribute, function: at } => {
                let value = attributes::get(&*function(at)?, CUfunction_attribute(attribute));
                number(value.map_err(|code| code.0)?).into()
            }
            Question::Blocks { function: at, threads, dynamic_shared } => {
                let blocks = occupancy::blocks(&*function(at)?, threads, dynamic_shared as usize);
                blocks.map_err(|code| code.0)?.into()
            }
        })
    }
}

impl Launcher for Children {
    fn parameter_bytes(&self, function: usize) -> Option<usize> {
        let _entered = slot::enter(self.slot);
        self.module.function_at(function).map(|function| function.kernel.parameter_bytes)
    }

    fn check(&self, asked: &Asked) -> Result<Child, u32> {
        let _entered = slot::enter(self.slot);
        self.checked(asked)
    }

    fn most_waiting(&self) -> usize {
        self.most
    }

    fn answer(&self, question: Question) -> Result<u64, u32> {
        let _entered = slot::enter(self.slot);
        self.answered(question)
    }
}

/// The launch, without its parameters.
fn place(function: &Arc<Function>, asked: &Asked) -> Outcome<Launch> {
    let (grid, block) = dimensions(function, asked.grid, asked.block)?;
    // Shared memory is given out in pieces, and a launch by a kernel is compared with whole ones.
    let unit = function.machine().shared_unit();
    if asked.dynamic_shared > function.settings().dynamic_shared.next_multiple_of(unit) {
        return Err(INVALID_VALUE);
    }
    let cluster = Request::default().cluster(function, grid)?;
    has_registers(function, block)?;
    function.is_complete_for_kernels()?;
    begin(function);
    let (cluster, dynamic_shared) = (cluster.unwrap_or([1; 3]), asked.dynamic_shared);
    Ok(Launch { grid, block, cluster, dynamic_shared, ..Launch::default() })
}
