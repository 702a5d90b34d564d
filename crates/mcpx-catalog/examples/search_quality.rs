//! How well search finds: `search_quality QUERIES FILE.json…`, where each file is the `tools` of one server and each line of
//! the queries is `QUERY => server.tool server.tool`. Beside it stands a plain BM25 over the same words.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for a person"
)]
#![allow(clippy::unwrap_used, reason = "it ends where it cannot go on")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use mcp_wire::{Raw, Tool};
use mcpx_catalog::search::{Entry, Search};
use mcpx_catalog::shape::Shape;

/// Where the first wanted tool stands, counted from 1, for each query.
type Ranks = Vec<Option<usize>>;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let queries = std::fs::read_to_string(arguments.next().unwrap()).unwrap();
    let mut search = Search::default();
    let mut all: Vec<(String, Entry)> = Vec::new();
    for path in arguments {
        let server = path
            .rsplit('/')
            .next()
            .unwrap()
            .split('.')
            .next()
            .unwrap()
            .to_owned();
        let raw = Raw::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let (tools, _) = Tool::parse_all(&raw.array().unwrap());
        let entries: Vec<Entry> = tools
            .iter()
            .map(|tool| Entry::of(tool, &Shape::of(&tool.input_schema())))
            .collect();
        all.extend(
            entries
                .iter()
                .map(|entry| (format!("{server}.{}", entry.name), entry.clone())),
        );
        search.replace(&server, &entries);
    }
    let plain = Plain::new(&all);
    let (mut ours, mut theirs, mut times): (Ranks, Ranks, Vec<Duration>) = Default::default();
    for line in queries.lines().filter(|line| !line.starts_with('#')) {
        let Some((query, wanted)) = line.split_once(" => ") else {
            continue;
        };
        let wanted: BTreeSet<&str> = wanted.split_whitespace().collect();
        let start = Instant::now();
        let hits = search.find(query, 20);
        times.push(start.elapsed());
        let hits: Vec<String> = hits
            .iter()
            .map(|hit| format!("{}.{}", hit.server, hit.tool))
            .collect();
        let rank = |hits: &[String]| {
            hits.iter()
                .position(|hit| wanted.contains(hit.as_str()))
                .map(|at| at + 1)
        };
        if rank(&hits).is_none_or(|rank| rank > 5) {
            println!(
                "missed {query:?} ({:?}): {}",
                rank(&hits),
                hits[..hits.len().min(5)].join(" ")
            );
        }
        ours.push(rank(&hits));
        theirs.push(rank(&plain.find(query)));
    }
    times.sort();
    println!(
        "{} tools, {} queries, p50 {:?}, p99 {:?}",
        search.len(),
        ours.len(),
        times[times.len() / 2],
        times[times.len() * 99 / 100]
    );
    report("this", &ours);
    report("plain BM25", &theirs);
}

#[allow(clippy::cast_precision_loss, reason = "a few hundred")]
fn report(name: &str, ranks: &Ranks) {
    let count = |most: usize| ranks.iter().flatten().filter(|rank| **rank <= most).count() as f64;
    let all = ranks.len() as f64;
    let mrr: f64 = ranks.iter().flatten().map(|rank| 1.0 / *rank as f64).sum();
    println!(
        "{name}: recall@1 {:.3}, recall@5 {:.3}, MRR {:.3}",
        count(1) / all,
        count(5) / all,
        mrr / all
    );
}

/// BM25 over the words between what is no letter or digit, every field alike.
struct Plain {
    documents: Vec<(String, HashMap<String, f64>, f64)>,
    frequency: BTreeMap<String, f64>,
    average: f64,
}

#[allow(clippy::cast_precision_loss, reason = "a few thousand")]
impl Plain {
    fn new(all: &[(String, Entry)]) -> Self {
        let mut frequency: BTreeMap<String, f64> = BTreeMap::new();
        let mut documents = Vec::new();
        for (path, entry) in all {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let text = format!("{path} {} {}", entry.parameters.join(" "), entry.text);
            for word in words(&text) {
                *counts.entry(word).or_default() += 1.0;
            }
            for word in counts.keys() {
                *frequency.entry(word.clone()).or_default() += 1.0;
            }
            let length = counts.values().sum();
            documents.push((path.clone(), counts, length));
        }
        let average =
            documents.iter().map(|(_, _, length)| length).sum::<f64>() / documents.len() as f64;
        Self {
            documents,
            frequency,
            average,
        }
    }

    fn find(&self, query: &str) -> Vec<String> {
        let all = self.documents.len() as f64;
        let mut found: Vec<(f64, &String)> = self
            .documents
            .iter()
            .map(|(path, counts, length)| {
                let score = |word: String| {
                    let count = counts.get(&word).copied().unwrap_or(0.0);
                    let having = self.frequency.get(&word).copied().unwrap_or(0.0);
                    let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
                    rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * length / self.average))
                };
                (words(query).map(score).sum::<f64>(), path)
            })
            .filter(|(score, _)| *score > 0.0)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        found
            .into_iter()
            .take(20)
            .map(|(_, path)| path.clone())
            .collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}
