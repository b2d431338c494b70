//! State spaces, widths, addresses, initial values; and the device memory behind them.

use std::sync::Arc;

use cuda_emulator::check::FindingKind;
use cuda_emulator::memory::Memory;

use crate::support::{Args, Device, HEADER, launch, outputs, snippet, snippet_fault, snippet_with};

#[test]
fn widths_and_signs() {
    // -2 as a byte, read in every way.
    let text = snippet(
        "mov.u32 %r1, 0xfffffffe;
         st.global.u8 [%out], %r1; st.global.u16 [%out+2], %r1; mul.wide.s32 %rd1, %r1, 1; st.global.u64 [%out+8], %rd1;
         ld.global.u8 %r2, [%out]; st.global.u32 [%out+16], %r2;
         ld.global.s8 %r2, [%out]; st.global.u32 [%out+20], %r2;
         ld.global.s16 %r2, [%out+2]; st.global.u32 [%out+24], %r2;
         ld.global.u16 %h1, [%out+2]; cvt.s32.s16 %r2, %h1; st.global.u32 [%out+28], %r2;
         ld.global.s8 %rd2, [%out]; st.global.u64 [%out+32], %rd2;
         ld.global.u8 %rd2, [%out]; st.global.u64 [%out+40], %rd2;
         ld.global.s32 %rd2, [%out+8]; st.global.u64 [%out+48], %rd2;
         ld.global.u32 %rd2, [%out+8]; st.global.u64 [%out+56], %rd2;
         ld.global.s8 %h2, [%out]; cvt.u32.u16 %r2, %h2; st.global.u32 [%out+64], %r2;
         ld.global.b64 %rd3, [%out+8]; st.global.u32 [%out+68], %rd3;",
    );
    let out: Vec<u32> = outputs(&text, 1, 18);
    assert_eq!(out[0] & 0xff, 0xfe);
    assert_eq!(out[0] >> 16, 0xfffe);
    let two = u32::MAX - 1;
    assert_eq!(out[2..8], [two, u32::MAX, 0xfe, two, two, two]);
    assert_eq!(out[8..16], [two, u32::MAX, 0xfe, 0, two, u32::MAX, two, 0]);
    assert_eq!(out[16..], [0xfffe, two]);
}

#[test]
fn vectors() {
    let text = snippet(
        "mul.wide.u32 %rd1, %t, 16; add.u64 %rd1, %rd1, %out;
         add.u32 %r1, %t, 1; add.u32 %r2, %t, 2; add.u32 %r3, %t, 3;
         st.global.v4.u32 [%rd1], {%t, %r1, %r2, %r3};
         ld.global.v4.u32 {%r4, _, %r5, %r6}, [%rd1];
         add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;
         ld.global.v2.u64 {%rd2, %rd3}, [%rd1];
         shr.u64 %rd3, %rd3, 32; cvt.u32.u64 %r7, %rd3;
         st.global.v2.b32 [%rd1+8], {%r4, %r7};
         ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%rd1]; cvt.u32.u16 %r8, %h1; st.global.u32 [%rd1+4], %r8;",
    );
    // All lanes, and few enough that they run one by one.
    for threads in [64, 2] {
        let out: Vec<u32> = outputs(&text, threads, 256);
        for t in 0..threads {
            let element = &out[t as usize * 4..][..4];
            assert_eq!(element, [t, t, t + (t + 2) + (t + 3), t + 3], "thread {t}");
        }
    }
}

#[test]
fn vector_registers() {
    let text = snippet(
        ".reg .v4 .f32 %v; .reg .v2 .u32 %w;
         mov.f32 %f1, 0f3f800000;
         st.global.v4.f32 [%out], {%f1, %f1, 0f40000000, 2.5};
         ld.global.v4.f32 %v, [%out];
         add.f32 %f2, %v.x, %v.w; st.global.f32 [%out], %f2;
         mov.b64 %rd1, 0x0000000500000007; mov.b64 {%r1, %r2}, %rd1; sub.u32 %r1, %r1, %r2; st.global.u32 [%out+4], %r1;
         mov.b32 {%h1, %h2}, 0x00050007; mov.b32 %r3, {%h2, %h1}; st.global.u32 [%out+8], %r3;",
    );
    let out: Vec<u32> = outputs(&text, 1, 4);
    assert_eq!(out, [3.5f32.to_bits(), 2, 0x0007_0005, 2.5f32.to_bits()]);
}

