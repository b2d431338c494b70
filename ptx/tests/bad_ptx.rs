//! Texts that are refused, each with the line and column of what is wrong and what was expected there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use cuda_ptx::{ParseError, parse};

/// The first error of a module or of a body in it.
fn error(text: &str) -> Option<ParseError> {
    let module = match parse(text) {
        Ok(module) => module,
        Err(error) => return Some(error),
    };
    module.functions.iter().find_map(|f| f.statements().err())
}

/// (text, line, column, part of the message). In the text `$` stands for a good head of two lines.
const MODULES: &[(&str, u32, u32, &str)] = &[
    ("", 1, 1, "expected `.version` at the start of a PTX module, found the end of the text"),
    ("hello", 1, 1, "found `hello`"),
    ("\n\n  \"x\"", 3, 3, "found a string"),
    (".target sm_90", 1, 1, "expected `.version`"),
    ("\u{feff}.version 8.0", 1, 1, "unexpected character '\\u{feff}'"),
    ("/* never closed", 1, 1, "comment is never closed"),
    (".version", 1, 9, "expected a version such as `8.0`, found the end"),
    (".version 8", 1, 10, "expected a version"),
    (".version 8.x", 1, 10, "expected a version"),
    (".version 8.0.1", 1, 10, "expected a version"),
    (".version 99999999999.0", 1, 10, "expected a version"),
    (".version -8.0", 1, 10, "expected a version"),
    (".version 8.0\n.entry k() { }", 2, 1, "expected `.target` after `.version`"),
    (".version 8.0", 1, 13, "expected `.target`"),
    (".version 8.0 .target", 1, 21, "expected a target"),
    (".version 8.0 .target sm_90,", 1, 28, "expected a target"),
    (".version 8.0 .target 90", 1, 22, "expected a target such as `sm_90`, found `90`"),
    ("$.version 8.0", 3, 1, "only one `.version`"),
    ("$.address_size 48", 3, 15, "expected 32 or 64 as address size, found `48`"),
    ("$.address_size big", 3, 15, "expected 32 or 64, found `big`"),
    ("$stray", 3, 1, "expected a directive, found `stray`"),
    ("$;", 3, 1, "expected a directive"),
    ("$}", 3, 1, "expected a directive"),
    ("$.frobnicate 1 }", 3, 1, "unknown directive `.frobnicate`"),
    ("$.file \"x\" 1", 3, 7, "expected the number of the file"),
    ("$.file 1 x", 3, 9, "expected the name of the file in quotes"),
    ("$.file 1 \"x", 3, 9, "string is never closed"),
    ("$.file 1 \"x\\\"y", 3, 13, "expected a directive, found `y`"),
    ("$.section .debug_info", 3, 21, "expected `{` after the name of the section"),
    ("$.section .debug_info {", 3, 22, "block is never closed"),
    ("$.section .debug_info { { }\n", 3, 22, "block is never closed"),
    ("$.alias f;", 3, 9, "expected `,` after the name of the alias"),
    ("$.visible 3", 3, 10, "expected `.entry`, `.func` or a state space, found `3`"),
    ("$.visible .visible", 3, 10, "there is a linkage already"),
    ("$\0.global .u32 x;", 3, 1, "NUL byte inside the text"),
    ("$.global .u32 x\u{1};", 3, 15, "unexpected character '\\u{1}'"),
    ("$.global .u32 \u{e9};", 3, 14, "unexpected character 'é'"),
    // The column counts characters.
    ("$/* \u{e9}\u{1f600} */ \u{e9}", 3, 10, "unexpected character 'é'"),
    // Variables.
    ("$.global x;", 3, 9, "expected a type, found `x`"),
    ("$.global .u33 x;", 3, 9, "expected a type, found `.u33`"),
    ("$.global .u32 .u32 x;", 3, 14, "has a type already"),
    ("$.global .u32;", 3, 13, "expected a variable name, found `;`"),
    ("$.global .u32 a.b;", 3, 14, "expected a variable name, found `a.b`"),
    ("$.global .u32 x", 3, 15, "expected `;` after the declaration, found the end"),
    ("$.global .u32 x y;", 3, 16, "expected `;` after the declaration, found `y`"),
    ("$.global .align 3 .u32 x;", 3, 16, "expected a power of two as alignment, found `3`"),
    ("$.global .align 0 .u32 x;", 3, 16, "expected a power of two"),
    ("$.global .align x .u32 x;", 3, 16, "expected an alignment, found `x`"),
    ("$.global .u32 x[4;", 3, 17, "expected `]` after the array extent"),
    ("$.global .u32 x[-4];", 3, 16, "expected an array extent, found a negative one"),
    ("$.global .u32 x[y];", 3, 16, "expected an array extent, found `y`"),
    ("$.global .u32 x[1/1];", 3, 17, "expected `]` after the array extent, found `/`"),
    ("$.global .u32 x;\n.target sm_90", 4, 1, "`.target` stands behind `.version`"),
    ("$.global .u32 x; .address_size 64", 3, 17, "at most one `.address_size`"),
    ("$.global .u32 x[4294967296][4294967296];", 3, 39, "larger than 2^63 bytes"),
    ("$.global .u32 x[0x2000000000000000];", 3, 35, "larger than 2^63 bytes"),
    ("$.global .attribute .u32 x;", 3, 20, "expected `(` after `.attribute`"),
    ("$.global .attribute(.managed .u32 x;", 3, 19, "group is never closed"),
    ("$.const[2 .u32 x;", 3, 7, "group is never closed"),
    // Initialisers.
    ("$.global .u32 x = ;", 3, 18, "expected a number, a symbol or `{`"),
    ("$.global .u32 x[2] = {1, };", 3, 25, "expected a number, a symbol or `{`, found `}`"),
    ("$.global .u32 x[2] = {1 2};", 3, 24, "expected `}` or `,` in the initialiser"),
    ("$.global .u32 x[2] = {1, 2;", 3, 26, "expected `}` or `,`"),
    ("$.global .u64 x = generic(;", 3, 26, "expected a symbol"),
    ("$.global .u64 x = generic(y;", 3, 27, "expected `)` after the symbol"),
    ("$.global .u8 x = 0xff(3);", 3, 22, "expected a symbol, found `3`"),
    ("$.global .u64 x = y + z;", 3, 22, "expected a number, found `z`"),
    ("$.global .u64 x = 08;", 3, 18, "`08` is not a number"),
    ("$.global .u64 x = 0xg;", 3, 18, "`0xg` is not a number"),
    ("$.global .u64 x = 12ab;", 3, 18, "`12ab` is not a number"),
    ("$.global .u64 x = 92233720368547758080;", 3, 18, "does not fit in 64 bits"),
    ("$.global .u64 x = 0x80000000000000000;", 3, 18, "does not fit in 64 bits"),
    ("$.global .u64 x = 0x;", 3, 18, "`0x` is not a number"),
    ("$.global .f64 x = 1e400;", 3, 18, "`1e400` is not a normal number"),
    ("$.global .f64 x = -1e-310;", 3, 19, "`1e-310` is not a normal number"),
    ("$.global .f32 x = -0f3F800000;", 3, 19, "a float of 32 bits cannot be part of an expression"),
    ("$.global .f64 x = 1.0 / 0.0;", 3, 22, "division by zero"),
    ("$.global .f64 x = 1.0 & 2.0;", 3, 22, "expected an integer, found a float"),
    ("$.global .f64 x = 1 ? 2.0 : 3.0;", 3, 31, "expected an integer, found a float"),
    ("$.global .f64 x = ~1.5;", 3, 18, "expected an integer, found a float"),
    ("$.global .f32 x = 0f3F8000;", 3, 18, "expected 8 hexadecimal digits"),
    ("$.global .f32 x = 0d3F800000;", 3, 18, "expected 16 hexadecimal digits"),
    ("$.global .f32 x = 1.5.2;", 3, 18, "`1.5.2` is not a number"),
    ("$.global .f32 x = 1 + 1.5;", 3, 20, "an integer and a float do not go together"),
    ("$.global .u32 x = (.u16)1;", 3, 19, "expected `.s64` or `.u64`"),
    ("$.global .u32 x = 1 ? 2;", 3, 23, "expected `:` of `? :`"),
    ("$.pragma nounroll;", 3, 9, "expected a pragma in quotes"),
    // Functions.
    ("$.entry () { }", 3, 8, "expected the name of the function"),
    ("$.entry k.x() { }", 3, 8, "expected the name of the function, found `k.x`"),
    ("$.entry k(.param .u32 x { }", 3, 24, "expected `)` or `,` after the parameter"),
    ("$.entry k(.global .u32 x) { }", 3, 10, "expected `.param` or `.reg`, found `.global`"),
    ("$.entry k(.param .u32 x,) { }", 3, 24, "expected `.param` or `.reg`, found `)`"),
    ("$.entry k(.param .u32 x = 3) { }", 3, 24, "expected `)` or `,`"),
    ("$.entry k()", 3, 11, "expected `;` or `{` after the function's head, found the end"),
    ("$.entry k() .global .u32 x;", 3, 12, "expected `;` or `{` after the function's head"),
    ("$.entry k() .entry l() { }", 3, 12, "expected `;` or `{` after the function's head"),
    ("$.entry k() .maxntid { }", 3, 21, "expected an extent, found `{`"),
    ("$.entry k() .maxntid 1, { }", 3, 24, "expected an extent"),
    ("$.entry k() .maxntid 4294967296 { }", 3, 21, "expected an extent between 0 and 4294967295"),
    ("$.entry k() .maxnreg x { }", 3, 21, "expected a number"),
    ("$.entry k() {", 3, 12, "block is never closed"),
    ("$.entry k() { { }\n// }\n/* } */ \"}\"", 3, 12, "block is never closed"),
    ("$.entry k() { \"", 3, 14, "string is never closed"),
    ("$.entry k() { /* }", 3, 14, "comment is never closed"),
    ("$.entry k() { \0 }", 3, 14, "NUL byte inside the text"),
    ("$.func (.param .u32 r f() { }", 3, 22, "expected `)` or `,`"),
];

