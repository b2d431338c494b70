//! Textures to the end: cubes, gradients, gathers, offsets, queries, and surfaces by their format. References are written here from the
//! ISA and the programming guide.

use cuda_emulator::engine::FaultKind;
use cuda_emulator::texture::{Channel, Image, ImageKind, Surface, Texel, Texture, Wrap};
use cuda_emulator::{OneOrderReason, Schedules};

use crate::support::{Args, Device, snippet};
use crate::wgmma::Random;

/// The handle of the object under test.
const HANDLE: u64 = 77;

/// What `instruction` makes of rows of eight words, `%r0` to `%r7`: four words, `%r8` to `%r11`. `%rd1` is the handle.
fn each(device: &Device, rows: &[[u32; 8]]) -> Vec<[u32; 4]> {
    let words: Vec<u32> = rows.iter().flatten().copied().collect();
    let place = device.upload(&words);
    device.launch("k", [rows.len() as u32, 1, 1], [1, 1, 1], &Args::new().add(place));
    let words = device.download::<u32>(place, words.len());
    words.chunks(8).map(|row| [row[0], row[1], row[2], row[3]]).collect()
}

fn device(instruction: &str) -> Device {
    let load: String = (0..8).map(|at| format!("ld.global.b32 %r{at}, [%rd0+{}]; ", 4 * at)).collect();
    let store: String = (0..4).map(|at| format!("st.global.b32 [%rd0+{}], %r{}; ", 4 * at, at + 8)).collect();
    Device::new(&snippet(&format!(
        "mov.u32 %r12, %ctaid.x; mul.wide.u32 %rd0, %r12, 32; add.u64 %rd0, %rd0, %out; mov.u64 %rd1, {HANDLE};\n\
         {load}\nmov.b32 %r8, 0; mov.b32 %r9, 0; mov.b32 %r10, 0; mov.b32 %r11, 0;\n{instruction}\n{store}"
    )))
}

/// Elements that are one after the other in memory.
fn image(device: &Device, texel: Texel, size: [usize; 3], bytes: &[u8]) -> Image {
    let pitch = size[0] * texel.bytes();
    assert_eq!(bytes.len(), pitch * size[1] * size[2]);
    Image {
        address: device.upload(bytes),
        texel,
        size,
        pitch,
        plane: pitch * size[1],
        kind: ImageKind::Array(3),
    }
}

const FLOAT: Texel = Texel { channel: Channel::F32, channels: 1 };

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn texture(levels: Vec<Image>) -> Texture {
    Texture {
        levels,
        wrap: [Wrap::Clamp; 3],
        linear: false,
        normalized: true,
        integer: false,
        srgb: false,
        border: [0.0; 4],
        mix_levels: false,
        bias: 0.0,
        level_range: [0.0, 100.0],
        memory: false,
        anisotropy: 0,
        seamless: false,
    }
}

/// The places of the middles of all elements of a cube's faces, on a cube from -1 to 1: of face, row and column, as the guide's table
/// has them ("Cubemap Textures").
fn middles(size: usize) -> Vec<[f64; 3]> {
    let mut places = Vec::new();
    for face in 0..6 {
        for y in 0..size {
            for x in 0..size {
                let [s, t] = [x, y].map(|at| (2 * at + 1) as f64 / size as f64 - 1.0);
                places.push(match face {
                    0 => [1.0, -t, -s],
                    1 => [-1.0, -t, s],
                    2 => [s, 1.0, t],
                    3 => [s, -1.0, -t],
                    4 => [s, -t, 1.0],
                    _ => [-s, -t, -1.0],
                });
            }
        }
    }
    places
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|at| (a[at] - b[at]).powi(2)).sum()
}

/// The element that is nearest to a place on the cube.
fn nearest(middles: &[[f64; 3]], place: [f64; 3]) -> usize {
    let by = |a: &usize, b: &usize| distance(middles[*a], place).total_cmp(&distance(middles[*b], place));
    (0..middles.len()).min_by(by).unwrap()
}

/// A direction that is not near an edge of a face or of an element, and where it meets the cube.
fn direction(random: &mut Random, size: usize) -> ([f32; 3], [f64; 3]) {
    loop {
        let way: [f32; 3] = std::array::from_fn(|_| (random.next() >> 40) as f32 / (1 << 23) as f32 - 1.0);
        let most = way.iter().fold(0.0_f32, |most, at| most.max(at.abs()));
        let place = way.map(|at| f64::from(at) / f64::from(most));
        let clear = |at: f64| {
            let place = (at + 1.0) / 2.0 * size as f64;
            (place - place.round()).abs() > 1e-3
        };
        if place.iter().filter(|at| at.abs() == 1.0).count() == 1
            && place.iter().all(|at| at.abs() == 1.0 || clear(*at))
        {
            return (way.map(|at| at * 3.0), place);
        }
    }
}

