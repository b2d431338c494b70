//! The cache of compiled code: what is in it is found, what is damaged is made again, and no disk makes a compilation fail.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compile_support;

use compile_support::{adds, child, folder, is_child, nvrtc, passes};
use cuda_launch::CudaContext;
use cuda_launch::compile::{
    CacheUse, CompileCache, CompiledCode, CudaSource, Nvrtc, NvrtcOption, NvrtcOptions,
};
use cuda_launch::module::JitTarget;
use std::fs;
use std::path::PathBuf;

const VECADD: &str = include_str!("../examples/kernels/vecadd.cu");

fn kernel(number: u32) -> CudaSource {
    CudaSource::new(format!("extern \"C\" __global__ void k(int* x) {{ *x = {}; }}", 70_000 + number))
}

fn options() -> NvrtcOptions {
    NvrtcOptions::new(JitTarget::sm(80))
}

fn word(code: &CompiledCode) -> &'static str {
    match code.cache() {
        CacheUse::Off => "off",
        CacheUse::Hit => "hit",
        CacheUse::Stored => "stored",
        CacheUse::NotStored(_) => "not stored",
        _ => "else",
    }
}

fn entries(folder: &PathBuf) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// A compiler with a cache in a folder of the test's own.
fn with_cache(name: &str) -> Option<(Nvrtc, PathBuf)> {
    let nvrtc = nvrtc()?;
    let folder = folder(name);
    Some((nvrtc.with_cache(CompileCache::at(&folder)), folder))
}

