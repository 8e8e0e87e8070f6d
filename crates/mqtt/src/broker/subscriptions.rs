//! Who wants what: a tree of levels.

use super::SessionId;
use crate::packet::{Qos, SubscribeTo, Text};
use crate::topic::Filter;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Levels of a topic or a filter, at most; mosquitto's limit. It also bounds how deep the tree is searched.
pub(crate) const MOST_LEVELS: usize = 200;

/// A subscription of a session.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) session: SessionId,
    pub(crate) qos: Qos,
    pub(crate) no_local: bool,
    pub(crate) retain_as_published: bool,
    pub(crate) id: Option<u32>,
}

impl Wanted {
    pub(crate) const fn new(session: SessionId, to: &SubscribeTo, id: Option<u32>) -> Self {
        let SubscribeTo { qos, no_local, retain_as_published, .. } = to;
        Self { session, qos: *qos, no_local: *no_local, retain_as_published: *retain_as_published, id }
    }
}

/// A group that shares a subscription: each message goes to one of its members, in turn.
#[derive(Debug)]
struct Group {
    name: Text,
    members: Vec<Wanted>,
    next: usize,
}

#[derive(Debug, Default)]
struct Node {
    below: BTreeMap<Text, Node>,
    here: Vec<Wanted>,
    groups: Vec<Group>,
}

impl Node {
    fn is_empty(&self) -> bool {
        self.below.is_empty() && self.here.is_empty() && self.groups.is_empty()
    }

    fn members(&mut self, share: Option<&Text>) -> &mut Vec<Wanted> {
        let Some(name) = share else { return &mut self.here };
        let place = self.groups.iter().position(|group| group.name == *name).unwrap_or_else(|| {
            self.groups.push(Group { name: name.clone(), members: Vec::new(), next: 0 });
            self.groups.len() - 1
        });
        &mut self.groups[place].members
    }

    fn remove<'t>(
        &mut self,
        mut levels: impl Iterator<Item = &'t str>,
        share: Option<&Text>,
        session: SessionId,
    ) -> bool {
        let Some(level) = levels.next() else {
            let members = self.members(share);
            let before = members.len();
            members.retain(|it| it.session != session);
            let removed = members.len() < before;
            self.groups.retain(|group| !group.members.is_empty());
            return removed;
        };
        let Some(node) = self.below.get_mut(level) else { return false };
        // By reference: the iterator's type would grow with each level.
        let mut rest: &mut dyn Iterator<Item = &'t str> = &mut levels;
        let removed = node.remove(&mut rest, share, session);
        if node.is_empty() {
            self.below.remove(level);
        }
        removed
    }

    fn find(
        &mut self,
        levels: &[&str],
        may_be_wild: bool,
        found: &mut Vec<Wanted>,
        is_there: &dyn Fn(SessionId) -> bool,
    ) {
        if may_be_wild && let Some(rest) = self.below.get_mut("#") {
            rest.take(found, is_there);
        }
        let Some((level, deeper)) = levels.split_first() else { return self.take(found, is_there) };
        if may_be_wild && let Some(any) = self.below.get_mut("+") {
            any.find(deeper, true, found, is_there);
        }
        if let Some(node) = self.below.get_mut(*level) {
            node.find(deeper, true, found, is_there);
        }
    }

    /// Adds whoever gets a message that matches here.
    fn take(&mut self, found: &mut Vec<Wanted>, is_there: &dyn Fn(SessionId) -> bool) {
        found.extend_from_slice(&self.here);
        for group in &mut self.groups {
            let count = group.members.len();
            let turns = (0..count).map(|turn| (group.next + turn) % count);
            // Whoever is connected comes first; where nobody is, the message waits for whose turn it is.
            let chosen = turns.clone().find(|&it| is_there(group.members[it].session));
            if let Some(chosen) = chosen.or_else(|| turns.clone().next()) {
                group.next = chosen + 1;
                found.push(group.members[chosen].clone());
            }
        }
    }
}

/// All subscriptions.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    root: Node,
}

impl Subscriptions {
    /// Adds a subscription, or takes the place of the same one; whether it is new.
    pub(crate) fn add(&mut self, filter: &Filter, wanted: Wanted) -> bool {
        let mut node = &mut self.root;
        for level in filter.filter.split('/') {
            if !node.below.contains_key(level) {
                node.below.insert(level.into(), Node::default());
            }
            node = node.below.get_mut(level).expect("it was put there");
        }
        let members = node.members(filter.share.as_ref());
        match members.iter_mut().find(|it| it.session == wanted.session) {
            Some(known) => {
                *known = wanted;
                false
            }
            None => {
                members.push(wanted);
                true
            }
        }
    }

    /// Whether there was such a subscription.
    pub(crate) fn remove(&mut self, filter: &Filter, session: SessionId) -> bool {
        self.root.remove(filter.filter.split('/'), filter.share.as_ref(), session)
    }

    /// Who gets a message of this topic: each session once for all its subscriptions, with all their identifiers, and once
    /// more for each that it shares. `is_there` says who is connected.
    pub(crate) fn find(
        &mut self,
        topic: &str,
        from: Option<SessionId>,
        is_there: &dyn Fn(SessionId) -> bool,
    ) -> Vec<(Wanted, Vec<u32>)> {
        let levels: Vec<&str> = topic.split('/').collect();
        let mut found = Vec::new();
        self.root.find(&levels, !topic.starts_with('$'), &mut found, is_there);
        found.retain(|it| !(it.no_local && from == Some(it.session)));
        if let [_] = found[..] {
            return found
                .into_iter()
                .map(|it| {
                    let ids = it.id.into_iter().collect();
                    (it, ids)
                })
                .collect();
        }
        found.sort_by_key(|it| it.session);
        let mut merged: Vec<(Wanted, Vec<u32>)> = Vec::with_capacity(found.len());
        for it in found {
            match merged.last_mut().filter(|(last, _)| last.session == it.session) {
                Some((last, ids)) => {
                    last.qos = last.qos.max(it.qos);
                    last.retain_as_published |= it.retain_as_published;
                    ids.extend(it.id);
                }
                None => {
                    let ids = it.id.into_iter().collect();
                    merged.push((it, ids));
                }
            }
        }
        merged
    }
}
