//! Prints what is right and wrong with this machine's CUDA: `cargo run --example doctor`.

fn main() {
    println!("{}", cuda_launch::diagnostics::doctor());
}