#[test]
fn local_memory_is_each_threads_own() {
    let text = snippet(
        ".local .align 8 .b8 a[64]; .local .u32 b;
         mov.u64 %rd1, a; mul.wide.u32 %rd2, %t, 8; and.b64 %rd2, %rd2, 56; add.u64 %rd3, %rd1, %rd2;
         st.local.u32 [b], %t;
         st.local.u64 [%rd1], 0; st.local.u64 [%rd1+24], 0;
         mul.wide.u32 %rd4, %t, 100; st.local.u64 [%rd3], %rd4;
         cvta.local.u64 %rd5, %rd3; ld.u64 %rd6, [%rd5]; cvt.u32.u64 %r1, %rd6;
         ld.local.u32 %r2, [b]; add.u32 %r1, %r1, %r2;
         st.local.u8 [a+3], 7; ld.local.u16 %h1, [a+2]; cvt.u32.u16 %r3, %h1; shr.u32 %r3, %r3, 8; add.u32 %r1, %r1, %r3;
         cvta.to.local.u64 %rd7, %rd5; ld.local.u32 %r4, [%rd7+4]; add.u32 %r1, %r1, %r4;
         st.global.u32 [%at], %r1;",
    );
    for threads in [40, 3] {
        let expected: Vec<u32> = (0..threads).map(|t| t * 101 + 7).collect();
        // In threads whose element is the first, the 7 is part of the number read before it was written.
        assert_eq!(outputs::<u32>(&text, threads, threads as usize), expected);
    }
}

#[test]
fn generic_addresses_of_every_space() {
    let declarations = ".global .u32 g = 5; .const .u32 c = 6; .shared .u32 s;";
    let text = snippet_with(
        "",
        ".local .u32 l; .shared .u32 own;
         st.local.u32 [l], 7; st.shared.u32 [s], 8; st.shared.u32 [own], 9;
         mov.u64 %rd1, g; cvta.global.u64 %rd1, %rd1; ld.u32 %r1, [%rd1]; st.global.u32 [%out], %r1;
         mov.u64 %rd2, c; cvta.const.u64 %rd2, %rd2; ld.u32 %r1, [%rd2]; st.global.u32 [%out+4], %r1;
         mov.u64 %rd3, l; cvta.local.u64 %rd3, %rd3; ld.u32 %r1, [%rd3]; st.global.u32 [%out+8], %r1;
         mov.u64 %rd4, s; cvta.shared.u64 %rd4, %rd4; ld.u32 %r1, [%rd4]; st.global.u32 [%out+12], %r1;
         cvta.param.u64 %rd5, out; ld.u64 %rd6, [%rd5]; sub.u64 %rd6, %rd6, %out; st.global.u32 [%out+16], %rd6;
         mov.u32 %r2, own; ld.shared.u32 %r1, [%r2]; st.global.u32 [%out+20], %r1;
         ld.const.u32 %r1, [c]; st.global.u32 [%out+24], %r1; ld.global.u32 %r1, [g]; st.global.u32 [%out+28], %r1;
         mov.u32 %r10, 0;
         isspacep.global %p1, %rd1; selp.u32 %r1, 1, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.const %p1, %rd2; selp.u32 %r1, 2, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.local %p1, %rd3; selp.u32 %r1, 4, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.shared %p1, %rd4; selp.u32 %r1, 8, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.global %p1, %rd4; selp.u32 %r1, 16, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.shared %p1, %rd1; selp.u32 %r1, 32, 0, %p1; or.b32 %r10, %r10, %r1;
         isspacep.const %p1, %rd1; selp.u32 %r1, 64, 0, %p1; or.b32 %r10, %r10, %r1;
         st.global.u32 [%out+32], %r10;
         cvta.to.shared.u64 %rd7, %rd4; ld.shared.u32 %r1, [%rd7]; st.global.u32 [%out+36], %r1;",
    )
    .replace(HEADER, &format!("{HEADER}{declarations} "));
    for threads in [1, 32] {
        assert_eq!(outputs::<u32>(&text, threads, 10), [5, 6, 7, 8, 0, 9, 6, 5, 15, 8]);
    }
}

