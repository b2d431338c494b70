//! `#[cuda_module]`: reads the images that it names, compares them with the `extern` block, and writes the typed module.
//!
//! | file | part |
//! |---|---|
//! | `arguments` | the attribute's own arguments: paths of images, `crate = ..` |
//! | `parse`, `parameter`, `entry`, `options`, `contract`, `names` | the module as it was written |
//! | `image` | the kernels and variables of an image |
//! | `source` | files that are compiled when the module is loaded, and the headers beside them |
//! | `check`, `bounds`, `variable`, `describe` | the comparison of declarations with images, and the wording of differences |
//! | `spans` | the positions at which errors point |
//! | `expand`, `method`, `asynchronous`, `element` | the code: `load`, `Module`, the methods of each kernel |

mod arguments;
mod asynchronous;
mod bounds;
mod check;
mod contract;
mod describe;
mod element;
mod entry;
mod expand;
mod image;
mod method;
mod names;
mod options;
mod parameter;
mod parse;
mod source;
mod spans;
#[cfg(test)]
mod tests;
mod variable;

use proc_macro2::TokenStream;
use std::path::{Path, PathBuf};
use syn::Error;

use arguments::{Arguments, ImagePath};
use check::Known;
use parse::Module;

/// The module, with an error in it for everything that does not fit.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let (module, wrong) = match Module::parse(item) {
        Ok(parsed) => parsed,
        Err(error) => return error.into_compile_error(),
    };
    let (mut problems, mut known, mut found) = (Vec::new(), Vec::new(), Vec::new());
    problems.extend(wrong.finish().err());
    // The module is generated even if something is wrong, so that its users and editors find everything that could be
    // understood.
    let arguments = syn::parse2::<Arguments>(arguments).unwrap_or_else(|error| {
        problems.push(error);
        Arguments::default()
    });
    for path in &arguments.images {
        match read(path) {
            Ok(image) => {
                known.push(image);
                found.push(path);
            }
            Err(error) => problems.push(error),
        }
    }
    expand::module(&module, &arguments.crate_path, &found, &known, problems)
}

fn read(path: &ImagePath) -> Result<Known, Error> {
    let known = image::facts(&path.full).and_then(|facts| {
        let is_cuda = facts.source == Some(source::Source::Cuda);
        let headers = if is_cuda { source::headers(&path.full)? } else { source::Headers::new() };
        Ok(Known { shown: path.shown.clone(), facts, headers })
    });
    match known {
        Ok(known) => Ok(known),
        Err(message) => {
            let help = if path.full.exists() { String::new() } else { missing(path) };
            Err(Error::new(path.span, format!("{}: {message}{help}", path.shown)))
        }
    }
}

/// The advice for a missing file.
fn missing(path: &ImagePath) -> String {
    let files = path.full.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let files = files.into_iter().flatten().flatten().map(|entry| entry.path());
    let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let alike: Vec<PathBuf> = files.filter(|file| file.extension() == path.full.extension()).collect();
    let stems: Vec<String> = alike.iter().map(|file| stem(file)).collect();
    let nearest = cuda_ptx::nearest(&stem(&path.full), &stems.iter().map(String::as_str).collect::<Vec<_>>());
    let found = alike.iter().find(|file| nearest.first().is_some_and(|nearest| *nearest == stem(file)));
    let name = found.and_then(|file| file.file_name()).map(|name| name.to_string_lossy());
    let near = name.map_or(String::new(), |name| format!("\nhelp: beside it is `{name}`"));
    format!("\nhelp: paths are relative to the folder of Cargo.toml{near}")
}
