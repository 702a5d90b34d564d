//! The word that was probably meant.

/// The candidates nearest to a word, best first, at most three; none when all are far.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
    // What nobody mistypes need not be compared, and takes long to.
    if word.is_empty() || word.len() > 100 {
        return Vec::new();
    }
    let most = (word.chars().count() / 3).clamp(1, 3);
    let mut near: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let slips = if candidate.len() > 2 && word.len() > 2 && candidate.starts_with(word) {
                1
            } else {
                distance(word, candidate)
            };
            // What shares no character is not meant, however short it is.
            let longest = word.chars().count().max(candidate.chars().count());
            (slips <= most && slips < longest).then_some((slips, candidate))
        })
        .collect();
    near.sort();
    near.dedup();
    near.truncate(3);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The hint that names them, when there are any.
pub(crate) fn did_you_mean(near: &[&str]) -> Option<String> {
    let names: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(", ")))
}

/// How many letters have to be put in, taken out, changed, or swapped with their neighbour; either case is the same.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b))
                .min(row[j + 1] + 1)
                .min(next[j] + 1);
            let is_swap = i > 0 && j > 0 && left[i - 1] == *b && right[j - 1] == *a;
            if is_swap {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_found_and_what_is_far_is_not() {
        #[track_caller]
        fn check(word: &str, expect: &[&str]) {
            let all = ["a", "search", "servers", "status", "stats", "call", "ls"];
            assert_eq!(nearest(word, all), expect, "{word}");
        }
        check("serach", &["search"]);
        check("sarch", &["search"]);
        check("server", &["servers"]);
        check("stat", &["stats", "status"]);
        check("cal", &["call"]);
        check("frobnicate", &[]);
        check("", &[]);
        check("x", &[]);
        check(&"x".repeat(5_000), &[]);
    }
}
