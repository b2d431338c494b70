//! Tests that end early without a word: they would pass on a machine where they show nothing, and nobody would count them.
//!
//! A test may return where it says that it is skipped, in that block or in a function that the block's condition calls, and where the rest
//! of it runs in another process. Nested functions, closures and tests that are ignored return when they like.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// Where tests are.
const FOLDERS: &[&str] =
    &["tests", "emulator/tests", "cli/tests", "harness/tests", "ptx/tests", "sys/tests", "macros/tests"];

/// Functions that say why a test ends: of `harness/src/skip.rs`; and one that tells the process in which the rest runs.
const SAYERS: &[&str] = &["skipped", "or_skip", "is_child"];

/// What conditions ask of the environment, which tells that process, too.
const VARIABLES: &[&str] = &["var", "var_os"];

/// `file: test` for each test that may end without a word.
pub(super) fn silent(root: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let mut files = Vec::new();
        sources(&root.join(folder), &mut files)?;
        let parse = |file: &PathBuf| -> Result<(PathBuf, Vec<Function>)> {
            let tokens: TokenStream =
                fs::read_to_string(file)?.parse().map_err(|error| format!("{}: {error}", file.display()))?;
            let mut functions = Vec::new();
            functions_in(&tokens, &mut functions);
            Ok((file.clone(), functions))
        };
        let files = files.iter().map(parse).collect::<Result<Vec<_>>>()?;
        // What programs share is below the folder.
        let is_shared = |file: &Path| file.parent() != Some(&root.join(folder));
        let shared = files.iter().filter(|(file, _)| is_shared(file)).flat_map(|(_, functions)| functions);
        let shared = sayers(shared, SAYERS.iter().map(|name| (*name).to_owned()).collect());
        for (file, functions) in &files {
            let sayers = sayers(functions.iter(), shared.clone());
            let tests = functions.iter().filter(|function| function.is_test);
            for test in tests.filter(|test| returns(&test.body, &sayers)) {
                let file = file.strip_prefix(root).unwrap_or(file);
                found.push(format!("{}: {}", file.display(), test.name));
            }
        }
    }
    Ok(found)
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        // Programs that do not compile are no tests.
        if path.is_dir() && !path.ends_with("compile_fail") {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

struct Function {
    name: String,
    is_test: bool,
    body: TokenStream,
}

/// All functions, also those of modules and implementations.
fn functions_in(tokens: &TokenStream, found: &mut Vec<Function>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut attributes = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(word) = token else {
            match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                    attributes.extend(words(&group.stream()));
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    attributes.clear();
                    functions_in(&group.stream(), found);
                }
                TokenTree::Punct(punct) if punct.as_char() == ';' => attributes.clear(),
                _ => {}
            }
            continue;
        };
        if *word != "fn" {
            continue;
        }
        let (Some(TokenTree::Ident(name)), Some(body)) = (tokens.get(at + 1), next_block(&tokens[at..]))
        else {
            continue;
        };
        let is_test = attributes.contains("test") && !attributes.contains("ignore");
        found.push(Function { name: name.to_string(), is_test, body: body.stream() });
    }
}

fn next_block(tokens: &[TokenTree]) -> Option<&Group> {
    tokens.iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
        _ => None,
    })
}

/// The words in it, however deep.
fn words(tokens: &TokenStream) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(word) => _ = found.insert(word.to_string()),
            TokenTree::Group(group) => found.extend(words(&group.stream())),
            _ => {}
        }
    }
    found
}

/// With those of the functions that call one.
fn sayers<'f>(
    functions: impl Iterator<Item = &'f Function>,
    mut sayers: BTreeSet<String>,
) -> BTreeSet<String> {
    let functions: Vec<_> = functions.map(|function| (&function.name, words(&function.body))).collect();
    loop {
        let before = sayers.len();
        for (name, words) in &functions {
            if !words.is_disjoint(&sayers) {
                sayers.insert((*name).clone());
            }
        }
        if sayers.len() == before {
            return sayers;
        }
    }
}

