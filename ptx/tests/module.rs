//! Module scope: directives, functions, variables, and what is tolerated there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use cuda_ptx::image::Arch;
use cuda_ptx::{Directives, FunctionKind, Linkage, Module, ParseErrorKind, parse, parse_function};

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn module(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

/// Parses `rest` behind the usual head.
macro_rules! parsed {
    ($text:ident, $rest:expr) => {{
        $text = module($rest);
        parse(&$text).unwrap_or_else(|e| panic!("{e:#}"))
    }};
}

#[test]
fn head_only() {
    let m = parse(HEAD).unwrap();
    assert_eq!((m.version, m.targets, m.address_size), ((8, 0), vec!["sm_90"], 64));
    assert!(m.functions.is_empty() && m.variables.is_empty());
}

#[test]
fn address_size_may_be_missing() {
    assert_eq!(parse(".version 3.2 .target sm_20").unwrap().address_size, 64);
    assert_eq!(parse(".version 3.2 .target sm_20 .address_size 32").unwrap().address_size, 32);
}

#[test]
fn target_options() {
    let m = parse(".version 8.7\n.target sm_100a, debug, texmode_independent\n").unwrap();
    assert_eq!(m.targets, ["sm_100a", "debug", "texmode_independent"]);
}

#[test]
fn the_first_target_is_the_architecture() {
    let arch = |targets: &str| parse(&format!(".version 8.8 .target {targets}")).unwrap().arch();
    let of = |sm, suffix| Some(Arch { sm, suffix });
    assert_eq!((arch("sm_90"), arch("sm_90a, debug")), (of(90, None), of(90, Some('a'))));
    assert_eq!((arch("debug, sm_90"), arch("sm_120f")), (None, of(120, Some('f'))));
    assert_eq!(arch("compute_90"), of(90, None), "as ptxas takes it");
    for none in ["sm_90x", "sm_", "sm_9", "sm_a", "debug"] {
        assert_eq!(arch(none), None, "{none}");
    }
}

#[test]
fn nul_at_the_end() {
    for end in ["\0", "\n\0", "\0\0\0", "\0\n", " \0 \0\t"] {
        assert!(parse(&format!("{HEAD}{end}")).is_ok(), "{end:?}");
    }
}

#[test]
fn comments_and_preprocessor_lines() {
    let m = "// a\n/* b\n /* c */# 1 \"x.c\"\n.version 8.0 // d\n.target /**/ sm_90\n@@DWARF .section .debug\n#line 1 \"y.c\"";
    assert_eq!(parse(m).unwrap().targets, ["sm_90"]);
}

#[test]
fn comments_may_hold_any_character() {
    assert!(parse(&module("// \u{e9}\u{1f600}\n/* \u{fc} */ .file 1 \"\u{e9}.cu\"")).is_ok());
}

#[test]
fn files() {
    let text;
    let m = parsed!(text, ".file 1 \"a b.cu\"\n.file\t2 \"c\\\", 1234567, 99\n");
    assert_eq!(m.files, [(1, "a b.cu"), (2, "c\\")]);
}

#[test]
fn sections_and_labels_between_them() {
    let text;
    let m = parsed!(
        text,
        ".section .debug_str\n{\n$L__x:\n.b8 1,2 // }\n.b8 3 /* } */\n}\n$L__sec_end0:\n.section\t.debug_loc { { } }\n\
         .section .debug_info, \"\", @progbits { }\n.global .u32 x;"
    );
    assert_eq!(m.variables.len(), 1);
    assert_eq!(m.variables[0].line, 13);
}

#[test]
fn pragma_and_alias() {
    let text;
    let m = parsed!(text, ".pragma \"a\", \"b\";\n.func f() { ret; }\n.alias g, f;\n.func g();");
    assert_eq!(m.aliases, [("g", "f")]);
    assert_eq!(m.functions.len(), 2);
}

#[test]
fn unknown_directives_are_skipped() {
    for unknown in [
        ".frobnicate 1, 2;",
        ".frobnicate 1, 2",
        ".frobnicate { .global .u32 no; }",
        ".frobnicate (1, .global) [3]\n",
        ".frobnicate \"a;b\"\n",
        ".frobnicate",
    ] {
        let text;
        let m = parsed!(text, &format!("{unknown}\n.visible .entry k() {{ ret; }}"));
        assert_eq!((m.functions.len(), m.variables.len()), (1, 0), "{unknown}");
        assert_eq!(m.unknown, [(4, "frobnicate")], "{unknown}");
    }
}

#[test]
fn linkage() {
    let text;
    let m = parsed!(
        text,
        ".visible .global .u32 a; .extern .shared .b8 b[]; .weak .const .u32 c; .common .global .u32 d; .global .u32 e;\n\
         .visible .entry f() { ret; } .extern .func g(); .weak .func h() { ret; } .entry i { ret; }"
    );
    use Linkage::{Common, Extern, Internal, Visible, Weak};
    let variables: Vec<_> = m.variables.iter().map(|v| v.linkage).collect();
    assert_eq!(variables, [Visible, Extern, Weak, Common, Internal]);
    let functions: Vec<_> = m.functions.iter().map(|f| f.linkage).collect();
    assert_eq!(functions, [Visible, Extern, Weak, Internal]);
}

#[test]
fn function_heads() {
    let text;
    let m = parsed!(
        text,
        ".func (.param .b32 r) add2(.param .b32 a, .reg .b32 b) { ret; }\n\
         .func (.param .align 8 .b8 r0[16], .param .b32 r1) two() ;\n\
         .func a() .noreturn; .func b() .noreturn; .func .attribute(.unified(1, 2)) c(.param .b32 _, .param .b64 _);\n\
         .visible .entry no_parentheses { ret; }"
    );
    let f = &m.functions[0];
    assert_eq!((f.kind, f.name, f.returns.len(), f.params.len()), (FunctionKind::Function, "add2", 1, 2));
    assert_eq!((m.functions[1].returns.len(), m.functions[1].body), (2, None));
    assert!(m.functions[2].noreturn && m.functions[3].noreturn && !m.functions[4].noreturn);
    assert!(m.functions[4].params.iter().all(|p| p.name.is_empty()));
    assert_eq!((m.functions[5].kind, m.functions[5].params.len()), (FunctionKind::Entry, 0));
}

#[test]
fn directives_of_a_kernel() {
    let text;
    let m = parsed!(
        text,
        ".entry k() .maxntid 16, 2 .minnctapersm 3 .maxnreg 64 .pragma \"nounroll\"; .reqnctapercluster 2, 1, 1\n\
         .explicitcluster .maxclusterrank 8 .blocksareclusters .future_directive 7, \"x\", 8 .another (1, .x) { ret; }\n\
         .entry l() .reqntid 32 .maxntid 4, 5, 6 { ret; }\n.entry m() { ret; }"
    );
    let mut expected = Directives::default();
    expected.maxntid = Some([16, 2, 1]);
    expected.minnctapersm = Some(3);
    expected.maxnreg = Some(64);
    expected.reqnctapercluster = Some([2, 1, 1]);
    expected.maxclusterrank = Some(8);
    (expected.explicitcluster, expected.blocksareclusters) = (true, true);
    assert_eq!(m.functions[0].directives, expected);
    assert_eq!(m.functions[1].directives.reqntid, Some([32, 1, 1]));
    assert_eq!(m.functions[1].directives.maxntid, Some([4, 5, 6]));
    assert_eq!(m.functions[2].directives, Directives::default());
}

#[test]
fn lines_and_spans() {
    let text = module(
        "\n/*\n\n*/.visible\n.entry k(\n)\n// {\n{\n  ret; // }\n  { \"}\" /* } */ }\n}.entry l() { }\n",
    );
    let m = parse(&text).unwrap();
    let k = &m.functions[0];
    assert_eq!((k.line, k.body_line), (7, 11));
    assert!(text[k.span.clone()].starts_with(".visible\n") && text[k.span.clone()].ends_with("}\n}"));
    assert_eq!(k.body.unwrap(), &text[text.find("\n{").unwrap() + 1..k.span.end]);
    assert_eq!((m.functions[1].line, &text[m.functions[1].span.clone()]), (14, ".entry l() { }"));
}

#[test]
fn declaration_span_ends_with_its_semicolon() {
    let text = module(".extern .func f\n(\n)\n;\n.global .u32 x;");
    let m = parse(&text).unwrap();
    assert_eq!(&text[m.functions[0].span.clone()], ".extern .func f\n(\n)\n;");
    assert_eq!((m.functions[0].line, m.functions[0].body_line), (4, 0));
}

/// A function read alone is the function that the module had, but for its span.
#[test]
fn functions_read_alone() {
    let names = common::fixtures(".ptx");
    for name in &names {
        let text = common::text(name);
        for function in parse(&text).unwrap().functions {
            let alone = parse_function(&text[function.span.clone()], function.line).unwrap();
            assert_eq!(alone.span, 0..function.span.len());
            let mut alone = alone;
            alone.span = function.span.clone();
            assert_eq!(alone, function, "{name}");
            assert_eq!(alone.statements().unwrap(), function.statements().unwrap(), "{name}");
        }
    }
    assert!(names.len() >= 10);
}

#[test]
fn parse_function_wants_one_function() {
    assert!(parse_function(".func f() { ret; } .func g() { ret; }", 1).is_err());
    assert!(parse_function(".global .u32 x;", 1).is_err());
    assert!(parse_function("", 1).is_err());
    let error = parse_function("\n.func f(.param .q32 x) { ret; }", 41).unwrap_err();
    assert_eq!((error.line, error.column), (42, 16));
}

#[test]
fn not_ptx() {
    for text in [
        "",
        " \n",
        "hello",
        "// only a comment",
        "\u{feff}.version 8.0",
        ".target sm_90",
        "\0",
        "/* open",
        "\u{e9}",
    ] {
        assert_eq!(parse(text).unwrap_err().kind, ParseErrorKind::NotPtx, "{text:?}");
    }
}

#[test]
fn modules_are_cheap_to_clone_and_compare() {
    let text = common::text("features.ptx");
    let m: Module<'_> = parse(&text).unwrap();
    assert_eq!(m.clone(), m);
}
