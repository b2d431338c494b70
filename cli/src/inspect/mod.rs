//! `cuda-launch inspect FILE`.

mod json;
mod text;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::kernel_file::File;
use crate::output::{Json, Outcome};

#[derive(clap::Args)]
#[command(after_help = crate::failure::CODES)]
pub(crate) struct Arguments {
    /// A PTX, cubin or fatbin; or .cu, .ll, .bc, .ltoir
    file: PathBuf,
    /// Show only this kernel
    #[arg(long)]
    kernel: Option<String>,
}

/// Only the form that will be printed is built: for a large file, each takes many times its size.
pub(crate) fn run(arguments: &Arguments, json: bool) -> Result<Outcome, Failure> {
    let mut file = File::read(&arguments.file)?;
    if let Some(name) = &arguments.kernel {
        let name = file.kernel(name)?.name.clone();
        file.parts.iter_mut().for_each(|part| part.kernels.retain(|kernel| kernel.name == name));
    }
    Ok(match json {
        true => Outcome::new(String::new(), Json::Text(json::file(&file))),
        false => Outcome::new(text::file(&file), serde_json::Value::Null),
    })
}
