//! Makes foreign text safe to print.
//!
//! Escape sequences and control characters are removed; characters that change the direction of text or take no room
//! are written out, such as `<U+202E>`, so that what a person reads is what is there. The result holds no control
//! character but `\n` and `\t`, and making it safe again changes nothing. It keeps no colours: a surface adds its own.

pub mod stream;

use std::fmt::Write as _;

pub use stream::TerminalStream;

/// Shown in place of a carriage return that ends no line.
const CARRIAGE_RETURN: char = '\u{240d}';

/// Returns `text` safe for a terminal. Idempotent; emits no control character but `\n` and `\t`.
///
/// A control string (OSC, DCS and the like) that never ends is removed up to the end of its line, so that it cannot
/// swallow the rest of the text. CR LF becomes LF; CRs that end no line are shown as one `␍`.
pub fn for_terminal(text: &str) -> String {
    if text
        .bytes()
        .all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t'))
    {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let after = &rest[char.len_utf8()..];
        rest = match char {
            '\u{1b}' => after_escape(after),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => after_control_string(after),
            '\u{9b}' => after_csi(after),
            '\n' | '\t' => {
                safe.push(char);
                after
            }
            '\r' => {
                let after = after.trim_start_matches('\r');
                if !after.starts_with('\n') {
                    safe.push(CARRIAGE_RETURN);
                }
                after
            }
            _ if char.is_control() => after,
            _ if is_hidden(char) && !is_part_of_emoji(char, &safe, after) => {
                push_code_point(&mut safe, char);
                after
            }
            _ => {
                safe.push(char);
                after
            }
        };
    }
    safe
}

/// Returns `text` as one line of at most `max_chars` characters, for a title or a quote inside an error.
///
/// Nothing is removed: control characters are shown as control pictures (`␛`, `␊`), hidden ones as `<U+202E>`. White
/// space at both ends goes. A text that is too long ends in `…`, which counts.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut room = max_chars;
    let mut shown = String::new();
    // Where the line is cut if more comes: the end of what fits beside the `…`.
    let mut cut = 0;
    let text = text.trim();
    for (at, char) in text.char_indices() {
        shown.clear();
        match char {
            '\0'..='\u{1f}' => {
                shown.push(char::from_u32(0x2400 + u32::from(char)).unwrap_or('\u{fffd}'));
            }
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_hidden(char)
                && is_part_of_emoji(char, &line, &text[at + char.len_utf8()..]) =>
            {
                shown.push(char);
            }
            _ if char.is_control() || is_hidden(char) => push_code_point(&mut shown, char),
            _ => shown.push(char),
        }
        let width = shown.chars().count();
        if width > room {
            line.truncate(cut);
            if max_chars > 0 {
                line.push('…');
            }
            return line;
        }
        line.push_str(&shown);
        room -= width;
        if room > 0 {
            cut = line.len();
        }
    }
    line
}

/// Returns what follows an escape sequence whose ESC has been read.
fn after_escape(rest: &str) -> &str {
    match rest.bytes().next() {
        Some(b'[') => after_csi(&rest[1..]),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => after_control_string(&rest[1..]),
        Some(b' '..=b'/') => {
            let rest = rest.trim_start_matches(|char| matches!(char, ' '..='/'));
            rest.strip_prefix(|char| matches!(char, '0'..='~'))
                .unwrap_or(rest)
        }
        Some(b'0'..=b'~') => &rest[1..],
        _ => rest,
    }
}

/// Returns what follows a control sequence whose introducer has been read.
fn after_csi(rest: &str) -> &str {
    let rest = rest.trim_start_matches(|char| matches!(char, '0'..='?'));
    let rest = rest.trim_start_matches(|char| matches!(char, ' '..='/'));
    rest.strip_prefix(|char| matches!(char, '@'..='~'))
        .unwrap_or(rest)
}

/// Returns what follows a control string whose introducer has been read.
fn after_control_string(rest: &str) -> &str {
    let end = rest.char_indices().find_map(|(at, char)| match char {
        '\u{7}' | '\u{9c}' => Some(at + char.len_utf8()),
        '\u{1b}' if rest[at + 1..].starts_with('\\') => Some(at + 2),
        // Any other ESC, CAN, SUB or C1 control aborts the string and is read again; this also keeps the search linear.
        '\u{1b}' | '\u{18}' | '\u{1a}' | '\u{80}'..='\u{9f}' => Some(at),
        _ => None,
    });
    match end {
        Some(end) => &rest[end..],
        None => rest.find('\n').map_or("", |line_end| &rest[line_end..]),
    }
}

/// Says whether a character takes no room, or changes the direction of text, or breaks lines behind one's back.
fn is_hidden(char: char) -> bool {
    matches!(
        char,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Says whether a joiner or a variation selector stands where an emoji has one: at most one, after a symbol.
fn is_part_of_emoji(char: char, before: &str, after: &str) -> bool {
    let Some(last) = before.chars().next_back() else {
        return false;
    };
    match char {
        '\u{fe0e}' | '\u{fe0f}' => is_symbol(last) || matches!(last, '0'..='9' | '#' | '*'),
        '\u{200d}' => (is_symbol(last) || last == '\u{fe0f}') && after.starts_with(is_symbol),
        _ => false,
    }
}

fn is_symbol(char: char) -> bool {
    matches!(char, '\u{a9}' | '\u{ae}' | '\u{2190}'..='\u{23ff}' | '\u{2460}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

fn push_code_point(text: &mut String, char: char) {
    // Writing to a string cannot fail.
    let _ = write!(text, "<U+{:04X}>", u32::from(char));
}

#[cfg(test)]
mod tests;
