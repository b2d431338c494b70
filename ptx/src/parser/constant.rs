//! Constant expressions (PTX ISA, "Constant Expressions"): 64-bit integers, signed unless an operand is not.

use super::cursor::Cursor;
use crate::error::{Fault, Message};
use crate::lexer::Kind;
use crate::tree::Literal;

/// An integer under evaluation.
#[derive(Clone, Copy)]
pub(super) struct Value {
    bits: i64,
    unsigned: bool,
}

impl Value {
    fn signed(bits: i64) -> Self {
        Self { bits, unsigned: false }
    }

    pub(super) fn literal(self) -> Literal {
        Literal::Int(self.bits)
    }
}

/// Binary operators by precedence, loosest first; longer spellings before their prefixes.
const LEVELS: &[&[&str]] = &[
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];
const MULTIPLICATIVE: usize = 9;

/// The word that stands for the number of threads in a warp.
pub(super) const WARP_SIZE: &str = "WARP_SZ";

impl<'a> Cursor<'a> {
    /// Can the current token start an integer constant expression?
    pub(super) fn at_constant(&self) -> bool {
        match self.token.kind {
            Kind::Number | Kind::Punct(b'(' | b'-' | b'+' | b'~' | b'!') => true,
            Kind::Word => self.text() == WARP_SIZE,
            _ => false,
        }
    }

    /// A whole expression.
    pub(super) fn constant(&mut self) -> Result<i64, Fault> {
        let first = self.unary()?;
        self.constant_from(first).map(|v| v.bits)
    }

    /// An extent, alignment or count: a constant that is not negative.
    pub(super) fn extent(&mut self, what: &'static str) -> Result<u64, Fault> {
        let place = self.token.place();
        if !self.at_constant() {
            return Err(self.expected(what));
        }
        let first = self.unary()?;
        let value = self.constant_from(first)?;
        u64::try_from(value.bits).map_err(|_| Fault::at(place, Message::Negative(what)))
    }

    /// The rest of an expression whose first operand has been read.
    pub(super) fn constant_from(&mut self, first: Value) -> Result<Value, Fault> {
        let condition = self.binary(first, 0)?;
        if !self.eat(b'?')? {
            return Ok(condition);
        }
        self.nested(|c| {
            let yes = c.ternary_arm()?;
            c.expect(b':', "of `? :`")?;
            let no = c.ternary_arm()?;
            let chosen = if condition.bits != 0 { yes } else { no };
            Ok(Value { bits: chosen.bits, unsigned: yes.unsigned || no.unsigned })
        })
    }

    fn ternary_arm(&mut self) -> Result<Value, Fault> {
        let first = self.unary()?;
        self.constant_from(first)
    }

    /// `+4`, `-4`, `+-4+8` behind a symbol: the sum of the signed terms.
    pub(super) fn offset(&mut self) -> Result<i64, Fault> {
        let mut sum = 0i64;
        while self.at(b'+') || self.at(b'-') {
            let minus = self.at(b'-');
            self.advance()?;
            let first = self.unary()?;
            let term = self.binary(first, MULTIPLICATIVE)?.bits;
            sum = if minus { sum.wrapping_sub(term) } else { sum.wrapping_add(term) };
        }
        Ok(sum)
    }

    pub(super) fn unary(&mut self) -> Result<Value, Fault> {
        if self.at_word() && self.text() == WARP_SIZE {
            self.advance()?;
            return Ok(Value::signed(32));
        }
        match self.token.kind {
            Kind::Punct(b'(') => self.nested(Self::parenthesised),
            Kind::Punct(operator @ (b'-' | b'+' | b'~' | b'!')) => {
                self.advance()?;
                let v = self.nested(Self::unary)?;
                Ok(match operator {
                    b'-' => Value { bits: v.bits.wrapping_neg(), ..v },
                    b'~' => Value { bits: !v.bits, ..v },
                    b'!' => Value::signed(i64::from(v.bits == 0)),
                    _ => v,
                })
            }
            _ => {
                let start = self.token.start;
                match self.literal()? {
                    (Literal::Int(bits), unsigned) => Ok(Value { bits, unsigned }),
                    _ => Err(Fault::new(start, "expected an integer, found a float")),
                }
            }
        }
    }

    /// `( expression )`, or a cast `(.s64)`, `(.u64)`.
    fn parenthesised(&mut self) -> Result<Value, Fault> {
        self.advance()?;
        if let Some(name) = self.directive() {
            let unsigned = match name {
                "s64" => false,
                "u64" => true,
                _ => return Err(self.expected("`.s64` or `.u64`")),
            };
            self.advance()?;
            self.expect(b')', "after the cast")?;
            return Ok(Value { bits: self.unary()?.bits, unsigned });
        }
        let value = self.ternary_arm()?;
        self.expect(b')', "after the constant")?;
        Ok(value)
    }

    /// Precedence climbing: operators of `level` and tighter.
    fn binary(&mut self, first: Value, level: usize) -> Result<Value, Fault> {
        let Some(operators) = LEVELS.get(level) else { return Ok(first) };
        let mut left = self.binary(first, level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let start = self.token.start;
            for _ in 0..operator.len() {
                self.advance()?;
            }
            let first = self.unary()?;
            let right = self.binary(first, level + 1)?;
            left = apply(operator, left, right).ok_or_else(|| Fault::new(start, "division by zero"))?;
        }
        Ok(left)
    }

    /// Which of the operators the source goes on with. A single `|`, `&`, `<` or `>` must not be half of another.
    fn operator(&self, operators: &[&'static str]) -> Option<&'static str> {
        let Kind::Punct(first) = self.token.kind else { return None };
        let rest = self.lexer.text().as_bytes().get(self.token.start..)?;
        let found = operators.iter().find(|o| rest.starts_with(o.as_bytes()))?;
        let doubled =
            found.len() == 1 && matches!(first, b'|' | b'&' | b'<' | b'>') && rest.get(1) == Some(&first);
        (!doubled).then_some(*found)
    }
}

fn apply(operator: &str, left: Value, right: Value) -> Option<Value> {
    let (a, b) = (left.bits, right.bits);
    let unsigned = left.unsigned || right.unsigned;
    let (ua, ub) = (a as u64, b as u64);
    let truth = |t: bool| Some(Value::signed(i64::from(t)));
    let less = if unsigned { ua < ub } else { a < b };
    // A shift by 64 or more leaves nothing, or the sign.
    let count = u32::try_from(ub).unwrap_or(u32::MAX);
    let bits = match operator {
        "||" => return truth(a != 0 || b != 0),
        "&&" => return truth(a != 0 && b != 0),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(less),
        ">=" => return truth(!less),
        ">" => return truth(!less && a != b),
        "<=" => return truth(less || a == b),
        "<<" => return Some(Value { bits: a.checked_shl(count).unwrap_or(0), ..left }),
        ">>" if left.unsigned => {
            return Some(Value { bits: ua.checked_shr(count).unwrap_or(0) as i64, ..left });
        }
        ">>" => return Some(Value { bits: a >> count.min(63), ..left }),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        _ if b == 0 => return None,
        "/" if unsigned => (ua / ub) as i64,
        "/" => a.wrapping_div(b),
        _ if unsigned => (ua % ub) as i64,
        _ => a.wrapping_rem(b),
    };
    Some(Value { bits, unsigned })
}

const _: () = assert!(LEVELS.len() == MULTIPLICATIVE + 1);
