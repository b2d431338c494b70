//! Kernels and device functions (PTX ISA, "Kernel and Function Directives").

use super::cursor::Cursor;
use crate::error::Fault;
use crate::lexer::{Kind, Token};
use crate::tree::{Directives, Function, FunctionKind, Linkage};

impl<'a> Cursor<'a> {
    /// The whole text is one function.
    pub(super) fn lone_function(&mut self) -> Result<Function<'a>, Fault> {
        let first = self.token;
        let linkage = self.linkage()?;
        let function = self.function(first, linkage)?;
        if self.token.kind == Kind::End {
            Ok(function)
        } else {
            Err(self.expected("nothing after the function"))
        }
    }

    /// `.entry` or `.func` is the current token; `first` the first token of its linkage directives.
    pub(super) fn function(&mut self, first: Token, linkage: Linkage) -> Result<Function<'a>, Fault> {
        let kind = match self.directive() {
            Some("entry") => FunctionKind::Entry,
            Some("func") => FunctionKind::Function,
            _ => return Err(self.expected("`.entry` or `.func`")),
        };
        self.advance()?;
        let mut function = Function {
            kind,
            name: "",
            linkage,
            returns: Vec::new(),
            params: Vec::new(),
            directives: Directives::default(),
            noreturn: false,
            body: None,
            span: first.start..first.end,
            line: first.line,
            body_line: 0,
        };
        while self.directive() == Some("attribute") {
            self.attribute()?;
        }
        if kind == FunctionKind::Function && self.at(b'(') {
            function.returns = self.parameters()?;
        }
        function.name = self.identifier("the name of the function")?;
        if self.at(b'(') {
            function.params = self.parameters()?;
        }
        self.function_directives(&mut function)?;
        self.function_body(&mut function)?;
        Ok(function)
    }

    fn function_body(&mut self, function: &mut Function<'a>) -> Result<(), Fault> {
        let open = self.token;
        if self.at(b'{') {
            let end = self.skip_block()?;
            function.body = Some(self.lexer.slice(open.start, end));
            function.body_line = open.line;
            function.span.end = end;
            return Ok(());
        }
        self.expect(b';', "or `{` after the function's head")?;
        function.span.end = self.end;
        Ok(())
    }

    /// Directives between the parameter list and the body; those of a newer ISA are skipped with their numbers.
    fn function_directives(&mut self, function: &mut Function<'a>) -> Result<(), Fault> {
        while let Some(name) = self.directive() {
            let d = &mut function.directives;
            match name {
                "maxntid" => d.maxntid = Some(self.dimensions()?),
                "reqntid" => d.reqntid = Some(self.dimensions()?),
                "reqnctapercluster" => d.reqnctapercluster = Some(self.dimensions()?),
                "minnctapersm" => d.minnctapersm = Some(self.directive_number()?),
                "maxnreg" => d.maxnreg = Some(self.directive_number()?),
                "maxclusterrank" => d.maxclusterrank = Some(self.directive_number()?),
                "explicitcluster" => {
                    d.explicitcluster = true;
                    self.advance()?;
                }
                "blocksareclusters" => {
                    d.blocksareclusters = true;
                    self.advance()?;
                }
                "noreturn" => {
                    function.noreturn = true;
                    self.advance()?;
                }
                "pragma" if function.kind == FunctionKind::Entry => self.pragma_strings(|_| ())?,
                "local_maxnreg" => self.directive_number().map(drop)?,
                // How many registers a called function preserves; only the assembler needs it.
                "abi_preserve" | "abi_preserve_control" if function.kind == FunctionKind::Function => {
                    self.directive_number().map(drop)?;
                }
                _ => self.unknown_function_directive()?,
            }
        }
        Ok(())
    }

    fn unknown_function_directive(&mut self) -> Result<(), Fault> {
        if self.space().is_some()
            || matches!(
                self.directive(),
                Some("entry" | "func" | "visible" | "extern" | "weak" | "attribute" | "pragma")
            )
        {
            return Err(self.expected("`;` or `{` after the function's head"));
        }
        self.note_unknown();
        self.advance()?;
        loop {
            match self.token.kind {
                Kind::Number | Kind::Str | Kind::Punct(b',') => self.advance()?,
                Kind::Punct(b'(') => self.skip_group()?,
                _ => return Ok(()),
            }
        }
    }

    fn directive_number(&mut self) -> Result<u32, Fault> {
        self.advance()?;
        self.small("a number")
    }

    /// `x {, y {, z}}`
    fn dimensions(&mut self) -> Result<[u32; 3], Fault> {
        self.advance()?;
        let mut dimensions = [1; 3];
        for (i, extent) in dimensions.iter_mut().enumerate() {
            if i > 0 && !self.eat(b',')? {
                break;
            }
            *extent = self.small("an extent")?;
        }
        Ok(dimensions)
    }
}
