//! The figures as a table for people and as one JSON document.

use serde_json::{Value, json};

use crate::figure::Figure;

/// Returns the table as Markdown.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text = format!("{} cores, load {}\n\n", cores(), load());
    text.push_str("| what | median | min | max | runs | baseline | ratio | target |\n");
    text.push_str("|---|---:|---:|---:|---:|---|---:|---|\n");
    for figure in figures {
        let baseline = figure
            .baseline
            .as_ref()
            .map_or(String::new(), |(name, median)| {
                format!("{name} {} {}", number(*median), figure.unit)
            });
        let ratio = figure
            .ratio()
            .map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let target = figure.target.map_or(String::new(), |target| {
            let mark = if figure.is_met() == Some(true) {
                "met"
            } else {
                "OVER"
            };
            let unit = if figure.target_is_ratio {
                "x"
            } else {
                figure.unit
            };
            format!("≤ {} {unit}: {mark}", number(target))
        });
        text.push_str(&format!(
            "| {} | {} {} | {} | {} | {} | {baseline} | {ratio} | {target} |\n",
            figure.name,
            number(figure.median()),
            figure.unit,
            number(figure.min()),
            number(figure.max()),
            figure.values.len(),
        ));
    }
    text
}

/// Returns one JSON document.
pub(crate) fn json(figures: &[Figure]) -> Value {
    let figures: Vec<Value> = figures
        .iter()
        .map(|figure| {
            json!({
                "name": figure.name,
                "unit": figure.unit,
                "median": figure.median(),
                "min": figure.min(),
                "max": figure.max(),
                "values": figure.values,
                "baseline": figure.baseline.as_ref().map(|(name, median)| json!({"name": name, "median": median})),
                "ratio": figure.ratio(),
                "target": figure.target,
                "target_is_ratio": figure.target_is_ratio,
                "met": figure.is_met(),
            })
        })
        .collect();
    json!({"cores": cores(), "load": load(), "figures": figures})
}

fn number(value: f64) -> String {
    if value.abs() >= 1_000.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the load of the last minute when the measurements have ended; a high one makes times worth less.
fn load() -> String {
    std::fs::read_to_string("/proc/loadavg")
        .ok()
        .and_then(|text| text.split_whitespace().next().map(str::to_owned))
        .unwrap_or_else(|| "unknown".to_owned())
}
