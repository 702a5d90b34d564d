//! Makes this test program its own sandbox helper, as the product's binary is.
//!
//! The helper must run before anything else does, and a test program's `main` is not ours: this is called by the
//! loader before it.
#![allow(
    unsafe_code,
    reason = "the loader's list of functions can only be joined by naming its section"
)]

#[used]
// SAFETY: the section holds pointers to functions that take nothing they need and return nothing.
#[unsafe(link_section = ".init_array")]
static BECOME_HELPER: extern "C" fn() = {
    extern "C" fn become_helper() {
        let mut args = std::env::args_os().skip(1);
        if args
            .next()
            .is_some_and(|first| first == sandbox::helper::COMMAND)
        {
            sandbox::helper_main(args);
        }
    }
    become_helper
};
