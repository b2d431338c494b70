//! Data-parallel steps: each rank has its own data and its own copy of the weights, and the gradients are summed over all ranks.
//!
//! The gradients of one layer are summed on a separate stream while those of the next layer are computed. Nothing here records or waits
//! for an event: the buffers know which stream used them last, and `submit_with` records NCCL's use.

#![allow(unsafe_code)] // Launches, and calls of NCCL, each with its duties.

use cuda_launch::foundation::submit_with;
use cuda_launch::{
    CudaContext, CudaFunction, CudaStream, DeviceBuffer, DeviceSlice, LaunchConfig, cuda_launch, kernel_args,
};

use crate::error::RankError;
use crate::launcher::Place;
use crate::nccl::Comm;

const LAYERS: usize = 4;
/// A power of two: then the numbers below are exact.
const RATE: f32 = 1.0 / 16.0;

/// `out = factor * in` and `y = alpha * x + y`
struct Kernels {
    scale: CudaFunction,
    saxpy: CudaFunction,
}

/// Weights that are drawn to this rank's targets.
struct Layer {
    weights: DeviceBuffer<f32>,
    targets: DeviceBuffer<f32>,
    gradient: DeviceBuffer<f32>,
}

/// This rank's part of the training.
pub(crate) struct Training<'a> {
    place: &'a Place,
    kernels: Kernels,
    compute: CudaStream,
    exchange: CudaStream,
    layers: Vec<Layer>,
}

fn target(rank: u32, layer: usize, index: usize) -> f32 {
    ((7 * index + 3 * layer + 5 * rank as usize) % 17) as f32 - 8.0
}

impl<'a> Training<'a> {
    /// Layers of so many weights, all zero.
    pub(crate) fn new(context: &CudaContext, place: &'a Place, elements: u32) -> Result<Self, RankError> {
        let load = |image: &str, name| context.load_module(image)?.load_function(name);
        let kernels = Kernels {
            scale: load(include_str!("../../kernels/scale.ptx"), "scale")?,
            saxpy: load(include_str!("../../kernels/saxpy.ptx"), "saxpy")?,
        };
        let (compute, exchange) = (context.new_stream()?, context.new_stream()?);
        let count = elements as usize;
        let layer = |layer| -> Result<Layer, RankError> {
            let targets: Vec<f32> = (0..count).map(|index| target(place.rank, layer, index)).collect();
            Ok(Layer {
                weights: DeviceBuffer::zeroed(&compute, count)?,
                targets: DeviceBuffer::from_host(&compute, &targets)?,
                gradient: DeviceBuffer::uninit(&compute, count)?,
            })
        };
        let layers = (0..LAYERS).map(layer).collect::<Result<_, _>>()?;
        Ok(Self { place, kernels, compute, exchange, layers })
    }

    /// One step: gradients, their sum over all ranks, new weights.
    pub(crate) fn step(&mut self, comm: &Comm<'_>) -> Result<(), RankError> {
        let Kernels { scale, saxpy } = &self.kernels;
        for Layer { weights, targets, gradient } in &mut self.layers {
            let count = gradient.len() as u32;
            let config = LaunchConfig::for_num_elems(count);
            // SAFETY: 1, 2: the kernel takes their number, a factor and two pointers to so many floats; 3, 4: they are
            // buffers, which the launch orders, and their end with them; 5, 6: it writes floats, and ends.
            unsafe {
                cuda_launch! {
                    function: scale, stream: self.compute, config: config,
                    args: [count, 1.0f32, ptr(weights), ptr_mut(gradient)]
                }
            }?;
            // SAFETY: 1 to 6: as above.
            unsafe {
                cuda_launch! {
                    function: saxpy, stream: self.compute, config: config,
                    args: [count, -1.0f32, ptr(targets), ptr_mut(gradient)]
                }
            }?;
            let address = *gradient.parts().address();
            // SAFETY: 1: `all_reduce` has submitted its work to this stream when it returns; 2: it reads and writes the gradient alone;
            // 3: it writes floats; 4: it ends, or is aborted.
            unsafe {
                submit_with(&self.exchange, kernel_args![ptr_mut(gradient)], |stream| {
                    // SAFETY: 1: `count` floats of the gradient, which `submit_with` has ordered, on this rank's
                    // device, whose context and stream these are; 2: all ranks run this program, which sums its layers
                    // in order; whoever starts them gives all of them the same `--elements` and `--steps`.
                    comm.all_reduce(address, count as usize, stream)
                })
            }?;
        }
        for Layer { weights, gradient, .. } in &mut self.layers {
            let count = gradient.len() as u32;
            // `ptr_mut`, as if it wrote the gradient: then no other stream has a use of it that the next step would wait for. That wait would
            // be for all that is on the stream by then, which is the sum of another layer.
            // SAFETY: 1 to 6: as above.
            unsafe {
                cuda_launch! {
                    function: saxpy, stream: self.compute, config: LaunchConfig::for_num_elems(count),
                    args: [count, -RATE, ptr_mut(gradient), ptr_mut(weights)]
                }
            }?;
        }
        comm.wait(&self.compute)
    }

    /// Compares the sums of the last of so many steps, and the weights, with what the host computes.
    pub(crate) fn check(&self, steps: u64) -> Result<(), RankError> {
        let world = self.place.world;
        for (layer, buffers) in self.layers.iter().enumerate() {
            let sums = buffers.gradient.to_host_vec(&self.compute)?;
            let weights = buffers.weights.to_host_vec(&self.compute)?;
            for (index, (sum, weight)) in sums.into_iter().zip(weights).enumerate() {
                let (wanted_sum, wanted_weight) = on_host(world, layer, index, steps);
                for (what, found, wanted) in [("sum", sum, wanted_sum), ("weight", weight, wanted_weight)] {
                    if (found - wanted).abs() > 1e-4 {
                        return Err(RankError::Wrong { what, layer, index, found, wanted });
                    }
                }
            }
        }
        Ok(())
    }
}

/// The sum of the gradients in the last step, and the weight after it.
fn on_host(world: u32, layer: usize, index: usize, steps: u64) -> (f32, f32) {
    let (mut sum, mut weight) = (0.0, 0.0f32);
    for _ in 0..steps {
        sum = (0..world).map(|rank| weight - target(rank, layer, index)).sum();
        weight = f32::mul_add(-RATE, sum, weight);
    }
    (sum, weight)
}
