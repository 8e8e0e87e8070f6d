//! Reason codes of version 5 (section 2.4), and what of them version 3.1.1 can say.

/// Why, or how well: 0x00 to 0x7F are successes, above are failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reason(pub u8);

macro_rules! reasons {
    ($($(#[$meta:meta])* $name:ident = $code:literal, $text:literal;)+) => {
        impl Reason {
            $($(#[$meta])* pub const $name: Self = Self($code);)+

            /// Its name in the standard; the first of several for one code.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($code => $text,)+
                    _ => "unknown",
                }
            }
        }
    };
}

reasons! {
    /// Success; normal disconnection; granted QoS 0.
    SUCCESS = 0x00, "success";
    /// The server has to publish the will.
    DISCONNECT_WITH_WILL = 0x04, "disconnect with will message";
    /// Taken, but nobody has subscribed to it.
    NO_MATCHING_SUBSCRIBERS = 0x10, "no matching subscribers";
    /// There was no such subscription.
    NO_SUBSCRIPTION_EXISTED = 0x11, "no subscription existed";
    /// Something that fits no other code.
    UNSPECIFIED = 0x80, "unspecified error";
    /// Bytes that are no packet.
    MALFORMED = 0x81, "malformed packet";
    /// A packet that must not come, or not so.
    PROTOCOL_ERROR = 0x82, "protocol error";
    /// The server does not accept this, whoever asks.
    IMPLEMENTATION_SPECIFIC = 0x83, "implementation specific error";
    /// No such version here.
    UNSUPPORTED_VERSION = 0x84, "unsupported protocol version";
    /// No such client here.
    IDENTIFIER_INVALID = 0x85, "client identifier not valid";
    /// Wrong user or password.
    BAD_CREDENTIALS = 0x86, "bad user name or password";
    /// Not for this client.
    NOT_AUTHORIZED = 0x87, "not authorized";
    /// The server is busy.
    SERVER_BUSY = 0x89, "server busy";
    /// The server is ending.
    SERVER_SHUTTING_DOWN = 0x8B, "server shutting down";
    /// Nothing was heard for one and a half times the keep-alive interval.
    KEEP_ALIVE_TIMEOUT = 0x8D, "keep alive timeout";
    /// Another connection has this client's identifier now.
    SESSION_TAKEN_OVER = 0x8E, "session taken over";
    /// No such filter.
    FILTER_INVALID = 0x8F, "topic filter invalid";
    /// No such topic.
    TOPIC_INVALID = 0x90, "topic name invalid";
    /// This packet identifier is in use.
    IDENTIFIER_IN_USE = 0x91, "packet identifier in use";
    /// This packet identifier is not known.
    IDENTIFIER_NOT_FOUND = 0x92, "packet identifier not found";
    /// More than the receive maximum in flight.
    RECEIVE_MAXIMUM_EXCEEDED = 0x93, "receive maximum exceeded";
    /// Zero, or above the maximum.
    TOPIC_ALIAS_INVALID = 0x94, "topic alias invalid";
    /// Above the maximum packet size.
    PACKET_TOO_LARGE = 0x95, "packet too large";
    /// More is published than is allowed.
    MESSAGE_RATE_TOO_HIGH = 0x96, "message rate too high";
    /// A limit of the server is reached.
    QUOTA_EXCEEDED = 0x97, "quota exceeded";
    /// The body is not in the format that the packet says.
    PAYLOAD_FORMAT_INVALID = 0x99, "payload format invalid";
    /// The server keeps no messages.
    RETAIN_NOT_SUPPORTED = 0x9A, "retain not supported";
    /// Above the maximum QoS.
    QOS_NOT_SUPPORTED = 0x9B, "qos not supported";
    /// The server knows no shared subscriptions.
    SHARED_NOT_SUPPORTED = 0x9E, "shared subscriptions not supported";
    /// The server knows no subscription identifiers.
    SUBSCRIPTION_IDS_NOT_SUPPORTED = 0xA1, "subscription identifiers not supported";
    /// The server knows no wildcards.
    WILDCARDS_NOT_SUPPORTED = 0xA2, "wildcard subscriptions not supported";
}

impl Reason {
    /// Whether it is a failure.
    pub const fn is_error(self) -> bool {
        self.0 >= 0x80
    }

    /// The return code of a CONNACK of version 3.1.1 (its section 3.2.2.3) that says the same; server unavailable where
    /// none does.
    pub(crate) const fn connack_v311(self) -> u8 {
        match self {
            Self::SUCCESS => 0,
            Self::UNSUPPORTED_VERSION => 1,
            Self::IDENTIFIER_INVALID => 2,
            Self::BAD_CREDENTIALS => 4,
            Self::NOT_AUTHORIZED => 5,
            _ => 3,
        }
    }

    /// The other way round.
    pub(crate) const fn of_connack_v311(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::SUCCESS,
            1 => Self::UNSUPPORTED_VERSION,
            2 => Self::IDENTIFIER_INVALID,
            3 => Self::SERVER_BUSY,
            4 => Self::BAD_CREDENTIALS,
            5 => Self::NOT_AUTHORIZED,
            _ => return None,
        })
    }
}
