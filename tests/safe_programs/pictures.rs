//! Steps with textures and surfaces, as arguments of kernels in a typed module.

#![deny(unsafe_code)]

use crate::change::assert_all;
use crate::pause::Pace;
use crate::program::Program;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::operation::DeviceOperation;
use cuda_launch::texture::{
    ArrayFlags, ArrayShape, CudaArray, SurfaceObject, TextureDescriptor, TextureObject,
};
use cuda_launch::{CaptureMode, CudaGraph, CudaStream, DeviceBuffer, Error, LaunchConfig, cuda_module};
use std::sync::Arc;
use std::thread;

#[cuda_module("tests/kernels/objects.ptx")]
mod kernels {
    use cuda_launch::texture::{SurfaceObject, TextureObject};

    unsafe extern "C" {
        /// Reads one element of the texture for each of the slice.
        pub safe fn sample(texture: &TextureObject, out: &mut [f32]);
        /// The same of a texture of a buffer.
        pub safe fn fetch(texture: &TextureObject, out: &mut [f32]);
        /// target[i] = source[i] + 1
        pub safe fn add_one(source: &SurfaceObject, target: &mut SurfaceObject);
    }
}

const WIDTH: usize = 200;
const LINE: LaunchConfig = LaunchConfig::new((1, 1, 1), (WIDTH as u32, 1, 1));

/// Arrays, and what they should hold.
pub(crate) struct Pictures {
    kernels: kernels::Module,
    picture: CudaArray<f32>,
    picture_holds: f32,
    texture: Arc<TextureObject>,
    cells: [CudaArray<u32>; 3],
    cells_hold: [u32; 3],
    surfaces: [SurfaceObject; 3],
}

fn texture(picture: &CudaArray<f32>) -> Result<Arc<TextureObject>, Error> {
    TextureObject::from_array(picture, &TextureDescriptor::default()).map(Arc::new)
}

impl Pictures {
    pub(crate) fn new(stream: &CudaStream) -> Self {
        let (ctx, shape) = (stream.context(), ArrayShape::D1 { width: WIDTH });
        let picture = CudaArray::new(ctx, shape, ArrayFlags::empty()).unwrap();
        picture.copy_from_host(stream, &[1.0; WIDTH]).unwrap();
        let cells = [(); 3].map(|()| CudaArray::new(ctx, shape, ArrayFlags::SURFACE).unwrap());
        cells.iter().for_each(|cells| cells.copy_from_host(stream, &[1; WIDTH]).unwrap());
        Self {
            kernels: kernels::load(ctx).unwrap(),
            texture: texture(&picture).unwrap(),
            picture,
            picture_holds: 1.0,
            surfaces: cells.each_ref().map(|cells| SurfaceObject::new(cells).unwrap()),
            cells,
            cells_hold: [1; 3],
        }
    }

    fn check_cells(&self, stream: &CudaStream) -> Result<(), Error> {
        for (index, (cells, holds)) in self.cells.iter().zip(self.cells_hold).enumerate() {
            assert_all(&cells.to_host_vec(stream)?, holds, &format!("the array of surface {index}"));
        }
        Ok(())
    }
}

impl Program {
    /// A whole number that a float holds.
    fn float(&mut self) -> f32 {
        self.random.below(1 << 20) as f32
    }

    pub(crate) fn write_picture(&mut self) -> Result<(), Error> {
        let (stream, value, cell) = (self.stream(), self.float(), self.random.below(3));
        self.pictures.picture.copy_from_host(&stream, &[value; WIDTH])?;
        self.pictures.picture_holds = value;
        self.pictures.cells[cell].copy_from_host(&stream, &[value as u32; WIDTH])?;
        self.pictures.cells_hold[cell] = value as u32;
        Ok(())
    }

