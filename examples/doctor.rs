//! Diagnoses the CUDA installation of this machine: `cargo run --example doctor`.

fn main() {
    println!("{}", cuda_launch::diagnostics::doctor());
}
