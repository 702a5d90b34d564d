//! `Read` denies, and `Edit` rules, held against the files that a command names.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::{Decision, Why};
use crate::{
    PathTarget, Redirect, Risk, Rule, RuleSet, Segment, Subject, Target,
    risk::{is_reader, read_paths, reads_trees, word_has_pattern, written},
    rule::{Ability, Anchors, Part, PathGlob, globs, lexical},
};

/// How many folders a line may move through before nobody can tell where it is.
const MAX_FOLDERS: usize = 16;

/// Says, for each command of a line, what the rules say about the files that it names: nothing, ask or deny.
///
/// Pure: links are not followed, and a relative word is read from the folder in which commands start and from every
/// folder that the line may have gone to.
pub(super) fn judge_reads(
    rules: &RuleSet,
    segments: &[Segment],
    sandboxed: bool,
) -> Vec<Option<(Decision, Why)>> {
    let edits = || globs(&rules.deny, Ability::Edit).chain(globs(&rules.ask, Ability::Edit));
    let (Some(anchors), Some(folder)) = (rules.anchors(), rules.folder()) else {
        return vec![None; segments.len()];
    };
    let (has_reads, has_edits) = (
        rules.read_deny_globs().next().is_some(),
        edits().next().is_some(),
    );
    if !has_reads && !has_edits {
        return vec![None; segments.len()];
    }
    let mut folders = vec![folder.to_owned()];
    let mut is_lost = false;
    let mut judged = Vec::with_capacity(segments.len());
    for segment in segments {
        let mut found = None;
        if has_reads {
            found = judge_segment(rules, anchors, &folders, is_lost, segment, sandboxed);
        }
        if has_edits && !matches!(found, Some((Decision::Deny, _))) {
            found = judge_written(rules, anchors, &folders, is_lost, segment).or(found);
        }
        judged.push(found);
        if matches!(segment.words[0].as_str(), "cd" | "pushd" | "popd") {
            is_lost |= !go(anchors, &mut folders, segment);
        }
    }
    judged
}

/// Returns the `Read` deny that a line seems to offend against, when it cannot be told what it would run.
pub(super) fn judge_loose_reads(
    rules: &RuleSet,
    line: &str,
    loose: &[Vec<String>],
) -> Option<(Decision, Why)> {
    let commands = loose.iter().map(|words| Segment {
        text: line.to_owned(),
        words: words.clone(),
        ..Segment::default()
    });
    let commands: Vec<Segment> = commands.collect();
    let (anchors, folder) = (rules.anchors()?, rules.folder()?);
    // After `<` stands a path where a command would stand.
    let named = commands
        .iter()
        .map(|command| resolve(&command.words[0], folder, anchors));
    let denied = |path: PathBuf| {
        rules
            .read_deny_globs()
            .find(|(_, glob)| glob.covers_strictly(&path))
    };
    if let Some((rule, _)) = named.into_iter().find_map(denied) {
        return Some((Decision::Deny, rule.why()));
    }
    let judged = judge_reads(rules, &commands, true).into_iter().flatten();
    judged
        .into_iter()
        .find(|(decision, _)| *decision == Decision::Deny)
}

/// Says what the rules say about a redirect whose target nobody has found: a deny holds for the path as written.
pub(super) fn judge_unresolved(rules: &RuleSet, redirect: &Redirect) -> Option<(Decision, Why)> {
    let lexical = resolve(&redirect.written, rules.folder()?, rules.anchors()?);
    let path = PathTarget {
        written: redirect.written.clone(),
        real: lexical.clone(),
        lexical,
    };
    let target = match redirect.writes {
        true => Target::Edit(path),
        false => Target::Read(path),
    };
    let subject = Subject {
        tool: "bash".into(),
        text: String::new(),
        risk: Risk::ReadOnly,
        targets: Vec::new(),
    };
    let part = Part::Target(&target);
    let stopping = |rules: &[Rule]| {
        rules
            .iter()
            .find(|rule| rule.stops(&subject, part))
            .map(Rule::why)
    };
    match (stopping(&rules.deny), stopping(&rules.ask)) {
        (Some(why), _) => Some((Decision::Deny, why)),
        (None, Some(why)) => Some((Decision::Ask, why)),
        (None, None) => None,
    }
}

/// Follows a `cd`. Returns whether it is known where to.
fn go(anchors: &Anchors, folders: &mut Vec<PathBuf>, segment: &Segment) -> bool {
    let target = match &segment.words[1..] {
        [] => "~",
        [target] | [_, target] if !target.starts_with('-') && !word_has_pattern(target) => target,
        _ => return false,
    };
    let reached: Vec<PathBuf> = folders
        .iter()
        .map(|folder| resolve(target, folder, anchors))
        .collect();
    folders.extend(reached);
    folders.sort_unstable();
    folders.dedup();
    folders.truncate(MAX_FOLDERS + 1);
    folders.len() <= MAX_FOLDERS
}