#[test]
fn initial_values() {
    let declarations = "
        .global .align 4 .b8 bytes[8] = {1, 2, 255};
        .global .u32 matrix[2][3] = {{1, 2}, {4, 5, 6}};
        .global .f32 floats[3] = {1.5, 0f40000000, -2.0};
        .global .f64 wide = 0d3ff8000000000000;
        .global .u64 pointers[3] = {bytes, matrix+8, generic(floats)};
        .global .u16 counted[] = {7, 8, 9};
        .const .align 8 .u8 low[4] = {0xff(matrix), 0xff00(matrix), 0xff0000(matrix), 0};
        .visible .entry k() { ret; }";
    let device = Device::new(&format!("{HEADER}{declarations}"));
    let global = |name: &str| device.program.global(name).unwrap();
    assert_eq!(device.download::<u8>(global("bytes").0, 8), [1, 2, 255, 0, 0, 0, 0, 0]);
    assert_eq!(device.download::<u32>(global("matrix").0, 6), [1, 2, 4, 5, 6, 0]);
    assert_eq!(device.download::<f32>(global("floats").0, 3), [1.5, 2.0, -2.0]);
    assert_eq!(device.download::<f64>(global("wide").0, 1), [1.5]);
    let pointers = [global("bytes").0, global("matrix").0 + 8, global("floats").0];
    assert_eq!(device.download::<u64>(global("pointers").0, 3), pointers);
    assert_eq!(global("counted").1, 6);
    let matrix = global("matrix").0;
    assert_eq!(
        device.download::<u8>(global("low").0, 4),
        [matrix as u8, (matrix >> 8) as u8, (matrix >> 16) as u8, 0]
    );
    assert_eq!(device.program.global("nothing"), None);
}

#[test]
fn globals_of_the_test_kernels_load() {
    let device = Device::file("tests/kernels/globals.ptx");
    assert!(device.program.kernels().count() > 0);
    let used = device.memory.used();
    assert!(used > 0);
    let Device { memory, program, .. } = device;
    drop(program);
    assert_eq!(memory.used(), 0, "a module gives its variables back");
}

#[test]
fn static_and_dynamic_shared_memory() {
    let text = snippet_with(
        ".extern .shared .align 16 .b8 dynamic[];",
        ".shared .align 4 .b8 fixed[20];
         mov.u32 %r1, dynamic; mov.u32 %r2, fixed; sub.u32 %r3, %r1, %r2;
         st.global.u32 [%out], %r3;
         mov.u32 %r4, %dynamic_smem_size; st.global.u32 [%out+4], %r4;
         st.shared.u32 [dynamic+60], 5; ld.shared.u32 %r5, [%r1+60]; st.global.u32 [%out+8], %r5;
         mov.u32 %r6, %total_smem_size; st.global.u32 [%out+12], %r6;",
    );
    let text = {
        // The declaration has to come first.
        let declaration = ".extern .shared .align 16 .b8 dynamic[];";
        let without = text.replace(declaration, "");
        without.replace(HEADER, &format!("{HEADER}{declaration} "))
    };
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(4);
    let mut launch = launch(&device, "k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    launch.dynamic_shared = 64;
    device.try_launch("k", launch).unwrap();
    assert_eq!(device.download::<u32>(out, 4), [32, 64, 5, 96]);
    // 20, and room for the alignment of the dynamic part, as ptxas counts.
    assert_eq!(device.kernel("k").static_shared, 32);
}

#[test]
fn what_a_kernel_says_of_itself() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .u32 a, .param .align 16 .b8 s[20], .param .u64 p) .reqntid 8, 4
         .reqnctapercluster 2 {{ .local .align 8 .b8 l[40]; .reg .u32 %r; ld.param.u32 %r, [a]; ret; }}"
    );
    let device = Device::new(&text);
    let kernel = device.kernel("k");
    assert_eq!((kernel.reqntid, kernel.cluster, kernel.max_threads), (Some([8, 4, 1]), Some([2, 1, 1]), 32));
    assert_eq!((kernel.local_bytes, kernel.static_shared, kernel.parameter_bytes), (48, 0, 48));
    assert_eq!((kernel.ptx_version, kernel.target), (90, 90));
    let offsets: Vec<usize> = kernel.parameters.iter().map(|p| p.offset).collect();
    assert_eq!(offsets, [0, 16, 40]);
    assert!(Arc::ptr_eq(&kernel, &device.kernel("k")));
    assert_eq!(kernel.unsupported().count(), 0);
}

