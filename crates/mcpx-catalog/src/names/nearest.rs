//! What a misspelt name may have meant.

use std::collections::BTreeMap;

/// Characters of a name that are compared.
const MAX_CHARS: usize = 100;

/// The candidates that are spelled nearly as `word`, the nearest first, then by name; at most `limit`.
///
/// Near is an edit distance of at most one and a third of the word's characters, without regard to case; two neighbouring
/// characters that changed places count once.
pub fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    limit: usize,
) -> Vec<&'a str> {
    let pairs = candidates.into_iter().map(|text| (text, text));
    nearest_of(word, pairs, limit)
}

/// The same for candidates that stand for something: each thing once, by its nearest spelling.
pub(super) fn nearest_of<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = (&'a str, &'a str)>,
    limit: usize,
) -> Vec<&'a str> {
    let wanted = folded(word);
    let most = 1 + wanted.len() / 3;
    let mut best: BTreeMap<&str, usize> = BTreeMap::new();
    for (spelling, meaning) in candidates {
        let spelling = folded(spelling);
        if spelling.len().abs_diff(wanted.len()) > most {
            continue;
        }
        let far = distance(&wanted, &spelling);
        // What shares no character is not meant, however short it is.
        if far <= most && far < wanted.len().max(spelling.len()).max(1) {
            let known = best.entry(meaning).or_insert(far);
            *known = far.min(*known);
        }
    }
    let mut found: Vec<(usize, &str)> = best.into_iter().map(|(name, far)| (far, name)).collect();
    found.sort_unstable();
    found.truncate(limit);
    found.into_iter().map(|(_, name)| name).collect()
}

fn folded(text: &str) -> Vec<char> {
    text.chars()
        .take(MAX_CHARS)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Characters put in, taken out, exchanged, or swapped with their neighbour.
pub(crate) fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut before_last = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1; width];
        for (j, to) in b.iter().enumerate() {
            let exchanged = last[j] + usize::from(from != to);
            let mut least = exchanged.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *from == b[j - 1] && a[i - 1] == *to {
                least = least.min(before_last[j - 1] + 1);
            }
            row[j + 1] = least;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_a_stranger_finds_none() {
        let names = ["create_issue", "close_issue", "search", "echo", "a"];
        for (word, found) in [
            ("create_isue", vec!["create_issue", "close_issue"]),
            ("craete_issue", vec!["create_issue"]),
            ("CREATE_ISSUE", vec!["create_issue"]),
            ("ehco", vec!["echo"]),
            ("saerch", vec!["search"]),
            ("b", vec![]),
            ("", vec![]),
            ("delete_everything", vec![]),
        ] {
            assert_eq!(
                nearest(word, names, 1),
                found[..found.len().min(1)],
                "{word}"
            );
        }
        assert_eq!(nearest("clse_issue", names, 5)[0], "close_issue");
        assert_eq!(nearest("ab", ["ba", "abc"], 5), ["abc", "ba"]);
    }

    #[test]
    fn a_swap_counts_once_and_long_names_end() {
        let text = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(distance(&text("ab"), &text("ba")), 1);
        assert_eq!(distance(&text("kitten"), &text("sitting")), 3);
        assert_eq!(distance(&[], &text("abc")), 3);
        let long = "é".repeat(100_000);
        assert_eq!(nearest(&long, [long.as_str()], 1), [long.as_str()]);
    }
}
