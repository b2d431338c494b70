//! The modules of a crate: what each one defines, imports and names, read from its tokens. Tokens, not a syntax tree: the paths in
//! macros count too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

use crate::Result;

/// Gives the text of a file, if there is one.
pub(super) type Read<'a> = &'a dyn Fn(&Path) -> Option<String>;

/// A path as it is written, without generics: `crate`, `self` and `super` are segments.
pub(super) type Segments = Vec<String>;

/// One name that a `use` brings in.
pub(super) struct Use {
    pub(super) path: Segments,
    /// What it is called here; `*` for all of a module.
    pub(super) name: String,
    /// Whether others can import it from here.
    pub(super) public: bool,
}

/// A module.
#[derive(Default)]
pub(super) struct Module {
    pub(super) parent: Option<usize>,
    pub(super) file: PathBuf,
    pub(super) children: BTreeMap<String, usize>,
    /// Names that it defines, and the file: not its own for an exported macro.
    pub(super) items: BTreeMap<String, PathBuf>,
    pub(super) uses: Vec<Use>,
    /// Paths of two or more segments outside of `use`.
    pub(super) paths: BTreeSet<Segments>,
    /// All words outside of `use`.
    pub(super) words: BTreeSet<String>,
}

/// A crate; the first module is its root.
pub(super) struct Crate {
    pub(super) modules: Vec<Module>,
}

/// Keywords that are followed by the name of an item.
const ITEMS: &[&str] = &["struct", "enum", "union", "trait", "fn", "const", "static", "type"];

impl Crate {
    /// Reads a crate from its root file on.
    pub(super) fn read(file: &Path, read: Read<'_>) -> Result<Crate> {
        let mut made = Crate { modules: Vec::new() };
        made.file(file.to_owned(), file.parent().unwrap_or(Path::new("")).to_owned(), None, read)?;
        Ok(made)
    }

    /// Adds the module that is a file; `folder` is where the files of its children are.
    fn file(
        &mut self,
        file: PathBuf,
        folder: PathBuf,
        parent: Option<usize>,
        read: Read<'_>,
    ) -> Result<usize> {
        let text = read(&file).ok_or_else(|| format!("{}: cannot be read", file.display()))?;
        let tokens: TokenStream = text.parse().map_err(|error| format!("{}: {error}", file.display()))?;
        let module = self.add(file, parent);
        self.tokens(module, &folder, tokens, true, read)?;
        Ok(module)
    }

    fn add(&mut self, file: PathBuf, parent: Option<usize>) -> usize {
        self.modules.push(Module { parent, file, ..Module::default() });
        self.modules.len() - 1
    }

    /// Reads tokens of a module; `top` for those outside of all braces.
    fn tokens(
        &mut self,
        at: usize,
        folder: &Path,
        tokens: TokenStream,
        top: bool,
        read: Read<'_>,
    ) -> Result<()> {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let (mut rest, mut item) = (tokens.as_slice(), Attributes::default());
        while let [first, after @ ..] = rest {
            rest = after;
            if let ([TokenTree::Group(attribute), after @ ..], true) = (rest, is(first, '#')) {
                item.add(attribute.stream());
                rest = after;
                continue;
            }
            if item.test {
                (rest, item) = (behind_item(rest, first), Attributes::default());
                continue;
            }
            match (first, rest) {
                (TokenTree::Group(group), _) => self.tokens(at, folder, group.stream(), false, read)?,
                (TokenTree::Ident(word), [TokenTree::Ident(name), after @ ..]) if word == "mod" => {
                    rest = self.module(at, folder, &plain(name), &item, after, read)?;
                    item = Attributes::default();
                    continue;
                }
                (TokenTree::Ident(word), _)
                    if word == "use" && !matches!(rest, [TokenTree::Punct(p), ..] if p.as_char() == '<') =>
                {
                    let end = rest.iter().position(|token| is(token, ';')).unwrap_or(rest.len());
                    let (tree, after) = rest.split_at(end);
                    self.tree(at, &[], tree, item.public);
                    rest = after;
                }
                (TokenTree::Ident(_), _) => rest = self.path(at, first, rest, top, &mut item),
                _ => {}
            }
            item.step(first);
        }
        Ok(())
    }

