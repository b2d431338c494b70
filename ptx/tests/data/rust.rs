// What rustc's NVPTX back end writes and nvcc does not: slices as initialisers, jump tables, functions that never return,
// mangled names with `$`. Without `core`, so that a stable toolchain builds it (see rebuild.sh).
#![feature(no_core, lang_items, abi_ptx, auto_traits, intrinsics)]
#![no_core]
#![no_std]
#![crate_type = "lib"]
#![allow(internal_features)]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
#[lang = "freeze"]
unsafe auto trait Freeze {}
#[lang = "sync"]
unsafe auto trait Sync {}
#[lang = "unsize"]
pub trait Unsize<T: PointeeSized>: PointeeSized {}
#[lang = "coerce_unsized"]
pub trait CoerceUnsized<T> {}
impl<'a, 'b: 'a, T: PointeeSized + Unsize<U>, U: PointeeSized> CoerceUnsized<&'a U> for &'b T {}
#[lang = "drop_in_place"]
unsafe fn drop_in_place<T: PointeeSized>(_: *mut T) {}

impl Copy for u32 {}
impl Copy for f32 {}
impl<T> Copy for *mut T {}
impl<T: PointeeSized> Copy for &T {}

#[repr(C)]
pub struct Argument {
    a: u32,
    b: u64,
    c: f32,
    d: [f32; 3],
}

pub static TABLE: [u32; 4] = [1, 2, 0xffff_ffff, 4];
#[unsafe(no_mangle)]
pub static SLICE: &[u32] = &TABLE;
#[unsafe(no_mangle)]
pub static TEXT: (&str, u64) = ("a \"quoted\" name", 9019431321140265024);

pub mod inner {
    pub trait Value {
        fn value(this: &Self) -> u32;
    }
    impl Value for f32 {
        #[inline(never)]
        fn value(_: &Self) -> u32 {
            7
        }
    }
    #[inline(never)]
    pub fn never(x: *mut u32) -> ! {
        unsafe { *x = 1 };
        loop {}
    }
}

#[unsafe(no_mangle)]
pub extern "ptx-kernel" fn choose(p: *mut u32, s: Argument, n: u32, f: &f32, text: &&str) {
    unsafe {
        match n {
            0 => *p = s.a,
            1 => *p = 70,
            2 => *p = inner::Value::value(f),
            3 => *(p as *mut f32) = s.c,
            4 => *p = 3,
            5 => *(p as *mut u64) = s.b,
            6 => *(p as *mut &str) = TEXT.0,
            7 => *(p as *mut &str) = *text,
            8 => *(p as *mut &[u32]) = SLICE,
            9 => *p = 12,
            _ => inner::never(p),
        }
    }
}
