//! Textures and surfaces as the engine reads and writes them: faults, and what the tests over the wrapper leave out.

use std::sync::Arc;

use cuda_emulator::engine::{FaultKind, Program};
use cuda_emulator::memory::Memory;
use cuda_emulator::texture::{Channel, Image, ImageKind, Surface, Texel, Texture, Wrap};

use crate::support::{Args, Device, snippet};

const KERNELS: &str = "tests/kernels/textures.ptx";

/// `width` x `height` elements of one channel at `address`.
fn image(address: u64, channel: Channel, width: usize, height: usize) -> Image {
    let texel = Texel { channel, channels: 1 };
    let pitch = width * texel.bytes();
    Image {
        address,
        texel,
        size: [width, height, 1],
        pitch,
        plane: pitch * height,
        kind: ImageKind::Array(2),
    }
}

fn texture(image: Image) -> Texture {
    Texture {
        levels: vec![image],
        wrap: [Wrap::Clamp; 3],
        linear: false,
        normalized: false,
        integer: false,
        srgb: false,
        border: [0.0; 4],
        mix_levels: false,
        bias: 0.0,
        level_range: [0.0; 2],
        memory: false,
        anisotropy: 0,
        seamless: false,
    }
}

/// What `tex.1d` gives in four channels in the middle of the first element of a texture of these bytes.
fn first(channel: Channel, bytes: &[u8], change: impl Fn(&mut Texture)) -> [f32; 4] {
    let device = Device::new(&snippet(
        "mov.f32 %f1, 0f3F000000; mov.u64 %rd1, 77;
         tex.1d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd1, {%f1}];
         st.global.v4.f32 [%out], {%f2, %f3, %f4, %f5};",
    ));
    let mut made = texture(image(device.upload(bytes), channel, bytes.len() / channel.bytes(), 1));
    change(&mut made);
    device.memory.objects().set_texture(77, Some(made));
    let out = device.zeroed::<f32>(4);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    device.download(out, 4).try_into().unwrap()
}

#[test]
fn channels_become_floats() {
    let keep = |_: &mut Texture| {};
    assert_eq!(
        first(Channel::U8, &[255], keep),
        [1.0, 0.0, 0.0, 0.0],
        "channels that are not there are zero"
    );
    assert_eq!(first(Channel::I8, &[0x80], keep)[0], -1.0);
    assert_eq!(first(Channel::I8, &[127], keep)[0], 1.0);
    assert_eq!(first(Channel::U16, &[0xff, 0xff], keep)[0], 1.0);
    assert_eq!(first(Channel::Snorm16, &[1, 0x80], keep)[0], -1.0);
    assert_eq!(first(Channel::F16, &[0x00, 0x3e], keep)[0], 1.5);
    assert_eq!(first(Channel::F32, &2.5_f32.to_le_bytes(), keep)[0], 2.5);
    let srgb = first(Channel::U8, &[188], |made| made.srgb = true)[0];
    assert_eq!(srgb, 0.50390625, "what an H200 has; the standard says 0.5029");
    let integer = first(Channel::I8, &[0xfe], |made| made.integer = true)[0];
    assert_eq!(integer.to_bits() as i32, -2);
}

#[test]
fn a_handle_of_nothing_is_a_fault() {
    let device = Device::file(KERNELS);
    let out = device.zeroed::<f32>(4);
    let args = || Args::new().add(0x77_u64).add(out).add(0.5_f32).add(1.0_f32);
    let fault = device.fault("sample_1d", [1, 1, 1], [4, 1, 1], &args());
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.contains("0x77 is no texture object"), "{fault}");
    // A texture whose memory is gone.
    let memory = device.zeroed::<f32>(4);
    device.memory.objects().set_texture(0x77, Some(texture(image(memory, Channel::F32, 4, 1))));
    device.launch("sample_1d", [1, 1, 1], [4, 1, 1], &args());
    device.memory.free(memory).unwrap();
    let fault = device.fault("sample_1d", [1, 1, 1], [4, 1, 1], &args());
    assert!(fault.message.contains("the memory of a texture object was freed"), "{fault}");
}

#[test]
fn a_surface_access_outside_traps() {
    let device = Device::file(KERNELS);
    let surface = |width, height| {
        let memory = device.zeroed::<u32>(width * height);
        Surface { image: image(memory, Channel::U32, width, height) }
    };
    device.memory.objects().set_surface(1, Some(surface(8, 4)));
    device.memory.objects().set_surface(2, Some(surface(4, 4)));
    let args = Args::new().add(1_u64).add(2_u64);
    let fault = device.fault("add_one", [1, 1, 1], [8, 4, 1], &args);
    assert_eq!((fault.kind, fault.thread), (FaultKind::IllegalAddress, [4, 0, 0]));
    assert!(
        fault.message.contains("at byte 16, row 0, plane 0, outside 16 bytes, 4 rows, 1 planes"),
        "{fault}"
    );
    device.launch("add_one", [1, 1, 1], [4, 4, 1], &args);
}

#[test]
fn surface_elements_of_every_width() {
    let device = Device::new(&snippet(
        "mov.u64 %rd1, 5; mov.u32 %r1, 0; mov.u32 %r2, 8; mov.u32 %r9, 100;
         suld.b.1d.b8.trap {%h1}, [%rd1, {%r1}];
         suld.b.1d.b64.trap {%rd2}, [%rd1, {%r2}];
         suld.b.1d.v2.b16.clamp {%h2, %h3}, [%rd1, {%r9}];
         cvt.u32.u16 %r3, %h1; cvt.u32.u16 %r4, %h2; cvt.u32.u16 %r5, %h3;
         st.global.u32 [%out], %r3; st.global.u32 [%out+4], %r4;
         st.global.u64 [%out+8], %rd2; st.global.u32 [%out+16], %r5;
         sust.b.1d.b64.trap [%rd1, {%r1}], {%rd2};
         sust.b.1d.v2.b16.zero [%rd1, {%r9}], {%h1, %h1};",
    ));
    let memory = device.upload(&(1..=16).collect::<Vec<u8>>());
    device.memory.objects().set_surface(5, Some(Surface { image: image(memory, Channel::U8, 16, 1) }));
    let out = device.zeroed::<u32>(5);
    device.launch("k", [1, 1, 1], [1, 1, 1], &Args::new().add(out));
    assert_eq!(device.download::<u32>(out, 5), [0x01, 0x0e0d, 0x0c0b_0a09, 0x100f_0e0d, 0x100f]);
    let expected: Vec<u8> = (9..=16).chain(9..=16).collect();
    assert_eq!(device.download::<u8>(memory, 16), expected, "stored once, and outside nothing");
}

#[test]
fn a_predicate_is_no_element_of_a_surface() {
    for instruction in
        ["suld.b.1d.b32.trap {%p1}, [%rd1, {%r1}];", "sust.b.1d.b32.trap [%rd1, {%r1}], {%p1};"]
    {
        let text = snippet(&format!(
            "mov.u64 %rd1, 5; mov.u32 %r1, 0; setp.eq.u32 %p1, %r1, 0;\n{instruction}\nst.global.u32 [%out], %r1;"
        ));
        let failure = Program::load(&text, &Arc::new(Memory::new(1 << 20))).map(drop).expect_err(instruction);
        assert!(failure.message.contains("registers of type .pred are not expected"), "{failure}");
    }
}
