//! Runs a case through the driver, as `tests/sanitizer/runner.py` does.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::ptr::null_mut;
use std::sync::Arc;

use cuda_driver_sys::*;

use crate::cases::{Case, text};

/// A call that failed.
pub(crate) type Outcome = Result<(), CUresult>;

fn check(code: CUresult) -> Outcome {
    if code == CUresult::SUCCESS { Ok(()) } else { Err(code) }
}

/// How something is given back.
enum GiveBack {
    Memory(CUdeviceptr),
    Ordered(CUdeviceptr),
    Host(*mut std::ffi::c_void),
    Texture(CUtexObject),
    Surface(CUsurfObject, CUarray),
}

/// A case in a context.
struct Run<'c> {
    cuda: Arc<Driver>,
    case: &'c Case,
    wrong: bool,
    module: CUmodule,
    names: HashMap<String, u64>,
    /// The latest first.
    given: Vec<(String, GiveBack)>,
    streams: BTreeMap<String, CUstream>,
}

/// Runs one of the two kernels of a case, or the only one; the first call that failed.
pub(crate) fn run(cuda: &Arc<Driver>, case: &Case, wrong: bool) -> Outcome {
    let (mut context, mut module) = (null_mut(), null_mut());
    let image = CString::new(text(&case.module)).unwrap();
    unsafe {
        check(cuda.cuInit(0))?;
        check(cuda.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        check(cuda.cuCtxSetCurrent(context))?;
        check(cuda.cuModuleLoadData(&mut module, image.as_ptr().cast()))?;
    }
    let (cuda, names) = (Arc::clone(cuda), HashMap::new());
    let mut run = Run { cuda, case, wrong, module, names, given: Vec::new(), streams: BTreeMap::new() };
    for step in &case.steps {
        match step.split_once(": ") {
            Some((side @ ("wrong" | "right"), rest)) if (side == "wrong") == wrong => run.step(rest)?,
            Some(("wrong" | "right", _)) => {}
            _ => run.step(step)?,
        }
    }
    run.end()
}

impl Run<'_> {
    fn step(&mut self, step: &str) -> Outcome {
        let words: Vec<&str> = step.split_whitespace().collect();
        match words.as_slice() {
            [name, "=", kind, rest @ ..] => self.make(name, kind, rest),
            ["free", name] => {
                let at = self.given.iter().position(|(known, _)| known == name).unwrap();
                let (_, given) = self.given.remove(at);
                self.give_back(given)
            }
            ["keep", name] => {
                self.given.retain(|(known, _)| known != name);
                Ok(())
            }
            ["fill", name, bytes, what] => self.fill(self.value(name), number(bytes) as usize, what),
            ["copy", to, from, bytes] => check(unsafe {
                self.cuda.cuMemcpyDtoD(self.value(to), self.value(from), number(bytes) as usize)
            }),
            ["read", name, bytes] => {
                let mut host = vec![0_u8; number(bytes) as usize];
                check(unsafe {
                    self.cuda.cuMemcpyDtoH(host.as_mut_ptr().cast(), self.value(name), host.len())
                })
            }
            ["memset", name, bytes, byte, stream] => {
                let stream = self.stream(stream)?;
                let (at, bytes) = (self.value(name), number(bytes) as usize);
                check(unsafe { self.cuda.cuMemsetD8Async(at, number(byte) as u8, bytes, stream) })
            }
            ["sync"] => check(unsafe { self.cuda.cuCtxSynchronize() }),
            ["launch", grid, block, rest @ ..] => self.launch(shape(grid), shape(block), rest),
            other => panic!("{other:?}"),
        }
    }

    /// A piece of memory, or what else an argument can be.
    fn make(&mut self, name: &str, kind: &str, rest: &[&str]) -> Outcome {
        let (mut address, mut bytes) = (0, rest[0].parse().unwrap_or(0));
        let mut what = rest.get(1);
        let given = match kind {
            "symbol" => {
                let symbol = CString::new(rest[0]).unwrap();
                check(unsafe {
                    self.cuda.cuModuleGetGlobal(&mut address, &mut bytes, self.module, symbol.as_ptr())
                })?;
                None
            }
            "texture" => {
                what = None;
                address = self.texture(self.value(rest[0]), number(rest[1]) as usize)?;
                Some(GiveBack::Texture(address))
            }
            "surface" => {
                what = None;
                let (surface, array) =
                    self.surface([rest[0], rest[1]].map(|extent| number(extent) as usize))?;
                address = surface;
                Some(GiveBack::Surface(surface, array))
            }
            "device" => {
                check(unsafe { self.cuda.cuMemAlloc(&mut address, bytes) })?;
                Some(GiveBack::Memory(address))
            }
            "managed" => {
                check(unsafe { self.cuda.cuMemAllocManaged(&mut address, bytes, 1) })?;
                Some(GiveBack::Memory(address))
            }
            "ordered" => {
                check(unsafe { self.cuda.cuMemAllocAsync(&mut address, bytes, null_mut()) })?;
                Some(GiveBack::Ordered(address))
            }
            "host" => {
                let mut host = null_mut();
                check(unsafe { self.cuda.cuMemHostAlloc(&mut host, bytes, CU_MEMHOSTALLOC_DEVICEMAP) })?;
                check(unsafe { self.cuda.cuMemHostGetDevicePointer(&mut address, host, 0) })?;
                Some(GiveBack::Host(host))
            }
            other => panic!("{other}"),
        };
        self.names.insert(name.to_owned(), address);
        if let Some(given) = given {
            self.given.insert(0, (name.to_owned(), given));
        }
        what.map_or(Ok(()), |what| self.fill(address, bytes, what))
    }

    fn fill(&self, address: CUdeviceptr, bytes: usize, what: &str) -> Outcome {
        if what != "count" {
            return check(unsafe { self.cuda.cuMemsetD8(address, number(what) as u8, bytes) });
        }
        let words: Vec<u32> = (0..bytes as u32 / 4).collect();
        check(unsafe { self.cuda.cuMemcpyHtoD(address, words.as_ptr().cast(), words.len() * 4) })
    }

    fn texture(&self, memory: CUdeviceptr, bytes: usize) -> Result<CUtexObject, CUresult> {
        let linear = CUDA_RESOURCE_DESC_res_linear {
            devPtr: memory,
            format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
            numChannels: 1,
            sizeInBytes: bytes,
        };
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_LINEAR,
            res: CUDA_RESOURCE_DESC_res { linear },
            flags: 0,
        };
        let integers = CUDA_TEXTURE_DESC { flags: CU_TRSF_READ_AS_INTEGER, ..Default::default() };
        let mut texture = 0;
        check(unsafe { self.cuda.cuTexObjectCreate(&mut texture, &resource, &integers, std::ptr::null()) })?;
        Ok(texture)
    }

    fn surface(&self, [width, height]: [usize; 2]) -> Result<(CUsurfObject, CUarray), CUresult> {
        let shape = CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Format: CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32,
            NumChannels: 1,
            Flags: CUDA_ARRAY3D_SURFACE_LDST,
            ..Default::default()
        };
        let (mut array, mut surface) = (null_mut(), 0);
        check(unsafe { self.cuda.cuArray3DCreate(&mut array, &shape) })?;
        let resource = CUDA_RESOURCE_DESC {
            resType: CUresourcetype::CU_RESOURCE_TYPE_ARRAY,
            res: CUDA_RESOURCE_DESC_res { array: CUDA_RESOURCE_DESC_res_array { hArray: array } },
            flags: 0,
        };
        check(unsafe { self.cuda.cuSurfObjectCreate(&mut surface, &resource) })?;
        Ok((surface, array))
    }

    fn launch(&mut self, grid: [u32; 3], block: [u32; 3], words: &[&str]) -> Outcome {
        let (options, arguments): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.contains('='));
        let options: HashMap<&str, &str> =
            options.into_iter().map(|option| option.split_once('=').unwrap()).collect();
        let side = if self.wrong { "wrong" } else { "right" };
        let kernel = match (options.get("kernel"), &self.case.finds) {
            (Some(kernel), _) => (*kernel).to_owned(),
            (None, Some(_)) => format!("{}_{side}", self.case.name),
            (None, None) => self.case.name.clone(),
        };
        let (name, mut function) = (CString::new(kernel).unwrap(), null_mut());
        check(unsafe { self.cuda.cuModuleGetFunction(&mut function, self.module, name.as_ptr()) })?;
        let mut attributes = Vec::new();
        if let Some(size) = options.get("cluster") {
            let size = CUlaunchAttributeValue_clusterDim { x: number(size) as u32, y: 1, z: 1 };
            attributes.push(CUlaunchAttribute {
                id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                value: CUlaunchAttributeValue { clusterDim: size },
                ..Default::default()
            });
        }
        if options.contains_key("cooperative") {
            attributes.push(CUlaunchAttribute {
                id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                value: CUlaunchAttributeValue { cooperative: 1 },
                ..Default::default()
            });
        }
        let config = CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: options.get("shared").map_or(0, |bytes| number(bytes) as u32),
            hStream: options.get("stream").map_or(Ok(null_mut()), |stream| self.stream(stream))?,
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        let mut values: Vec<Vec<u8>> = arguments.iter().map(|word| self.argument(word)).collect();
        let mut pointers: Vec<_> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        check(unsafe { self.cuda.cuLaunchKernelEx(&config, function, pointers.as_mut_ptr(), null_mut()) })
    }

    fn stream(&mut self, name: &str) -> Result<CUstream, CUresult> {
        if let Some(stream) = self.streams.get(name) {
            return Ok(*stream);
        }
        let mut stream = null_mut();
        check(unsafe { self.cuda.cuStreamCreate(&mut stream, 1) })?;
        self.streams.insert(name.to_owned(), stream);
        Ok(stream)
    }

    /// A number, an address that has a name, or how far two of these are apart.
    fn value(&self, word: &str) -> u64 {
        if let Some((here, there)) = word.split_once("..") {
            return self.names[there].wrapping_sub(self.names[here]);
        }
        self.names.get(word).copied().unwrap_or_else(|| number(word))
    }

    /// The bytes of an argument: words joined by commas are one structure, numbers with a point are floats.
    fn argument(&self, word: &str) -> Vec<u8> {
        if let Some((first, rest)) = word.split_once(',') {
            let mut bytes = self.value(first).to_le_bytes().to_vec();
            rest.split(',').for_each(|word| bytes.extend((number(word) as u32).to_le_bytes()));
            return bytes;
        }
        if word.contains('.') && !word.contains("..") {
            return word.parse::<f32>().unwrap().to_le_bytes().to_vec();
        }
        self.value(word).to_le_bytes().to_vec()
    }

    fn give_back(&self, given: GiveBack) -> Outcome {
        unsafe {
            match given {
                GiveBack::Memory(address) => check(self.cuda.cuMemFree(address)),
                GiveBack::Ordered(address) => check(self.cuda.cuMemFreeAsync(address, null_mut())),
                GiveBack::Host(host) => check(self.cuda.cuMemFreeHost(host)),
                GiveBack::Texture(texture) => check(self.cuda.cuTexObjectDestroy(texture)),
                GiveBack::Surface(surface, array) => {
                    check(self.cuda.cuSurfObjectDestroy(surface))?;
                    check(self.cuda.cuArrayDestroy(array))
                }
            }
        }
    }

    /// Waits, and gives back what was not given back before, but for the context.
    fn end(mut self) -> Outcome {
        check(unsafe { self.cuda.cuCtxSynchronize() })?;
        for (_, given) in std::mem::take(&mut self.given) {
            self.give_back(given)?;
        }
        unsafe {
            for stream in self.streams.values() {
                check(self.cuda.cuStreamDestroy(*stream))?;
            }
            check(self.cuda.cuModuleUnload(self.module))
        }
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or_else(|_| panic!("{word}"))
}

/// `2x3` and the like.
fn shape(word: &str) -> [u32; 3] {
    let mut shape = [1; 3];
    word.split('x').zip(&mut shape).for_each(|(extent, into)| *into = number(extent) as u32);
    shape
}
