//! Names of definitions, as they stand in the text and as a call asks for them.

/// Longest part of a name.
const MAX_NAME: usize = 200;

/// The parts of a name as a definition gives it: `a::b` has two, `exports.run` counts as `run`.
pub(super) fn plain(text: &str) -> Vec<String> {
    if let Some(at) = text.find("operator") {
        // What follows is punctuation that means something else elsewhere.
        let mut path = split(&without_parameters(text[..at].trim_end_matches("::")));
        path.push(text[at..].split_whitespace().collect());
        return path;
    }
    let text = without_parameters(text.trim().trim_matches(['"', '\'']));
    // A private name of JavaScript; in what is asked for `#` parts a class from its method.
    let text = text.trim_start_matches('#');
    if text.contains(['{', '[', '(', '\n', ' ']) || text.len() > MAX_NAME {
        return Vec::new();
    }
    let text = text.rsplit('.').next().unwrap_or(text);
    split(text)
}

/// The name of the type of an `impl`, alone.
pub(super) fn of_type(text: &str) -> Vec<String> {
    let text = without_parameters(text);
    let text = text.trim_start_matches('&').trim();
    let text = text.rsplit([' ', ':']).next().unwrap_or(text);
    split(text)
}

/// The name of the type in a receiver such as `(s *Server[T])`.
pub(super) fn of_receiver(text: &str) -> Vec<String> {
    let text = text.trim_matches(['(', ')']);
    let text = text.split('[').next().unwrap_or(text);
    let text = text.rsplit([' ', '*', '\t']).find(|part| !part.is_empty());
    text.map(split).unwrap_or_default()
}

/// The parts of a name as a call asks for it: `Foo::bar`, `Foo.bar`, `Foo#bar`, `(*Foo).bar`, `bar()`, `Foo<T>`.
pub(super) fn asked(text: &str) -> Vec<String> {
    let text = text.trim().trim_end_matches("()");
    if text.contains("operator") {
        return plain(text);
    }
    let text = without_parameters(text).replace("->", ".");
    text.split([':', '.', '#', '/'])
        .map(|part| part.trim_matches(['(', ')', '*', '&', ' ', '`']))
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The text without what stands between `<` and `>`.
fn without_parameters(text: &str) -> String {
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut kept = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' && depth > 0 => depth -= 1,
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
        before = character;
    }
    kept.trim().to_owned()
}

fn split(text: &str) -> Vec<String> {
    text.split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Up to five of `names` that are most like `wanted`, best first.
pub(super) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = wanted.to_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = distance(&wanted, &lower);
            let limit = (wanted.chars().count() / 3).max(1);
            if distance <= limit {
                Some((distance, name))
            } else if wanted.len() > 2
                && (lower.contains(&wanted) || (lower.len() > 2 && wanted.contains(&lower)))
            {
                Some((limit + 1 + lower.len().abs_diff(wanted.len()), name))
            } else {
                None
            }
        })
        .collect();
    scored.sort_unstable();
    scored.dedup_by_key(|(_, name)| *name);
    scored.into_iter().take(5).map(|(_, name)| name).collect()
}

/// Characters to insert, delete or replace until one is the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().take(MAX_NAME).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().take(MAX_NAME).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}
