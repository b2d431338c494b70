//! The source of a typed module.

use super::names::{Taken, identifier, method, unlike};
use crate::image::{kernels, volume};
use crate::model::{Access, Kernel, Meaning, Parameter, Part, Signature, Variable};
use crate::scalar::Scalar;

/// Longest line of the source.
const WIDTH: usize = 100;

/// The module with this name for these images, which are at `path` relative to the program's manifest.
pub(crate) fn module(parts: &[Part], name: &str, path: &str, krate: &str) -> String {
    let given = if krate == "cuda_launch" { String::new() } else { format!(", crate = {krate}") };
    let mut source = String::from(
        "// Written by `cuda-launch bind`. The image says how many parameters there are\n\
         // and how large; what they mean was read from the code. Compare it with the\n\
         // kernel's source, then change what is wrong.\n",
    );
    source += &format!("#[{krate}::cuda_module({path:?}{given})]\npub mod {name} {{\n");
    let (mut types, mut items) = (String::new(), String::new());
    let mut methods = Taken::new();
    for kernel in kernels(parts) {
        items += &declaration(kernel, &mut methods, &mut types, krate);
    }
    let mut variables: Vec<&Variable> = parts.iter().flat_map(|part| &part.variables).collect();
    variables.sort_by(|a, b| a.name.cmp(&b.name));
    variables.dedup_by(|a, b| a.name == b.name);
    for one in variables {
        items += &variable(one, &mut methods);
    }
    source += &types;
    if items.is_empty() {
        source + "    unsafe extern \"C\" {}\n}\n"
    } else {
        source + "    unsafe extern \"C\" {\n" + items.trim_end() + "\n    }\n}\n"
    }
}

fn declaration(kernel: &Kernel, methods: &mut Taken, types: &mut String, krate: &str) -> String {
    let name = method(kernel, methods);
    let Some(signature) = &kernel.signature else {
        return format!(
            "        // `{}`: the image does not say what it takes.\n\n",
            kernel.name.escape_debug()
        );
    };
    let mut text: String = about(kernel).iter().map(|line| format!("        /// {line}\n")).collect();
    if name != kernel.name {
        text += &format!("        #[entry({:?})]\n", kernel.name);
    }
    let parameters = parameters(signature, &name, types, krate);
    text += &contract(&parameters);
    let one_line = format!("        pub fn {name}({});", parameters.join(", "));
    text + &if one_line.len() <= WIDTH {
        format!("{one_line}\n\n")
    } else {
        let lines: String = parameters.iter().map(|p| format!("            {p},\n")).collect();
        format!("        pub fn {name}(\n{lines}        );\n\n")
    }
}

/// What would make it a `safe fn`, if its only integer is the number of elements behind its addresses.
fn contract(parameters: &[String]) -> String {
    let named = |is: fn(&str) -> bool| {
        let typed = parameters.iter().filter_map(|parameter| parameter.split_once(": "));
        typed.filter(move |(_, ty)| is(ty)).map(|(name, _)| name).collect::<Vec<_>>()
    };
    let addresses = named(|ty| ty.starts_with('*'));
    let counts = named(|ty| matches!(ty, "i32" | "u32" | "i64" | "u64"));
    let &[count] = counts.as_slice() else { return String::new() };
    if addresses.is_empty() {
        return String::new();
    }
    let lengths: Vec<String> =
        addresses.iter().map(|address| format!("{address}.len() >= {count} as usize")).collect();
    format!(
        "        // A `safe fn` if this is all that it needs, and `{count}` is how many elements it accesses:\n        \
         // #[launch_contract(requires = ({}))]\n",
        lengths.join(", ")
    )
}

