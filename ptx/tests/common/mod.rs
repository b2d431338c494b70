//! What the tests share: fixtures, and a generator of numbers that are the same on every run.
#![allow(dead_code)] // each test file uses a part of it

use std::path::PathBuf;

use cuda_ptx::Statement;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

pub(crate) fn data(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap()
}

pub(crate) fn text(name: &str) -> String {
    String::from_utf8(data(name)).unwrap()
}

/// Names of the fixtures with this ending.
pub(crate) fn fixtures(ending: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = files
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(ending))
        .collect();
    names.sort();
    names
}

/// A module of one kernel with this body.
pub(crate) fn module_with(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n{body}\n}}\n"
    )
}

/// The statements of the module's only function.
pub(crate) fn statements(module: &str) -> Vec<Statement<'_>> {
    cuda_ptx::parse(module).unwrap().functions[0].statements().unwrap()
}

/// Calls `visit` for every statement, also inside blocks.
pub(crate) fn walk<'s, 'a>(statements: &'s [Statement<'a>], visit: &mut impl FnMut(&'s Statement<'a>)) {
    for statement in statements {
        visit(statement);
        if let Statement::Block(inner) = statement {
            walk(inner, visit);
        }
    }
}

/// xorshift64*: the tests must not depend on a library's choice of numbers.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}
