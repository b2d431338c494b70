//! Steps with tensor maps: kernels load and store the tiles of a buffer through one, which keeps the memory as long as it lives.

#![deny(unsafe_code)]

use crate::change::{HALF, assert_halves};
use crate::kinds::Memory;
use crate::program::Program;
use cuda_launch::tensor::{TensorMap, TensorMapObject};
use cuda_launch::{DeviceBuffer, Error, LaunchConfig, cuda_module};
use std::thread;

#[cuda_module("tests/safe_programs/tiles.ptx")]
mod kernels {
    use cuda_launch::tensor::TensorMapObject;

    unsafe extern "C" {
        /// out = memory, a tile for each block.
        #[launch_contract(block = (200, 1, 1))]
        pub safe fn load_tiles(map: &TensorMapObject, out: &mut [u32], first: u32);
        /// memory = value, from the first tile on
        #[launch_contract(block = (200, 1, 1))]
        pub safe fn store_tiles(map: &mut TensorMapObject, value: u32, first: u32);
    }
}

/// Elements of a tile.
const TILE: u32 = 200;
/// Tiles of half a buffer.
const TILES: u32 = HALF as u32 / TILE;

/// The map of a buffer, which may be gone, and the buffer's id.
pub(crate) struct Tiles {
    kernels: kernels::Module,
    map: TensorMapObject,
    id: usize,
}

const fn tiles(count: u32) -> LaunchConfig {
    LaunchConfig::new((count, 1, 1), (TILE, 1, 1))
}

impl Program {
    /// A map of one of the buffers. None where the device is older than tensor maps, or no buffer can have one.
    fn tiles(&mut self) -> Result<Option<&mut Tiles>, Error> {
        if self.tiles.is_none() || self.random.one_in(4) {
            let device = |place: &usize| matches!(self.buffers[*place].memory, Memory::Device(_));
            let places: Vec<_> = (0..self.buffers.len()).filter(device).collect();
            if places.is_empty() {
                return Ok(self.tiles.as_mut());
            }
            let buffer = &self.buffers[places[self.random.below(places.len())]];
            let Memory::Device(memory) = &buffer.memory else { return Ok(None) };
            let map = match TensorMap::tiled([2 * HALF as u64], [TILE]).encode_object(memory) {
                Err(error) if error.is_unsupported() => return Ok(None),
                map => map?,
            };
            // Whoever let go of the old one may have been the last to have its memory, while it is used.
            self.tiles = Some(Tiles { kernels: kernels::load(&self.ctx)?, map, id: buffer.id });
        }
        Ok(self.tiles.as_mut())
    }

    /// Half of the memory is stored to through the map, or all of it loaded into another buffer.
    pub(crate) fn use_tiles(&mut self) -> Result<(), Error> {
        let (stream, value, half) = (self.stream(), self.random.number(), self.random.below(2));
        let (store, place) = (self.random.one_in(2), self.random.below(self.buffers.len()));
        if self.tiles()?.is_none() {
            return Ok(());
        }
        let Self { tiles: Some(Tiles { kernels, map, id }), buffers, holds, .. } = self else {
            return Ok(());
        };
        if store {
            kernels.store_tiles(&stream, tiles(TILES), map, value, half as u32 * TILES)?;
            holds[*id][half] = value;
            return Ok(());
        }
        let target = &mut buffers[place];
        let loaded = kernels.load_tiles(&stream, tiles(2 * TILES), map, &mut target.memory.view_mut(), 0);
        if target.id == *id {
            assert!(
                loaded.is_err_and(|error| error.is_launch_refused()),
                "a map is read and its memory written"
            );
            return Ok(());
        }
        loaded?;
        holds[target.id] = holds[*id];
        Ok(())
    }

    /// Two threads load, and then the memory is stored to, while they may still be at it.
    pub(crate) fn load_on_threads(&mut self) -> Result<(), Error> {
        let (streams, paces) = ([self.stream(), self.stream()], [(); 2].map(|()| self.random.pace()));
        let (value, half, last) = (self.random.number(), self.random.below(2), self.stream());
        let Some(Tiles { kernels, map, id }) = self.tiles()? else { return Ok(()) };
        let loaded: Vec<DeviceBuffer<u32>> = thread::scope(|scope| {
            let (kernels, map) = (&*kernels, &*map);
            let threads: Vec<_> = (streams.iter().zip(paces))
                .map(|(stream, pace)| {
                    scope.spawn(move || {
                        let mut out = DeviceBuffer::zeroed(stream, 2 * HALF)?;
                        pace.set(stream)?;
                        kernels.load_tiles(stream, tiles(2 * TILES), map, &mut out, 0).map(|()| out)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, Error>>()
        })?;
        kernels.store_tiles(&last, tiles(TILES), map, value, half as u32 * TILES)?;
        let id = *id;
        let expected = self.holds[id];
        self.holds[id][half] = value;
        loaded.iter().try_for_each(|out| {
            assert_halves(&out.to_host_vec(&last)?, expected, "tiles that were loaded");
            Ok(())
        })
    }
}
