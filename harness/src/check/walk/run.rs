//! Follows a thread.

use super::decode::{Compute, Int, Op, Value, What};
use super::{Program, STEPS, Size, Touch};

/// The known value of a register.
#[derive(Clone, Copy)]
struct Known {
    bits: u64,
    /// The offset of the parameter from which it was computed.
    parameter: Option<u32>,
}

impl Program {
    /// Adds the accesses that a thread certainly makes.
    pub(in super::super) fn run(&self, block: &[u8], size: &Size, touches: &mut Vec<Touch>) {
        let mut thread = Thread { registers: vec![None; self.registers], block, size };
        let mut at = 0;
        for _ in 0..STEPS {
            let Some(Op { guard, what }) = self.ops.get(at) else { return };
            at += 1;
            let is_on = match guard {
                None => Some(true),
                Some((register, wanted)) => {
                    thread.get(*register).map(|known| (known.bits & 1 == 1) == *wanted)
                }
            };
            match (is_on, what) {
                (Some(false), _) => {}
                (None, What::Stop | What::Jump(_)) | (Some(true), What::Stop) => return,
                (Some(true), What::Jump(to)) => at = *to,
                (None, what) => thread.forget(what),
                (Some(true), what) => touches.extend(thread.step(what)),
            }
        }
    }
}

struct Thread<'launch> {
    registers: Vec<Option<Known>>,
    block: &'launch [u8],
    size: &'launch Size,
}

impl Thread<'_> {
    fn get(&self, register: usize) -> Option<Known> {
        self.registers.get(register).copied().flatten()
    }

    fn set(&mut self, register: usize, known: Option<Known>) {
        if let Some(place) = self.registers.get_mut(register) {
            *place = known;
        }
    }

    fn value(&self, value: Value) -> Option<Known> {
        match value {
            Value::Register(register) => self.get(register),
            Value::Bits(bits) => Some(Known { bits, parameter: None }),
            Value::Special(special) => Some(Known { bits: self.size.special(special), parameter: None }),
            Value::Unknown => None,
        }
    }

    /// Makes the results of an operation unknown, because it may have been executed or not.
    fn forget(&mut self, what: &What) {
        match what {
            What::Parameter { to, .. } | What::Compute { to, .. } => self.set(*to, None),
            What::Forget(list) => list.iter().for_each(|register| self.set(*register, None)),
            What::Touch { .. } | What::Jump(_) | What::Stop => {}
        }
    }

    fn step(&mut self, what: &What) -> Option<Touch> {
        match what {
            What::Parameter { to, offset, bytes, is_signed } => {
                let known = self.argument(*offset, *bytes, *is_signed);
                self.set(*to, known);
            }
            What::Compute { to, how, of, from } => {
                let known = self.compute(*how, *of, *from);
                self.set(*to, known);
            }
            What::Touch { base, offset, bytes, how } => {
                let known = self.value(*base)?;
                let address = known.bits.wrapping_add_signed(*offset);
                return Some(Touch {
                    address,
                    bytes: *bytes,
                    how: *how,
                    parameter: known.parameter.map(|offset| offset as usize),
                });
            }
            What::Forget(_) | What::Jump(_) | What::Stop => self.forget(what),
        }
        None
    }

    fn argument(&self, offset: usize, bytes: usize, is_signed: bool) -> Option<Known> {
        let mut word = [0; 8];
        let from = self.block.get(offset..offset.checked_add(bytes)?)?;
        word.get_mut(..bytes)?.copy_from_slice(from);
        // A register may be wider than the loaded value.
        let of = Int { bits: 8 * u32::try_from(bytes).ok()?, is_signed };
        Some(Known {
            bits: extend(u64::from_le_bytes(word), of) as u64,
            parameter: u32::try_from(offset).ok().filter(|_| bytes == 8),
        })
    }

    fn compute(&self, how: Compute, of: Int, from: [Value; 3]) -> Option<Known> {
        let [a, b, c] = from;
        if how == Compute::Select {
            let chosen = self.value(if self.value(c)?.bits & 1 == 1 { a } else { b })?;
            return Some(Known { bits: cut(chosen.bits, of.bits), ..chosen });
        }
        let a = self.value(a)?;
        if how == Compute::Copy {
            return Some(Known { bits: cut(a.bits, of.bits), ..a });
        }
        let b = self.value(b)?;
        // In a multiplication with addition, only the addend can be an address.
        let (bits, made_of) = match how {
            Compute::MultiplyAdd | Compute::MultiplyAddWide => {
                let c = self.value(c)?;
                let wide = how == Compute::MultiplyAddWide;
                let bits = if wide { of.bits.saturating_mul(2) } else { of.bits };
                let product = extend(a.bits, of).wrapping_mul(extend(b.bits, of));
                (cut((product as u64).wrapping_add(c.bits), bits), c.parameter)
            }
            Compute::Add | Compute::Sub | Compute::Convert(_) | Compute::And => {
                (two(how, of, a.bits, b.bits)?, a.parameter.or(b.parameter))
            }
            _ => (two(how, of, a.bits, b.bits)?, None),
        };
        Some(Known { bits, parameter: made_of })
    }
}

/// The lowest bits.
fn cut(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}

/// The number that the bits represent.
fn extend(value: u64, of: Int) -> i128 {
    let value = cut(value, of.bits);
    let is_negative = of.is_signed && value >> (of.bits - 1) & 1 == 1;
    i128::from(value) - if is_negative { 1 << of.bits } else { 0 }
}

fn two(how: Compute, of: Int, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (extend(a, of), extend(b, of));
    let truth = |is: bool| Some(u64::from(is));
    let result = match how {
        // The register may be wider than the type.
        Compute::Convert(from) => return Some(extend(extend(a, from) as u64, of) as u64),
        Compute::Add => x + y,
        Compute::Sub => x - y,
        Compute::Multiply => x.wrapping_mul(y),
        Compute::MultiplyHigh => x.wrapping_mul(y) >> of.bits,
        Compute::MultiplyWide => return Some(cut(x.wrapping_mul(y) as u64, of.bits * 2)),
        Compute::Divide => x.checked_div(y)?,
        Compute::Remainder => x.checked_rem(y)?,
        Compute::Min => x.min(y),
        Compute::Max => x.max(y),
        Compute::And => x & y,
        Compute::Or => x | y,
        Compute::Xor => x ^ y,
        Compute::Not => !x,
        Compute::Negate => -x,
        Compute::Ones => return Some(cut(a, of.bits).count_ones().into()),
        Compute::Left => {
            let by = cut(b, 32);
            if by >= u64::from(of.bits) { 0 } else { x << by }
        }
        Compute::Right => x >> cut(b, 32).min(127),
        Compute::Equal => return truth(x == y),
        Compute::NotEqual => return truth(x != y),
        Compute::Less => return truth(x < y),
        Compute::LessOrEqual => return truth(x <= y),
        Compute::Greater => return truth(x > y),
        Compute::GreaterOrEqual => return truth(x >= y),
        Compute::MultiplyAdd | Compute::MultiplyAddWide | Compute::Select | Compute::Copy => return None,
    };
    Some(cut(result as u64, of.bits))
}