#[test]
fn the_second_time_the_code_comes_from_the_cache() {
    let Some((nvrtc, folder)) = with_cache("hit") else { return };
    let ctx = CudaContext::new(0).unwrap();
    let options = NvrtcOptions::for_context(&ctx);
    let source = CudaSource::new(VECADD).name("vecadd.cu").expression("vecadd");
    let first = nvrtc.compile(&source, &options).unwrap();
    let second = nvrtc.compile(&source, &options).unwrap();
    assert_eq!((word(&first), word(&second)), ("stored", "hit"));
    assert_eq!((first.bytes(), first.log(), first.origin()), (second.bytes(), second.log(), second.origin()));
    assert_eq!(second.lowered_name("vecadd").unwrap(), "vecadd");
    adds(&second.load(&ctx).unwrap(), "vecadd");
    let cache = CompileCache::at(&folder);
    assert!(cache.size().unwrap() > first.bytes().len() as u64);
    cache.clear().unwrap();
    assert_eq!((cache.size().unwrap(), word(&nvrtc.compile(&source, &options).unwrap())), (0, "stored"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn whatever_the_code_depends_on_makes_another_entry() {
    let Some((nvrtc, folder)) = with_cache("key") else { return };
    let headers = compile_support::folder("key-headers");
    fs::write(headers.join("outer.h"), "#include \"inner.h\"\n").unwrap();
    let inner = |value: u32| fs::write(headers.join("inner.h"), format!("#define N {value}\n")).unwrap();
    inner(70_001);
    let source = CudaSource::new("#include <outer.h>\nextern \"C\" __global__ void k(int* x) { *x = N; }");
    let with_headers = options().include(&headers);
    let compile = |source: &CudaSource, options: &NvrtcOptions| nvrtc.compile(source, options).unwrap();
    assert_eq!(word(&compile(&source, &with_headers)), "stored");
    assert_eq!(word(&compile(&source, &with_headers)), "hit");
    inner(70_002);
    let changed = compile(&source, &with_headers);
    assert!(word(&changed) == "stored" && changed.ptx().unwrap().contains("70002"), "{:?}", changed.ptx());
    for options in [
        with_headers.clone().option(NvrtcOption::LineInfo),
        with_headers.clone().option(NvrtcOption::Define("M".into(), None)),
        NvrtcOptions::new(JitTarget::sm(90)).include(&headers),
    ] {
        assert_eq!(word(&compile(&source, &options)), "stored");
    }
    assert_eq!(word(&compile(&source.clone().name("other.cu"), &with_headers)), "stored");
    assert_eq!(word(&compile(&source.clone().header("unused.h", ""), &with_headers)), "stored");
    // What cannot be known is not kept, and says why.
    let raw = compile(&source, &with_headers.option(NvrtcOption::Raw("--fmad=false".into())));
    let CacheUse::NotStored(reason) = raw.cache() else { panic!("{:?}", raw.cache()) };
    assert!(reason.contains("raw option"), "{reason}");
    fs::remove_dir_all(folder).unwrap();
    fs::remove_dir_all(headers).unwrap();
}

#[test]
fn a_damaged_entry_is_compiled_again() {
    let Some((nvrtc, folder)) = with_cache("damage") else { return };
    let good = nvrtc.compile(&kernel(0), &options()).unwrap();
    let entry = entries(&folder).remove(0);
    let bytes = fs::read(&entry).unwrap();
    let middle = bytes.len() / 2;
    let damages: [Vec<u8>; 4] = [
        bytes[..middle].to_vec(),
        Vec::new(),
        bytes.iter().enumerate().map(|(i, byte)| if i == middle { byte ^ 1 } else { *byte }).collect(),
        b"something else altogether".to_vec(),
    ];
    for damage in damages {
        fs::write(&entry, &damage).unwrap();
        let again = nvrtc.compile(&kernel(0), &options()).unwrap();
        assert_eq!((word(&again), again.bytes()), ("stored", good.bytes()));
        assert_eq!(fs::read(&entry).unwrap(), bytes);
    }
    // Whole, but of another source.
    nvrtc.compile(&kernel(1), &options()).unwrap();
    let other = entries(&folder).into_iter().find(|path| *path != entry).unwrap();
    fs::copy(&other, &entry).unwrap();
    assert_eq!(nvrtc.compile(&kernel(0), &options()).unwrap().bytes(), good.bytes());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn entries_used_longest_ago_go_first() {
    let Some((nvrtc, folder)) = with_cache("limit") else { return };
    nvrtc.compile(&kernel(0), &options()).unwrap();
    let one = CompileCache::at(&folder).size().unwrap();
    let cache = CompileCache::at(&folder).limit(3 * one + one / 2);
    let nvrtc = nvrtc.with_cache(cache.clone());
    let wait = || std::thread::sleep(std::time::Duration::from_millis(20));
    for number in [1, 2, 0, 3, 4] {
        wait();
        nvrtc.compile(&kernel(number), &options()).unwrap();
        assert!(cache.size().unwrap() <= 3 * one + one / 2);
    }
    // 1 and 2 went; 0 was used again after them.
    let kept: Vec<&str> =
        [0, 3, 4].map(|number| word(&nvrtc.compile(&kernel(number), &options()).unwrap())).into();
    assert_eq!(kept, ["hit", "hit", "hit"]);
    assert_eq!(word(&nvrtc.compile(&kernel(1), &options()).unwrap()), "stored");
    // Code that is larger than the limit is not kept.
    let small = nvrtc.with_cache(CompileCache::at(&folder).limit(10));
    let code = small.compile(&kernel(9), &options()).unwrap();
    assert!(
        matches!(code.cache(), CacheUse::NotStored(reason) if reason.contains("limit of 10 bytes")),
        "{:?}",
        code.cache()
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_made_costs_only_the_cache() {
    let Some((nvrtc, folder)) = with_cache("no-folder") else { return };
    fs::write(folder.join("file"), "").unwrap();
    let nvrtc = nvrtc.with_cache(CompileCache::at(folder.join("file").join("cache")));
    let code = nvrtc.compile(&kernel(0), &options()).unwrap();
    assert!(
        matches!(code.cache(), CacheUse::NotStored(reason) if reason.contains("file")),
        "{:?}",
        code.cache()
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[cfg(unix)]
fn a_folder_that_others_may_write_costs_only_the_cache() {
    use std::os::unix::fs::PermissionsExt;
    let Some((nvrtc, folder)) = with_cache("modes") else { return };
    let compile = || nvrtc.compile(&kernel(0), &options()).unwrap();
    assert_eq!(word(&compile()), "stored");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let code = compile();
    let CacheUse::NotStored(reason) = code.cache() else { panic!("{:?}", code.cache()) };
    assert!(reason.contains("other users may write") && reason.contains("chmod go-w"), "{reason}");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(word(&compile()), "hit");
    fs::remove_dir_all(folder).unwrap();
}

/// Every write fails in the child, as on a full disk: files may have no bytes there.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_costs_only_the_cache() {
    const TEST: &str = "a_full_disk_costs_only_the_cache";
    let Some(nvrtc) = nvrtc() else { return };
    if is_child(TEST) {
        let cache = CompileCache::user().unwrap();
        let code = nvrtc.with_cache(cache).compile(&kernel(0), &options()).unwrap();
        assert!(code.ptx().unwrap().contains("70000"));
        return assert!(matches!(code.cache(), CacheUse::NotStored(_)), "{:?}", code.cache());
    }
    let folder = folder("full");
    let plain = child(TEST, &folder);
    let mut limited = std::process::Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args());
    limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    passes(&mut limited);
    assert_eq!(entries(&folder), Vec::<PathBuf>::new(), "no half entry is left");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn processes_that_fill_one_cache_at_once_agree() {
    const TEST: &str = "processes_that_fill_one_cache_at_once_agree";
    let Some(nvrtc) = nvrtc() else { return };
    let check = |nvrtc: &Nvrtc, words: &[&str]| {
        for number in 0..5 {
            let code = nvrtc.compile(&kernel(number), &options()).unwrap();
            assert!(code.ptx().unwrap().contains(&(70_000 + number).to_string()), "{:?}", code.ptx());
            assert!(words.contains(&word(&code)), "{:?}", code.cache());
        }
    };
    if is_child(TEST) {
        // Room for some of them only, so that entries also go while others read them.
        let cache = CompileCache::user().unwrap();
        let small = nvrtc.clone().with_cache(cache.clone().limit(2500));
        for _ in 0..10 {
            check(&nvrtc.clone().with_cache(cache.clone()), &["stored", "hit"]);
            check(&small, &["stored", "hit"]);
        }
        return check(&nvrtc.with_cache(cache), &["stored", "hit"]);
    }
    let folder = folder("race");
    let children: Vec<_> = (0..4)
        .map(|_| {
            std::thread::spawn({
                let folder = folder.clone();
                move || passes(&mut child(TEST, &folder))
            })
        })
        .collect();
    children.into_iter().for_each(|child| drop(child.join().unwrap()));
    assert!(entries(&folder).iter().all(|path| path.extension().is_some_and(|ending| ending == "code")));
    let nvrtc = nvrtc.with_cache(CompileCache::at(&folder));
    check(&nvrtc, &["stored", "hit"]);
    check(&nvrtc, &["hit"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_users_cache_is_where_the_variable_says() {
    const TEST: &str = "the_users_cache_is_where_the_variable_says";
    if is_child(TEST) {
        return println!("cache: {:?}", CompileCache::user().map(|cache| cache.folder().to_path_buf()));
    }
    let text = passes(&mut child(TEST, std::path::Path::new("some/where")));
    assert!(text.contains("cache: Some(\"some/where\")"), "{text}");
    let text = passes(&mut child(TEST, std::path::Path::new("")));
    assert!(text.contains("cache: None"), "{text}");
}

#[test]
fn what_depends_on_more_than_its_files_is_not_kept() {
    let Some((nvrtc, folder)) = with_cache("depends") else { return };
    let computed = CudaSource::new("#define H \"h.h\"\n#include H\n").header("h.h", "");
    let dated = CudaSource::new("__device__ const char* made = __DATE__;");
    for (source, reason) in [(computed, "`#include H`"), (dated, "`__DATE__`")] {
        let code = nvrtc.compile(&source, &options()).unwrap();
        let CacheUse::NotStored(why) = code.cache() else { panic!("{:?}", code.cache()) };
        assert!(why.contains(reason), "{why}");
    }
    assert!(!folder.exists() || entries(&folder).is_empty());
    fs::remove_dir_all(folder).unwrap();
}
