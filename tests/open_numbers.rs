//! Numbers of the driver that have names: the same for all of them.

use cuda_launch::context::ContextLimit;
use cuda_launch::device::{DeviceAttribute, PeerAttribute};
use cuda_launch::module::{CacheConfig, FunctionAttribute, JitTarget};
use cuda_launch::sys;
use cuda_launch::texture::ArrayFormat;
use std::collections::HashSet;

macro_rules! checked {
    ($($name:ident($raw:ident), $prefix:literal, $least:literal;)*) => {$({
        let all = $name::ALL;
        assert!(all.len() >= $least, "{all:?}");
        assert!(all.is_sorted(), "in the driver's order: {all:?}");
        let names: HashSet<&str> = all.iter().filter_map(|one| one.name()).collect();
        assert_eq!(names.len(), all.len(), "each its own name");
        for one in all {
            let name = one.name().unwrap_or_default();
            assert!(name.starts_with($prefix), "{name}");
            assert_eq!((one.to_string(), format!("{one:?}")), (name.to_string(), name.to_string()));
            assert_eq!(($name::from_raw(one.raw()), sys::$raw::from(*one)), (*one, one.raw()));
        }
        let newer = $name::from(sys::$raw(123_456));
        assert_eq!((newer.name(), newer.raw().0), (None, 123_456));
        assert_eq!(newer.to_string(), concat!(stringify!($name), "(123456)"));
    })*};
}

#[test]
fn they_have_names_and_numbers_both_ways() {
    checked! {
        DeviceAttribute(CUdevice_attribute), "CU_DEVICE_ATTRIBUTE_", 140;
        FunctionAttribute(CUfunction_attribute), "CU_FUNC_ATTRIBUTE_", 18;
        PeerAttribute(CUdevice_P2PAttribute), "CU_DEVICE_P2P_ATTRIBUTE_", 5;
        ContextLimit(CUlimit), "CU_LIMIT_", 11;
        ArrayFormat(CUarray_format), "CU_AD_FORMAT_", 8;
        CacheConfig(CUfunc_cache), "CU_FUNC_CACHE_PREFER_", 4;
    }
    assert_eq!(CacheConfig::default(), CacheConfig::PREFER_NONE);
    // An architecture is a number with a meaning, not one of a list.
    let raw = JitTarget::sm(90).arch_specific().raw();
    assert_eq!(
        (JitTarget::from_raw(raw).to_string(), JitTarget::from(raw)),
        ("90a".into(), JitTarget::sm(90).arch_specific())
    );
}