/// As above for a body; its first line is line 4 of the module, and columns count from its start.
const BODIES: &[(&str, u32, u32, &str)] = &[
    ("ret", 5, 1, "expected an operand, found `}`"),
    (";", 4, 1, "expected a statement or `}`, found `;`"),
    ("3;", 4, 1, "expected a statement or `}`, found `3`"),
    ("add %r1, ;", 4, 10, "expected an operand, found `;`"),
    ("add %r1 %r2;", 4, 9, "expected `;` or `,` after the operand, found `%r2`"),
    ("add %r1, %r2,;", 4, 14, "expected an operand"),
    ("@ ret;", 4, 6, "expected an instruction, found `;`"),
    ("@5 ret;", 4, 2, "expected a predicate register, found `5`"),
    ("@%p1 .reg .u32 x;", 4, 6, "expected an instruction, found `.reg`"),
    ("a.b: ret;", 4, 1, "a label cannot contain a dot"),
    (".frob 1;", 4, 1, "expected a statement, found `.frob`"),
    (".loc 1", 5, 1, "expected a line, found `}`"),
    (".loc x 1 2", 4, 6, "expected the number of a file"),
    (".loc 1 2 3, what 4", 4, 13, "expected `function_name`, found `what`"),
    (".loc 1 2 3, function_name L, inlined_at 1 2;", 4, 44, "expected a column"),
    (".loc 1 2;", 4, 9, "expected a column"),
    (".branchtargets A;", 4, 1, "expected a label before it"),
    ("p: .callprototype f (.param .b32 _);", 4, 19, "expected `_`"),
    ("ld.u32 %r1, [%rd1-8];", 4, 18, "expected `]` after the address, found `-`"),
    (".file 2 \"x\"", 4, 1, "expected a statement"),
    ("x: .branchtargets ;", 4, 19, "expected a name"),
    ("x: .callprototype (.param .u32 _ _;", 4, 34, "expected `)` or `,`"),
    (".reg .b32 %r<5;", 4, 15, "expected `>` after the number of registers"),
    (".reg .b32 %r<x>;", 4, 14, "expected a number of registers, found `x`"),
    (".reg .b32 %r<4294967296>;", 4, 14, "expected a number of registers between 0 and"),
    (".pragma \"x\"", 5, 1, "expected `;` or `,` after the pragma, found `}`"),
    (".pragma nounroll;", 4, 9, "expected a pragma in quotes, found `nounroll`"),
    ("ld [;", 4, 5, "expected an operand, found `;`"),
    ("ld [%rd1;", 4, 9, "expected `]` after the address, found `;`"),
    ("ld [%rd1+%rd2];", 4, 10, "expected a number, found `%rd2`"),
    ("ld [{a, b}];", 4, 5, "`{a, b}` is not an address"),
    ("ld [1.5];", 4, 5, "`1.5` is not an address"),
    ("ld [a|b+4];", 4, 6, "expected `]` after the address"),
    ("ld [%v.x+4, 3];", 4, 5, "expected a name before the offset"),
    ("ld {};", 4, 5, "a vector needs elements"),
    ("ld {a, b; }", 4, 9, "expected `}` or `,` after the operand, found `;`"),
    ("ld {a, b]; }", 4, 9, "expected `}` or `,`"),
    ("call (a;", 4, 8, "expected `)` or `,` after the operand"),
    ("mov a, b[%r1*2];", 4, 13, "expected `]` after the index, found `*`"),
    ("mov a, b[1;", 4, 11, "expected `]` after the index"),
    ("mov a, 1 +;", 4, 11, "expected a number, found `;`"),
    ("mov a, \"x\";", 4, 8, "expected an operand, found a string"),
    ("mov a, .b;", 4, 8, "expected an operand, found `.b`"),
    ("mov a, 3 3;", 4, 10, "expected `;` or `,`"),
    ("mov a, -;", 4, 9, "expected a number, found `;`"),
    ("mov a, \u{e9};", 4, 8, "unexpected character 'é'"),
    ("mov a, ];", 4, 8, "expected an operand, found `]`"),
    ("} ret; {", 4, 3, "found"),
];

