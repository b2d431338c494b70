//! Operands of an instruction (PTX ISA, "Instruction Operands").

use super::cursor::Cursor;
use crate::error::{Fault, Message};
use crate::lexer::Kind;
use crate::tree::{Literal, Operand};

/// Special registers whose dotted names are registers of their own.
const DOTTED: &[&str] =
    &["%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid"];

impl<'a> Cursor<'a> {
    pub(super) fn operand(&mut self) -> Result<Operand<'a>, Fault> {
        let first = self.single()?;
        // `p|q`; between numbers the bar is an operator and has been read already.
        if self.at(b'|') {
            self.advance()?;
            let second = self.nested(Self::single)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn single(&mut self) -> Result<Operand<'a>, Fault> {
        match self.token.kind {
            Kind::Word if !self.at_constant() => self.named(),
            Kind::Word | Kind::Number | Kind::Punct(b'+' | b'~') => {
                self.number_or_constant().map(Operand::Literal)
            }
            Kind::Punct(b'-') => self.signed(),
            Kind::Punct(b'!') => self.not(),
            Kind::Punct(b'[') => self.nested(Self::address),
            Kind::Punct(b'{') => {
                let list = self.nested(|c| c.list(b'}'))?;
                if list.is_empty() {
                    Err(Fault::new(self.end - 1, "a vector needs elements"))
                } else {
                    Ok(Operand::Vector(list))
                }
            }
            Kind::Punct(b'(') => self.list_or_constant(),
            _ => Err(self.expected("an operand")),
        }
    }

    /// A name and what may follow it: an element, an offset, an index.
    fn named(&mut self) -> Result<Operand<'a>, Fault> {
        let operand = self.name()?;
        let Operand::Name(name) = operand else { return Ok(operand) };
        if self.at(b'+') {
            return Ok(Operand::Offset(name, self.offset()?));
        }
        if self.eat(b'[')? { self.element_of(name) } else { Ok(operand) }
    }

    /// The index after `array[`: a number, or a register and perhaps a number added to it.
    fn element_of(&mut self, array: &'a str) -> Result<Operand<'a>, Fault> {
        let operand = if self.at_word() && !self.at_constant() {
            let register = self.identifier("a register as index")?;
            let plus = if self.at(b'+') { self.offset()? } else { 0 };
            Operand::IndexedBy { array, register, plus }
        } else {
            Operand::Indexed(array, self.constant()?)
        };
        self.expect(b']', "after the index")?;
        Ok(operand)
    }

    /// `%r1`, `%tid.x`, `%v.x`. A dotted suffix that is not a vector element (`%r1.b0`, `%r1.h1` of the video
    /// instructions) stays part of the name.
    fn name(&mut self) -> Result<Operand<'a>, Fault> {
        let word = self.word("a name")?;
        let element = |name: &str| match name {
            "x" | "r" => Some(0),
            "y" | "g" => Some(1),
            "z" | "b" => Some(2),
            "w" | "a" => Some(3),
            _ => None,
        };
        Ok(match word.rsplit_once('.') {
            Some((base, part)) if !DOTTED.contains(&base) => {
                element(part).map_or(Operand::Name(word), |i| Operand::Element(base, i))
            }
            _ => Operand::Name(word),
        })
    }

    /// `-4`, `-0f3f800000`, `-%r1`
    fn signed(&mut self) -> Result<Operand<'a>, Fault> {
        let next = self.lexer.clone().next()?;
        if next.kind != Kind::Word || self.lexer.slice(next.start, next.end) == super::constant::WARP_SIZE {
            return self.number_or_constant().map(Operand::Literal);
        }
        self.advance()?;
        self.word("a register").map(Operand::Negated)
    }

    /// `!p`, or the operator on a constant.
    fn not(&mut self) -> Result<Operand<'a>, Fault> {
        let next = self.lexer.clone().next()?;
        if next.kind != Kind::Word || self.lexer.slice(next.start, next.end) == super::constant::WARP_SIZE {
            return self.number_or_constant().map(Operand::Literal);
        }
        self.advance()?;
        self.word("a predicate register").map(Operand::Not)
    }

    /// Operands up to `close`; the opening mark is the current token.
    fn list(&mut self, close: u8) -> Result<Vec<Operand<'a>>, Fault> {
        self.advance()?;
        let mut operands = Vec::new();
        if self.eat(close)? {
            return Ok(operands);
        }
        loop {
            operands.push(self.operand()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(close, "or `,` after the operand")?;
        Ok(operands)
    }

    /// `(a, b)` of a call; or a constant in parentheses, `(1+2)*3`, which no call can begin with.
    fn list_or_constant(&mut self) -> Result<Operand<'a>, Fault> {
        let mut ahead = self.lexer.clone();
        let constant = match ahead.next()?.kind {
            // A single number in parentheses, and then an operator.
            Kind::Number | Kind::Punct(b'(' | b'-' | b'~' | b'!') => loop {
                match ahead.next()?.kind {
                    Kind::Punct(b')') => {
                        break matches!(ahead.next()?.kind, Kind::Punct(p) if b"+-*/%<>=!&|^?)".contains(&p));
                    }
                    Kind::Punct(b',' | b';') | Kind::End | Kind::Word => break false,
                    _ => {}
                }
            },
            Kind::Directive => true,
            _ => false,
        };
        if constant {
            return self.number_or_constant().map(Operand::Literal);
        }
        self.nested(|c| c.list(b')')).map(Operand::List)
    }

    /// `[base]`, `[base+offset]`, `[tensor, {x, y}]`
    fn address(&mut self) -> Result<Operand<'a>, Fault> {
        self.advance()?;
        let start = self.token.start;
        let base = if self.at_word() && !self.at_constant() { self.name()? } else { self.operand()? };
        let offset = self.offset()?;
        if self.at(b',') {
            let mut operands = vec![match (base, offset) {
                (base, 0) => base,
                (Operand::Name(name), offset) => Operand::Offset(name, offset),
                _ => return Err(Fault::new(start, "expected a name before the offset")),
            }];
            while self.eat(b',')? {
                operands.push(self.operand()?);
            }
            self.expect(b']', "or `,` in the address")?;
            return Ok(Operand::AddressList(operands));
        }
        self.expect(b']', "after the address")?;
        match base {
            Operand::Name(_) | Operand::Element(..) | Operand::Literal(Literal::Int(_)) => {
                Ok(Operand::Address { base: Box::new(base), offset })
            }
            _ => Err(Fault::at(start..self.end - 1, Message::Quoted("", " is not an address"))),
        }
    }
}
