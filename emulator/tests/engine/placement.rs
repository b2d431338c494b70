//! Where variables are placed, as ptxas 13.0 places them.

use crate::support::{Args, Device, HEADER, launch, outputs, snippet, snippet_with};

/// The numbers are those of ptxas 13.0.
#[test]
fn dynamic_arrays_stand_before_what_nothing_names() {
    for (align, own, dynamic, bytes) in [
        (16, ".shared .b8 un[48]; .shared .b8 a[4];", 16, 64),
        (64, ".shared .b8 un[48]; .shared .b8 a[4]; .shared .b8 more[3];", 64, 64),
        (16, ".shared .b8 a[100]; { .shared .b8 a[4];", 16, 112),
    ] {
        let close = if own.contains('{') { "}" } else { "" };
        let body = format!(
            "{own} mov.u32 %r1, x; mov.u32 %r2, a; sub.u32 %r1, %r1, %r2; st.global.u32 [%out], %r1;
             mov.u32 %r6, %total_smem_size; st.global.u32 [%out+4], %r6; st.shared.u32 [x+{}], 5; {close}",
            bytes - dynamic + 28
        );
        let declaration = format!(".extern .shared .align {align} .b8 x[];");
        let text = snippet(&body).replace(HEADER, &format!("{HEADER}{declaration} "));
        let device = Device::new(&text);
        let out = device.zeroed::<u32>(2);
        let mut launch = launch(&device, "k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
        launch.dynamic_shared = 32;
        device.try_launch("k", launch).unwrap();
        assert_eq!(device.kernel("k").static_shared, bytes, "{own}");
        assert_eq!(device.download::<u32>(out, 2), [dynamic, bytes + 32], "{own}");
    }
}

/// A name is that of the innermost block: the other variables are not used.
#[test]
fn shared_variables_of_blocks_hide_others() {
    let text = snippet(
        ".shared .b8 b[4]; .shared .b8 a[96]; { .shared .b8 a[4]; mov.u32 %r1, a; mov.u32 %r2, b; }
         { .reg .b32 a; mov.u32 a, 5; } sub.u32 %r1, %r1, %r2; st.global.u32 [%out], %r1;",
    );
    assert_eq!(outputs::<u32>(&text, 1, 1), [4]);
}

/// With a search through the function for each of them it would take minutes.
#[test]
fn many_shared_variables() {
    let own: String = (0..150_000).map(|i| format!(".shared .b8 s{i};\n")).collect();
    let text = snippet(&format!(
        "{own}{} mov.u32 %r1, s149999; st.global.u32 [%out], %r1;",
        "add.u32 %r2, %r2, 1;\n".repeat(150_000)
    ));
    assert_eq!(Device::new(&text).kernel("k").static_shared, 150_000);
}

#[test]
fn an_alignment_below_the_natural_one_is_raised() {
    let text = snippet_with(
        ".const .align 1 .b8 c0[4]; .const .align 4 .u64 c = 7;",
        ".shared .b8 b[4]; .shared .align 4 .u64 s; .local .b8 l0[4]; .local .align 4 .u64 l;
         st.shared.b8 [b], %r1; st.shared.u64 [s], 5; ld.shared.u64 %rd1, [s]; st.local.b8 [l0], %r1; st.local.u64 [l], 6;
         ld.local.u64 %rd2, [l]; ld.const.u64 %rd3, [c];
         st.global.u64 [%out], %rd1; st.global.u64 [%out+8], %rd2; st.global.u64 [%out+16], %rd3;",
    );
    assert_eq!(outputs::<u64>(&text, 1, 3), [5, 6, 7]);
}

#[test]
fn addresses_and_vectors_are_taken_apart_and_put_together() {
    let text = snippet_with(
        ".global .align 4 .b8 g[8];",
        ".shared .b8 a[8]; .shared .b8 b[8]; .reg .v2 .b32 %v; .reg .v4 .b16 %z; mov.b64 {%r1, %r2}, g; mov.b64 %rd1, g;
         mov.b64 %rd2, {%r1, %r2}; sub.u64 %rd2, %rd2, %rd1; st.global.u64 [%out], %rd2;
         mov.b32 {%h1, %h2}, b; mov.b32 {%h3, %h4}, a; sub.u16 %h1, %h1, %h3; st.global.u16 [%out+8], %h1;
         mov.b64 %v, 0x500000007; mov.b64 %rd3, %v; st.global.u64 [%out+16], %rd3;
         mov.b64 %z, %rd3; st.global.u16 [%out+24], %z.x;
         mov.b64 %rd4, a; mov.b128 {%rd5, %rd6}, b; sub.u64 %rd5, %rd5, %rd4; st.global.u64 [%out+32], %rd5; st.global.u64 [%out+40], %rd6;",
    );
    assert_eq!(outputs::<u64>(&text, 1, 6), [0, 8, 0x5_0000_0007, 7, 8, 0]);
}
