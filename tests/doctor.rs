//! `doctor` on this machine, and in environments where something is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

/// What `doctor` prints in a process of its own, with these variables and without the others that matter.
fn doctor(variables: &[(&str, &str)]) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_prints", "--nocapture", "--ignored"]);
    for name in ["CUDA_LAUNCH_DRIVER", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "CUDA_EMULATOR_DEVICES"] {
        if name != "LD_LIBRARY_PATH" || variables.iter().any(|(set, _)| *set == name) {
            child.env_remove(name);
        }
    }
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
#[ignore = "run by the other tests, in an environment of its own"]
fn child_prints() {
    let found = cuda_launch::diagnostics::doctor();
    println!("{found}");
    println!("serving: {:?}", found.serving().map(|driver| &driver.name));
}

#[test]
fn it_says_what_serves() {
    let found = cuda_launch::diagnostics::doctor();
    let serving = found.serving().expect("the emulator is compiled in");
    assert!(serving.problem.is_none() && serving.cuda_version.unwrap() >= 11080);
    let default = cuda_launch::CudaDevice::all().unwrap();
    assert_eq!(serving.devices.len(), default.len());
    for (told, device) in serving.devices.iter().zip(&default) {
        assert_eq!((told.ordinal, told.name.as_str()), (device.ordinal(), device.name().unwrap().as_str()));
        assert_eq!(told.compute_capability, device.compute_capability().unwrap());
        assert_eq!(told.memory, device.total_memory().unwrap());
        assert_eq!(told.uuid, device.uuid().unwrap().to_string());
    }
    let text = found.to_string();
    assert!(
        text.contains("is used") && text.contains("device 0: ") && text.contains("kernel module: "),
        "{text}"
    );
}

#[test]
fn a_library_that_is_not_there_is_named_with_what_to_do() {
    let text = doctor(&[("CUDA_LAUNCH_DRIVER", "/nonexistent/libcuda.so")]);
    assert!(text.contains("serving: None"), "{text}");
    assert!(text.contains("/nonexistent/libcuda.so (CUDA_LAUNCH_DRIVER)"), "{text}");
    assert!(text.contains("unset the variable"), "{text}");
}

#[test]
fn without_the_emulator_and_a_driver_it_still_answers() {
    let text = doctor(&[("CUDA_LAUNCH_DRIVER", "system")]);
    // A machine with a driver says so; one without lists every name tried, and what to do.
    let nothing =
        text.contains("serving: None") && text.contains("libcuda.so.1: ") && text.contains("advice:");
    assert!(nothing || text.contains("is used"), "{text}");
}

#[test]
fn the_emulator_can_be_asked_for() {
    let text = doctor(&[("CUDA_LAUNCH_DRIVER", "emulator"), ("CUDA_EMULATOR_DEVICES", "2")]);
    assert!(text.contains("serving: Some(\"emulator\")") && text.contains("device 1: "), "{text}");
    let alias = "CUDA_EMULATOR_DEVICES=2 (how many devices the emulator provides; an alias of CUDA_LAUNCH_EMULATOR_DEVICES)";
    assert!(text.contains(alias), "{text}");
    let text = doctor(&[("CUDA_LAUNCH_DRIVER", "emulator"), ("CUDA_LAUNCH_EMULATOR_DEVICES", "2")]);
    assert!(
        text.contains("device 1: ") && text.contains("CUDA_LAUNCH_EMULATOR_DEVICES=2 (how many"),
        "{text}"
    );
    assert!(text.contains("all is well"), "{text}");
    let both = [
        ("CUDA_LAUNCH_DRIVER", "emulator"),
        ("CUDA_EMULATOR_DEVICES", "0"),
        ("CUDA_LAUNCH_EMULATOR_DEVICES", "2"),
    ];
    assert!(doctor(&both).contains("device 1: "), "the name of today counts");
    let none = doctor(&[("CUDA_LAUNCH_DRIVER", "emulator"), ("CUDA_EMULATOR_DEVICES", "0")]);
    assert!(none.contains("serving: None") && none.contains("CUDA_ERROR_NO_DEVICE"), "{none}");
    assert!(none.contains("set CUDA_LAUNCH_EMULATOR_DEVICES to 1"), "{none}");
}

#[test]
fn variables_that_matter_are_told_and_others_are_not() {
    let text = doctor(&[
        ("CUDA_LAUNCH_BLOCKING", "1"),
        ("CUDA_VISIBLE_DEVICES", "0"),
        ("CUDA_UNHEARD_OF", "1"),
        ("LD_LIBRARY_PATH", "/nonexistent"),
    ]);
    assert!(text.contains("CUDA_LAUNCH_BLOCKING=1 (with 1, every launch waits"), "{text}");
    assert!(text.contains("CUDA_VISIBLE_DEVICES=0 (which GPUs"), "{text}");
    assert!(!text.contains("UNHEARD_OF") && !text.contains("LD_LIBRARY_PATH"), "{text}");
}

#[test]
#[cfg(unix)]
fn a_folder_with_another_libcuda_is_pointed_at() {
    let folder = std::env::temp_dir().join(format!("cuda-launch doctor {}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libcuda.so.1"), b"no library").unwrap();
    let text = doctor(&[("LD_LIBRARY_PATH", folder.to_str().unwrap())]);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.contains(&format!("LD_LIBRARY_PATH={}", folder.display())), "{text}");
}
