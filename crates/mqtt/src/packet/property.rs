//! Properties of version 5 (section 2.2.2).

use super::Text;
use super::bytes::{MALFORMED, PROTOCOL_ERROR, Reader, put_binary, put_u16, put_varint};
use crate::Malformed;
use alloc::vec::Vec;
use bytes::Bytes;

/// What has properties: a packet of a type, by its number, or a will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    Connect = 1,
    Connack = 2,
    Publish = 3,
    Puback = 4,
    Pubrec = 5,
    Pubrel = 6,
    Pubcomp = 7,
    Subscribe = 8,
    Suback = 9,
    Unsubscribe = 10,
    Unsuback = 11,
    Disconnect = 14,
    Auth = 15,
    Will = 16,
}

/// How the value of a property is read and written.
trait Value: Sized {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
    fn put(&self, out: &mut Vec<u8>);
}

impl Value for u8 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.u8()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
}

impl Value for u16 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.u16()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_u16(out, *self);
    }
}

impl Value for u32 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.u32()
    }

    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

/// A variable byte integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Varint(pub u32);

impl Value for Varint {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.varint().map(Self)
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_varint(out, self.0);
    }
}

impl Value for Text {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.text()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_binary(out, self.as_bytes());
    }
}

impl Value for Bytes {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        reader.owned()
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_binary(out, self);
    }
}

impl Value for (Text, Text) {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok((reader.text()?, reader.text()?))
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
}

