//! What no command may read unless a person says so: keys, tokens, sockets of agents and container engines.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Names in a home folder that hold secrets or lead to something that has them.
const IN_HOME: &[&str] = &[
    // Keys.
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".config/age",
    ".config/sops",
    ".pki",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".kube",
    ".oci",
    ".fly",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    // Code hosts.
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".git-credentials",
    ".config/git/credentials",
    ".netrc",
    "_netrc",
    // Package registries.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip/pip.conf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    ".composer/auth.json",
    ".config/composer/auth.json",
    // Containers: their tokens and their sockets.
    ".docker/config.json",
    ".docker/run",
    ".docker/desktop",
    ".config/containers/auth.json",
    ".colima",
    ".lima",
    ".orbstack",
    ".rd",
    // Databases.
    ".pgpass",
    ".my.cnf",
    // What people pasted into a shell or a prompt.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    // Browsers.
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    // Other agents' tokens.
    ".claude/.credentials.json",
    ".claude.json",
    ".codex/auth.json",
    ".config/github-copilot",
    ".local/share/opencode/auth.json",
    // macOS.
    "Library/Keychains",
    "Library/Cookies",
    "Library/Application Support/Google/Chrome",
];

/// Files of the system that an ordinary user cannot read and root can.
const IN_SYSTEM: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/docker/key.json",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/lxd",
    "/var/lib/incus",
    "/var/snap/lxd",
    "/var/run/secrets",
];

/// Returns what is hidden from every sandboxed command: credentials in `home`, credentials of the system, sockets of
/// agents, and the other people's homes beside this one. The caller adds its own state and its `Read` denies.
///
/// The list does not depend on what exists, other people's homes apart.
pub fn default_hidden(home: &Path) -> Vec<PathBuf> {
    let mut hidden: Vec<PathBuf> = IN_HOME.iter().map(|name| home.join(name)).collect();
    hidden.extend(IN_SYSTEM.iter().map(PathBuf::from));
    hidden.extend(other_homes(home));
    hidden
}

/// Host keys of ssh and the homes next to `home`, where homes stand side by side.
fn other_homes(home: &Path) -> Vec<PathBuf> {
    let mut found = entries(Path::new("/etc/ssh"));
    found.retain(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("ssh_host_") && name.ends_with("_key"))
    });
    for folder in ["/home", "/Users"] {
        found.extend(
            entries(Path::new(folder)).into_iter().filter(|path| {
                !home.starts_with(path) && path.is_dir() && !path.ends_with("Shared")
            }),
        );
    }
    if !home.starts_with("/root") {
        found.push(PathBuf::from("/root"));
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.sort();
    paths
}
