//! Grid and block: as given, or as the kernel and its memory suggest.

use cuda_launch::LaunchConfig;
use std::str::FromStr;

use super::Arguments;
use super::data::Input;
use crate::failure::Failure;
use crate::model::Kernel;

/// Three dimensions: `4`, `4,2`, `4x2x1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape(pub(crate) [u32; 3]);

impl FromStr for Shape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut shape = [1; 3];
        let parts: Vec<&str> = text.split([',', 'x']).collect();
        if parts.len() > 3 {
            return Err("at most three dimensions: X, X,Y or X,Y,Z".into());
        }
        for (axis, part) in shape.iter_mut().zip(parts) {
            *axis = dimension(part.trim(), text)?;
        }
        Ok(Self(shape))
    }
}

/// One number of a shape.
fn dimension(part: &str, whole: &str) -> Result<u32, String> {
    let wrong = |what: &str| Err(format!("{what}: give X, X,Y or X,Y,Z"));
    match part.parse() {
        Ok(number) => Ok(number),
        Err(_) if part.is_empty() => wrong(&format!("a number is missing in `{whole}`")),
        Err(_) if part.bytes().all(|digit| digit.is_ascii_digit()) => {
            wrong(&format!("`{part}` is more than {}", u32::MAX))
        }
        Err(_) if part.starts_with('-') => wrong(&format!("`{part}` is less than 0")),
        Err(_) => wrong(&format!("`{part}` is not a number")),
    }
}

impl Shape {
    pub(crate) fn tuple(self) -> (u32, u32, u32) {
        let [x, y, z] = self.0;
        (x, y, z)
    }
}

/// Without `--block`, the block that the kernel requires or 256 threads; without `--grid`, a thread for each element of the
/// longest memory.
pub(super) fn config(
    arguments: &Arguments,
    kernel: &Kernel,
    inputs: &[Input<'_>],
) -> Result<LaunchConfig, Failure> {
    let most = kernel.max_threads.map_or(u32::MAX, |n| n.iter().fold(1u32, |a, b| a.saturating_mul(*b)));
    let usual = kernel.required_threads.unwrap_or([LaunchConfig::DEFAULT_BLOCK.min(most.max(1)), 1, 1]);
    let block = arguments.block.unwrap_or(Shape(usual));
    let elements = inputs.iter().filter_map(Input::elements).max().unwrap_or(1);
    let grid = match arguments.grid {
        Some(grid) => grid,
        None => {
            let width = u64::from(block.0[0].max(1));
            let blocks = u32::try_from((elements as u64).div_ceil(width))
                .map_err(|_| Failure::usage("one thread per element makes too many blocks: give --grid"))?;
            Shape([blocks.max(1), 1, 1])
        }
    };
    let shared_mem_bytes = arguments.shared;
    Ok(LaunchConfig::new(grid.tuple(), block.tuple()).with_shared(shared_mem_bytes))
}
