//! The inverted index, and the ranking of one query over it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::stem::{is_filler, related, stem};
use super::{Entry, Hit, MAX_PARAMETERS, MAX_QUERY_WORDS, MAX_TEXT_CHARS, MAX_WORDS, Match};
use crate::{names, words};

/// How much a word counts by where it stands.
const NAME: f32 = 5.0;
const SERVER: f32 = 2.5;
const PARAMETER: f32 = 1.0;
const TEXT: f32 = 1.0;

/// BM25: how soon repeating stops to count, and how much long texts are held back.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.4;

/// What a related word counts beside the one that was asked for.
const RELATED: f32 = 0.35;

/// How many letters of a name make a beginning.
const MIN_PREFIX: usize = 3;

#[derive(Debug, Clone)]
struct Document {
    server: String,
    tool: String,
    length: f32,
    /// Its terms and keys, to take it out again.
    terms: Vec<u32>,
    keys: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    documents: Vec<Option<Document>>,
    free: Vec<u32>,
    live: usize,
    total_length: f64,
    term_ids: HashMap<String, u32>,
    /// For each term the documents that have it, sorted, and how much it counts there.
    postings: Vec<Vec<(u32, f32)>>,
    /// Spellings of names without what separates their words, and whose they are.
    keys: BTreeMap<String, BTreeSet<u32>>,
}

/// A name without what separates its words, in lower case.
fn key(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .take(200)
        .flat_map(char::to_lowercase)
        .collect()
}

/// How much each word of a tool counts. What a field repeats counts a few times at most, so that none can shout.
fn weights(server: &str, entry: &Entry) -> BTreeMap<String, f32> {
    let end = entry
        .text
        .char_indices()
        .nth(MAX_TEXT_CHARS)
        .map_or(entry.text.len(), |(at, _)| at);
    let parameters = entry
        .parameters
        .iter()
        .take(MAX_PARAMETERS)
        .map(String::as_str);
    let fields: [(Vec<&str>, f32, u8); 4] = [
        (vec![&entry.name], NAME, 1),
        (vec![server], SERVER, 1),
        (parameters.collect(), PARAMETER, 2),
        (vec![&entry.text[..end]], TEXT, 3),
    ];
    let mut weights: BTreeMap<String, f32> = BTreeMap::new();
    for (texts, weight, most) in fields {
        let mut counts: HashMap<String, u8> = HashMap::new();
        for word in texts
            .iter()
            .flat_map(|text| words::split(text).chain(words::compounds(text)))
        {
            let word = stem(&word);
            let count = counts.entry(word.clone()).or_default();
            if *count < most && (weights.len() < MAX_WORDS || weights.contains_key(&word)) {
                *count += 1;
                *weights.entry(word).or_default() += weight;
            }
        }
    }
    weights
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.live
    }

    pub(super) fn add(&mut self, server: &str, entry: &Entry) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.documents.push(None);
            u32::try_from(self.documents.len() - 1).unwrap_or(u32::MAX)
        });
        let weights = weights(server, entry);
        let length: f32 = weights.values().sum();
        let mut terms = Vec::with_capacity(weights.len());
        for (word, weight) in weights {
            let term = self.term(word);
            let postings = &mut self.postings[term as usize];
            let at = postings.partition_point(|(document, _)| *document < id);
            postings.insert(at, (id, weight));
            terms.push(term);
        }
        let spellings = [
            key(&entry.name),
            key(&names::digested(&entry.name)),
            key(&format!("{server}{}", entry.name)),
            key(&format!(
                "{}{}",
                names::namespace(server),
                names::plain(&entry.name)
            )),
        ];
        let keys: BTreeSet<String> = spellings
            .into_iter()
            .filter(|key| !key.is_empty())
            .collect();
        for key in &keys {
            self.keys.entry(key.clone()).or_default().insert(id);
        }
        self.live += 1;
        self.total_length += f64::from(length);
        self.documents[id as usize] = Some(Document {
            server: server.to_owned(),
            tool: entry.name.clone(),
            length,
            terms,
            keys: keys.into_iter().collect(),
        });
        id
    }

    pub(super) fn remove(&mut self, id: u32) {
        let Some(document) = self.documents.get_mut(id as usize).and_then(Option::take) else {
            return;
        };
        for term in document.terms {
            let postings = &mut self.postings[term as usize];
            if let Ok(at) = postings.binary_search_by_key(&id, |(document, _)| *document) {
                postings.remove(at);
            }
        }
        for key in document.keys {
            if let Some(ids) = self.keys.get_mut(&key) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.keys.remove(&key);
                }
            }
        }
        self.live -= 1;
        self.total_length -= f64::from(document.length);
        self.free.push(id);
    }

    fn term(&mut self, word: String) -> u32 {
        let next = u32::try_from(self.postings.len()).unwrap_or(u32::MAX);
        let id = *self.term_ids.entry(word).or_insert(next);
        if id == next {
            self.postings.push(Vec::new());
        }
        id
    }

    fn document(&self, id: u32) -> Option<&Document> {
        self.documents.get(id as usize)?.as_ref()
    }

    /// Adds what `word` says about each document to `scores`.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "counts of tools, far below 2^24"
    )]
    fn score(&self, word: &str, weight: f32, scores: &mut [f32]) {
        let Some(term) = self.term_ids.get(word) else {
            return;
        };
        let postings = &self.postings[*term as usize];
        let (live, found) = (self.live as f32, postings.len() as f32);
        let rarity = (1.0 + (live - found + 0.5) / (found + 0.5)).ln();
        let average = (self.total_length / self.live.max(1) as f64) as f32;
        for (id, count) in postings {
            let Some(document) = self.document(*id) else {
                continue;
            };
            let length = 1.0 - LENGTH + LENGTH * document.length / average.max(1.0);
            scores[*id as usize] +=
                weight * rarity * count * (SATURATION + 1.0) / (count + SATURATION * length);
        }
    }
}

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
        let mut asked: Vec<String> = Vec::new();
        for word in words::split(query).take(MAX_QUERY_WORDS) {
            let stemmed = stem(&word);
            if !is_filler(&word) && !asked.contains(&stemmed) {
                asked.push(stemmed);
            }
        }
        for word in &asked {
            index.score(word, 1.0, &mut scores);
            for other in related(word).iter().filter(|other| !asked.contains(other)) {
                index.score(other, RELATED, &mut scores);
            }
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
