//! A second opinion: an independent parser reads the lines of `corpus/` too, and the two agree, or the corpus says why not.

use brush_parser::{
    Parser, ParserOptions,
    ast::{
        self, AssignmentValue, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand,
        CompoundList, IoFileRedirectTarget, IoRedirect, Program,
    },
    word::{WordPiece, WordPieceWithSource},
};

use super::{outline::Outline, tree, word::Value};

/// Simple commands as the other parser finds them: the words as written.
type Found = Vec<Vec<String>>;

fn program(text: &str) -> Result<Program, String> {
    let options = ParserOptions::default();
    Parser::new(text.as_bytes(), &options)
        .parse_program()
        .map_err(|error| error.to_string())
}

fn line(text: &str, found: &mut Found) -> Result<(), String> {
    for list in &program(text)?.complete_commands {
        compound_list(list, found)?;
    }
    Ok(())
}

fn compound_list(list: &CompoundList, found: &mut Found) -> Result<(), String> {
    for item in &list.0 {
        let ast::AndOrList { first, additional } = &item.0;
        let rest = additional.iter().map(|next| match next {
            ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
        });
        for pipeline in std::iter::once(first).chain(rest) {
            let at = found.len();
            for part in &pipeline.seq {
                command(part, found)?;
            }
            if pipeline.timed.is_some() {
                // Ours takes `time` for a program that runs the rest.
                found[at] = vec!["time".into()];
            }
        }
    }
    Ok(())
}

fn command(part: &Command, found: &mut Found) -> Result<(), String> {
    match part {
        Command::Simple(simple) => {
            let mut words = Vec::new();
            let mut reads_file = false;
            let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
            let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
            let at = found.len();
            found.push(Vec::new());
            for item in prefix {
                piece(item, &mut Vec::new(), &mut reads_file, found)?;
            }
            if let Some(name) = &simple.word_or_name {
                words.push(name.value.clone());
                text(&name.value, found)?;
            }
            for item in suffix {
                piece(item, &mut words, &mut reads_file, found)?;
            }
            match words.is_empty() {
                true if reads_file => found[at] = vec!["cat".into()],
                true => drop(found.remove(at)),
                false => found[at] = words,
            }
            Ok(())
        }
        Command::Compound(inner, redirects) => {
            compound(inner, found)?;
            for redirect in redirects.iter().flat_map(|list| &list.0) {
                self::redirect(redirect, &mut false, found)?;
            }
            Ok(())
        }
        Command::Function(function) => compound(&function.body.0, found),
        Command::ExtendedTest(..) => {
            found.push(vec!["[[".into()]);
            Ok(())
        }
    }
}

fn compound(inner: &CompoundCommand, found: &mut Found) -> Result<(), String> {
    match inner {
        CompoundCommand::BraceGroup(group) => compound_list(&group.list, found),
        CompoundCommand::Subshell(subshell) => compound_list(&subshell.list, found),
        CompoundCommand::ForClause(clause) => {
            for value in clause.values.iter().flatten() {
                text(&value.value, found)?;
            }
            compound_list(&clause.body.list, found)
        }
        CompoundCommand::CaseClause(clause) => {
            text(&clause.value.value, found)?;
            for case in &clause.cases {
                for pattern in &case.patterns {
                    text(&pattern.value, found)?;
                }
                if let Some(list) = &case.cmd {
                    compound_list(list, found)?;
                }
            }
            Ok(())
        }
        CompoundCommand::IfClause(clause) => {
            compound_list(&clause.condition, found)?;
            compound_list(&clause.then, found)?;
            for branch in clause.elses.iter().flatten() {
                if let Some(condition) = &branch.condition {
                    compound_list(condition, found)?;
                }
                compound_list(&branch.body, found)?;
            }
            Ok(())
        }
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            compound_list(&clause.0, found)?;
            compound_list(&clause.1.list, found)
        }
        CompoundCommand::Arithmetic(_)
        | CompoundCommand::ArithmeticForClause(_)
        | CompoundCommand::Coprocess(_) => Err("not told by ours".into()),
    }
}

fn piece(
    item: &Item,
    words: &mut Vec<String>,
    reads_file: &mut bool,
    found: &mut Found,
) -> Result<(), String> {
    match item {
        Item::IoRedirect(io) => redirect(io, reads_file, found),
        Item::Word(word) => {
            words.push(word.value.clone());
            text(&word.value, found)
        }
        Item::AssignmentWord(assignment, word) => {
            words.push(word.value.clone());
            match &assignment.value {
                AssignmentValue::Scalar(value) => text(&value.value, found),
                AssignmentValue::Array(_) => Ok(()),
            }
        }
        Item::ProcessSubstitution(kind, subshell) => {
            words.push(format!("{kind}(…)"));
            compound_list(&subshell.list, found)
        }
    }
}

fn redirect(io: &IoRedirect, reads_file: &mut bool, found: &mut Found) -> Result<(), String> {
    match io {
        IoRedirect::File(_, _, target) => match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                *reads_file = true;
                text(&word.value, found)
            }
            IoFileRedirectTarget::Fd(_) => Ok(()),
            IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                compound_list(&subshell.list, found)
            }
        },
        IoRedirect::HereDocument(_, document) if document.requires_expansion => {
            text(&document.doc.value, found)
        }
        IoRedirect::HereDocument(..) => Ok(()),
        IoRedirect::HereString(_, word) | IoRedirect::OutputAndError(word, _) => {
            text(&word.value, found)
        }
    }
}

