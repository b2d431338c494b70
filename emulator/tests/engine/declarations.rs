//! Variables, heads of functions and initial values as ptxas 13.0 takes and refuses them.

use std::sync::Arc;

use cuda_emulator::engine::{LoadFailure, LoadFailureKind, Program};
use cuda_emulator::memory::Memory;

use crate::support::{Args, Device, HEADER, outputs, snippet_with};

fn load(text: &str) -> Result<(), LoadFailure> {
    let memory = Arc::new(Memory::new(1 << 24));
    Program::load(text, &memory).map(drop)
}

/// Declarations on line 5, with a part of what is said about them.
const WRONG: &[(&str, &str)] = &[
    (".foo 5;", "there is no directive `.foo`"),
    (".visible .entry k() .foo 5 { ret; }", "there is no directive `.foo`"),
    (".pragma nounroll;", "expected a pragma in quotes"),
    (".pragma \"x\";", "there is no directive `.pragma \"x\"`"),
    (".pragma \"nounroll\", \"frequency 5\";", "there is no directive `.pragma"),
    (".target sm_90", "`.target` stands behind `.version`"),
    (".address_size 64", "a module has at most one `.address_size`"),
    ("# foo", "expected a directive"),
    ("/* \u{e9} */ .global .u32 x;", "unexpected non-ASCII character"),
    (".file 1 \"\u{e9}.cu\"", "unexpected non-ASCII character"),
    ("@@ foo", "expected a directive"),
    (".global\u{b}.u32 x;", "unexpected character"),
    (".file 1 \"a\\\"b\"", "string is never closed"),
    (".visible .visible .entry k() { ret; }", "there is a linkage already"),
    (".visible .weak .func f() { ret; }", "there is a linkage already"),
    (".common .func f() { ret; }", "expected `.entry`"),
    (".entry k() .attribute(.managed) { ret; }", "after the function's head"),
    (".func f() .pragma \"nounroll\"; { ret; }", "after the function's head"),
    (".extern .func f() { ret; }", "`f` is `.extern`, and defined here"),
    (".func f();", "unresolved extern function `f`"),
    (".func f() { ret; } .func f();", "duplicate definition of `f`"),
    (".extern .func f(); .func f() { ret; }", "`f` is declared with other directives before"),
    (".func f(); .visible .func f() { ret; }", "`f` is declared with other directives before"),
    (".func f(); .func f() .noreturn { trap; }", "`f` is declared with other directives before"),
    (".func f(.param .u32 a); .func f(.param .s32 a) { ret; }", "`f` is declared with other parameters"),
    (".func f(.param .u32 _) { ret; }", "`_` is not a name"),
    (".func f(.param .u32) { ret; }", "expected a parameter name"),
    (".func f(.param .u64 .ptr .global a) { ret; }", "`.ptr` is of the parameters of kernels"),
    (".entry k(.param .u64 .ptr .param a) { ret; }", "expected `.global`, `.const`, `.shared` or `.local`"),
    (".func f(.param .align 256 .b8 a[256]) { ret; }", "`a` is aligned to 256, and 128 is possible at most"),
    (
        ".func f() { .param .align 256 .b8 a[256]; ret; }",
        "`a` is aligned to 256, and 128 is possible at most",
    ),
    (".entry k() { call f; ret; } .func f() { ret; }", "`f` is not declared"),
    (".entry k() { .reg .u64 r; mov.u64 r, x; ret; } .global .u32 x;", "`x` is not declared"),
    (".global .u32 _;", "`_` is not a name"),
    (".func $() { ret; }", "`$` is not a name"),
    (".visible .entry e(.param .u32 a);", "kernel `e` is declared and not defined"),
    // Variables.
    (".global .u32 x; .shared .u32 x;", "duplicate definition of `x`"),
    (".extern .global .u32 x; .global .u32 x;", "its definition is of this module only"),
    (".extern .global .u32 x; .visible .global .s32 x;", "`x` is declared with another type"),
    (".extern .global .u32 x[2]; .visible .global .u32 x[3];", "`x` is declared with another type"),
    (".global .u32 .align 8 x;", "expected a type, found `.align`"),
    (".global .u32 .v2 x;", "expected a type, found `.v2`"),
    (".global .attribute(.foo) .u32 x;", "expected `.managed` or `.unified` as attribute"),
    (".global .u32 x[1+1];", "expected `]` after the array extent"),
    (".common .shared .u32 x;", "`x` in .shared cannot be `.common`"),
    (".local .u32 x;", "`x` in .local cannot be declared outside functions"),
    (".reg .u32 x;", "cannot be declared outside functions"),
    (".param .u32 x;", "cannot be declared outside functions"),
    (".global .pred x;", "the predicate `x` must be a register"),
    (".global .e4m3 x;", ".e4m3 is a type of instructions"),
    (".shared .bf16 x;", ".bf16 is a type of instructions"),
    (".shared .texref x;", "must be a .global variable of the module"),
    (".global .v4 .u64 x;", "a vector has at most 4 elements and 16 bytes"),
    (".global .v8 .u8 x;", "a vector has at most 4 elements and 16 bytes"),
    (".global .u32 x[0];", "`x` has no length"),
    (".global .u32 x[2][0];", "`x` has no length"),
    (".global .u32 x[];", "`x` has no length"),
    (".shared .u32 x = 1;", "`x` in .shared cannot have an initial value"),
    (".extern .global .u32 x = 1;", "`x` is defined elsewhere and cannot have an initial value"),
    (".const .attribute(.managed) .u32 x;", "cannot be managed"),
    (".func f() { .reg .u32 x[2]; ret; }", "the register `x` cannot be an array"),
    (".func f() { .local .u32 x[]; ret; }", "`x` has no length"),
    (".func f() { .local .u32 x = 1; ret; }", "`x` in .local cannot have an initial value"),
    (".func f() { .param .v2 .u32 x; ret; }", "can be neither a vector nor packed"),
    (".func f() { .reg .v4 .f64 x; ret; }", "a vector has at most 4 elements and 16 bytes"),
    // Functions.
    (".entry k(.reg .u32 x) { ret; }", "the parameter `x` of a kernel cannot be a register"),
    (".entry k(.param .pred x) { ret; }", "the predicate `x` must be a register"),
    (".entry k(.param .u32 x[0]) { ret; }", "`x` has no length"),
    (".entry k(.param .u32 x[]) { ret; }", "`x` has no length"),
    (".entry k(.param .u32 x[2][2]) { ret; }", "cannot be an array of arrays"),
    (".entry k(.param .v2 .u32 x) { ret; }", "can be neither a vector nor packed"),
    (".entry k(.param .f16x2 x) { ret; }", "can be neither a vector nor packed"),
    (".func f(.param .b8 x[], .param .u32 y) { ret; }", "only the last parameter of a function"),
    (".func (.param .b8 x[]) f() { ret; }", "only the last parameter of a function"),
    (".func (.param .u32 x, .param .u32 y) f() { ret; }", "several results of `f` must be registers"),
    (".func f(); .func f(.reg .u32 a) { ret; }", "`f` is declared with other parameters"),
    (".func f() { ret; } .global .u32 f;", "duplicate definition of `f`"),
    (".func f() .maxntid 32 { ret; }", "`f` is not a kernel"),
    (".entry k() .noreturn { ret; }", "kernel `k` cannot be `.noreturn`"),
    (".entry k() .maxnreg 0 { ret; }", ".maxnreg is at least 1"),
    (".entry k() .minnctapersm 0 { ret; }", ".minnctapersm is at least 1"),
    (".entry k() .maxntid 32 .reqntid 32 { ret; }", ".maxntid and .reqntid do not go together"),
    (".entry k() .reqnctapercluster 2 .maxclusterrank 2 { ret; }", "do not go together"),
    (".entry k() .reqntid 32 .blocksareclusters { ret; }", "needs .reqntid and .reqnctapercluster"),
    (".entry k() { ret; } .func f() { call k; ret; }", "the kernel `k` cannot be called"),
    (".const[1] .u32 x[4];", "`.const[1]`: constant banks are gone since .version 2.2"),
    (".tex .u64 x;", "`x`: .tex is gone since .version 1.5"),
    // Initial values.
    (".func f() { .global .u64 x = y; .global .u32 y; ret; }", "`y` is not declared before it"),
    (".func f() { .global .u64 x = x; ret; }", "`x` is not declared before it"),
    (".func f() { { .global .u32 y; } .global .u64 x = y; ret; }", "`y` is not declared before it"),
    (".func f() { .shared .u32 y; .global .u64 x = y; ret; }", "`y` is not in .global or .const"),
    (".func f(.param .u32 y) { .global .u64 x = y; ret; }", "`y` is not in .global or .const"),
    (".func f() { .reg .u64 y; .global .u64 x = y; ret; }", "`y` is not declared before it"),
    (".func f() { .global .u64 x = g; ret; } .func g() { ret; }", "`g` is not declared before it"),
    (".global .u64 x = y; .global .u32 y;", "`y` is not declared before it"),
    (".global .u64 x[2] = {0, generic(y)}; .global .u32 y;", "`y` is not declared before it"),
    (".global .u64 x = x;", "`x` is not declared before it"),
    (".global .u64 x = f; .func f() { ret; }", "`f` is not declared before it"),
    (".global .u32 y; .global .u64 x = y-4;", "expected `;` after the declaration, found `-`"),
    (".global .u32 x = 1.5;", "a variable of type .u32 cannot begin as such a value"),
    (".global .f32 x = 1;", "a variable of type .f32 cannot begin as such a value"),
    (".global .f64 x[2] = {1.5, 2};", "a variable of type .f64 cannot begin as such a value"),
    (".global .f16 x = 1.5;", "a variable of type .f16 cannot begin as such a value"),
    (".global .f16 x = 1;", "a variable of type .f16 cannot begin as such a value"),
    (".global .u32 y; .global .b64 x = y;", "a variable of type .b64 cannot begin as such a value"),
    (".global .u32 y; .global .b8 x = 0xff(y);", "a variable of type .b8 cannot begin as such a value"),
    (".global .u32 x[2][2] = {1, 2};", "the lists do not follow the extents"),
    (".global .u32 x[2][2] = {{1, 2}, 3};", "the lists do not follow the extents"),
    (".global .u32 x[2] = {{1}, {2}};", "the lists do not follow the extents"),
    (".global .u32 x = {1};", "the lists do not follow the extents"),
    (".global .u32 x[2] = 1;", "the lists do not follow the extents"),
    (".global .u32 x[2][2] = {1, 2, 3, 4};", "more values than elements"),
    (".global .v2 .u32 x = {1};", "fewer values than elements of the vector"),
    (".func f() { ret; } .global .u64 x = f+4;", "the address of a function is taken as it is"),
    (".func f() { ret; } .global .u64 x = generic(f);", "the address of a function is taken as it is"),
    // Aliases.
    (".func f() { ret; } .alias g, f;", "alias `g` is not declared as a function"),
    (".func g(); .alias g, f;", "`f`, of which `g` is an alias, is not defined"),
    (".entry f() { ret; } .func g(); .alias g, f;", "cannot have an alias"),
    (".weak .func f() { ret; } .func g(); .alias g, f;", "cannot have an alias"),
    (".func f() { ret; } .func g() { ret; } .alias g, f;", "duplicate definition of `g`"),
    (".func f(.reg .u32 a) { ret; } .func g(); .alias g, f;", "`g` and `f` differ in their parameters"),
    (
        ".func f(.reg .u32 a) { ret; } .func g(.reg .f32 a); .alias g, f;",
        "`g` and `f` differ in their parameters",
    ),
];