/// What the user should know before launching it.
fn about(kernel: &Kernel) -> Vec<String> {
    let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let mut lines = Vec::new();
    lines.push(match &kernel.source_name {
        Some(source) => format!("`{}`", source.escape_debug()),
        None => format!("`{}`", kernel.name.escape_debug()),
    });
    lines.extend(kernel.required_threads.map(|n| format!("Blocks must have exactly {} threads.", shape(n))));
    lines.extend(kernel.max_threads.map(|n| format!("Blocks have at most {} threads.", volume(n))));
    lines.extend(kernel.cluster.map(|n| format!("Clusters have {} blocks.", shape(n))));
    if kernel.requires_cluster && kernel.cluster.is_none() {
        lines.push("A launch needs a cluster: add `#[cluster_launch(x, y, z)]`.".into());
    }
    if kernel.dynamic_shared == Some(true) {
        lines.push("Uses dynamic shared memory; set its size in the launch configuration.".into());
    }
    let unknown = |signature: &Signature| signature.0.iter().any(|p| p.meaning == Meaning::Unknown);
    if kernel.signature.as_ref().is_some_and(unknown) {
        lines
            .push("The image records only the size of some parameters: their types here are a guess.".into());
    }
    lines
}

fn parameters(signature: &Signature, kernel: &str, types: &mut String, krate: &str) -> Vec<String> {
    let list = &signature.0;
    let paired = takes_slices(list);
    let (mut taken, mut written, mut index) = (Taken::new(), Vec::new(), 0);
    while let Some(parameter) = list.get(index) {
        let wanted = parameter.name.as_deref().map_or_else(|| format!("p{index}"), identifier);
        let name = unlike(wanted, &mut taken);
        let ty = match &parameter.meaning {
            Meaning::Pointer { element, access } if paired => {
                index += 1;
                slice(*element, *access)
            }
            Meaning::Bytes if parameter.align > 16 => aligned(parameter, kernel, index, types, krate),
            meaning => meaning.rust(parameter.size, parameter.align),
        };
        written.push(format!("{name}: {ty}"));
        index += 1;
    }
    written
}

fn slice(element: Option<Scalar>, access: Access) -> String {
    let of = if access.is_read_only() { "&" } else { "&mut " };
    format!("{of}[{}]", element.map_or("u8", Scalar::rust))
}

/// If every address is followed by a `u64`, they are slices. If one is not, the others are coincidence.
fn takes_slices(list: &[Parameter]) -> bool {
    let is_pointer = |p: &Parameter| matches!(p.meaning, Meaning::Pointer { .. });
    let is_length = |p: &Parameter| {
        matches!(p.meaning, Meaning::Value(Scalar::U64)) && p.ptx.as_deref().is_some_and(|ty| ty == ".u64")
    };
    let followed = |(index, _): (usize, &Parameter)| list.get(index + 1).is_some_and(is_length);
    let mut pointers = list.iter().enumerate().filter(|(_, p)| is_pointer(p)).peekable();
    pointers.peek().is_some() && pointers.all(followed)
}

/// No array is aligned so: a type of its own.
fn aligned(parameter: &Parameter, kernel: &str, index: usize, types: &mut String, krate: &str) -> String {
    let words = kernel.trim_start_matches("r#").split('_').filter(|word| !word.is_empty());
    let camel: String = words
        .map(|word| {
            let (first, rest) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            first.to_uppercase() + rest
        })
        .collect();
    let name = format!("{camel}P{index}");
    let Parameter { size, align, .. } = parameter;
    *types += &format!(
        "    /// {size} bytes, aligned to {align}.\n    #[repr(C, align({align}))]\n    #[derive(Clone, Copy, {krate}::DeviceCopy)]\n    \
         pub struct {name}(pub [u8; {size}]);\n\n"
    );
    name
}

fn variable(variable: &Variable, methods: &mut Taken) -> String {
    let name = unlike(identifier(&variable.name), methods);
    let entry = if name == variable.name {
        String::new()
    } else {
        format!("        #[entry({:?})]\n", variable.name)
    };
    let mutable = if variable.space == "const" { "" } else { "mut " };
    let scalar = variable.ty.trim_start_matches('.').split('[').next().and_then(Scalar::of_ptx);
    let Some(scalar) = scalar.filter(|_| variable.bytes > 0) else {
        return format!("        // `{}`: {} of {} bytes\n\n", variable.name, variable.ty, variable.bytes);
    };
    let ty = match variable.ty.contains('[') {
        true => format!("[{}; {}]", scalar.rust(), variable.bytes / scalar.size() as u64),
        false => scalar.rust().to_owned(),
    };
    format!("{entry}        pub static {mutable}{name}: {ty};\n\n")
}
