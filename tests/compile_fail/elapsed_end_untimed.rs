// There is no time between an event that keeps it and one that does not.

use cuda_launch::*;
use cuda_launch::event::TimingEvent;

fn elapsed(start: &TimingEvent, end: &CudaEvent) -> Result<f32, Error> {
    start.elapsed_ms(end)
}

fn main() {}
