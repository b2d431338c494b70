//! Constant expressions (PTX ISA, "Constant Expressions"): 64-bit integers, signed unless an operand is not, and floats of 64 bits.
//!
//! What the ISA leaves open is done as in ptxas 13.0: `%` is unsigned, a shift uses the lowest six bits of its count, `? :` has the type of
//! the operand that it chooses, and integers and floats do not mix.

use super::cursor::Cursor;
use crate::error::{Fault, Message};
use crate::lexer::Kind;
use crate::number::Mistake;
use crate::tree::Literal;

/// A number under evaluation.
#[derive(Clone, Copy)]
pub(super) enum Value {
    Int {
        bits: i64,
        unsigned: bool,
    },
    /// The bits of a float.
    Float(u64),
}

impl Value {
    fn signed(bits: i64) -> Self {
        Value::Int { bits, unsigned: false }
    }

    fn truth(holds: bool) -> Self {
        Value::signed(i64::from(holds))
    }

    fn literal(self) -> Literal {
        match self {
            Value::Int { bits, .. } => Literal::Int(bits),
            Value::Float(bits) => Literal::F64(bits),
        }
    }
}

/// An operator that waits for the value of its right operand, innermost last. They are kept in a vector, so that no depth of
/// parentheses overflows the thread's stack.
enum Pending {
    /// `(`
    Open,
    Unary {
        operator: u8,
        start: usize,
    },
    Cast {
        unsigned: bool,
        start: usize,
    },
    Binary {
        left: Value,
        operator: &'static str,
        level: usize,
        start: usize,
    },
    /// `condition ?`
    Question(bool),
    /// `condition ? yes :`
    Colon(bool, Value),
}