/// Every case whose error is not the wanted one.
fn unexpected(cases: &[(&str, u32, u32, &str)], module: impl Fn(&str) -> String) -> Vec<String> {
    let judge = |&(text, line, column, message): &(&str, u32, u32, &str)| match error(&module(text)) {
        None => Some(format!("accepted: {text}")),
        Some(e) if (e.line, e.column) != (line, column) || !e.message.contains(message) => {
            Some(format!("{text}\n  {e}\n  wanted {line}:{column} {message}"))
        }
        Some(_) => None,
    };
    cases.iter().filter_map(judge).collect()
}

#[test]
fn modules() {
    let failed = unexpected(MODULES, |text| text.replacen('$', ".version 8.0\n.target sm_90\n", 1));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn bodies() {
    let failed = unexpected(BODIES, |body| format!(".version 8.0\n.target sm_90\n.entry k() {{\n{body}\n}}"));
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn there_are_many() {
    assert!(MODULES.len() + BODIES.len() >= 120, "{}", MODULES.len() + BODIES.len());
}

#[test]
fn nesting_is_limited() {
    let deep = |open: &str, close: &str| format!("mov a, {}1{};", open.repeat(60), close.repeat(60));
    for body in [deep("{", "}"), deep("[", "]"), deep("f, (", ")")] {
        let text = common::module_with(&body);
        assert!(error(&text).is_some(), "{body}");
    }
    for text in [
        format!("{}1", "{".repeat(100_000)),
        "(".repeat(100_000),
        "0xff(".repeat(100_000),
        "-".repeat(100_000),
    ] {
        let text = format!(".version 8.0 .target sm_90 .global .u32 x = {text};");
        assert!(error(&text).is_some());
    }
}

/// The excerpt shows the line, and the caret stands under the column, in long lines too.
#[test]
fn excerpts() {
    let text = format!(
        ".version 8.0 .target sm_90\n.global .u8 x[9] = {{{}, \u{e9}, {}}};",
        "1, ".repeat(200),
        "2, ".repeat(200)
    );
    let error = parse(&text).unwrap_err();
    assert!(error.excerpt.chars().count() <= 100 && error.excerpt.contains("1, , \u{e9}, 2"), "{error:#}");
    let shown = format!("{error:#}");
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3);
    let caret = lines[2].chars().count() - 1;
    assert_eq!(lines[1].chars().nth(caret), Some(','), "{shown}");
    assert_eq!(error.pointed_excerpt(), lines[1..].join("\n"));
}

#[test]
fn excerpts_keep_tabs_and_drop_control_characters() {
    let error = parse(".version 8.0 .target sm_90\r\n\t.global\t.u32 \u{7}x;\r\n").unwrap_err();
    assert_eq!((error.line, error.column), (2, 15));
    assert_eq!(error.pointed_excerpt(), "\t.global\t.u32 \u{fffd}x;\n\t       \t     ^");
}