fn judge_segment(
    rules: &RuleSet,
    anchors: &Anchors,
    folders: &[PathBuf],
    is_lost: bool,
    segment: &Segment,
    sandboxed: bool,
) -> Option<(Decision, Why)> {
    let words = read_paths(segment);
    let mut asked = None;
    let mut named = Vec::new();
    for word in &words {
        for folder in folders {
            let path = resolve(word, folder, anchors);
            for (rule, glob) in rules.read_deny_globs() {
                if glob.covers_strictly(&path) {
                    return Some((Decision::Deny, rule.why()));
                }
                if word_has_pattern(word) && may_expand_to(&path, glob) {
                    asked = Some(rule.why());
                }
            }
            named.push(path);
        }
    }
    // A sandbox hides what is denied; without one, a word that cannot be told may name it.
    if asked.is_none() && !sandboxed && !segment.is_literal() && is_reader(segment) {
        asked = rules.read_deny_globs().next().map(|(rule, _)| rule.why());
    }
    if asked.is_none() && is_lost && !words.is_empty() {
        asked = rules.read_deny_globs().next().map(|(rule, _)| rule.why());
    }
    // A sandbox hides what is denied; without one, a command that reads whole trees may come across it.
    if asked.is_none() && !sandboxed && reads_trees(segment) {
        let roots = if named.is_empty() { folders } else { &named };
        let reached = |root: &PathBuf| {
            rules
                .read_deny_globs()
                .find(|(_, glob)| glob.reaches_into(root))
        };
        asked = roots.iter().find_map(reached).map(|(rule, _)| rule.why());
    }
    asked.map(|why| (Decision::Ask, why))
}

/// Says what the `Edit` rules say about the files that a command writes to by its arguments.
fn judge_written(
    rules: &RuleSet,
    anchors: &Anchors,
    folders: &[PathBuf],
    is_lost: bool,
    segment: &Segment,
) -> Option<(Decision, Why)> {
    let written = written(segment);
    if written.paths.is_empty() {
        return None;
    }
    let edits = || globs(&rules.deny, Ability::Edit).chain(globs(&rules.ask, Ability::Edit));
    let named: Vec<(&String, PathBuf)> = folders
        .iter()
        .map(|folder| match &written.folder {
            Some(inner) => resolve(inner, folder, anchors),
            None => folder.clone(),
        })
        .flat_map(|folder| {
            let resolved = written
                .paths
                .iter()
                .map(move |word| (word, resolve(word, &folder, anchors)));
            resolved.collect::<Vec<_>>()
        })
        .collect();
    let names =
        |(_, glob): &(&Rule, &PathGlob)| named.iter().any(|(_, path)| glob.covers_strictly(path));
    if let Some((rule, _)) = globs(&rules.deny, Ability::Edit).find(names) {
        return Some((Decision::Deny, rule.why()));
    }
    let may_name = |(_, glob): &(&Rule, &PathGlob)| {
        named.iter().any(|(word, path)| {
            word_has_pattern(word) && may_expand_to(path, glob)
                || written.whole_trees && glob.lies_below(path)
        })
    };
    let asked = globs(&rules.ask, Ability::Edit)
        .find(names)
        .or_else(|| edits().find(may_name))
        .or_else(|| edits().next().filter(|_| is_lost || written.is_open));
    asked.map(|(rule, _)| (Decision::Ask, rule.why()))
}

fn resolve(word: &str, folder: &Path, anchors: &Anchors) -> PathBuf {
    match word.strip_prefix("~/") {
        Some(rest) => lexical(Path::new(rest), &anchors.home),
        None if word == "~" => anchors.home.clone(),
        None => lexical(Path::new(word), folder),
    }
}

/// Says whether a shell could expand `pattern` to something that `glob` names.
fn may_expand_to(pattern: &Path, glob: &crate::rule::PathGlob) -> bool {
    let Some(denied) = glob.whole() else {
        // Two patterns: whether they meet is not worked out beyond their literal beginnings.
        let literal: PathBuf = pattern
            .iter()
            .take_while(|part| part.to_str().is_some_and(|part| !word_has_pattern(part)))
            .collect();
        return glob.reaches_into(&literal);
    };
    // The pattern may reach below what is denied, or name a folder above it.
    let depth = pattern
        .components()
        .count()
        .min(denied.components().count());
    let begin = |path: &Path| path.components().take(depth).collect::<PathBuf>();
    match begin(pattern)
        .to_str()
        .map(|text| GlobBuilder::new(text).literal_separator(true).build())
    {
        Some(Ok(matcher)) => matcher.compile_matcher().is_match(begin(denied)),
        _ => true,
    }
}
