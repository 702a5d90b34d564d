//! What is known of each language: its grammar, and which nodes of a tree are definitions.

use tree_sitter::Language as Grammar;

/// A language.
pub(super) struct Language {
    /// Its name, for people.
    pub(super) name: &'static str,
    /// Ends of file names, without the dot.
    pub(super) extensions: &'static [&'static str],
    pub(super) grammar: fn() -> Grammar,
    pub(super) rules: &'static [Rule],
}

/// One kind of node that defines something.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    pub(super) name: Name,
    /// Whether definitions inside it belong to the outline: those of a class do, those of a function are local to it.
    pub(super) is_container: bool,
    /// Whether definitions inside it count as lying beside it: the `struct` of a `typedef`.
    pub(super) is_transparent: bool,
    /// Whether it is nothing to look for inside a function: a variable.
    pub(super) is_value: bool,
    /// Whether it is the definition itself, rather than a prototype of it or an `impl` for it.
    pub(super) is_main: bool,
    /// When it counts.
    pub(super) when: When,
}

/// Where a definition's name stands.
#[derive(Clone, Copy)]
pub(super) enum Name {
    /// In this field; its last part if it has several.
    Field(&'static str),
    /// In the field `type` of an `impl`, without its parameters.
    ImplType,
    /// In the field `name`, below the type of the field `receiver`.
    Receiver,
    /// In the innermost declarator, as C hides it.
    Declarator,
    /// Nowhere: it is the `default` of its module.
    Default,
}

/// When a node of the kind counts as a definition.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// When it has a field `body`: a use of a type looks the same.
    HasBody,
    /// When its value is a function or a class, or it stands at the top of the file.
    TopOrFunction,
    /// When its value is a function or a class.
    Function,
    /// When it stands at the top of the file and its name is one word.
    Top,
    /// When it declares a function.
    DeclaresFunction,
    /// When it declares anything else.
    DeclaresOther,
    /// When it declares a variable whose value is a function.
    DeclaresLambda,
    /// When it is a default export of something without a name of its own.
    UnnamedDefault,
}

const fn rule(kind: &'static str, name: Name) -> Rule {
    Rule {
        kind,
        name,
        is_container: false,
        is_transparent: false,
        is_value: false,
        is_main: true,
        when: When::Always,
    }
}

impl Rule {
    const fn holds(mut self) -> Self {
        self.is_container = true;
        self
    }

    const fn shows_through(mut self) -> Self {
        self.is_transparent = true;
        self
    }

    const fn value(mut self) -> Self {
        self.is_value = true;
        self
    }

    const fn beside(mut self) -> Self {
        self.is_main = false;
        self
    }

    const fn when(mut self, when: When) -> Self {
        self.when = when;
        self
    }
}

const NAME: Name = Name::Field("name");

const RUST: &[Rule] = &[
    rule("function_item", NAME),
    rule("function_signature_item", NAME),
    rule("struct_item", NAME),
    rule("enum_item", NAME),
    rule("union_item", NAME),
    rule("trait_item", NAME).holds(),
    rule("impl_item", Name::ImplType).holds().beside(),
    rule("mod_item", NAME).holds(),
    rule("type_item", NAME),
    rule("associated_type", NAME),
    rule("const_item", NAME),
    rule("static_item", NAME),
    rule("macro_definition", NAME),
];

const SCRIPT: &[Rule] = &[
    rule("function_declaration", NAME),
    rule("generator_function_declaration", NAME),
    rule("function_signature", NAME).beside(),
    rule("class_declaration", NAME).holds(),
    rule("abstract_class_declaration", NAME).holds(),
    rule("interface_declaration", NAME).holds(),
    rule("enum_declaration", NAME),
    rule("type_alias_declaration", NAME),
    rule("internal_module", NAME).holds(),
    rule("module", NAME).holds(),
    rule("method_definition", NAME),
    rule("method_signature", NAME),
    rule("abstract_method_signature", NAME),
    rule("public_field_definition", NAME).when(When::Function),
    rule("field_definition", Name::Field("property")).when(When::Function),
    rule("variable_declarator", NAME).when(When::TopOrFunction),
    rule("assignment_expression", Name::Field("left")).when(When::Function),
    rule("pair", Name::Field("key")).when(When::Function),
    rule("export_statement", Name::Default)
        .holds()
        .when(When::UnnamedDefault),
];

