//! Searches by `find`.

/// Says whether `find` only looks. What it runs by `-exec` is a command of its own.
pub(super) fn is_searching(arguments: &[String]) -> bool {
    const TESTS: &[&str] = &[
        "name",
        "iname",
        "path",
        "ipath",
        "wholename",
        "iwholename",
        "regex",
        "iregex",
        "regextype",
        "type",
        "xtype",
        "maxdepth",
        "mindepth",
        "size",
        "mtime",
        "mmin",
        "atime",
        "amin",
        "ctime",
        "cmin",
        "newer",
        "newermt",
        "newerct",
        "perm",
        "user",
        "group",
        "uid",
        "gid",
        "empty",
        "prune",
        "print",
        "print0",
        "printf",
        "o",
        "or",
        "a",
        "and",
        "not",
        "follow",
        "L",
        "H",
        "P",
        "E",
        "xdev",
        "mount",
        "depth",
        "true",
        "false",
        "links",
        "inum",
        "samefile",
        "readable",
        "writable",
        "executable",
        "ls",
        "quit",
        "daystart",
        "lname",
        "ilname",
        "nouser",
        "nogroup",
    ];
    // A value such as `-1` of `-mtime` is no test.
    let is_number = |text: &str| {
        text.bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_digit())
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(test) = word.strip_prefix('-') else {
            continue;
        };
        if matches!(test, "exec" | "execdir") {
            let mut before = "";
            for inner in words.by_ref() {
                if inner == ";" || inner == "+" && before == "{}" {
                    break;
                }
                before = inner;
            }
        } else if !TESTS.contains(&test) && !is_number(test) {
            return false;
        }
    }
    true
}
