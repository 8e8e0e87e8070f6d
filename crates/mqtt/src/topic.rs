//! Topic names and topic filters (section 4.7), shared subscriptions (section 4.8.2).

use crate::packet::Text;

/// Whether a message can be published to it: at least one character, none of them a wildcard.
pub fn is_topic_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= usize::from(u16::MAX) && !text.contains(['#', '+', '\0'])
}

/// A filter of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The group that shares the subscription, if one does.
    pub share: Option<Text>,
    /// What topics are held against.
    pub filter: Text,
}

impl Filter {
    /// The filter that a text is, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(shared) = text.strip_prefix("$share/") else {
            return is_filter(text).then(|| Self { share: None, filter: text.into() });
        };
        let (group, filter) = shared.split_once('/')?;
        let is_group = !group.is_empty() && !group.contains(['#', '+']);
        (is_group && is_filter(filter)).then(|| Self { share: Some(group.into()), filter: filter.into() })
    }

    /// Whether a message of this topic is of the subscription.
    pub fn matches(&self, topic: &str) -> bool {
        matches(&self.filter, topic)
    }

    /// Whether it has a wildcard.
    pub fn is_wild(&self) -> bool {
        self.filter.contains(['#', '+'])
    }
}

/// `#` stands alone in the last level, `+` alone in any.
fn is_filter(text: &str) -> bool {
    if text.is_empty() || text.len() > usize::from(u16::MAX) || text.contains('\0') {
        return false;
    }
    let mut levels = text.split('/').peekable();
    while let Some(level) = levels.next() {
        let is_right = match level {
            "#" => levels.peek().is_none(),
            "+" => true,
            other => !other.contains(['#', '+']),
        };
        if !is_right {
            return false;
        }
    }
    true
}

/// Wildcards in the first level match no topic that begins with `$` (section 4.7.2).
pub(crate) fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['#', '+']) {
        return false;
    }
    let mut levels = topic.split('/');
    for level in filter.split('/') {
        if level == "#" {
            return true;
        }
        match levels.next() {
            Some(of_topic) if level == "+" || level == of_topic => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_standards_examples_say() {
        for (filter, topic, expected) in [
            ("sport/tennis/player1/#", "sport/tennis/player1", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
            ("sport/#", "sport", true),
            ("#", "a/b", true),
            ("sport/tennis/+", "sport/tennis/player1", true),
            ("sport/tennis/+", "sport/tennis/player1/ranking", false),
            ("sport/+", "sport", false),
            ("sport/+", "sport/", true),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("#", "$SYS/monitor", false),
            ("+/monitor/Clients", "$SYS/monitor/Clients", false),
            ("$SYS/#", "$SYS/monitor", true),
            ("a", "A", false),
        ] {
            let parsed = Filter::parse(filter).expect(filter);
            assert_eq!(parsed.matches(topic), expected, "{filter} and {topic}");
        }
        for wrong in [
            "",
            "sport/tennis#",
            "sport/#/ranking",
            "sport+",
            "$share/g",
            "$share//a",
            "$share/+/a",
            "$share/g/",
        ] {
            assert_eq!(Filter::parse(wrong), None, "{wrong}");
        }
        let shared = Filter::parse("$share/group/a/+").expect("a shared subscription");
        assert_eq!((shared.share.as_deref(), &*shared.filter), (Some("group"), "a/+"));
    }
}
