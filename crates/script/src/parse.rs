//! Reading a script: its head, `key: value` lines, and its body, lines that begin with a time.

use crate::body;
use crate::script::{Action, Check, Event, Script, Setting, Stack, Transport};
use crate::words::Words;
use std::fmt;
use std::str::FromStr;
use voxpath_tcp::Profile;
use voxpath_units::Span;

/// Longer ones are no scripts.
const LONGEST: usize = 1 << 20;
/// A parameter is no larger: eleven days, in nanoseconds.
const LARGEST: u64 = 1_000_000_000_000_000;
/// How far the kernel's times may be off, where a script does not say so: its clock has ticks of 4 ms, and it and we are woken late.
const TOLERANCE: Span = Span::from_millis(12);

/// What is wrong with a script, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// Counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.reason)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Script {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.len() > LONGEST {
            let reason = format!("it is longer than {LONGEST} bytes");
            return Err(ParseError { line: 1, column: 1, reason });
        }
        let mut script = Self {
            rules: Vec::new(),
            stacks: Vec::new(),
            transport: Transport::Tcp,
            settings: Vec::new(),
            tolerance: TOLERANCE,
            differs: None,
            simulated: None,
            events: Vec::new(),
        };
        let mut last = 0;
        for (line, text) in (1..).zip(text.lines()) {
            last = line;
            let text = text.split('#').next().unwrap_or_default();
            let mut words = Words::new(line, text);
            let Some(first) = words.peek() else { continue };
            if first.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '@')) {
                script.events.extend(body::events(&mut words)?);
                continue;
            }
            if !script.events.is_empty() {
                return Err(words.error("a line behind the first event begins with a time, + or @"));
            }
            head(&mut script, &mut words)?;
        }
        check(&script, last)?;
        Ok(script)
    }
}

/// A line `key: value`.
fn head(script: &mut Script, words: &mut Words<'_>) -> Result<(), ParseError> {
    const KEYS: [&str; 7] = ["rules", "stacks", "transport", "set", "tolerance", "differs", "simulated"];
    let at = words.clone();
    let word = words.need("a key")?;
    let Some(key) = word.strip_suffix(':').filter(|key| KEYS.contains(key)) else {
        let keys = KEYS.join(":, ");
        return Err(at.error(format!("{word:?} is neither a time nor a key of the head; use {keys}:")));
    };
    let at = words.clone();
    match key {
        "rules" => {
            while let Some(rule) = words.next() {
                if rule != "," {
                    script.rules.push(rule.to_owned());
                }
            }
        }
        "stacks" => {
            while words.peek().is_some() {
                let stack = words.one_of("a stack", Stack::all())?;
                if script.stacks.contains(&stack) {
                    return Err(at.error(format!("{stack} is named twice")));
                }
                script.stacks.push(stack);
            }
        }
        "transport" => {
            let known = [("tcp", Transport::Tcp), ("mptcp", Transport::Mptcp)];
            script.transport = words.one_of("a transport", known)?;
        }
        "set" => {
            let setting = setting(words)?;
            if script.settings.iter().any(|other| other.key == setting.key) {
                return Err(at.error(format!("`{}` is set twice", setting.key)));
            }
            script.settings.push(setting);
        }
        "tolerance" => script.tolerance = span(words.all()).map_err(|reason| at.error(reason))?,
        "differs" => prose(&mut script.differs, words)?,
        _ => prose(&mut script.simulated, words)?,
    }
    words.end()
}

/// A reason, which may go on on further lines.
fn prose(reason: &mut Option<String>, words: &mut Words<'_>) -> Result<(), ParseError> {
    let at = words.clone();
    let text = words.all();
    if text.is_empty() {
        return Err(at.error("a reason is missing"));
    }
    let before = reason.take().map(|before| before + " ").unwrap_or_default();
    *reason = Some(before + text);
    Ok(())
}

/// A parameter and its value: `on`, `off`, `none`, a number, a span, or a name.
fn setting(words: &mut Words<'_>) -> Result<Setting, ParseError> {
    let line = words.line();
    let key = words.need("a parameter")?.to_owned();
    let at = words.clone();
    let text = words.all();
    let value = match text {
        "" => return Err(at.error("a value is missing")),
        "on" => true.into(),
        "off" => false.into(),
        "none" => serde_json::Value::Null,
        number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            number.parse::<u64>().map_err(|error| at.error(error.to_string()))?.into()
        }
        other => other.parse::<Span>().map_or_else(|_| other.into(), |span| span.as_nanos().into()),
    };
    if value.as_u64().is_some_and(|value| value > LARGEST) {
        return Err(at.error(format!("it is larger than {LARGEST}")));
    }
    Ok(Setting { line, key, value })
}

pub(crate) fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error| format!("{error}"))
}

/// What no line shows by itself.
fn check(script: &Script, last: usize) -> Result<(), ParseError> {
    let at = |line, reason: String| ParseError { line, column: 1, reason };
    if script.events.is_empty() {
        return Err(at(last.max(1), "nothing happens: there is no event".into()));
    }
    if script.stacks.is_empty() {
        return Err(at(1, "the head does not say on which `stacks:` it runs".into()));
    }
    let (linux, kernel) = (Stack::Profile(Profile::Linux), Stack::Kernel);
    let both = script.stacks.contains(&linux) && script.stacks.contains(&kernel);
    let mut tells_apart = None;
    for event in &script.events {
        if let Some(stack) = event.only.iter().find(|stack| !script.stacks.contains(stack)) {
            return Err(at(event.line, format!("{stack} is not among the script's stacks")));
        }
        if !event.only.is_empty() && event.only.contains(&linux) != event.only.contains(&kernel) {
            tells_apart.get_or_insert(event.line);
        }
    }
    match (tells_apart.filter(|_| both), &script.differs) {
        (Some(line), None) => {
            return Err(at(
                line,
                "this tells linux and kernel apart: the head has to say why (`differs:`)".into(),
            ));
        }
        (None, Some(_)) => {
            return Err(at(1, "no event tells linux and kernel apart: `differs:` is not true".into()));
        }
        _ => {}
    }
    let only_ours = script.stacks.contains(&linux) && !both;
    if only_ours != script.simulated.is_some() {
        let reason = if only_ours {
            "linux is among the stacks and kernel is not: the head has to say why (`simulated:`)"
        } else {
            "`simulated:` says why linux stands without kernel, which is not so"
        };
        return Err(at(1, reason.into()));
    }
    let is_multipath = |event: &&Event| match &event.action {
        Action::Arrive(segment) | Action::Leave(segment) => segment.is_multipath(),
        Action::Check(checks) => {
            checks.iter().any(|check| matches!(check, Check::Fallback(_) | Check::Subflows(_)))
        }
        _ => false,
    };
    if script.transport == Transport::Tcp
        && let Some(event) = script.events.iter().find(is_multipath)
    {
        return Err(at(event.line, "this is Multipath TCP: the head needs `transport: mptcp`".into()));
    }
    for &stack in &script.stacks {
        script.config(stack).map_err(|(line, reason)| at(line, reason))?;
        script.multipath(stack).map_err(|(line, reason)| at(line, reason))?;
    }
    Ok(())
}
