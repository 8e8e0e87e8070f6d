//! Reading one event: `[@STACKS] TIME WHAT`.

use crate::multipath;
use crate::parse::{ParseError, span};
use crate::script::{Action, Amount, Call, Check, ENDS, Event, PHASES, Stack, State, When};
use crate::segment::{FLAGS, Options, Segment, Stamps};
use crate::words::Words;
use voxpath_tcp::Ended;
use voxpath_units::{Span, Time};
use voxpath_wire::tcp::{SackBlocks, TcpFlags};

/// Later than this nothing happens in a script.
const LATEST: Span = Span::from_secs(1_000_000);
/// Octets written, read or sent at a time.
const MOST: u32 = 1 << 24;
const YES_OR_NO: [(&str, bool); 2] = [("yes", true), ("no", false)];
/// Segments that one line stands for.
const MOST_PIECES: usize = 1000;

/// Subflows of a connection.
const MOST_SUBFLOWS: usize = 8;

/// The events of a line: one, or one for each segment where it ends with `by OCTETS`.
pub(crate) fn events(words: &mut Words<'_>) -> Result<Vec<Event>, ParseError> {
    let line = words.line();
    let mut only = Vec::new();
    if words.peek().is_some_and(|word| word.starts_with('@')) {
        let at = words.clone();
        loop {
            let word = words.need("a stack")?.trim_start_matches('@');
            let stack = Stack::all().find(|(name, _)| *name == word);
            let (_, stack) = stack.ok_or_else(|| {
                let names: Vec<_> = Stack::all().map(|(name, _)| name).collect();
                at.error(format!("{word:?} is not a stack; use {}", names.join(", ")))
            })?;
            only.push(stack);
            if !words.take(",") {
                break;
            }
        }
    }
    let when = when(words)?;
    let action = action(words)?;
    let at = words.clone();
    let actions = match action {
        Action::Arrive(segment) if words.take("by") => {
            pieces(&segment, words)?.into_iter().map(Action::Arrive).collect()
        }
        Action::Leave(segment) if words.take("by") => {
            pieces(&segment, words)?.into_iter().map(Action::Leave).collect()
        }
        action => vec![action],
    };
    if actions.len() > MOST_PIECES {
        return Err(at.error(format!("more than {MOST_PIECES} segments")));
    }
    words.end()?;
    let whens = std::iter::once(when).chain(std::iter::repeat(When::After(Span::ZERO)));
    let event = |(when, action)| Event { line, only: only.clone(), when, action };
    Ok(whens.zip(actions).map(event).collect())
}

/// A stretch of octets as segments of a size, the last one with the rest.
fn pieces(segment: &Segment, words: &mut Words<'_>) -> Result<Vec<Segment>, ParseError> {
    let at = words.clone();
    let size: u32 = words.value("a number of octets")?;
    let (seq, len) = (segment.seq.unwrap_or(0), segment.len.unwrap_or(0));
    if size == 0 || size > len {
        return Err(at.error(format!("{len} octets are not cut by {size}")));
    }
    let starts = (seq..seq + len).step_by(size as usize).take(MOST_PIECES + 1);
    let piece = |start: u32| {
        let (seq, len) = (Some(start), Some(size.min(seq + len - start)));
        Segment {
            seq,
            len,
            options: segment.options.further(start - segment.seq.unwrap_or(0)),
            ..segment.clone()
        }
    };
    Ok(starts.map(piece).collect())
}

/// Seconds since the start, or with a `+` since the event before.
fn when(words: &mut Words<'_>) -> Result<When, ParseError> {
    let at = words.clone();
    let word = words.need("a time")?;
    let relative = word.strip_prefix('+');
    let seconds = span(&format!("{} s", relative.unwrap_or(word))).map_err(|reason| at.error(reason))?;
    if seconds > LATEST {
        return Err(at.error(format!("it is later than {LATEST}")));
    }
    Ok(if relative.is_some() { When::After(seconds) } else { When::At(Time::ZERO + seconds) })
}