    /// Two threads sample it, the array is written, and the texture may be replaced, while they may still be at it.
    pub(crate) fn read_picture(&mut self) -> Result<(), Error> {
        let streams = [self.stream(), self.stream()];
        let paces = [(); 2].map(|()| self.random.pace());
        let Pictures { kernels, texture, .. } = &self.pictures;
        let samples: Vec<DeviceBuffer<f32>> = thread::scope(|scope| {
            let threads: Vec<_> = streams
                .iter()
                .zip(paces)
                .map(|(stream, pace)| {
                    scope.spawn(move || {
                        let mut out = DeviceBuffer::zeroed(stream, WIDTH)?;
                        pace.set(stream)?;
                        kernels.sample(stream, LINE, texture, &mut out).map(|()| out)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Result<_, Error>>()
        })?;
        let expected = self.pictures.picture_holds;
        self.write_picture()?;
        if self.random.one_in(2) {
            self.pictures.texture = self::texture(&self.pictures.picture)?;
        }
        samples.iter().try_for_each(|out| {
            assert_all(&out.to_host_vec(&self.streams[0])?, expected, "what a texture showed");
            Ok(())
        })
    }

    /// The texture keeps the buffer, and a launch with it comes after the fill before it and before the fill after it.
    pub(crate) fn linear_texture(&mut self) -> Result<(), Error> {
        let (fills, reads, value) = (self.stream(), self.stream(), self.float());
        let mut buffer = DeviceBuffer::<f32>::zeroed(&fills, WIDTH)?;
        let texture = TextureObject::from_linear(&buffer, &TextureDescriptor::default())?;
        let mut outs = [DeviceBuffer::zeroed(&reads, WIDTH)?, DeviceBuffer::zeroed(&reads, WIDTH)?];
        for (round, out) in outs.iter_mut().enumerate() {
            buffer.fill(&fills, value + round as f32)?;
            self.pictures.kernels.fetch(&reads, LINE, &texture, out)?;
        }
        buffer.fill(&fills, -1.0)?;
        drop((buffer, texture));
        for (round, out) in outs.iter().enumerate() {
            assert_all(&out.to_host_vec(&fills)?, value + round as f32, "what a texture of a buffer showed");
        }
        Ok(())
    }

    /// Two threads read one surface and write to another each.
    pub(crate) fn add_through_surfaces(&mut self) -> Result<(), Error> {
        let streams = [self.stream(), self.stream()];
        let paces = [(); 2].map(|()| self.random.pace());
        self.pictures.surfaces.rotate_left(1);
        self.pictures.cells.rotate_left(1);
        self.pictures.cells_hold.rotate_left(1);
        let Pictures { kernels, surfaces: [source, left, right], .. } = &mut self.pictures;
        let (kernels, source) = (&*kernels, &*source);
        thread::scope(|scope| {
            let add = |stream, pace: Pace, target| {
                scope.spawn(move || {
                    pace.set(stream)?;
                    kernels.add_one(stream, LINE, source, target)
                })
            };
            let threads = [add(&streams[0], paces[0], left), add(&streams[1], paces[1], right)];
            threads.into_iter().try_for_each(|thread| thread.join().unwrap())
        })?;
        let [source, targets @ ..] = &mut self.pictures.cells_hold;
        *targets = [*source + 1; 2];
        // Another surface of the array that is read: refused, and nothing changes.
        let mut same = SurfaceObject::new(&self.pictures.cells[0])?;
        let refused = self.pictures.kernels.add_one(&streams[0], LINE, &self.pictures.surfaces[0], &mut same);
        assert!(refused.is_err_and(|error| error.is_launch_refused()), "a surface is read and written");
        let stream = self.stream();
        self.pictures.check_cells(&stream)
    }

    /// It keeps what everybody else has dropped.
    pub(crate) fn graph_of_objects(&mut self) -> Result<(), Error> {
        let stream = self.stream();
        let mut out = DeviceBuffer::<f32>::zeroed(&stream, WIDTH)?;
        let Pictures { kernels, picture, cells: [from, to, _], .. } = &self.pictures;
        let (picture, source, mut target) =
            (texture(picture)?, SurfaceObject::new(from)?, SurfaceObject::new(to)?);
        let graph = CudaGraph::capture(&self.ctx, CaptureMode::ThreadLocal, |stream| {
            kernels.sample(stream, LINE, &picture, &mut out)?;
            kernels.add_one(stream, LINE, &source, &mut target)
        })?;
        let mut exec = graph.instantiate(InstantiateFlags::empty())?;
        drop((graph, picture, source, target));
        exec.launch(&stream)?;
        let expected = self.pictures.picture_holds;
        self.pictures.cells_hold[1] = self.pictures.cells_hold[0] + 1;
        if self.random.one_in(2) {
            self.write_picture()?;
        }
        let other = self.stream();
        assert_all(&out.to_host_vec(&other)?, expected, "what a graph's texture showed");
        self.pictures.check_cells(&other)
    }

    /// An array, a texture and surfaces that are closed, one after the other, while a launch with them may still be at it. Their handles may
    /// have been looked at.
    pub(crate) fn close_objects(&mut self) -> Result<(), Error> {
        let (stream, other, value) = (self.stream(), self.stream(), self.float());
        let [looks, as_work, reads] = [3, 2, 2].map(|n| self.random.one_in(n));
        let (pace, (does, is_late)) = (self.random.pace(), self.told_late());
        let Pictures { kernels, cells: [from, to, _], .. } = &self.pictures;
        let picture = CudaArray::new(&self.ctx, ArrayShape::D1 { width: WIDTH }, ArrayFlags::empty())?;
        picture.copy_from_host(&other, &[value; WIDTH])?;
        let texture = TextureObject::from_array(&picture, &TextureDescriptor::default())?;
        let (source, mut target) = (SurfaceObject::new(from)?, SurfaceObject::new(to)?);
        let mut out = DeviceBuffer::<f32>::zeroed(&stream, WIDTH)?;
        if looks {
            let _ = (texture.handle(), target.handle());
        }
        if as_work {
            // As launches do that know the handles alone: what comes after them waits for what the stream was given.
            other.call_host(does)?;
            if reads {
                texture.read_on(&other)?;
                picture.copy_from_host(&stream, &[value; WIDTH])?;
            } else {
                target.write_on(&other)?;
                to.copy_to_host(&stream, &mut [0; WIDTH])?;
            }
            is_late();
        }
        pace.set(&stream)?;
        kernels.sample(&stream, LINE, &texture, &mut out)?;
        kernels.add_one(&stream, LINE, &source, &mut target)?;
        target.close()?;
        texture.close()?;
        source.close()?;
        picture.close()?;
        self.pictures.cells_hold[1] = self.pictures.cells_hold[0] + 1;
        assert_all(&out.to_host_vec(&other)?, value, "what a texture showed that was closed");
        self.pictures.check_cells(&other)
    }

    pub(crate) fn operation_of_objects(&mut self) -> Result<(), Error> {
        let stream = self.stream();
        let Pictures { kernels, cells: [from, _, to], texture, .. } = &self.pictures;
        let out = DeviceBuffer::<f32>::zeroed(&stream, WIDTH)?;
        let (source, target) = (SurfaceObject::new(from)?, SurfaceObject::new(to)?);
        let op = kernels.sample_async_owned(LINE, texture.clone(), out)?;
        let next = kernels.add_one_async_owned(LINE, source, target)?;
        // What they give, and with it the surfaces, is dropped while they may still be at it.
        let ((_, out), _event) = op.and_then(|given| next.map(|_| given)).submit_on(&stream)?;
        let expected = self.pictures.picture_holds;
        self.pictures.cells_hold[2] = self.pictures.cells_hold[0] + 1;
        self.write_picture()?;
        let other = self.stream();
        assert_all(&out.to_host_vec(&other)?, expected, "what an operation's texture showed");
        self.pictures.check_cells(&other)
    }
}