#[test]
fn cubes_and_arrays_of_cubes() {
    const SIZE: usize = 5;
    let places = middles(SIZE);
    let mut random = Random(11);
    let tests: Vec<_> = (0..300).map(|_| direction(&mut random, SIZE)).collect();
    for (name, cubes) in [("cube", 1), ("acube", 3)] {
        let first = if cubes == 1 { "" } else { "%r3, " };
        let last = if cubes == 1 { ", %r2" } else { "" };
        let device = device(&format!(
            "tex.{name}.v4.f32.f32 {{%r8, _, _, _}}, [%rd1, {{{first}%r0, %r1, %r2{last}}}];\n\
             tex.level.{name}.v4.f32.f32 {{%r9, _, _, _}}, [%rd1, {{{first}%r0, %r1, %r2{last}}}], 0f3F800000;"
        ));
        let level = |size: usize, add: f32| {
            image(
                &device,
                FLOAT,
                [size, size, 6 * cubes],
                &floats((0..6 * cubes * size * size).map(|at| at as f32 + add)),
            )
        };
        let levels = vec![level(SIZE, 0.0), level(SIZE / 2, 0.5)];
        device.memory.objects().set_texture(HANDLE, Some(texture(levels)));
        // Cubes that are not there are the last one.
        let asked = |index: usize| [0, 1, 2, 3, 70_000, u32::MAX][index % 6];
        let rows: Vec<_> = tests
            .iter()
            .enumerate()
            .map(|(index, (way, _))| {
                let [x, y, z] = way.map(f32::to_bits);
                [x, y, z, asked(index), 0, 0, 0, 0]
            })
            .collect();
        for (index, (found, (way, place))) in each(&device, &rows).into_iter().zip(&tests).enumerate() {
            let cube = if cubes == 1 { 0 } else { (asked(index) as usize).min(cubes - 1) };
            let wanted = cube * 6 * SIZE * SIZE + nearest(&places, *place);
            assert_eq!(f32::from_bits(found[0]), wanted as f32, "{name} {way:?}");
            let small = f32::from_bits(found[1]);
            assert_eq!((small.fract(), (small as usize) / 24), (0.5, cube), "the second level of {name}");
        }
    }
}

#[test]
fn cubes_are_mixed_across_their_edges() {
    const SIZE: usize = 4;
    let places = middles(SIZE);
    let value = |at: usize| ((at * 37) % 101) as f32;
    let device = device(
        "tex.cube.v4.f32.f32 {%r8, _, _, _}, [%rd1, {%r0, %r1, %r2, %r2}];\n\
         tld4.r.cube.v4.f32.f32 {%r9, %r10, %r11, _}, [%rd1, {%r0, %r1, %r2, %r2}];",
    );
    let level = image(&device, FLOAT, [SIZE, SIZE, 6], &floats((0..6 * SIZE * SIZE).map(value)));
    let mut object = Texture { linear: true, seamless: true, ..texture(vec![level]) };
    device.memory.objects().set_texture(HANDLE, Some(object.clone()));
    // Halfway between the last elements of a face and what would follow, away from corners: the neighbour is the nearest element of
    // another face.
    let steps: [f64; 5] = [-0.75, -0.25, 0.25, 0.75, 0.0];
    let mut rows = Vec::new();
    let mut wanted = Vec::new();
    for face in 0..6 {
        for along in steps {
            for side in [-1.0_f64, 1.0] {
                for swap in [false, true] {
                    let on = |out: f64| {
                        let mut way = [0.0; 3];
                        let axis = face / 2;
                        way[axis] = if face % 2 == 0 { 1.0 } else { -1.0 };
                        let (p, q) = ((axis + 1) % 3, (axis + 2) % 3);
                        let (p, q) = if swap { (q, p) } else { (p, q) };
                        (way[p], way[q]) = (side * out, along);
                        way
                    };
                    // A quarter of an element inside the edge: three quarters are of this face, one is of the next.
                    let far = 1.0 / SIZE as f64;
                    let mean = |out: f64| -> f64 {
                        let one = |along_step: f64| {
                            let mut place = on(out);
                            let moving = place
                                .iter()
                                .position(|at| *at == along && along != 0.0)
                                .unwrap_or_else(|| (0..3).find(|at| place[*at] == 0.0).unwrap());
                            place[moving] += along_step;
                            let most = place.iter().fold(0.0_f64, |most, at| most.max(at.abs()));
                            f64::from(value(nearest(&places, place.map(|at| at / most))))
                        };
                        // `along` is the middle of an element, or (zero) the border of two.
                        if along == 0.0 { (one(far) + one(-far)) / 2.0 } else { one(0.0) }
                    };
                    wanted.push((0.75 * mean(1.0 - far) + 0.25 * mean(1.0 + far)) as f32);
                    let way = on(1.0 - far / 2.0).map(|at| (at as f32).to_bits());
                    rows.push([way[0], way[1], way[2], 0, 0, 0, 0, 0]);
                }
            }
        }
    }
    let found: Vec<f32> = each(&device, &rows).into_iter().map(|row| f32::from_bits(row[0])).collect();
    assert_eq!(found, wanted);
    // At a corner three elements meet, each as much.
    let corner = |sign: [f64; 3]| {
        let three = (0..3).map(|axis| {
            let place = std::array::from_fn(|at| if at == axis { sign[at] } else { sign[at] * 0.75 });
            value(nearest(&places, place))
        });
        three.sum::<f32>() / 3.0
    };
    let corners: Vec<[f64; 3]> =
        (0..8).map(|bits| std::array::from_fn(|at| if bits >> at & 1 == 0 { 1.0 } else { -1.0 })).collect();
    let rows: Vec<_> = corners
        .iter()
        .map(|sign| {
            let way = sign.map(|at| (at as f32).to_bits());
            [way[0], way[1], way[2], 0, 0, 0, 0, 0]
        })
        .collect();
    for (found, sign) in each(&device, &rows).into_iter().zip(&corners) {
        let (found, wanted) = (f32::from_bits(found[0]), corner(*sign));
        assert!((found - wanted).abs() < 1e-4, "{found} {wanted} {sign:?}");
    }
    // Without the flag every face ends where it ends.
    object.seamless = false;
    device.memory.objects().set_texture(HANDLE, Some(object));
    let way = [1.0_f32, 0.25 / 1.0, -0.999].map(f32::to_bits);
    let found = each(&device, &[[way[0], way[1], way[2], 0, 0, 0, 0, 0]])[0];
    // s is 0.999, t -0.25: the last column of the rows 0 to 3 of face 0, halfway between rows 1 and 2 minus a half.
    let (a, b) = (value(SIZE + 3), value(2 * SIZE + 3));
    let found = f32::from_bits(found[0]);
    assert!(found >= a.min(b) && found <= a.max(b), "{found} of {a} and {b}");
}

