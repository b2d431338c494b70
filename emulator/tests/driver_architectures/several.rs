//! Different devices beside each other.

use super::*;
use cuda_emulator::InstanceError;
use std::sync::Barrier;
use std::thread;

#[test]
fn each_device_runs_its_own_code() {
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm120]);
    let old = ptx("7.0", "sm_75");
    for (device, expected) in [(0, 40), (1, 170)] {
        enter(&cuda, device);
        let module = load(&cuda, &old);
        assert_eq!(multiprocessors(&cuda, module), expected);
    }
    // Newer code is for the second only, whatever context was used before.
    for (device, expected) in
        [(1, CUresult::SUCCESS), (0, CUresult::CUDA_ERROR_INVALID_PTX), (1, CUresult::SUCCESS)]
    {
        enter(&cuda, device);
        assert_eq!(loads(&cuda, &ptx("8.7", "sm_120a")).0, expected);
    }
}

#[test]
fn a_function_of_one_device_does_not_run_on_a_stream_of_another() {
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm120]);
    enter(&cuda, 0);
    let kernel = function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "room");
    enter(&cuda, 1);
    let stream = stream(&cuda, 0);
    assert_eq!(launch(&cuda, kernel, stream, &mut []), CUresult::CUDA_ERROR_INVALID_HANDLE);
    ok(unsafe { cuda.cuCtxSynchronize() });
}

#[test]
fn memory_is_copied_and_reached_between_them() {
    let (_instance, cuda) = instance(&[Architecture::Sm75, Architecture::Sm120]);
    let contexts = [0, 1].map(|device| enter(&cuda, device));
    let memory = contexts.map(|context| {
        ok(unsafe { cuda.cuCtxSetCurrent(context) });
        alloc(&cuda, 4)
    });
    write(&cuda, memory[0], &7_u32.to_ne_bytes());
    ok(unsafe { cuda.cuMemcpyPeer(memory[1], contexts[1], memory[0], contexts[0], 4) });
    assert_eq!(read(&cuda, memory[1], 4), 7_u32.to_ne_bytes());
    // The older device's kernel stores what it is into the newer one's memory.
    ok(unsafe { cuda.cuCtxSetCurrent(contexts[0]) });
    ok(unsafe { cuda.cuCtxEnablePeerAccess(contexts[1], 0) });
    let (kernel, mut target) = (function(&cuda, load(&cuda, &ptx("7.0", "sm_75")), "number"), memory[1]);
    ok(launch(&cuda, kernel, null_mut(), &mut [argument(&mut target)]));
    ok(unsafe { cuda.cuCtxSynchronize() });
    assert_eq!(read(&cuda, memory[1], 4), 40_u32.to_ne_bytes());
}

#[test]
fn instances_on_two_threads_have_their_own() {
    let together = Arc::new(Barrier::new(2));
    let threads = [(Architecture::Sm75, 40), (Architecture::Sm120, 170)].map(|(architecture, expected)| {
        let together = Arc::clone(&together);
        thread::spawn(move || {
            let (_instance, cuda) = device(architecture);
            together.wait();
            for _ in 0..20 {
                let module = load(&cuda, &ptx("7.0", "sm_75"));
                assert_eq!(multiprocessors(&cuda, module), expected);
                let newest = loads(&cuda, &ptx("8.7", "sm_120")).0;
                assert_eq!(newest == CUresult::SUCCESS, architecture == Architecture::Sm120);
                ok(unsafe { cuda.cuModuleUnload(module) });
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn the_options_agree() {
    let two = [Architecture::Sm75, Architecture::Sm120];
    let error = InstanceOptions::new().devices(3).architectures(two).start().unwrap_err();
    assert_eq!(error, InstanceError::Architectures { asked: 2, devices: Some(3), most: 8 });
    assert!(error.to_string().contains("2 architectures for 3 devices"), "{error}");
    let error = InstanceOptions::new().architectures([]).start().unwrap_err();
    assert_eq!(error, InstanceError::Architectures { asked: 0, devices: None, most: 8 });
    let error = InstanceOptions::new().architectures([Architecture::Sm90; 9]).start().unwrap_err();
    assert_eq!(error, InstanceError::Architectures { asked: 9, devices: None, most: 8 });
    for (major, minor) in [(9, 6), (10, 0), (8, 9), (0, 0)] {
        let error = InstanceOptions::new().newest_ptx(major, minor).start().unwrap_err();
        assert_eq!(error, InstanceError::Ptx { major, minor });
        assert!(error.to_string().contains("up to 9.5"), "{error}");
    }
    // One is for all.
    let instance = InstanceOptions::new().devices(3).architecture(Architecture::Sm86).start().unwrap();
    let cuda = instance.driver();
    ok(unsafe { cuda.cuInit(0) });
    let capability = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    assert_eq!([0, 1, 2].map(|device| attribute(&cuda, device, capability)), [6, 6, 6]);
    // As many devices as architectures.
    let (_instance, cuda) = super::instance(&two);
    let mut count = 0;
    ok(unsafe { cuda.cuDeviceGetCount(&mut count) });
    assert_eq!(count, 2);
}
