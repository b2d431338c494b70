//! Elements of arrays by their index: `mov.u32 %r1, table[2]`, `ld.shared.u32 %r1, table[%r2+1]`.
//!
//! What is expected was read from the machine code that ptxas 13.0 makes.

use crate::support::{Args, Device, HEADER};

/// What a kernel with these declarations and this body stores to eight words at `%out`.
fn words(module: &str, body: &str) -> Vec<u32> {
    let text = format!(
        "{HEADER}{module}\n.visible .entry k(.param .u64 p, .param .b32 list[4])\n{{\n.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .b64 %l<9>, %out;\n\
         ld.param.u64 %out, [p];\n{body}\nret;\n}}\n"
    );
    let run = |device: &Device| {
        let out = device.zeroed::<u32>(8);
        let list = [3u32, 5, 7, 11].map(u32::to_le_bytes).concat();
        device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out).bytes(&list));
        device.download(out, 8)
    };
    let words = run(&Device::new(&text));
    // The checks see the same, and nothing wrong.
    let checked = Device::checked(&text);
    assert_eq!(run(&checked), words, "{text}");
    assert_eq!(checked.findings().len(), 0, "{text}");
    words
}

/// How far the elements that `mov` addresses are from their arrays.
fn distances(module: &str, declarations: &str, elements: &[(&str, &str)]) -> Vec<u32> {
    let each = elements.iter().enumerate().map(|(at, (array, index))| {
        format!(
            "mov.u64 %l1, {array}[{index}]; mov.u64 %l2, {array}; sub.u64 %l1, %l1, %l2; cvt.u32.u64 %r1, %l1; st.global.u32 [%out+{}], %r1;\n",
            at * 4
        )
    });
    let body: String = each.collect();
    words(module, &format!("{declarations}\nmov.u32 %r2, 3;\n{body}"))[..elements.len()].to_vec()
}

#[test]
fn an_index_counts_elements_in_every_space() {
    let module = ".shared .u32 ms[8]; .global .u64 g[8]; .const .u16 c[8]; .global .b8 bytes[8];";
    let own = ".shared .u32 sh[8]; .shared .u64 sq[8]; .local .u64 lo[8]; .global .u16 own[8];";
    let elements =
        [("ms", "2"), ("g", "2"), ("c", "2"), ("bytes", "2"), ("sh", "2"), ("sq", "3"), ("lo", "2")];
    assert_eq!(distances(module, own, &elements), [8, 16, 4, 2, 8, 24, 16]);
    assert_eq!(distances(module, own, &[("own", "3"), ("sh", "1+2*WARP_SZ-60")]), [6, 20]);
    // Not inside, but an address.
    assert_eq!(distances(module, own, &[("sh", "-1"), ("g", "100")]), [u32::MAX - 3, 800]);
    assert_eq!(distances(module, own, &[("ms", "%r2"), ("g", "%r2+1"), ("lo", "%r2+-1")]), [12, 32, 16]);
}

/// Of vectors and of arrays of arrays too an index counts elements of the type.
#[test]
fn an_index_counts_the_type_alone() {
    let module = ".global .u32 two[2][4]; .global .v4 .u32 vectors[4]; .shared .v2 .u32 shared[4];";
    let elements = [("two", "1"), ("vectors", "1"), ("shared", "1"), ("two", "%r2"), ("two", "-1")];
    assert_eq!(distances(module, "", &elements), [4, 4, 4, 12, u32::MAX - 3]);
}

/// The innermost declaration of a name says how large its elements are.
#[test]
fn names_are_those_of_the_block() {
    let body = "{ .shared .u16 a[8]; mov.u32 %r1, a[1]; mov.u32 %r2, a; sub.u32 %r1, %r1, %r2; st.global.u32 [%out], %r1; }\n\
                mov.u64 %l1, a[1]; mov.u64 %l2, a; sub.u64 %l1, %l1, %l2; st.global.u32 [%out+4], %l1;";
    assert_eq!(words(".global .u64 a[8];", body)[..2], [2, 8]);
}

#[test]
fn loads_and_stores_take_elements() {
    let module = ".global .u32 g[8]; .const .u32 c[4] = {2, 4, 6, 8}; .shared .align 8 .u32 s[8]; .extern .shared .u32 dyn[];";
    let body = "st.shared.u32 s[2], 20; st.shared.u32 s[3], 30; mov.u32 %r2, 1; mov.u64 %l2, 0x100000001;\n\
                ld.shared.u32 %r1, s[%r2+1]; st.global.u32 [%out], %r1;\n\
                ld.shared.u32 %r1, s[%l2+2]; st.global.u32 [%out+4], %r1;\n\
                ld.const.u32 %r1, c[3]; st.global.u32 [%out+8], %r1;\n\
                ld.const.u32 %r1, c[%r2]; st.global.u32 [%out+12], %r1;\n\
                st.global.u32 g[%r2+4], 50; ld.u32 %r1, g[5]; st.global.u32 [%out+16], %r1;\n\
                ld.shared.v2.u32 {%r3, %r4}, s[2]; st.global.u32 [%out+20], %r4;\n\
                ld.u32 %r1, s[%r2+2]; st.global.u32 [%out+24], %r1;\n\
                ld.shared.u8 %r1, s[3]; st.global.u32 [%out+28], %r1;";
    assert_eq!(words(module, body), [20, 30, 8, 4, 50, 30, 30, 30]);
}

/// An index in a register has 32 bits without sign, and so has its sum with a number.
#[test]
fn indices_have_32_bits() {
    let body = "mov.u32 %r2, 0xfffffffe; mov.u64 %l1, g[%r2+3]; mov.u64 %l2, g; sub.u64 %l1, %l1, %l2; st.global.u64 [%out], %l1;\n\
                mov.u32 %r2, -1; mov.u64 %l1, g[%r2]; sub.u64 %l1, %l1, %l2; st.global.u64 [%out+8], %l1;";
    assert_eq!(words(".global .u32 g[8];", body)[..4], [4, 0, 0xffff_fffc, 3]);
}

