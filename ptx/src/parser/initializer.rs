//! Initialisers of variables (PTX ISA, "Initializers").

use super::cursor::Cursor;
use crate::error::Fault;
use crate::lexer::Kind;
use crate::tree::{Init, Literal, Type};

impl<'a> Cursor<'a> {
    /// The initialiser after `=`. The settings of a sampler are not data and result in `None`.
    pub(super) fn initializer(&mut self, ty: Type) -> Result<Option<Init<'a>>, Fault> {
        if ty.is_opaque() && self.at(b'{') {
            self.skip_group()?;
            return Ok(None);
        }
        self.init().map(Some)
    }

    fn init(&mut self) -> Result<Init<'a>, Fault> {
        match self.token.kind {
            Kind::Punct(b'{') => self.nested(Self::init_list),
            Kind::Word if !self.at_constant() => self.init_address(),
            Kind::Number | Kind::Word | Kind::Punct(b'-' | b'+' | b'~' | b'!' | b'(') => self.init_number(),
            _ => Err(self.expected("a number, a symbol or `{`")),
        }
    }

    fn init_list(&mut self) -> Result<Init<'a>, Fault> {
        self.advance()?;
        let mut items = Vec::new();
        if self.eat(b'}')? {
            return Ok(Init::List(items));
        }
        loop {
            items.push(self.init()?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b'}', "or `,` in the initialiser")?;
        Ok(Init::List(items))
    }

    /// A number, or `0xff00(symbol)`: one byte of an address.
    fn init_number(&mut self) -> Result<Init<'a>, Fault> {
        let value = self.number_or_constant()?;
        let Literal::Int(mask) = value else { return Ok(Init::Value(value)) };
        if !self.eat(b'(')? {
            return Ok(Init::Value(value));
        }
        let start = self.token.start;
        let address = self.init_address()?;
        self.expect(b')', "after the masked address")?;
        match address {
            Init::Address { symbol, offset, generic, .. } => {
                Ok(Init::Address { symbol, offset, generic, mask: Some(mask as u64) })
            }
            _ => Err(Fault::new(start, "expected a symbol")),
        }
    }

    /// `symbol+4`, `generic(symbol)+4`
    fn init_address(&mut self) -> Result<Init<'a>, Fault> {
        let mut symbol = self.identifier("a symbol")?;
        let generic = symbol == "generic" && self.eat(b'(')?;
        let mut offset = 0;
        if generic {
            symbol = self.identifier("a symbol")?;
            offset = self.offset()?;
            self.expect(b')', "after the symbol")?;
        }
        offset = self.offset()?.wrapping_add(offset);
        Ok(Init::Address { symbol, offset, generic, mask: None })
    }
}
