//! `cuda-launch bind FILE`: the typed module for a kernel file.

mod names;
mod write;

use serde_json::json;
use std::path::PathBuf;

use crate::failure::Failure;
use crate::files;
use crate::kernel_file::File;
use crate::output::Outcome;

#[derive(clap::Args)]
#[command(after_help = crate::failure::CODES)]
pub(crate) struct Arguments {
    /// A PTX, cubin or fatbin; or .cu, .ll, .bc, .ltoir
    file: PathBuf,
    /// The path to write into the source, relative to the program's Cargo.toml [default: FILE]
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Name of the module [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    module: Option<String>,
    /// Path of the crate cuda_launch in the program
    #[arg(long = "crate", value_name = "PATH", default_value = "cuda_launch", value_parser = rust_path)]
    krate: String,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let file = File::read(&arguments.file)?;
    let stem = arguments.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let module = names::snake(arguments.module.as_deref().unwrap_or(&stem));
    let path = arguments.path.as_deref().or(arguments.file.to_str()).ok_or_else(|| {
        let file = arguments.file.display();
        Failure::usage(format!(
            "{file}: the path is not UTF-8, so no source can name it\n  help: rename the file, or give --path"
        ))
    })?;
    if let Some(output) = &arguments.output {
        files::keep(&arguments.file, output, "the kernel file")?;
    }
    let source = write::module(&file.parts, &module, path, &arguments.krate);
    let mut json =
        json!({ "schema": "cuda-launch.bind.1", "module": module, "source": source, "output": null });
    let Some(output) = &arguments.output else { return Ok(Outcome::new(source, json)) };
    files::write(output, source.as_bytes())?;
    json["output"] = output.display().to_string().into();
    Ok(Outcome::new(format!("wrote {}\n", output.display()), json))
}

/// A path in Rust, such as `my_crate::cuda`, for an option.
fn rust_path(text: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    match text.strip_prefix("::").unwrap_or(text).split("::").all(is_name) {
        true => Ok(text.to_owned()),
        false => Err("it should be a path in Rust, such as my_crate::cuda_launch".to_owned()),
    }
}