#[test]
fn four_elements_are_gathered() {
    // Of a 2D texture and of layers: what is mixed, counterclockwise from the lower left, in texture coordinates.
    let (width, height) = (4_usize, 3_usize);
    let channels = 4;
    let value = |layer: usize, y: i64, x: i64, channel: usize| {
        let (y, x) = (y.clamp(0, height as i64 - 1) as usize, x.clamp(0, width as i64 - 1) as usize);
        (((layer * height + y) * width + x) * channels + channel) as u32
    };
    for (name, layers, channel) in [("2d", 1, 0), ("2d", 1, 3), ("a2d", 3, 1), ("a2d", 3, 2)] {
        let first = if layers == 1 { "" } else { "%r4, " };
        let last = if layers == 1 { "" } else { ", 0f00000000" };
        let component = ["r", "g", "b", "a"][channel];
        let device = device(&format!(
            "tld4.{component}.{name}.v4.u32.f32 {{%r8, %r9, %r10, %r11}}, [%rd1, {{{first}%r0, %r1{last}}}], {{%r2, %r3}};"
        ));
        let texel = Texel { channel: Channel::U32, channels: channels as u32 };
        let bytes: Vec<u8> =
            (0..(layers * width * height * channels) as u32).flat_map(u32::to_le_bytes).collect();
        let image = image(&device, texel, [width, height, layers], &bytes);
        let object = Texture { normalized: false, ..texture(vec![image]) };
        device.memory.objects().set_texture(HANDLE, Some(object));
        let mut rows = Vec::new();
        let mut wanted = Vec::new();
        for (x, y) in [(1.0_f32, 1.0_f32), (0.2, 0.2), (3.9, 2.9), (2.25, 0.75), (-3.0, 9.0)] {
            for (dx, dy) in [(0_i32, 0_i32), (1, -1), (-8, 7), (8, -9), (17, 0), (70, -33)] {
                for layer in [0, 1, 9] {
                    rows.push([x.to_bits(), y.to_bits(), dx as u32, dy as u32, layer, 0, 0, 0]);
                    // Six bits of an offset count.
                    let bits = |offset: i32| {
                        i64::from(if offset & 32 != 0 { (offset & 63) - 64 } else { offset & 63 })
                    };
                    let [left, top] = [(x, dx), (y, dy)].map(|(at, by)| (at - 0.5).floor() as i64 + bits(by));
                    let layer = (layer as usize).min(layers - 1);
                    let at = |x, y| value(layer, y, x, channel);
                    wanted.push([at(left, top + 1), at(left + 1, top + 1), at(left + 1, top), at(left, top)]);
                }
            }
        }
        assert_eq!(each(&device, &rows), wanted, "{name} {component}");
    }
}

