// An attribute with an event keeps it borrowed.

use cuda_launch::*;

fn attribute<'a>(context: &CudaContext) -> Result<Attribute<'a>, Error> {
    let event = context.new_event()?;
    Ok(Attribute::launch_completion_event(&event))
}

fn main() {}