    /// Reads a module behind its name: in braces, or in a file of its own.
    fn module<'t>(
        &mut self,
        parent: usize,
        folder: &Path,
        name: &str,
        item: &Attributes,
        rest: &'t [TokenTree],
        read: Read<'_>,
    ) -> Result<&'t [TokenTree]> {
        let [body, after @ ..] = rest else { return Ok(rest) };
        let child = match body {
            TokenTree::Group(group) => {
                let child = self.add(self.modules[parent].file.clone(), Some(parent));
                self.tokens(child, &folder.join(name), group.stream(), true, read)?;
                child
            }
            _ if item.path.is_some() => {
                let beside = self.modules[parent].file.parent().unwrap_or(Path::new(""));
                let file = beside.join(item.path.as_deref().unwrap_or_default());
                let below = file.parent().unwrap_or(Path::new("")).to_owned();
                self.file(tidy(&file), tidy(&below), Some(parent), read)?
            }
            _ => {
                let (own, below) = (folder.join(format!("{name}.rs")), folder.join(name));
                let file = if read(&own).is_some() { own } else { below.join("mod.rs") };
                self.file(file, below, Some(parent), read)?
            }
        };
        self.modules[parent].children.insert(name.to_owned(), child);
        Ok(after)
    }

    /// Reads a tree of imports: `a::b`, `a as b`, `a::*`, `{..}`.
    fn tree(&mut self, at: usize, prefix: &[String], tree: &[TokenTree], public: bool) {
        for part in tree.split(|token| is(token, ',')).filter(|part| !part.is_empty()) {
            let (mut path, mut name) = (prefix.to_vec(), None);
            let mut group = None;
            for token in part {
                match token {
                    TokenTree::Ident(word) if word == "as" => name = Some("_".to_owned()),
                    TokenTree::Ident(word) if name.is_some() => name = Some(plain(word)),
                    TokenTree::Ident(word) => path.push(plain(word)),
                    TokenTree::Punct(punct) if punct.as_char() == '*' => name = Some("*".to_owned()),
                    TokenTree::Group(inner) => group = Some(inner.stream()),
                    _ => {}
                }
            }
            if let Some(inner) = group {
                self.tree(at, &path, &inner.into_iter().collect::<Vec<_>>(), public);
                continue;
            }
            // `use a::{self}`
            if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            let name = name.or_else(|| path.last().cloned()).unwrap_or_default();
            self.modules[at].uses.push(Use { path, name, public });
        }
    }

    /// Reads a word and the path that it begins, if it does.
    fn path<'t>(
        &mut self,
        at: usize,
        first: &TokenTree,
        mut rest: &'t [TokenTree],
        top: bool,
        item: &mut Attributes,
    ) -> &'t [TokenTree] {
        let mut path = vec![first.to_string()];
        if let ([TokenTree::Ident(name), ..], true) = (rest, top && ITEMS.contains(&path[0].as_str())) {
            self.define(at, &plain(name), item.exported);
        }
        if let ([bang, TokenTree::Ident(name), ..], "macro_rules") = (rest, path[0].as_str())
            && is(bang, '!')
        {
            self.define(at, &plain(name), item.exported);
        }
        while let [a, b, TokenTree::Ident(next), after @ ..] = rest
            && is(a, ':')
            && is(b, ':')
        {
            path.push(plain(next));
            rest = after;
        }
        if !item.continues {
            let module = &mut self.modules[at];
            module.words.insert(path[0].clone());
            if path.len() > 1 {
                module.paths.insert(path);
            }
        }
        rest
    }

    fn define(&mut self, at: usize, name: &str, exported: bool) {
        let file = self.modules[at].file.clone();
        self.modules[at].items.insert(name.to_owned(), file.clone());
        if exported {
            self.modules[0].items.entry(name.to_owned()).or_insert(file);
        }
    }
}

/// What stands before the token that is read.
#[derive(Default)]
struct Attributes {
    /// For tests only.
    test: bool,
    /// `#[path]`
    path: Option<String>,
    /// `#[macro_export]`
    exported: bool,
    public: bool,
    /// The last token, if it is punctuation, and whether more followed at once.
    before: Option<(char, Spacing)>,
    /// Whether a word now is a field, a method, or goes on a path: `a.b`, `::b`.
    continues: bool,
}

impl Attributes {
    fn add(&mut self, attribute: TokenStream) {
        let text = attribute.to_string();
        let words = words(attribute);
        let name = words.first().map_or("", String::as_str);
        let word = |wanted: &str| words.iter().any(|word| word == wanted);
        self.test |= name == "test" || name == "cfg" && word("test") && !word("not") && !word("any");
        if name == "path" {
            self.path = text.split('"').nth(1).map(str::to_owned);
        }
        self.exported |= name == "macro_export";
    }

    /// A token was read: an item ends with `;` or a group in braces.
    fn step(&mut self, token: &TokenTree) {
        let brace = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        if brace || is(token, ';') || is(token, ',') {
            *self = Attributes::default();
        }
        self.public |= matches!(token, TokenTree::Ident(word) if word == "pub");
        let now = match token {
            TokenTree::Punct(punct) => Some((punct.as_char(), punct.spacing())),
            _ => None,
        };
        self.continues = match (self.before, now) {
            (Some((':', Spacing::Joint)), Some((':', _))) => true,
            (Some(('.', Spacing::Joint)), Some(('.', _))) => false,
            (_, now) => now.is_some_and(|(mark, _)| mark == '.'),
        };
        self.before = now;
    }
}

/// What comes behind an item that begins with `first`.
fn behind_item<'t>(rest: &'t [TokenTree], first: &TokenTree) -> &'t [TokenTree] {
    let ends = |token: &TokenTree| {
        is(token, ';') || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
    };
    if ends(first) {
        return rest;
    }
    let end = rest.iter().position(ends).map_or(rest.len(), |end| end + 1);
    rest.get(end..).unwrap_or_default()
}

fn words(tokens: TokenStream) -> Vec<String> {
    let word = |token| match token {
        TokenTree::Ident(word) => vec![word.to_string()],
        TokenTree::Group(group) => words(group.stream()),
        _ => Vec::new(),
    };
    tokens.into_iter().flat_map(word).collect()
}

fn plain(word: &proc_macro2::Ident) -> String {
    word.to_string().trim_start_matches("r#").to_owned()
}

fn is(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// The path without `..`.
fn tidy(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut made, part| {
        match part {
            Component::ParentDir => drop(made.pop()),
            part => made.push(part),
        }
        made
    })
}