#[test]
fn gradients_choose_the_level() {
    // Each level has its number everywhere, so the result is the level.
    for (name, size, depth, point, x, y) in [
        ("1d", [64, 1, 1], false, "%r0", "{%r2}", "{%r4}"),
        ("2d", [64, 16, 1], false, "%r0, %r1", "{%r2, %r3}", "{%r4, %r5}"),
        ("3d", [64, 16, 8], true, "%r0, %r1, %r1, %r1", "{%r2, %r3, %r6, %r6}", "{%r4, %r5, %r6, %r6}"),
        ("a2d", [64, 16, 2], false, "%r7, %r0, %r1, %r1", "{%r2, %r3}", "{%r4, %r5}"),
    ] {
        let device = device(&format!(
            "tex.grad.{name}.v4.f32.f32 {{%r8, _, _, _}}, [%rd1, {{{point}}}], {x}, {y};\n\
             tex.base.{name}.v4.f32.f32 {{%r9, _, _, _}}, [%rd1, {{{point}}}];"
        ));
        let levels = (0..7).map(|level: usize| {
            let half = |size: usize| (size >> level).max(1);
            let size = [half(size[0]), half(size[1]), if depth { half(size[2]) } else { size[2] }];
            image(&device, FLOAT, size, &floats(vec![level as f32; size.iter().product()]))
        });
        let mut object = Texture { mix_levels: true, ..texture(levels.collect()) };
        let dimensions = name.trim_start_matches('a')[..1].parse::<usize>().unwrap();
        for (anisotropy, bias, range) in
            [(0, 0.0, [0.0, 100.0]), (1, 0.5, [0.0, 100.0]), (4, 0.0, [0.0, 100.0]), (0, 0.0, [1.5, 3.25])]
        {
            (object.anisotropy, object.bias, object.level_range) = (anisotropy, bias, range);
            device.memory.objects().set_texture(HANDLE, Some(object.clone()));
            let mut rows = Vec::new();
            let mut wanted = Vec::new();
            for [a, b, c, d, e] in [
                [1.0_f32, 0.0, 0.0, 0.0, 0.0],
                [2.0, 0.0, 0.0, 4.0, 0.0],
                [8.0, 0.0, 0.0, 1.0, 0.0],
                [3.0, 4.0, 0.0, 0.0, 12.0],
                [0.0, 0.0, -16.0, 0.0, 0.0],
                [0.25, 0.0, 0.0, 0.0, 0.0],
                [0.0, 0.0, 0.0, 0.0, 0.0],
                [1e6, 0.0, 0.0, 0.0, 0.0],
            ] {
                // Elements of the largest level from neighbour to neighbour.
                let scale = |at: f32, dimension: usize| (at / size[dimension] as f32).to_bits();
                let half = 0.5_f32.to_bits();
                let third = if depth { scale(e, 2) } else { 0 };
                rows.push([half, half, scale(a, 0), scale(b, 1), scale(c, 0), scale(d, 1), third, 1]);
                let e = if depth { e } else { 0.0 };
                let length = |parts: [f32; 3]| {
                    parts.iter().take(dimensions).map(|part| f64::from(*part).powi(2)).sum::<f64>().sqrt()
                };
                let (x, y) = (length([a, b, e]), length([c, d, e]));
                let (long, short) = (x.max(y), x.min(y));
                let samples = if anisotropy > 1 {
                    (long / short).ceil().clamp(1.0, f64::from(anisotropy))
                } else {
                    1.0
                };
                // Cut off behind 8 bits of fraction.
                let level = ((long / samples).log2() as f32 * 256.0).floor() / 256.0 + bias;
                wanted.push(level.max(range[0]).min(range[1]).clamp(0.0, 6.0));
            }
            let found = each(&device, &rows);
            let levels: Vec<f32> = found.iter().map(|row| f32::from_bits(row[0])).collect();
            assert_eq!(levels, wanted, "{name} {anisotropy} {bias} {range:?}");
            // No bias reaches above the largest level.
            assert!(found.iter().all(|row| f32::from_bits(row[1]) == range[0]), "{name} {bias} {range:?}");
        }
    }
}

