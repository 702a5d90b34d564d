//! Makes a word comparable: endings of plural and tense go, a few verbs of tools that mean the same are joined.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The form under which a word is found. English endings only; a word in another script is its own form.
pub(crate) fn stem(word: &str) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word.to_owned();
    }
    let singular = match word {
        _ if word.ends_with("ies") && word.len() > 4 => format!("{}y", &word[..word.len() - 3]),
        _ if ["sses", "xes", "ches", "shes", "zes"]
            .iter()
            .any(|end| word.ends_with(end)) =>
        {
            word[..word.len() - 2].to_owned()
        }
        _ if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) => {
            word[..word.len() - 1].to_owned()
        }
        _ => word.to_owned(),
    };
    let root = ["ing", "ed"]
        .iter()
        .find_map(|end| singular.strip_suffix(end))
        .filter(|root| root.len() >= 3 && root.contains(['a', 'e', 'i', 'o', 'u', 'y']))
        .map(str::to_owned);
    let mut root = root.map_or(singular, undoubled);
    if root.len() > 3 && root.ends_with('e') {
        root.pop();
    }
    root
}

/// Without the consonant that an ending doubled, as in `running`.
fn undoubled(mut root: String) -> String {
    let bytes = root.as_bytes();
    if let [.., before, last] = bytes
        && before == last
        && !matches!(last, b'l' | b's' | b'z' | b'e' | b'o')
    {
        root.pop();
    }
    root
}

/// Words that say nothing about which tool is meant.
pub(crate) fn is_filler(word: &str) -> bool {
    const FILLERS: &[&str] = &[
        "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but",
        "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "he",
        "her", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "may", "me",
        "might", "much", "must", "my", "need", "no", "not", "of", "on", "or", "our", "please",
        "shall", "she", "should", "so", "some", "still", "than", "that", "the", "their", "them",
        "then", "there", "these", "they", "this", "those", "to", "tool", "tools", "us", "use",
        "using", "very", "want", "was", "we", "were", "what", "when", "where", "which", "who",
        "why", "will", "with", "would", "you", "your",
    ];
    FILLERS.contains(&word)
}

/// Words for the same act or thing in the names of tools.
const GROUPS: &[&[&str]] = &[
    &["delete", "remove", "erase", "destroy", "drop", "trash"],
    &["create", "add", "new", "make", "insert", "open"],
    &[
        "get", "fetch", "read", "show", "retrieve", "view", "download",
    ],
    &["list", "all", "enumerate", "show"],
    &["search", "find", "query", "lookup", "look"],
    &["update", "edit", "modify", "change", "set", "rename"],
    &["send", "post", "publish", "deliver"],
    &["run", "execute", "invoke", "start", "launch", "trigger"],
    &["stop", "cancel", "abort", "kill", "terminate"],
    &["upload", "put", "attach"],
    &["copy", "duplicate", "clone"],
    &["repo", "repository"],
    &["pr", "pull"],
    &["issue", "ticket", "bug"],
    &["directory", "folder", "dir"],
    &["doc", "document", "documentation"],
    &["database", "db"],
    &["picture", "photo", "image", "screenshot"],
    &["mail", "email"],
    &["meeting", "event", "appointment"],
    &["user", "member", "person", "account"],
    &["web", "internet"],
    &["buy", "purchase"],
    &["color", "colour"],
];

/// For each word, in the form under which it is found, those that may stand for it.
static RELATED: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut related: HashMap<String, Vec<String>> = HashMap::new();
    for group in GROUPS {
        let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
        for word in &stems {
            let others = stems.iter().filter(|other| *other != word).cloned();
            related.entry(word.clone()).or_default().extend(others);
        }
    }
    related
});

/// Other words that a tool may use for `stem`, in the form under which they are found.
pub(super) fn related(stem: &str) -> &'static [String] {
    RELATED.get(stem).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_meet() {
        for (one, other) in [
            ("issues", "issue"),
            ("queries", "query"),
            ("deleting", "delete"),
            ("created", "creating"),
            ("branches", "branch"),
            ("running", "run"),
            ("closed", "close"),
            ("boxes", "box"),
            ("searches", "searching"),
        ] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        for word in ["status", "class", "this", "sing", "bed", "日本"] {
            assert_eq!(stem(word), word);
        }
    }

    #[test]
    fn related_words_are_found_in_any_form() {
        assert!(related(&stem("removing")).contains(&stem("deletes")));
        assert!(related("zebra").is_empty());
    }
}