fn action(words: &mut Words<'_>) -> Result<Action, ParseError> {
    let at = words.clone();
    let call = |call| Ok(Action::Call(call));
    match words.need("an event")? {
        "<" if words.take("too-big") => {
            let mtu = words.tagged("mtu")?;
            Ok(Action::TooBig { mtu, seq: words.tagged("seq")? })
        }
        "<" => segment(words).map(Action::Arrive),
        ">" => segment(words).map(Action::Leave),
        "listen" => call(Call::Listen),
        "connect" => call(Call::Connect),
        "write" => call(Call::Write(octets(words)?)),
        "fill" => call(Call::Fill(octets(words)?)),
        "read" => call(Call::Read(octets(words)?)),
        "shutdown" => call(Call::Shutdown),
        "close" => call(Call::Close),
        "abort" => call(Call::Abort),
        "quiet" => Ok(Action::Quiet),
        "assert" => {
            let mut checks = vec![check(words)?];
            while words.take(",") {
                checks.push(check(words)?);
            }
            Ok(Action::Check(checks))
        }
        other => Err(at.error(format!(
            "{other:?} is no event; use <, >, listen, connect, write, read, shutdown, close, abort, assert, quiet"
        ))),
    }
}

fn octets(words: &mut Words<'_>) -> Result<u32, ParseError> {
    let at = words.clone();
    match words.value("a number of octets")? {
        0 => Err(at.error("no octets at all")),
        octets if octets > MOST => Err(at.error(format!("more than {MOST} octets"))),
        octets => Ok(octets),
    }
}

/// `[N] [ce|ect] FLAGS SEQ:END(LEN) [ack N] [win N] [<OPTIONS>]`
fn segment(words: &mut Words<'_>) -> Result<Segment, ParseError> {
    let subflow = subflow(words)?;
    let ecn = if words.take("[ce]") || words.take("[ect]") {
        Some(true)
    } else if words.take("[noecn]") {
        Some(false)
    } else {
        None
    };
    let mut segment = Segment { subflow, flags: flags(words)?, ecn, ..Segment::default() };
    let at = words.clone();
    let range = words.need("SEQ:END(LEN)")?;
    let (seq, len) = octet_range(range).ok_or_else(|| {
        at.error(format!("{range:?} is not SEQ:END(LEN), where END is SEQ + LEN and LEN at most {MOST}"))
    })?;
    (segment.seq, segment.len) = (Some(seq), Some(len));
    if words.take("ack") {
        let at = words.clone();
        segment.ack = Some(words.value("a number")?);
        if !segment.flags.contains(TcpFlags::ACK) {
            return Err(at.error("it has no ACK bit (`.`)"));
        }
    }
    if words.take("win") {
        segment.window = Some(words.value("a window")?);
    }
    if words.take("<") {
        segment.options = options(words)?;
    }
    Ok(segment)
}

/// The subflow's place, from 0 on: `[2]` is the second one, and the first is not named.
fn subflow(words: &mut Words<'_>) -> Result<usize, ParseError> {
    let named =
        words.peek().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse::<usize>().ok());
    let Some(number) = named else { return Ok(0) };
    if !(2..=MOST_SUBFLOWS).contains(&number) {
        return Err(
            words.error(format!("subflows are called [2] to [{MOST_SUBFLOWS}], and the first is not named"))
        );
    }
    words.next();
    Ok(number - 1)
}

fn flags(words: &mut Words<'_>) -> Result<TcpFlags, ParseError> {
    let at = words.clone();
    let word = words.need("flags")?;
    if word == "-" {
        return Ok(TcpFlags::NONE);
    }
    let mut flags = TcpFlags::NONE;
    for letter in word.chars() {
        let Some((_, flag)) = FLAGS.iter().find(|(known, _)| *known == letter) else {
            let letters: String = FLAGS.iter().map(|(letter, _)| *letter).collect();
            return Err(at.error(format!("{letter:?} is no flag; use some of {letters}, or -")));
        };
        flags |= *flag;
    }
    Ok(flags)
}

fn octet_range(text: &str) -> Option<(u32, u32)> {
    let (seq, rest) = text.split_once(':')?;
    let (end, len) = rest.strip_suffix(')')?.split_once('(')?;
    let (seq, end, len) = (seq.parse::<u32>().ok()?, end.parse::<u32>().ok()?, len.parse::<u32>().ok()?);
    (len <= MOST && seq.checked_add(len)? == end).then_some((seq, len))
}

