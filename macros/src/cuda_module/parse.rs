//! The module as it was written: kernels, variables, and everything else, which stays.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, ForeignItem, ForeignItemFn, ForeignItemStatic, GenericParam, Generics, Ident,
    Item, ItemForeignMod, ItemMod, LitStr, Pat, Result, ReturnType, Safety, StaticMutability, Type,
    Visibility,
};

use super::contract::Contract;
use super::entry::Entry;
use super::options::Options;
use super::parameter::{Kind, Parameter, mentions};
use crate::problems::Problems;

pub(super) struct Module {
    pub(super) attributes: Vec<Attribute>,
    pub(super) visibility: Visibility,
    pub(super) ident: Ident,
    /// Everything but the `extern` block.
    pub(super) others: Vec<Item>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) variables: Vec<Variable>,
}

/// One `fn`.
pub(super) struct Kernel {
    /// Docs, `cfg` and lints for the method.
    pub(super) attributes: Vec<Attribute>,
    pub(super) visibility: Visibility,
    pub(super) safe: bool,
    pub(super) ident: Ident,
    pub(super) generics: Generics,
    pub(super) parameters: Vec<Parameter>,
    pub(super) entry: Entry,
    pub(super) options: Options,
}

/// One `static`.
pub(super) struct Variable {
    pub(super) attributes: Vec<Attribute>,
    pub(super) visibility: Visibility,
    pub(super) ident: Ident,
    /// Whether it is in global memory; otherwise it is a constant.
    pub(super) mutable: bool,
    pub(super) ty: Type,
    /// The name in the image, if it differs from that of the item.
    pub(super) entry: Option<LitStr>,
}

impl Module {
    /// The module, and the errors in parts of it. Wrong parts are left out, so that the rest of the program still finds
    /// the others.
    pub(super) fn parse(item: TokenStream) -> Result<(Self, Problems)> {
        let item: ItemMod = syn::parse2(item).map_err(|e| {
            Error::new(
                e.span(),
                format!(
                    "{e}\n`#[cuda_module(..)]` stands on `mod kernels {{ unsafe extern \"C\" {{ .. }} }}`"
                ),
            )
        })?;
        let span = item.ident.span();
        let Some((_, items)) = item.content else {
            let message = "`#[cuda_module]` needs the module's content here: `mod kernels { unsafe extern \"C\" { .. } }`";
            return Err(Error::new(span, message));
        };
        let (blocks, others): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| matches!(item, Item::ForeignMod(_)));
        let mut blocks = blocks.into_iter().filter_map(|item| match item {
            Item::ForeignMod(block) => Some(block),
            _ => None,
        });
        let mut problems = Problems::default();
        let block = blocks.next();
        if block.is_none() {
            let message = "the module has no `unsafe extern \"C\" { .. }` block, which lists its kernels";
            problems.take::<()>(Err(Error::new(span, message)));
        }
        if let Some(second) = blocks.next() {
            let message = "a typed module has one `extern` block; put all kernels into the first";
            problems.take::<()>(Err(Error::new(second.abi.extern_token.span(), message)));
        }
        let mut module = Self {
            attributes: item.attrs,
            visibility: item.vis,
            ident: item.ident,
            others,
            kernels: Vec::new(),
            variables: Vec::new(),
        };
        problems.take(super::names::items(&mut module.others));
        if let Some(block) = block {
            module.block(block, &mut problems);
        }
        Ok((module, problems))
    }

    fn block(&mut self, block: ItemForeignMod, problems: &mut Problems) {
        problems.take(check_block(&block));
        for item in block.items {
            match item {
                ForeignItem::Fn(function) => {
                    let kernel = Kernel::parse(function).and_then(|kernel| {
                        super::names::kernel(&kernel, &self.kernels)?;
                        Ok(kernel)
                    });
                    self.kernels.extend(problems.take(kernel));
                }
                ForeignItem::Static(variable) => {
                    self.variables.extend(problems.take(Variable::parse(variable)));
                }
                other => {
                    let message = "a typed module's `extern` block holds kernels, `fn name(..);`, and variables, `static name: T;`";
                    problems.take::<()>(Err(Error::new_spanned(&other, message)));
                }
            }
        }
    }
}

