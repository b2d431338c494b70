//! Loads of which not all bytes are used: `.pragma "used_bytes_mask"`.

use cuda_emulator::check::FindingKind;

use crate::checks_values::{TWO, found_with};
use crate::support::{outputs, snippet_fault, snippet_with};

/// The last bytes of device memory that a module has: `odd[28..31]` are 0x81, 0x02 and 0x83.
const ODD: &str = ".global .align 8 .b8 odd[31] = {0,1,2,3,4,5,6,7,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0x84,0x85,0x86,0x87,0x81,2,0x83};";

/// A load with that mask of `odd`, whose numbers are stored.
fn with_mask(mask: &str, load: &str) -> String {
    snippet_with(ODD, &format!(".pragma \"used_bytes_mask {mask}\";\n{load}"))
}

#[test]
fn bytes_behind_a_variable_are_not_accessed() {
    let words = |mask: &str, load: &str, store: &str| -> Vec<u64> {
        outputs(&with_mask(mask, &format!("{load} {store}")), 1, 4)
    };
    let bytes = "st.global.u8 [%out], %h1; st.global.u8 [%out+1], %h2; st.global.u8 [%out+2], %h3;";
    assert_eq!(words("7", "ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [odd+28];", bytes)[0], 0x83_02_81);
    let word = "st.global.u32 [%out], %r1;";
    assert_eq!(words("0x7", "ld.global.u32 %r1, [odd+28];", word)[0], 0x83_02_81);
    assert_eq!(words("3", "ld.global.u32 %r1, [odd+28];", word)[0] & 0xffff, 0x02_81);
    // Through a generic address, and a wider register.
    let wide = "st.global.u64 [%out], %rd1;";
    let text = snippet_with(
        ODD,
        &format!(
            "mov.u64 %rd1, odd; cvta.global.u64 %rd1, %rd1;\n.pragma \"used_bytes_mask 5\";\nld.u32 %rd1, [%rd1+28]; {wide}"
        ),
    );
    assert_eq!(outputs::<u64>(&text, 1, 1)[0] & 0xff_00_ff, 0x83_00_81);
    let two = "st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;";
    let both = words("127", "ld.global.v2.b32 {%r1, %r2}, [odd+24];", two)[0];
    assert_eq!(both & 0xff_ffff_ffff_ffff, 0x83_02_81_87_86_85_84);
    // Of 64 bits each: a sign, and the whole first number.
    assert_eq!(
        words("0x7fff", "ld.global.v2.u64 {%rd2, %rd1}, [odd+16];", wide)[0] << 8,
        0x83_02_81_87_86_85_84_00
    );
    assert_eq!(words("8", "ld.global.s32 %rd1, [odd+24];", wide)[0] >> 24, 0xff_ffff_ff87);
}

#[test]
fn the_address_may_be_a_register_that_is_written() {
    let body =
        "mov.u64 %rd1, odd;\n.pragma \"used_bytes_mask 0x7fff\";\nld.global.v2.u64 {%rd1, %rd2}, [%rd1+16];
        st.global.u64 [%out], %rd1; st.global.u64 [%out+8], %rd2;";
    let out: Vec<u64> = outputs(&snippet_with(ODD, body), 32, 2);
    assert_eq!((out[0], out[1] << 8), (0, 0x83_02_81_87_86_85_84_00));
}

/// NVRTC 13.0 uses some of them.
#[test]
fn bytes_that_are_there_are_loaded_all_the_same() {
    let four = "st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    let load = |mask: &str, place: &str| -> Vec<u32> {
        let body = format!(
            "st.local.v4.u32 [own+16], {{1, 0xff00ff02, 3, 0x80ff0004}}; st.shared.v4.u32 [mine], {{1, 0xff00ff02, 3, 0x80ff0004}};
             mov.u64 %rd1, mine; cvta.shared.u64 %rd1, %rd1; st.local.v4.u32 [own], {{1, 0xff00ff02, 3, 0x80ff0004}};
             and.b32 %r9, %t, 1; mul.wide.u32 %rd2, %r9, 16; mov.u64 %rd3, own; add.u64 %rd2, %rd2, %rd3;\n.pragma \"used_bytes_mask {mask}\";
             ld.{place}; {four}"
        );
        let variables = ".local .align 16 .b8 own[32]; .shared .align 16 .b8 mine[16];";
        let text = snippet_with("", &body).replace("{\n.reg", &format!("{{ {variables}\n.reg"));
        outputs(&text, 32, 4)
    };
    for place in [
        "local.v4.u32 {%r1, %r2, %r3, %r4}, [own+16]",
        "local.v4.u32 {%r1, %r2, %r3, %r4}, [%rd2]",
        "shared.v4.s32 {%r1, %r2, %r3, %r4}, [mine]",
        "v4.u32 {%r1, %r2, %r3, %r4}, [%rd1]",
    ] {
        for mask in ["0xfff0", "0xf0ff", "0x0510", "0", "0xffff"] {
            assert_eq!(load(mask, place), [1, 0xff00_ff02, 3, 0x80ff_0004], "{mask} of {place}");
        }
    }
}

#[test]
fn a_mask_is_of_the_next_load_alone() {
    let again = "ld.global.u16 %h1, [odd+28]; ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [odd+28];";
    assert!(snippet_fault(&with_mask("3", again), 1, 64).to_string().contains("past the end"));
    let far = "ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [odd+28];";
    assert!(snippet_fault(&with_mask("15", far), 1, 64).to_string().contains("past the end"));
    assert!(snippet_fault(&with_mask("8", far), 1, 64).to_string().contains("past the end"));
    // All of it is aligned, whatever is used.
    let odd = "ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [odd+1];";
    assert!(snippet_fault(&with_mask("1", odd), 1, 64).to_string().contains("misaligned"));
}

#[test]
fn the_checks_do_not_look_at_padding() {
    let kinds = |pragma: &str, load: &str| -> Vec<FindingKind> {
        let body = format!("st.shared.u8 [first], 1;\n{pragma}\n{load} st.global.u32 [%out], %r1;");
        found_with(&body, 1, TWO).iter().map(|finding| finding.kind).collect()
    };
    let mask = ".pragma \"used_bytes_mask 1\";";
    assert_eq!(kinds(mask, "ld.shared.u32 %r1, [first];"), []);
    assert_eq!(kinds(mask, "ld.shared.u32 %r1, [first+4];"), [FindingKind::Uninitialised]);
    assert_eq!(kinds("", "ld.shared.u32 %r1, [first];"), [FindingKind::Uninitialised]);
    // In local memory, too.
    let local = |pragma: &str| -> Vec<FindingKind> {
        let body =
            format!("st.local.u8 [own], %r0;\n{pragma}\nld.local.u32 %r1, [own]; st.global.u32 [%out], %r1;");
        found_with(&format!("mov.u32 %r0, 7; {body}"), 1, ".local .align 4 .b8 own[8];")
            .iter()
            .map(|finding| finding.kind)
            .collect()
    };
    assert_eq!(local(mask), []);
}