#[test]
fn parameters_by_value_through_pointers() {
    let text = format!(
        "{HEADER}.visible .entry k(.param .align 8 .b8 s[64], .param .u64 out) {{
         .reg .b32 %r<4>; .reg .b64 %rd<8>;
         ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4;
         mov.b64 %rd3, s; add.u64 %rd4, %rd3, %rd2; ld.param.u32 %r2, [%rd4];
         cvta.param.u64 %rd5, %rd3; add.u64 %rd5, %rd5, %rd2; ld.u32 %r3, [%rd5];
         add.u32 %r2, %r2, %r3; add.u64 %rd6, %rd1, %rd2; st.global.u32 [%rd6], %r2; ret; }}"
    );
    let device = Device::new(&text);
    let out = device.zeroed::<u32>(16);
    let bytes: Vec<u8> = (0..16u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    device.launch("k", [1, 1, 1], [16, 1, 1], &Args::new().bytes(&bytes).add(out));
    assert_eq!(device.download::<u32>(out, 16), (0..16).map(|i| 2 * i * i).collect::<Vec<u32>>());
}

#[test]
fn parameters_of_a_function_through_a_register() {
    // As NVRTC compiles a structure by value without optimisation.
    let text = format!(
        "{HEADER}.func (.param .b32 r) third(.param .b32 n, .param .align 4 .b8 s[12]) {{
         .reg .b32 %x<4>; .reg .b64 %a<4>;
         mov.u64 %a1, s; add.s64 %a2, %a1, 4; ld.param.u32 %x1, [%a2+4]; ld.param::func.u16 %x2, [%a2]; ld.param.u32 %x3, [n];
         add.u32 %x1, %x1, %x2; add.u32 %x1, %x1, %x3; st.param.b32 [r], %x1; ret; }}
         {}",
        snippet(
            "{ .param .b32 n; .param .align 4 .b8 s[12]; .param .b32 r;
             st.param.b32 [n], %t; st.param.b32 [s], 1000; st.param.b32 [s+4], 0x70020; st.param.b32 [s+8], 300;
             call.uni (r), third, (n, s); ld.param.b32 %r1, [r]; st.global.u32 [%at], %r1; }",
        )
        .replace(HEADER, "")
    );
    let out: Vec<u32> = outputs(&text, 32, 32);
    assert_eq!(out, (0..32).map(|t| 300 + 0x20 + t).collect::<Vec<u32>>());
}

#[test]
fn parameters_at_any_offset() {
    // As NVRTC compiles packed structures.
    for (ty, register, value, bytes) in [
        ("b16", "%r1", 0xb1a0_u64, 2),
        ("b32", "%r1", 0xd3c2_b1a0, 4),
        ("b64", "%rd1", 0x2726_f5e4_d3c2_b1a0, 8),
    ] {
        for offset in 0..8 {
            let body = format!(
                "mov.b64 %rd1, 0x2726f5e4d3c2b1a0; cvt.u32.u64 %r1, %rd1; {{ .param .align 1 .b8 p[16]; .param .align 1 .b8 r[16];
                 st.param.b32 [p], 0x01020304; st.param.b32 [p+4], 0x05060708; st.param.b32 [p+8], 0x090a0b0c; st.param.b32 [p+12], 13;
                 st.param.{ty} [p+{offset}], {register}; call.uni (r), same, (p);
                 ld.param.{ty} {register}, [r+{offset}]; st.global.{ty} [%out], {register};
                 ld.param.b64 %rd1, [r]; ld.param.b64 %rd2, [r+8]; st.global.b64 [%out+8], %rd1; st.global.b64 [%out+16], %rd2; }}"
            );
            let moves: String =
                (0..16).map(|i| format!("ld.param.b8 %x, [a+{i}]; st.param.b8 [b+{i}], %x; ")).collect();
            let function = format!(
                ".func (.param .align 1 .b8 b[16]) same(.param .align 1 .b8 a[16]) {{ .reg .b16 %x; {moves} ret; }}"
            );
            let text = format!("{HEADER}{function}{}", snippet(&body).replace(HEADER, ""));
            let out: Vec<u8> = outputs(&text, 1, 24);
            let mut expected = [4, 3, 2, 1, 8, 7, 6, 5, 12, 11, 10, 9, 13, 0, 0, 0];
            expected[offset..offset + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            assert_eq!(out[8..], expected, "{ty} at {offset}");
            assert_eq!(out[..bytes], value.to_le_bytes()[..bytes], "{ty} at {offset}");
        }
    }
}