/// Why a value cannot be computed.
const FLOAT: Mistake = "expected an integer, found a float";
const MIXED: Mistake = "an integer and a float do not go together";
const BY_ZERO: Mistake = "division by zero";

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

    /// A whole expression that is an integer.
    pub(super) fn constant(&mut self) -> Result<i64, Fault> {
        self.integer(0)
    }

    /// A whole expression, or a float as it is written.
    pub(super) fn number_or_constant(&mut self) -> Result<Literal, Fault> {
        if self.token.kind == Kind::Number && self.text().starts_with("0f") || self.text().starts_with("0F") {
            return self.literal().map(|(value, _)| value);
        }
        self.expression(0).map(Value::literal)
    }

    /// An extent: a number as it stands, or the number of threads in a warp.
    pub(super) fn extent(&mut self, what: &'static str) -> Result<u64, Fault> {
        let place = self.token.place();
        if self.at(b'-') {
            return Err(Fault::at(place, Message::Negative(what)));
        }
        let value = match self.token.kind {
            Kind::Number => self.literal()?.0,
            Kind::Word if self.text() == WARP_SIZE => {
                self.advance()?;
                Literal::Int(32)
            }
            _ => return Err(self.expected(what)),
        };
        match value {
            Literal::Int(value) => {
                u64::try_from(value).map_err(|_| Fault::at(place, Message::Negative(what)))
            }
            _ => Err(Fault::at(place, Message::Expected(what))),
        }
    }

    /// `+4`, `+-4+8` behind a symbol: the sum of the signed terms, of which the first has a plus, as ptxas has it.
    pub(super) fn offset(&mut self) -> Result<i64, Fault> {
        let mut sum = 0i64;
        if !self.at(b'+') {
            return Ok(sum);
        }
        while self.at(b'+') || self.at(b'-') {
            let minus = self.at(b'-');
            self.advance()?;
            let term = self.integer(MULTIPLICATIVE)?;
            sum = if minus { sum.wrapping_sub(term) } else { sum.wrapping_add(term) };
        }
        Ok(sum)
    }

    fn integer(&mut self, lowest: usize) -> Result<i64, Fault> {
        let start = self.token.start;
        int(self.expression(lowest)?).map_err(|mistake| Fault::new(start, mistake))
    }

    /// An expression whose operators, outside parentheses, are of the level `lowest` or tighter; `? :` is looser than all.
    fn expression(&mut self, lowest: usize) -> Result<Value, Fault> {
        let (mut pending, mut open) = (Vec::new(), 0usize);
        'operand: loop {
            let Some(mut value) = self.operand_of_expression(&mut pending, &mut open)? else { continue };
            loop {
                value = reduce(&mut pending, value, LEVELS.len())?;
                let lowest = if open == 0 { lowest } else { 0 };
                if let Some((operator, level)) = self.operator(lowest) {
                    let left = reduce(&mut pending, value, level)?;
                    pending.push(Pending::Binary { left, operator, level, start: self.token.start });
                    for _ in 0..operator.len() {
                        self.advance()?;
                    }
                    continue 'operand;
                }
                value = reduce(&mut pending, value, 0)?;
                if lowest == 0 && self.at(b'?') {
                    let bits = int(value).map_err(|mistake| Fault::new(self.token.start, mistake))?;
                    self.advance()?;
                    pending.push(Pending::Question(bits != 0));
                    continue 'operand;
                }
                value =
                    chosen(&mut pending, value).map_err(|mistake| Fault::new(self.token.start, mistake))?;
                match pending.last() {
                    Some(Pending::Question(condition)) => {
                        let condition = *condition;
                        self.expect(b':', "of `? :`")?;
                        pending.pop();
                        pending.push(Pending::Colon(condition, value));
                        continue 'operand;
                    }
                    Some(_) => {
                        self.expect(b')', "after the constant")?;
                        pending.pop();
                        open -= 1;
                    }
                    None => return Ok(value),
                }
            }
        }
    }

    /// An operand; or a prefix of one, which is pushed to `pending`.
    fn operand_of_expression(
        &mut self,
        pending: &mut Vec<Pending>,
        open: &mut usize,
    ) -> Result<Option<Value>, Fault> {
        if self.at_word() && self.text() == WARP_SIZE {
            self.advance()?;
            return Ok(Some(Value::signed(32)));
        }
        match self.token.kind {
            Kind::Punct(b'(') => {
                self.advance()?;
                match self.directive() {
                    Some(_) => pending.push(self.cast()?),
                    None => {
                        pending.push(Pending::Open);
                        *open += 1;
                    }
                }
                Ok(None)
            }
            Kind::Punct(operator @ (b'-' | b'+' | b'~' | b'!')) => {
                pending.push(Pending::Unary { operator, start: self.token.start });
                self.advance()?;
                Ok(None)
            }
            _ => {
                let start = self.token.start;
                match self.literal()? {
                    (Literal::Int(bits), unsigned) => Ok(Some(Value::Int { bits, unsigned })),
                    (Literal::F64(bits), _) => Ok(Some(Value::Float(bits))),
                    (Literal::F32(_), _) => {
                        Err(Fault::new(start, "a float of 32 bits cannot be part of an expression"))
                    }
                }
            }
        }
    }

    /// `.s64)` or `.u64)` of a cast.
    fn cast(&mut self) -> Result<Pending, Fault> {
        let unsigned = match self.directive() {
            Some("s64") => false,
            Some("u64") => true,
            _ => return Err(self.expected("`.s64` or `.u64`")),
        };
        let start = self.token.start;
        self.advance()?;
        self.expect(b')', "after the cast")?;
        Ok(Pending::Cast { unsigned, start })
    }

    /// The next operator, if it is of that level or tighter, and its level. A single `|`, `&`, `<` or `>` must not be half of another.
    fn operator(&self, lowest: usize) -> Option<(&'static str, usize)> {
        let Kind::Punct(first) = self.token.kind else { return None };
        let rest = self.lexer.text().as_bytes().get(self.token.start..)?;
        LEVELS.iter().enumerate().skip(lowest).find_map(|(level, operators)| {
            let found = operators.iter().find(|o| rest.starts_with(o.as_bytes()))?;
            let doubled =
                found.len() == 1 && matches!(first, b'|' | b'&' | b'<' | b'>') && rest.get(1) == Some(&first);
            (!doubled).then_some((*found, level))
        })
    }
}

