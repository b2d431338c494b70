//! `#[cuda_module]`: reads the images that it names, compares them with the `extern` block, and writes the typed module.
//!
//! | file | part |
//! |---|---|
//! | `arguments` | the attribute's own arguments: paths of images, `crate = ..` |
//! | `parse`, `parameter`, `entry`, `options`, `contract` | the module as it was written |
//! | `image` | what an image says of its kernels and variables |
//! | `check`, `bounds`, `variable`, `describe` | one against the other, and the words for what differs |
//! | `spans` | where errors point |
//! | `expand`, `method`, `element` | the code: `load`, `Module`, one method for each kernel |

mod arguments;
mod bounds;
mod check;
mod contract;
mod describe;
mod element;
mod entry;
mod expand;
mod image;
mod method;
mod options;
mod parameter;
mod parse;
mod spans;
#[cfg(test)]
mod tests;
mod variable;

use proc_macro2::TokenStream;
use syn::Error;

use arguments::{Arguments, ImagePath};
use check::Known;
use parse::Module;

/// The module, with an error in it for everything that does not fit.
pub(crate) fn expand(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let parsed =
        syn::parse2::<Arguments>(arguments).and_then(|a| Module::parse(item.clone()).map(|m| (a, m)));
    let (arguments, module) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return error.into_compile_error(),
    };
    let (mut problems, mut known, mut found) = (Vec::new(), Vec::new(), Vec::new());
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
    match image::facts(&path.full) {
        Ok(facts) => Ok(Known { shown: path.shown.clone(), facts }),
        Err(message) => {
            let missing = !path.full.exists();
            let help = if missing { "\nhelp: paths are relative to the folder of Cargo.toml" } else { "" };
            Err(Error::new(path.span, format!("{message}{help}")))
        }
    }
}
