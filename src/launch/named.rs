//! Arguments that have a name, by which their values are set: in launch plans and prepared launches.

#![allow(unsafe_code)] // Overwriting argument bytes of a known size.

use std::any::type_name;
use std::ptr::from_ref;

use crate::driver::{NamedArgument, PackedArguments};
use crate::error::{Error, ErrorKind, PlanError};
use crate::memory::{DeviceCopy, DevicePtr, SliceParts};

impl NamedArgument {
    /// Whether it is a value of this type.
    pub(crate) fn takes_value<T: DeviceCopy>(&self) -> bool {
        self.slice.is_none() && self.size == size_of::<T>() && self.type_name == type_name::<T>()
    }

    /// Whether it is memory of these elements, to be written or only read.
    pub(crate) fn takes_memory<T: DeviceCopy>(&self, written: bool) -> bool {
        match self.slice {
            Some(recorded) => recorded == written && self.type_name == type_name::<T>(),
            // What stands for an address alone.
            None => {
                self.type_name == type_name::<DevicePtr<T>>()
                    && self.pointer.is_none_or(|recorded| recorded == written)
            }
        }
    }

    /// Overwrites its value.
    ///
    /// # Safety
    /// 1. `arguments` are those it is one of; [`takes_value`](Self::takes_value) said yes to this type.
    pub(crate) unsafe fn put_value<T: DeviceCopy>(&self, arguments: &mut PackedArguments, value: &T) {
        // SAFETY: 1: `takes_value` compared the size of the parameter with that of `T`, by the caller's duty 1.
        unsafe { arguments.set(self.parameter, from_ref(value).cast()) }
    }

    /// Overwrites its address, and its length if it has one.
    ///
    /// # Safety
    /// 1. `arguments` are those it is one of; [`takes_memory`](Self::takes_memory) said yes to this type.
    pub(crate) unsafe fn put_memory<T: DeviceCopy>(
        &self,
        arguments: &mut PackedArguments,
        parts: SliceParts<'_, T>,
    ) {
        // SAFETY: 1: `takes_memory` found a slice, of two parameters, or a `DevicePtr`, by the caller's duty 1: each has 8 bytes, as have
        // address and length.
        unsafe {
            arguments.set(self.parameter, from_ref(parts.address).cast());
            if self.slice.is_some() {
                arguments.set(self.parameter + 1, from_ref(parts.len).cast());
            }
        }
    }

    /// The error of setting it to something else.
    pub(crate) fn refuse(&self, kernel: &str, given: String) -> Error {
        let recorded = match (self.slice, self.pointer) {
            (Some(written), _) => format!("{} of {}", slice_word(written), self.type_name),
            (None, Some(true)) => format!("{} to be written", self.type_name),
            (None, _) => self.type_name.to_string(),
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

/// The error of setting a name that is not there.
pub(crate) fn no_such_argument(name: &str, names: &[&str]) -> Error {
    let names = names.iter().map(ToString::to_string).collect();
    ErrorKind::from(PlanError::NoSuchArgument { name: name.to_string(), names }).into()
}

/// What memory is called in messages.
pub(crate) fn memory_word<T: DeviceCopy>(written: bool) -> String {
    format!("{} of {}", slice_word(written), type_name::<T>())
}

/// How the macro spells it.
fn slice_word(written: bool) -> &'static str {
    if written { "slice_mut(..)" } else { "slice(..)" }
}
