//! A launch: configuration, attributes, and each argument by the kernel's own parameter list.
//!
//! Relies on: the program upholds the contract of the launch, so the spy may read what the driver reads: the configuration, and the
//! bytes of each parameter of the kernel.
#![allow(unsafe_code)]

use crate::functions::{Function, Plain};
use crate::kernel::Kernel;
use crate::read;
use crate::value::Value;
use cuda_driver_sys::{CUlaunchAttribute, CUlaunchAttributeID as Id, CUlaunchAttributeValue, CUlaunchConfig};
use std::fmt;
use std::mem::offset_of;
use std::ptr::null_mut;

/// The arguments of a call that launches a kernel, as numbers.
pub(crate) struct Raw {
    pub(crate) function: u64,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stream: u64,
    pub(crate) attributes: Vec<LaunchAttribute>,
    pub(crate) arguments: u64,
    pub(crate) extra: u64,
}

impl Raw {
    /// Reads them; `None` for other functions, and for those that launch a graph or several kernels.
    ///
    /// # Safety
    ///
    /// 1. `words` are the arguments of a call whose contract holds.
    pub(crate) unsafe fn of(function: &Function, words: &[u64]) -> Option<Raw> {
        match (function.name, words) {
            ("cuLaunchKernelEx", [config, kernel, arguments, extra]) => {
                if *config == 0 {
                    return None;
                }
                // SAFETY: 1: checked to be not null, so an aligned configuration with all members set, which is not written: duty 1.
                let config = unsafe { read::structure::<CUlaunchConfig>(*config) };
                Some(Raw {
                    function: *kernel,
                    grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
                    block: [config.blockDimX, config.blockDimY, config.blockDimZ],
                    shared: config.sharedMemBytes,
                    stream: config.hStream.expose_provenance() as u64,
                    // SAFETY: 1: the configuration of this launch, whose contract requires the list: duty 1.
                    attributes: unsafe { attributes(&config) },
                    arguments: *arguments,
                    extra: *extra,
                })
            }
            (
                "cuLaunchKernel" | "cuLaunchCooperativeKernel",
                [kernel, gx, gy, gz, bx, by, bz, shared, stream, rest @ ..],
            ) => Some(Raw {
                function: *kernel,
                grid: [*gx, *gy, *gz].map(|n| n as u32),
                block: [*bx, *by, *bz].map(|n| n as u32),
                shared: *shared as u32,
                stream: *stream,
                attributes: Vec::new(),
                arguments: rest.first().copied().unwrap_or(0),
                extra: rest.get(1).copied().unwrap_or(0),
            }),
            _ => None,
        }
    }

    /// The bytes of each argument; `None` if the driver cannot list the parameters, or the list or an argument is missing.
    ///
    /// # Safety
    ///
    /// 1. As for [`of`](Self::of), and the kernel is that of the launch.
    pub(crate) unsafe fn parameters(&self, kernel: &Kernel) -> Option<Vec<Parameter>> {
        let sizes = kernel.parameters.as_ref()?;
        let packed = match self.arguments {
            // SAFETY: 1: if there is no list of arguments, by the contract of a launch `extra` is null or a terminated list: duty 1.
            0 => unsafe { packed(self.extra) },
            _ => None,
        };
        // SAFETY: 1: called below if the list is not null: it has an aligned, initialised pointer for each parameter of
        // the kernel, and the program does not change it during the launch, by duty 1.
        let argument = |number: usize| unsafe { read::pointer(self.arguments, number) };
        let bytes = |number: usize, offset: usize, size: usize| match &packed {
            Some(buffer) => buffer.get(offset..offset + size).map(<[u8]>::to_vec),
            None if self.arguments == 0 => None,
            // A null address is left to the driver.
            None => match argument(number) {
                0 => None,
                // SAFETY: 1: not null, so it points to as many bytes as the parameter has, initialised or padding of
                // a C structure, which are not written during the launch: duty 1.
                at => Some(unsafe { read::block(at, size) }),
            },
        };
        let parameters = sizes.iter().enumerate();
        parameters
            .map(|(number, (offset, size))| {
                let bytes = bytes(number, *offset, *size)?;
                Some(Parameter { offset: *offset, bytes, value: None })
            })
            .collect()
    }
}

