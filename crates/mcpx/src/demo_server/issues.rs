//! The issues of the demo: a few that are always there, and those that were created since.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// Most issues; one more is refused.
const MAX_ISSUES: usize = 10_000;

/// The repositories that the first issues belong to.
pub(super) const REPOS: [&str; 3] = ["acme/api", "acme/docs", "acme/web"];

/// id, repository, title, state, labels, age in days.
type Row = (
    i64,
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
    i64,
);

const ROWS: [Row; 8] = [
    (
        1,
        "acme/api",
        "Login fails after the token expires",
        "open",
        &["bug", "auth"],
        3,
    ),
    (
        2,
        "acme/api",
        "Rate limit answers 500 instead of 429",
        "open",
        &["bug"],
        45,
    ),
    (
        3,
        "acme/api",
        "Add an endpoint for usage",
        "closed",
        &["feature"],
        120,
    ),
    (4, "acme/web", "Dark mode", "open", &["feature", "ui"], 200),
    (
        5,
        "acme/web",
        "The login button is cut off on small screens",
        "open",
        &["bug", "ui"],
        12,
    ),
    (
        6,
        "acme/web",
        "Slow first load",
        "open",
        &["performance"],
        64,
    ),
    (
        7,
        "acme/docs",
        "Explain how tokens are renewed",
        "open",
        &["docs", "auth"],
        31,
    ),
    (
        8,
        "acme/docs",
        "Broken link on the start page",
        "closed",
        &["docs"],
        8,
    ),
];

/// One issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issue {
    pub(super) id: i64,
    pub(super) repo: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) is_open: bool,
    pub(super) labels: Vec<String>,
    pub(super) age_days: i64,
}

impl Issue {
    pub(super) fn uri(&self) -> String {
        format!("demo://issues/{}", self.id)
    }

    pub(super) fn to_value(&self) -> Value {
        let state = if self.is_open { "open" } else { "closed" };
        json!({"id": self.id, "repo": self.repo, "title": self.title, "body": self.body, "state": state,
            "labels": self.labels, "ageDays": self.age_days})
    }
}

/// What is searched for; what is left out fits all.
#[derive(Debug, Clone, Default)]
pub(super) struct Query {
    pub(super) words: String,
    pub(super) repo: Option<String>,
    pub(super) older_than_days: i64,
}

/// All issues.
#[derive(Debug)]
pub(super) struct Issues(Mutex<Vec<Issue>>);

impl Default for Issues {
    fn default() -> Self {
        let issue = |(id, repo, title, state, labels, age_days): Row| Issue {
            id,
            repo: repo.to_owned(),
            title: title.to_owned(),
            body: String::new(),
            is_open: state == "open",
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            age_days,
        };
        Self(Mutex::new(ROWS.into_iter().map(issue).collect()))
    }
}

impl Issues {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<Issue>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Those that fit, oldest first: every word is in the title, the labels or the repository.
    pub(super) fn search(&self, query: &Query) -> Vec<Issue> {
        let words: Vec<String> = query
            .words
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |issue: &&Issue| {
            let text =
                format!("{} {} {}", issue.title, issue.repo, issue.labels.join(" ")).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
                && query.repo.as_ref().is_none_or(|repo| *repo == issue.repo)
                && issue.age_days >= query.older_than_days
        };
        let mut found: Vec<Issue> =
            self.with(|issues| issues.iter().filter(fits).cloned().collect());
        found.sort_by_key(|issue| (-issue.age_days, issue.id));
        found
    }

    /// A new one; nothing when there are too many.
    pub(super) fn create(
        &self,
        repo: String,
        title: String,
        body: String,
        labels: Vec<String>,
    ) -> Option<Issue> {
        self.with(|issues| {
            if issues.len() >= MAX_ISSUES {
                return None;
            }
            let id = issues.iter().map(|issue| issue.id).max().unwrap_or(0) + 1;
            let issue = Issue {
                id,
                repo,
                title,
                body,
                is_open: true,
                labels,
                age_days: 0,
            };
            issues.push(issue.clone());
            Some(issue)
        })
    }

    /// Closes one; nothing when there is none of this id.
    pub(super) fn close(&self, id: i64) -> Option<Issue> {
        self.with(|issues| {
            let issue = issues.iter_mut().find(|issue| issue.id == id)?;
            issue.is_open = false;
            Some(issue.clone())
        })
    }

    pub(super) fn get(&self, id: i64) -> Option<Issue> {
        self.with(|issues| issues.iter().find(|issue| issue.id == id).cloned())
    }

    /// The ids that begin with `text`.
    pub(super) fn ids(&self, text: &str) -> Vec<String> {
        self.with(|issues| {
            let ids = issues.iter().map(|issue| issue.id.to_string());
            ids.filter(|id| id.starts_with(text)).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(issues: &Issues, query: &Query) -> Vec<i64> {
        issues.search(query).iter().map(|issue| issue.id).collect()
    }

    #[test]
    fn a_search_is_narrowed_by_words_repository_and_age() {
        let issues = Issues::default();
        let words = |words: &str| Query {
            words: words.to_owned(),
            ..Query::default()
        };
        assert_eq!(found(&issues, &words("LOGIN bug")), [5, 1]);
        assert!(found(&issues, &words("nothing like it")).is_empty());
        let stale = Query {
            repo: Some("acme/web".to_owned()),
            older_than_days: 60,
            ..Query::default()
        };
        assert_eq!(found(&issues, &stale), [4, 6]);
    }

    #[test]
    fn an_issue_is_created_closed_and_found_again() {
        let issues = Issues::default();
        let made = issues
            .create(
                "acme/web".to_owned(),
                "New".to_owned(),
                String::new(),
                Vec::new(),
            )
            .unwrap();
        assert_eq!((made.id, made.is_open), (9, true));
        assert!(!issues.close(9).unwrap().is_open);
        assert_eq!(issues.close(99), None);
        assert_eq!(issues.get(9).unwrap().to_value()["state"], "closed");
        assert_eq!(issues.ids("9"), ["9"]);
    }
}
