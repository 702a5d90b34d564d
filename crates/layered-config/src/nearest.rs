//! The key that was probably meant.

use crate::KeySpec;

/// Says that a key is unknown, and which one is near.
pub(crate) fn unknown(specs: &[KeySpec], key: &[String], origin: &str) -> String {
    let written = key.join(".");
    let message = format!("{origin}: unknown key `{written}`");
    if let Some(near) = nearest(specs, key) {
        return format!("{message}\nhint: did you mean `{near}`?");
    }
    let section = &key[..key.len().saturating_sub(1)];
    let mut siblings: Vec<&str> = specs
        .iter()
        .filter(|spec| !section.is_empty() && spec.covers_start(section))
        .filter_map(|spec| spec.path.split('.').nth(section.len()))
        .collect();
    siblings.dedup();
    if siblings.is_empty() {
        let mut sections: Vec<&str> = specs
            .iter()
            .filter_map(|spec| spec.path.split('.').next())
            .collect();
        sections.sort_unstable();
        sections.dedup();
        return format!("{message}\nhint: there are {}", sections.join(", "));
    }
    format!(
        "{message}\nhint: `{}` takes {}",
        section.join("."),
        siblings.join(", ")
    )
}

/// Returns the known key nearest to `key`, if one is near enough to be a slip.
fn nearest(specs: &[KeySpec], key: &[String]) -> Option<String> {
    let written = key.join(".");
    let last = key.last()?;
    let limit = (written.chars().count() / 4).clamp(1, 3);
    specs
        .iter()
        .filter(|spec| !spec.path.ends_with('*'))
        .filter_map(|spec| {
            let candidate = with_names(spec, key);
            let in_full = distance(&written, &candidate);
            if in_full <= limit {
                return Some((in_full, candidate));
            }
            // The right name in the wrong section. Too short a name is in many sections.
            let same_name = candidate.rsplit('.').next() == Some(last) && last.len() > 3;
            (same_name && !candidate.contains('*')).then_some((limit + 1, candidate))
        })
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns the path of a spec with each `*` replaced by what `key` has in its place.
fn with_names(spec: &KeySpec, key: &[String]) -> String {
    let segments = spec.path.split('.').enumerate();
    let names: Vec<&str> = segments
        .map(|(at, segment)| {
            if segment == "*" {
                key.get(at).map_or("*", String::as_str)
            } else {
                segment
            }
        })
        .collect();
    names.join(".")
}

/// Counts the insertions, deletions, replacements and swaps of neighbours between two texts.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(200).collect();
    let b: Vec<char> = b.chars().take(200).collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_swap_of_neighbours_is_one_slip() {
        for (a, b, expected) in [
            ("", "", 0),
            ("abc", "", 3),
            ("model", "mdoel", 1),
            ("model", "modle", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
