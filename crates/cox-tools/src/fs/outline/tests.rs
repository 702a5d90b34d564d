use super::*;

/// The rows as they are shown: line, indentation, signature.
#[track_caller]
fn check(path: &str, text: &str, expect: &str) {
    let outline = outline(path, text);
    let (listed, _) = outline.listed();
    let rows: Vec<String> = listed
        .iter()
        .map(|row| format!("{}: {}{}", row.line, "  ".repeat(row.depth), row.signature))
        .collect();
    let expect: Vec<&str> = expect.lines().map(str::trim_end).collect();
    assert_eq!(rows, expect, "{:?}", outline.how);
}

const RUST: &str = "\
//! Doc.
use std::fmt;

/// A thing.
#[derive(Debug)]
pub struct Foo<T>
where
    T: Copy,
{
    x: T,
}

pub struct Pair(u32, u32);

pub const LIMIT: usize = 5;

impl<T: Copy> Foo<T> {
    /// Makes one.
    pub fn new(x: T) -> Self {
        fn inner() {}
        Self { x }
    }

    pub(crate) async fn bar(&self) {}
}

impl<T> fmt::Display for crate::Foo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

trait Shape {
    type Unit;
    fn area(&self) -> f64;
}

mod inner {
    pub enum Kind { A, B }
    macro_rules! m { () => {} }
}
";

#[test]
fn rust() {
    check(
        "a.rs",
        RUST,
        "\
6: pub struct Foo<T> where T: Copy,
13: pub struct Pair(u32, u32)
15: pub const LIMIT: usize = 5
17: impl<T: Copy> Foo<T>
19:   pub fn new(x: T) -> Self
24:   pub(crate) async fn bar(&self)
27: impl<T> fmt::Display for crate::Foo<T>
28:   fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result
33: trait Shape
34:   type Unit
35:   fn area(&self) -> f64
38: mod inner
39:   pub enum Kind
40:   macro_rules! m",
    );
}

#[test]
fn typescript_and_tsx() {
    let text = "\
import x from 'y';
export interface Shape {
  area(): number;
  name: string;
}
export type Id = string | number;
export const LIMIT = 5, other = 6;
/** Doc. */
export default class Circle<T> extends Base implements Shape {
  private r = 1;
  constructor(r: number) { super(); }
  area(): number { const inner = () => 1; return inner(); }
  onClick = async (e: Event) => {
    return e;
  };
}
export abstract class A { abstract f(): void; }
export async function load(id: Id): Promise<void> {}
const arrow = <T,>(a: T) => {
  return a;
};
enum Color { Red }
declare module 'm' { function f(): void; }
namespace N { export function g() {} }
if (x) { const local = 1; }
";
    let expect = "\
2: export interface Shape
3:   area(): number
6: export type Id = string | number
7: export const LIMIT = 5
7: other = 6
9: export default class Circle<T> extends Base implements Shape
11:   constructor(r: number)
12:   area(): number
13:   onClick = async (e: Event) =>
17: export abstract class A
17:   abstract f(): void
18: export async function load(id: Id): Promise<void>
19: const arrow = <T,>(a: T) =>
22: enum Color
23: declare module 'm'
23:   function f(): void
24: namespace N
24:   export function g()";
    check("a.ts", text, expect);
    check("a.tsx", text, expect);
}

#[test]
fn javascript() {
    check(
        "a.mjs",
        "\
function a(x) {}
class B extends C { static m() {} get p() { return 1 } field = () => 1 }
module.exports.run = function (x) {};
exports.y = 1;
(function () { function hidden() {} })();
export const z = { a: 1, b: 2 };
const { p, q } = z;
",
        "\
1: function a(x)
2: class B extends C
2:   static m()
2:   get p()
2:   field = () =>
3: module.exports.run = function (x)
5: function hidden()
6: export const z",
    );
}

