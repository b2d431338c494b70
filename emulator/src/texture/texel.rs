//! Elements: their channels in memory, and as kernels read them.

use super::mix::{self, Precision};
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

    /// Whether it is read as an integer, so that short integers are not fractions.
    pub fn is_integer(self, integer: bool) -> bool {
        match self {
            Channel::U32 | Channel::I32 => true,
            Channel::U8 | Channel::U16 | Channel::I8 | Channel::I16 => integer,
            _ => false,
        }
    }

    /// Whether bytes of it may be sRGB.
    fn may_be_srgb(self) -> bool {
        matches!(self, Channel::U8 | Channel::Unorm8)
    }

    /// A loaded number as one of 16 bits, whose largest value is one: those of 8 bits are repeated. `None` of floats.
    fn wide(self, bits: u32) -> Option<i64> {
        let signed = i64::from(bits as i32);
        Some(match self {
            Channel::U8 | Channel::Unorm8 => i64::from(bits) * 257,
            Channel::U16 | Channel::Unorm16 => i64::from(bits),
            Channel::I8 | Channel::Snorm8 => {
                let size = signed.abs();
                ((size << 8) + (size << 1) + (size >> 6 & 1)) * signed.signum()
            }
            Channel::I16 | Channel::Snorm16 => signed,
            _ => return None,
        })
    }

    /// Whether it is read from -1 on.
    fn has_sign(self) -> bool {
        matches!(self, Channel::I8 | Channel::I16 | Channel::Snorm8 | Channel::Snorm16)
    }

    /// The number that a fraction is kept as.
    fn keep(self, number: u32) -> u32 {
        match self {
            Channel::U8 => Channel::Unorm8.store(number),
            Channel::U16 => Channel::Unorm16.store(number),
            Channel::I8 => Channel::Snorm8.store(number),
            Channel::I16 => Channel::Snorm16.store(number),
            // Larger numbers become the largest one.
            Channel::F16 => self.store(f32::from_bits(number).clamp(-65504.0, 65504.0).to_bits()),
            _ => self.store(number),
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
            Channel::F16 => u32::from(truncated(float)),
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

    /// Writes an element of these numbers into `bytes`; numbers without a channel are left out.
    pub fn encode(self, numbers: [u32; 4], bytes: &mut [u8]) {
        let each = self.channel.bytes();
        for (bytes, number) in bytes.chunks_exact_mut(each).zip(numbers) {
            bytes.iter_mut().zip(self.channel.store(number).to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }

    /// Writes an element of these floats into `bytes`: integers as fractions of their largest value.
    pub(super) fn encode_fraction(self, numbers: [u32; 4], bytes: &mut [u8; 16]) {
        let each = self.channel.bytes();
        for (bytes, number) in bytes.chunks_exact_mut(each).zip(numbers).take(self.channels as usize) {
            bytes.iter_mut().zip(self.channel.keep(number).to_le_bytes()).for_each(|(to, from)| *to = from);
        }
    }

    /// The mean of a channel of elements, each with its weight; the second four are another plane's.
    pub(super) fn mixed(self, elements: &[([u8; 16], i64); 8], channel: usize, srgb: bool) -> f32 {
        if channel >= self.channels as usize {
            return 0.0;
        }
        let load = |element: &[u8; 16]| {
            self.channel.load(element.get(channel * self.channel.bytes()..).unwrap_or_default())
        };
        let bytes = srgb && self.channel.may_be_srgb() && channel < 3;
        if !bytes && self.channel.wide(0).is_some() {
            let terms = elements
                .iter()
                .map(|(element, weight)| (self.channel.wide(load(element)).unwrap_or_default(), *weight));
            let mean = mix::integers(terms) as f32;
            return if self.channel.has_sign() { (mean / 32767.0).max(-1.0) } else { mean / 65535.0 };
        }
        let terms = elements.map(|(element, weight)| {
            let number = load(&element);
            (if bytes { linear(number) } else { f32::from_bits(number) }, weight)
        });
        let precision =
            if bytes || self.channel == Channel::F16 { Precision::Half } else { Precision::Single };
        let (near, far) = terms.split_at(4);
        mix::floats(near, far, precision)
    }

    /// The element in `bytes`. Channels that it does not have are 0 (H200).
    pub(super) fn decode(self, bytes: &[u8], integer: bool, srgb: bool) -> Value {
        let raw = |index: usize| {
            let start = index * self.channel.bytes();
            let there = index < self.channels as usize;
            there.then(|| self.channel.load(bytes.get(start..).unwrap_or_default()))
        };
        if self.channel.is_integer(integer) {
            return Value::Integer([0, 1, 2, 3].map(|i| raw(i).unwrap_or(0)));
        }
        let srgb = srgb && self.channel.may_be_srgb();
        Value::Float([0, 1, 2, 3].map(|i| match raw(i) {
            Some(bits) if srgb && i < 3 => linear(bits),
            Some(bits) => self.channel.fraction(bits),
            None => 0.0,
        }))
    }
}

/// The number of `.f16` towards zero, the largest number for larger ones; NaN is 0x7e00 (H200).
fn truncated(number: f32) -> u16 {
    if number.is_nan() {
        return 0x7e00;
    }
    let nearest = f32_to_f16(number);
    nearest - u16::from(f16_to_f32(nearest).abs() > number.abs())
}

/// An sRGB byte as a linear number: the value of an H200, which is not the number nearest to the standard's.
fn linear(byte: u32) -> f32 {
    f32::from_bits(u32::from(LINEAR[(byte & 0xff) as usize]) << 14)
}

/// The upper 18 bits of the linear number of each sRGB byte.
#[rustfmt::skip]
const LINEAR: [u16; 256] = [
    0x0000, 0xe680, 0xe880, 0xe9c0, 0xea80, 0xeb20, 0xebc0, 0xec30, 0xec80, 0xecd0, 0xed20, 0xed70,
    0xedc0, 0xee10, 0xee40, 0xee70, 0xeea8, 0xeee0, 0xef18, 0xef58, 0xef98, 0xefd8, 0xf00c, 0xf030,
    0xf058, 0xf07c, 0xf0a4, 0xf0d0, 0xf0f8, 0xf124, 0xf154, 0xf180, 0xf1b0, 0xf1e8, 0xf20c, 0xf228,
    0xf244, 0xf260, 0xf27c, 0xf298, 0xf2b8, 0xf2d8, 0xf2f8, 0xf318, 0xf338, 0xf35c, 0xf380, 0xf3a4,
    0xf3c8, 0xf3f0, 0xf40c, 0xf420, 0xf434, 0xf448, 0xf45c, 0xf470, 0xf488, 0xf4a0, 0xf4b4, 0xf4cc,
    0xf4e4, 0xf4fc, 0xf514, 0xf530, 0xf548, 0xf560, 0xf580, 0xf598, 0xf5b0, 0xf5d0, 0xf5e8, 0xf604,
    0xf614, 0xf620, 0xf630, 0xf640, 0xf650, 0xf660, 0xf670, 0xf680, 0xf690, 0xf6a4, 0xf6b4, 0xf6c4,
    0xf6d8, 0xf6e8, 0xf6fc, 0xf70c, 0xf720, 0xf734, 0xf744, 0xf758, 0xf76c, 0xf780, 0xf794, 0xf7a8,
    0xf7c0, 0xf7d0, 0xf7e8, 0xf800, 0xf808, 0xf814, 0xf820, 0xf82c, 0xf838, 0xf844, 0xf850, 0xf85c,
    0xf868, 0xf874, 0xf880, 0xf88c, 0xf898, 0xf8a4, 0xf8b0, 0xf8c0, 0xf8cc, 0xf8d8, 0xf8e8, 0xf8f4,
    0xf900, 0xf910, 0xf91c, 0xf92c, 0xf938, 0xf948, 0xf958, 0xf964, 0xf974, 0xf984, 0xf994, 0xf9a0,
    0xf9b0, 0xf9c0, 0xf9d0, 0xf9e0, 0xf9f0, 0xfa00, 0xfa08, 0xfa10, 0xfa18, 0xfa20, 0xfa28, 0xfa34,
    0xfa3c, 0xfa44, 0xfa4c, 0xfa54, 0xfa60, 0xfa68, 0xfa70, 0xfa78, 0xfa84, 0xfa8c, 0xfa94, 0xfaa0,
    0xfaa8, 0xfab4, 0xfabc, 0xfac8, 0xfad0, 0xfad8, 0xfae4, 0xfaf0, 0xfaf8, 0xfb04, 0xfb0c, 0xfb18,
    0xfb20, 0xfb2c, 0xfb38, 0xfb44, 0xfb4c, 0xfb58, 0xfb64, 0xfb6c, 0xfb78, 0xfb84, 0xfb90, 0xfb9c,
    0xfba8, 0xfbb4, 0xfbc0, 0xfbc8, 0xfbd8, 0xfbe0, 0xfbf0, 0xfbf8, 0xfc04, 0xfc08, 0xfc10, 0xfc14,
    0xfc1c, 0xfc24, 0xfc28, 0xfc30, 0xfc34, 0xfc3c, 0xfc44, 0xfc48, 0xfc50, 0xfc58, 0xfc5c, 0xfc64,
    0xfc6c, 0xfc70, 0xfc78, 0xfc80, 0xfc84, 0xfc8c, 0xfc94, 0xfc9c, 0xfca4, 0xfca8, 0xfcb0, 0xfcb8,
    0xfcc0, 0xfcc8, 0xfccc, 0xfcd4, 0xfcdc, 0xfce4, 0xfcec, 0xfcf4, 0xfcfc, 0xfd04, 0xfd0c, 0xfd14,
    0xfd1c, 0xfd24, 0xfd2c, 0xfd34, 0xfd3c, 0xfd44, 0xfd4c, 0xfd54, 0xfd5c, 0xfd64, 0xfd6c, 0xfd74,
    0xfd7c, 0xfd84, 0xfd8c, 0xfd94, 0xfda0, 0xfda8, 0xfdb0, 0xfdb8, 0xfdc0, 0xfdc8, 0xfdd0, 0xfdd8,
    0xfde8, 0xfdf0, 0xfdf8, 0xfe00,
];