const PYTHON: &[Rule] = &[
    rule("function_definition", NAME),
    rule("class_definition", NAME).holds(),
    rule("assignment", Name::Field("left")).when(When::Top),
    rule("type_alias_statement", Name::Field("left")),
];

const GO: &[Rule] = &[
    rule("function_declaration", NAME),
    rule("method_declaration", Name::Receiver),
    rule("type_spec", NAME).holds(),
    rule("type_alias", NAME),
    rule("method_elem", NAME).beside(),
    rule("const_spec", NAME).value(),
    rule("var_spec", NAME).value(),
    rule("short_var_declaration", Name::Field("left")).when(When::Function),
];

const C: &[Rule] = &[
    rule("function_definition", Name::Declarator),
    rule("declaration", Name::Declarator)
        .beside()
        .value()
        .when(When::DeclaresFunction),
    rule("declaration", Name::Declarator)
        .value()
        .shows_through()
        .when(When::DeclaresOther),
    rule("struct_specifier", NAME).holds().when(When::HasBody),
    rule("union_specifier", NAME).holds().when(When::HasBody),
    rule("enum_specifier", NAME).when(When::HasBody),
    rule("type_definition", Name::Declarator).shows_through(),
    rule("preproc_def", NAME),
    rule("preproc_function_def", NAME),
];

const CPP: &[Rule] = &[
    rule("function_definition", Name::Declarator),
    rule("declaration", Name::Declarator).when(When::DeclaresLambda),
    rule("declaration", Name::Declarator)
        .beside()
        .value()
        .when(When::DeclaresFunction),
    rule("declaration", Name::Declarator)
        .value()
        .shows_through()
        .when(When::DeclaresOther),
    rule("field_declaration", Name::Declarator)
        .beside()
        .when(When::DeclaresFunction),
    rule("namespace_definition", NAME).holds(),
    rule("class_specifier", NAME).holds().when(When::HasBody),
    rule("struct_specifier", NAME).holds().when(When::HasBody),
    rule("union_specifier", NAME).holds().when(When::HasBody),
    rule("enum_specifier", NAME).when(When::HasBody),
    rule("type_definition", Name::Declarator).shows_through(),
    rule("alias_declaration", NAME),
    rule("concept_definition", NAME),
    rule("preproc_def", NAME),
    rule("preproc_function_def", NAME),
];

const JAVA: &[Rule] = &[
    rule("class_declaration", NAME).holds(),
    rule("interface_declaration", NAME).holds(),
    rule("enum_declaration", NAME).holds(),
    rule("record_declaration", NAME).holds(),
    rule("annotation_type_declaration", NAME).holds(),
    rule("method_declaration", NAME),
    rule("annotation_type_element_declaration", NAME),
    rule("constructor_declaration", NAME),
    rule("compact_constructor_declaration", NAME),
];

/// Every language with a grammar.
pub(super) const LANGUAGES: [Language; 9] = [
    Language {
        name: "Rust",
        extensions: &["rs"],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        rules: RUST,
    },
    Language {
        name: "TypeScript",
        extensions: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        rules: SCRIPT,
    },
    Language {
        name: "TSX",
        extensions: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        rules: SCRIPT,
    },
    Language {
        name: "JavaScript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        rules: SCRIPT,
    },
    Language {
        name: "Python",
        extensions: &["py", "pyi"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        rules: PYTHON,
    },
    Language {
        name: "Go",
        extensions: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        rules: GO,
    },
    Language {
        name: "C",
        extensions: &["c"],
        grammar: || tree_sitter_c::LANGUAGE.into(),
        rules: C,
    },
    Language {
        name: "C++",
        extensions: &[
            "cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "inl", "cu",
        ],
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
        rules: CPP,
    },
    Language {
        name: "Java",
        extensions: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        rules: JAVA,
    },
];

/// Returns the language of a file by its name; that of a C header and of a script by its text.
pub(super) fn language_of(path: &str, text: &str) -> Option<&'static Language> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let named = |wanted: &str| LANGUAGES.iter().find(|language| language.name == wanted);
    let Some((_, extension)) = name.rsplit_once('.') else {
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        return match first {
            line if line.contains("python") => named("Python"),
            line if line.contains("node") => named("JavaScript"),
            _ => None,
        };
    };
    if extension == "h" {
        let is_cpp = ["class ", "namespace ", "template", "::", "public:"]
            .iter()
            .any(|word| text.contains(word));
        return named(if is_cpp { "C++" } else { "C" });
    }
    let extension = extension.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.extensions.contains(&extension.as_str()))
}