#[test]
fn parameters_have_elements() {
    let module = ".func (.param .b32 r[2]) f(.param .b32 a[4], .param .b32 n) { .reg .b32 %r<5>; .reg .b64 %l<3>;\n\
                  ld.param.b32 %r1, a[1]; ld.param.b32 %r2, [n]; ld.param.b32 %r3, a[%r2]; st.param.b32 r[1], %r3; st.param.b32 r[0], %r1; ret; }\n\
                  .func (.param .b32 r) h(.param .b32 a[4]) { .reg .b32 %r<5>; ld.param.b32 %r1, a[3]; st.param.b32 [r], %r1; ret; }";
    let body = "ld.param.u32 %r1, list[2]; st.global.u32 [%out], %r1; mov.u32 %r2, 1; ld.param.u32 %r1, list[%r2]; st.global.u32 [%out+4], %r1;\n\
                { .param .b32 a[4]; .param .b32 n; .param .b32 r[2]; .param .b32 q; st.param.b32 [a+4], 40; st.param.b32 [a+8], 80; st.param.b32 a[3], 120;\n\
                st.param.b32 [n], 2; call (r), f, (a, n); ld.param.b32 %r1, [r]; ld.param.b32 %r2, [r+4]; call (q), h, (a); ld.param.b32 %r3, [q]; }\n\
                st.global.u32 [%out+8], %r1; st.global.u32 [%out+12], %r2; st.global.u32 [%out+16], %r3;";
    assert_eq!(words(module, body)[..5], [7, 5, 40, 80, 120]);
}

/// `mov` adds a number to a register.
#[test]
fn a_register_plus_a_number() {
    let body = "mov.u32 %r1, 7; mov.u32 %r2, %r1+5; st.global.u32 [%out], %r2; mov.u32 %r2, %r1+-8; st.global.u32 [%out+4], %r2;\n\
                mov.u64 %l1, 0xffffffff; mov.u64 %l2, %l1+2; st.global.u64 [%out+8], %l2;";
    assert_eq!(words("", body)[..4], [12, u32::MAX, 1, 1]);
}

/// Blocks on one line declare a name each.
#[test]
fn two_variables_of_one_name_on_one_line() {
    for space in ["local", "shared", "global"] {
        let block = |register, value: u32| {
            format!("{{ .{space} .align 4 .u32 a[4]; mov.u64 {register}, a; st.{space}.u32 [a], {value}; }}")
        };
        let body = format!(
            "{} {} ld.{space}.u32 %r1, [%l1]; ld.{space}.u32 %r2, [%l2]; st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;",
            block("%l1", 5),
            block("%l2", 6)
        );
        assert_eq!(words("", &body)[..2], [5, 6], "{space}");
    }
}

/// The register of an indirect call may have any name, that of another function too.
#[test]
fn registers_that_are_called_have_any_name() {
    let module = ".func (.param .b32 r) seven() { .reg .b32 %r1; mov.b32 %r1, 7; st.param.b32 [r], %r1; ret; }\n\
                  .func (.param .b32 r) nine() { .reg .b32 %r1; mov.b32 %r1, 9; st.param.b32 [r], %r1; ret; }";
    for register in ["%target", "target", "$target", "_t", "nine"] {
        let body = format!(
            "{{ .reg .b64 {register}; mov.u64 {register}, seven; .param .b32 r; P: .callprototype (.param .b32 _) _ ();\n\
             call (r), {register}, (), P; ld.param.b32 %r1, [r]; }} st.global.u32 [%out], %r1;"
        );
        assert_eq!(words(module, &body)[0], 7, "{register}");
    }
}

/// The last parameter of a function may be an array of any length.
#[test]
fn parameters_of_any_length() {
    let module = ".func (.param .b32 r) sum(.param .b32 n, .param .align 8 .b8 v[]) { .reg .b32 %n, %s, %x; .reg .b64 %a; .reg .pred %p;\n\
                  ld.param.b32 %n, [n]; mov.b64 %a, v; mov.b32 %s, 0;\n\
                  L: setp.eq.u32 %p, %n, 0; @%p bra E; ld.local.u32 %x, [%a]; add.u32 %s, %s, %x; add.u64 %a, %a, 4; sub.u32 %n, %n, 1; bra L;\n\
                  E: st.param.b32 [r], %s; ret; }\n\
                  .func (.param .b32 r) second(.param .align 8 .b8 v[]) { .reg .b32 %x; ld.param.b32 %x, [v+4]; st.param.b32 [r], %x; ret; }";
    let call = |count: u32, to: u32| {
        let stores: String =
            (0..count).map(|at| format!("st.param.b32 [v+{}], {};", at * 4, 10 + at)).collect();
        format!(
            "{{ .param .b32 n; .param .align 8 .b8 v[{}]; .param .b32 r; st.param.b32 [n], {count}; {stores}\n\
             call (r), sum, (n, v); ld.param.b32 %r1, [r]; st.global.u32 [%out+{to}], %r1; }}\n",
            count * 4
        )
    };
    let second = "{ .param .align 8 .b8 v[8]; .param .b32 r; st.param.b32 [v], 1; st.param.b32 [v+4], 2; call (r), second, (v); ld.param.b32 %r1, [r];\n\
                  st.global.u32 [%out+12], %r1; }";
    let body = call(2, 0) + &call(5, 4) + second;
    assert_eq!(words(module, &body)[..4], [21, 60, 0, 2]);
}
