//! C prototypes as data: the little grammar in which the table's rows are written.

/// A C function declaration, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prototype {
    /// Result type, `void` included.
    pub result: String,
    /// Name of the function, possibly still with place-holders.
    pub name: String,
    /// Declared parameters in order.
    pub parameters: Vec<Parameter>,
    /// Whether the parameter list ends in `...`.
    pub variadic: bool,
}

/// One parameter of a [`Prototype`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// C type, for example `const T *`, or `long (*)(void)` for a pointer to a function without parameters.
    pub ctype: String,
    /// Name, for example `source`.
    pub name: String,
}

impl Prototype {
    /// Reads a declaration such as `int f(const T *a, size_t n)`.
    ///
    /// # Panics
    ///
    /// When the text is not of that form: rows are constants, so this is a mistake in the table.
    pub fn parse(text: &str) -> Prototype {
        let (head, rest) = text.split_once('(').expect("a prototype has a parameter list");
        let list = rest.strip_suffix(')').expect("a prototype ends with its parameter list");
        let Parameter { ctype: result, name } = Parameter::parse(head);
        let mut prototype = Prototype { result, name, parameters: Vec::new(), variadic: false };
        for item in list.split(", ").filter(|item| !item.is_empty() && *item != "void") {
            if item == "..." {
                prototype.variadic = true;
            } else {
                prototype.parameters.push(Parameter::parse(item));
            }
        }
        prototype
    }

    /// The declaration in C, with a semicolon.
    pub fn to_c(&self) -> String {
        let mut list: Vec<String> = self.parameters.iter().map(Parameter::to_c).collect();
        if self.variadic {
            list.push("...".into());
        }
        if list.is_empty() {
            list.push("void".into());
        }
        format!("{}({});", declare(&self.result, &self.name), list.join(", "))
    }

    /// The parameters' names, as an argument list.
    pub fn arguments(&self) -> String {
        let names: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        names.join(", ")
    }
}

impl Parameter {
    /// A parameter of the given type and name.
    pub fn new(ctype: &str, name: &str) -> Parameter {
        Parameter { ctype: ctype.into(), name: name.into() }
    }

    fn parse(text: &str) -> Parameter {
        if let Some((result, rest)) = text.split_once("(*") {
            let (name, list) = rest.split_once(')').expect("the name of a function pointer ends with a parenthesis");
            return Parameter::new(&format!("{result}(*){list}"), name);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_<>".contains(c);
        let start = text.rfind(|c| !is_name(c)).expect("a declarator follows its type") + 1;
        Parameter::new(text[..start].trim_end(), &text[start..])
    }

    /// The parameter as C writes it.
    pub fn to_c(&self) -> String {
        declare(&self.ctype, &self.name)
    }
}

fn declare(ctype: &str, name: &str) -> String {
    if ctype.contains("(*)") {
        return ctype.replacen("(*)", &format!("(*{name})"), 1);
    }
    let space = if ctype.ends_with('*') { "" } else { " " };
    format!("{ctype}{space}{name}")
}

#[cfg(test)]
mod tests {
    use super::Prototype;

    #[test]
    fn declarations_survive_a_round_trip() {
        for text in [
            "void f(void);",
            "void *f(const void *dest, int pe);",
            "void f(int level, ...);",
            "T shmem_<T>_g(const T *source, int pe);",
            "void f(uint64_t (*function)(void), int pe);",
        ] {
            assert_eq!(Prototype::parse(text.trim_end_matches(';')).to_c(), text);
        }
    }
}
