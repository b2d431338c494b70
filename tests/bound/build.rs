//! Writes what `cuda-launch bind` writes for every kernel image of the repository: the typed modules that `bound.rs` compiles. It
//! includes the files of the tool that do so, since a build script cannot run a program of the same workspace.

#![allow(dead_code, unreachable_pub)] // It uses a part of these files.

#[path = "../../cli/src/debug/mod.rs"]
mod debug;
#[path = "../../cli/src/image/mod.rs"]
mod image;
#[path = "../kernel_files/mod.rs"]
mod kernel_files;
#[path = "../../cli/src/model.rs"]
mod model;
#[path = "../../cli/src/bind/names.rs"]
mod names;
#[path = "../../cli/src/scalar.rs"]
mod scalar;
#[path = "../../cli/src/signature/mod.rs"]
mod signature;
#[path = "../../cli/src/bind/write.rs"]
mod write;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    kernel_files::FOLDERS.iter().for_each(|folder| println!("cargo::rerun-if-changed=../../{folder}"));
    ["debug", "image", "model.rs", "bind", "scalar.rs", "signature"]
        .iter()
        .for_each(|file| println!("cargo::rerun-if-changed=../../cli/src/{file}"));
    let (mut source, mut loads) = (String::new(), String::new());
    for path in kernel_files::all(&root) {
        let name = kernel_files::name(&path, &root);
        let module: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let (_, parts) = image::read(&fs::read(&path)?).map_err(|error| format!("{name}: {error}"))?;
        source += &write::module(&parts, &module, &format!("../../{name}"), "cuda_launch");
        loads += &format!("    ({name:?}, |context| {module}::load(context).map(drop)),\n");
    }
    source += "/// Every module, by its image: what loads it and looks up its kernels.\n";
    source += "pub type Load = fn(&cuda_launch::CudaContext) -> Result<(), cuda_launch::Error>;\n";
    source += &format!("pub const MODULES: &[(&str, Load)] = &[\n{loads}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("modules.rs"), source)?;
    Ok(())
}
