//! One query over the index: names first, then what its words say.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::index::{Index, as_written, key};
use super::stem::{is_filler, related, stem};
use super::{Hit, MAX_QUERY_WORDS, Match};
use crate::words;

/// What a word counts beside the one that was asked for: another of its family, one that means about the same, one that it
/// may be a slip of or the beginning of.
const FAMILY: f32 = 0.5;
const RELATED: f32 = 0.35;
const NEAR: f32 = 0.6;

/// What a word of a name counts besides when it is asked for as it is written there, with its ending.
const AS_WRITTEN: f32 = 0.25;

/// Most words of a query that are looked for among what is spelled nearly as they are.
const MAX_UNKNOWN: usize = 8;

/// How many letters of a name make a beginning.
const MIN_PREFIX: usize = 3;

/// One query.
pub(super) struct Lookup<'a> {
    index: &'a Index,
    scores: Vec<f32>,
    /// What the query may spell as a name, in its order.
    spelled: Vec<String>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(index: &'a Index, query: &str) -> Self {
        let mut scores = vec![0.0; index.documents.len()];
        for (term, weight) in terms(index, query) {
            index.score(term, weight, &mut scores);
        }
        Self {
            index,
            scores,
            spelled: spelled(index, query),
        }
    }

    pub(super) fn best(&self, limit: usize) -> Vec<Hit> {
        let mut hits: Vec<(u32, Match)> = Vec::new();
        let mut taken = vec![false; self.scores.len()];
        let exact: Vec<Vec<u32>> = self
            .spelled
            .iter()
            .map(|key| self.ordered(self.index.keys.get(key)))
            .collect();
        take_in_turns(&exact, Match::Name, limit, &mut taken, &mut hits);
        let beginning: Vec<Vec<u32>> = self.spelled.iter().map(|key| self.beginning(key)).collect();
        take_in_turns(&beginning, Match::NamePrefix, limit, &mut taken, &mut hits);
        if hits.len() < limit {
            let ranked = (0_u32..)
                .zip(&self.scores)
                .filter(|(id, score)| **score > 0.0 && !taken[*id as usize]);
            let mut ranked: Vec<u32> = ranked.map(|(id, _)| id).collect();
            let rest = limit - hits.len();
            if ranked.len() > rest && rest > 0 {
                ranked.select_nth_unstable_by(rest - 1, |a, b| self.order(*a, *b));
                ranked.truncate(rest);
            }
            ranked.sort_unstable_by(|a, b| self.order(*a, *b));
            hits.extend(ranked.into_iter().map(|id| (id, Match::Words)));
        }
        let hit = |(id, matched): (u32, Match)| {
            let document = self.index.document(id)?;
            let score = self.scores[id as usize];
            Some(Hit {
                server: document.server.clone(),
                tool: document.tool.clone(),
                matched,
                score,
            })
        };
        hits.into_iter().take(limit).filter_map(hit).collect()
    }

    fn ordered(&self, ids: Option<&BTreeSet<u32>>) -> Vec<u32> {
        let mut ids: Vec<u32> = ids.into_iter().flatten().copied().collect();
        ids.sort_unstable_by(|a, b| self.order(*a, *b));
        ids
    }

    fn beginning(&self, key: &str) -> Vec<u32> {
        if key.chars().count() < MIN_PREFIX {
            return Vec::new();
        }
        let keys = self
            .index
            .keys
            .range(key.to_owned()..)
            .take_while(|(name, _)| name.starts_with(key));
        let ids: BTreeSet<u32> = keys.flat_map(|(_, ids)| ids.iter().copied()).collect();
        self.ordered(Some(&ids))
    }

    /// Best first; equal ones by server and name.
    fn order(&self, a: u32, b: u32) -> Ordering {
        let name = |id: u32| {
            self.index
                .document(id)
                .map(|document| (&document.server, &document.tool))
        };
        self.scores[b as usize]
            .total_cmp(&self.scores[a as usize])
            .then_with(|| name(a).cmp(&name(b)))
    }
}

/// The terms that a query asks for, each with what it counts.
fn terms(index: &Index, query: &str) -> Vec<(u32, f32)> {
    let words: Vec<String> = words::split(query).take(MAX_QUERY_WORDS).collect();
    let mut asked: Vec<(String, usize)> = Vec::new();
    for word in words.iter().filter(|word| !is_filler(word)) {
        let stemmed = stem(word);
        if !asked.iter().any(|(known, _)| *known == stemmed) {
            asked.push((stemmed, word.chars().count()));
        }
    }
    let mut terms: BTreeMap<u32, f32> = BTreeMap::new();
    let mut add = |term: u32, weight: f32| {
        let known = terms.entry(term).or_default();
        *known = known.max(weight);
    };
    let mut unknown = 0;
    for (word, length) in &asked {
        let term = index.known(word);
        let family = index.spellings.family(word);
        let is_unknown = term.is_none() && !family.iter().any(|term| index.is_live(*term));
        term.into_iter().for_each(|term| add(term, 1.0));
        family.into_iter().for_each(|term| add(term, FAMILY));
        for other in related(word) {
            index
                .known(other)
                .into_iter()
                .for_each(|term| add(term, RELATED));
        }
        if is_unknown && unknown < MAX_UNKNOWN {
            unknown += 1;
            for term in index.meant(word, *length) {
                add(term, NEAR);
            }
        }
    }
    for word in &words {
        if let Some(term) = index.known(&as_written(word)) {
            add(term, AS_WRITTEN);
        }
    }
    // Two words may be written as one elsewhere.
    for pair in words.windows(2) {
        if let Some(term) = index.known(&stem(&pair.concat())) {
            add(term, 1.0);
        }
    }
    terms.into_iter().collect()
}

/// What the query may spell as names: the whole of it; and its words, when they look like names or are all names.
fn spelled(index: &Index, query: &str) -> Vec<String> {
    let parts: Vec<&str> = query
        .split(|c: char| {
            c.is_whitespace() || matches!(c, ',' | ';' | '`' | '"' | '\'' | '(' | ')' | '?')
        })
        .map(|part| part.trim_matches(['.', ':', '/', '!']))
        .filter(|part| !part.is_empty())
        .take(MAX_QUERY_WORDS)
        .collect();
    let said: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !is_filler(&part.to_lowercase()))
        .collect();
    let are_all_names = said.iter().all(|part| index.keys.contains_key(&key(part)));
    let mut keys: Vec<String> = Vec::new();
    let whole = key(query);
    let words = said
        .iter()
        .filter(|part| are_all_names || looks_like_a_name(part))
        .map(|part| key(part));
    for key in std::iter::once(whole).chain(words) {
        if !key.is_empty() && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// Whether prose would not spell a word this way.
fn looks_like_a_name(part: &str) -> bool {
    let has_separator = part.contains(['_', '.', '/', ':', '-']);
    let has_hump = part
        .chars()
        .zip(part.chars().skip(1))
        .any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    has_separator || has_hump
}

/// Takes the first of each list, then the second of each.
fn take_in_turns(
    lists: &[Vec<u32>],
    matched: Match,
    limit: usize,
    taken: &mut [bool],
    hits: &mut Vec<(u32, Match)>,
) {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    for place in 0..longest {
        for id in lists.iter().filter_map(|list| list.get(place)) {
            if hits.len() >= limit {
                return;
            }
            if !std::mem::replace(&mut taken[*id as usize], true) {
                hits.push((*id, matched));
            }
        }
    }
}
