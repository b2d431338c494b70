//! Errors that are reported together.

use syn::{Error, Result};

#[derive(Default)]
pub(crate) struct Problems(Option<Error>);

impl Problems {
    pub(crate) fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
        None
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
