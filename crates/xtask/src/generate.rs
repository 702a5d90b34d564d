//! `cargo xtask generate`: the reference pages, written from what the binaries say about themselves.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context as _, bail};

/// Each generated page, the binary that prints it, and with which words.
const PAGES: &[(&str, &str, [&str; 2])] = &[
    ("docs/reference/cli.md", "cox", ["__reference", "cli"]),
    ("docs/reference/config.md", "cox", ["__reference", "config"]),
    ("docs/reference/mcpx-cli.md", "mcpx", ["reference", "cli"]),
    (
        "docs/reference/mcpx-settings.md",
        "mcpx",
        ["reference", "settings"],
    ),
    ("docs/reference/hub-api.md", "mcpx", ["reference", "api"]),
];

/// A generated page.
pub(crate) struct Page {
    /// Path from the root of the repository.
    pub(crate) path: &'static str,
    /// The whole text.
    pub(crate) text: String,
}

/// Writes every page and says which changed.
pub(crate) fn run(_: &[String]) -> anyhow::Result<ExitCode> {
    let root = crate::root()?;
    build(&root)?;
    for page in pages(&root)? {
        let path = root.join(page.path);
        let is_same = fs::read_to_string(&path).is_ok_and(|text| text == page.text);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        }
        fs::write(&path, &page.text).with_context(|| format!("write {}", path.display()))?;
        println!(
            "{}: {}",
            page.path,
            if is_same { "unchanged" } else { "written" }
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns every page as its binary has it now.
///
/// Takes the binaries that were built beside this one, and builds them only if one is missing: a test run of the whole
/// workspace has just built them.
pub(crate) fn pages(root: &Path) -> anyhow::Result<Vec<Page>> {
    PAGES
        .iter()
        .map(|(path, name, words)| {
            let binary = binary(name)?;
            if !binary.is_file() {
                build(root)?;
            }
            Ok(Page {
                path,
                text: printed(&binary, words)?,
            })
        })
        .collect()
}

/// Returns where a binary lies when it is built in the same profile as this program.
fn binary(name: &str) -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe().context("find this program's own path")?;
    let folder = me.parent().context("a program lies in a folder")?;
    // Unit tests run from `deps/`, one below the programs.
    let folder = if folder.ends_with("deps") {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    };
    Ok(folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the binaries in the profile that `cargo xtask` runs in.
pub(crate) fn build(root: &Path) -> anyhow::Result<()> {
    let status = Command::new("cargo")
        .args(["build", "--quiet", "--package", "cox", "--package", "mcpx"])
        .current_dir(root)
        .status()
        .context("start cargo")?;
    if !status.success() {
        bail!(
            "`cargo build --package cox --package mcpx` failed, so there is nothing to compare the pages with"
        );
    }
    Ok(())
}

fn printed(binary: &Path, words: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(binary)
        .args(words)
        .output()
        .with_context(|| format!("start {}", binary.display()))?;
    if !output.status.success() {
        bail!(
            "`{} {}` failed ({}): {}",
            binary.display(),
            words.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    String::from_utf8(output.stdout).context("the page is not UTF-8")
}
