//! Reading a texture.

use super::texel::Value;
use super::{Image, Texture, Wrap};
use crate::memory::{BadRange, Memory};

/// How many coordinates a texture instruction has, and whether there are layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// 1, 2 or 3.
    pub dimensions: usize,
    /// The first coordinate is the number of a layer.
    pub layered: bool,
}

/// Where a texture is read.
#[derive(Clone, Copy, Debug)]
pub enum Coordinates {
    /// Elements, or fractions of the size.
    Float([f32; 3]),
    /// Elements, counted.
    Integer([i32; 3]),
}

/// Coordinates are weighed with 8 bits of fraction.
const FRACTION: f32 = 256.0;

impl Texture {
    /// Reads at `coordinates` of layer `layer`, at a mipmap level.
    pub fn sample(
        &self,
        memory: &Memory,
        shape: Shape,
        coordinates: Coordinates,
        layer: u32,
        level: f32,
    ) -> Result<Value, BadRange> {
        let [lowest, highest] = self.level_range;
        let last = self.levels.len().saturating_sub(1) as f32;
        let level = (level + self.bias).max(lowest).min(highest.max(lowest)).clamp(0.0, last);
        let read = |level: f32| -> Result<Value, BadRange> {
            let Some(image) = self.levels.get(level as usize) else { return Ok(Value::Float([0.0; 4])) };
            self.read(memory, image, shape, coordinates, layer)
        };
        if self.mix_levels && level.fract() != 0.0 {
            let (low, high) = (read(level.floor())?.floats(), read(level.ceil())?.floats());
            let weight = (level.fract() * FRACTION).round() / FRACTION;
            return Ok(mix(low, high, weight));
        }
        // Half way counts up.
        read((level + 0.5).floor().min(last))
    }

    fn read(
        &self,
        memory: &Memory,
        image: &Image,
        shape: Shape,
        coordinates: Coordinates,
        layer: u32,
    ) -> Result<Value, BadRange> {
        let size = |dimension: usize| match dimension {
            dimension if dimension >= shape.dimensions => 1,
            dimension => image.size.get(dimension).copied().unwrap_or(1),
        };
        let layers = image.size[2].max(1);
        let layer = shape.layered.then_some((layer as usize).min(layers - 1));
        let sizes = [size(0), size(1), size(2)];
        let at = match coordinates {
            Coordinates::Integer(at) => return self.element(memory, image, sizes, at.map(i64::from), layer),
            Coordinates::Float(at) => at,
        };
        let mut place = [0.0; 3];
        for (dimension, place) in place.iter_mut().enumerate().take(shape.dimensions) {
            *place = if self.normalized { at[dimension] * sizes[dimension] as f32 } else { at[dimension] };
        }
        if self.linear && !image.texel.channel.is_integer(self.integer) {
            return self.mixed(memory, image, sizes, place, layer, shape.dimensions);
        }
        self.element(memory, image, sizes, place.map(|x| x.floor() as i64), layer)
    }

    /// The mean of the elements around, weighted by distance.
    fn mixed(
        &self,
        memory: &Memory,
        image: &Image,
        sizes: [usize; 3],
        place: [f32; 3],
        layer: Option<usize>,
        dimensions: usize,
    ) -> Result<Value, BadRange> {
        let shifted = place.map(|x| x - 0.5);
        let weight = shifted.map(|x| ((x - x.floor()) * FRACTION).round() / FRACTION);
        let mut sum = [0.0_f32; 4];
        for corner in 0..1_usize << dimensions {
            let (mut at, mut share) = ([0_i64; 3], 1.0);
            for dimension in 0..dimensions {
                let far = corner >> dimension & 1;
                at[dimension] = shifted[dimension].floor() as i64 + far as i64;
                share *= if far == 1 { weight[dimension] } else { 1.0 - weight[dimension] };
            }
            if share != 0.0 {
                let value = self.element(memory, image, sizes, at, layer)?.floats();
                sum.iter_mut().zip(value).for_each(|(sum, value)| *sum += share * value);
            }
        }
        Ok(Value::Float(sum))
    }

    /// One element; coordinates outside are taken as the address modes say.
    fn element(
        &self,
        memory: &Memory,
        image: &Image,
        sizes: [usize; 3],
        at: [i64; 3],
        layer: Option<usize>,
    ) -> Result<Value, BadRange> {
        let mut place = [0; 3];
        for (dimension, place) in place.iter_mut().enumerate() {
            match self.index(dimension, at[dimension], sizes[dimension]) {
                Some(index) => *place = index,
                None => return Ok(self.outside(image)),
            }
        }
        if let Some(layer) = layer {
            place[2] = layer;
        }
        let mut bytes = [0; 16];
        let bytes = bytes.get_mut(..image.texel.bytes()).unwrap_or_default();
        memory.read(image.place(place), bytes)?;
        Ok(image.texel.decode(bytes, self.integer, self.srgb))
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

    fn outside(&self, image: &Image) -> Value {
        match image.texel.channel.is_integer(self.integer) {
            true => Value::Integer([0; 4]),
            false if self.memory => Value::Float([0.0; 4]),
            false => Value::Float(self.border),
        }
    }
}

fn mix(low: [f32; 4], high: [f32; 4], weight: f32) -> Value {
    Value::Float([0, 1, 2, 3].map(|i| low[i] * (1.0 - weight) + high[i] * weight))
}
