//! Steps with DLPack tensors: buffers that go there and come back.

#![deny(unsafe_code)]

use crate::change::HALF;
use crate::program::Program;
use cuda_launch::Error;
use std::thread;

impl Program {
    /// The memory comes back with what it is still used for, perhaps from another thread; or it ends as a tensor.
    pub(crate) fn use_tensor(&mut self) -> Result<(), Error> {
        let (stream, other) = (self.stream(), self.stream());
        let (mut memory, id) = self.take_device_buffer()?;
        if self.random.one_in(2) {
            let value = self.random.number();
            memory.fill(&other, value)?;
            self.holds[id] = [value; 2];
        }
        let tensor = memory.into_dlpack(&stream, &[2, HALF])?;
        let ctx = self.ctx.clone();
        let memory = match self.random.below(4) {
            0 => {
                drop(tensor);
                return self.add_buffer();
            }
            1 => thread::spawn(move || tensor.into_buffer(&ctx)).join().unwrap()?,
            _ => tensor.into_buffer(&ctx)?,
        };
        self.put_back(memory, id);
        Ok(())
    }
}
