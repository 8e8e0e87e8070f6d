//! A line's words, each with its column.

use crate::parse::ParseError;
use std::fmt;
use std::str::FromStr;

/// What is left of a line.
#[derive(Debug, Clone)]
pub(crate) struct Words<'a> {
    line: usize,
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(crate) const fn new(line: usize, text: &'a str) -> Self {
        Self { line, whole: text, rest: text }
    }

    pub(crate) const fn line(&self) -> usize {
        self.line
    }

    /// The next word, up to white space, a comma or `<` or `>`, which are words by themselves.
    pub(crate) fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '<' | '>');
        let len =
            if ends(first) { first.len_utf8() } else { self.rest.find(ends).unwrap_or(self.rest.len()) };
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        Some(word)
    }

    /// The next word, which stays.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.clone().next()
    }

    /// Takes the next word if it is this one.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let is_next = self.peek() == Some(word);
        if is_next {
            self.next();
        }
        is_next
    }

    /// The next word; `what` was expected there.
    pub(crate) fn need(&mut self, what: &str) -> Result<&'a str, ParseError> {
        let at = self.clone();
        self.next().ok_or_else(|| at.error(format!("{what} is missing")))
    }

    /// The next word as a number or the like.
    pub(crate) fn value<T: FromStr<Err: fmt::Display>>(&mut self, what: &str) -> Result<T, ParseError> {
        let at = self.clone();
        let word = self.need(what)?;
        word.parse().map_err(|error| at.error(format!("{word:?} is not {what}: {error}")))
    }

    /// A number or the like behind its name.
    pub(crate) fn tagged<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Result<T, ParseError> {
        let at = self.clone();
        if !self.take(name) {
            return Err(at.error(format!("{name} is missing")));
        }
        self.value("a number")
    }

    /// The same where it may be missing.
    pub(crate) fn tagged_or_none<T: FromStr<Err: fmt::Display>>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ParseError> {
        if self.peek() == Some(name) { self.tagged(name).map(Some) } else { Ok(None) }
    }

    /// One of some names.
    pub(crate) fn one_of<T: Copy>(
        &mut self,
        what: &str,
        all: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Result<T, ParseError> {
        let at = self.clone();
        let word = self.need(what)?;
        let mut names = Vec::new();
        for (name, value) in all {
            if name == word {
                return Ok(value);
            }
            names.push(name);
        }
        Err(at.error(format!("{word:?} is not {what}; use {}", names.join(", "))))
    }

    /// Everything that is left, without white space around it.
    pub(crate) fn all(&mut self) -> &'a str {
        std::mem::take(&mut self.rest).trim()
    }

    /// Nothing may be left.
    pub(crate) fn end(&self) -> Result<(), ParseError> {
        match self.peek() {
            None => Ok(()),
            Some(word) => Err(self.error(format!("{word:?} does not belong here"))),
        }
    }

    /// Something is wrong with the next word.
    pub(crate) fn error(&self, reason: impl Into<String>) -> ParseError {
        let before = self.whole.len() - self.rest.trim_start().len();
        let column = self.whole[..before].chars().count() + 1;
        ParseError { line: self.line, column, reason: reason.into() }
    }
}
