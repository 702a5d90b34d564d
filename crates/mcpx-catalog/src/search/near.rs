//! Terms that a word may have meant: of the same family, or spelled nearly as it.

use std::collections::HashMap;

use crate::names::distance;

/// Most terms that stand for one word.
const MAX_NEAR: usize = 8;
/// Shortest word that is taken for a beginning, or for a slip; and the one in which two slips are forgiven.
const MIN_BEGINNING: usize = 3;
const MIN_SLIP: usize = 4;
const MIN_TWO_SLIPS: usize = 8;
/// Least letters of a word before one of the [`ENDINGS`], and of a half of a word written together.
const MIN_ROOT: usize = 4;
const MIN_HALF: usize = 3;

/// Endings that make another word of the same family: `create`, `creation`, `creator`.
const ENDINGS: &[&str] = &[
    "ability", "ibility", "ation", "ition", "ment", "able", "ible", "ance", "ence", "ion", "ity",
    "al", "er", "or",
];

/// The terms of an index by how they are spelled.
#[derive(Debug, Clone, Default)]
pub(super) struct Spellings {
    /// By number.
    terms: Vec<Term>,
    /// By what is left of a term without an ending.
    families: HashMap<String, Vec<u32>>,
}

#[derive(Debug, Clone)]
struct Term {
    chars: Vec<char>,
    /// A bit for each letter that it has.
    letters: u32,
}

impl Spellings {
    /// Takes the next term in; they are numbered as they come.
    pub(super) fn add(&mut self, text: &str) {
        let number = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        for root in roots(text) {
            self.families
                .entry(root.to_owned())
                .or_default()
                .push(number);
        }
        let chars: Vec<char> = text.chars().collect();
        let letters = letters(&chars);
        self.terms.push(Term { chars, letters });
    }

    /// Other terms of the family of `word`.
    pub(super) fn family(&self, word: &str) -> Vec<u32> {
        let mut found: Vec<u32> = roots(word)
            .filter_map(|root| self.families.get(root))
            .flatten()
            .copied()
            .filter(|number| {
                let chars = &self.terms[*number as usize].chars;
                !chars.iter().copied().eq(word.chars())
            })
            .collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MAX_NEAR);
        found
    }

    /// The terms for which `is_live` that begin with `word`, the shortest first; or, when there is none, those that are a
    /// slip or two away. `length` is that of the word before its ending was taken off.
    pub(super) fn near(
        &self,
        word: &str,
        length: usize,
        is_live: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let wanted: Vec<char> = word.chars().collect();
        if !wanted.iter().all(char::is_ascii_alphabetic) {
            return Vec::new();
        }
        let live = || {
            (0_u32..)
                .zip(&self.terms)
                .filter(|(number, _)| is_live(*number))
        };
        let mut found: Vec<(usize, u32)> = Vec::new();
        if length >= MIN_BEGINNING {
            found.extend(
                live()
                    .filter(|(_, term)| term.chars.starts_with(&wanted))
                    .map(|(number, term)| (term.chars.len(), number)),
            );
        }
        if found.is_empty() && length >= MIN_SLIP {
            let most = if length >= MIN_TWO_SLIPS { 2 } else { 1 };
            let mask = letters(&wanted);
            found.extend(
                live()
                    .filter(|(_, term)| is_alike(&wanted, mask, term, most))
                    .map(|(number, term)| (distance(&wanted, &term.chars), number))
                    .filter(|(far, _)| *far <= most),
            );
            let least = found.iter().map(|(far, _)| *far).min();
            found.retain(|(far, _)| Some(*far) == least);
        }
        found.sort_unstable();
        found.truncate(MAX_NEAR);
        found.into_iter().map(|(_, number)| number).collect()
    }
}

/// Cheap to tell: whether a term can be at most `most` slips away. The first letter is seldom one.
fn is_alike(wanted: &[char], mask: u32, term: &Term, most: usize) -> bool {
    term.chars.len().abs_diff(wanted.len()) <= most
        && (mask ^ term.letters).count_ones() as usize <= 2 * most
        && term.chars.first() == wanted.first()
}

fn letters(chars: &[char]) -> u32 {
    chars
        .iter()
        .filter(|c| c.is_ascii_lowercase())
        .fold(0, |mask, c| mask | 1 << (u32::from(*c) - u32::from('a')))
}

/// A term, and what is left of it without each of the endings that it has.
fn roots(text: &str) -> impl Iterator<Item = &str> {
    let without = ENDINGS
        .iter()
        .filter_map(|ending| text.strip_suffix(ending))
        .filter(|root| root.len() >= MIN_ROOT && root.is_ascii());
    std::iter::once(text).chain(without)
}

/// The places at which a word can be two.
pub(super) fn halves(word: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let last = if is_plain {
        word.len().saturating_sub(MIN_HALF - 1)
    } else {
        0
    };
    (MIN_HALF..last.max(MIN_HALF)).map(|at| word.split_at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spellings(terms: &[&str]) -> Spellings {
        let mut spellings = Spellings::default();
        for term in terms {
            spellings.add(term);
        }
        spellings
    }

    #[test]
    fn words_of_a_family_find_each_other() {
        let all = spellings(&[
            "creat",
            "creation",
            "deploy",
            "deployment",
            "access",
            "accessibility",
            "card",
        ]);
        for (word, family) in [
            ("creat", vec![1]),
            ("creation", vec![0]),
            ("creator", vec![0, 1]),
            ("deployment", vec![2]),
            ("accessible", vec![4, 5]),
            ("car", vec![]),
            ("日本", vec![]),
        ] {
            assert_eq!(all.family(word), family, "{word}");
        }
    }

    #[test]
    fn a_beginning_or_a_slip_finds_its_term() {
        let all = spellings(&[
            "screenshot",
            "issu",
            "calendar",
            "calendars",
            "is",
            "gone",
            "日本",
        ]);
        let near = |word: &str, length| all.near(word, length, |number| number != 5);
        for (word, length, found) in [
            ("screnshot", 9, vec![0]),
            ("scren", 5, vec![]),
            ("scre", 4, vec![0]),
            ("isu", 4, vec![1, 4]),
            ("isu", 3, vec![]),
            ("claendar", 8, vec![2]),
            ("calend", 6, vec![2, 3]),
            ("gon", 3, vec![]),
            ("日", 1, vec![]),
            ("", 0, vec![]),
        ] {
            assert_eq!(near(word, length), found, "{word}");
        }
    }

    #[test]
    fn a_word_is_two_in_every_place() {
        assert_eq!(halves("pullrequest").count(), 6);
        assert_eq!(halves("github").collect::<Vec<_>>(), [("git", "hub")]);
        for word in ["", "a", "abcde", "日本語日本語"] {
            assert_eq!(halves(word).count(), 0, "{word}");
        }
    }
}
