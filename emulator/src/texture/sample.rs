//! Reading a texture.

use super::cube::{self, Face};
use super::mix;
use super::reader::Reader;
use super::texel::Value;
use super::{Image, Texture, Wrap};
use crate::memory::BadRange;

/// How many coordinates a texture instruction has, and whether there are layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// 1, 2 or 3.
    pub dimensions: usize,
    /// The first coordinate is the number of a layer.
    pub layered: bool,
    /// The coordinates, three, are a direction from the centre of a cube.
    pub cube: bool,
}

/// The coordinates of a read.
#[derive(Clone, Copy, Debug)]
pub enum Coordinates {
    /// Elements, or fractions of the size.
    Float([f32; 3]),
    /// Elements, counted.
    Integer([i32; 3]),
}

/// Which levels of a mipmapped texture are read.
#[derive(Clone, Copy, Debug)]
pub enum Lod {
    /// The largest that is allowed.
    Base,
    /// That one.
    Level(f32),
    /// The level that fits the distances to the coordinates of neighbours, in x and in y.
    Gradients([[f32; 3]; 2]),
}

/// The query of a texture instruction.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// The kind of texture.
    pub shape: Shape,
    /// Where.
    pub at: Coordinates,
    /// The layer, or the cube.
    pub layer: u32,
    /// The level.
    pub lod: Lod,
    /// Elements that are added to the coordinates.
    pub offset: [i32; 3],
}

/// Levels have 8 bits of fraction.
const FRACTION: f32 = 256.0;
/// Fractions of the size are truncated to this many bits, or to more if the size has more than 14 (H200: up to 4,096, and 30,000).
const COORDINATE_BITS: u32 = 21;
/// What stands for the largest level: no bias reaches above it.
const BASE: f32 = -32.0;
/// Layers above are the last one.
const LAST_LAYER: u32 = 0xffff;

/// A position in one level, which [`Texture::point`] computes from coordinates.
#[derive(Clone, Copy)]
struct SamplePoint {
    /// Elements of each dimension.
    sizes: [usize; 3],
    dimensions: usize,
    /// In 256ths of an element, rounded.
    place: [i64; 3],
    /// In whole elements, cut off.
    whole: [i64; 3],
    offset: [i32; 3],
    /// The layer, or the first face of the cube.
    layer: Option<usize>,
    /// Of a cube.
    face: Option<Face>,
}

impl Texture {
    /// Reads at the coordinates.
    pub fn sample(&self, memory: &Reader<'_>, query: &Query) -> Result<Value, BadRange> {
        let last = self.levels.len().saturating_sub(1) as f32;
        let level = self.level(query);
        let read = |level: f32| -> Result<Value, BadRange> {
            let Some(image) = self.levels.get(level as usize) else { return Ok(Value::Float([0.0; 4])) };
            self.read(memory, image, query)
        };
        if let Coordinates::Integer(at) = query.at {
            return self.fetch(memory, query, at);
        }
        if self.mix_levels && level.fract() != 0.0 {
            let (low, high) = (read(level.floor())?.floats(), read(level.ceil())?.floats());
            let weight = (level.fract() * FRACTION) as i64;
            let mixed = |channel: usize| {
                mix::floats(
                    &[(low[channel], 256 - weight), (high[channel], weight)],
                    &[],
                    mix::Precision::Single,
                )
            };
            return Ok(Value::Float([0, 1, 2, 3].map(mixed)));
        }
        // Half way counts up.
        read((level + 0.5).floor().min(last))
    }

