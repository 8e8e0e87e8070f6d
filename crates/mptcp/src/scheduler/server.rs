//! The scheduler for servers of mobile hosts (De Coninck and Bonaventure 2018; `net/mptcp/mptcp_server.c` of their Linux v0.9x).

use super::{Candidate, Chunk, Pick, Scheduler};
use voxpath_units::Time;

/// The subflow by which something new came last: data that the connection did not have, or an acknowledgment that moved its window. First
/// among those that are no backups and were not silent since a timeout; a backup where it has later news than any of these. There is no
/// other choice: where none of them has room, data waits. What is sent again goes by a subflow that has not carried it, as long as there is one. Those
/// that the oracle doubts carry only where no other is heard of.
#[derive(Debug, Default)]
pub(super) struct Server;

/// The latest news of a subflow that can carry a chunk.
fn latest<'a>(candidates: impl Iterator<Item = &'a Candidate>, chunk: &Chunk) -> Option<&'a Candidate> {
    candidates
        .filter(|one| !one.silent && !one.in_loss && one.has_room(chunk.len))
        .max_by_key(|one| (one.last_news, core::cmp::Reverse(one.subflow)))
}

impl Scheduler for Server {
    fn pick(&mut self, _now: Time, chunk: &Chunk, candidates: &[Candidate]) -> Option<Pick> {
        if let [alone] = candidates {
            return alone.has_room(chunk.len).then(|| alone.segment_of(chunk));
        }
        let fresh = candidates.iter().any(|one| !chunk.was_on(one.subflow));
        let clean = candidates.iter().any(|one| !one.doubted && !one.silent);
        let may =
            || candidates.iter().filter(|one| !(fresh && chunk.was_on(one.subflow) || clean && one.doubted));
        let first = latest(may().filter(|one| !one.backup), chunk);
        let newest = latest(may(), chunk)?;
        let best = first.filter(|first| first.last_news >= newest.last_news).unwrap_or(newest);
        Some(best.segment_of(chunk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::tests::{candidate, chunk};
    use voxpath_units::Span;

    fn at(ms: u64) -> Option<Time> {
        Some(Time::ZERO + Span::from_millis(ms))
    }

    fn pick(candidates: &[Candidate], chunk: &Chunk) -> Option<usize> {
        Server.pick(Time::ZERO, chunk, candidates).map(|pick| pick.subflow)
    }

    #[test]
    fn who_had_the_latest_news_carries_whatever_its_round_trip() {
        let mut both = [
            Candidate { last_news: at(5), ..candidate(0, 10) },
            Candidate { last_news: at(9), ..candidate(1, 900) },
        ];
        assert_eq!(pick(&both, &chunk(1000)), Some(1));
        both[1].silent = true;
        assert_eq!(pick(&both, &chunk(1000)), Some(0));
        both[0].room = 0;
        assert_eq!(pick(&both, &chunk(1000)), None, "it waits");
    }

    #[test]
    fn who_is_doubted_carries_where_nobody_else_is() {
        let mut both = [
            Candidate { last_news: at(5), ..candidate(0, 10) },
            Candidate { last_news: at(9), doubted: true, ..candidate(1, 10) },
        ];
        assert_eq!(pick(&both, &chunk(1000)), Some(0));
        both[0].doubted = true;
        assert_eq!(pick(&both, &chunk(1000)), Some(1));
    }

    #[test]
    fn what_is_sent_again_goes_by_another() {
        let both = [
            Candidate { last_news: at(5), ..candidate(0, 10) },
            Candidate { last_news: at(9), ..candidate(1, 10) },
        ];
        assert_eq!(pick(&both, &Chunk { carried: 0b10, ..chunk(1000) }), Some(0));
        assert_eq!(pick(&both, &Chunk { carried: 0b11, ..chunk(1000) }), Some(1), "nobody else is left");
        assert_eq!(pick(&both[..1], &Chunk { carried: 0b01, ..chunk(1000) }), Some(0), "there is no other");
    }

    #[test]
    fn a_backup_carries_once_it_has_later_news() {
        let mut both = [
            Candidate { last_news: at(5), ..candidate(0, 10) },
            Candidate { backup: true, last_news: None, ..candidate(1, 10) },
        ];
        assert_eq!(pick(&both, &chunk(1000)), Some(0));
        both[1].last_news = at(6);
        assert_eq!(pick(&both, &chunk(1000)), Some(1));
    }
}
