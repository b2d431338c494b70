// An event that keeps no time.

use cuda_launch::*;

fn elapsed(context: &CudaContext, stream: &CudaStream) -> Result<f32, Error> {
    let (start, end) = (context.new_event()?, context.new_event()?);
    //~ let (start, end) = (context.new_timing_event()?, context.new_timing_event()?);
    start.record(stream)?;
    end.record(stream)?;
    start.elapsed_ms(&end)
}

fn main() {}
