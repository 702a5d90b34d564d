//! Takes identifiers and prose apart into words.

/// Longest word, in characters; the rest of it is dropped.
pub(crate) const MAX_WORD_CHARS: usize = 48;

/// Splits `text` where a word ends: at what is no letter or digit, between `a` and `B`, before the last capital of `HTTPServer`,
/// and between letters and digits. Words are in lower case; writing without spaces gives each pair of characters.
pub(crate) fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && !is_mark(c))
        .filter(|run| !run.is_empty())
        .flat_map(split_run)
}

/// What [`split`] takes apart inside, as one word: `promql` of `PromQL`, which prose spells either way.
pub(crate) fn compounds(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|run| run.is_ascii())
        .filter(|run| run.len() <= MAX_WORD_CHARS && split_run(run).len() > 1)
        .map(str::to_lowercase)
}

/// A mark that belongs to the letter before it.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

fn split_run(run: &str) -> Vec<String> {
    let chars: Vec<char> = run.chars().filter(|c| !is_mark(*c)).collect();
    let mut words = Vec::new();
    let mut start = 0;
    for at in 1..=chars.len() {
        if at == chars.len() || is_boundary(&chars, at) {
            push(&mut words, &chars[start..at]);
            start = at;
        }
    }
    words
}

fn is_boundary(chars: &[char], at: usize) -> bool {
    let (before, here) = (chars[at - 1], chars[at]);
    let next_is_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
    (before.is_lowercase() && here.is_uppercase())
        || (before.is_uppercase() && here.is_uppercase() && next_is_lower)
        || before.is_numeric() != here.is_numeric()
        || is_unspaced(before) != is_unspaced(here)
}

/// A character of a script that puts no spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn push(words: &mut Vec<String>, chars: &[char]) {
    if chars.first().copied().is_some_and(is_unspaced) && chars.len() > 2 {
        words.extend(chars.windows(2).map(|pair| pair.iter().collect()));
    } else {
        words.extend(chars.first().map(|_| {
            chars
                .iter()
                .take(MAX_WORD_CHARS)
                .flat_map(|c| c.to_lowercase())
                .filter(|c| !is_mark(*c))
                .map(unaccented)
                .collect()
        }));
    }
}

/// The letter without its accent, for the common Latin ones.
fn unaccented(c: char) -> char {
    match c {
        'à'..='å' => 'a',
        'ç' => 'c',
        'è'..='ë' => 'e',
        'ì'..='ï' => 'i',
        'ñ' => 'n',
        'ò'..='ö' | 'ø' => 'o',
        'ù'..='ü' => 'u',
        'ý' | 'ÿ' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_humps_is_also_one_word() {
        let found: Vec<_> = compounds("PromQL query of GitHub's create_issue v2").collect();
        assert_eq!(found, ["promql", "github", "v2"]);
    }

    #[test]
    fn a_name_is_split_where_a_reader_would() {
        for (text, words) in [
            ("create_issue", "create issue"),
            ("createIssueComment", "create issue comment"),
            ("HTTPServer.getURL2x", "http server get url 2 x"),
            ("browser-take-screenshot", "browser take screenshot"),
            ("Straße übergrößen Café", "straße ubergroßen cafe"),
            ("cafe\u{301}", "cafe"),
            ("文件搜索 web検索", "文件 件搜 搜索 web 検索"),
            ("  --__ ", ""),
            ("İstanbul", "istanbul"),
        ] {
            assert_eq!(split(text).collect::<Vec<_>>().join(" "), words, "{text}");
        }
        assert_eq!(
            split(&"x".repeat(5000)).next().unwrap().len(),
            MAX_WORD_CHARS
        );
    }
}
