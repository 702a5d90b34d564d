//! Scripts of `sed` that only print.

/// Says whether `sed` only prints: every option and every command of its scripts is known to.
pub(super) fn is_printing(arguments: &[String]) -> bool {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if let Some(script) = word.strip_prefix("--expression=") {
            scripts.push(script);
            continue;
        }
        match word.as_str() {
            "--quiet" | "--silent" | "--regexp-extended" | "--separate" | "--unbuffered"
            | "--null-data" => {}
            "-" => operands.push(word.as_str()),
            long if long.starts_with("--") => return false,
            short if short.starts_with('-') => {
                let letters = short.trim_start_matches('-');
                // What stands behind `e` is a script, glued or the next word.
                let (flags, script) = match letters.split_once('e') {
                    Some((flags, "")) => match words.next() {
                        Some(script) => (flags, Some(script.as_str())),
                        None => return false,
                    },
                    Some((flags, script)) => (flags, Some(script)),
                    None => (letters, None),
                };
                if !flags.chars().all(|flag| "nErsuz".contains(flag)) {
                    return false;
                }
                scripts.extend(script);
            }
            operand => operands.push(operand),
        }
    }
    if scripts.is_empty() {
        if operands.is_empty() {
            return false;
        }
        scripts.push(operands.remove(0));
    }
    scripts.iter().all(|script| only_prints(script).is_some())
}

/// Reads a script; none if a command of it is not known to print only.
fn only_prints(script: &str) -> Option<()> {
    let mut rest = script.trim_start_matches([' ', ';']);
    while !rest.is_empty() {
        rest = command(rest)?.trim_start_matches(' ');
        rest = match rest.strip_prefix([';', '\n']) {
            Some(after) => after.trim_start_matches([' ', ';', '\n']),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(())
}

/// Reads one command with its addresses and returns what stands behind it.
fn command(script: &str) -> Option<&str> {
    let mut rest = address(script)?;
    if let Some(second) = rest.strip_prefix(',') {
        let second = second
            .trim_start_matches(' ')
            .trim_start_matches(['+', '~']);
        let after = address(second)?;
        if after.len() == second.len() {
            return None;
        }
        rest = after;
    }
    let rest = rest.trim_start_matches(' ').trim_start_matches('!');
    let mut chars = rest.chars();
    match chars.next()? {
        'p' | 'd' | '=' | 'q' | 'l' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'D' | 'P' => {
            Some(chars.as_str())
        }
        command @ ('s' | 'y') => {
            let delimiter = chars.next()?;
            if !matches!(
                delimiter,
                '/' | '|' | '#' | ',' | ':' | '@' | '!' | '%' | '_' | '~'
            ) {
                return None;
            }
            let after = pattern(chars.as_str(), delimiter)?;
            let after = text(after, delimiter)?;
            match command {
                's' => Some(after.trim_start_matches(|flag: char| {
                    matches!(flag, 'g' | 'p' | 'i' | 'I') || flag.is_ascii_digit()
                })),
                _ => Some(after),
            }
        }
        _ => None,
    }
}

/// Skips an address, if there is one.
fn address(script: &str) -> Option<&str> {
    if let Some(rest) = script.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = script.strip_prefix('/') {
        return Some(pattern(rest, '/')?.trim_start_matches('I'));
    }
    let rest = script.trim_start_matches(|char: char| char.is_ascii_digit());
    match rest.strip_prefix('~') {
        Some(step) if rest.len() < script.len() => {
            Some(step.trim_start_matches(|char: char| char.is_ascii_digit()))
        }
        _ => Some(rest),
    }
}

/// Skips a pattern up to its delimiter. Programs differ on a delimiter or a backslash in a bracket: such a one is not read.
fn pattern(script: &str, delimiter: char) -> Option<&str> {
    let after = text(script, delimiter)?;
    let inside = script.get(..script.len() - after.len() - delimiter.len_utf8())?;
    let mut chars = inside.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\\' => drop(chars.next()),
            '[' => {
                if chars.peek() == Some(&'^') {
                    chars.next();
                }
                // A bracket that stands first is one of the characters.
                let mut is_first = true;
                loop {
                    match chars.next()? {
                        ']' if !is_first => break,
                        '\\' => return None,
                        '[' if matches!(chars.peek(), Some('.' | '=')) => return None,
                        // `[[:alpha:]]`
                        '[' if chars.peek() == Some(&':') => while chars.next()? != ']' {},
                        _ => {}
                    }
                    is_first = false;
                }
            }
            _ => {}
        }
    }
    Some(after)
}

/// Skips text up to a delimiter that no backslash stands before.
fn text(script: &str, delimiter: char) -> Option<&str> {
    let mut chars = script.chars();
    loop {
        match chars.next()? {
            '\n' => return None,
            '\\' if chars.next()? == '\n' => return None,
            '\\' => {}
            char if char == delimiter => return Some(chars.as_str()),
            _ => {}
        }
    }
}