/// Options up to the `>`; those not named are not there, unless the list ends with `...`.
fn options(words: &mut Words<'_>) -> Result<Options, ParseError> {
    let mut options = Options::default();
    let mut multipath = Vec::new();
    let mut open = false;
    while !words.take(">") {
        let at = words.clone();
        match words.need("an option or >")? {
            "," | "nop" | "eol" => {}
            "..." => open = true,
            "mss" => options.mss = Some(Some(words.value("a size")?)),
            "wscale" => options.scale = Some(Some(words.value("a shift")?)),
            "sackOK" => options.sack_permitted = Some(true),
            "TS" => options.stamps = Some(Some(stamps(words)?)),
            "sack" => {
                let mut blocks = Vec::new();
                while let Some((left, right)) = words.peek().and_then(|word| word.split_once(':')) {
                    let block = left.parse().ok().zip(right.parse().ok());
                    blocks.push(block.ok_or_else(|| words.error("a SACK block is LEFT:RIGHT"))?);
                    words.next();
                }
                if blocks.is_empty() || blocks.len() > SackBlocks::MAX {
                    return Err(at.error(format!("sack takes 1 to {} blocks LEFT:RIGHT", SackBlocks::MAX)));
                }
                options.sack = Some(blocks);
            }
            other => match multipath::option(other, words)? {
                Some(option) => multipath.push(option),
                None => {
                    let reason = format!(
                        "{other:?} is no option; use mss, wscale, sackOK, TS, sack, nop, eol, {} or ...",
                        multipath::NAMES
                    );
                    return Err(at.error(reason));
                }
            },
        }
    }
    options.is_open = open;
    if !open || !multipath.is_empty() {
        options.multipath = Some(multipath);
    }
    if !open {
        options.mss.get_or_insert(None);
        options.scale.get_or_insert(None);
        options.sack_permitted.get_or_insert(false);
        options.stamps.get_or_insert(None);
        options.sack.get_or_insert_default();
    }
    Ok(options)
}

fn stamps(words: &mut Words<'_>) -> Result<Stamps, ParseError> {
    if words.peek() != Some("val") {
        return Ok(Stamps::Some);
    }
    let value = words.tagged("val")?;
    Ok(Stamps::These(value, words.tagged("ecr")?))
}

fn check(words: &mut Words<'_>) -> Result<Check, ParseError> {
    let at = words.clone();
    let check = match words.need("a quantity")? {
        "state" => Check::State(words.one_of("a state", State::ALL)?),
        "cwnd" => Check::Cwnd(amount(words)?),
        "ssthresh" if words.take("none") => Check::Ssthresh(None),
        "ssthresh" => Check::Ssthresh(Some(amount(words)?)),
        "rto" => Check::Rto(seconds(words)?),
        "srtt" => Check::Srtt(seconds(words)?),
        "phase" => Check::Phase(words.one_of("a phase", PHASES)?),
        "readable" => Check::Readable(words.value("a number of octets")?),
        "writable" => Check::Writable(words.one_of("yes or no", YES_OR_NO)?),
        "end" => Check::AtEnd(words.one_of("yes or no", YES_OR_NO)?),
        "ended" => Check::Ended(words.one_of::<Option<Ended>>("an end", ENDS)?),
        "retransmissions" => Check::Retransmissions(words.value("a number")?),
        "fallback" => Check::Fallback(words.one_of("yes or no", YES_OR_NO)?),
        "subflows" => Check::Subflows(words.value("a number")?),
        other => {
            let reason = format!(
                "{other:?} is not a quantity; use state, cwnd, ssthresh, rto, srtt, phase, readable, writable, end, ended, retransmissions, fallback, subflows"
            );
            return Err(at.error(reason));
        }
    };
    Ok(check)
}

/// Segments, or with a `B` octets.
fn amount(words: &mut Words<'_>) -> Result<Amount, ParseError> {
    let number = words.value("a number of segments, or of octets with B")?;
    Ok(if words.take("B") { Amount::Octets(number) } else { Amount::Segments(number) })
}

fn seconds(words: &mut Words<'_>) -> Result<Span, ParseError> {
    let at = words.clone();
    let word = words.need("seconds")?;
    span(&format!("{word} s")).map_err(|reason| at.error(reason))
}
