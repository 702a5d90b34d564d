//! Times what the workspace does: `speed search PATTERN FOLDER`, or `speed edit` in a made-up file of 10 MB.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use cox_workspace::{
    diff,
    edit::edit,
    search::{Bounds, LineQuery, lines::search_lines},
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["search", pattern, folder] => search(pattern, folder),
        ["edit"] => edits(),
        _ => println!("usage: speed search PATTERN FOLDER | speed edit"),
    }
}

fn search(pattern: &str, folder: &str) {
    let query = LineQuery {
        pattern: pattern.to_owned(),
        under: folder.into(),
        glob: None,
        context: 0,
        max_shown: 200,
        file_type: None,
        multiline: false,
        show: cox_workspace::search::Show::Lines,
    };
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| false,
        deadline: std::time::Instant::now() + std::time::Duration::from_secs(600),
    };
    let start = Instant::now();
    match search_lines(&query, &|path| path.display().to_string(), &bounds) {
        Ok(hits) => println!(
            "{} matches in {} files, {}",
            hits.matches,
            hits.files,
            since(start)
        ),
        Err(error) => println!("{error}"),
    }
}

fn edits() {
    let mut file = String::new();
    let mut number = 0;
    while file.len() < 10 << 20 {
        file.push_str(&format!(
            "    line {number} says “hello” to the world and goes on for a while\n"
        ));
        number += 1;
    }
    let middle = number / 2;
    let cases = [
        ("exact", format!("line {middle} says “hello”")),
        (
            "indentation",
            format!("\t\tline {middle} says “hello” to the world and goes on for a while\n"),
        ),
        ("quotes", format!("line {middle} says \"hello\"")),
        ("not found", format!("line {middle} says “goodbye” to the")),
    ];
    for (name, old) in cases {
        let start = Instant::now();
        let edited = edit(file.as_bytes(), &old, "x", false);
        println!(
            "{name}: {} {}",
            if edited.is_ok() {
                "replaced,"
            } else {
                "refused,"
            },
            since(start)
        );
        if let Ok(edited) = edited {
            let start = Instant::now();
            let lines = diff::unified("f", Some(file.as_bytes()), Some(&edited.bytes))
                .lines()
                .count();
            println!("  its diff: {lines} lines, {}", since(start));
        }
    }
}

fn since(start: Instant) -> String {
    format!("{:.1} ms", start.elapsed().as_secs_f64() * 1000.0)
}
