//! Arguments that have a name, by which their values are set: in launch plans and prepared launches.

#![allow(unsafe_code)] // Overwriting argument bytes of a known size.

use std::any::type_name;
use std::fmt;
use std::ptr::from_ref;

use crate::driver::{NamedArgument, PackedArguments};
use crate::error::{Error, ErrorKind, PlanError};
use crate::memory::{DeviceCopy, DevicePtr, SliceParts};

/// What is passed of memory: with which word it was recorded, or is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryWord {
    /// `slice` or `slice_mut`, to be written.
    Slice(bool),
    /// `ptr` or `ptr_mut`.
    Pointer(bool),
}

impl MemoryWord {
    pub(crate) fn is_written(self) -> bool {
        let (Self::Slice(written) | Self::Pointer(written)) = self;
        written
    }
}

impl NamedArgument {
    /// Whether it is a value of this type.
    pub(crate) fn takes_value<T: Copy>(&self) -> bool {
        self.word().is_none() && self.size == size_of::<T>() && self.type_name == type_name::<T>()
    }

    /// Whether it is memory of these elements that was recorded with this word, or a value that is an address of such.
    pub(crate) fn takes_memory<T: DeviceCopy>(&self, word: MemoryWord) -> bool {
        match self.word() {
            Some(recorded) => recorded == word && self.type_name == type_name::<T>(),
            None => matches!(word, MemoryWord::Pointer(_)) && self.type_name == type_name::<DevicePtr<T>>(),
        }
    }

    /// The word that it was recorded with, if it is memory.
    fn word(&self) -> Option<MemoryWord> {
        self.slice.map(MemoryWord::Slice).or_else(|| self.pointer.map(MemoryWord::Pointer))
    }

    /// Overwrites its value.
    ///
    /// # Safety
    /// 1. `arguments` are those it is one of; [`takes_value`](Self::takes_value) said yes to this type.
    pub(crate) unsafe fn put_value<T: Copy>(&self, arguments: &mut PackedArguments, value: &T) {
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
        // SAFETY: 1: `takes_memory` found a slice, of two parameters, or an address, by the caller's duty 1: each has 8 bytes, as have
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
        let recorded = match self.word() {
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
            Self::Pointer(false) => "ptr(..)",
            Self::Pointer(true) => "ptr_mut(..)",
        })
    }
}