#[test]
fn results_of_halves_and_of_predicates_and_what_is_asked() {
    let device = device(
        "tex.2d.v4.f16.f32 {%h1, %h2, %h3, %h4}|%p1, [%rd1, {%r0, %r1}], {%r2, 0};\n\
         mov.b32 %r8, {%h1, %h2}; mov.b32 %r9, {%h3, %h4}; selp.u32 %r11, 7, 8, %p1;\n\
         tex.2d.v2.f16x2.f32 {%r3, %r4}, [%rd1, {%r0, %r1}], {%r2, 0};\n\
         setp.eq.u32 %p2, %r8, %r3; setp.eq.and.u32 %p2, %r9, %r4, %p2; selp.u32 %r10, 1, 0, %p2;",
    );
    let values = [1.0_f32, -2.5, 65519.0, 70000.0, 1.0 + 1.0 / 2048.0, 1.0 + 3.0 / 2048.0, 6e-8, f32::NAN];
    let texel = Texel { channel: Channel::F32, channels: 4 };
    let image = image(&device, texel, [2, 1, 1], &floats(values));
    device.memory.objects().set_texture(HANDLE, Some(Texture { normalized: false, ..texture(vec![image]) }));
    // The nearest, to the even one; too large is infinite.
    let rows = [0_u32, 1].map(|offset| [0.5_f32.to_bits(), 0.5_f32.to_bits(), offset, 0, 0, 0, 0, 0]);
    assert_eq!(each(&device, &rows), [[0xc100_3c00, 0x7c00_7bff, 1, 7], [0x3c02_3c00, 0x7fff_0001, 1, 7]]);

    let device = self::device(
        "txq.width.b32 %r8, [%rd1]; txq.level.width.b32 %r9, [%rd1], %r0; suq.width.b32 %r10, [%rd1];",
    );
    let level =
        |size: [usize; 3]| self::image(&device, FLOAT, size, &floats(vec![0.0; size.iter().product()]));
    let levels = vec![level([6, 5, 4]), level([3, 2, 2]), level([1, 1, 1])];
    device.memory.objects().set_surface(HANDLE, Some(Surface { image: level([9, 8, 7]) }));
    device.memory.objects().set_texture(HANDLE, Some(texture(levels)));
    let rows = [0, 1, 2, 3].map(|level| [level, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(each(&device, &rows), [6, 3, 1, 0].map(|width| [6, width, 9, 0]));

    let device = self::device(
        "mov.b64 %rd2, {%r0, %r1}; istypep.texref %p1, %rd2; istypep.samplerref %p2, %rd2; istypep.surfref %p3, %rd2;\n\
         selp.u32 %r8, 1, 0, %p1; selp.u32 %r9, 1, 0, %p2; selp.u32 %r10, 1, 0, %p3;",
    );
    let rows = [29, 30, 31, 28].map(|bit| [u32::MAX, 1 << bit, 0, 0, 0, 0, 0, 0]);
    assert_eq!(each(&device, &rows), [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]]);
}

#[test]
fn surfaces_are_written_by_their_format() {
    let half = |bits: u16| bits.to_le_bytes();
    let float = |value: f32| value.to_bits();
    let cases: &[(Channel, u32, [u32; 4], Vec<u8>)] = &[
        (Channel::U8, 4, [255, 256, u32::MAX, 7], vec![255, 255, 255, 7]),
        (Channel::I8, 4, [127, 128, -129_i32 as u32, -1_i32 as u32], vec![127, 127, 128, 255]),
        (Channel::U16, 2, [65535, 65536, 9, 9], vec![255, 255, 255, 255]),
        (Channel::I16, 2, [40000, -40000_i32 as u32, 9, 9], vec![255, 127, 0, 128]),
        (Channel::U32, 1, [0xdead_beef, 1, 2, 3], vec![0xef, 0xbe, 0xad, 0xde]),
        (Channel::F32, 1, [float(-1.5), 1, 2, 3], float(-1.5).to_le_bytes().to_vec()),
        (
            Channel::F16,
            2,
            [float(1.0 + 3.0 / 2048.0), float(1e9), 0, 0],
            [half(0x3c01), half(0x7bff)].concat(),
        ),
        (Channel::Unorm8, 4, [float(1.5), float(-1.0), float(0.5), float(f32::NAN)], vec![255, 0, 128, 0]),
        (Channel::Snorm8, 4, [float(1.5), float(-1.5), float(0.5), float(-0.5)], vec![127, 129, 64, 192]),
        (Channel::Unorm16, 2, [float(1.0), float(0.5), 0, 0], [half(65535), half(32768)].concat()),
        (Channel::Snorm16, 2, [float(-1.0), float(0.5), 0, 0], [half(0x8001), half(16384)].concat()),
    ];
    for (channel, channels, numbers, wanted) in cases {
        let device = device("sust.p.2d.v4.b32.zero [%rd1, {%r0, %r1}], {%r2, %r3, %r4, %r5};");
        let texel = Texel { channel: *channel, channels: *channels };
        let bytes = texel.bytes();
        let image = image(&device, texel, [3, 2, 1], &vec![0xa5; 6 * bytes]);
        device.memory.objects().set_surface(HANDLE, Some(Surface { image }));
        let [a, b, c, d] = *numbers;
        // Once inside; outside nothing is written.
        let rows = [(2, 1), (3, 0), (u32::MAX, 0), (0, 2)].map(|(x, y)| [x, y, a, b, c, d, 0, 0]);
        each(&device, &rows);
        let mut all = vec![0xa5; 5 * bytes];
        all.extend(wanted);
        assert_eq!(device.download::<u8>(image.address, 6 * bytes), all, "{channel:?}");
    }
    let device = device("sust.p.1d.b32.trap [%rd1, {%r0}], %r1;");
    let image = image(&device, FLOAT, [4, 1, 1], &[0; 16]);
    device.memory.objects().set_surface(HANDLE, Some(Surface { image }));
    let place = device.upload(&[4_u32, 0, 0, 0, 0, 0, 0, 0]);
    let fault = device.fault("k", [1, 1, 1], [1, 1, 1], &Args::new().add(place));
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.contains("at byte 16"), "{fault}");
}

