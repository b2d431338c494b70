use cuda_launch::*;

fn elapsed(start: &TimingEvent, end: &TimingEvent) -> Result<f32, Error> {
    start.elapsed_ms(end)
}
