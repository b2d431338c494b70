//! Steps with mipmapped arrays, whose levels are written one by one and read together, and with textures of pitched memory.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_all};
use crate::program::Program;
use crate::rows::filled;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, MipmappedArray, SurfaceObject, TextureDescriptor, TextureFlags, TextureObject,
};
use cuda_launch::{CaptureMode, CudaGraph, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_module};
use std::sync::Arc;
use std::thread;

#[cuda_module("tests/safe_programs/levels.ptx")]
mod kernels {
    use cuda_launch::texture::{SurfaceObject, TextureObject};

    unsafe extern "C" {
        /// out[i] = level i
        pub safe fn show_levels(texture: &TextureObject, out: &mut [u32]);
        /// The rows one after the other.
        pub safe fn show_rows(texture: &TextureObject, out: &mut [u32], width: u32);
        /// target = source + plus
        pub safe fn raise(source: &SurfaceObject, target: &mut SurfaceObject, plus: u32);
    }
}

const LEVELS: usize = 3;
const WIDTH: usize = 16;
const LINE: LaunchConfig = LaunchConfig::new((1, 1, 1), (LEVELS as u32, 1, 1));
const SQUARE: LaunchConfig = LaunchConfig::new((1, 1, 1), (WIDTH as u32, WIDTH as u32, 1));
const ROWS: LaunchConfig = LaunchConfig::new((2, 1, 1), (HALF as u32, 1, 1));

/// Levels that hold a number each, and a texture of all of them.
pub(crate) struct Levels {
    kernels: kernels::Module,
    memory: MipmappedArray<u32>,
    hold: [u32; LEVELS],
    texture: Arc<TextureObject>,
}

fn elements(level: usize) -> usize {
    (WIDTH >> level) * (WIDTH >> level)
}

fn texture_of(memory: &MipmappedArray<u32>) -> Result<Arc<TextureObject>, Error> {
    let all = TextureDescriptor::default()
        .flags(TextureFlags::NORMALIZED_COORDINATES)
        .mipmap_clamp([0.0, LEVELS as f32 - 1.0]);
    TextureObject::from_mipmap(memory, &all).map(Arc::new)
}

impl Levels {
    fn new(stream: &CudaStream, value: u32) -> Result<Self, Error> {
        let (ctx, shape) = (stream.context(), ArrayShape::D2 { width: WIDTH, height: WIDTH });
        let memory = MipmappedArray::new(ctx, shape, ArrayFlags::SURFACE, LEVELS as u32)?;
        let texture = texture_of(&memory)?;
        let levels = Self { kernels: kernels::load(ctx)?, memory, hold: [value; LEVELS], texture };
        (0..LEVELS).try_for_each(|level| levels.write(stream, level, value)).map(|()| levels)
    }

    fn write(&self, stream: &CudaStream, level: usize, value: u32) -> Result<(), Error> {
        self.memory.level(level as u32)?.copy_from_host(stream, &vec![value; elements(level)])
    }
}

impl Program {
    fn levels(&mut self) -> Result<&mut Levels, Error> {
        if self.levels.is_none() {
            let (stream, value) = (self.stream(), self.random.number());
            self.levels = Some(Levels::new(&stream, value)?);
        }
        Ok(self.levels.as_mut().unwrap())
    }

    /// A level is written, by the host or of another one, or read; or all of them are others, while these are still used.
    pub(crate) fn use_levels(&mut self) -> Result<(), Error> {
        let (stream, value, way) = (self.stream(), self.random.number(), self.random.below(8));
        let from = self.random.below(LEVELS);
        let to = (from + 1 + self.random.below(LEVELS - 1)) % LEVELS;
        let levels = self.levels()?;
        match way {
            0..3 => {
                levels.write(&stream, to, value)?;
                levels.hold[to] = value;
            }
            3..6 => {
                let surface = |level: usize| SurfaceObject::new(&levels.memory.level(level as u32)?);
                let (source, mut target) = (surface(from)?, surface(to)?);
                levels.kernels.raise(&stream, SQUARE, &source, &mut target, value)?;
                levels.hold[to] = levels.hold[from].wrapping_add(value);
            }
            6 => {
                let seen = levels.memory.level(from as u32)?.to_host_vec(&stream)?;
                assert_all(&seen, levels.hold[from], &format!("level {from}"));
            }
            _ => {
                let Levels { memory, texture, .. } = std::mem::replace(levels, Levels::new(&stream, value)?);
                drop(texture);
                memory.close()?;
            }
        }
        Ok(())
    }