type Reduces = fn(u64, u64) -> u64;

#[test]
fn surfaces_are_reduced() {
    let (first, second) = (0xffff_fff0_u32, 0x0000_0025_u32);
    let wide = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    let operations: &[(&str, &str, Reduces)] = &[
        ("b.add", "u32", |a, b| u64::from((a as u32).wrapping_add(b as u32))),
        ("b.add", "s32", |a, b| u64::from((a as u32).wrapping_add(b as u32))),
        ("b.add", "u64", u64::wrapping_add),
        ("b.min", "u32", |a, b| u64::from((a as u32).min(b as u32))),
        ("b.min", "s32", |a, b| u64::from((a as i32).min(b as i32) as u32)),
        ("b.max", "u64", u64::max),
        ("b.max", "s64", |a, b| (a as i64).max(b as i64) as u64),
        ("b.min", "s64", |a, b| (a as i64).min(b as i64) as u64),
        ("b.and", "b32", |a, b| a & b & 0xffff_ffff),
        ("b.or", "b32", |a, b| (a | b) & 0xffff_ffff),
    ];
    let formatted: &[(&str, &str, Channel, Reduces)] = &[
        ("p.max", "b32", Channel::U32, |a, b| u64::from((a as u32).max(b as u32))),
        ("p.max", "b32", Channel::I32, |a, b| u64::from((a as i32).max(b as i32) as u32)),
        ("p.min", "b64", Channel::U32, u64::min),
        ("p.min", "b64", Channel::I32, |a, b| (a as i64).min(b as i64) as u64),
        ("p.add", "b32", Channel::I32, |a, b| u64::from((a as u32).wrapping_add(b as u32))),
        ("p.and", "b32", Channel::U32, |a, b| a & b & 0xffff_ffff),
    ];
    let all = operations
        .iter()
        .map(|(name, ty, new)| (*name, *ty, Channel::U32, *new))
        .chain(formatted.iter().copied());
    for (name, ty, channel, new) in all {
        let bytes = if ty.ends_with("64") { 8 } else { 4 };
        let value = if bytes == 8 { "%rd2" } else { "%r2" };
        let device = device(&format!(
            "mov.b64 %rd2, {{%r2, %r3}}; sured.{name}.2d.{ty}.zero [%rd1, {{%r0, %r1}}], {value};"
        ));
        let texel = Texel { channel, channels: bytes as u32 / 4 };
        let words = if bytes == 8 { vec![first, second] } else { vec![first] };
        let old: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let image = image(&device, texel, [3, 2, 1], &old.repeat(6));
        device.memory.objects().set_surface(HANDLE, Some(Surface { image }));
        let step = if name.starts_with('b') { bytes as u32 } else { 1 };
        let number = [0x1234_5678_u32, 0x8000_0001];
        // Two threads at one place, one outside.
        let rows = [(2, 1), (2, 1), (3, 1)].map(|(x, y)| [x * step, y, number[0], number[1], 0, 0, 0, 0]);
        each(&device, &rows);
        let (a, b) = match bytes {
            8 => (wide(first, second), wide(number[0], number[1])),
            _ => (u64::from(first), u64::from(number[0])),
        };
        let mut wanted = old.repeat(5);
        wanted.extend(&new(new(a, b), b).to_le_bytes()[..bytes]);
        assert_eq!(device.download::<u8>(image.address, 6 * bytes), wanted, "{name} {ty} {channel:?}");
    }
    // A surface of other elements than the reduction's.
    let device = device("sured.p.add.1d.b32.trap [%rd1, {%r0}], %r2;");
    let texel = Texel { channel: Channel::U8, channels: 1 };
    let image = image(&device, texel, [4, 1, 1], &[0; 4]);
    device.memory.objects().set_surface(HANDLE, Some(Surface { image }));
    let place = device.upload(&[0_u32; 8]);
    let fault = device.fault("k", [1, 1, 1], [1, 1, 1], &Args::new().add(place));
    assert_eq!(fault.kind, FaultKind::UnsupportedInstruction, "{fault}");
}

