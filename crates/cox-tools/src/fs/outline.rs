//! What a file defines, row by row, and where one definition stands.
//!
//! Files of nine languages are parsed, Markdown has its headings; everything else, and what takes too long or is too large
//! to parse, is told by the words its lines begin with, and says so.

mod languages;
mod markdown;
mod names;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::time::{Duration, Instant};

/// Largest text that is parsed, in bytes. A tree takes about ten times its text in memory.
pub(super) const MAX_PARSED: usize = 8 << 20;

/// How long a parse may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Lines that a local definition has at least to be listed.
const MIN_LOCAL_LINES: usize = 3;

/// Local definitions that are listed at most; if there are more, none is.
const MAX_LOCAL: usize = 100;

/// Characters of a signature.
const MAX_SIGNATURE: usize = 160;

/// One definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    /// Its name with those of what it lies in, outermost first; empty where names are not known.
    pub(super) path: Vec<String>,
    /// How many definitions it lies in.
    pub(super) depth: usize,
    /// The 1-based line of its name.
    pub(super) line: usize,
    /// Its first line, with its comments and attributes.
    pub(super) first: usize,
    /// Its last line, inclusive.
    pub(super) last: usize,
    /// Its text without the body, on one line.
    pub(super) signature: String,
    /// Whether it is the definition itself, rather than a prototype of it or an `impl` for it.
    pub(super) is_main: bool,
    /// Whether it lies in the body of a function, or in a value.
    pub(super) is_local: bool,
}

/// What a file defines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outline {
    /// In the order of their lines.
    pub(super) definitions: Vec<Definition>,
    /// How they were found.
    pub(super) how: How,
}

/// How definitions were found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By a parse in this language; whether some of the file is not of it.
    Parsed(&'static str, bool),
    /// The headings of Markdown.
    Headings,
    /// By the first words of lines, and why.
    FirstWords(&'static str),
}

/// What a name leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// One definition, and what else has its name: prototypes, `impl`s.
    One(&'a Definition, Vec<&'a Definition>),
    /// Several that may be meant.
    Several(Vec<&'a Definition>),
    /// None, but these are like it.
    Nothing(Vec<&'a str>),
}

/// Returns what a text defines. The path tells the language.
pub(super) fn outline(path: &str, text: &str) -> Outline {
    outline_within(path, text, PATIENCE)
}

fn outline_within(path: &str, text: &str, patience: Duration) -> Outline {
    let by_words = |why| Outline {
        definitions: words::definitions(text),
        how: How::FirstWords(why),
    };
    let ends_with = |end: &&str| path.to_ascii_lowercase().ends_with(*end);
    if [".md", ".markdown", ".mdx"].iter().any(ends_with) {
        return Outline {
            definitions: markdown::definitions(text),
            how: How::Headings,
        };
    }
    let Some(language) = languages::language_of(path, text) else {
        return by_words("its language is not one that is parsed");
    };
    if text.len() > MAX_PARSED {
        return by_words("it is too large to be parsed");
    }
    match tree::definitions(language, text, Instant::now() + patience) {
        Some(parsed) => Outline {
            definitions: parsed.definitions,
            how: How::Parsed(language.name, parsed.has_errors),
        },
        None => by_words("parsing it took too long"),
    }
}

impl Outline {
    /// The definitions to show, and how many there are besides: inside functions only long ones are worth a row.
    pub(super) fn listed(&self) -> (Vec<&Definition>, usize) {
        let is_long = |row: &Definition| row.last - row.first + 1 >= MIN_LOCAL_LINES;
        let all = self.definitions.iter();
        let long_local = all.clone().filter(|row| row.is_local && is_long(row));
        let with_local = long_local.count() <= MAX_LOCAL;
        let listed: Vec<&Definition> = all
            .filter(|row| !row.is_local || (with_local && is_long(row)))
            .collect();
        let more = self.definitions.len() - listed.len();
        (listed, more)
    }

    /// Finds the definition that a name means: `Foo::bar`, `Foo.bar` or `bar`, also `function::inner`; in Markdown a
    /// heading.
    pub(super) fn find(&self, symbol: &str) -> Found<'_> {
        let wanted = match self.how {
            How::Headings => vec![symbol.trim().trim_start_matches('#').trim().to_owned()],
            How::Parsed(..) | How::FirstWords(_) => names::asked(symbol),
        };
        let Some(last) = wanted.last() else {
            return Found::Nothing(Vec::new());
        };
        let (local, outer): (Vec<&Definition>, Vec<&Definition>) = self
            .definitions
            .iter()
            .filter(|definition| definition.path.ends_with(&wanted))
            .partition(|definition| definition.is_local);
        // What lies in a function is meant when nothing else has its name.
        let (hits, inside) = if outer.is_empty() {
            (local, Vec::new())
        } else {
            (outer, local)
        };
        let split = |is_it: &dyn Fn(&Definition) -> bool| -> (Vec<&Definition>, Vec<&Definition>) {
            hits.iter().partition(|definition| is_it(definition))
        };
        // The definition itself before what is beside it, the whole name before the end of a longer one.
        for is_it in [
            &(|definition: &Definition| definition.is_main) as &dyn Fn(&Definition) -> bool,
            &|definition| definition.is_main && definition.path == wanted,
            &|_| true,
        ] {
            if let (mut one, mut rest) = split(is_it)
                && one.len() == 1
                && let Some(one) = one.pop()
            {
                rest.extend(&inside);
                return Found::One(one, rest);
            }
        }
        if hits.is_empty() {
            let names = self
                .definitions
                .iter()
                .filter_map(|found| found.path.last());
            return Found::Nothing(names::nearest(last, names.map(String::as_str)));
        }
        Found::Several(hits.into_iter().chain(inside).collect())
    }
}

/// Returns a text on one line, cut when it is long.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > 4 * MAX_SIGNATURE {
            break;
        }
    }
    if let Some((cut, _)) = line.char_indices().nth(MAX_SIGNATURE) {
        line.truncate(cut);
        line.push('…');
    }
    line
}