fn check_block(block: &ItemForeignMod) -> Result<()> {
    if block.unsafety.is_none() {
        let message =
            "write `unsafe extern \"C\"`: that the kernels are what these lines say is your promise";
        return Err(Error::new(block.abi.extern_token.span(), message));
    }
    match &block.abi.name {
        Some(name) if name.value() != "C" => {
            Err(Error::new(name.span(), "kernels are declared in `unsafe extern \"C\"`"))
        }
        _ => Ok(()),
    }
}

impl Kernel {
    fn parse(item: ForeignItemFn) -> Result<Self> {
        let mut problems = Problems::default();
        let signature = item.sig;
        problems.take(check_signature(&signature));
        let safe = matches!(signature.safety, Safety::Safe(_));
        let (special, attributes) = split(item.attrs);
        let entry = problems.take(Entry::parse(&special, &signature.ident, &signature.generics));
        let options = problems.take(Options::parse(&special));
        problems.take(super::options::misspelt(&attributes));
        let mut parameters = Vec::new();
        for argument in signature.inputs {
            parameters.extend(problems.take(parameter(argument, safe, &signature.generics, entry.as_ref())));
        }
        if let (true, Some(options)) = (safe, &options) {
            for parameter in &parameters {
                problems.take(has_length(parameter, &options.contract));
            }
        }
        problems.finish()?;
        let (Some(entry), Some(options)) = (entry, options) else {
            return Err(Error::new(signature.ident.span(), "this kernel declaration cannot be parsed"));
        };
        let (ident, generics, visibility) = (signature.ident, signature.generics, item.vis);
        Ok(Self { attributes, visibility, safe, ident, generics, parameters, entry, options })
    }
}

fn parameter(argument: FnArg, safe: bool, generics: &Generics, entry: Option<&Entry>) -> Result<Parameter> {
    let argument = match argument {
        FnArg::Typed(argument) => argument,
        FnArg::Receiver(receiver) => {
            return Err(Error::new_spanned(&receiver, "a kernel has no `self`"));
        }
    };
    let Pat::Ident(name) = &*argument.pat else {
        return Err(Error::new(
            argument.pat.span(),
            "give the parameter a name: it is that of the method's argument",
        ));
    };
    // Type parameters that no `#[entry(..)]` lists are types of closures and the like.
    let open: Vec<&Ident> = match entry {
        // An entry that could not be read is one error, not one for each parameter too.
        None | Some(Entry::PerType { .. }) => Vec::new(),
        Some(Entry::One(_)) => generics
            .params
            .iter()
            .filter_map(|p| match p {
                GenericParam::Type(p) => Some(&p.ident),
                GenericParam::Const(p) => Some(&p.ident),
                GenericParam::Lifetime(_) => None,
            })
            .collect(),
    };
    let kind = Kind::of(&argument.ty, &open)?;
    if let Kind::Slice { element, .. } | Kind::Rows { element, .. } | Kind::Pointer { element, .. } = &kind
        && let Some(name) = open.iter().find(|name| mentions(element.to_token_stream(), name))
        && generics.where_clause.is_none()
        && generics.type_params().any(|p| p.ident == **name && p.bounds.is_empty())
    {
        let message = format!(
            "which `{name}` the kernel was compiled for is not said\n\
             help: `#[entry(f32 = \"name_for_f32\", ..)]` says it; a kernel that takes any has `{name}: DeviceCopy`"
        );
        return Err(Error::new_spanned(&argument.ty, message));
    }
    if let (true, Kind::Open(_)) = (safe, &kind) {
        let message = "a `safe fn` cannot take a value of any type: the caller may pass one that only has the same size\n\
                       help: `#[entry(f32 = \"name_for_f32\", ..)]` says which types the kernel was compiled for; or declare it \
                       as `fn`, whose method is `unsafe`";
        return Err(Error::new_spanned(&argument.ty, message));
    }
    Ok(Parameter { ident: name.ident.clone(), kind, ty: *argument.ty })
}

