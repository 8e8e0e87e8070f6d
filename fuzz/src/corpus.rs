//! The corpus: one file for each target, `corpus/TARGET.txt`, a line for each input.
//!
//! A line is the input's name, a space, and its bytes in quotes, escaped as in a Rust byte string. What libFuzzer found has
//! its SHA-1 for a name; what somebody named says what was wrong, and is never removed by a program. Lines are in the order of
//! names, so two branches that add inputs merge.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Inputs of a target, by name.
pub type Corpus = BTreeMap<String, Vec<u8>>;

/// The file of a target.
pub fn path(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{target}.txt"))
}

/// The corpus of a target; empty where nothing was found so far.
///
/// # Errors
/// The file cannot be read, or a line of it is no input.
pub fn load(target: &str) -> io::Result<Corpus> {
    match fs::read_to_string(path(target)) {
        Ok(text) => {
            parse(&text).map_err(|error| io::Error::other(format!("{}:{error}", path(target).display())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Corpus::new()),
        Err(error) => Err(error),
    }
}

/// Replaces the corpus of a target.
///
/// # Errors
/// The file cannot be written.
pub fn save(target: &str, corpus: &Corpus) -> io::Result<()> {
    fs::write(path(target), emit(corpus))
}

/// Whether a name is what libFuzzer gives: a SHA-1.
pub fn is_found(name: &str) -> bool {
    name.len() == 40 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Inputs that reach all code that was reached so far replace those that nobody named.
pub fn keep(corpus: &mut Corpus, fewest: Corpus) {
    corpus.retain(|name, _| !is_found(name));
    for (name, bytes) in fewest {
        // Those with a name are among them, too.
        if !corpus.values().any(|known| *known == bytes) {
            corpus.insert(name, bytes);
        }
    }
}

/// Adds an input under a name.
///
/// # Errors
/// It is no name, or that of another input.
pub fn add(corpus: &mut Corpus, name: &str, bytes: Vec<u8>) -> Result<(), String> {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || is_found(name) || !name.bytes().all(allowed) {
        return Err(format!("{name:?} is no name: it says what was wrong in small letters, digits and -"));
    }
    if corpus.contains_key(name) {
        return Err(format!("there is an input of the name {name}"));
    }
    corpus.insert(name.into(), bytes);
    Ok(())
}

/// The text of a file.
pub fn emit(corpus: &Corpus) -> String {
    corpus.iter().map(|(name, bytes)| format!("{name} \"{}\"\n", bytes.escape_ascii())).collect()
}

/// What a text holds.
///
/// # Errors
/// The number of a line, and what is wrong with it.
pub fn parse(text: &str) -> Result<Corpus, String> {
    let mut corpus = Corpus::new();
    for (number, line) in (1..).zip(text.lines()) {
        let said = |what: &str| format!("{number}: {what}");
        let (name, rest) =
            line.split_once(' ').ok_or_else(|| said("a name and bytes in quotes are expected"))?;
        let quoted = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let escaped = quoted.ok_or_else(|| said("bytes in quotes are expected after the name"))?;
        let bytes =
            unescape(escaped).ok_or_else(|| said("an escape is none of \\t \\r \\n \\' \\\" \\\\ \\xHH"))?;
        if corpus.insert(name.into(), bytes).is_some() {
            return Err(said(&format!("{name} is there twice")));
        }
    }
    Ok(corpus)
}

/// What `escape_ascii` was given.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut found = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        found.push(match byte {
            b'\\' => match bytes.next()? {
                b't' => b'\t',
                b'r' => b'\r',
                b'n' => b'\n',
                escaped @ (b'\'' | b'"' | b'\\') => escaped,
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                }
                _ => return None,
            },
            _ => byte,
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(corpus in prop::collection::btree_map("[a-z0-9-]{1,12}", prop::collection::vec(any::<u8>(), 0..40), 0..5)) {
            let text = emit(&corpus);
            prop_assert!(text.is_ascii());
            prop_assert_eq!(text.lines().count(), corpus.len());
            prop_assert_eq!(parse(&text), Ok(corpus));
        }
    }

    #[test]
    fn a_line_that_is_no_input_is_named() {
        for (text, told) in [
            ("a \"x\"\nb\n", "2: a name and bytes in quotes are expected"),
            ("a x\n", "1: bytes in quotes are expected after the name"),
            ("a \"\\q\"\n", "1: an escape is none of"),
            ("a \"\\x4\"\n", "1: an escape is none of"),
            ("a \"x\"\na \"y\"\n", "2: a is there twice"),
        ] {
            let error = parse(text).expect_err("it is no corpus");
            assert!(error.starts_with(told), "{error}");
        }
    }

    const ONE: &str = "0123456789abcdef0123456789abcdef01234567";
    const OTHER: &str = "89abcdef0123456789abcdef0123456701234567";

    fn corpus(inputs: &[(&str, &[u8])]) -> Corpus {
        inputs.iter().map(|&(name, bytes)| (name.into(), bytes.into())).collect()
    }

    #[test]
    fn what_somebody_named_stays_and_is_kept_once() {
        let mut kept = corpus(&[("keep-alive", b"a"), (ONE, b"b")]);
        keep(&mut kept, corpus(&[(ONE, b"a"), (OTHER, b"c")]));
        assert_eq!(kept, corpus(&[("keep-alive", b"a"), (OTHER, b"c")]));
    }

    #[test]
    fn a_name_says_something_and_is_given_once() {
        let mut known = corpus(&[("keep-alive", b"a")]);
        for wrong in ["", "Keep", "a b", ONE, "keep-alive"] {
            assert!(add(&mut known, wrong, vec![1]).is_err(), "{wrong}");
        }
        assert_eq!(add(&mut known, "syn-2", vec![1]), Ok(()));
        assert_eq!(known, corpus(&[("keep-alive", b"a"), ("syn-2", &[1])]));
    }
}
