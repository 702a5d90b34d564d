//! How long `cox` takes to begin, and how much memory a short run takes.

use std::path::Path;

use serde_json::json;

use crate::{
    figure::Figure,
    mock::Reply,
    run::{self, milliseconds},
};

/// Measures process start to the first byte of the first request, beside `node -e 0` and a process that does nothing;
/// and the peak memory of a run with two requests and one command.
pub(crate) fn first_request(cox: &Path, runs: usize) -> anyhow::Result<Vec<Figure>> {
    let node = Path::new("node");
    let has_node = run::time(node, &["-e", "0"]).is_ok();
    let folder = tempfile::tempdir()?;
    let replies = [
        Reply::Call("bash", json!({"command": "echo hi"})),
        Reply::Text("done"),
    ];

    let (mut first, mut whole, mut peak, mut gap) = (vec![], vec![], vec![], vec![]);
    let (mut nothing, mut node_start) = (vec![], vec![]);
    // The first round fills the caches of the system and is not counted.
    for round in 0..=runs {
        let run = run::run(cox, folder.path(), "run echo hi", &replies)?;
        let nothing_ms = run::time(Path::new("true"), &[])?;
        let node_ms = if has_node {
            run::time(node, &["-e", "0"])?
        } else {
            f64::NAN
        };
        if round == 0 {
            continue;
        }
        first.push(milliseconds(run.requests[0].began - run.started));
        gap.push(milliseconds(
            run.requests[1].began - run.requests[0].answered,
        ));
        whole.push(milliseconds(run.lived));
        peak.push(run.peak_bytes as f64 / 1_000_000.0);
        nothing.push(nothing_ms);
        node_start.push(node_ms);
    }

    let nothing = Figure::new("`true`, start to end", "ms", nothing);
    let node = Figure::new("`node -e 0`, start to end", "ms", node_start);
    let baseline = if has_node { &node } else { &nothing };
    let mut figures = vec![
        Figure::new("start to first request", "ms", first)
            .with_target(25.0)
            .beside(baseline),
        Figure::new(
            "first answer to second request, `echo hi` between",
            "ms",
            gap,
        )
        .beside(&nothing),
        Figure::new("whole run of two requests", "ms", whole).beside(baseline),
        Figure::new("peak memory of that run (VmHWM)", "MB", peak).with_target(40.0),
        nothing,
    ];
    if has_node {
        figures.push(node);
    }
    Ok(figures)
}

/// Measures `cox --version`, in turns with a process that does nothing.
pub(crate) fn version(cox: &Path, runs: usize) -> anyhow::Result<Vec<Figure>> {
    let (mut version, mut nothing) = (vec![], vec![]);
    for round in 0..=runs {
        let version_ms = run::time(cox, &["--version"])?;
        let nothing_ms = run::time(Path::new("true"), &[])?;
        if round > 0 {
            version.push(version_ms);
            nothing.push(nothing_ms);
        }
    }
    let nothing = Figure::new("`true`, start to end", "ms", nothing);
    Ok(vec![
        Figure::new("`cox --version`", "ms", version)
            .with_target(5.0)
            .beside(&nothing),
    ])
}
