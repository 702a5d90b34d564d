//! The program that confines itself and then becomes the command.
//!
//! A sandboxed command starts as `helper __sandbox SPEC -- program args…`. Confinement that a process can only put on
//! itself (Landlock, seccomp) is put on here, in a fresh single-threaded process, and not between fork and exec of a
//! threaded one, where nothing may be allocated. A helper that cannot confine itself as told ends with 126 and the
//! reason: it never runs the command with less.

use std::ffi::OsString;

/// The hidden subcommand that leads here. The binary compares its first argument with this before anything else.
pub const COMMAND: &str = "__sandbox";

/// The exit code of a helper that could not confine itself.
pub const NOT_CONFINED: i32 = 126;

/// The exit code of a helper that could not start the command.
pub const NOT_STARTED: i32 = 127;

/// Confines this process as `args` say and becomes the command. `args` are those after [`COMMAND`].
///
/// Must be called first thing in `main`: no thread may run yet.
#[expect(
    clippy::print_stderr,
    reason = "the command's errors go where the helper's do, and it is its own process"
)]
#[expect(
    clippy::exit,
    reason = "a helper that has failed has nothing left to do"
)]
pub fn helper_main(args: impl IntoIterator<Item = OsString>) -> ! {
    let (code, problem) = become_command(args.into_iter().collect());
    eprintln!("sandbox: {problem}");
    std::process::exit(code)
}

/// Returns only when it failed: with the exit code and the reason.
fn become_command(args: Vec<OsString>) -> (i32, String) {
    let (spec, program, args) = match split(args) {
        Ok(parts) => parts,
        Err(problem) => return (NOT_CONFINED, problem),
    };
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;
        if let Err(problem) = crate::linux::confine_self(&spec) {
            return (NOT_CONFINED, problem);
        }
        let error = std::process::Command::new(&program).args(args).exec();
        (
            NOT_STARTED,
            format!("cannot start `{}`: {error}", program.display()),
        )
    }
    #[cfg(not(target_os = "linux"))]
    {
        drop((spec, program, args));
        (NOT_CONFINED, "there is no helper on this system".to_owned())
    }
}

/// Splits `SPEC -- program args…`.
fn split(args: Vec<OsString>) -> Result<(String, OsString, Vec<OsString>), String> {
    let usage = || format!("expected `{COMMAND} SPEC -- program args…`");
    let mut args = args.into_iter();
    let spec = args
        .next()
        .and_then(|spec| spec.into_string().ok())
        .ok_or_else(usage)?;
    if args.next().is_none_or(|separator| separator != "--") {
        return Err(usage());
    }
    let program = args.next().ok_or_else(usage)?;
    Ok((spec, program, args.collect()))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::split;

    fn check(args: &[&str], expect: Option<(&str, &str, &[&str])>) {
        let owned = args.iter().map(OsString::from).collect();
        let expect = expect.map(|(spec, program, args)| {
            (
                spec.to_owned(),
                program.into(),
                args.iter().map(OsString::from).collect::<Vec<_>>(),
            )
        });
        assert_eq!(split(owned).ok(), expect, "{args:?}");
    }

    #[test]
    fn the_command_stands_after_the_separator() {
        check(
            &["{}", "--", "sh", "-c", "x"],
            Some(("{}", "sh", &["-c", "x"])),
        );
        check(&["{}", "--", "sh", "--"], Some(("{}", "sh", &["--"])));
        check(&["{}", "--", "sh"], Some(("{}", "sh", &[])));
        check(&["{}", "--"], None);
        check(&["{}", "sh"], None);
        check(&["{}"], None);
        check(&[], None);
    }
}