    /// Two threads see all levels through a texture, and one of a graph may; the levels are written while they may still be at it.
    pub(crate) fn show_levels(&mut self) -> Result<(), Error> {
        let (streams, paces) = ([self.stream(), self.stream()], [(); 2].map(|()| self.random.pace()));
        let (in_graph, again) = (self.random.one_in(3), self.random.one_in(2));
        let Levels { kernels, memory, hold, texture } = self.levels()?;
        let expected = *hold;
        let mut seen: Vec<DeviceBuffer<u32>> = thread::scope(|scope| {
            let (kernels, texture) = (&*kernels, &*texture);
            let threads: Vec<_> = (streams.iter().zip(paces))
                .map(|(stream, pace)| {
                    scope.spawn(move || {
                        let mut out = DeviceBuffer::zeroed(stream, LEVELS)?;
                        pace.set(stream)?;
                        kernels.show_levels(stream, LINE, texture, &mut out).map(|()| out)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, Error>>()
        })?;
        if in_graph {
            let mut out = DeviceBuffer::zeroed(&streams[0], LEVELS)?;
            // It keeps a texture that nobody else has.
            let own = texture_of(memory)?;
            let graph = CudaGraph::capture(streams[0].context(), CaptureMode::ThreadLocal, |stream| {
                kernels.show_levels(stream, LINE, &own, &mut out)
            })?;
            drop(own);
            graph.instantiate(InstantiateFlags::empty())?.launch(&streams[1])?;
            seen.push(out);
        }
        if again {
            *texture = texture_of(memory)?;
        }
        self.use_levels()?;
        for out in &seen {
            assert_eq!(out.to_host_vec(&streams[0])?, expected, "what a texture showed of levels");
        }
        Ok(())
    }

    /// The texture keeps the rows. Launches with it come after the fill before them and before the fill after them, and so do those of a
    /// graph.
    pub(crate) fn texture_of_rows(&mut self) -> Result<(), Error> {
        let (fills, reads, value) = (self.stream(), self.stream(), self.random.number());
        let (in_graph, close) = (self.random.one_in(3), self.random.one_in(2));
        let kernels = self.levels()?.kernels.clone();
        let mut rows = filled(&fills, value)?;
        let texture = TextureObject::from_pitched(&rows, &TextureDescriptor::default())?;
        let mut outs = [DeviceBuffer::zeroed(&reads, 2 * HALF)?, DeviceBuffer::zeroed(&reads, 2 * HALF)?];
        for (round, out) in outs.iter_mut().enumerate() {
            rows.fill(&fills, value.wrapping_add(round as u32))?;
            if in_graph {
                let graph = CudaGraph::capture(reads.context(), CaptureMode::ThreadLocal, |stream| {
                    kernels.show_rows(stream, ROWS, &texture, out, HALF as u32)
                })?;
                graph.instantiate(InstantiateFlags::empty())?.launch(&reads)?;
            } else {
                kernels.show_rows(&reads, ROWS, &texture, out, HALF as u32)?;
            }
        }
        rows.fill(&fills, !value)?;
        if close {
            texture.close()?;
            rows.close()?;
        } else {
            drop((rows, texture));
        }
        for (round, out) in outs.iter().enumerate() {
            let expected = value.wrapping_add(round as u32);
            assert_all(&out.to_host_vec(&fills)?, expected, "what a texture of rows showed");
        }
        Ok(())
    }
}
