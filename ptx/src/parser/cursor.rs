//! The parser's cursor: the current token, and functions that take it.

use super::MAX_NESTING;
use crate::error::{Fault, Message, ParseErrorKind};
use crate::lexer::{Kind, Lexer, Token};
use crate::number;
use crate::tree::Literal;

pub(super) struct Cursor<'a> {
    pub(super) lexer: Lexer<'a>,
    /// The token to be read next.
    pub(super) token: Token,
    /// End of the token read last.
    pub(super) end: usize,
    nesting: u32,
    /// Directives that were skipped.
    pub(super) unknown: Vec<(u32, &'a str)>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, line: u32) -> Result<Self, Fault> {
        let mut lexer = Lexer::new(text, line);
        let token = lexer.next()?;
        Ok(Self { lexer, token, end: token.start, nesting: 0, unknown: Vec::new() })
    }

    /// Text of the current token.
    pub(super) fn text(&self) -> &'a str {
        self.lexer.slice(self.token.start, self.token.end)
    }

    /// Name of the current token without its dot, if it is a directive.
    pub(super) fn directive(&self) -> Option<&'a str> {
        (self.token.kind == Kind::Directive).then(|| self.lexer.slice(self.token.start + 1, self.token.end))
    }

    #[inline(never)]
    pub(super) fn advance(&mut self) -> Result<(), Fault> {
        self.end = self.token.end;
        self.token = self.lexer.next()?;
        Ok(())
    }

    pub(super) fn at(&self, punct: u8) -> bool {
        self.token.kind == Kind::Punct(punct)
    }

    pub(super) fn at_word(&self) -> bool {
        self.token.kind == Kind::Word
    }

    /// Takes the punctuation character if it is next.
    #[inline(never)]
    pub(super) fn eat(&mut self, punct: u8) -> Result<bool, Fault> {
        let there = self.at(punct);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, punct: u8, purpose: &'static str) -> Result<(), Fault> {
        if self.eat(punct)? {
            return Ok(());
        }
        Err(Fault::at(self.token.place(), Message::ExpectedPunct(punct, purpose)))
    }

    /// `expected ..., found ...` at the current token.
    #[cold]
    #[inline(never)]
    pub(super) fn expected(&self, what: &'static str) -> Fault {
        Fault::at(self.token.place(), Message::Expected(what))
    }

    /// Takes a word, dots included.
    pub(super) fn word(&mut self, what: &'static str) -> Result<&'a str, Fault> {
        if !self.at_word() {
            return Err(self.expected(what));
        }
        let word = self.text();
        self.advance()?;
        Ok(word)
    }

    /// Takes an identifier: a word without dots.
    pub(super) fn identifier(&mut self, what: &'static str) -> Result<&'a str, Fault> {
        let place = self.token.place();
        let word = self.word(what)?;
        if word.bytes().any(|b| matches!(b, b'.' | b':')) {
            return Err(Fault::at(place, Message::Expected(what)));
        }
        Ok(word)
    }

    /// Takes a number token.
    pub(super) fn literal(&mut self) -> Result<(Literal, bool), Fault> {
        if self.token.kind != Kind::Number {
            return Err(self.expected("a number"));
        }
        let value = number::literal(self.text())
            .map_err(|mistake| Fault::at(self.token.place(), Message::Quoted("", mistake)))?;
        self.advance()?;
        Ok(value)
    }

    /// Takes an integer constant that fits in 32 bits without sign.
    #[inline(never)]
    pub(super) fn small(&mut self, what: &'static str) -> Result<u32, Fault> {
        let place = self.token.place();
        if self.token.kind != Kind::Number {
            return Err(self.expected(what));
        }
        match self.literal()? {
            (Literal::Int(v), _) if u32::try_from(v).is_ok() => Ok(v as u32),
            _ => Err(Fault::at(place, Message::NotSmall(what))),
        }
    }

    /// Takes a quoted string; the slice is the text between the quotes.
    pub(super) fn string(&mut self, what: &'static str) -> Result<&'a str, Fault> {
        if self.token.kind != Kind::Str {
            return Err(self.expected(what));
        }
        let inner = self.lexer.slice(self.token.start + 1, self.token.end - 1);
        self.advance()?;
        Ok(inner)
    }

    /// Runs `part` one level deeper, with a limit instead of a stack overflow.
    pub(super) fn nested<T>(&mut self, part: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        if self.nesting >= MAX_NESTING {
            return Err(self.limit(Message::MoreThan(MAX_NESTING, "levels are nested")));
        }
        self.nesting += 1;
        let result = part(self);
        self.nesting -= 1;
        result
    }

    #[cold]
    pub(super) fn limit(&self, message: Message) -> Fault {
        Fault::at(self.token.place(), message).with_kind(ParseErrorKind::Limit)
    }

    /// Skips the block that opens at the current token; returns the offset after its closing brace.
    pub(super) fn skip_block(&mut self) -> Result<usize, Fault> {
        let end = self.lexer.skip_block(self.token)?;
        self.token.end = end;
        self.advance()?;
        Ok(end)
    }

    /// Skips a parenthesised or bracketed group that opens at the current token.
    pub(super) fn skip_group(&mut self) -> Result<(), Fault> {
        let open = self.token;
        let mut depth = 0u32;
        loop {
            match self.token.kind {
                Kind::Punct(b'(' | b'[' | b'{') => depth = depth.saturating_add(1),
                Kind::Punct(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                Kind::End => return Err(Fault::new(open.start, "group is never closed")),
                _ => {}
            }
            self.advance()?;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}
