//! Statements of a function body (PTX ISA, "Statements").

use super::MAX_BLOCKS;
use super::cursor::Cursor;
use crate::error::{Fault, Message};
use crate::lexer::Kind;
use crate::tree::{Guard, Instruction, Linkage, Statement};

impl<'a> Cursor<'a> {
    /// `{ ... }` and nothing after it. Open blocks are kept in a vector, not on the thread's stack.
    pub(super) fn body(&mut self) -> Result<Vec<Statement<'a>>, Fault> {
        self.expect(b'{', "at the start of the body")?;
        let mut outer: Vec<Vec<Statement<'a>>> = Vec::new();
        let mut block = Vec::new();
        let mut variables = Vec::new();
        loop {
            match self.token.kind {
                Kind::Word => self.labels_or_instruction(&mut block)?,
                Kind::Punct(b'@') => self.guarded(&mut block)?,
                Kind::Directive if self.at_declaration() => {
                    self.declarations(Linkage::Internal, &mut variables)?;
                    block.extend(variables.drain(..).map(Statement::Variable));
                }
                Kind::Directive => self.body_directive(&mut block)?,
                Kind::Punct(b'{') if outer.len() < MAX_BLOCKS as usize => {
                    self.advance()?;
                    outer.push(std::mem::take(&mut block));
                }
                Kind::Punct(b'{') => {
                    return Err(self.limit(Message::MoreThan(MAX_BLOCKS, "blocks are open")));
                }
                Kind::Punct(b'}') => {
                    self.advance()?;
                    let Some(enclosing) = outer.pop() else { break };
                    let inner = std::mem::replace(&mut block, enclosing);
                    block.push(Statement::Block(inner));
                }
                _ => return Err(self.expected("a statement or `}`")),
            }
        }
        if self.token.kind == Kind::End { Ok(block) } else { Err(self.expected("nothing after the body")) }
    }

    /// A label, or an instruction without guard. The token after the word tells which it is.
    fn labels_or_instruction(&mut self, block: &mut Vec<Statement<'a>>) -> Result<(), Fault> {
        let (name, start, line) = (self.text(), self.token.start, self.token.line);
        self.advance()?;
        if self.at(b':') {
            if name.contains('.') {
                return Err(Fault::new(start, "a label cannot contain a dot"));
            }
            self.advance()?;
            block.push(Statement::Label(name));
            return Ok(());
        }
        let instruction = self.instruction(None, start, line)?;
        block.push(Statement::Instruction(instruction));
        Ok(())
    }

    /// `@p name ...`, `@!p name ...`
    fn guarded(&mut self, block: &mut Vec<Statement<'a>>) -> Result<(), Fault> {
        self.advance()?;
        let negated = self.eat(b'!')?;
        let register = self.identifier("a predicate register")?;
        let (start, line) = (self.token.start, self.token.line);
        self.word("an instruction")?;
        let instruction = self.instruction(Some(Guard { register, negated }), start, line)?;
        block.push(Statement::Instruction(instruction));
        Ok(())
    }

    /// The rest of an instruction whose name starts at `start` and has just been read.
    fn instruction(
        &mut self,
        guard: Option<Guard<'a>>,
        start: usize,
        line: u32,
    ) -> Result<Instruction<'a>, Fault> {
        // Blanks are allowed before a modifier: `add .s32`.
        while self.token.kind == Kind::Directive {
            self.advance()?;
        }
        let name = self.lexer.slice(start, self.end);
        let mut operands = Vec::new();
        if !self.eat(b';')? {
            loop {
                operands.push(self.operand()?);
                if !self.eat(b',')? {
                    break;
                }
            }
            self.expect(b';', "or `,` after the operand")?;
        }
        Ok(Instruction { guard, name, operands, line })
    }

    fn body_directive(&mut self, block: &mut Vec<Statement<'a>>) -> Result<(), Fault> {
        match self.directive().unwrap_or_default() {
            "loc" => block.push(self.location()?),
            "branchtargets" | "calltargets" | "callprototype"
                if !matches!(block.last(), Some(Statement::Label(_))) =>
            {
                return Err(self.expected("a label before it"));
            }
            "branchtargets" | "calltargets" => {
                self.advance()?;
                let targets = self.names()?;
                block.push(Statement::Targets(targets));
            }
            "callprototype" => block.push(self.prototype()?),
            "pragma" => block.extend(self.pragma()?),
            "extern" | "visible" | "weak" | "common" | "attribute" => {
                let linkage = self.linkage()?;
                let mut variables = Vec::new();
                self.declarations(linkage, &mut variables)?;
                block.extend(variables.into_iter().map(Statement::Variable));
            }
            _ => return Err(self.expected("a statement")),
        }
        Ok(())
    }

    /// `.pragma "name value", ..;`
    fn pragma(&mut self) -> Result<Option<Statement<'a>>, Fault> {
        let mut used = None;
        self.pragma_strings(|pragma| {
            let mut words = pragma.split_ascii_whitespace();
            if words.next() == Some("used_bytes_mask") {
                used = words.next().and_then(mask).map(Statement::UsedBytes);
            }
        })?;
        Ok(used)
    }

    /// `.loc file line column {, function_name label {+ n}, inlined_at file line column}`: it has no end mark.
    fn location(&mut self) -> Result<Statement<'a>, Fault> {
        self.advance()?;
        let file = self.small("the number of a file")?;
        let line = self.small("a line")?;
        let column = self.small("a column")?;
        if self.eat(b',')? {
            self.keyword("function_name", "`function_name`")?;
            self.identifier("a label")?;
            self.offset()?;
            self.expect(b',', "and `inlined_at` after the function's name")?;
            self.keyword("inlined_at", "`inlined_at`")?;
            for what in ["the number of a file", "a line", "a column"] {
                self.small(what)?;
            }
        }
        Ok(Statement::Loc { file, line, column })
    }

    /// A word that stands at this place.
    fn keyword(&mut self, word: &str, what: &'static str) -> Result<(), Fault> {
        if self.at_word() && self.text() == word { self.advance() } else { Err(self.expected(what)) }
    }

    /// `a, b, c;`
    fn names(&mut self) -> Result<Vec<&'a str>, Fault> {
        let mut names = Vec::new();
        loop {
            names.push(self.identifier("a name")?);
            if !self.eat(b',')? {
                break;
            }
        }
        self.expect(b';', "or `,` after the name")?;
        Ok(names)
    }

    /// `.callprototype (returns) _ (params) {.noreturn} {.abi_preserve n};`
    fn prototype(&mut self) -> Result<Statement<'a>, Fault> {
        self.advance()?;
        let returns = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        self.keyword("_", "`_`")?;
        let params = if self.at(b'(') { self.parameters()? } else { Vec::new() };
        while let Some(name @ ("noreturn" | "abi_preserve" | "abi_preserve_control")) = self.directive() {
            self.advance()?;
            if name != "noreturn" {
                self.small("a number")?;
            }
        }
        self.expect(b';', "after the prototype")?;
        Ok(Statement::CallPrototype { returns, params })
    }
}

/// A mask in a pragma: decimal, or hexadecimal after `0x`.
fn mask(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
