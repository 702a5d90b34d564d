//! The inverted index.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::near::{Spellings, halves};
use super::stem::stem;
use super::{Entry, MAX_PARAMETERS, MAX_TEXT_CHARS, MAX_WORDS};
use crate::{names, words};

/// How much a word counts by where it stands.
const NAME: f32 = 5.0;
const SERVER: f32 = 2.5;
const PARAMETER: f32 = 1.0;
const TEXT: f32 = 1.0;

/// BM25: how soon repeating stops to count, and how much long texts are held back.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.4;

#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) server: String,
    pub(super) tool: String,
    length: f32,
    /// Its terms and keys, to take it out again.
    terms: Vec<u32>,
    keys: Vec<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    pub(super) documents: Vec<Option<Document>>,
    free: Vec<u32>,
    live: usize,
    total_length: f64,
    term_ids: HashMap<String, u32>,
    pub(super) spellings: Spellings,
    /// For each term the documents that have it, sorted, and how much it counts there.
    postings: Vec<Vec<(u32, f32)>>,
    /// Spellings of names without what separates their words, and whose they are.
    pub(super) keys: BTreeMap<String, BTreeSet<u32>>,
}

/// The term of a word of a name as it is written. No word holds the mark.
pub(super) fn as_written(word: &str) -> String {
    format!("={word}")
}

/// A name without what separates its words, in lower case.
pub(super) fn key(name: &str) -> String {
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
    for word in words::split(&entry.name) {
        weights.insert(as_written(&word), 1.0);
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
        if let Some(id) = self.term_ids.get(&word) {
            return *id;
        }
        self.spellings.add(&word);
        self.postings.push(Vec::new());
        self.term_ids.insert(word, next);
        next
    }

    pub(super) fn is_live(&self, term: u32) -> bool {
        !self.postings[term as usize].is_empty()
    }

    /// The term that a word is, where a tool has it.
    pub(super) fn known(&self, word: &str) -> Option<u32> {
        let term = *self.term_ids.get(word)?;
        self.is_live(term).then_some(term)
    }

    /// The terms that may be meant by a word that no tool has: two that it puts together, those that it begins, or those
    /// that are spelled nearly like it.
    pub(super) fn meant(&self, word: &str, length: usize) -> Vec<u32> {
        let two = halves(word).filter_map(|(one, other)| {
            let pair = [self.known(&stem(one))?, self.known(&stem(other))?];
            Some((one.len().min(other.len()), pair))
        });
        if let Some((_, pair)) = two.max_by_key(|(shorter, _)| *shorter) {
            return pair.to_vec();
        }
        self.spellings.near(word, length, |term| self.is_live(term))
    }

    pub(super) fn document(&self, id: u32) -> Option<&Document> {
        self.documents.get(id as usize)?.as_ref()
    }

    /// Adds what `word` says about each document to `scores`.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "counts of tools, far below 2^24"
    )]
    pub(super) fn score(&self, term: u32, weight: f32, scores: &mut [f32]) {
        let postings = &self.postings[term as usize];
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