/// Coordinates and levels that are counted: each level of a texture has its own number, and so has each element.
#[test]
fn integers_count_elements_of_levels() {
    let sizes: [[usize; 3]; 3] = [[4, 4, 2], [2, 2, 2], [1, 1, 2]];
    let value = |level: usize, [x, y, z]: [usize; 3]| (1000 * level + 100 * z + 10 * y + x) as f32;
    for (name, coordinates) in [
        ("level.2d.v4.f32.s32", "{%r0, %r1}], %r3"),
        ("level.3d.v4.f32.s32", "{%r0, %r1, %r2, %r2}], %r3"),
        ("level.a2d.v4.f32.s32", "{%r2, %r0, %r1, %r1}], %r3"),
        ("level.2d.v4.f32.s32", "{%r0, %r1}], %r3, {%r4, %r5}"),
    ] {
        let device = device(&format!("tex.{name} {{%r8, _, _, _}}, [%rd1, {coordinates};"));
        let levels = sizes.iter().enumerate().map(|(level, &size)| {
            let elements = (0..size.iter().product())
                .map(|at| value(level, [at % size[0], at / size[0] % size[1], at / size[0] / size[1]]));
            image(&device, FLOAT, size, &floats(elements))
        });
        // What is for fractions has no part in it.
        let object =
            Texture { bias: 1.0, level_range: [1.0, 1.0], mix_levels: true, ..texture(levels.collect()) };
        device.memory.objects().set_texture(HANDLE, Some(object));
        let (flat, moved) = (name.contains(".2d"), coordinates.contains("%r5"));
        let minus = -1_i32 as u32;
        let (mut rows, mut wanted) = (Vec::new(), Vec::new());
        for level in [0, 1, 2, 3, minus] {
            for [x, y, z] in [[0, 0, 0], [1, 1, 1], [3, 2, 1], [2, 0, 0], [0, 4, 0], [minus, 0, 1]] {
                rows.push([x, y, z, level, 1, minus, 0, 0]);
                let by = if moved { [1, -1] } else { [0, 0] };
                let at = [i64::from(x as i32) + by[0], i64::from(y as i32) + by[1]];
                let z = if flat { 0 } else { z as usize };
                let found = sizes.get(level as usize).filter(|size| {
                    at.iter().zip(size.iter()).all(|(at, size)| (0..*size as i64).contains(at))
                });
                wanted
                    .push(found.map_or(0.0, |_| value(level as usize, [at[0] as usize, at[1] as usize, z])));
            }
        }
        let found: Vec<f32> = each(&device, &rows).iter().map(|row| f32::from_bits(row[0])).collect();
        assert_eq!(found, wanted, "{name} {coordinates}");
        assert!(wanted.iter().filter(|value| **value != 0.0).count() > 1, "{name} {coordinates}");
    }
}

#[test]
fn forms_that_there_are_not_are_refused() {
    // By ptxas when the module is loaded; comparisons with depths and samplers by name when the kernel is asked for.
    for (instruction, invalid) in [
        ("tex.cube.v4.f32.s32 {%r8, _, _, _}, [%rd1, {%r0, %r1, %r2, %r2}];", true),
        ("tld4.r.1d.v4.f32.f32 {%r8, _, _, _}, [%rd1, {%r0}];", true),
        ("txq.width.u32 %r8, [%rd1];", true),
        ("sured.b.add.1d.s64.trap [%rd1, {%r0}], %rd2;", true),
        ("sust.p.1d.b64.trap [%rd1, {%r0}], %rd2;", true),
        ("tex.level.2dms.v4.f32.s32 {%r8, _, _, _}, [%rd1, {%r0, %r1, %r2, %r2}], %r3;", true),
        ("tex.2d.v4.f32.f32 {%r8, _, _, _}, [%rd1, {%r0, %r1}], %f1;", false),
        ("tex.2d.v4.f32.f32 {%r8, _, _, _}, [%rd1, %rd2, {%r0, %r1}];", false),
        ("tex.2dms.v4.f32.s32 {%r8, _, _, _}, [%rd1, {%r0, %r1, %r2, %r2}];", false),
        ("tex.a2dms.v2.f16x2.s32 {%r8, _}, [%rd1, {%r0, %r1, %r2, %r2}];", false),
        ("tex.level.2d.v4.f32.s32 {%r8, _, _, _}, [%rd1, {%r0, %r1}], %f1;", true),
        ("tex.grad.2d.v4.f32.s32 {%r8, _, _, _}, [%rd1, {%r0, %r1}], {%f1, %f1}, {%f1, %f1};", false),
        ("txq.channel_order.b32 %r8, [%rd1];", false),
        ("suq.memory_layout.b32 %r8, [%rd1];", false),
    ] {
        let memory = std::sync::Arc::new(cuda_emulator::memory::Memory::new(1 << 20));
        let loaded = cuda_emulator::engine::Program::load(&snippet(instruction), &memory);
        match loaded {
            Err(failure) => assert!(invalid, "{instruction}: {failure}"),
            Ok(program) => {
                let refused = program.kernel("k").unwrap().unsupported().count();
                assert!(!invalid && refused == 1, "{instruction}: {refused}");
            }
        }
    }
}

