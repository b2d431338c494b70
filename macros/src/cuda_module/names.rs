//! Names that the macro needs for generated items, and duplicate names.

use syn::ext::IdentExt;
use syn::{Error, Ident, Item, Result};

use super::parse::{Kernel, cfgs};
use crate::problems::Problems;

/// Methods that the struct `Module` has.
const METHODS: &[&str] = &["functions", "as_module", "origin"];
/// Types and functions of the module.
const ITEMS: &[&str] = &["Module", "Functions", "load", "load_async", "from_module"];

/// Checks the name of a kernel's method against the other names.
pub(super) fn kernel(kernel: &Kernel, others: &[Kernel]) -> Result<()> {
    let (ident, name) = (&kernel.ident, kernel.ident.unraw().to_string());
    if METHODS.contains(&name.as_str()) {
        let message = format!(
            "the struct `Module` already has a method `{name}`; give this one another name and say `#[entry(\"{name}\")]`"
        );
        return Err(Error::new(ident.span(), message));
    }
    // Items with a `cfg` may exclude each other.
    let always = |kernel: &Kernel| cfgs(&kernel.attributes).is_empty();
    if others.iter().any(|other| other.ident == *ident && always(other) && always(kernel)) {
        let message = format!(
            "this module has a kernel `{name}` already, and each is a method\nhelp: give this one another name and say \
             `#[entry(\"{name}\")]` for the name in the image"
        );
        return Err(Error::new(ident.span(), message));
    }
    Ok(())
}

/// Checks the items that stay in the module, and removes those with the name of a generated one.
pub(super) fn items(items: &mut Vec<Item>) -> Result<()> {
    let mut problems = Problems::default();
    items.retain(|item| match name(item).filter(|name| ITEMS.iter().any(|item| *name == item)) {
        Some(ident) => {
            let message = format!(
                "`#[cuda_module]` writes `{ident}` into this module; give yours another name, or move it out"
            );
            problems.take::<()>(Err(Error::new(ident.span(), message)));
            false
        }
        None => true,
    });
    problems.finish()
}

fn name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Struct(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        _ => None,
    }
}
