use cuda_launch::*;

fn attribute(event: &CudaEvent) -> Result<Attribute<'_>, Error> {
    Ok(Attribute::launch_completion_event(event))
}
