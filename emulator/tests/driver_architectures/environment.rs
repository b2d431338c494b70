//! The variables, each in a process of its own.

use super::*;

const ARCH: &str = "CUDA_LAUNCH_EMULATOR_ARCH";
const DEVICES: &str = "CUDA_LAUNCH_EMULATOR_DEVICES";
const PTX: &str = "CUDA_LAUNCH_EMULATOR_PTX";

/// What the process of a test says.
fn said(test: &str, variables: &[(&str, &str)]) -> String {
    let all: Vec<_> =
        [("CUDA_LAUNCH_TEST_CHILD_OF_THIS", "1")].into_iter().chain(variables.iter().copied()).collect();
    let output = child(&format!("environment::{test}"), &all);
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    text
}

fn is_child() -> bool {
    std::env::var_os("CUDA_LAUNCH_TEST_CHILD_OF_THIS").is_some()
}

/// In a child: the numbers of the devices' architectures, or the code of `cuInit`, and whether the newest PTX loads.
#[test]
fn tells() {
    if !is_child() {
        return;
    }
    let cuda = driver();
    let code = unsafe { cuda.cuInit(0) };
    match code {
        CUresult::SUCCESS => tell_devices(&cuda),
        _ => println!("[init {code:?}]"),
    }
}

fn tell_devices(cuda: &Driver) {
    let mut count = 0;
    ok(unsafe { cuda.cuDeviceGetCount(&mut count) });
    let number = |device| {
        let (mut major, mut minor) = (0, 0);
        ok(unsafe { cuda.cuDeviceComputeCapability(&mut major, &mut minor, device) });
        major * 10 + minor
    };
    println!("[devices {:?}]", (0..count).map(number).collect::<Vec<_>>());
    enter(cuda, 0);
    println!(
        "[ptx {:?}]",
        ["9.0", "9.1", "9.4", "9.5"].map(|v| loads(cuda, &ptx(v, "sm_75")).0 == CUresult::SUCCESS)
    );
}

#[test]
fn the_variable_chooses_the_architecture() {
    for (variables, expected) in [
        (&[][..], "[devices [90]]"),
        (&[(ARCH, "sm_80")], "[devices [80]]"),
        (&[(ARCH, " 120 ")], "[devices [120]]"),
        (&[(ARCH, "75,sm_120")], "[devices [75, 120]]"),
        (&[(ARCH, "86"), (DEVICES, "2")], "[devices [86, 86]]"),
        (&[(ARCH, "75,120"), (DEVICES, "2")], "[devices [75, 120]]"),
    ] {
        let said = said("tells", variables);
        assert!(said.contains(expected), "{variables:?}: {said}");
    }
}

#[test]
fn a_wrong_architecture_is_reported_and_the_driver_does_not_start() {
    for variables in
        [&[(ARCH, "91")][..], &[(ARCH, "sm_90a")], &[(ARCH, "75,")], &[(ARCH, "75,120"), (DEVICES, "3")]]
    {
        let said = said("tells", variables);
        let told =
            format!("{ARCH}={} is invalid and cuInit fails; valid: one of sm_75, sm_80", variables[0].1);
        assert!(said.contains(&told) && said.contains("[init CUDA_ERROR_INVALID_VALUE (1)]"), "{said}");
        assert!(said.contains("as many as CUDA_LAUNCH_EMULATOR_DEVICES if that is set"), "{said}");
    }
}

#[test]
fn the_variable_chooses_the_newest_ptx() {
    for (variables, expected) in [
        (&[][..], "[ptx [true, false, false, false]]"),
        (&[(PTX, "9.4")], "[ptx [true, true, true, false]]"),
        (&[(PTX, "9.5")], "[ptx [true, true, true, true]]"),
    ] {
        let said = said("tells", variables);
        assert!(said.contains(expected), "{variables:?}: {said}");
    }
    let said = said("tells", &[(PTX, "9.9")]);
    let told = format!("{PTX}=9.9 is invalid and cuInit fails; valid: a version of PTX, such as 9.4");
    assert!(said.contains(&told) && said.contains("[init CUDA_ERROR_INVALID_VALUE (1)]"), "{said}");
}

/// In a child: instances take what they need of a list, and what they are told goes before it.
#[test]
fn tells_instances() {
    if !is_child() {
        return;
    }
    let capabilities = |options: InstanceOptions| {
        let instance = options.start().unwrap();
        let cuda = instance.driver();
        ok(unsafe { cuda.cuInit(0) });
        let mut count = 0;
        ok(unsafe { cuda.cuDeviceGetCount(&mut count) });
        let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        (0..count).map(|device| attribute(&cuda, device, major)).collect::<Vec<_>>()
    };
    let new = InstanceOptions::new;
    println!("{:?}", capabilities(new()));
    println!("{:?}", [1, 3].map(|devices| capabilities(new().devices(devices))));
    println!("{:?}", capabilities(new().architecture(Architecture::Sm90)));
}

#[test]
fn instances_begin_with_what_the_environment_says() {
    let said = said("tells_instances", &[(ARCH, "75,120")]);
    for expected in ["[7, 12]", "[[7], [7, 12, 7]]", "[9]"] {
        assert!(said.lines().any(|line| line.ends_with(expected)), "{expected}: {said}");
    }
}
