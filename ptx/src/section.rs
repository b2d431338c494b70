//! Sections of debug information to bytes (PTX ISA, "Debugging Directives: .section").

use std::collections::HashMap;

use crate::lexer::{Kind, Lexer, Token};
use crate::number;
use crate::tree::{Literal, Module, Section};

/// The largest number of bytes that the sections may describe. As compilers write them, so many take 80 MB of text.
const MAX_BYTES: usize = 16 << 20;
/// The largest number of labels.
const MAX_LABELS: usize = 1 << 18;

impl<'a> Module<'a> {
    /// The bytes of the sections with these names, in this order; empty for one that the module does not have.
    ///
    /// A label in one of them counts from the start of its section, as references between DWARF sections do. Addresses
    /// (a code label, a variable) are zero: only a loader knows them.
    ///
    /// `None` if a section contains anything other than bytes, words, labels and their differences, or more than 16
    /// MiB.
    ///
    /// ```
    /// let text = ".version 8.0\n.target sm_90\n.section .debug_info { .b8 1, 2\n .b32 name, .debug_info }\n\
    ///             .section .debug_str { .b8 0\n name: .b8 97, 0 }";
    /// let module = cuda_ptx::parse(text)?;
    /// let sections = module.section_bytes(&[".debug_info", ".debug_str", ".debug_line"]).unwrap();
    /// assert_eq!(sections, [vec![1, 2, 1, 0, 0, 0, 0, 0, 0, 0], vec![0, 97, 0], vec![]]);
    /// # Ok::<(), cuda_ptx::ParseError>(())
    /// ```
    #[must_use]
    pub fn section_bytes(&self, names: &[&str]) -> Option<Vec<Vec<u8>>> {
        let labels = self.labels(names)?;
        let assemble = |name: &&str| {
            let mut bytes = Vec::new();
            for section in self.parts(name) {
                walk(section.text, |item| {
                    if let Item::Value { width, value } = item {
                        let value = value.get(&labels).to_le_bytes();
                        bytes.extend(value.get(..width)?);
                    }
                    Some(())
                })?;
            }
            Some(bytes)
        };
        names.iter().map(assemble).collect()
    }

    fn parts(&self, name: &str) -> impl Iterator<Item = &Section<'a>> {
        self.sections.iter().filter(move |section| section.name == name)
    }

    /// The offsets of the labels, each from the start of its section. This counts all bytes before any are written.
    fn labels(&self, names: &[&str]) -> Option<HashMap<&'a str, u64>> {
        let (mut labels, mut total) = (HashMap::new(), 0usize);
        for name in names {
            let mut offset = 0;
            for section in self.parts(name) {
                walk(section.text, |item| {
                    match item {
                        Item::Label(label) => drop(labels.insert(label, offset as u64)),
                        Item::Value { width, .. } => offset += width,
                    }
                    (total + offset <= MAX_BYTES && labels.len() <= MAX_LABELS).then_some(())
                })?;
            }
            total += offset;
        }
        Some(labels)
    }
}

/// An item of a section.
enum Item<'a> {
    Label(&'a str),
    /// A value of this many bytes.
    Value {
        width: usize,
        value: Value<'a>,
    },
}

/// A number or a label, and a second one that is added or subtracted.
struct Value<'a> {
    first: Term<'a>,
    second: Option<(Sign, Term<'a>)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy)]
enum Term<'a> {
    Number(u64),
    Name(&'a str),
}

impl Value<'_> {
    fn get(&self, labels: &HashMap<&str, u64>) -> u64 {
        let term = |term| match term {
            Term::Number(number) => number,
            // The start of a section, or an address.
            Term::Name(name) => labels.get(name).copied().unwrap_or(0),
        };
        match self.second {
            None => term(self.first),
            Some((Sign::Plus, second)) => term(self.first).wrapping_add(term(second)),
            Some((Sign::Minus, second)) => term(self.first).wrapping_sub(term(second)),
        }
    }
}