/// Makes of each line of the standard's table a variant: identifier, name, type of its value, and what it may stand in.
macro_rules! properties {
    ($($(#[$meta:meta])* $id:literal $name:ident($value:ty) in $($of:ident)+ $(, $check:expr)?;)+) => {
        /// A property.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Property {
            $($(#[$meta])* $name($value),)+
        }

        impl Property {
            const fn id(&self) -> u8 {
                match self { $(Self::$name(_) => $id,)+ }
            }

            /// Bits of what a property may stand in; none if there is no such property.
            const fn places(id: u8) -> u32 {
                match id { $($id => 0 $(| 1 << Of::$of as u32)+,)+ _ => 0 }
            }

            fn read(id: u8, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                match id {
                    $($id => {
                        let value = <$value>::read(reader)?;
                        $(let is_allowed: fn(&$value) -> bool = $check;
                        if !is_allowed(&value) {
                            return Err(PROTOCOL_ERROR);
                        })?
                        Ok(Self::$name(value))
                    })+
                    _ => Err(MALFORMED),
                }
            }

            fn put(&self, out: &mut Vec<u8>) {
                out.push(self.id());
                match self { $(Self::$name(value) => value.put(out),)+ }
            }
        }
    };
}

properties! {
    /// 1 if the body is text.
    0x01 PayloadFormat(u8) in Publish Will, |&it| it <= 1;
    /// Seconds after which the message is of no use.
    0x02 MessageExpiry(u32) in Publish Will;
    /// What the body is.
    0x03 ContentType(Text) in Publish Will;
    /// Where an answer goes.
    0x08 ResponseTopic(Text) in Publish Will;
    /// What an answer belongs to.
    0x09 CorrelationData(Bytes) in Publish Will;
    /// Of the subscription that a message comes of.
    0x0B SubscriptionId(Varint) in Publish Subscribe, |it| it.0 > 0;
    /// Seconds for which the session stays after the connection.
    0x11 SessionExpiry(u32) in Connect Connack Disconnect;
    /// The identifier that the server chose.
    0x12 AssignedClientId(Text) in Connack;
    /// The keep-alive interval that the server wants.
    0x13 ServerKeepAlive(u16) in Connack;
    /// How to authenticate.
    0x15 AuthMethod(Text) in Connect Connack Auth;
    /// What that needs.
    0x16 AuthData(Bytes) in Connect Connack Auth;
    /// Whether reasons are wanted in words.
    0x17 RequestProblem(u8) in Connect, |&it| it <= 1;
    /// Seconds after which the will is published.
    0x18 WillDelay(u32) in Will;
    /// Whether response information is wanted.
    0x19 RequestResponse(u8) in Connect, |&it| it <= 1;
    /// What response topics may be made of.
    0x1A ResponseInformation(Text) in Connack;
    /// Another server.
    0x1C ServerReference(Text) in Connack Disconnect;
    /// The reason in words.
    0x1F ReasonString(Text) in Connack Puback Pubrec Pubrel Pubcomp Suback Unsuback Disconnect Auth;
    /// Messages of QoS 1 and 2 that may be in flight.
    0x21 ReceiveMaximum(u16) in Connect Connack, |&it| it > 0;
    /// The highest topic alias.
    0x22 TopicAliasMaximum(u16) in Connect Connack;
    /// A number instead of a topic.
    0x23 TopicAlias(u16) in Publish;
    /// The highest QoS of the server, where that is not 2.
    0x24 MaximumQos(u8) in Connack, |&it| it <= 1;
    /// Whether the server keeps messages.
    0x25 RetainAvailable(u8) in Connack, |&it| it <= 1;
    /// A name and a value.
    0x26 User((Text, Text)) in Connect Connack Publish Will Puback Pubrec Pubrel Pubcomp Subscribe Suback Unsubscribe Unsuback Disconnect Auth;
    /// The largest packet.
    0x27 MaximumPacketSize(u32) in Connect Connack, |&it| it > 0;
    /// Whether the server knows wildcards.
    0x28 WildcardAvailable(u8) in Connack, |&it| it <= 1;
    /// Whether the server knows subscription identifiers.
    0x29 SubscriptionIdAvailable(u8) in Connack, |&it| it <= 1;
    /// Whether the server knows shared subscriptions.
    0x2A SharedAvailable(u8) in Connack, |&it| it <= 1;
}

/// Properties, in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Properties(pub Vec<Property>);

/// The value of a property, if it is there.
macro_rules! get {
    ($($(#[$meta:meta])* $method:ident: $name:ident -> $value:ty;)+) => {
        impl Properties {
            $($(#[$meta])* pub fn $method(&self) -> Option<$value> {
                self.0.iter().find_map(|it| match it {
                    Property::$name(value) => Some(value.clone().into()),
                    _ => None,
                })
            })+
        }
    };
}

impl From<Varint> for u32 {
    fn from(value: Varint) -> Self {
        value.0
    }
}

get! {
    /// [`Property::SessionExpiry`].
    session_expiry: SessionExpiry -> u32;
    /// [`Property::ReceiveMaximum`].
    receive_maximum: ReceiveMaximum -> u16;
    /// [`Property::TopicAliasMaximum`].
    topic_alias_maximum: TopicAliasMaximum -> u16;
    /// [`Property::TopicAlias`].
    topic_alias: TopicAlias -> u16;
    /// [`Property::MaximumPacketSize`].
    maximum_packet_size: MaximumPacketSize -> u32;
    /// [`Property::MaximumQos`].
    maximum_qos: MaximumQos -> u8;
    /// [`Property::ServerKeepAlive`].
    server_keep_alive: ServerKeepAlive -> u16;
    /// [`Property::AssignedClientId`].
    assigned_client_id: AssignedClientId -> Text;
    /// [`Property::WillDelay`].
    will_delay: WillDelay -> u32;
    /// [`Property::MessageExpiry`].
    message_expiry: MessageExpiry -> u32;
    /// [`Property::SubscriptionId`]; the first of several.
    subscription_id: SubscriptionId -> u32;
    /// [`Property::AuthMethod`].
    auth_method: AuthMethod -> Text;
}

impl Properties {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads their length and then themselves. A property must not come twice, but for user properties and, in a PUBLISH,
    /// subscription identifiers.
    pub(crate) fn read(reader: &mut Reader<'_>, of: Of) -> Result<Self, Malformed> {
        let len = reader.varint()?;
        let mut reader = reader.part(len as usize)?;
        let mut found = Vec::new();
        let mut seen = 0_u64;
        while !reader.is_empty() {
            // A variable byte integer, but there is none above 127.
            let id = reader.u8()?;
            if Property::places(id) & (1 << of as u32) == 0 {
                return Err(if Property::places(id) == 0 { MALFORMED } else { PROTOCOL_ERROR });
            }
            let property = Property::read(id, &mut reader)?;
            let is_new = seen & (1 << id) == 0;
            let may_repeat = matches!(property, Property::User(_))
                || (of == Of::Publish && matches!(property, Property::SubscriptionId(_)));
            if !is_new && !may_repeat {
                return Err(PROTOCOL_ERROR);
            }
            seen |= 1 << id;
            found.push(property);
        }
        Ok(Self(found))
    }

    /// Writes their length and then themselves.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            return out.push(0);
        }
        let mut own = Vec::new();
        self.0.iter().for_each(|property| property.put(&mut own));
        put_varint(out, own.len() as u32);
        out.extend_from_slice(&own);
    }
}
