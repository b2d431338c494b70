// An attribute with an event keeps it borrowed.

use cuda_launch::*;

// An attribute with an event keeps it borrowed.
fn outlives_event<'a>(context: &CudaContext) -> Result<Attribute<'a>, Error> {
//~ fn outlives_event(event: &CudaEvent) -> Result<Attribute<'_>, Error> {
    let event = context.new_event()?;
    //~
    Ok(Attribute::launch_completion_event(&event))
    //~ Ok(Attribute::launch_completion_event(event))
}

// Also in a launch.
fn after_event(module: &CudaModule, stream: &CudaStream, event: CudaEvent) -> Result<(), Error> {
    let attributes = vec![Attribute::programmatic_event(&event, true)];
    drop(event);
    //~
    // SAFETY: compiled, never run.
    unsafe {
        cuda_launch! {
            kernel: k,
            module: module,
            stream: stream,
            config: LaunchConfig::for_num_elems(100),
            args: [],
            attributes: attributes,
        }
    }
}

fn main() {}
