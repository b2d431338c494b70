//! Elements: their channels in memory, and as kernels read them.

use crate::numeric::half::{f16_to_f32, f32_to_f16};

/// How one channel is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // numbers by their names
pub enum Channel {
    U8,
    U16,
    U32,
    I8,
    I16,
    I32,
    F16,
    F32,
    /// Unsigned, always read as a fraction of its largest value.
    Unorm8,
    Unorm16,
    /// Signed, always read as a fraction of its largest value.
    Snorm8,
    Snorm16,
}

impl Channel {
    /// Bytes.
    pub fn bytes(self) -> usize {
        match self {
            Channel::U8 | Channel::I8 | Channel::Unorm8 | Channel::Snorm8 => 1,
            Channel::U16 | Channel::I16 | Channel::F16 | Channel::Unorm16 | Channel::Snorm16 => 2,
            Channel::U32 | Channel::I32 | Channel::F32 => 4,
        }
    }

    /// Whether it is read as an integer, where short integers are not fractions.
    pub fn is_integer(self, integer: bool) -> bool {
        match self {
            Channel::U32 | Channel::I32 => true,
            Channel::U8 | Channel::U16 | Channel::I8 | Channel::I16 => integer,
            _ => false,
        }
    }

    /// Whether it is an integer with a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, Channel::I8 | Channel::I16 | Channel::I32)
    }

    /// The bytes of a number of 32 bits, the low ones first: integers as the nearest there is, fractions of the largest value rounded to the
    /// nearest, floats from an `f32`.
    fn store(self, number: u32) -> u32 {
        let float = f32::from_bits(number);
        let signed = |least: i32, most: i32| (number as i32).clamp(least, most) as u32;
        // NaN is zero.
        let fraction = |least: f32, most: f32| (float.max(least).min(1.0) * most).round_ties_even();
        match self {
            Channel::U8 => number.min(0xff),
            Channel::U16 => number.min(0xffff),
            Channel::I8 => signed(-0x80, 0x7f),
            Channel::I16 => signed(-0x8000, 0x7fff),
            Channel::U32 | Channel::I32 | Channel::F32 => number,
            Channel::F16 => u32::from(f32_to_f16(float)),
            _ if float.is_nan() => 0,
            Channel::Unorm8 => fraction(0.0, 255.0) as u32,
            Channel::Unorm16 => fraction(0.0, 65535.0) as u32,
            Channel::Snorm8 => fraction(-1.0, 127.0) as i32 as u32,
            Channel::Snorm16 => fraction(-1.0, 32767.0) as i32 as u32,
        }
    }

    /// The number in memory, as 32 bits: integers extended, floats as an `f32`.
    fn load(self, bytes: &[u8]) -> u32 {
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
        let short = u16::from_le_bytes([byte(0), byte(1)]);
        match self {
            Channel::U8 | Channel::Unorm8 => u32::from(byte(0)),
            Channel::I8 | Channel::Snorm8 => byte(0) as i8 as u32,
            Channel::U16 | Channel::Unorm16 => u32::from(short),
            Channel::I16 | Channel::Snorm16 => short as i16 as u32,
            Channel::F16 => f16_to_f32(short).to_bits(),
            Channel::U32 | Channel::I32 | Channel::F32 => {
                u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
            }
        }
    }

    /// A loaded number as a float: short integers as a fraction of their largest value.
    fn fraction(self, bits: u32) -> f32 {
        let signed = bits as i32 as f32;
        match self {
            Channel::U8 | Channel::Unorm8 => bits as f32 / 255.0,
            Channel::U16 | Channel::Unorm16 => bits as f32 / 65535.0,
            Channel::I8 | Channel::Snorm8 => (signed / 127.0).max(-1.0),
            Channel::I16 | Channel::Snorm16 => (signed / 32767.0).max(-1.0),
            _ => f32::from_bits(bits),
        }
    }
}

/// An element: its channels, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texel {
    /// How each channel is kept.
    pub channel: Channel,
    /// 1, 2 or 4.
    pub channels: u32,
}

/// Four channels as a kernel reads them: floats, or integers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Floats.
    Float([f32; 4]),
    /// Integers, extended.
    Integer([u32; 4]),
}

impl Value {
    /// The bits of a channel.
    pub fn bits(self, channel: usize) -> u32 {
        match self {
            Value::Float(values) => values.get(channel).map_or(0, |value| value.to_bits()),
            Value::Integer(values) => values.get(channel).copied().unwrap_or(0),
        }
    }

    /// The floats; integers are not mixed.
    pub(super) fn floats(self) -> [f32; 4] {
        match self {
            Value::Float(values) => values,
            Value::Integer(values) => values.map(f32::from_bits),
        }
    }
}

impl Texel {
    /// Bytes.
    pub fn bytes(self) -> usize {
        self.channel.bytes() * self.channels as usize
    }

    /// Writes an element of these numbers into `bytes`; what it has no channel for is left out.
    pub fn encode(self, numbers: [u32; 4], bytes: &mut [u8]) {
        let each = self.channel.bytes();
        for (bytes, number) in bytes.chunks_exact_mut(each).zip(numbers) {
            bytes.iter_mut().zip(self.channel.store(number).to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }

    /// The element in `bytes`. Channels that it does not have are 0, the fourth 1.
    pub(super) fn decode(self, bytes: &[u8], integer: bool, srgb: bool) -> Value {
        let raw = |index: usize| {
            let start = index * self.channel.bytes();
            let there = index < self.channels as usize;
            there.then(|| self.channel.load(bytes.get(start..).unwrap_or_default()))
        };
        if self.channel.is_integer(integer) {
            return Value::Integer([0, 1, 2, 3].map(|i| raw(i).unwrap_or(u32::from(i == 3))));
        }
        let srgb = srgb && matches!(self.channel, Channel::U8 | Channel::Unorm8);
        Value::Float([0, 1, 2, 3].map(|i| match raw(i).map(|bits| self.channel.fraction(bits)) {
            Some(value) if srgb && i < 3 => linear(value),
            Some(value) => value,
            None if i == 3 => 1.0,
            None => 0.0,
        }))
    }
}

/// An sRGB value from 0 to 1 as a linear one.
fn linear(value: f32) -> f32 {
    if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
}
