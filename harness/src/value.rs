//! Values of arguments, as text that is the same in each run.

use crate::kind::Kind;
use std::fmt;

/// The name of an object: its kind, and a number that is unique within the kind, as in `stream#2`.
///
/// Numbers count from 1, in the order in which a spy meets objects. A driver reuses handles; a name always means the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectName {
    kind: Kind,
    number: u32,
    offset: u64,
}

impl ObjectName {
    pub(crate) fn new(kind: Kind, number: u32) -> ObjectName {
        ObjectName { kind, number, offset: 0 }
    }

    pub(crate) fn plus(self, offset: u64) -> ObjectName {
        ObjectName { offset, ..self }
    }

    /// Its kind.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Which one.
    pub fn number(self) -> u32 {
        self.number
    }

    /// For an address in memory: how many bytes after its start.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// Whether both are the same object, regardless of the offsets.
    pub fn is_of(self, other: ObjectName) -> bool {
        (self.kind, self.number) == (other.kind, other.number)
    }
}

/// `stream#2`; an address inside memory is `memory#1+64`.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.kind, self.number)?;
        if self.offset == 0 { Ok(()) } else { write!(f, "+{}", self.offset) }
    }
}

/// The value of an argument.
///
/// Its [`Display`](fmt::Display) has addresses; with `{:#}` it is the same in each run, as in a
/// [snapshot](crate::Calls::snapshot).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A number, also a size or flags.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A floating-point number.
    Float(f32),
    /// A value of an enum, by its name in the header.
    Name(&'static str),
    /// A handle, or an address in memory that the spy knows.
    Object(ObjectName),
    /// A null pointer or handle.
    Null,
    /// One of the streams that every context has: `default`, `legacy` or `per-thread`.
    Stream(&'static str),
    /// An address without a meaning to the spy.
    Pointer(u64),
    /// A C string.
    Text(String),
    /// A structure.
    Opaque,
}

impl Value {
    /// The number, if it is one.
    pub fn integer(&self) -> Option<i128> {
        match self {
            Value::Unsigned(value) => Some((*value).into()),
            Value::Signed(value) => Some((*value).into()),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn object(&self) -> Option<ObjectName> {
        match self {
            Value::Object(name) => Some(*name),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(value) => write!(f, "{value}"),
            Value::Signed(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Name(name) | Value::Stream(name) => f.write_str(name),
            Value::Object(name) => write!(f, "{name}"),
            Value::Null => f.write_str("null"),
            Value::Pointer(_) if f.alternate() => f.write_str("pointer"),
            Value::Pointer(address) => write!(f, "{address:#x}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Opaque => f.write_str(".."),
        }
    }
}

/// One argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub(crate) name: &'static str,
    pub(crate) value: Value,
    pub(crate) received: Option<Value>,
    pub(crate) varies: bool,
}

impl Argument {
    /// Its name in the header.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What was passed.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What the driver wrote where the argument points; none unless the call succeeded and the argument points to a single value.
    pub fn received(&self) -> Option<&Value> {
        self.received.as_ref()
    }
}

/// `bytesize: 4096`, or `dptr -> memory#1` with what was received. With `{:#}`, the same in each run.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.received {
            Some(_) if self.varies && f.alternate() => write!(f, "{} -> ..", self.name),
            Some(received) => {
                write!(f, "{} -> ", self.name)?;
                received.fmt(f)
            }
            None => {
                write!(f, "{}: ", self.name)?;
                self.value.fmt(f)
            }
        }
    }
}
