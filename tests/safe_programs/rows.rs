//! Steps with pitched memory.

#![deny(unsafe_code)]

use crate::change::{Change, HALF, Halves, assert_halves};
use crate::program::Program;
use cuda_launch::graph::InstantiateFlags;
use cuda_launch::memory::{CopySource, CopyTarget, PitchedBuffer, RowLayout};
use cuda_launch::{CaptureMode, CudaGraph, CudaStream, Error, LaunchConfig, cuda_module};

#[cuda_module("tests/kernels/handwritten/words.ptx")]
mod kernels {
    use cuda_launch::memory::PitchedBuffer;

    unsafe extern "C" {
        /// Ten times the image: a block for each row, a thread for each column.
        #[launch_contract(grid = (image.height() as u32, 1, 1), requires = (
            image.height() == out.height(), width as usize <= image.width(), width as usize <= out.width()
        ))]
        pub safe fn rows(image: &PitchedBuffer<u32>, out: &mut PitchedBuffer<u32>, width: u32);
    }
}

const CONFIG: LaunchConfig = LaunchConfig::new((2, 1, 1), (HALF as u32, 1, 1));
const PACKED: RowLayout = RowLayout::packed::<u32>(HALF, 2);

/// Two times two rows, each as long as half a buffer, and what they should hold.
pub(crate) struct Rows {
    kernels: kernels::Module,
    memory: [PitchedBuffer<u32>; 2],
    hold: [Halves; 2],
}

pub(crate) fn filled(stream: &CudaStream, value: u32) -> Result<PitchedBuffer<u32>, Error> {
    let mut rows = PitchedBuffer::uninit(stream, HALF, 2)?;
    rows.fill(stream, value)?;
    Ok(rows)
}

impl Program {
    /// The rows change, or a buffer by them; then they may be looked at.
    pub(crate) fn use_rows(&mut self) -> Result<(), Error> {
        let (stream, other, value) = (self.stream(), self.stream(), self.random.number());
        if self.rows.is_none() {
            let kernels = kernels::load(&self.ctx)?;
            let memory = [filled(&stream, value)?, filled(&other, value)?];
            self.rows = Some(Rows { kernels, memory, hold: [[value; 2]; 2] });
        }
        for _ in 0..2 {
            self.change_rows()?;
        }
        let (which, looks) = (self.random.below(2), self.random.one_in(2));
        if let Some(Rows { memory, hold, .. }) = self.rows.as_ref().filter(|_| looks) {
            assert_halves(&memory[which].to_host_vec(&other)?, hold[which], "rows");
        }
        Ok(())
    }

    fn change_rows(&mut self) -> Result<(), Error> {
        let (stream, index, half) =
            (self.stream(), self.random.below(self.buffers.len()), self.random.below(2));
        let (change, value, way) =
            (Change::random(&mut self.random), self.random.number(), self.random.below(8));
        let Self { rows: Some(rows), buffers, kernels, holds, ctx, .. } = self else { return Ok(()) };
        let Rows { kernels: row_kernels, memory, hold } = rows;
        memory.rotate_left(1);
        hold.rotate_left(1);
        let ([first, second], [first_holds, second_holds]) = (memory, hold);
        let mut seen = [0; 2 * HALF];
        let buffer = &mut buffers[index];
        let buffer_holds = &mut holds[buffer.id];
        match way {
            0 => {
                let source = buffer.memory.half(half);
                change.submit(kernels, &stream, &mut first.row_mut(half).unwrap(), &source)?;
                change.apply(&mut first_holds[half], buffer_holds[half]);
            }
            1 => {
                let source = first.row(half).unwrap();
                change.submit(kernels, &stream, &mut buffer.memory.half_mut(half), &source)?;
                change.apply(&mut buffer_holds[half], first_holds[half]);
            }
            2 => {
                first.fill(&stream, value)?;
                *first_holds = [value; 2];
            }
            3 => {
                row_kernels.rows(&stream, CONFIG, first, second, HALF as u32)?;
                *second_holds = first_holds.map(|x| x.wrapping_mul(10));
            }
            4 => {
                let source = buffer.memory.view();
                let (source, extent) = (CopySource::device(&source, PACKED), first.extent());
                stream.copy_region(&source, &mut first.as_target(), extent)?;
                *first_holds = *buffer_holds;
            }
            5 => {
                let (mut target, extent) = (buffer.memory.view_mut(), first.extent());
                let mut target = CopyTarget::device(&mut target, PACKED);
                stream.copy_region(&first.as_source(), &mut target, extent)?;
                *buffer_holds = *first_holds;
            }
            6 => {
                second.copy_to_host(&stream, &mut seen)?;
                assert_halves(&seen, *second_holds, "rows that were copied to the host");
                first.copy_from_host(&stream, &[value; 2 * HALF])?;
                *first_holds = [value; 2];
            }
            // A graph has them, and one of them ends before it does.
            _ => {
                let graph = CudaGraph::capture(ctx, CaptureMode::ThreadLocal, |stream| {
                    first.fill(stream, value)?;
                    row_kernels.rows(stream, CONFIG, first, second, HALF as u32)
                })?;
                let mut exec = graph.instantiate(InstantiateFlags::empty())?;
                exec.launch(&stream)?;
                *second_holds = [value.wrapping_mul(10); 2];
                *first = filled(&stream, value)?;
                *first_holds = [value; 2];
            }
        }
        Ok(())
    }
}
