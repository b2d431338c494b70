//! Arguments as values.
//!
//! Relies on: the words are the arguments of a call whose contract holds.
#![allow(unsafe_code)]

use crate::functions::{self, Function, Plain, Type};
use crate::kind::Kind;
use crate::objects::Objects;
use crate::read;
use crate::value::{Argument, Value};
use cuda_driver_sys::CUresult;

/// The arguments of a call.
///
/// # Safety
///
/// 1. `words` are the arguments of a call of that function whose contract holds.
pub(crate) unsafe fn arguments(function: &Function, words: &[u64], objects: &mut Objects) -> Vec<Argument> {
    let parameters = function.parameters.iter().zip(words);
    parameters
        .map(|(parameter, word)| {
            let value = match parameter.ty {
                Type::Plain(ty) => plain(ty, *word, objects),
                // SAFETY: 1: a `const char *` of the function: null, or a C string that is not written during the call,
                // by duty 1.
                Type::Text => unsafe { read::text(*word) }.map_or(Value::Null, Value::Text),
                Type::Out(_) | Type::OutText | Type::Pointer => pointer(*word, objects),
                Type::Opaque => Value::Opaque,
            };
            Argument { name: parameter.name, value, received: None, varies: parameter.varies }
        })
        .collect()
}

/// The value that each argument with a single result received, as a word.
///
/// # Safety
///
/// 1. `words` are the arguments of a call of that function whose contract holds and which succeeded.
pub(crate) unsafe fn results(function: &Function, words: &[u64]) -> Vec<(usize, u64)> {
    let parameters = function.parameters.iter().zip(words).enumerate();
    let results = parameters.filter(|(_, (_, word))| **word != 0);
    results
        .filter_map(|(number, (parameter, word))| match parameter.ty {
            // SAFETY: 1: the driver wrote a value of that type, because the call succeeded, and no other code uses the
            // output before the call returns, by duty 1; outputs that are not always written have other types.
            Type::Out(ty) => Some((number, unsafe { read::value(*word, ty) })),
            // SAFETY: 1: the driver wrote the address of a text or null, which has 8 bytes, and no other code uses
            // the output before the call returns, by duty 1.
            Type::OutText => Some((number, unsafe { read::value(*word, Plain::Host) })),
            _ => None,
        })
        .collect()
}

/// The results as values.
///
/// # Safety
///
/// 1. They are the results of a successful call of that function.
pub(crate) unsafe fn received(
    function: &Function,
    results: &[(usize, u64)],
    objects: &mut Objects,
) -> Vec<(usize, Value)> {
    let value = |(number, word): &(usize, u64)| {
        let value = match function.parameters.get(*number)?.ty {
            Type::Out(ty) => plain(ty, *word, objects),
            // SAFETY: 1: null, or a C string of the driver that the call has just returned, which lives as long as the object or forever:
            // duty 1.
            Type::OutText => unsafe { read::text(*word) }.map_or(Value::Null, Value::Text),
            _ => return None,
        };
        Some((*number, value))
    };
    results.iter().filter_map(value).collect()
}

/// A value from its word.
pub(crate) fn plain(ty: Plain, word: u64, objects: &mut Objects) -> Value {
    match ty {
        Plain::Unsigned(_) => Value::Unsigned(word),
        Plain::Signed => Value::Signed(word as i64),
        Plain::Float => Value::Float(f32::from_bits(word as u32)),
        Plain::Enum(names) => match functions::name_in(names, word as u32) {
            Some(name) => Value::Name(name),
            None => Value::Unsigned(word),
        },
        Plain::Result => CUresult(word as u32).name().map_or(Value::Unsigned(word), Value::Name),
        Plain::Handle(kind) => handle(kind, word, objects),
        Plain::Memory | Plain::Host => pointer(word, objects),
    }
}

/// The object of a handle.
pub(crate) fn handle(kind: Kind, handle: u64, objects: &mut Objects) -> Value {
    match (read::common_stream(kind, handle), handle) {
        (Some(stream), _) => Value::Stream(stream),
        (None, 0) => Value::Null,
        (None, _) => {
            let place = objects.meet(kind, handle);
            objects.at(place).map_or(Value::Null, |object| Value::Object(object.name))
        }
    }
}

/// An address, in known memory or elsewhere.
pub(crate) fn pointer(address: u64, objects: &Objects) -> Value {
    match memory(address, objects) {
        Some(value) => value,
        None if address == 0 => Value::Null,
        None => Value::Pointer(address),
    }
}

/// The memory that contains an address.
pub(crate) fn memory(address: u64, objects: &Objects) -> Option<Value> {
    let (place, offset) = objects.memory_at(address)?;
    objects.at(place).map(|object| Value::Object(object.name.plus(offset)))
}