#[test]
fn the_upper_half_of_a_shared_local_or_parameter_address_does_not_count() {
    // Every lane has its own upper half, and its sums wrap in 32 bits.
    let text = snippet(
        ".shared .align 16 .b8 s[1024]; .local .align 8 .b8 l[16];
         cvt.u64.u32 %rd1, %t; mul.lo.u64 %rd2, %rd1, 0x123456700000000; mul.lo.u64 %rd1, %rd1, 8;
         mov.u64 %rd3, s; add.u64 %rd3, %rd3, %rd1; add.u64 %rd3, %rd3, %rd2; sub.u64 %rd3, %rd3, 4096;
         add.u32 %r1, %t, 5; st.shared.v2.u32 [%rd3+4096], {%t, %r1};
         mov.u64 %rd4, l; add.u64 %rd4, %rd4, %rd2; st.local.u64 [%rd4], %rd1; ld.local.u32 %r2, [%rd4];
         atom.shared.add.u32 %r3, [%rd3+4100], 1; ld.shared.u64 %rd5, [%rd3+4096]; shr.u64 %rd5, %rd5, 32;
         cvt.u32.u64 %r4, %rd5; add.u32 %r2, %r2, %r4;
         mov.u32 %r5, out; sub.u32 %r5, %r5, 64; ld.param.u64 %rd6, [%r5+64];
         add.u64 %rd7, %rd2, 0xffffffc0; ld.param.u64 %rd7, [%rd7+64];
         setp.eq.u64 %p1, %rd6, %rd7; selp.u32 %r6, 1000, 0, %p1; add.u32 %r2, %r2, %r6; st.global.u32 [%at], %r2;",
    );
    // Full warps, a part of one, and few enough lanes that they run one by one.
    for threads in [96u32, 20, 2] {
        let wanted: Vec<u32> = (0..threads).map(|t| 8 * t + (t + 6) + 1000).collect();
        assert_eq!(outputs::<u32>(&text, threads, threads as usize), wanted);
    }
}

#[test]
fn a_row_of_addresses_may_wrap_in_its_middle() {
    // Shared memory starts at 1024. Eight lanes have registers below zero, the rest of the warp above.
    let text = snippet(
        ".shared .align 16 .b8 s[512];
         mul.lo.u32 %r1, %t, 4; sub.u32 %r1, %r1, 32; add.u32 %r2, %t, 70; st.shared.u32 [%r1+1056], %r2;
         mov.u32 %r3, s; mul.lo.u32 %r4, %t, 4; add.u32 %r3, %r3, %r4; ld.shared.u32 %r5, [%r3]; ld.shared.u32 %r6, [%r1+1056];
         add.u32 %r5, %r5, %r6; st.global.u32 [%at], %r5;",
    );
    for threads in [128u32, 40, 2] {
        let wanted: Vec<u32> = (0..threads).map(|t| 2 * (t + 70)).collect();
        assert_eq!(outputs::<u32>(&text, threads, threads as usize), wanted);
    }
}

#[test]
fn what_wraps_to_where_nothing_is_faults_there() {
    for (body, message) in [
        (
            "mov.u32 %r1, 0xfffffff0; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [%r1];",
            "shared address 0xfffffff0",
        ),
        (
            "mov.u32 %r1, 0xfffffffc; ld.shared.u64 %rd1, [%r1+8];",
            "illegal read of 8 bytes at shared address 0x4,",
        ),
        ("mov.u32 %r1, 0xfffffff8; st.shared.u64 [%r1+8], 1;", "write of 8 bytes at shared address 0x0,"),
        (
            "mov.u32 %r1, s; atom.shared.inc.u32 %r2, [%r1+-2147483648], 1;",
            "atomic access of 4 bytes at shared address 0x8",
        ),
        ("mov.u32 %r1, 0xfffffff8; ld.local.u64 %rd1, [%r1];", "local address 0xfffffff8"),
        ("mov.u32 %r1, 0xfffffff8; st.local.u32 [%r1+16], 1;", "local address 0x8"),
        ("mov.u32 %r1, 0xfffffffc; ld.param.u32 %r2, [%r1];", "parameter address 0xfffffffc"),
        // Generic and global addresses have 64 bits.
        ("mov.u64 %rd1, 0xfffffff8; ld.u32 %r2, [%rd1+8];", "0x100000000"),
        ("mov.u64 %rd1, 0xfffffff8; ld.global.u32 %r2, [%rd1+8];", "0x100000000"),
    ] {
        let text = snippet(&format!(".shared .align 16 .b8 s[64]; .local .align 8 .b8 l[16]; {body}"));
        for threads in [64, 1] {
            let fault = snippet_fault(&text, threads, 64);
            assert!(fault.to_string().contains(message), "{body}: {fault}");
        }
    }
}