#[test]
fn what_ptxas_refuses_is_refused() {
    for (text, said) in WRONG {
        let failure = load(&format!("{HEADER}\n{text}\n")).expect_err(text);
        assert_eq!(failure.line, 5, "{text}: {failure}");
        assert!(failure.message.contains(said), "{text}: {failure}");
    }
}

#[test]
fn what_it_takes_is_taken() {
    for text in [
        ".pragma \"nounroll\"; .global .u32 x;",
        "# 1 \"x.cu\" 2\n#line 3 \"x.cu\"\n.global .u32 x;",
        ".global .u32 y; .global .u64 x[2] = {y+4, generic(y)+-4}; .func f(); .global .u64 z = f; .func f() { ret; }",
        ".extern .global .u32 x[]; .visible .global .u32 x[3]; .shared .u32 s; .extern .shared .u32 s;",
        ".extern .const .b8 x[40000]; .visible .const .b8 x[40000];",
        ".weak .func f(); .weak .func f() { ret; } .visible .entry k(); .visible .entry k() { ret; }",
        ".entry k(.param .align 256 .b8 a[256], .param .u64 .align 8 b, .param .u32 _) .local_maxnreg 32 { ret; }",
        ".entry k() .pragma \"nounroll\"; { .pragma \"x\"; ret; }",
        ".global .b128 x = 1; .const .u8 y = 300; .global .s8 z = -1;",
        ".global .f16x2 x; .shared .f16 y;",
        ".global .u32 x[] = {1, 2}; .global .u32 y[][2] = {{1, 2}, {3, 4}};",
        ".global .u32 y; .global .u32 x = y; .global .u8 z[2] = {0xff(y), 0xff00(generic(y))};",
        ".func f() { ret; } .entry k() { ret; } .global .u64 x[2] = {f, k};",
        ".extern .shared .align 16 .b8 x[]; .extern .entry e();",
        ".align 8 .global .u32 x; .visible .align 8 .global .u32 y; .global .u64 z[2] = {x, y};",
        ".entry k(.param .b128 a, .param .f16 b, .param .texref c) .maxntid 32 .minnctapersm 2 { ret; }",
        ".func f(.reg .pred a, .reg .v2 .u32 b) { .param .u32 x[2][2]; .reg .u32 y<0>; ret; }",
        ".func f() .noreturn .abi_preserve 3 { trap; }",
        ".func f(.param .u32 a); .func f(.param .u32 b) { ret; }",
        ".func f() { .global .u32 y; .global .u64 x[2] = {y, generic(y)+4}; { .const .u64 z = y; } ret; }",
        ".func f() { .global .u64 x = f; ret; } .func g() { .const .u32 c = 1; .global .u64 x = generic(c); ret; }",
        ".visible .entry k() .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }",
    ] {
        assert_eq!(load(&format!("{HEADER}\n{text}\n")), Ok(()), "{text}");
    }
}