/// Calls `each` with every item of the text in order; `None` as soon as an item is not understood or `each` returns
/// `None`.
fn walk<'a>(text: &'a str, mut each: impl FnMut(Item<'a>) -> Option<()>) -> Option<()> {
    let mut reader = Reader { lexer: Lexer::new(text, 1), token: None };
    while let Some(token) = reader.next()? {
        let name = reader.text(token);
        let width = match (token.kind, name) {
            (Kind::Word, label) => {
                reader.eat(b':')?.then_some(())?;
                each(Item::Label(label))?;
                continue;
            }
            (Kind::Directive, ".b8") => 1,
            (Kind::Directive, ".b16") => 2,
            (Kind::Directive, ".b32") => 4,
            (Kind::Directive, ".b64") => 8,
            _ => return None,
        };
        loop {
            each(Item::Value { width, value: reader.value()? })?;
            if !reader.eat(b',')? {
                break;
            }
        }
    }
    Some(())
}

/// A token reader with one token of lookahead.
struct Reader<'a> {
    lexer: Lexer<'a>,
    token: Option<Token>,
}

impl<'a> Reader<'a> {
    /// `None` if the text is not PTX, `Some(None)` at its end.
    fn next(&mut self) -> Option<Option<Token>> {
        let token = match self.token.take() {
            Some(token) => token,
            None => self.lexer.next().ok()?,
        };
        Some((token.kind != Kind::End).then_some(token))
    }

    fn text(&self, token: Token) -> &'a str {
        self.lexer.slice(token.start, token.end)
    }

    /// Takes the next token if it is this character.
    fn eat(&mut self, punct: u8) -> Option<bool> {
        let token = self.next()?;
        let found = token.is_some_and(|token| token.kind == Kind::Punct(punct));
        if !found {
            self.token = token;
        }
        Some(found)
    }

    fn value(&mut self) -> Option<Value<'a>> {
        let first = if self.eat(b'-')? {
            match self.term()? {
                Term::Number(number) => Term::Number(number.wrapping_neg()),
                Term::Name(_) => return None,
            }
        } else {
            self.term()?
        };
        let sign = match (self.eat(b'+')?, self.eat(b'-')?) {
            (true, false) => Sign::Plus,
            (false, true) => Sign::Minus,
            (false, false) => return Some(Value { first, second: None }),
            (true, true) => return None,
        };
        Some(Value { first, second: Some((sign, self.term()?)) })
    }

    fn term(&mut self) -> Option<Term<'a>> {
        let token = self.next()??;
        let text = self.text(token);
        match token.kind {
            Kind::Number => match number::literal(text).ok()?.0 {
                Literal::Int(value) => Some(Term::Number(value.cast_unsigned())),
                _ => None,
            },
            Kind::Word | Kind::Directive => Some(Term::Name(text)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    fn bytes(sections: &str) -> Option<Vec<Vec<u8>>> {
        let text = format!(".version 8.0\n.target sm_90\n{sections}");
        crate::parse(&text).unwrap().section_bytes(&[".debug_info", ".debug_str"])
    }

    #[test]
    fn values_have_their_width_and_labels_their_place() {
        let text = ".section .debug_info {\n.b8 255, -1, 0x7f // one each\na: .b16 0x1234\nb:\n.b64 b-a\n.b32 s+2, code\n}
            .section\t.debug_str\t{ .b8 1,2,3 }\n.section .debug_loc { .b8 nonsense! }\n.section .debug_str { s: .b8 0 }";
        let info =
            [&[255, 255, 0x7f, 0x34, 0x12, 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0][..]].concat();
        assert_eq!(bytes(text), Some(vec![info, vec![1, 2, 3, 0]]));
        assert_eq!(bytes(""), Some(vec![vec![], vec![]]));
    }

    #[test]
    fn what_is_not_understood_is_nothing() {
        for text in
            [".b8 1.5", ".b8", ".b8 1,", ".b8 (1)", ".u33 1", "a", ".b8 a+-b", ".b8 -a", "\"text\"", "\u{e9}"]
        {
            assert_eq!(bytes(&format!(".section .debug_info {{ {text} }}")), None, "{text}");
        }
        let many = ".b64 0".to_owned() + &",0".repeat(2 << 20);
        assert_eq!(bytes(&format!(".section .debug_info {{ {many} }}")), None);
        let labels: String = (0..300_000).map(|i| format!("a{i}:\n")).collect();
        assert_eq!(bytes(&format!(".section .debug_str {{ {labels} }}")), None);
    }
}