    /// The four elements that would be mixed, of each the channel: from the lower left on, counterclockwise.
    pub fn gather(&self, memory: &Reader<'_>, query: &Query, channel: usize) -> Result<Value, BadRange> {
        let level = self.level(query).floor();
        let Some(image) = self.levels.get(level as usize) else { return Ok(Value::Integer([0; 4])) };
        let Coordinates::Float(at) = query.at else { return Ok(Value::Integer([0; 4])) };
        let point = self.point(image, query, at);
        let (first, _) = mix::around(point.place);
        let mut found = [0; 4];
        for (found, [x, y]) in found.iter_mut().zip([[0, 1], [1, 1], [1, 0], [0, 0]]) {
            let element = self.element(memory, image, &point, [first[0] + x, first[1] + y, 0])?;
            *found = image.texel.decode(&element, self.integer, self.srgb).bits(channel);
        }
        Ok(Value::Integer(found))
    }

    /// The level that is read, with a fraction, clamped to the existing levels.
    fn level(&self, query: &Query) -> f32 {
        // All are truncated to 8 bits of fraction (H200).
        let cut = |level: f32| (level * FRACTION).trunc() / FRACTION;
        let [lowest, highest] = self.level_range.map(cut);
        let last = self.levels.len().saturating_sub(1) as f32;
        let level = match query.lod {
            Lod::Base => BASE,
            Lod::Level(level) => level,
            Lod::Gradients(gradients) => self.detail(query, gradients),
        };
        (cut(level) + cut(self.bias)).max(lowest).min(highest.max(lowest)).clamp(0.0, last)
    }

    /// The level whose elements are as far apart as the gradients.
    fn detail(&self, query: &Query, gradients: [[f32; 3]; 2]) -> f32 {
        let Some(image) = self.levels.first() else { return 0.0 };
        let gradients = match (query.shape.cube, query.at) {
            (true, Coordinates::Float(direction)) => cube::gradients(direction, gradients),
            _ => gradients,
        };
        let dimensions = if query.shape.cube { 2 } else { query.shape.dimensions };
        let length = |gradient: [f32; 3]| -> f32 {
            let squares = (0..dimensions).map(|dimension| {
                let size = if self.normalized { image.size[dimension] as f32 } else { 1.0 };
                (gradient[dimension] * size).powi(2)
            });
            squares.sum::<f32>().sqrt()
        };
        let [x, y] = gradients.map(length);
        let (longest, shortest) = (x.max(y), x.min(y));
        // As many samples as the footprint is longer than wide, and each as small as that makes it.
        let samples = match self.anisotropy {
            0 | 1 => 1.0,
            most => (longest / shortest).ceil().clamp(1.0, most as f32),
        };
        (longest / samples).log2()
    }

    fn read(&self, memory: &Reader<'_>, image: &Image, query: &Query) -> Result<Value, BadRange> {
        let Coordinates::Float(at) = query.at else { return Ok(Value::Integer([0; 4])) };
        let point = self.point(image, query, at);
        if self.linear && !image.texel.channel.is_integer(self.integer) {
            return self.mixed(memory, image, &point);
        }
        let element = self.element(memory, image, &point, point.whole)?;
        Ok(image.texel.decode(&element, self.integer, self.srgb))
    }

    /// The element that integers count, of the level that one counts: outside there is nothing but zeros, whatever the texture says (H200), and
    /// there is nothing in one dimension but in plain memory.
    fn fetch(&self, memory: &Reader<'_>, query: &Query, at: [i32; 3]) -> Result<Value, BadRange> {
        let level = match query.lod {
            Lod::Level(level) => level,
            _ => 0.0,
        };
        let nothing = Ok(Value::Integer([0; 4]));
        let Some(image) = self.levels.get(level as usize).filter(|_| level >= 0.0) else { return nothing };
        let shape = query.shape;
        if shape.dimensions == 1 && !shape.layered && !self.memory {
            return nothing;
        }
        let mut place = [0; 3];
        for (dimension, place) in place.iter_mut().enumerate().take(shape.dimensions) {
            let at = i64::from(at[dimension]) + i64::from(query.offset[dimension]);
            match usize::try_from(at) {
                Ok(at) if at < image.size[dimension] => *place = at,
                _ => return nothing,
            }
        }
        if shape.layered {
            place[2] = (query.layer.min(LAST_LAYER) as usize).min(image.size[2].max(1) - 1);
        }
        let element = self.load(memory, image, place)?;
        Ok(image.texel.decode(&element, self.integer, self.srgb))
    }

