//! Which argument that went and which that came are taken for the same.
//!
//! **Renamed** is a guess and needs all of this: one argument went and one came under the same parent; both have the same
//! types, values, format and everything below; and they have the same description, or names that are alike (the same
//! letters, one the beginning of the other, one's words contained in the other's, or at most a third of the letters
//! different). Where more than one pair would do, nothing is a renaming.

use super::change::is_within;
use crate::shape::{Field, Shape, parent};
use crate::words;

/// Pairs of a row that went and one that came and that are taken for the same.
pub(super) fn renamings<'a>(
    old: &Shape,
    new: &Shape,
    gone: &[&'a Field],
    come: &[&'a Field],
) -> Vec<(&'a Field, &'a Field)> {
    // A server that replaced everything renamed nothing, and the pairs would be many.
    if gone.len() * come.len() > 10_000 {
        return Vec::new();
    }
    let pairs: Vec<_> = gone
        .iter()
        .flat_map(|from| come.iter().map(move |to| (*from, *to)))
        .filter(|(from, to)| is_renaming(old, new, from, to))
        .collect();
    let alone = |pair: &&(&'a Field, &'a Field)| {
        pairs
            .iter()
            .filter(|other| std::ptr::eq(other.0, pair.0) || std::ptr::eq(other.1, pair.1))
            .count()
            == 1
    };
    pairs.iter().filter(alone).copied().collect()
}

fn is_renaming(old: &Shape, new: &Shape, from: &Field, to: &Field) -> bool {
    let has_name = |path: &str| !path.ends_with([']', '*']);
    parent(&from.path) == parent(&to.path)
        && has_name(&from.path)
        && has_name(&to.path)
        && (&from.types, from.nullable, &from.allowed, &from.format)
            == (&to.types, to.nullable, &to.allowed, &to.format)
        && below(old, &from.path) == below(new, &to.path)
        && ((from.description.is_some() && from.description == to.description)
            || alike(&from.path, &to.path))
}

fn below<'a>(shape: &'a Shape, path: &str) -> Vec<(&'a str, &'a str)> {
    let inside = shape
        .fields
        .iter()
        .filter(|field| field.path != path && is_within(&field.path, path));
    inside
        .map(|field| (&field.path[path.len()..], field.types.as_str()))
        .collect()
}

fn alike(from: &str, to: &str) -> bool {
    let last = |path: &str| -> Vec<String> {
        words::split(&path[parent(path).map_or(0, str::len)..]).collect()
    };
    let (from, to) = (last(from), last(to));
    let within =
        |a: &[String], b: &[String]| !a.is_empty() && a.iter().all(|word| b.contains(word));
    if within(&from, &to) || within(&to, &from) {
        return true;
    }
    let (from, to) = (from.concat(), to.concat());
    if from.len().min(to.len()) >= 3 && (from.starts_with(&to) || to.starts_with(&from)) {
        return true;
    }
    let longest = from.chars().count().max(to.chars().count());
    distance(&from, &to) * 3 <= longest
}

/// How many letters have to be put in, taken out or replaced; of each the first 64 are looked at.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
