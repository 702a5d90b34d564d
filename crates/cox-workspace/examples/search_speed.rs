//! Searches a folder once and prints how long it took: `search_speed PATTERN FOLDER`.
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use cox_workspace::search::{Bounds, LineQuery, lines::search_lines};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(pattern), Some(folder)) = (arguments.next(), arguments.next()) else {
        println!("usage: search_speed PATTERN FOLDER");
        return;
    };
    let query = LineQuery {
        pattern,
        under: folder.into(),
        glob: None,
        context: 0,
        max_shown: 200,
    };
    let bounds = Bounds {
        may_read: &|_| true,
        cancelled: &|| false,
    };
    let start = Instant::now();
    match search_lines(&query, &|path| path.display().to_string(), &bounds) {
        Ok(hits) => println!(
            "{} matches in {} files, {:.1} ms",
            hits.matches,
            hits.files,
            start.elapsed().as_secs_f64() * 1000.0
        ),
        Err(error) => println!("{error}"),
    }
}
