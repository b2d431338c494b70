//! Module scope (PTX ISA, "Directives").

use super::cursor::Cursor;
use crate::error::{Fault, Message, ParseErrorKind};
use crate::lexer::Kind;
use crate::tree::{Linkage, Module, Section};

/// Directives that start something at module scope; an unknown directive ends before one of them.
const STARTS: &[&str] = &[
    "visible",
    "extern",
    "weak",
    "common",
    "entry",
    "func",
    "global",
    "const",
    "shared",
    "tex",
    "file",
    "section",
    "target",
    "address_size",
    "version",
    "alias",
];

/// Pragmas that stand outside functions.
const PRAGMAS: &[&str] = &["nounroll"];

impl<'a> Cursor<'a> {
    pub(super) fn module(&mut self) -> Result<Module<'a>, Fault> {
        let mut module = Module {
            version: self.version()?,
            targets: Vec::new(),
            address_size: 64,
            files: Vec::new(),
            aliases: Vec::new(),
            variables: Vec::new(),
            functions: Vec::new(),
            sections: Vec::new(),
            unknown: Vec::new(),
        };
        if self.directive() != Some("target") {
            return Err(self.expected("`.target` after `.version`"));
        }
        while self.directive() == Some("target") {
            self.target(&mut module)?;
        }
        if self.directive() == Some("address_size") {
            self.advance()?;
            module.address_size = self.address_size()?;
        }
        while self.token.kind != Kind::End {
            self.item(&mut module)?;
        }
        module.unknown = std::mem::take(&mut self.unknown);
        Ok(module)
    }

    /// `.version 9.0`, which a module must begin with.
    pub(super) fn version(&mut self) -> Result<(u32, u32), Fault> {
        if self.directive() != Some("version") {
            let fault = self.expected("`.version` at the start of a PTX module");
            return Err(fault.with_kind(ParseErrorKind::NotPtx));
        }
        self.advance()?;
        let text = self.text();
        let parsed = text.split_once('.').and_then(|(major, minor)| Some((part(major)?, part(minor)?)));
        let version = parsed.ok_or_else(|| self.expected("a version such as `8.0`"))?;
        self.advance()?;
        Ok(version)
    }

    fn item(&mut self, module: &mut Module<'a>) -> Result<(), Fault> {
        let Some(name) = self.directive() else { return self.stray() };
        match name {
            "target" => Err(Fault::new(self.token.start, "`.target` stands behind `.version`")),
            "address_size" => Err(Fault::new(
                self.token.start,
                "a module has at most one `.address_size`, behind `.target`",
            )),
            "version" => Err(Fault::new(self.token.start, "a module has only one `.version`")),
            "file" => self.file().map(|f| module.files.push(f)),
            "section" => self.section().map(|s| module.sections.push(s)),
            "alias" => self.alias().map(|a| module.aliases.push(a)),
            "pragma" => self.module_pragma(),
            "visible" | "extern" | "weak" | "common" | "entry" | "func" => self.linked(module),
            "align" | "attribute" => self.declarations(Linkage::Internal, &mut module.variables),
            _ if self.space().is_some() => self.declarations(Linkage::Internal, &mut module.variables),
            _ => self.unknown(),
        }
    }

    /// A label between debug sections, which rustc writes and ptxas refuses; or an error.
    fn stray(&mut self) -> Result<(), Fault> {
        if self.at_word() {
            let fault = self.expected("a directive");
            self.advance()?;
            return if self.eat(b':')? { Ok(()) } else { Err(fault) };
        }
        Err(self.expected("a directive"))
    }

    fn target(&mut self, module: &mut Module<'a>) -> Result<(), Fault> {
        self.advance()?;
        loop {
            module.targets.push(self.identifier("a target such as `sm_90`")?);
            if !self.eat(b',')? {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self) -> Result<u32, Fault> {
        let place = self.token.place();
        match self.small("32 or 64")? {
            size @ (32 | 64) => Ok(size),
            _ => Err(Fault::at(place, Message::Expected("32 or 64 as address size"))),
        }
    }

    /// `.file index "name" {, timestamp, size}`
    pub(super) fn file(&mut self) -> Result<(u32, &'a str), Fault> {
        self.advance()?;
        let index = self.small("the number of the file")?;
        let name = self.string("the name of the file in quotes")?;
        while self.eat(b',')? {
            self.literal()?;
        }
        Ok((index, name))
    }

    /// `.section .name { ... }`: debug information, kept as text.
    pub(super) fn section(&mut self) -> Result<Section<'a>, Fault> {
        self.advance()?;
        let name = self.directive().map_or("", |_| self.text());
        while !self.at(b'{') {
            match self.token.kind {
                Kind::Directive | Kind::Word | Kind::Str | Kind::Punct(b',' | b'@') => self.advance()?,
                _ => return Err(self.expected("`{` after the name of the section")),
            }
        }
        let start = self.token.end;
        let end = self.skip_block()?;
        Ok(Section { name, text: self.lexer.slice(start, end.saturating_sub(1)) })
    }

    /// `.alias name, function;`
    fn alias(&mut self) -> Result<(&'a str, &'a str), Fault> {
        self.advance()?;
        let name = self.identifier("the name of the alias")?;
        self.expect(b',', "after the name of the alias")?;
        let function = self.identifier("the name of a function")?;
        self.expect(b';', "after the alias")?;
        Ok((name, function))
    }

    /// A variable or function after linkage directives.
    fn linked(&mut self, module: &mut Module<'a>) -> Result<(), Fault> {
        let first = self.token;
        let linkage = self.linkage()?;
        match self.directive() {
            Some("entry" | "func") if linkage != Linkage::Common => {
                self.function(first, linkage).map(|f| module.functions.push(f))
            }
            _ if self.at_declaration() => self.declarations(linkage, &mut module.variables),
            _ => Err(self.expected("`.entry`, `.func` or a state space")),
        }
    }

    /// One linkage at most, and attributes.
    pub(super) fn linkage(&mut self) -> Result<Linkage, Fault> {
        let mut linkage = Linkage::Internal;
        while let Some(name) = self.directive() {
            let found = match name {
                "visible" => Linkage::Visible,
                "extern" => Linkage::Extern,
                "weak" => Linkage::Weak,
                "common" => Linkage::Common,
                "attribute" => {
                    self.attribute()?;
                    continue;
                }
                _ => break,
            };
            if linkage != Linkage::Internal {
                return Err(self.expected("`.entry`, `.func` or a state space: there is a linkage already"));
            }
            linkage = found;
            self.advance()?;
        }
        Ok(linkage)
    }

    /// `.pragma "name", "name";`: calls `each` with the text between the quotes.
    pub(super) fn pragma_strings(&mut self, mut each: impl FnMut(&'a str)) -> Result<(), Fault> {
        self.advance()?;
        loop {
            each(self.string("a pragma in quotes")?);
            if !self.eat(b',')? {
                return self.expect(b';', "or `,` after the pragma");
            }
        }
    }

    /// A pragma for the whole module. What is none counts as a directive that is not known.
    fn module_pragma(&mut self) -> Result<(), Fault> {
        let (line, start, text) = (self.token.line, self.token.start + 1, self.lexer.text());
        let mut unknown = None;
        self.pragma_strings(|pragma| {
            if !PRAGMAS.contains(&pragma) {
                unknown.get_or_insert(pragma);
            }
        })?;
        let end = self.end.saturating_sub(1);
        if unknown.is_some() {
            self.unknown.push((line, text.get(start..end).unwrap_or_default()));
        }
        Ok(())
    }

    /// Records that the current token is an unknown directive.
    pub(super) fn note_unknown(&mut self) {
        if let Some(name) = self.directive() {
            self.unknown.push((self.token.line, name));
        }
    }

    /// Skips a directive of an ISA newer than this parser: to its semicolon, to the end of its block, or to a later
    /// line that starts something known.
    fn unknown(&mut self) -> Result<(), Fault> {
        let first = self.token;
        self.note_unknown();
        loop {
            self.advance()?;
            match self.token.kind {
                Kind::End => return Ok(()),
                Kind::Punct(b';') => return self.advance(),
                Kind::Punct(b'{') => return self.skip_block().map(drop),
                Kind::Punct(b'(' | b'[') => self.skip_group()?,
                Kind::Punct(b'}') => {
                    return Err(Fault::at(first.place(), Message::Quoted("unknown directive ", "")));
                }
                _ => {}
            }
            if self.token.line > first.line && self.directive().is_some_and(|d| STARTS.contains(&d)) {
                return Ok(());
            }
        }
    }
}

fn part(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}