#[test]
fn python() {
    check(
        "a.py",
        "\
import os
LIMIT: int = 5
@decorator(1)
class A(Base):
    x = 1

    @property
    def name(self) -> str:
        def inner(): pass
        return 'x'

    async def run(
        self,
        a=1,
    ): ...

def top(*args, **kwargs):
    pass
",
        "\
2: LIMIT: int = 5
4: class A(Base)
8:   def name(self) -> str
12:   async def run( self, a=1, )
17: def top(*args, **kwargs)",
    );
}

#[test]
fn go() {
    check(
        "a.go",
        "\
package p

const A = 1
const (
\tB = iota
\tC
)

var v int

type Server[T any] struct {
\tx int
}

type (
\tReader interface { Read() }
)

func (s *Server[T]) Run(ctx context.Context) error { return nil }

func main() { x := func() {} }
",
        "\
3: const A = 1
5: B = iota
6: C
9: var v int
11: type Server[T any] struct
16: Reader interface
16:   Read()
19: func (s *Server[T]) Run(ctx context.Context) error
21: func main()",
    );
}

#[test]
fn c() {
    check(
        "a.c",
        "\
#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define N 5
struct point { int x; };
typedef struct { int y; } other_t;
typedef int (*callback)(void *);
static const char *names[] = { \"a\" };
int add(int a, int b);
static inline int
*add2(int a)
{
    int local = 1;
    return 0;
}
enum color { RED };
struct point *make(void) { return 0; }
",
        "\
2: #define MAX(a, b) ((a) > (b) ? (a) : (b))
3: #define N 5
4: struct point
5: typedef struct { int y; } other_t
6: typedef int (*callback)(void *)
7: static const char *names[]
8: int add(int a, int b)
10: static inline int *add2(int a)
15: enum color
16: struct point *make(void)",
    );
}

#[test]
fn cpp() {
    check(
        "a.hpp",
        "\
#pragma once
namespace a::b {
template <typename T>
class Foo : public Base<T> {
 public:
  Foo();
  ~Foo() {}
  virtual int bar(int x) const = 0;
  bool operator==(const Foo& o) const { return true; }
  int field;
  struct Inner { int y; };
};
using Alias = Foo<int>;
}
template <typename T>
int a::b::Foo<T>::bar(int x) const { return x; }
namespace { int hidden() { return 1; } }
extern \"C\" { void c_api(void); }
",
        "\
2: namespace a::b
4:   template <typename T> class Foo : public Base<T>
6:     Foo()
7:     ~Foo()
8:     virtual int bar(int x) const = 0
9:     bool operator==(const Foo& o) const
11:     struct Inner
13:   using Alias = Foo<int>
16: template <typename T> int a::b::Foo<T>::bar(int x) const
17: int hidden()
18: void c_api(void)",
    );
}

#[test]
fn java() {
    check(
        "A.java",
        "\
package p;
public class A<T> extends B implements C {
  private int x = 1;
  public A() {}
  @Override
  public String run(int a) throws E { return \"\"; }
  interface In { void f(); }
  enum K { X, Y; void g() {} }
  record R(int a) {}
}
",
        "\
2: public class A<T> extends B implements C
4:   public A()
6:   @Override public String run(int a) throws E
7:   interface In
7:     void f()
8:   enum K
8:     void g()
9:   record R(int a)",
    );
}

#[test]
fn markdown_has_headings_outside_code() {
    check(
        "a.md",
        "# One\ntext\n```\n# not\n~~~\n```\n## Two ##\n### Three\n## Four\n#not\n",
        "1: # One\n7:   ## Two ##\n8:     ### Three\n9:   ## Four",
    );
}

#[test]
fn other_languages_are_told_by_first_words_and_say_so() {
    let found = outline("a.kt", "class A {\n    fun b() {}\n}\n");
    assert_eq!(
        found.how,
        How::FirstWords("its language is not one that is parsed")
    );
    check(
        "a.kt",
        "class A {\n    fun b() {}\n}\n",
        "1: class A\n2:   fun b() {}",
    );
}

#[test]
fn a_parse_that_takes_too_long_falls_back_and_says_so() {
    let text = "fn a() {}\n".repeat(50_000);
    let found = outline_within("a.rs", &text, Duration::ZERO);
    assert_eq!(found.how, How::FirstWords("parsing it took too long"));
    assert_eq!(found.definitions.len(), 50_000);
}

#[test]
fn a_file_of_twenty_thousand_lines_is_fast_and_deep_nesting_is_no_trouble() {
    let text =
        "/// Doc.\npub fn name(a: u32) -> u32 {\n    let b = a + 1;\n    b * 2\n}\n".repeat(4_000);
    let started = Instant::now();
    assert_eq!(outline("a.rs", &text).definitions.len(), 4_000);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    for (path, open) in [
        ("a.rs", "mod a {"),
        ("a.py", "["),
        ("a.cpp", "namespace a {"),
        ("a.c", "int (*"),
    ] {
        let _outline = outline(path, &open.repeat(20_000));
    }
}

/// The lines of the definition that a name leads to, and how many others share it; or what is said instead.
#[track_caller]
fn finds(path: &str, text: &str, symbol: &str, expect: &str) {
    let outline = outline(path, text);
    let found = match outline.find(symbol) {
        Found::One(one, beside) => format!("{}-{} +{}", one.first, one.last, beside.len()),
        Found::Several(several) => {
            let lines: Vec<String> = several.iter().map(|row| row.line.to_string()).collect();
            format!("several: {}", lines.join(" "))
        }
        Found::Nothing(nearest) => format!("nearest: {}", nearest.join(" ")),
    };
    assert_eq!(found, expect, "{symbol}");
}

#[test]
fn a_symbol_leads_to_its_definition_with_comments_and_attributes() {
    finds("a.rs", RUST, "Foo", "4-11 +2");
    finds("a.rs", RUST, "Foo::new", "18-22 +0");
    finds("a.rs", RUST, "Foo.new()", "18-22 +0");
    finds("a.rs", RUST, "new", "18-22 +0");
    finds("a.rs", RUST, "Foo<T>::fmt", "28-30 +0");
    finds("a.rs", RUST, "inner::Kind", "39-39 +0");
    finds("a.rs", RUST, "barr", "nearest: bar");
    finds("a.rs", RUST, "Fooo::new", "nearest: new");
    finds("a.rs", RUST, "zzzzzz", "nearest: ");
    finds("a.rs", "fn a() {}\nmod m { fn a() {} }\n", "a", "1-1 +1");
    finds(
        "a.rs",
        "mod n { fn a() {} }\nmod m { fn a() {} }\n",
        "a",
        "several: 1 2",
    );
    finds(
        "a.rs",
        "fn a() {} // of a\n// of b\n\nfn b() {}\n",
        "b",
        "4-4 +0",
    );
    finds("a.rs", "fn a() {}\n// of b\nfn b() {}\n", "b", "2-3 +0");
    finds(
        "a.py",
        "@d\n# c\nclass A:\n    def f(self): pass\n",
        "A",
        "1-4 +0",
    );
    finds(
        "a.py",
        "class A:\n    @p\n    def f(self):\n        pass\n",
        "A.f",
        "2-4 +0",
    );
    finds(
        "a.go",
        "type S struct{}\n// Run runs.\nfunc (s *S) Run() {}\n",
        "(*S).Run",
        "2-3 +0",
    );
    finds("a.c", "int f(void);\n\nint f(void)\n{\n}\n", "f", "3-5 +1");
    finds(
        "a.cpp",
        "struct A { int f(); };\nint A::f() { return 1; }\n",
        "A::f",
        "2-2 +1",
    );
    finds(
        "a.ts",
        "/** d */\nexport const f = () => {\n};\n",
        "f",
        "1-3 +0",
    );
    finds("a.md", "# A\nx\n## B\ny\n# C\n", "B", "3-4 +0");
    finds("a.md", "# A\nx\n## B\ny\n# C\n", "# A", "1-4 +0");
}

#[test]
fn signatures_are_one_line_and_cut() {
    let text = format!("fn a({}) {{}}\n", "argument: u32,\n".repeat(50));
    let found = outline("a.rs", &text);
    let signature = &found.definitions[0].signature;
    assert!(signature.starts_with("fn a(argument: u32, argument: u32,"));
    assert_eq!(signature.chars().count(), MAX_SIGNATURE + 1);
}

#[test]
fn text_that_is_not_of_the_language_is_said_to_be() {
    let found = outline("a.rs", "fn a() {}\n}}} ??? {{{\nfn b() {}\n");
    assert_eq!(found.how, How::Parsed("Rust", true));
    assert!(!found.definitions.is_empty());
}

#[test]
fn what_lies_in_a_function_is_found_and_listed_when_it_is_long() {
    let rust = "fn outer() {\n    fn inner() {}\n    struct Local;\n    impl Local {\n        fn m(&self) {}\n    }\n    fn long() {\n        a();\n    }\n}\n";
    check(
        "a.rs",
        rust,
        "1: fn outer()\n4:   impl Local\n7:   fn long()",
    );
    finds("a.rs", rust, "outer::inner", "2-2 +0");
    finds("a.rs", rust, "inner", "2-2 +0");
    finds("a.rs", rust, "outer::Local::m", "5-5 +0");
    let python = "def deco(f):\n    def wrap(*a):\n        x = 1\n        class C:\n            def m(self): pass\n        return f(*a)\n    return wrap\n\ndef wrap(): pass\n";
    check(
        "a.py",
        python,
        "1: def deco(f)\n2:   def wrap(*a)\n9: def wrap()",
    );
    finds("a.py", python, "deco.wrap", "2-6 +0");
    finds("a.py", python, "wrap", "9-9 +1");
    finds("a.py", python, "deco.wrap.C.m", "5-5 +0");
    let script = "function make() {\n  const x = 1;\n  const get = () => x;\n  function set(y) {\n    return y;\n  }\n  return { get, run() { return 1; } };\n}\nexport const api = {\n  load() { return 1; },\n  save: async () => {\n    return 2;\n  },\n};\n";
    check(
        "a.js",
        script,
        "1: function make()\n4:   function set(y)\n9: export const api\n11:   save: async () =>",
    );
    finds("a.js", script, "make.get", "3-3 +0");
    finds("a.js", script, "make.run", "7-7 +0");
    finds("a.js", script, "api.load", "10-10 +0");
    finds("a.js", script, "x", "nearest: ");
    let go =
        "func main() {\n\tvar n int\n\trun := func() {\n\t\tn++\n\t}\n\ttype local struct{}\n}\n";
    check("a.go", go, "1: func main()\n3:   run := func()");
    finds("a.go", go, "main.run", "3-5 +0");
    finds("a.go", go, "local", "6-6 +0");
    let cpp = "int f() {\n  int n = 1;\n  auto add = [&](int x) { return x; };\n  struct L { int g() { return 1; } };\n}\n";
    finds("a.cpp", cpp, "f::add", "3-3 +0");
    finds("a.cpp", cpp, "f::L::g", "4-4 +0");
    finds("a.cpp", cpp, "n", "nearest: L f g");
    let java = "class A {\n  void f() {\n    class B { void g() {} }\n    run(new R() { public void h() {} });\n  }\n}\n";
    finds("A.java", java, "A.f.B.g", "3-3 +0");
    finds("A.java", java, "f.h", "4-4 +0");
}

#[test]
fn more_local_functions_than_anyone_reads_are_not_listed() {
    let local = "  function f() {\n    return 1;\n  }\n".repeat(MAX_LOCAL + 1);
    let found = outline("a.js", &format!("function all() {{\n{local}}}\n"));
    let (listed, more) = found.listed();
    assert_eq!((listed.len(), more), (1, MAX_LOCAL + 1));
}

#[test]
fn a_typedef_and_the_struct_in_it_are_two_names() {
    let c = "typedef struct foo {\n  int x;\n  struct bar { int y; } b;\n} foo_t;\nstatic struct conf { int z; } conf_now = { 1 };\nstruct foo *make(void);\n";
    check(
        "a.c",
        c,
        "1: struct foo\n3:   struct bar\n4: typedef struct foo { int x; struct bar { int y; } b; } foo_t\n5: static struct conf { int z; } conf_now\n5: struct conf\n6: struct foo *make(void)",
    );
    finds("a.c", c, "foo", "1-4 +0");
    finds("a.c", c, "foo_t", "1-4 +0");
    finds("a.c", c, "bar", "3-3 +0");
    finds("a.c", c, "conf", "5-5 +0");
    finds("a.cpp", c, "foo_t", "1-4 +0");
    finds("a.cpp", c, "foo", "1-4 +0");
}

#[test]
fn typescript_has_default_exports_private_names_and_dotted_namespaces() {
    let text = "export default class {\n  #secret() { return 1; }\n  get size() { return 1; }\n  set size(v) {}\n}\nnamespace A.B { export const f = () => 1; }\nexport enum E { X }\n";
    finds("a.ts", text, "default", "1-5 +0");
    finds("a.ts", text, "default.secret", "2-2 +0");
    finds("a.ts", text, "#secret", "2-2 +0");
    finds("a.ts", text, "size", "several: 3 4");
    finds("a.ts", text, "A.B.f", "6-6 +0");
    finds("a.ts", text, "E", "7-7 +0");
    finds(
        "a.ts",
        "export default (x: number) => {\n  return x;\n};\n",
        "default",
        "1-3 +0",
    );
    finds(
        "a.js",
        "export default { data() { return 1; } };\n",
        "default.data",
        "1-1 +0",
    );
    finds(
        "a.js",
        "export default function () {}\n",
        "default",
        "1-1 +0",
    );
    finds(
        "a.js",
        "export default function named() {}\n",
        "named",
        "1-1 +0",
    );
    finds(
        "a.js",
        "const a = 1;\nexport default a;\n",
        "default",
        "nearest: ",
    );
}

#[test]
fn go_interfaces_and_java_annotations_have_members() {
    let go = "type R interface {\n\tRun(a int) error\n}\ntype S struct{}\nfunc (s S) Run(a int) error { return nil }\n";
    finds("a.go", go, "Run", "5-5 +1");
    finds("a.go", go, "R.Run", "2-2 +0");
    finds(
        "A.java",
        "@interface A { String value() default \"\"; }\n",
        "A.value",
        "1-1 +0",
    );
}

#[test]
fn markdown_underlines_fences_and_front_matter() {
    let text = "---\ntitle: x\n---\nTop\nline\n===\ntext\n\nSub\n---\n- item\n---\n````\n```\n# not\n````\n  ## Two #\n#\tTab\n# C#\na | b\n--- | ---\n\n---\n> q\n---\n    # code\n";
    check(
        "a.md",
        text,
        "4: Top line\n9:   Sub\n17:   ## Two #\n18: # Tab\n19: # C#",
    );
    finds("a.md", text, "Sub", "9-16 +0");
    finds("a.md", text, "C#", "19-26 +0");
    finds("a.md", "# A\n", "a", "nearest: A");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_text_in_any_language_has_an_outline_within_its_lines(
            which in 0..9_usize,
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "fn", "class", "a", "{", "}", "(", ")", "\n", "def", ":", "=", "=>", "const", "struct",
                    "::", "<", ">", "//", "/*", "\"", "é", "#", "impl", "function", "operator", "*", ";", "\u{FEFF}", "\r\n",
                ]),
                0..80,
            ),
        ) {
            let path = ["a.rs", "a.ts", "a.tsx", "a.js", "a.py", "a.go", "a.c", "a.hpp", "a.java"][which];
            let text = words.join(" ");
            let lines = text.split('\n').count();
            let found = outline(path, &text);
            for row in &found.definitions {
                prop_assert!(row.first <= row.line && row.line <= row.last && row.last <= lines, "{row:?}");
            }
            for symbol in ["a", "a::a", "operator", "<", "::"] {
                let _found = found.find(symbol);
            }
        }
    }
}