/// The buffer that an `extra` list names.
///
/// # Safety
///
/// 1. The address is null or that of such a list that the driver accepts.
unsafe fn packed(extra: u64) -> Option<Vec<u8>> {
    use cuda_driver_sys::{CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT};
    let (mut buffer, mut size) = (0, 0);
    // At most two pairs and an end mark.
    for pair in (0..4).step_by(2) {
        if extra == 0 {
            return None;
        }
        // SAFETY: 1: checked to be not null: up to its end, where the loop stops, the list has aligned pairs of
        // initialised pointers, which are not written during the launch, by duty 1.
        let (key, value) = unsafe {
            let key = read::pointer(extra, pair);
            (key, if key == 0 { 0 } else { read::pointer(extra, pair + 1) })
        };
        match u32::try_from(key) {
            Ok(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT) => buffer = value,
            Ok(CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT) => {
                // SAFETY: 1: the value of this key is the address of an aligned, initialised `size_t`, which is not
                // written during the launch, by duty 1.
                size = unsafe { read::structure::<usize>(value) };
            }
            _ => break,
        }
    }
    // SAFETY: 1: the list contains the length of the buffer: that many bytes are there, initialised or padding, and the
    // program does not change them during the launch: duty 1.
    (buffer != 0).then(|| unsafe { read::block(buffer, size) })
}

/// # Safety
///
/// 1. The configuration has a list with its number of attributes, each with the value that its id requires.
unsafe fn attributes(config: &CUlaunchConfig) -> Vec<LaunchAttribute> {
    let list = config.attrs.expose_provenance() as u64;
    let count = if list == 0 { 0 } else { config.numAttrs as u64 };
    let one = |number: u64| {
        let at = list + number * size_of::<CUlaunchAttribute>() as u64;
        // SAFETY: 1: the id of an attribute of the list, which the program has set and does not change until the call
        // returns, by duty 1. The padding after it, up to 8 bytes, need not be initialised.
        let id =
            Id(unsafe { read::value(at + offset_of!(CUlaunchAttribute, id) as u64, Plain::Unsigned(4)) }
                as u32);
        // SAFETY: 1: the value of the same attribute, with C alignment, which is not written until the call returns,
        // by duty 1; any bytes are a valid union.
        let value = unsafe {
            read::structure::<CUlaunchAttributeValue>(at + offset_of!(CUlaunchAttribute, value) as u64)
        };
        // SAFETY: as for the text below: the member is the one that the id requires.
        let event = unsafe {
            match id {
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => value.programmaticEvent.event,
                Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => value.launchCompletionEvent.event,
                _ => null_mut(),
            }
        };
        let event = event.expose_provenance() as u64;
        let cluster = match id {
            Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: the member is the one that the id requires the program to set: duty 1.
                let dim = unsafe { value.clusterDim };
                Some([dim.x, dim.y, dim.z])
            }
            _ => None,
        };
        // SAFETY: each member that is read is the one that the id in its arm requires the program to set: duty 1.
        let value = unsafe {
            match id {
                Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => value.cooperative.to_string(),
                Id::CU_LAUNCH_ATTRIBUTE_PRIORITY => value.priority.to_string(),
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION => {
                    value.programmaticStreamSerializationAllowed.to_string()
                }
                Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    let dim = value.clusterDim;
                    format!("({}, {}, {})", dim.x, dim.y, dim.z)
                }
                Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION => {
                    let dim = value.preferredClusterDim;
                    format!("({}, {}, {})", dim.x, dim.y, dim.z)
                }
                Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
                    value.sharedMemCarveout.to_string()
                }
                _ => "..".to_owned(),
            }
        };
        LaunchAttribute { id, value, event, cluster }
    };
    (0..count).map(one).collect()
}

/// The launch of a call.
///
/// Its [`Display`](fmt::Display) is one line; with `{:#}` it is the same in each run.
#[derive(Clone, Debug)]
pub struct Launch {
    pub(crate) kernel: Option<String>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) stream: Value,
    pub(crate) attributes: Vec<LaunchAttribute>,
    pub(crate) parameters: Option<Vec<Parameter>>,
}

impl Launch {
    /// The kernel's name; none on drivers before CUDA 12.3, and for a kernel that was loaded before the spy existed.
    pub fn kernel(&self) -> Option<&str> {
        self.kernel.as_deref()
    }

    /// Blocks of the grid in x, y and z.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a block in x, y and z.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Bytes of dynamic shared memory.
    pub fn shared_bytes(&self) -> u32 {
        self.shared
    }

    /// The stream.
    pub fn stream(&self) -> &Value {
        &self.stream
    }

    /// Its attributes, in the order of the call.
    pub fn attributes(&self) -> &[LaunchAttribute] {
        &self.attributes
    }

