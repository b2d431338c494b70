//! Finds the registers with addresses that are computed from the address of one variable or from one parameter, on every path of
//! control.

use super::super::watch::Base;
use super::draft::{Draft, Operand, Register};
use super::meaning::{Meaning, Pointer};

/// What is known about a register.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Value {
    /// Nothing yet.
    #[default]
    Unset,
    /// Some number.
    Number,
    /// An address that is computed from this base.
    Of(Base),
    /// It depends on the path.
    Unknown,
}

/// The values of the registers of a function.
pub(super) struct Bases(Vec<Value>);

impl Bases {
    /// The smallest solution.
    pub(super) fn find(drafts: &[Draft], registers: usize) -> Bases {
        let mut bases = Bases(vec![Value::Unset; registers]);
        loop {
            let mut changed = false;
            for draft in drafts {
                let value = bases.result(draft);
                for Register(number) in draft.written() {
                    let Some(known) = bases.0.get_mut(number as usize) else { continue };
                    let joined = join(known, &value);
                    changed |= joined != *known;
                    *known = joined;
                }
            }
            if !changed {
                return bases;
            }
        }
    }

    /// The base of the address of a memory instruction, which is in that operand.
    pub(super) fn of(&self, draft: &Draft, operand: Operand) -> Option<Base> {
        let named = draft.meaning.as_ref().and_then(|meaning| meaning.base.clone());
        match (named, self.operand(operand)) {
            // Its address is that constant.
            (Some(base), _) if matches!(operand, Operand::Constant(_)) => Some(base),
            (None, Value::Of(base)) => Some(base),
            _ => None,
        }
    }

    fn operand(&self, operand: Operand) -> Value {
        match operand {
            Operand::Register(Register(number)) => self.0.get(number as usize).cloned().unwrap_or_default(),
            Operand::None | Operand::Constant(_) | Operand::Row(_) | Operand::Fixed(_) => Value::Number,
        }
    }

    /// The value that an instruction writes to its registers.
    fn result(&self, draft: &Draft) -> Value {
        let nothing = Meaning::default();
        let meaning = draft.meaning.as_deref().unwrap_or(&nothing);
        let sources = draft.ops.iter().skip(draft.dests.into()).filter(|operand| **operand != Operand::None);
        let values: Vec<Value> = sources.map(|operand| self.operand(*operand)).collect();
        if draft.matrix.is_some() {
            return Value::Unknown;
        }
        match meaning.pointer {
            // A value from memory is another value. The base is a parameter, whose value is loaded.
            _ if draft.note.is_some() => Value::Number,
            Pointer::Sum => {
                let named = meaning.base.clone().map(Value::Of);
                values.into_iter().chain(named).fold(Value::Number, sum)
            }
            Pointer::Last if meaning.base.is_none() => match values.as_slice() {
                [a, b, last] if ![a, b].into_iter().any(is_of_variable) => last.clone(),
                _ => Value::Unknown,
            },
            // The distance of two variables, or a part of an address.
            _ if meaning.base.is_some() || values.iter().any(is_of_variable) => Value::Unknown,
            _ if values.contains(&Value::Unset) => Value::Unset,
            _ => Value::Number,
        }
    }
}

/// Whether it is or may be the address of a variable. Most parameters are numbers.
fn is_of_variable(value: &Value) -> bool {
    match value {
        Value::Of(base) => !matches!(base, Base::Parameter { .. }),
        Value::Unknown => true,
        Value::Unset | Value::Number => false,
    }
}

fn sum(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Unknown | Value::Of(_), Value::Unknown | Value::Of(_)) => Value::Unknown,
        (Value::Unknown, _) | (_, Value::Unknown) => Value::Unknown,
        (Value::Unset, _) | (_, Value::Unset) => Value::Unset,
        (Value::Number, other) | (other, Value::Number) => other,
    }
}

fn join(a: &Value, b: &Value) -> Value {
    match (a, b) {
        (Value::Unset, other) | (other, Value::Unset) => other.clone(),
        (a, b) if a == b => a.clone(),
        _ => Value::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Value {
        Value::Of(Base::Global { name: name.into(), address: 16 })
    }

    #[test]
    fn sums() {
        assert_eq!(sum(of("a"), Value::Number), of("a"));
        assert_eq!(sum(Value::Number, of("a")), of("a"));
        assert_eq!(sum(of("a"), of("a")), Value::Unknown);
        assert_eq!(sum(of("a"), Value::Unset), Value::Unset);
        assert_eq!(sum(Value::Unset, Value::Unknown), Value::Unknown);
        assert_eq!(sum(Value::Number, Value::Number), Value::Number);
    }

    #[test]
    fn paths() {
        assert_eq!(join(&of("a"), &of("a")), of("a"));
        assert_eq!(join(&Value::Unset, &of("a")), of("a"));
        assert_eq!(join(&of("a"), &Value::Unset), of("a"));
        assert_eq!(join(&of("a"), &of("b")), Value::Unknown);
        assert_eq!(join(&of("a"), &Value::Number), Value::Unknown);
        assert_eq!(join(&Value::Unknown, &of("a")), Value::Unknown);
    }

    #[test]
    fn what_may_be_a_variable() {
        let parameter = Value::Of(Base::Parameter { name: "p".into(), offset: 0 });
        let all = [of("a"), Value::Unknown, parameter, Value::Number, Value::Unset];
        assert_eq!(all.map(|value| is_of_variable(&value)), [true, true, false, false, false]);
    }
}
