//! The contents of a file as text.

use cuda_ptx::image::ImageKind;

use crate::image::volume;
use crate::kernel_file::File;
use crate::model::{Debug, Kernel, Meaning, Parameter, Part};
use crate::style;
use crate::table::{Table, count, wrap};

pub(super) fn file(file: &File) -> String {
    let name = style::strong(&file.path.display().to_string());
    let mut text = match file.kind {
        ImageKind::Fatbin => {
            let (size, entries) = (bytes(file.bytes.len() as u64), entries(file.parts.len()));
            wrap(&format!("{name}: fatbin, {size}, {entries}"), "")
        }
        _ => format!("{name}\n"),
    };
    for (index, one) in file.parts.iter().enumerate() {
        if file.kind == ImageKind::Fatbin {
            text += &format!("\n{}\n", style::strong(&format!("entry {index}")));
        }
        text += &part(one);
    }
    text
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".into() } else { format!("{number} entries") }
}

/// A size with a readable unit.
fn bytes(number: u64) -> String {
    match number {
        0..10_000 => format!("{number} bytes"),
        10_000..10_000_000 => format!("{} KiB", number / 1024),
        _ => format!("{} MiB", number >> 20),
    }
}

fn part(part: &Part) -> String {
    let mut facts = vec![match part.version {
        Some((major, minor)) => format!("PTX {major}.{minor}"),
        None => part.kind.clone(),
    }];
    facts.extend(part.arch.map(|arch| format!("for {arch}")));
    let packed = part.compression.map_or(String::new(), |how| format!(" ({how})"));
    facts.push(format!("{}{packed}", bytes(part.bytes as u64)));
    facts.extend(part.source.as_ref().map(|source| format!("from {source}")));
    facts.extend(part.constant_bytes.filter(|n| *n > 0).map(|n| format!("{n} bytes of constants")));
    facts.extend(part.relocatable.then(|| "to be linked".to_owned()));
    facts.push(match part.debug {
        Debug::None => "no debug information".into(),
        Debug::Lines => "source lines".into(),
        Debug::Full => "debug information".into(),
    });
    facts.extend((part.ptx_bytes > 0).then(|| format!("{} of PTX inside", bytes(part.ptx_bytes as u64))));
    facts.push(count(part.kernels.len(), "kernel"));
    let mut text = wrap(&facts.join(", "), "  ");
    if !part.variables.is_empty() {
        let mut table = Table::new(&["variable", "space", "bytes", "type"], &[2]);
        for v in &part.variables {
            table.row(vec![v.name.clone(), v.space.into(), v.bytes.to_string(), v.ty.clone()]);
        }
        text += &format!("\n{}", table.print("  "));
    }
    part.kernels.iter().for_each(|one| text += &kernel(one));
    text
}

fn kernel(kernel: &Kernel) -> String {
    let line = kernel.line.map_or(String::new(), |line| style::faint(&format!("  line {line}")));
    let mut text = format!("\n{}{line}\n", style::strong(&kernel.name));
    if let Some(source) = &kernel.source_name {
        text += &wrap(source, "  ");
    }
    text += &wrap(&resources(kernel).join(", "), "  ");
    match &kernel.signature {
        None => text += "  parameters: the image does not say\n",
        Some(list) if list.0.is_empty() => text += "  no parameters\n",
        Some(list) => text += &parameters(&list.0),
    }
    text
}

fn resources(kernel: &Kernel) -> Vec<String> {
    let shape = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let mut facts = Vec::new();
    facts.extend(kernel.registers.map(|n| count(n as usize, "register")));
    facts.extend(kernel.max_registers.map(|n| format!("at most {n} registers")));
    let dynamic = kernel.dynamic_shared == Some(true);
    let shared = kernel.shared_bytes.filter(|n| *n > 0 || !dynamic);
    facts.extend(shared.map(|n| format!("{n} bytes shared")));
    facts.extend(dynamic.then(|| "dynamic shared memory".to_owned()));
    facts.extend(kernel.local_bytes.map(|n| format!("{n} bytes local")));
    facts.push(format!("{} bytes of parameters", kernel.parameter_bytes));
    facts.extend(kernel.required_threads.map(|n| format!("blocks of {} threads only", shape(n))));
    facts.extend(kernel.max_threads.map(|n| format!("at most {} threads per block", volume(n))));
    facts.extend(kernel.min_blocks.map(|n| format!("{} per multiprocessor", count(n as usize, "block"))));
    facts.extend(kernel.cluster.map(|n| format!("clusters of {} blocks", shape(n))));
    facts.extend(kernel.max_cluster_blocks.map(|n| format!("at most {n} blocks per cluster")));
    facts.extend((kernel.requires_cluster && kernel.cluster.is_none()).then(|| "needs a cluster".to_owned()));
    facts.extend(kernel.grid_counts_clusters.then(|| "grids count clusters".to_owned()));
    facts
}

fn parameters(list: &[Parameter]) -> String {
    let named = list.iter().any(|parameter| parameter.name.is_some());
    let heading = ["#", "offset", "bytes", "PTX", "C", "Rust", "name"];
    let mut table = Table::new(if named { &heading } else { &heading[..6] }, &[0, 1, 2]);
    for (index, parameter) in list.iter().enumerate() {
        let Parameter { name, offset, size, align, ptx, meaning } = parameter;
        let known = *meaning != Meaning::Unknown;
        let typed = known && *meaning != Meaning::Bytes;
        table.row(vec![
            index.to_string(),
            offset.to_string(),
            size.to_string(),
            ptx.clone().unwrap_or_else(|| "-".into()),
            if typed { meaning.c(*size) } else { "-".into() },
            if known { meaning.rust(*size, *align) } else { "-".into() },
            name.clone().unwrap_or_default(),
        ]);
    }
    table.print("  ")
}
