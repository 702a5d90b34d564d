//! The programs that start servers for others, such as `npx`: which version of each the configured servers get.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use child_process::{Env, Program, run_briefly};
use mcpx_config::{Config, Reach};
use untrusted_text::terminal::one_line;

use super::checks::resolved;
use super::{Check, Grade};
use crate::settings::{Told, environment};

/// Programs that start servers and say their version when they are asked.
const RUNTIMES: &[&str] = &[
    "npx", "node", "uvx", "uv", "python", "python3", "deno", "bun", "bunx", "docker", "podman",
];
/// How long one may take to say it.
const WAIT: Duration = Duration::from_secs(5);

/// One line for each that a usable server is started with.
pub(super) fn runtimes(told: &Told, config: &Config) -> Vec<Check> {
    let mut programs: BTreeMap<PathBuf, String> = BTreeMap::new();
    for server in config.servers.values().filter(|server| server.is_ready()) {
        let Reach::Stdio {
            command, env, cwd, ..
        } = &server.reach
        else {
            continue;
        };
        let name = Path::new(command)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let path = env.get("PATH").map(String::as_str);
        if RUNTIMES.contains(&name.as_str())
            && let Some(program) = resolved(told, command, path, cwd.as_deref())
        {
            programs.insert(program, name);
        }
    }
    programs
        .iter()
        .map(|(program, name)| of(program, name))
        .collect()
}

fn of(program: &Path, name: &str) -> Check {
    let asked = Program::new(program)
        .arg("--version")
        .env(Env::allowlisted(&environment()));
    let shown = program.display();
    match run_briefly(&asked, WAIT) {
        Ok(brief) if brief.code == Some(0) => {
            let text = String::from_utf8_lossy(&brief.stdout).into_owned();
            let version = one_line(text.lines().next().unwrap_or_default(), 80);
            Check::new(name, Grade::Fine, format!("{version}, {shown}"))
        }
        Ok(brief) => {
            let said = String::from_utf8_lossy(&brief.stderr).into_owned();
            let said = one_line(said.lines().next().unwrap_or("it said nothing"), 200);
            Check::new(
                name,
                Grade::Broken,
                format!("`{shown} --version` failed: {said}"),
            )
            .remedy("servers that it starts will fail too: mend or reinstall it")
        }
        Err(error) => Check::new(name, Grade::Broken, error.to_string())
            .remedy("servers that it starts will fail too: mend or reinstall it"),
    }
}