/// Whether it returns where none of these says why.
fn returns(body: &TokenStream, sayers: &BTreeSet<String>) -> bool {
    let tokens: Vec<TokenTree> = body.clone().into_iter().collect();
    let says = |tokens: &[TokenTree]| {
        tokens.iter().any(|token| match token {
            TokenTree::Ident(word) => sayers.contains(&word.to_string()),
            TokenTree::Group(group) => !words(&group.stream()).is_disjoint(sayers),
            _ => false,
        })
    };
    let of_environment = |tokens: &[TokenTree]| {
        let asks = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if VARIABLES.iter().any(|name| word == name));
        tokens.iter().any(asks)
    };
    let (mut statement, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        match token {
            TokenTree::Ident(word) if *word == "return" => {
                let end = rest.iter().position(|token| is(token, ';')).unwrap_or(rest.len());
                if !says(&rest[..end]) && !says(&tokens) {
                    return true;
                }
            }
            TokenTree::Ident(word) if *word == "fn" || *word == "async" || *word == "impl" => {
                at += block_after(rest);
            }
            TokenTree::Punct(_)
                if is(token, '|') && !at.checked_sub(1).is_some_and(|before| is_operand(&tokens[before])) =>
            {
                let parameters = 1 + rest[1..].iter().position(|token| is(token, '|')).unwrap_or(0);
                at += parameters;
                let is_block = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace);
                // With a type of its own, or without.
                if is_block(tokens.get(at + 1)) || tokens.get(at + 1).is_some_and(|token| is(token, '-')) {
                    at += block_after(&tokens[at..]);
                }
            }
            TokenTree::Punct(_) if is(token, ';') => statement = at + 1,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                // The condition, or what a value was looked for in.
                let head = &tokens[statement..at];
                if !says(head) && !of_environment(head) && returns(&group.stream(), sayers) {
                    return true;
                }
                if !matches!(tokens.get(at + 1), Some(TokenTree::Ident(word)) if *word == "else") {
                    statement = at + 1;
                }
            }
            TokenTree::Group(group) if returns(&group.stream(), sayers) => return true,
            _ => {}
        }
        at += 1;
    }
    false
}

/// How far the next block is.
fn block_after(tokens: &[TokenTree]) -> usize {
    let is_block =
        |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    tokens.iter().position(is_block).unwrap_or(0)
}

fn is(token: &TokenTree, punct: char) -> bool {
    matches!(token, TokenTree::Punct(token) if token.as_char() == punct)
}

/// Whether a `|` behind it is an operator.
fn is_operand(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(word) => !["move", "mut", "return", "else"].iter().any(|name| word == name),
        TokenTree::Punct(punct) => ['?', '|', '>'].contains(&punct.as_char()),
        _ => true,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{SAYERS, functions_in, returns, sayers, silent};
    use std::path::Path;

    #[test]
    fn no_test_ends_without_a_word() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let silent = silent(root).unwrap();
        assert!(
            silent.is_empty(),
            "these return early; say so with `skipped(..)` of cuda-harness:\n{}",
            silent.join("\n")
        );
    }

    /// The names of the tests in this text that end without a word.
    fn in_text(text: &str) -> Vec<String> {
        let mut functions = Vec::new();
        functions_in(&text.parse().unwrap(), &mut functions);
        let sayers = sayers(functions.iter(), SAYERS.iter().map(|name| (*name).to_owned()).collect());
        let silent =
            functions.into_iter().filter(|function| function.is_test && returns(&function.body, &sayers));
        silent.map(|function| function.name).collect()
    }

    #[test]
    fn early_returns_are_found() {
        for (body, silent) in [
            ("if x { return; } work();", true),
            ("if x { if y { return } }", true),
            ("let Some(x) = find() else { return };", true),
            ("match x { Ok(x) => work(x), Err(_) => return }", true),
            ("for x in list { if x { return } } panic!()", true),
            ("let y = x | z; if y { return }", true),
            ("if a || b { return }", true),
            ("work(|x| x + 1); if x { return }", true),
            ("if here().is_none() { other(); } if x { return }", true),
            ("if cfg!(miri) { return }", true),
            ("if x { return skipped(\"no\"); }", false),
            ("if x { skipped(\"no\"); return; }", false),
            ("let Some(x) = here() else { return };", false),
            ("if here().is_none() { return; }", false),
            ("match x { Ok(x) => work(x), Err(e) => return skipped(e) }", false),
            ("if !child::is_child(N) { run(); return; } work()", false),
            ("if std::env::var_os(N).is_some() { return; } child()", false),
            ("let Ok(x) = std::env::var(N) else { return }; work(x)", false),
            ("work(&mut |x| { return 1 });", false),
            ("work(|| { if x { return } });", false),
            ("work(move |x| -> u32 { return 1 });", false),
            ("fn f() -> u32 { return 1 } f();", false),
            ("block_on(async move { if x { return } });", false),
        ] {
            let text = format!("fn here() -> Option<u32> {{ or_skip(None, 1) }} #[test] fn t() {{ {body} }}");
            assert_eq!(!in_text(&text).is_empty(), silent, "{body}");
        }
    }

    #[test]
    fn only_tests_count() {
        assert!(in_text("fn f() { if x { return } }").is_empty());
        assert!(in_text("#[test] #[ignore = \"later\"] fn f() { if x { return } }").is_empty());
        assert_eq!(in_text("mod m { #[cfg(unix)] #[test] fn f() { if x { return } } }"), ["f"]);
    }
}