    /// Its arguments, by the kernel's own parameters; none if the driver cannot list these, as before CUDA 12.4, and for a kernel
    /// that was loaded before the spy existed.
    pub fn parameters(&self) -> Option<&[Parameter]> {
        self.parameters.as_deref()
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([gx, gy, gz], [bx, by, bz]) = (self.grid, self.block);
        let kernel = self.kernel().unwrap_or("?");
        write!(f, "{kernel}, grid: ({gx}, {gy}, {gz}), block: ({bx}, {by}, {bz})")?;
        if self.shared != 0 {
            write!(f, ", shared: {}", self.shared)?;
        }
        write!(f, ", stream: {}", self.stream)?;
        for attribute in &self.attributes {
            write!(f, ", {attribute}")?;
        }
        let Some(parameters) = &self.parameters else { return f.write_str(", arguments: ?") };
        f.write_str(", arguments: [")?;
        for (number, parameter) in parameters.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { ", " })?;
            parameter.fmt(f)?;
        }
        f.write_str("]")
    }
}

/// An attribute of a launch.
#[derive(Clone, Debug)]
pub struct LaunchAttribute {
    id: Id,
    value: String,
    /// The handle of the event that the launch records; null for other attributes.
    #[cfg_attr(not(feature = "check"), allow(dead_code, reason = "the checks follow it"))]
    pub(crate) event: u64,
    /// The dimensions of the cluster; none for other attributes.
    #[cfg_attr(not(feature = "check"), allow(dead_code, reason = "the checks compare it"))]
    pub(crate) cluster: Option<[u32; 3]>,
}

impl LaunchAttribute {
    /// The attribute's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Its value as text; `..` for the kinds with a structure of their own.
    pub fn value(&self) -> &str {
        &self.value
    }
}

/// `PRIORITY: -1`
impl fmt::Display for LaunchAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::functions::enum_name("CUlaunchAttributeID", self.id.0) {
            Some(name) => f.write_str(name.strip_prefix("CU_LAUNCH_ATTRIBUTE_").unwrap_or(name))?,
            None => write!(f, "attribute {}", self.id.0)?,
        }
        write!(f, ": {}", self.value)
    }
}

/// An argument of a kernel: the bytes of one of its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub(crate) offset: usize,
    pub(crate) bytes: Vec<u8>,
    /// The memory that it points into.
    pub(crate) value: Option<Value>,
}

impl Parameter {
    /// The offset of the parameter in the kernel's list, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The passed bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes as an unsigned number, for 1, 2, 4 or 8 of them.
    pub fn integer(&self) -> Option<u64> {
        let mut word = [0; 8];
        word.iter_mut().zip(&self.bytes).for_each(|(word, byte)| *word = *byte);
        matches!(self.bytes.len(), 1 | 2 | 4 | 8).then(|| u64::from_le_bytes(word))
    }

    /// The memory that it points into, if the spy knows it.
    pub fn memory(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The bytes in hexadecimal, the lowest address first.
    pub fn hex(&self) -> String {
        self.bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The memory, the number, or the bytes in hexadecimal.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, self.integer()) {
            (Some(memory), _) => memory.fmt(f),
            (None, Some(number)) => write!(f, "{number}"),
            (None, None) => write!(f, "0x{}", self.hex()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions;
    use std::mem::MaybeUninit;

    /// As a C program may fill it in: the two members, without the padding between and after them.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn an_attribute_is_read_as_far_as_programs_set_it() {
        let mut list = [MaybeUninit::<CUlaunchAttribute>::uninit(); 2];
        for (place, value) in list.iter_mut().zip([3, -4]) {
            let place = place.as_mut_ptr();
            // SAFETY: the memory is allocated and aligned; only its members are written, by their addresses.
            unsafe {
                (&raw mut (*place).id).write(Id::CU_LAUNCH_ATTRIBUTE_PRIORITY);
                (&raw mut (*place).value.priority).write(value);
            }
        }
        let config = CUlaunchConfig { attrs: list.as_mut_ptr().cast(), numAttrs: 2, ..Default::default() };
        let words = [(&raw const config).expose_provenance() as u64, 0, 0, 0];
        // SAFETY: 1: a complete configuration with a list of two, each with the member that its id requires; both
        // outlive the call.
        let raw = unsafe { Raw::of(functions::named("cuLaunchKernelEx").unwrap(), &words) }.unwrap();
        let shown: Vec<String> = raw.attributes.iter().map(LaunchAttribute::to_string).collect();
        assert_eq!(shown, ["PRIORITY: 3", "PRIORITY: -4"]);
    }
}