#[test]
fn asynchronous_copies() {
    let text = snippet(
        ".shared .align 16 .b8 s[512];
         mul.wide.u32 %rd1, %t, 16; add.u64 %rd2, %out, %rd1; mov.u64 %rd3, s; add.u64 %rd3, %rd3, %rd1;
         cp.async.cg.shared.global [%rd3], [%rd2], 16; cp.async.commit_group; cp.async.wait_group 0;
         cp.async.ca.shared.global [%rd3+4], [%rd2+4], 4, 0; cp.async.wait_all;
         ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%rd3]; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r2;
         st.global.u32 [%rd2+12], %r1;",
    );
    let device = Device::new(&text);
    let data: Vec<u32> = (0..128).collect();
    let out = device.upload(&data);
    device.launch("k", [1, 1, 1], [32, 1, 1], &Args::new().add(out));
    let result: Vec<u32> = device.download(out, 128);
    assert!((0..32).all(|t| result[t * 4 + 3] == data[t * 4] + data[t * 4 + 2]));
}

/// Copies 16 bytes from byte `at` on, of which so many are read, and stores them where the output starts.
fn partial_copy(at: u32, read: &str) -> String {
    snippet(&format!(
        ".shared .align 16 .b8 s[16]; mov.u32 %r1, s; mov.u32 %r2, {read}; setp.eq.u32 %p1, %t, 0;
         cp.async.ca.shared.global [%r1], [%out+{at}], 16, %r2; cp.async.wait_all;
         ld.shared.v4.u32 {{%r3, %r4, %r5, %r6}}, [%r1]; st.global.v4.u32 [%out], {{%r3, %r4, %r5, %r6}};"
    ))
}

#[test]
fn asynchronous_copies_need_no_memory_that_they_do_not_read() {
    let text = partial_copy(32, "4");
    for device in [Device::new(&text), Device::checked(&text)] {
        let out = device.upload::<u32>(&[1, 2, 3, 4, 5, 6, 8, 9, 7]);
        device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
        assert_eq!(device.download::<u32>(out, 9), [7, 0, 0, 0, 5, 6, 8, 9, 7]);
        assert_eq!(device.findings(), []);
    }
    // Nothing is read where all is ignored.
    let ignored = partial_copy(64, "4").replace("16, %r2;", "16, %p1;");
    assert_eq!(outputs::<u32>(&ignored, 1, 9), [0; 9]);
    // What is read has to be there, and the address aligned for the whole.
    for (at, read, bytes, message) in [
        (32, "5", 36, "illegal read of 5 bytes"),
        (32, "16", 36, "illegal read of 16 bytes"),
        (32, "4", 32, "illegal read of 4 bytes"),
        (20, "4", 36, "misaligned read of 4 bytes"),
    ] {
        let fault = snippet_fault(&partial_copy(at, read), 1, bytes);
        assert!(fault.to_string().contains(message), "{at} {read} {bytes}: {fault}");
    }
    let fault = snippet_fault(&partial_copy(20, "4"), 1, 36).to_string();
    assert!(fault.contains("which is not a multiple of 16"), "{fault}");
}

#[test]
fn what_asynchronous_copies_read_before_the_end_is_checked() {
    let device = Device::checked(&partial_copy(32, "4"));
    let out = device.memory.allocate(36).unwrap();
    device.memory.write(out, &[1; 32]).unwrap();
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    let found = device.findings();
    let [finding] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(finding.kind, FindingKind::Uninitialised);
    assert_eq!(finding.bytes.as_ref().map(|bytes| bytes.count), Some(4), "{finding}");
}

