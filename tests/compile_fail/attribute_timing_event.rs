// A launch cannot record an event that keeps time.

use cuda_launch::*;
use cuda_launch::event::TimingEvent;

fn attribute(event: &TimingEvent) -> Attribute<'_> {
    Attribute::launch_completion_event(event)
}

fn main() {}
