//! Prints statements and operands as PTX text, in one spelling: parsing the text of a tree yields that tree.

use std::fmt::{self, Display, Formatter};

use crate::tree::{Guard, Instruction, Literal, Operand};

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Int(v) => write!(f, "{v}"),
            Literal::F32(bits) => write!(f, "0f{bits:08X}"),
            Literal::F64(bits) => write!(f, "0d{bits:016X}"),
        }
    }
}

impl Display for Guard<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "@{}{}", if self.negated { "!" } else { "" }, self.register)
    }
}

impl Display for Instruction<'_> {
    /// As in PTX text, without the semicolon: `@%p1 ld.global.f32 %f1, [%rd1+4]`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(guard) = self.guard {
            write!(f, "{guard} ")?;
        }
        f.write_str(self.name)?;
        if !self.operands.is_empty() {
            f.write_str(" ")?;
        }
        join(f, &self.operands)
    }
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operand::Name(name) => f.write_str(name),
            Operand::Not(name) => write!(f, "!{name}"),
            Operand::Negated(name) => write!(f, "-{name}"),
            Operand::Literal(literal) => literal.fmt(f),
            Operand::Offset(name, offset) => write!(f, "{name}+{offset}"),
            Operand::Indexed(name, index) => write!(f, "{name}[{index}]"),
            Operand::IndexedBy { array, register, plus: 0 } => write!(f, "{array}[{register}]"),
            Operand::IndexedBy { array, register, plus } => write!(f, "{array}[{register}+{plus}]"),
            Operand::Address { base, offset: 0 } => write!(f, "[{base}]"),
            Operand::Address { base, offset } => write!(f, "[{base}+{offset}]"),
            Operand::AddressList(operands) => enclose(f, '[', operands, ']'),
            Operand::Vector(operands) => enclose(f, '{', operands, '}'),
            Operand::List(operands) => enclose(f, '(', operands, ')'),
            Operand::Pair(first, second) => write!(f, "{first}|{second}"),
            Operand::Element(name, index) => {
                let part = ["x", "y", "z", "w"].get(*index as usize).unwrap_or(&"?");
                write!(f, "{name}.{part}")
            }
        }
    }
}

fn enclose(f: &mut Formatter<'_>, open: char, operands: &[Operand<'_>], close: char) -> fmt::Result {
    write!(f, "{open}")?;
    join(f, operands)?;
    write!(f, "{close}")
}

fn join(f: &mut Formatter<'_>, operands: &[Operand<'_>]) -> fmt::Result {
    for (i, operand) in operands.iter().enumerate() {
        let comma = if i > 0 { ", " } else { "" };
        write!(f, "{comma}{operand}")?;
    }
    Ok(())
}
