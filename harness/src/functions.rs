//! The description of each function: its arguments with their types, and its effects on objects.

use crate::enums::ENUMS;
use crate::kind::{self, Kind};
use crate::rules::{self, Effect};
use cuda_driver_sys::{ALIASES, FUNCTIONS};
use std::sync::LazyLock;

macro_rules! rows {
    ($($name:ident($($argument:ident: $type:ty),*) $since:literal;)*) => {
        /// Each function's arguments, in the order of [`FUNCTIONS`]: names and types as text.
        static ROWS: &[&[(&str, &str)]] = &[$(&[$((stringify!($argument), stringify!($type))),*]),*];
    };
}
cuda_driver_sys::for_each_function!(rows);

/// A function of the driver.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) since: u32,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) effects: Vec<Effect>,
    /// The arguments that are handles or memory and that it does not release.
    pub(crate) uses: Vec<usize>,
    /// The argument that is the stream of its work; for a launch with a configuration, the argument with the
    /// configuration.
    pub(crate) stream: Option<usize>,
    /// Whether its work runs in the current context if no stream determines the context.
    pub(crate) is_of_current: bool,
    /// Whether it does its work even if it returns an error.
    pub(crate) gives_back: bool,
    /// Whether it launches a kernel or a graph.
    pub(crate) launches: bool,
    /// Whether it still works after a fault.
    pub(crate) survives: bool,
}

/// An argument of a function.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    /// The name of its type; empty for a pointer.
    pub(crate) of: &'static str,
    pub(crate) ty: Type,
    /// Whether its value differs in each run: a time, an identifier, free memory.
    pub(crate) varies: bool,
}

/// The type of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Plain(Plain),
    /// A pointer through which the function writes a value.
    Out(Plain),
    /// A C string.
    Text,
    /// A pointer through which the function writes the address of a C string owned by the driver.
    OutText,
    /// A host address.
    Pointer,
    /// A structure passed by value.
    Opaque,
}

/// A value of at most 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    Unsigned(usize),
    Signed,
    Float,
    Enum(&'static [(u32, &'static str)]),
    Result,
    Handle(Kind),
    Memory,
    /// An address of host memory.
    Host,
}

static ALL: LazyLock<Vec<Function>> = LazyLock::new(|| {
    let rows = FUNCTIONS.iter().zip(ROWS);
    rows.map(|(info, row)| function(info.name(), info.since, row)).collect()
});

/// The function at an index of [`FUNCTIONS`].
pub(crate) fn at(place: usize) -> Option<&'static Function> {
    ALL.get(place)
}

/// The function with that name: its symbol, or its name in the header.
pub(crate) fn named(name: &str) -> Option<&'static Function> {
    let symbol = symbol(name);
    ALL.binary_search_by_key(&symbol, |function| function.name).ok().and_then(at)
}

/// The symbol that the header has under that name.
pub(crate) fn symbol(name: &str) -> &str {
    let alias = ALIASES.binary_search_by_key(&name, |(alias, _)| alias).ok();
    alias.and_then(|at| ALIASES.get(at)).map_or(name, |(_, symbol)| symbol)
}

/// The name of an enum's value.
pub(crate) fn enum_name(of: &str, value: u32) -> Option<&'static str> {
    let at = ENUMS.binary_search_by_key(&of, |(name, _)| name).ok()?;
    ENUMS.get(at).and_then(|(_, names)| name_in(names, value))
}