/// Applies the pending operators to the value: unary operators, casts, and binary operators of that level or tighter.
fn reduce(pending: &mut Vec<Pending>, mut value: Value, level: usize) -> Result<Value, Fault> {
    loop {
        let (applied, start) = match pending.last() {
            Some(Pending::Unary { operator, start }) => (unary(*operator, value), *start),
            Some(Pending::Cast { unsigned, start }) => {
                (int(value).map(|bits| Value::Int { bits, unsigned: *unsigned }), *start)
            }
            Some(Pending::Binary { left, operator, level: own, start }) if *own >= level => {
                (binary(operator, *left, value), *start)
            }
            _ => return Ok(value),
        };
        value = applied.map_err(|mistake| Fault::new(start, mistake))?;
        pending.pop();
    }
}

/// The value of the conditional expressions that end with this value.
fn chosen(pending: &mut Vec<Pending>, mut value: Value) -> Result<Value, Mistake> {
    while let Some(Pending::Colon(condition, yes)) = pending.last() {
        int(*yes).and(int(value))?;
        value = if *condition { *yes } else { value };
        pending.pop();
    }
    Ok(value)
}

fn int(value: Value) -> Result<i64, Mistake> {
    match value {
        Value::Int { bits, .. } => Ok(bits),
        Value::Float(_) => Err(FLOAT),
    }
}

fn unary(operator: u8, value: Value) -> Result<Value, Mistake> {
    Ok(match (operator, value) {
        (b'+', value) => value,
        (b'-', Value::Float(bits)) => Value::Float(bits ^ 1 << 63),
        (b'-', Value::Int { bits, unsigned }) => Value::Int { bits: bits.wrapping_neg(), unsigned },
        (b'~', value) => Value::Int { bits: !int(value)?, unsigned: true },
        (_, value) => Value::truth(int(value)? == 0),
    })
}

fn binary(operator: &str, left: Value, right: Value) -> Result<Value, Mistake> {
    match (left, right) {
        (Value::Int { bits: a, unsigned: first }, Value::Int { bits: b, unsigned: second }) => {
            integers(operator, (a, first), (b, second)).ok_or(BY_ZERO)
        }
        (Value::Float(a), Value::Float(b)) => floats(operator, f64::from_bits(a), f64::from_bits(b)),
        _ => Err(MIXED),
    }
}

fn floats(operator: &str, a: f64, b: f64) -> Result<Value, Mistake> {
    let value = match operator {
        "==" => return Ok(Value::truth(a == b)),
        "!=" => return Ok(Value::truth(a != b)),
        "<" => return Ok(Value::truth(a < b)),
        "<=" => return Ok(Value::truth(a <= b)),
        ">" => return Ok(Value::truth(a > b)),
        ">=" => return Ok(Value::truth(a >= b)),
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b == 0.0 => return Err(BY_ZERO),
        "/" => a / b,
        _ => return Err(FLOAT),
    };
    Ok(Value::Float(value.to_bits()))
}

fn integers(operator: &str, (a, first): (i64, bool), (b, second): (i64, bool)) -> Option<Value> {
    let unsigned = first || second;
    let (ua, ub) = (a as u64, b as u64);
    let truth = |t: bool| Some(Value::truth(t));
    let less = if unsigned { ua < ub } else { a < b };
    // Only the lowest six bits of it count.
    let count = b as u32;
    let bits = match operator {
        "||" => return truth(a != 0 || b != 0),
        "&&" => return truth(a != 0 && b != 0),
        "==" => return truth(a == b),
        "!=" => return truth(a != b),
        "<" => return truth(less),
        ">=" => return truth(!less),
        ">" => return truth(!less && a != b),
        "<=" => return truth(less || a == b),
        "<<" => return Some(Value::Int { bits: a.wrapping_shl(count), unsigned: first }),
        ">>" if first => return Some(Value::Int { bits: ua.wrapping_shr(count) as i64, unsigned: true }),
        ">>" => return Some(Value::signed(a.wrapping_shr(count))),
        "%" => return Some(Value::Int { bits: ua.checked_rem(ub)? as i64, unsigned: true }),
        "|" => a | b,
        "^" => a ^ b,
        "&" => a & b,
        "+" => a.wrapping_add(b),
        "-" => a.wrapping_sub(b),
        "*" => a.wrapping_mul(b),
        _ if b == 0 => return None,
        _ if unsigned => (ua / ub) as i64,
        _ => a.wrapping_div(b),
    };
    Some(Value::Int { bits, unsigned })
}

const _: () = assert!(LEVELS.len() == MULTIPLICATIVE + 1);