/// Finds the commands in a word.
fn text(word: &str, found: &mut Found) -> Result<(), String> {
    let pieces = brush_parser::word::parse(word, &ParserOptions::default())
        .map_err(|error| error.to_string())?;
    pieces_of(&pieces, found)
}

fn pieces_of(pieces: &[WordPieceWithSource], found: &mut Found) -> Result<(), String> {
    for piece in pieces {
        match &piece.piece {
            WordPiece::CommandSubstitution(inner)
            | WordPiece::BackquotedCommandSubstitution(inner) => line(inner, found)?,
            WordPiece::DoubleQuotedSequence(inner)
            | WordPiece::GettextDoubleQuotedSequence(inner) => pieces_of(inner, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// Returns a word without its quotes, as far as it is literal.
fn value(word: &str) -> String {
    let pieces = brush_parser::word::parse(word, &ParserOptions::default()).unwrap_or_default();
    let mut value = String::new();
    value_of(&pieces, false, &mut value);
    value
}

fn value_of(pieces: &[WordPieceWithSource], is_quoted: bool, value: &mut String) {
    for piece in pieces {
        match &piece.piece {
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => value.push_str(text),
            WordPiece::DoubleQuotedSequence(inner) => value_of(inner, true, value),
            WordPiece::EscapeSequence(text) => {
                let escaped = text.strip_prefix('\\').unwrap_or(text);
                match is_quoted && !escaped.starts_with(['"', '\\', '$', '`']) {
                    true => value.push_str(text),
                    false => value.push_str(escaped),
                }
            }
            WordPiece::TildeExpansion(_) => value.push('~'),
            _ => {}
        }
    }
}

/// What both say about a command: the words of one that is literal, the number of words of any other.
fn shown(words: &[String], is_literal: bool) -> String {
    match is_literal {
        true => words.join(" "),
        false => format!("{} +{}", words[0], words.len() - 1),
    }
}

fn disagreement(text: &str) -> Result<Option<String>, String> {
    let ours = tree::commands(&Outline::of(text)?)?;
    let mut theirs = Vec::new();
    line(text, &mut theirs).map_err(|error| format!("theirs: {error}"))?;
    let literal: std::collections::BTreeSet<Vec<String>> = ours
        .iter()
        .filter(|command| {
            command
                .words
                .iter()
                .all(|word| word.value == Value::Literal)
        })
        .map(|command| command.words.iter().map(|word| word.text.clone()).collect())
        .collect();
    let mut ours: Vec<String> = ours
        .iter()
        .map(|command| {
            let words: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
            match words[0].as_str() {
                "[[" => "[[".into(),
                "time" => "time".into(),
                _ => shown(&words, literal.contains(&words)),
            }
        })
        .collect();
    let mut theirs: Vec<String> = theirs
        .iter()
        .map(|words| {
            let plain: Vec<String> = words.iter().map(|word| value(word)).collect();
            match plain[0].as_str() {
                "[[" => "[[".into(),
                "time" => "time".into(),
                _ => shown(&plain, literal.contains(&plain)),
            }
        })
        .collect();
    ours.sort();
    theirs.sort();
    Ok((ours != theirs).then(|| format!("ours {ours:?}, theirs {theirs:?}")))
}

#[test]
fn an_independent_parser_finds_the_same_commands() {
    let mut told = 0;
    let mut lines = 0;
    let mut wrong = Vec::new();
    for (name, text) in [
        ("bypass.txt", include_str!("../../corpus/bypass.txt")),
        ("everyday.txt", include_str!("../../corpus/everyday.txt")),
        ("grammar.txt", include_str!("../../corpus/grammar.txt")),
    ] {
        // A remark above a line explains why the two read it differently.
        let mut is_explained = false;
        for (at, line) in text.lines().enumerate() {
            if line.starts_with("#! ") {
                is_explained = true;
                continue;
            }
            if line.is_empty() || line.starts_with("# ") || line.starts_with("## ") || line == "#" {
                continue;
            }
            lines += 1;
            let line = line.strip_prefix("~ ").unwrap_or(line).replace('⏎', "\n");
            let result = disagreement(&line);
            told += usize::from(matches!(result, Ok(None)));
            let differs = match result {
                Ok(differs) => differs,
                // Ours cannot tell: that asks, so nothing depends on the other reading. Theirs cannot tell: that is a
                // difference.
                Err(why) => why.strip_prefix("theirs: ").map(str::to_owned),
            };
            if differs.is_some() != std::mem::take(&mut is_explained) {
                let what = differs.unwrap_or_else(|| "explained, but they agree".into());
                wrong.push(format!("{name}:{}: {line:?}: {what}", at + 1));
            }
        }
    }
    println!(
        "oracle: the same commands in {told} of {lines} lines; in the others ours cannot tell, or the corpus says why"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lines >= 500 && told >= 300, "{told} of {lines}");
}
