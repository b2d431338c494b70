use cuda_launch::*;

fn attribute(event: &CudaEvent) -> Attribute<'_> {
    Attribute::launch_completion_event(event)
}