#[test]
fn surfaces_are_reduced_once_whatever_the_schedules() {
    let text = snippet("mov.u64 %rd1, 77; mov.u32 %r0, 0;\nsured.b.add.1d.u32.trap [%rd1, {%r0}], 1;");
    let device = Device::scheduled(&text, Schedules::new(5), None);
    let image = image(&device, Texel { channel: Channel::U32, channels: 1 }, [1, 1, 1], &[0; 4]);
    device.memory.objects().set_surface(HANDLE, Some(Surface { image }));
    device.launch("k", [4, 1, 1], [32, 1, 1], &Args::new().add(0_u64));
    assert_eq!(device.download::<u32>(image.address, 1), [128]);
    let once: Vec<_> = device.one_order().into_iter().map(|once| (once.launches, once.reason)).collect();
    assert_eq!(once, [(1, OneOrderReason::Surfaces)]);
}

/// What an H200 made of these: linear filtering of `.f32` with terms far apart and ties, of bytes, of `.f16`, beyond the border, and the coordinates
/// just beside thirds.
#[test]
fn results_of_an_h200() {
    let sample = |texel: Texel,
                  size: [usize; 3],
                  bytes: &[u8],
                  rows: &[[f32; 2]],
                  change: fn(&mut Texture)|
     -> Vec<u32> {
        let device = device("tex.2d.v4.f32.f32 {%r8, _, _, _}, [%rd1, {%r0, %r1}];");
        let mut object = texture(vec![image(&device, texel, size, bytes)]);
        (object.linear, object.normalized) = (true, false);
        change(&mut object);
        device.memory.objects().set_texture(HANDLE, Some(object));
        let rows: Vec<_> = rows.iter().map(|[x, y]| [x.to_bits(), y.to_bits(), 0, 0, 0, 0, 0, 0]).collect();
        each(&device, &rows).into_iter().map(|row| row[0]).collect()
    };
    let at = |weight: u32| [0.5 + weight as f32 / 256.0, 0.5];
    let pair =
        |a: f32, b: f32, weight: u32| sample(FLOAT, [2, 1, 1], &floats([a, b]), &[at(weight)], |_| {})[0];
    // Ties go away from zero; the smaller term is cut off 27 places behind the larger one's first.
    assert_eq!(pair(-0.438_295_9, -0.412_295_9, 128), 0xbed9_c063);
    assert_eq!(pair(1.315_38, 1.041_377_9, 217), 0x3f8a_a3b1);
    assert_eq!(pair(29.967_457, 0.038_440_842, 226), 0x4062_ed86);
    assert_eq!(pair(0.010_590_128, 0.672_003_1, 2), 0x3c81_15b1);
    assert_eq!(pair(1e-39, 1e-39, 77), 0, "subnormal numbers are zero");
    assert_eq!(pair(f32::INFINITY, f32::NEG_INFINITY, 7), 0x7fff_ffff);
    // Weights of four corners: the product is rounded, a half up, and the others are what is left.
    let corner = |x: u32, y: u32| {
        let place = [0.5 + x as f32 / 256.0, 0.5 + y as f32 / 256.0];
        f32::from_bits(sample(FLOAT, [2, 2, 1], &floats([1.0, 0.0, 0.0, 0.0]), &[place], |_| {})[0]) * 256.0
    };
    assert_eq!(
        [(2, 2), (6, 10), (100, 34), (200, 2), (254, 254)].map(|(x, y)| corner(x, y)),
        [252.0, 240.0, 135.0, 56.0, 0.0]
    );
    // Bytes are widened to 16 bits first.
    let bytes = Texel { channel: Channel::U8, channels: 1 };
    assert_eq!(sample(bytes, [2, 1, 1], &[0, 1], &[at(8), at(40)], |_| {}), [0x3900_0080, 0x3a20_00a0]);
    // Fractions are cut off behind 21 bits: this one is above a third of a size of 7.
    let seven = floats((0..7).map(|at| at as f32));
    let found = sample(FLOAT, [7, 1, 1], &seven, &[[0.285_714_33, 0.5]], |object| {
        (object.linear, object.normalized) = (false, true)
    });
    assert_eq!(found, [1.0_f32.to_bits()]);
}