#[test]
fn device_memory() {
    let memory = Memory::new(1 << 20);
    let (a, b) = (memory.allocate(1000).unwrap(), memory.allocate(10).unwrap());
    assert!(a % 256 == 0 && b % 256 == 0 && a != b);
    assert_eq!((memory.used(), memory.capacity()), (1024 + 256, 1 << 20));
    assert_eq!(memory.allocate(1 << 20).unwrap_err().free, (1 << 20) - 1280);
    assert!(memory.allocate(u64::MAX).is_err());

    memory.write(a + 1, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).unwrap();
    memory.copy(a + 4, a + 1, 11).unwrap();
    let mut bytes = [0; 14];
    memory.read(a + 1, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    memory.copy(a + 1, a + 4, 11).unwrap();
    memory.read(a + 1, &mut bytes[..11]).unwrap();
    assert_eq!(bytes[..11], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    memory.fill(b, &[7, 8], 5).unwrap();
    memory.read(b, &mut bytes[..10]).unwrap();
    assert_eq!(bytes[..10], [7, 8, 7, 8, 7, 8, 7, 8, 7, 8]);
    memory.read(b + 10, &mut []).unwrap_err();

    assert_eq!(
        memory.write(b + 8, &[0; 4]).unwrap_err().description,
        format!("2 bytes past the end of the allocation 0x{b:x} of 10 bytes")
    );
    assert!(memory.fill(a, &[0], u64::MAX).is_err());
    assert_eq!(memory.find(a + 999).unwrap().base(), a);
    assert!(memory.find(a + 1000).is_none());
    assert_eq!(
        memory.describe(a + 1016, 4),
        format!("16 bytes past the end of the allocation 0x{a:x} of 1000 bytes")
    );
    assert_eq!(memory.describe(b - 16, 4), format!("16 bytes before the allocation 0x{b:x} of 10 bytes"));

    assert!(memory.free(a + 4).is_err());
    memory.free(a).unwrap();
    assert!(memory.free(a).unwrap_err().description.contains("freed"));
    assert_eq!(
        memory.describe(a + 4, 4),
        format!("inside the freed allocation 0x{a:x} of 1000 bytes, at offset 4")
    );
    assert_ne!(memory.allocate(1000).unwrap(), a, "addresses are not used again at once");
    assert_eq!(memory.describe(0, 4), "a null pointer, or one computed from it");
}

#[test]
fn snapshots_keep_freed_memory() {
    let memory = Memory::new(1 << 20);
    let a = memory.allocate(64).unwrap();
    let before = memory.snapshot();
    memory.free(a).unwrap();
    let b = memory.allocate(64).unwrap();
    assert!(before.find(a + 63).is_some() && before.find(a + 64).is_none() && before.find(b).is_none());
    let after = memory.snapshot();
    assert!(after.find(a).is_none() && after.find(b).is_some());
    assert_eq!((before.len(), after.len()), (1, 1));
}

/// Hints for caches, which have no effect here: what is loaded, stored and added is what it is without them.
#[test]
fn cache_policies_change_nothing() {
    let text = snippet(
        "createpolicy.fractional.L2::evict_last.b64 %rd1, 0.5;
         createpolicy.range.global.L2::evict_first.L2::evict_unchanged.b64 %rd2, [%out], 64, 128;
         createpolicy.cvt.L2.b64 %rd3, %rd1;
         st.global.L2::cache_hint.u32 [%at], %t, %rd1;
         ld.global.L1::no_allocate.L2::cache_hint.L2::128B.u32 %r1, [%at], %rd2;
         ld.global.L2::cache_hint.v2.u32 {%r4, %r5}, [%out], %rd3;
         atom.global.add.L2::cache_hint.u32 %r2, [%at], %r1, %rd3;
         red.global.add.L2::cache_hint.u32 [%at], 1000, %rd1;
         add.u32 %r2, %r2, %r5; red.global.add.u32 [%at], %r2;",
    );
    let expected: Vec<u32> = (0..32).map(|t| 3 * t + 1001).collect();
    assert_eq!(outputs::<u32>(&text, 32, 32), expected);
}

#[test]
fn a_function_has_variables_of_its_own_in_device_memory() {
    let text = snippet_with(
        ".func (.param .b32 r) next(.param .b32 a) {
         .global .u32 g = 5; .const .u32 c[2] = {100, 200}; .reg .b32 %x, %y; .reg .b64 %p;
         ld.param.u32 %x, [a]; atom.global.add.u32 %y, [g], %x; ld.const.u32 %x, [c+4]; add.u32 %y, %y, %x;
         { .global .u32 g = 7; ld.global.u32 %x, [g]; mov.u64 %p, g; add.u32 %y, %y, %x; }
         st.param.b32 [r], %y; ret; }
         .global .u32 g = 1000;",
        "{ .param .b32 a; .param .b32 r; st.param.b32 [a], 3; call (r), next, (a); ld.param.b32 %r1, [r];
           st.global.u32 [%out], %r1; call (r), next, (a); ld.param.b32 %r2, [r]; st.global.u32 [%out+4], %r2; }
         ld.global.u32 %r3, [g]; st.global.u32 [%out+8], %r3;",
    );
    assert_eq!(outputs::<u32>(&text, 1, 3), [5 + 200 + 7, 8 + 200 + 7, 1000]);
}

