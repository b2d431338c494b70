use cuda_launch::*;
use cuda_launch::event::TimingEvent;

fn elapsed(start: &TimingEvent, end: &TimingEvent) -> Result<f32, Error> {
    start.elapsed_ms(end)
}
