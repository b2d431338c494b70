//! Arguments that have a name, by which their values are set: in launch plans and prepared launches.

#![allow(unsafe_code)] // Overwriting argument bytes of a known size.

use std::any::type_name;
use std::fmt;
use std::ptr::from_ref;
use std::sync::Arc;

use super::args::Role;
use crate::driver::{MemoryWord, NamedArgument, PackedArguments};
use crate::error::{Error, ErrorKind, PlanError};
use crate::memory::{Allocation, DeviceCopy, DevicePtr, RowParts, SliceParts};

/// Memory to which a named argument is set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedMemory<'a> {
    address: &'a u64,
    /// Its length or pitch.
    second: &'a usize,
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) word: MemoryWord,
}

impl<'a> PassedMemory<'a> {
    pub(crate) fn slice<T: DeviceCopy>(parts: SliceParts<'a, T>, written: bool) -> Self {
        let SliceParts { address, len: second, allocation, .. } = parts;
        Self { address, second, allocation, word: MemoryWord::Slice(written) }
    }

    pub(crate) fn pointer<T: DeviceCopy>(parts: SliceParts<'a, T>, written: bool) -> Self {
        Self { word: MemoryWord::Pointer(written), ..Self::slice(parts, written) }
    }

    pub(crate) fn rows<T: DeviceCopy>(parts: RowParts<'a, T>, written: bool) -> Self {
        let RowParts { address, pitch: second, allocation, .. } = parts;
        Self { address, second, allocation, word: MemoryWord::Rows(written) }
    }
}

impl Role {
    /// How memory whose first parameter has this role is passed.
    pub(super) fn word(self, written: bool) -> Option<MemoryWord> {
        match self {
            Self::Address => Some(MemoryWord::Slice(written)),
            Self::Rows => Some(MemoryWord::Rows(written)),
            Self::Pointer => Some(MemoryWord::Pointer(written)),
            Self::Value | Self::Bits | Self::Length | Self::Pitch => None,
        }
    }
}

impl MemoryWord {
    pub(crate) fn is_written(self) -> bool {
        let (Self::Slice(written) | Self::Rows(written) | Self::Pointer(written)) = self;
        written
    }
}

impl NamedArgument {
    /// Whether it is a value of this type.
    #[inline(always)]
    pub(crate) fn takes_value<T: Copy>(&self) -> bool {
        self.memory.is_none() && self.size == size_of::<T>() && is_name(self.type_name, type_name::<T>())
    }

    /// Whether it is memory of these elements that was recorded with this word, or a value that is an address of such.
    pub(crate) fn takes_memory<T: DeviceCopy>(&self, word: MemoryWord) -> bool {
        match self.memory {
            Some(recorded) => recorded == word && self.type_name == type_name::<T>(),
            // A type of another crate may have the same name, but not the same size.
            None => matches!(word, MemoryWord::Pointer(_)) && self.takes_value::<DevicePtr<T>>(),
        }
    }

    /// Overwrites its value.
    ///
    /// # Safety
    /// 1. `arguments` are the ones that this argument belongs to; [`takes_value`](Self::takes_value) returned true for
    ///    this type.
    #[inline(always)]
    pub(crate) unsafe fn put_value<T: Copy>(&self, arguments: &mut PackedArguments, value: &T) {
        // SAFETY: 1: a value can be read; 2: `takes_value` compared the size of the parameter with that of `T`, by the caller's duty 1.
        unsafe { arguments.set_bytes(self.parameter, from_ref(value).cast(), size_of::<T>()) }
    }

    /// Overwrites its address, and its length or pitch if it has one.
    ///
    /// # Safety
    /// 1. `arguments` are the ones that this argument belongs to; [`takes_memory`](Self::takes_memory) returned true
    ///    for this type.
    pub(crate) unsafe fn put_memory(&self, arguments: &mut PackedArguments, memory: PassedMemory<'_>) {
        // SAFETY: 1: by the caller's duty 1 `takes_memory` found memory, whose one or two parameters have 8 bytes each, or a value of the
        // size of an address, which has 8 too: as many as can be read of address, length and pitch.
        unsafe {
            arguments.set(self.parameter, from_ref(memory.address).cast());
            if matches!(self.memory, Some(MemoryWord::Slice(_) | MemoryWord::Rows(_))) {
                arguments.set(self.parameter + 1, from_ref(memory.second).cast());
            }
        }
    }

    /// The error of setting it to something else.
    pub(crate) fn refuse(&self, kernel: &str, given: String) -> Error {
        let recorded = match self.memory {
            Some(word) => format!("{word} of {}", self.type_name),
            None => self.type_name.to_string(),
        };
        ErrorKind::from(PlanError::ArgumentType {
            name: self.name.clone(),
            kernel: kernel.to_string(),
            recorded,
            given,
        })
        .into()
    }
}

/// Whether both are the same name; usually they are the same string in memory.
#[inline]
fn is_name(one: &'static str, other: &'static str) -> bool {
    one.len() == other.len() && (std::ptr::addr_eq(one.as_ptr(), other.as_ptr()) || one == other)
}

/// The error of setting a name that is not there.
pub(crate) fn no_such_argument(name: &str, names: &[&str]) -> Error {
    let names = names.iter().map(ToString::to_string).collect();
    ErrorKind::from(PlanError::NoSuchArgument { name: name.to_string(), names }).into()
}

/// What memory is called in messages.
pub(crate) fn memory_word<T: DeviceCopy>(word: MemoryWord) -> String {
    format!("{word} of {}", type_name::<T>())
}

/// As the macro spells it.
impl fmt::Display for MemoryWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slice(false) => "slice(..)",
            Self::Slice(true) => "slice_mut(..)",
            Self::Rows(false) => "pitched(..)",
            Self::Rows(true) => "pitched_mut(..)",
            Self::Pointer(false) => "ptr(..)",
            Self::Pointer(true) => "ptr_mut(..)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_name_of_an_address_and_another_size_takes_no_memory() {
        let of_size = |size| {
            let (name, type_name) = (String::new(), type_name::<DevicePtr<f32>>());
            NamedArgument { name, parameter: 0, type_name, size, memory: None }
        };
        let word = MemoryWord::Pointer(false);
        assert!(of_size(8).takes_memory::<f32>(word) && !of_size(8).takes_memory::<u32>(word));
        assert!(!of_size(16).takes_memory::<f32>(word));
    }
}