/// Refuses, in a `safe fn`, an address whose length neither the kernel nor the contract uses.
fn has_length(parameter: &Parameter, contract: &Contract) -> Result<()> {
    let (ident, ty) = (&parameter.ident, &parameter.ty);
    if !parameter.kind.is_address() || contract.speaks_of_length(ident) {
        return Ok(());
    }
    let is_rows = matches!(parameter.kind, Kind::Rows { .. });
    let what = if is_rows { "rows" } else { "address" };
    let (of, requires, otherwise) = match (is_rows, parameter.kind.is_written()) {
        (true, _) => ("their size", format!("{ident}.height() >= .., {ident}.width() >= .."), String::new()),
        (false, true) => ("its length", format!("{ident}.len() >= .."), slice_instead(ident, "&mut [T]")),
        (false, false) => ("its length", format!("{ident}.len() >= .."), slice_instead(ident, "&[T]")),
    };
    let message = format!(
        "a `safe fn` does not take the {what} `{ident}` without a contract about {of}: the kernel is not told where the memory \
         ends\n\
         help: say what `{ident}` has to hold, `#[launch_contract(requires = ({requires}))]`{otherwise}; or declare it as `fn`, \
         whose method is `unsafe`"
    );
    Err(Error::new_spanned(ty, message))
}

fn slice_instead(ident: &Ident, slice: &str) -> String {
    format!(", or take a slice, `{ident}: {slice}`, if the kernel does")
}

fn check_signature(signature: &syn::Signature) -> Result<()> {
    let mut problems = Problems::default();
    if let ReturnType::Type(..) = signature.output {
        let message = "a kernel has no return value: take a `&mut [T]` for the kernel to write into";
        problems.take::<()>(Err(Error::new_spanned(&signature.output, message)));
    }
    if let Some(variadic) = &signature.variadic {
        let message = "a kernel has a fixed number of parameters: declare those that it takes";
        problems.take::<()>(Err(Error::new_spanned(variadic.dots, message)));
    }
    if let Some(lifetime) = signature.generics.lifetimes().next() {
        let message = "a kernel has no lifetimes: its slices are borrowed for the call, and ordered after it";
        problems.take::<()>(Err(Error::new(lifetime.lifetime.span(), message)));
    }
    problems.finish()
}

impl Variable {
    fn parse(item: ForeignItemStatic) -> Result<Self> {
        let (special, attributes) = split(item.attrs);
        let mut entry = None;
        for attribute in &special {
            if !attribute.path().is_ident("entry") {
                let message = "a variable has one attribute of its own: `#[entry(\"name_in_the_image\")]`";
                return Err(Error::new(attribute.path().span(), message));
            }
            entry = Some(attribute.parse_args()?);
        }
        super::parameter::check_variable(&item.ty)?;
        Ok(Self {
            attributes,
            visibility: item.vis,
            ident: item.ident,
            mutable: matches!(item.mutability, StaticMutability::Mut(_)),
            ty: *item.ty,
            entry,
        })
    }
}

/// Separates the attributes of this macro from the others.
fn split(attributes: Vec<Attribute>) -> (Vec<Attribute>, Vec<Attribute>) {
    attributes.into_iter().partition(|a| super::options::OWN.iter().any(|own| a.path().is_ident(own)))
}

/// The attributes that decide whether an item exists.
pub(super) fn cfgs(attributes: &[Attribute]) -> TokenStream {
    let cfg = Ident::new("cfg", proc_macro2::Span::call_site());
    let decides = |a: &&Attribute| {
        a.path().is_ident("cfg") || a.path().is_ident("cfg_attr") && mentions(a.meta.to_token_stream(), &cfg)
    };
    attributes.iter().filter(decides).map(ToTokens::to_token_stream).collect()
}
