//! Programs of `awk` that only print.

/// Says whether `awk` only prints: its program runs nothing, writes to no file and chooses no file to read.
///
/// The program is not parsed. What could be a call, a pipe or a redirect anywhere in it makes it an ordinary program.
pub(super) fn is_printing(arguments: &[String]) -> bool {
    // One of them opens connections under such names.
    if arguments.iter().any(|word| word.contains("/inet")) {
        return false;
    }
    let mut rest = arguments;
    while let [word, after @ ..] = rest
        && word.starts_with('-')
    {
        rest = match (word.as_str(), after) {
            ("-F", [_, after @ ..]) => after,
            ("-v", [value, after @ ..]) if value.contains('=') => after,
            (glued, _) if glued.len() > 2 && glued.starts_with("-F") => after,
            _ => return false,
        };
    }
    let Some((program, operands)) = rest.split_first() else {
        return false;
    };
    // Some take an option behind the program for one.
    only_prints(program)
        && !operands
            .iter()
            .any(|word| word.len() > 1 && word.starts_with('-'))
}

fn only_prints(program: &str) -> bool {
    const DOORS: &[&str] = &["system", "getline", "ARGV", "ARGC", "PROCINFO", "@", "\\\n"];
    if DOORS.iter().any(|door| program.contains(door)) {
        return false;
    }
    // `||` is no pipe.
    if program.replace("||", "").contains('|') || program.contains("|||") {
        return false;
    }
    if !program.contains('>') || !program.contains("print") {
        return true;
    }
    // Behind `print`, `>` writes. In front of the braces it compares, as long as no text or pattern hides a brace.
    if program.contains(['"', '/', '#', '\n', '\\']) {
        return false;
    }
    let mut depth = 0_usize;
    for char in program.chars() {
        match char {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '>' if depth > 0 => return false,
            _ => {}
        }
    }
    depth == 0
}