#[test]
fn copies_whose_source_is_ignored_leave_zeros() {
    let body = ".shared .align 16 .b8 s[64]; mov.u32 %r1, 0x11223344; st.global.u32 [%out], %r1; st.shared.u32 [s], %r1; st.shared.u32 [s+16], %r1;\n\
                setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 0; mov.u32 %r2, s; mov.u64 %rd1, 1;\n\
                cp.async.ca.shared.global [%r2], [%out], 4, %p1; cp.async.ca.shared.global [%r2+4], [%out], 4, %p2;\n\
                cp.async.ca.shared.global [%r2+8], [%rd1], 4, %p1; cp.async.wait_all; ld.shared.v2.u32 {%r3, %r4}, [s];\n\
                fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster; membar.proxy.alias;\n\
                st.global.v2.u32 [%out+8], {%r3, %r4};";
    assert_eq!(outputs::<u32>(&snippet(body), 1, 4)[2..], [0, 0x1122_3344]);
}

#[test]
fn special_registers_as_vectors_and_predicates() {
    let body = "mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid; mov.v4.u32 {%r5, %r6, %r7, %r8}, %ntid; mov.pred %p1, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p1;\n\
                mov.u32 %r10, %envreg5; mov.u64 %rd1, %pm3_64; mov.u64 %rd2, %current_graph_exec; cvt.u32.u64 %r11, %rd1; cvt.u32.u64 %r12, %rd2; or.b32 %r10, %r10, %r12;\n\
                setp.ne.u32 %p2, %t, 3; @%p2 exit; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4}; st.global.v4.u32 [%out+16], {%r5, %r6, %r7, %r8}; st.global.v2.u32 [%out+32], {%r9, %r10};";
    assert_eq!(outputs::<u32>(&snippet(body), 5, 10), [3, 0, 0, 0, 5, 1, 1, 0, 0, 0]);
}

#[test]
fn vectors_of_eight() {
    // The address is in a register that is written.
    let body = ".reg .b16 %e<9>; .shared .align 16 .b8 s[32]; mov.b64 %rd8, 0x8877665544332211; st.global.u64 [%out], %rd8;\n\
        ld.global.v8.b8 {%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7}, [%out]; mov.u32 %r5, s;\n\
        st.shared.v8.b16 [%r5+16], {%e7, %e6, %e5, %e4, %e3, %e2, %e1, %e0};\n\
        ld.shared.v8.b16 {%r5, %r6, %r7, %r8, %r1, %r2, %r3, %r4}, [%r5+16]; st.global.v8.b8 [%out+8], {%r5, %r6, %r7, %r8, %r1, %r2, %r3, %r4};";
    let found = outputs::<u64>(&snippet(body), 1, 2);
    assert_eq!(found, [0x8877_6655_4433_2211, 0x1122_3344_5566_7788]);
    let fault = snippet_fault(
        &snippet(".reg .b16 %e<9>;\nld.global.v8.b8 {%e0, %e1, %e2, %e3, %e4, %e5, %e6, %e7}, [%out+4];"),
        1,
        64,
    );
    assert!(fault.message.contains("misaligned access of 8 bytes"), "{fault}");
}

#[test]
fn all_axes_of_special_registers() {
    let mut body =
        String::from(".reg .v4 .u32 v; mov.u32 %r1, 7; mov.u32 %r1, %tid.w; st.global.u32 [%out], %r1;\n");
    let vectors =
        ["tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"];
    for (index, vector) in vectors.into_iter().enumerate() {
        body += &format!("mov.v4.u32 v, %{vector}; st.global.v4.u32 [%out+{}], v;\n", 16 * (index + 1));
    }
    let found = outputs::<u32>(&snippet(&body), 1, 36);
    assert_eq!(found[0], 0);
    let one = [1, 1, 1, 0];
    let wanted = [[0; 4], one, [0; 4], one, [0; 4], one, [0; 4], one];
    assert_eq!(found[4..], wanted.concat());
}
