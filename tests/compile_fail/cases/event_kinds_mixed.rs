// An event that keeps time, and one that does not, are two types.

use cuda_launch::*;

// A launch cannot record an event that keeps time.
mod attribute_timing_event {
    use super::*;
    use cuda_launch::event::TimingEvent;

    fn attribute(event: &TimingEvent) -> Attribute<'_> {
    //~ fn attribute(event: &CudaEvent) -> Attribute<'_> {
        Attribute::launch_completion_event(event)
    }
}

// There is no time between an event that keeps it and one that does not.
mod elapsed_end_untimed {
    use super::*;
    use cuda_launch::event::TimingEvent;

    fn elapsed(start: &TimingEvent, end: &CudaEvent) -> Result<f32, Error> {
    //~ fn elapsed(start: &TimingEvent, end: &TimingEvent) -> Result<f32, Error> {
        start.elapsed_ms(end)
    }
}

fn main() {}
