//! Variable and parameter declarations (PTX ISA, "Variables").

use super::cursor::Cursor;
use crate::error::{Fault, Message};
use crate::tree::{Linkage, PtrAttribute, Space, Type, Variable};

/// The part of a declaration before the names.
struct Specifier {
    space: Space,
    ty: Type,
    vector: u32,
    align: Option<u32>,
    ptr: Option<PtrAttribute>,
    managed: bool,
    linkage: Linkage,
}

impl<'a> Cursor<'a> {
    /// The space that a declaration at the current token would be in.
    pub(super) fn space(&self) -> Option<Space> {
        self.directive().and_then(Space::from_name)
    }

    /// `.space ... name, name = init;`
    pub(super) fn declarations(
        &mut self,
        linkage: Linkage,
        out: &mut Vec<Variable<'a>>,
    ) -> Result<(), Fault> {
        let specifier = self.specifier(linkage)?;
        loop {
            let line = self.token.line;
            let name = self.identifier("a variable name")?;
            let mut variable = self.declarator(&specifier, name, line)?;
            if self.eat(b'=')? {
                variable.init = self.initializer(specifier.ty)?;
            }
            self.check_size(&variable)?;
            out.push(variable);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';', "after the declaration")
    }

    /// `( .param ..., .param ... )`; in prototypes the names are `_`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>, Fault> {
        self.expect(b'(', "before the parameters")?;
        let mut params = Vec::new();
        if self.eat(b')')? {
            return Ok(params);
        }
        loop {
            if !matches!(self.space(), Some(Space::Param | Space::Reg)) && self.directive() != Some("align") {
                return Err(self.expected("`.param` or `.reg`"));
            }
            let mut specifier = self.specifier(Linkage::Internal)?;
            if !matches!(specifier.space, Space::Param | Space::Reg) {
                return Err(self.expected("a parameter"));
            }
            if self.directive() == Some("align") {
                specifier.align = Some(self.alignment()?);
            }
            let line = self.token.line;
            let name = self.identifier("a parameter name")?;
            if self.at(b'<') {
                return Err(self.expected("`)` or `,` after the parameter"));
            }
            let variable = self.declarator(&specifier, if name == "_" { "" } else { name }, line)?;
            self.check_size(&variable)?;
            params.push(variable);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b')', "or `,` after the parameter")?;
        Ok(params)
    }

    fn check_size(&self, variable: &Variable<'a>) -> Result<(), Fault> {
        match variable.checked_size() {
            Some(size) if i64::try_from(size).is_ok() => Ok(()),
            _ => Err(self.limit(Message::Plain("the variable is larger than 2^63 bytes"))),
        }
    }

    /// Whether a declaration starts here, with its space or a directive that may precede the space.
    pub(super) fn at_declaration(&self) -> bool {
        self.space().is_some() || self.directive() == Some("align")
    }

    fn specifier(&mut self, linkage: Linkage) -> Result<Specifier, Fault> {
        let (mut align, mut managed) = (None, false);
        while let Some(name @ ("align" | "attribute")) = self.directive() {
            match name {
                "align" => align = Some(self.alignment()?),
                _ => managed |= self.attribute()?,
            }
        }
        let Some(space) = self.space() else { return Err(self.expected("a state space")) };
        let (start, line) = (self.token.start, self.token.line);
        self.advance()?;
        // `.const[2]`: the ISA has had no banks since version 2.2.
        if space == Space::Const && self.at(b'[') {
            self.skip_group()?;
            self.unknown.push((line, self.lexer.slice(start + 1, self.end)));
        }
        let (mut ty, mut vector, mut ptr) = (None, 1, None);
        while let Some(name) = self.directive() {
            match name {
                // Behind the type it is for parameters only.
                "align" if ty.is_some() && matches!(space, Space::Param | Space::Reg) => break,
                "align" if vector == 1 && ty.is_none() => align = Some(self.alignment()?),
                "v2" | "v4" | "v8" if vector == 1 && ty.is_none() => {
                    vector = u32::from(name.as_bytes()[1] - b'0');
                    self.advance()?;
                }
                "ptr" if ptr.is_none() && ty.is_some() => ptr = Some(self.pointer()?),
                "attribute" if ty.is_none() => managed |= self.attribute()?,
                _ => match Type::from_name(name) {
                    Some(known) if ty.is_none() => {
                        ty = Some(known);
                        self.advance()?;
                    }
                    Some(_) => return Err(self.expected("a name: the declaration has a type already")),
                    None => return Err(self.expected("a type")),
                },
            }
        }
        let Some(ty) = ty else { return Err(self.expected("a type")) };
        Ok(Specifier { space, ty, vector, align, ptr, managed, linkage })
    }

    /// `.align n`
    fn alignment(&mut self) -> Result<u32, Fault> {
        self.advance()?;
        let place = self.token.place();
        let align = self.small("an alignment")?;
        if align.is_power_of_two() {
            Ok(align)
        } else {
            Err(Fault::at(place, Message::Expected("a power of two as alignment")))
        }
    }

    /// `.ptr{.space}{.align n}`
    fn pointer(&mut self) -> Result<PtrAttribute, Fault> {
        self.advance()?;
        let space = self.space();
        match space {
            Some(Space::Global | Space::Const | Space::Shared | Space::Local) => self.advance()?,
            Some(_) => return Err(self.expected("`.global`, `.const`, `.shared` or `.local`")),
            None => {}
        }
        let align = if self.directive() == Some("align") { self.alignment()? } else { 4 };
        Ok(PtrAttribute { space, align })
    }

    /// `.attribute(.managed)`, `.attribute(.unified(1, 2))`: is it managed?
    pub(super) fn attribute(&mut self) -> Result<bool, Fault> {
        self.advance()?;
        if !self.at(b'(') {
            return Err(self.expected("`(` after `.attribute`"));
        }
        let (start, place) = (self.token.start, self.token.place());
        self.skip_group()?;
        let inner = self.lexer.slice(start, self.end);
        let mut words = inner.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let mut names = words.clone().filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()));
        if names.any(|word| !matches!(word, "managed" | "unified")) {
            return Err(Fault::at(place, Message::Expected("`.managed` or `.unified` as attribute")));
        }
        Ok(words.any(|word| word == "managed"))
    }

    /// The name, on this line, has been read: `<n>`, `[n]`...
    fn declarator(&mut self, s: &Specifier, name: &'a str, line: u32) -> Result<Variable<'a>, Fault> {
        let count = self.count()?;
        let mut dims = Vec::new();
        while self.eat(b'[')? {
            let extent = if self.at(b']') { None } else { Some(self.extent("an array extent")?) };
            dims.push(extent);
            self.expect(b']', "after the array extent")?;
        }
        let &Specifier { space, ty, vector, align, ptr, managed, linkage } = s;
        Ok(Variable { name, space, ty, vector, align, dims, count, init: None, ptr, linkage, managed, line })
    }

    /// `<n>`: a plain number, because `>` would be an operator in an expression.
    fn count(&mut self) -> Result<Option<u32>, Fault> {
        if !self.eat(b'<')? {
            return Ok(None);
        }
        let count = self.small("a number of registers")?;
        self.expect(b'>', "after the number of registers")?;
        Ok(Some(count))
    }
}
