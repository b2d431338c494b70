//! The attributes of a range or mark, for callers and in the protocol's form.

use std::ffi::{CStr, CString, c_char};

/// A name and other attributes of a range or mark that a tool may show. A plain `&str` is enough.
#[derive(Clone, Copy, Debug, PartialEq)]
#[must_use]
pub struct Event<'a> {
    pub(super) name: &'a str,
    color: Option<u32>,
    category: u32,
    payload: Option<Payload>,
}

/// A number attached to a range or mark.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Payload {
    /// Unsigned.
    U64(u64),
    /// Signed.
    I64(i64),
    /// Floating point.
    F64(f64),
}

impl<'a> Event<'a> {
    /// An event with this name, which is truncated at the first NUL, if any.
    pub const fn new(name: &'a str) -> Self {
        Self { name, color: None, category: 0, payload: None }
    }

    /// Sets its colour: alpha, red, green, blue, from the highest byte down.
    pub const fn color(self, argb: u32) -> Self {
        Self { color: Some(argb), ..self }
    }

    /// Sets a number by which tools group events; 0 is none.
    pub const fn category(self, category: u32) -> Self {
        Self { category, ..self }
    }

    /// Sets a number that the tool shows with it.
    pub fn payload(self, payload: impl Into<Payload>) -> Self {
        Self { payload: Some(payload.into()), ..self }
    }
}

impl<'a> From<&'a str> for Event<'a> {
    fn from(name: &'a str) -> Self {
        Self::new(name)
    }
}

impl<'a> From<&'a String> for Event<'a> {
    fn from(name: &'a String) -> Self {
        Self::new(name)
    }
}

macro_rules! payloads {
    ($($ty:ty => $kind:ident;)*) => {$(
        impl From<$ty> for Payload {
            fn from(value: $ty) -> Self {
                Self::$kind(value)
            }
        }
    )*};
}

payloads! { u64 => U64; i64 => I64; f64 => F64; }

/// An event in the protocol's form, version 3.
#[repr(C)]
#[derive(Debug)]
pub(super) struct RawEvent {
    version: u16,
    size: u16,
    category: u32,
    /// 1 for a colour.
    color_type: i32,
    color: u32,
    /// 0 for none, 1 for `u64`, 2 for `i64`, 3 for `f64`.
    payload_type: i32,
    reserved: i32,
    payload: u64,
    /// 1 for text that ends in NUL.
    message_type: i32,
    message: *const c_char,
}

pub(super) const VERSION: u16 = 3;

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawEvent>() == 48);

impl RawEvent {
    /// Points to `name`.
    pub(super) fn new(event: &Event<'_>, name: &CStr) -> Self {
        let (payload_type, payload) = match event.payload {
            None => (0, 0),
            Some(Payload::U64(value)) => (1, value),
            Some(Payload::I64(value)) => (2, value.cast_unsigned()),
            Some(Payload::F64(value)) => (3, value.to_bits()),
        };
        Self {
            version: VERSION,
            size: size_of::<Self>() as u16,
            category: event.category,
            color_type: event.color.is_some().into(),
            color: event.color.unwrap_or(0),
            payload_type,
            reserved: 0,
            payload,
            message_type: 1,
            message: name.as_ptr(),
        }
    }
}

/// The text up to its first NUL.
pub(super) fn c_string(text: &str) -> CString {
    let text = text.split('\0').next().unwrap_or_default();
    CString::new(text).unwrap_or_default()
}