/// The bytes that ptxas writes.
#[test]
fn initial_values() {
    let bytes = |declaration: &str, count: usize| {
        let body = format!(
            ".reg .b32 %n; mov.u32 %n, 0; mov.u64 %rd1, x;\n\
             L: ld.global.u8 %r1, [%rd1]; st.global.u8 [%out], %r1; add.u64 %rd1, %rd1, 1; add.u64 %out, %out, 1;\n\
             add.u32 %n, %n, 1; setp.lt.u32 %p1, %n, {count}; @%p1 bra L;"
        );
        outputs::<u8>(&snippet_with(declaration, &body), 1, count)
    };
    assert_eq!(bytes(".global .u8 x[3][2] = {{1}, {2, 3}, {4}};", 6), [1, 2, 3, 4, 0, 0], "no gaps");
    assert_eq!(bytes(".global .u8 x[2][2][2] = {{{1}, {2}}, {{3}}};", 8), [1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(bytes(".global .u8 x[3][2] = {{}, {5, 6}};", 6), [5, 6, 0, 0, 0, 0]);
    assert_eq!(bytes(".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};", 4), [1, 2, 3, 4]);
    assert_eq!(bytes(".global .u16 x[2][2] = {{1, 2}, {3, 4}};", 8), [1, 0, 2, 0, 3, 0, 4, 0]);
    assert_eq!(bytes(".global .b32 x = 1.5;", 4), 1.5f32.to_le_bytes());
    assert_eq!(bytes(".global .b64 x = 1.5;", 8), 1.5f64.to_le_bytes());
    assert_eq!(bytes(".global .f32 x = 0d3ff8000000000000;", 4), 1.5f32.to_le_bytes());
    assert_eq!(bytes(".global .f64 x = -(1.5 + 1.0) / 2.0;", 8), (-1.25f64).to_le_bytes());
    assert_eq!(bytes(".global .f64 x = 0f3fc00000;", 8), 0x3fc0_0000u64.to_le_bytes(), "its lower bits");
    assert_eq!(bytes(".global .b128 x = -1;", 16), u128::from(u64::MAX).to_le_bytes());
    assert_eq!(bytes(".global .s64 x = (~7) / 2;", 8), 0x7fff_ffff_ffff_fffcu64.to_le_bytes());
}

/// The last one means the neighbour of its own block.
#[test]
fn initial_values_of_a_function_name_their_neighbours() {
    let text = snippet_with(
        ".global .u32 y = 1; .func (.reg .u64 at) f() { .global .u32 y = 2; .global .u64 x[2] = {0, generic(y)}; mov.u64 at, x; ret; }",
        ".global .u32 y = 3; .global .u64 x = y; .reg .u32 %sum;\n\
         ld.global.u64 %rd1, [x]; ld.u32 %sum, [%rd1]; call (%rd2), f; ld.u64 %rd1, [%rd2+8]; ld.u32 %r1, [%rd1]; mad.lo.u32 %sum, %r1, 10, %sum;\n\
         { .global .u32 y = 4; .const .u64 x = y; ld.const.u64 %rd1, [x]; ld.u32 %r1, [%rd1]; mad.lo.u32 %sum, %r1, 100, %sum; }\n\
         st.global.u32 [%out], %sum;",
    );
    assert_eq!(outputs::<u32>(&text, 1, 1), [423]);
}

/// Those that the kernel names come first, then the module's that are used, then those of other functions, and at last those that no function
/// names, each in the order of the text: the addresses that ptxas 13.0 gives.
#[test]
fn shared_variables_lie_in_the_order_of_their_declarations() {
    let text = snippet_with(
        ".global .u32 to[16]; .shared .u8 c; .shared .u64 b; .shared .u32 no; .shared .u32 a; .func g(); \
         .func h() { .shared .b8 u[8]; ret; } .func f() { .shared .u32 w; .reg .u32 r; mov.u32 r, w; st.global.u32 [to+20], r; call h; ret; } \
         .func g() { .shared .align 4 .b8 v[16]; .reg .u32 r; mov.u32 r, v; st.global.u32 [to+24], r; ret; }",
        ".shared .u16 x; .shared .u32 y; { .shared .u8 z; mov.u32 %r1, z; st.global.u32 [to], %r1; }\n\
         mov.u32 %r1, a; st.global.u32 [to+4], %r1; mov.u32 %r1, b; st.global.u32 [to+8], %r1; mov.u32 %r1, c; st.global.u32 [to+12], %r1;\n\
         mov.u32 %r1, y; st.global.u32 [to+16], %r1; call f; call g;\n\
         mov.u32 %r2, 0; L: cvt.u64.u32 %rd2, %r2; mov.u64 %rd1, to; add.u64 %rd1, %rd1, %rd2; add.u64 %rd2, %rd2, %out;\n\
         ld.global.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1; add.u32 %r2, %r2, 4; setp.lt.u32 %p1, %r2, 28; @%p1 bra L;",
    );
    let [z, a, b, c, y, w, v] = outputs::<u32>(&text, 1, 7).try_into().unwrap();
    assert_eq!([y, z, c, b, a, v, w].map(|address| address - y), [0, 4, 5, 8, 16, 20, 36]);
    assert_eq!(Device::new(&text).kernel("k").static_shared, 50);
}

/// What ptxas 13.0 makes of it: an addition before the instruction.
#[test]
fn a_number_behind_a_register_is_added() {
    let body = "mov.u32 %r1, 40; mov.u16 %h1, 65535;\n\
        sub.u32 %r1, %r1, %t+-2; st.global.u32 [%out], %r1+1; cvt.u32.u16 %r1, %h1+3; st.global.u32 [%out+4], %r1;\n\
        setp.eq.u32 %p1, %t, %t+1; selp.b32 %r1, %t+7, %t+9, %p1; st.global.u32 [%out+8], %r1;";
    assert_eq!(outputs::<u32>(&snippet_with("", body), 1, 3), [43, 2, 9]);
}

/// A float of 32 bits where one of 64 stands.
#[test]
fn short_floats_are_the_lower_bits() {
    let body = "mov.f64 %fd1, 0f3fc00000; st.global.f64 [%out], %fd1; mov.f32 %f1, 0d3ff8000000000000; st.global.f32 [%out+8], %f1;";
    let words = outputs::<u32>(&snippet_with("", body), 1, 3);
    assert_eq!(words, [0x3fc0_0000, 0, 1.5f32.to_bits()]);
}

/// The ISA's example: a call by the second name.
#[test]
fn an_alias_is_the_function() {
    let module = ".visible .func (.param .u32 r) f(.param .u32 a) { .reg .u32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, 1; st.param.u32 [r], %x; ret; }\n\
                  .visible .func (.param .u32 r) g(.param .u32 a);\n.alias g, f;\n.global .u64 table[2] = {g, f};";
    let body = "{ .param .u32 a; .param .u32 r; st.param.u32 [a], 6; call (r), g, (a); ld.param.u32 %r1, [r]; }\n\
                mov.u64 %rd1, g; ld.global.u64 %rd2, [table+8]; ld.global.u64 %rd3, [table]; sub.u64 %rd4, %rd3, %rd2;\n\
                { .param .u32 a; .param .u32 r; P: .callprototype (.param .u32 _) _ (.param .u32 _); st.param.u32 [a], 8;\n\
                call (r), %rd1, (a), P; ld.param.u32 %r2, [r]; }\n\
                st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2; st.global.u64 [%out+8], %rd4;";
    let text = format!(
        "{HEADER}{module}\n.visible .entry k(.param .u64 p) {{ .reg .b32 %r<4>; .reg .b64 %rd<5>, %out; ld.param.u64 %out, [p];\n{body}\nret; }}"
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(4);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 4), [7, 9, 0, 0]);
}

/// A call that is never made has an argument that no function can take: the same function is called with another.
#[test]
fn an_argument_that_is_too_large_leaves_other_calls_alone() {
    let device = Device::new(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .func (.param .b32 r) f(.param .align 4 .b8 a[]) { .reg .b32 %r1; ld.param.b32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n\
         .func g() { .param .align 4 .b8 big[40000]; .param .b32 r; call (r), f, (big); ret; }\n\
         .entry k(.param .u64 out) { .reg .b64 %rd1; .reg .b32 %r1; .reg .pred %p1; ld.param.u64 %rd1, [out];\n\
         setp.eq.u64 %p1, %rd1, 0; @%p1 call g;\n\
         { .param .align 4 .b8 v[4]; .param .b32 r; st.param.b32 [v], 7; call (r), f, (v); ld.param.b32 %r1, [r]; }\n\
         st.global.u32 [%rd1], %r1; ret; }\n",
    );
    let out = device.zeroed::<u32>(1);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 1), [7]);
}

