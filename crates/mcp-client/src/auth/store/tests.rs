use url::Url;

use super::*;
use crate::auth::address::origin;
use crate::auth::metadata::ClientAuth;
use crate::auth::record::{Client, Tokens, digest};
use crate::auth::secret::Secret;

fn record(access: &str) -> Record {
    let server = Url::parse("https://a.example/mcp").unwrap();
    Record {
        origin: origin(&server),
        server_digest: digest(&server),
        issuer: "https://as.example".to_owned(),
        resource: "https://a.example/mcp".to_owned(),
        client: Client {
            id: "c".to_owned(),
            secret: None,
            auth: ClientAuth::None,
            redirect: None,
            secret_ends: None,
        },
        tokens: Some(Tokens {
            access: Secret::new(access),
            refresh: None,
            ends: None,
            renew_from: None,
            scopes: Vec::new(),
            is_of_client: false,
        }),
    }
}

fn check(store: &dyn TokenStore) {
    let (one, two) = (record("one"), record("two"));
    assert_eq!(store.load("k"), Ok((None, None)));
    let first = store.swap("k", None, Some(&one)).unwrap();
    assert_eq!(store.load("k"), Ok((Some(one), first.clone())));
    assert_eq!(store.swap("k", None, Some(&two)), Err(None));
    let second = store.swap("k", first.as_ref(), Some(&two)).unwrap();
    assert_eq!(store.swap("k", first.as_ref(), None), Err(None));
    assert_eq!(store.load("k"), Ok((Some(two), second.clone())));
    assert_eq!(store.load("other"), Ok((None, None)));
    assert_eq!(store.swap("k", second.as_ref(), None), Ok(None));
    assert_eq!(store.load("k"), Ok((None, None)));

    let held = store.try_lock("k").unwrap();
    assert!(held.is_some());
    assert!(store.try_lock("k").unwrap().is_none());
    assert!(store.try_lock("other").unwrap().is_some());
    drop(held);
    assert!(store.try_lock("k").unwrap().is_some());
}

#[test]
fn a_store_compares_and_swaps_and_locks() {
    check(&MemoryStore::default());
    let home = testkit::TempHome::new();
    check(&FileStore::new(home.path().join("deep/tokens")));
}

/// What `secret-tool` does, with a folder for a keyring: attributes by argument, the secret by its input.
#[cfg(all(feature = "keyring", unix))]
const SECRET_TOOL: &str = r#"#!/bin/sh
verb=$1; shift
case $1 in --label=*) shift;; esac
[ "$1 $2 $3" = "service test key" ] || { echo "bad attributes: $*" >&2; exit 2; }
case $verb in
  store) cat > "$KEYRING/$4";;
  lookup) [ -e "$KEYRING/$4" ] || exit 1; cat "$KEYRING/$4";;
  clear) [ -e "$KEYRING/$4" ] || exit 1; rm "$KEYRING/$4";;
esac
"#;

#[cfg(all(feature = "keyring", unix))]
#[tokio::test]
async fn a_keyring_is_a_store_and_keeps_no_secret_in_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = testkit::TempHome::new();
    let tool = home.write("bin/secret-tool", SECRET_TOOL);
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(home.path().join("keyring")).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let env = child_process::Env::empty()
        .set("PATH", &path)
        .set("KEYRING", home.path().join("keyring"));
    let locks = home.path().join("locks");
    let store = KeyringStore::new("test", env, &locks);
    let used = store.clone();
    tokio::task::spawn_blocking(move || check(&used))
        .await
        .unwrap();
    let endings = std::fs::read_dir(&locks).unwrap();
    let mut endings = endings.map(|file| {
        file.unwrap()
            .path()
            .extension()
            .map(std::ffi::OsStr::to_owned)
    });
    assert!(endings.all(|ending| ending.is_some_and(|ending| ending != "json")));

    let closed = KeyringStore::new(
        "other",
        child_process::Env::empty().set("PATH", &path),
        &locks,
    );
    let error = tokio::task::spawn_blocking(move || closed.load("k"))
        .await
        .unwrap()
        .unwrap_err();
    assert!(
        error.contains("ended with Code(2): bad attributes"),
        "{error}"
    );
}

#[test]
fn a_torn_file_is_no_record_and_can_be_replaced() {
    let home = testkit::TempHome::new();
    let store = FileStore::new(home.path());
    store.swap("k", None, Some(&record("one"))).unwrap();
    home.write(store_file(home.path()).to_str().unwrap(), "{\"version\":1,");
    let (read, version) = store.load("k").unwrap();
    assert_eq!(read, None);
    assert!(
        store
            .swap("k", version.as_ref(), Some(&record("two")))
            .is_ok()
    );
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let home = testkit::TempHome::new();
    let folder = home.path().join("tokens");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    let store = FileStore::new(&folder);
    store.swap("../k ü", None, Some(&record("one"))).unwrap();
    let lock = store.try_lock("../k ü").unwrap();
    assert!(lock.is_some());
    assert_eq!(mode(&folder), 0o700);
    let files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    let file = store_file(&folder);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = store.load("../k ü").unwrap_err();
    assert!(error.contains("mode 640, expected 600"), "{error}");
}

fn store_file(folder: &std::path::Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    files
        .into_iter()
        .find(|file| file.extension().is_some_and(|ending| ending == "json"))
        .unwrap()
}
