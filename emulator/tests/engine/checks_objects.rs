//! Races on what textures and surfaces lie in: accesses through them, and to their memory itself.

use cuda_emulator::check::{Finding, FindingKind};
use cuda_emulator::texture::{Channel, Image, ImageKind, Surface, Texel, Texture, Wrap};

use crate::support::{Args, Device, snippet};

/// What is found where blocks of that many threads run this over a texture and a surface, both of which are the four numbers at `%out`.
/// `%r1` is the number of the block, and `%rd1` the handle of both.
fn found(body: &str, blocks: u32, threads: u32) -> Vec<Finding> {
    let device = Device::checked(&snippet(&format!("mov.u32 %r1, %ctaid.x; mov.u64 %rd1, 77;\n{body}")));
    let out = device.zeroed::<u32>(4);
    let texel = Texel { channel: Channel::U32, channels: 1 };
    let image =
        Image { address: out, texel, size: [4, 1, 1], pitch: 16, plane: 16, kind: ImageKind::Array(1) };
    device.memory.objects().set_surface(77, Some(Surface { image }));
    let texture = Texture {
        levels: vec![image],
        wrap: [Wrap::Clamp; 3],
        linear: false,
        normalized: false,
        integer: true,
        srgb: false,
        border: [0.0; 4],
        mix_levels: false,
        bias: 0.0,
        level_range: [0.0; 2],
        memory: true,
        anisotropy: 0,
        seamless: false,
    };
    device.memory.objects().set_texture(77, Some(texture));
    device.launch("k", [blocks, 1, 1], [threads, 1, 1], &Args::new().add(out));
    device.findings()
}

/// One race, of these two accesses in the order of the blocks; or nothing.
fn races(body: &str, blocks: u32, threads: u32, expected: bool) {
    let found = found(body, blocks, threads);
    match &found[..] {
        [] if !expected => {}
        [one] if expected && one.kind == FindingKind::Race && one.other.is_some() => {}
        _ => panic!("{body}: {found:#?}"),
    }
}

/// Block 0 does the one, block 1 the other.
fn apart(one: &str, other: &str) -> String {
    format!("setp.ne.u32 %p1, %r1, 0; @%p1 bra OTHER; {one} bra.uni END; OTHER: {other} END:")
}

const STORE: &str = "mov.u32 %r4, 7; st.global.u32 [%out+4], %r4;";
const FETCH: &str = "mov.u32 %r2, 1; tex.1d.v4.u32.s32 {%r3, %r4, %r5, %r6}, [%rd1, {%r2}];";
const PUT: &str = "mov.u32 %r2, 4; mov.u32 %r4, 9; sust.b.1d.b32.trap [%rd1, {%r2}], {%r4};";
const GET: &str = "mov.u32 %r2, 4; suld.b.1d.b32.trap {%r3}, [%rd1, {%r2}];";
const ADD: &str = "mov.u32 %r2, 4; mov.u32 %r4, 1; sured.b.add.1d.u32.trap [%rd1, {%r2}], %r4;";

#[test]
fn a_fetch_of_what_another_block_writes_is_a_race() {
    for (one, other) in [(STORE, FETCH), (FETCH, STORE), (PUT, FETCH), (FETCH, ADD)] {
        races(&apart(one, other), 2, 1, true);
        // Of another element.
        races(&apart(one, other).replace("mov.u32 %r2, 1;", "mov.u32 %r2, 2;"), 2, 1, false);
    }
    races(&apart(FETCH, FETCH), 2, 1, false);
}

#[test]
fn surfaces_of_several_blocks_race() {
    for (one, other) in [(PUT, GET), (GET, PUT), (STORE, GET), (PUT, ADD), (ADD, GET)] {
        races(&apart(one, other), 2, 1, true);
        let elsewhere = other.replace("%r2, 4;", "%r2, 8;");
        races(&apart(one, &elsewhere), 2, 1, false);
    }
    // Reductions are atomic, and nobody notices a store of what is there.
    for (one, other) in [(ADD, ADD), (GET, GET), (PUT, PUT)] {
        races(&apart(one, other), 2, 1, false);
    }
    races(&apart(PUT, &PUT.replace("%r4, 9;", "%r4, 8;")), 2, 1, true);
}

#[test]
fn a_barrier_orders_the_accesses_of_a_block() {
    let guarded = |between: &str| {
        format!(
            "setp.eq.u32 %p1, %t, 0; @!%p1 bra MEET; {PUT} MEET: {between} setp.eq.u32 %p2, %t, 32; @!%p2 bra END; {GET} END:"
        )
    };
    races(&guarded("bar.sync 0;"), 1, 64, false);
    races(&guarded(""), 1, 64, true);
    // The lanes of one store leave it to chance whose number stays.
    races(&PUT.replace("mov.u32 %r4, 9;", "mov.u32 %r4, %t;"), 1, 2, true);
    races(PUT, 1, 32, false);
}