/// The name of a value in a list.
pub(crate) fn name_in(names: &[(u32, &'static str)], value: u32) -> Option<&'static str> {
    let at = names.binary_search_by_key(&value, |(value, _)| *value).ok()?;
    names.get(at).map(|(_, name)| *name)
}

fn function(name: &'static str, since: u32, row: &[(&'static str, &'static str)]) -> Function {
    let parameter = |(argument, text): &(&'static str, &'static str)| Parameter {
        name: argument,
        of: type_name(text),
        ty: match *argument {
            // The address of host memory that the driver allocates.
            "pp" => Type::Out(Plain::Host),
            _ => match ty(text) {
                Type::Out(_) if is_no_result(name, argument) => Type::Pointer,
                ty => ty,
            },
        },
        varies: varies(name, argument),
    };
    let parameters: Vec<Parameter> = row.iter().map(parameter).collect();
    let effects = rules::effects(name);
    let is_used = |at: &usize| {
        let ty = parameters.get(*at).map(|parameter| parameter.ty);
        matches!(ty, Some(Type::Plain(Plain::Handle(_) | Plain::Memory))) && !ends(&effects, *at)
    };
    let is_stream = |one: &Parameter| one.ty == Type::Plain(Plain::Handle(Kind::Stream));
    let stream = parameters.iter().position(is_stream);
    let words = ["cuMemcpy", "cuMemset", "cuCtxSynchronize", "cuLaunch"];
    Function {
        name,
        since,
        is_of_current: stream.is_some() || words.iter().any(|word| name.starts_with(word)),
        stream,
        uses: (0..parameters.len()).filter(is_used).collect(),
        parameters,
        effects,
        gives_back: gives_back(name),
        launches: matches!(
            name,
            "cuLaunchKernel" | "cuLaunchKernelEx" | "cuLaunchCooperativeKernel" | "cuGraphLaunch"
        ),
        survives: survives(name),
    }
}

/// Whether an argument names the object that the call releases.
fn ends(effects: &[Effect], at: usize) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Ends(_, ended) | Effect::EndsContext(ended) | Effect::Unshares(_, ended, _) => *ended == at,
        Effect::EndsRange(_, start, _) => *start == at,
        _ => false,
    })
}

/// Such calls do their work even if they return an error, as those of a real driver do after earlier work failed.
fn gives_back(name: &str) -> bool {
    // These create nodes, and free no memory.
    let is_node = name.contains("Node");
    let words =
        ["Free", "Destroy", "Unload", "Release", "Unmap", "Unregister", "EndCapture", "Close", "Detach"];
    !is_node && words.iter().any(|word| name.contains(word))
}

/// Whether the function still works after a kernel's fault: those that need no context do.
fn survives(name: &str) -> bool {
    let current =
        ["cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxGetDevice"];
    let always = ["cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"];
    let of_device =
        name.starts_with("cuDevice") && !name.contains("PrimaryCtx") && !name.contains("GraphMem");
    of_device
        || current.contains(&name)
        || always.contains(&name)
        || name.starts_with("cuTensorMap")
        || name.starts_with("cuGetProcAddress")
}