    /// The position of coordinates in a level.
    fn point(&self, image: &Image, query: &Query, at: [f32; 3]) -> SamplePoint {
        let (shape, layers) = (query.shape, image.size[2].max(1));
        let layer = query.layer.min(LAST_LAYER) as usize;
        if shape.cube {
            let cube = if shape.layered { layer.min((layers / 6).max(1) - 1) } else { 0 };
            let (face, [s, t]) = cube::project(at);
            let sizes = [image.size[0], image.size[1], 1];
            let [s, t] = [fraction(s, sizes[0]), fraction(t, sizes[1])];
            let (place, whole) = ([s.0, t.0, 0], [s.1, t.1, 0]);
            let (layer, face) = (Some(cube * 6), Some(face));
            return SamplePoint { sizes, dimensions: 2, place, whole, offset: [0; 3], layer, face };
        }
        let size = |dimension: usize| match dimension {
            dimension if dimension >= shape.dimensions => 1,
            dimension => image.size[dimension],
        };
        let sizes = [size(0), size(1), size(2)];
        let (mut place, mut whole) = ([0; 3], [0; 3]);
        for dimension in 0..shape.dimensions.min(3) {
            let at = at[dimension];
            (place[dimension], whole[dimension]) = match self.normalized {
                true => fraction(at, sizes[dimension]),
                false => elements(at),
            };
        }
        let layer = shape.layered.then_some(layer.min(layers - 1));
        // Rows are one row of a texture of two dimensions (ptxas), which matters for its border.
        let dimensions = if self.linear { shape.dimensions.max(2) } else { shape.dimensions };
        SamplePoint { sizes, dimensions, place, whole, offset: query.offset, layer, face: None }
    }

    /// The mean of the elements around, weighted by distance.
    fn mixed(&self, memory: &Reader<'_>, image: &Image, point: &SamplePoint) -> Result<Value, BadRange> {
        let (first, far) = mix::around(point.place);
        let weights = mix::weights(far, point.dimensions);
        let mut elements = [([0; 16], 0); 8];
        let corners = 1_usize << point.dimensions;
        for (corner, (element, weight)) in elements.iter_mut().enumerate().take(corners) {
            *weight = weights[corner];
            if *weight != 0 {
                let mut at = [0; 3];
                for (dimension, at) in at.iter_mut().enumerate().take(point.dimensions) {
                    *at = first[dimension] + (corner >> dimension & 1) as i64;
                }
                *element = self.element(memory, image, point, at)?;
            }
        }
        let mixed = |channel: usize| image.texel.mixed(&elements, channel, self.srgb);
        Ok(Value::Float([0, 1, 2, 3].map(mixed)))
    }

    /// The bytes of one element; coordinates outside are taken as the address modes say, or on another face of the cube.
    fn element(
        &self,
        memory: &Reader<'_>,
        image: &Image,
        point: &SamplePoint,
        at: [i64; 3],
    ) -> Result<[u8; 16], BadRange> {
        if let (Some(face), true) = (point.face, self.seamless) {
            return self.around(memory, image, point, face, at);
        }
        let mut place = [0; 3];
        for (dimension, place) in place.iter_mut().enumerate() {
            let at = at[dimension].saturating_add(i64::from(point.offset[dimension]));
            match self.index(dimension, at, point.sizes[dimension]) {
                Some(index) => *place = index,
                None => return Ok(self.outside(image)),
            }
        }
        if let Some(layer) = point.layer {
            place[2] = layer + point.face.map_or(0, Face::number);
        }
        self.load(memory, image, place)
    }

