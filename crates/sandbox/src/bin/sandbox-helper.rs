//! The helper alone, for the tests of this crate: the binary of the product has it as a hidden subcommand.

fn main() {
    let mut args = std::env::args_os().skip(1);
    if args
        .next()
        .is_some_and(|first| first == sandbox::helper::COMMAND)
    {
        sandbox::helper_main(args);
    }
}