/// The name of a type that is not a pointer, without its path, and with aliases resolved.
fn type_name(text: &'static str) -> &'static str {
    match text.rsplit([':', ' ']).next() {
        _ if text.contains('*') => "",
        Some("CUkernelNodeAttrID" | "CUstreamAttrID") => "CUlaunchAttributeID",
        name => name.unwrap_or(text),
    }
}

/// The type of a text such as `*mut $crate::CUstream`, with spaces wherever the compiler puts them.
fn ty(text: &str) -> Type {
    let last = text.rsplit([':', ' ']).next().unwrap_or(text);
    let stars = text.matches('*').count();
    let written = text.trim_start_matches(['*', ' ']).starts_with("mut");
    match (stars, last) {
        (0, _) => plain(last).map_or(Type::Opaque, Type::Plain),
        (1, "c_char") if !written => Type::Text,
        (1, "c_char" | "c_void") => Type::Pointer,
        (1, _) if written => plain(last).map_or(Type::Pointer, Type::Out),
        (2, "c_char") => Type::OutText,
        _ => Type::Pointer,
    }
}

fn plain(name: &str) -> Option<Plain> {
    let value = match name {
        "c_uchar" => Plain::Unsigned(1),
        "c_ushort" => Plain::Unsigned(2),
        "c_uint" | "cuuint32_t" | "CUlogIterator" | "CUlogicalEndpointId" => Plain::Unsigned(4),
        "usize" | "c_ulonglong" | "cuuint64_t" => Plain::Unsigned(8),
        "c_int" | "CUdevice" => Plain::Signed,
        "f32" => Plain::Float,
        "CUresult" => Plain::Result,
        "CUdeviceptr" => Plain::Memory,
        "CUkernelNodeAttrID" | "CUstreamAttrID" => return plain("CUlaunchAttributeID"),
        _ if name.ends_with("Callback")
            || matches!(name, "CUhostFn" | "CUoccupancyB2DSize" | "CUcheckpointOperationHandle") =>
        {
            Plain::Host
        }
        _ => {
            let names = || ENUMS.binary_search_by_key(&name, |(name, _)| name).ok();
            return match kind::of_type(name) {
                Some(kind) => Some(Plain::Handle(kind)),
                None => names().and_then(|at| ENUMS.get(at)).map(|(_, names)| Plain::Enum(names)),
            };
        }
    };
    Some(value)
}

/// Whether a pointer that looks like an output cannot be read as one after the call: it is an array, or the function does not always
/// write it.
fn is_no_result(function: &str, argument: &str) -> bool {
    let batch =
        (function.contains("Batch") && !function.starts_with("cuGraph")) || function.ends_with("Attributes");
    let options = argument == "options" || argument.ends_with("Options");
    let list = matches!(
        argument,
        "resources" | "dependencies" | "from" | "to" | "nodes" | "rootNodes" | "dependentNodes"
    );
    let found = matches!(argument, "functions" | "kernels" | "capabilities" | "pBorderColor");
    let capture = function.starts_with("cuStreamGetCaptureInfo") && argument != "captureStatus_out";
    batch || options || list || found || capture || (function.starts_with("cuCoredump") && argument == "size")
}

fn varies(function: &str, argument: &str) -> bool {
    let is_id = argument.ends_with("Id") && function.ends_with("Id");
    is_id || matches!(function, "cuMemGetInfo_v2" | "cuEventElapsedTime_v2")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of(function: &str, argument: &str) -> Option<Type> {
        let parameters = &named(function)?.parameters;
        parameters.iter().find(|parameter| parameter.name == argument).map(|parameter| parameter.ty)
    }

    #[test]
    fn types_are_read_from_the_list_of_functions() {
        let rows = [
            ("cuStreamCreate", "phStream", Type::Out(Plain::Handle(Kind::Stream))),
            ("cuStreamCreate", "Flags", Type::Plain(Plain::Unsigned(4))),
            ("cuMemAlloc", "dptr", Type::Out(Plain::Memory)),
            ("cuMemcpyHtoDAsync", "srcHost", Type::Pointer),
            ("cuMemcpyHtoDAsync", "hStream", Type::Plain(Plain::Handle(Kind::Stream))),
            ("cuModuleGetFunction", "name", Type::Text),
            ("cuFuncGetName", "name", Type::OutText),
            ("cuDeviceGetName", "name", Type::Pointer),
            ("cuMemAdvise", "location", Type::Opaque),
            ("cuMemHostAlloc", "pp", Type::Out(Plain::Host)),
            ("cuGetErrorName", "error", Type::Plain(Plain::Result)),
            ("cuLaunchHostFunc", "fn_", Type::Plain(Plain::Host)),
            ("cuLaunchKernel", "kernelParams", Type::Pointer),
            ("cuGraphGetNodes", "nodes", Type::Pointer),
            ("cuGraphGetNodes", "numNodes", Type::Out(Plain::Unsigned(8))),
            ("cuGraphNodeGetDependentNodes", "dependentNodes", Type::Pointer),
            ("cuModuleEnumerateFunctions", "functions", Type::Pointer),
            ("cuStreamGetCaptureInfo", "graph_out", Type::Pointer),
            ("cuMemcpyBatchAsync", "sizes", Type::Pointer),
            ("cuMemcpyBatchAsync", "count", Type::Plain(Plain::Unsigned(8))),
            ("cuMemcpyBatchAsync", "hStream", Type::Plain(Plain::Handle(Kind::Stream))),
            ("cuLinkCreate", "options", Type::Pointer),
            ("cuLibraryLoadData", "jitOptions", Type::Pointer),
            ("cuPointerGetAttributes", "attributes", Type::Pointer),
            ("cuGraphAddBatchMemOpNode", "phGraphNode", Type::Out(Plain::Handle(Kind::GraphNode))),
        ];
        for (function, argument, expected) in rows {
            assert_eq!(type_of(function, argument), Some(expected), "{function} {argument}");
        }
        let mode = type_of("cuStreamBeginCapture", "mode");
        assert!(matches!(mode, Some(Type::Plain(Plain::Enum(names))) if names.len() == 3), "{mode:?}");
    }

    #[test]
    fn only_structures_are_opaque() {
        let opaque = |place: usize| {
            let parameters = at(place).map(|function| function.parameters.iter()).into_iter().flatten();
            parameters.filter(|p| p.ty == Type::Opaque).map(|p| p.name).collect::<Vec<_>>()
        };
        let all: Vec<_> = (0..FUNCTIONS.len()).flat_map(opaque).collect();
        assert_eq!(all, ["handle", "handle", "location", "location"]);
    }
}
