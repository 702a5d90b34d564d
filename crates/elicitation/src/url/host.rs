//! The letters of a host name: which alphabets they come from, and whether they may be shown as they are.
//!
//! Coarse on purpose. What is not known to be harmless is shown as punycode alone.

/// Says whether a part of the name is punycode.
pub(super) fn is_punycode(domain: &str) -> bool {
    domain.split('.').any(|label| label.starts_with("xn--"))
}

/// Says whether one part of the name has letters of several alphabets.
pub(super) fn mixes_scripts(domain: &str) -> bool {
    let (letters, _) = idna::domain_to_unicode(domain);
    letters.split('.').any(|label| {
        let mut scripts = label.chars().filter_map(script);
        let first = scripts.next();
        scripts.any(|script| Some(script) != first)
    })
}

/// Returns the name in its own letters, if it has some beyond ASCII and none that look like others.
///
/// Cyrillic passes under a Cyrillic top-level domain only: elsewhere its letters can spell a Latin name.
pub(super) fn in_letters(domain: &str) -> Option<String> {
    if !is_punycode(domain) || mixes_scripts(domain) {
        return None;
    }
    let (letters, result) = idna::domain_to_unicode(domain);
    result.ok()?;
    let top = letters.trim_end_matches('.').rsplit('.').next()?;
    let top_is_cyrillic = top
        .chars()
        .all(|char| script(char) == Some(Script::Cyrillic));
    let is_harmless = |char: char| match char {
        'a'..='z' | '0'..='9' | '-' | '.' => true,
        // Dotless i, kra, l with a middle dot, apostrophe n, long s.
        '\u{131}' | '\u{138}' | '\u{13f}' | '\u{140}' | '\u{149}' | '\u{17f}' => false,
        '\u{df}'..='\u{f6}' | '\u{f8}'..='\u{17e}' => true,
        // The strokes that look like punctuation.
        '\u{4e00}' | '\u{4e28}' | '\u{4e36}' | '\u{4e3f}' => false,
        '\u{3041}'..='\u{3096}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => top_is_cyrillic && script(char) == Some(Script::Cyrillic),
    };
    letters.chars().all(is_harmless).then_some(letters)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Armenian,
    Hebrew,
    Arabic,
    EastAsian,
    Other,
}

/// Returns the alphabet of a letter; nothing for digits and hyphens.
fn script(char: char) -> Option<Script> {
    match char {
        '0'..='9' | '-' => None,
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{2af}' | '\u{1e00}'..='\u{1eff}' => {
            Some(Script::Latin)
        }
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Script::Greek),
        '\u{400}'..='\u{52f}' => Some(Script::Cyrillic),
        '\u{530}'..='\u{58f}' => Some(Script::Armenian),
        '\u{590}'..='\u{5ff}' => Some(Script::Hebrew),
        '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Some(Script::Arabic),
        '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{318f}'
        | '\u{3400}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => Some(Script::EastAsian),
        _ => Some(Script::Other),
    }
}
