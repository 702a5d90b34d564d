//! `tool_search`: finds deferred tools and brings them into the session.
//!
//! Okapi BM25 over the words of name and description. Only deferred tools are searched: the others are there already.

use std::collections::HashMap;

use async_trait::async_trait;
use cox_permission::{Risk, Subject};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Concurrency, SubjectCx, Tool, ToolCx, ToolError, ToolOutput, ToolSpec, parse_input};

/// Most tools that one search brings in.
const MAX_HITS: usize = 5;

/// How fast a repeated word stops counting, and how much a long text is held against it: the usual values of BM25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The tool.
#[derive(Debug)]
pub struct ToolSearch {
    spec: ToolSpec,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    spec: ToolSpec,
    words: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Input {
    query: String,
}

impl ToolSearch {
    /// Makes the tool over those of `tools` that are deferred.
    pub fn new<'a>(tools: impl IntoIterator<Item = &'a ToolSpec>) -> Self {
        let deferred = tools.into_iter().filter(|spec| spec.deferred);
        let entries = deferred
            .map(|spec| Entry {
                spec: spec.clone(),
                words: words(&format!("{} {}", spec.name, spec.description)),
            })
            .collect();
        Self {
            spec: ToolSpec {
                name: "tool_search",
                description: "Finds further tools by what they do and makes up to 5 of them callable.",
                input_schema: json!({
                    "type": "object",
                    "properties": { "query": { "type": "string" } },
                    "required": ["query"]
                }),
                deferred: false,
                risk: Risk::ReadOnly,
                concurrency: Concurrency::Parallel,
            },
            entries,
        }
    }

    /// Returns the tools that fit, best first.
    fn search(&self, query: &str) -> Vec<&ToolSpec> {
        let asked = words(query);
        let count = self.entries.len() as f64;
        let total: usize = self.entries.iter().map(|entry| entry.words.len()).sum();
        let average = (total as f64 / count).max(1.0);
        let mut holders: HashMap<&str, f64> = HashMap::new();
        for word in &asked {
            let holding = self
                .entries
                .iter()
                .filter(|entry| entry.words.contains(word))
                .count();
            holders.insert(word, holding as f64);
        }
        let mut hits: Vec<(f64, &ToolSpec)> = self
            .entries
            .iter()
            .map(|entry| {
                let length = entry.words.len() as f64 / average;
                let score = asked.iter().map(|word| {
                    let times = entry.words.iter().filter(|own| *own == word).count() as f64;
                    let holding = holders.get(word.as_str()).copied().unwrap_or(0.0);
                    let rarity = ((count - holding + 0.5) / (holding + 0.5) + 1.0).ln();
                    rarity * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length))
                });
                (score.sum(), &entry.spec)
            })
            .filter(|(score, _)| *score > 0.0)
            .collect();
        // Stable: equal scores stay in the order of the tools.
        hits.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        hits.into_iter()
            .take(MAX_HITS)
            .map(|(_, spec)| spec)
            .collect()
    }
}

#[async_trait]
impl Tool for ToolSearch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn subject(&self, input: &Value, _cx: &SubjectCx) -> Result<Subject, ToolError> {
        let Input { query } = parse_input(&self.spec, input)?;
        Ok(Subject {
            tool: self.spec.name.to_owned(),
            text: query,
            risk: self.spec.risk,
            targets: Vec::new(),
        })
    }

    async fn call(&self, input: Value, _cx: &ToolCx) -> Result<ToolOutput, ToolError> {
        let Input { query } = parse_input(&self.spec, &input)?;
        let hits = self.search(&query);
        if hits.is_empty() {
            let names: Vec<&str> = self.entries.iter().map(|entry| entry.spec.name).collect();
            return Ok(ToolOutput::text(format!(
                "no tool fits `{}`; the tools that can be found: {}",
                query.chars().take(100).collect::<String>(),
                names.join(", ")
            )));
        }
        let shown: Vec<String> = hits
            .iter()
            .map(|spec| format!("{}: {}\n{}", spec.name, spec.description, spec.input_schema))
            .collect();
        Ok(ToolOutput {
            text: format!("{}\n\nThey can be called from now on.", shown.join("\n\n")),
            discovered: hits.iter().map(|spec| spec.name.to_owned()).collect(),
            ..ToolOutput::default()
        })
    }
}

/// Returns the words of a text: runs of letters and digits, in small letters.
fn words(text: &str) -> Vec<String> {
    text.split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(name: &'static str, description: &'static str, deferred: bool) -> ToolSpec {
        ToolSpec {
            name,
            description,
            input_schema: json!({ "type": "object" }),
            deferred,
            risk: Risk::ReadOnly,
            concurrency: Concurrency::Parallel,
        }
    }

    #[test]
    fn tools_are_found_by_what_they_do() {
        let specs = [
            spec("read", "Reads a file.", false),
            spec("web_fetch", "Reads a public web page as text.", true),
            spec("ask_user", "Asks the person one question.", true),
            spec(
                "mcp__github__create_issue",
                "Creates an issue in a repository.",
                true,
            ),
            spec(
                "mcp__github__list_issues",
                "Lists issues. Issues have an issue number.",
                true,
            ),
        ];
        let tool = ToolSearch::new(&specs);
        let check = |query: &str, expected: &[&str]| {
            let found: Vec<&str> = tool.search(query).iter().map(|spec| spec.name).collect();
            assert_eq!(found, expected, "{query}");
        };
        check("fetch pages of the web", &["web_fetch", "ask_user"]);
        check("WEB", &["web_fetch"]);
        check(
            "github issue",
            &["mcp__github__create_issue", "mcp__github__list_issues"],
        );
        check("file", &[]);
        check("", &[]);
        check("!!", &[]);
        assert!(ToolSearch::new([]).search("anything").is_empty());
    }
}