    /// An element of a cube: beyond an edge it is on the next face, beyond a corner the mean of the three that meet there.
    fn around(
        &self,
        memory: &Reader<'_>,
        image: &Image,
        point: &SamplePoint,
        face: Face,
        at: [i64; 3],
    ) -> Result<[u8; 16], BadRange> {
        let (size, first) = (point.sizes[0] as i64, point.layer.unwrap_or(0));
        let load = |[x, y]: [i64; 2]| {
            let (face, [x, y]) = cube::neighbour(face, [x, y], size);
            self.load(memory, image, [x, y, first + face.number()])
        };
        let [x, y] = [at[0].clamp(-1, size), at[1].clamp(-1, size)];
        let inside = |at: i64| (0..size).contains(&at);
        if inside(x) || inside(y) {
            return load([x, y]);
        }
        let [near_x, near_y] = [x.clamp(0, size - 1), y.clamp(0, size - 1)];
        let three = [load([near_x, near_y])?, load([near_x, y])?, load([x, near_y])?];
        if image.texel.channel.is_integer(self.integer) {
            return Ok(three[0]);
        }
        let [a, b, c] = three.map(|element| image.texel.decode(&element, false, false).floats());
        let mean = [0, 1, 2, 3].map(|i| ((a[i] + b[i] + c[i]) / 3.0).to_bits());
        let mut element = [0; 16];
        image.texel.encode_fraction(mean, &mut element);
        Ok(element)
    }

    fn load(&self, memory: &Reader<'_>, image: &Image, place: [usize; 3]) -> Result<[u8; 16], BadRange> {
        let mut element = [0; 16];
        memory.read(image.place(place), element.get_mut(..image.texel.bytes()).unwrap_or_default())?;
        Ok(element)
    }

    /// The index of an element in a dimension; `None` for the border.
    fn index(&self, dimension: usize, at: i64, size: usize) -> Option<usize> {
        let size = size as i64;
        if (0..size).contains(&at) {
            return Some(at as usize);
        }
        let wrap = self.wrap.get(dimension).copied().unwrap_or(Wrap::Clamp);
        let inside = match wrap {
            _ if self.memory => return None,
            Wrap::Border => return None,
            Wrap::Wrap if self.normalized => at.rem_euclid(size),
            Wrap::Mirror if self.normalized => {
                let at = at.rem_euclid(2 * size);
                if at < size { at } else { 2 * size - 1 - at }
            }
            // Unnormalized coordinates are always clamped.
            _ => at.clamp(0, size - 1),
        };
        Some(inside as usize)
    }

    /// The value beyond the border: its colour in the format of an element (H200).
    fn outside(&self, image: &Image) -> [u8; 16] {
        let mut element = [0; 16];
        if !self.memory && !image.texel.channel.is_integer(self.integer) {
            image.texel.encode_fraction(self.border.map(f32::to_bits), &mut element);
        }
        element
    }
}

/// The position of a number of elements, in 256ths and in whole elements. NaN is at zero.
fn elements(at: f32) -> (i64, i64) {
    // More than enough for every size.
    let near = f64::from(at).clamp(-1e9, 1e9);
    ((near * 256.0 + 0.5).floor() as i64, near.floor() as i64)
}

/// The position of a fraction of a size, in 256ths of an element and in whole elements: the fraction is truncated
/// (H200).
fn fraction(at: f32, size: usize) -> (i64, i64) {
    let bits = COORDINATE_BITS.max(size.next_power_of_two().ilog2() + 7);
    let one = (1_i64 << bits) as f64;
    let whole = f64::from(at);
    // Modes repeat after twice the size, and beyond that nothing is near.
    let near = if whole.abs() < 1024.0 { whole } else { whole.rem_euclid(2.0) + 1024.0_f64.copysign(whole) };
    let near = if whole.is_infinite() { 1024.0_f64.copysign(whole) } else { near };
    let cut = (near * one).floor() as i64;
    let exact = cut * size as i64;
    ((exact * 256 + (1 << (bits - 1))) >> bits, exact >> bits)
}
