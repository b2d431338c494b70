//! A kernel compiled at run time: CUDA C++ in a string, a template, and a header that the program generates.
//!
//! `cargo run --example compile` (your own program needs feature `nvrtc` of `cuda-launch`)

use cuda_launch::compile::{CompileCache, CudaSource, Nvrtc, NvrtcOption, NvrtcOptions};
use cuda_launch::{CudaContext, DeviceBuffer, Error, LaunchConfig, cuda_launch};

const SOURCE: &str = r#"
#include "shape.h"

template <class T>
__global__ void polynomial(const T* x, unsigned long long n, T* y, unsigned long long) {
    unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = POLYNOMIAL(x[i]);
}
"#;

fn main() -> Result<(), Error> {
    let nvrtc = match Nvrtc::load() {
        Ok(nvrtc) => nvrtc,
        Err(error) if error.is_no_compiler() => {
            println!("This example needs NVRTC, which is not on this machine.\n{error}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let (major, minor) = nvrtc.version();
    println!(
        "NVRTC {major}.{minor} from {}",
        nvrtc.file().map_or("memory".into(), |file| file.display().to_string())
    );

    let ctx = CudaContext::new(0)?;
    let stream = ctx.default_stream();
    let source = CudaSource::new(SOURCE)
        .name("polynomial.cu")
        .header("shape.h", "#define POLYNOMIAL(x) ((x) * (x) * A + B)")
        .expression("polynomial<float>");
    let options = NvrtcOptions::for_context(&ctx)
        .option(NvrtcOption::Define("A".into(), Some("2".into())))
        .option(NvrtcOption::Define("B".into(), Some("1".into())));

    // With a cache it is compiled once, not in each run.
    let cache = CompileCache::at(std::env::temp_dir().join("cuda-launch-example-cache"));
    let code = nvrtc.with_cache(cache).compile(&source, &options)?;
    println!("{} bytes of {}; cache: {:?}", code.bytes().len(), code.kind(), code.cache());
    let polynomial = code.load(&ctx)?.load_function(code.lowered_name("polynomial<float>")?)?;

    let n = 1000;
    let x = DeviceBuffer::from_host(&stream, &(0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = DeviceBuffer::<f32>::zeroed(&stream, n)?;
    // SAFETY: 1, 2: the kernel takes two slices of the same length and stays inside it; 3,
    // 4: the buffers live, and nobody else uses them, until to_host_vec below has waited for the stream; 5: it writes
    // floats; 6: it ends.
    #[allow(unsafe_code)]
    unsafe {
        cuda_launch! {
            function: polynomial,
            stream: stream,
            config: LaunchConfig::for_num_elems(n as u32),
            args: [slice(x), slice_mut(y)]
        }
    }?;
    let y = y.to_host_vec(&stream)?;
    assert!(y.iter().enumerate().all(|(i, y)| *y == (i * i * 2 + 1) as f32));
    println!("polynomial(0..4) = {:?} on {}", &y[..4], ctx.device_name()?);

    // An error in the source is reported with its line.
    let broken =
        CudaSource::new("extern \"C\" __global__ void k(int* x) {\n    *x = nothing;\n}\n").name("broken.cu");
    let Err(error) = Nvrtc::load()?.compile(&broken, &options) else { unreachable!("it has no `nothing`") };
    println!("{error}");
    Ok(())
}