/// All that a block can have is as much static shared memory as a kernel can have, whatever the target; what it does not reach does not count.
#[test]
fn static_shared_memory_is_limited() {
    let kernel = |target: &str, module: &str, body: &str| {
        load(&format!(
            ".version 8.0\n.target {target}\n.address_size 64\n{module}\n.entry k() {{ .reg .b32 %r1; {body} ret; }}"
        ))
    };
    let own =
        |target: &str, bytes: u32| kernel(target, "", &format!(".shared .b8 s[{bytes}]; mov.u32 %r1, s;"));
    let most = 232_448;
    for target in ["sm_52", "sm_90", "sm_90a"] {
        assert_eq!(own(target, most), Ok(()), "{target}");
        let failure = own(target, most + 1).unwrap_err();
        assert_eq!((failure.kind, failure.line), (LoadFailureKind::Invalid, 5), "{failure}");
        let said =
            format!("kernel `k` has {} bytes of static shared memory, and {most} are possible", most + 1);
        assert_eq!(failure.message, said);
    }
    let two = ".shared .b8 a[130000]; .shared .b8 b[130000];";
    assert_eq!(kernel("sm_90", two, "mov.u32 %r1, a;"), Ok(()));
    assert!(kernel("sm_90", two, "mov.u32 %r1, a; mov.u32 %r1, b;").is_err());
    let called =
        ".func f() { .shared .b8 b[130000]; .reg .b32 %r1; mov.u32 %r1, b; ret; }\n.shared .b8 a[130000];";
    assert_eq!(kernel("sm_90", called, "mov.u32 %r1, a;"), Ok(()));
    assert!(kernel("sm_90", called, "mov.u32 %r1, a; call f;").is_err());
    assert!(kernel("sm_90", ".shared .b8 a[0xffffffff];", "mov.u32 %r1, a;").is_err());
    // Room for the alignment of what lies behind.
    let dynamic = ".extern .shared .align 1024 .b8 d[];";
    assert_eq!(kernel("sm_90", dynamic, ".shared .b8 s[231425]; mov.u32 %r1, s; mov.u32 %r1, d;"), Ok(()));
    assert!(kernel("sm_90", dynamic, ".shared .b8 s[232449]; mov.u32 %r1, s; mov.u32 %r1, d;").is_err());
    // Variables that nothing uses count, but for a debugger not those of the functions that a kernel calls.
    let unused = ".shared .b8 s[232449];";
    let called = format!(".func f() {{ {unused} ret; }}");
    for target in ["sm_90", "sm_90, debug"] {
        assert!(kernel(target, "", unused).is_err(), "{target}");
        assert!(own(target, most + 1).is_err(), "{target}");
    }
    assert!(kernel("sm_90", &called, "call f;").is_err());
    assert_eq!(kernel("sm_90, debug", &called, "call f;"), Ok(()));
    let text = format!(
        ".version 8.0\n.target sm_90, debug\n.address_size 64\n{called}\n.entry k() {{ .shared .b8 t[12]; call f; ret; }}"
    );
    let program = Program::load(&text, &Arc::new(Memory::new(1 << 24))).unwrap();
    let kernel = program.kernel("k").unwrap();
    assert_eq!((kernel.unsupported().count(), kernel.static_shared), (0, 12));
}
