//! Where a run takes place: the person's home, cox's home, the working directory, the roots.

use std::path::{Path, PathBuf};

use cox_permission::Anchors;

use crate::{args::Global, exit::Failure, settings::environment::Environment};

/// The places of a run. All absolute; the working directory and the roots are real (no links).
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// The person's home.
    pub(crate) user_home: PathBuf,
    /// Cox's home; may not exist yet.
    pub(crate) cox_home: PathBuf,
    /// The working directory.
    pub(crate) cwd: PathBuf,
    /// The git root of the working directory, else the working directory.
    pub(crate) root: PathBuf,
    /// Folders added by flag.
    pub(crate) added: Vec<PathBuf>,
}

impl Places {
    /// Finds the places by flag, environment and file system.
    ///
    /// # Errors
    ///
    /// A usage failure for a folder that is not there; an error when there is no home.
    pub(crate) fn find(global: &Global, environment: &Environment) -> Result<Self, Failure> {
        let user_home = environment.user_home();
        let cwd = match &global.cwd {
            Some(path) => real_folder("--cwd", &from_here(path, environment)?)?,
            None => real_folder("the current folder", &environment.current_dir()?)?,
        };
        let cox_home = cox_home(global, environment)?;
        let added = global
            .add_dir
            .iter()
            .map(|path| real_folder("--add-dir", &from_here(path, environment)?))
            .collect::<Result<_, _>>()?;
        let user_home = user_home.unwrap_or_else(|| cox_home.clone());
        // A home that is itself a repository, as some keep their dotfiles, must not make all of it the workspace.
        let root = git_root(&cwd)
            .filter(|root| !user_home.starts_with(root))
            .unwrap_or(&cwd);
        Ok(Self {
            root: root.to_owned(),
            user_home,
            cox_home,
            cwd,
            added,
        })
    }

    /// Returns where relative rules and rules of `~/` are anchored.
    pub(crate) fn anchors(&self) -> Anchors {
        Anchors {
            root: self.root.clone(),
            home: self.user_home.clone(),
        }
    }

    /// Returns the person's configuration file.
    pub(crate) fn user_file(&self) -> PathBuf {
        self.cox_home.join("config.toml")
    }

    /// Returns the project's configuration file, unless it is the person's own.
    pub(crate) fn project_file(&self) -> Option<PathBuf> {
        let file = self.root.join(".cox").join("config.toml");
        let own = self.user_file();
        let same = file == own
            || matches!((file.canonicalize(), own.canonicalize()), (Ok(a), Ok(b)) if a == b);
        (!same).then_some(file)
    }

    /// Returns a path with the person's home written as `~`.
    pub(crate) fn short(&self, path: &Path) -> String {
        match path.strip_prefix(&self.user_home) {
            Ok(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Ok(rest) => format!("~/{}", rest.display()),
            Err(_) => path.display().to_string(),
        }
    }

    /// Returns what a written path means: `~/` is the person's home, a relative one starts at the root.
    pub(crate) fn resolve(&self, written: &str) -> PathBuf {
        match written.strip_prefix("~/") {
            Some(rest) => self.user_home.join(rest),
            None if written == "~" => self.user_home.clone(),
            None => self.root.join(written),
        }
    }
}

/// Returns cox's home; it may not exist yet.
///
/// # Errors
///
/// A usage failure for a flag that leads to something else than a folder; an error when there is no home.
pub(crate) fn cox_home(global: &Global, environment: &Environment) -> Result<PathBuf, Failure> {
    let user_home = environment.user_home();
    let written = |path: &Path| match (path.strip_prefix("~"), &user_home) {
        // A shell leaves `~` alone in `--home=~/x`, and so does a file of variables.
        (Ok(rest), Some(home)) => Ok(home.join(rest)),
        _ => from_here(path, environment),
    };
    let (home, whose) = match (&global.home, environment.path("COX_HOME"), &user_home) {
        (Some(path), _, _) => (written(path)?, "--home"),
        (None, Some(path), _) => (written(&path)?, "COX_HOME"),
        (None, None, Some(home)) => (home.join(".cox"), "the home of cox"),
        (None, None, None) => {
            return Err(Failure::error(
                "there is no home folder: HOME is not set to an absolute path\n\
                 hint: set HOME, or COX_HOME, or give `--home`",
            ));
        }
    };
    // Whatever is no folder, at the path or on the way to it, would look like a home that is still empty.
    let existing = home
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok());
    if let Some(path) = existing
        && !path.is_dir()
    {
        let message = format!(
            "{whose} {}: {} is not a folder",
            home.display(),
            path.display()
        );
        return Err(if whose == "--home" {
            Failure::usage(message)
        } else {
            Failure::error(format!("{message}\nhint: set COX_HOME or give `--home`"))
        });
    }
    Ok(home)
}

/// Returns a path as seen from the current folder, which an absolute one does not need.
fn from_here(path: &Path, environment: &Environment) -> Result<PathBuf, Failure> {
    if path.is_absolute() {
        Ok(path.to_owned())
    } else {
        Ok(environment.current_dir()?.join(path))
    }
}

/// Returns the nearest folder at or above `cwd` that holds `.git`.
fn git_root(cwd: &Path) -> Option<&Path> {
    cwd.ancestors().find(|folder| folder.join(".git").exists())
}

/// Returns the branch that is checked out, read from the files of git alone.
pub(crate) fn git_branch(root: &Path) -> Option<String> {
    let entry = root.join(".git");
    let git_dir = if entry.is_file() {
        let text = std::fs::read_to_string(&entry).ok()?;
        root.join(text.strip_prefix("gitdir:")?.trim())
    } else {
        entry
    };
    let head = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let branch = head.trim().strip_prefix("ref: refs/heads/")?;
    Some(branch.chars().take(200).collect())
}

fn real_folder(what: &str, path: &Path) -> Result<PathBuf, Failure> {
    let real = path
        .canonicalize()
        .map_err(|error| Failure::usage(format!("{what} {}: {error}", path.display())))?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(Failure::usage(format!(
            "{what} {} is not a folder",
            real.display()
        )))
    }
}
