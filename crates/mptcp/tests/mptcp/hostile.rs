//! A peer, or somebody on the way, that says anything: nothing panics, nothing goes on for ever, and no more is kept than was offered.

use crate::network::{Path, at, two_paths};
use proptest::prelude::*;
use voxpath_wire::Payload;
use voxpath_wire::tcp::SackBlocks;
use voxpath_wire::tcp::mptcp::{
    AddAddr, AddressIds, Capable, CapableFlags, CapableForm, DataMapping, DataNumber, Dss, FirstData, Join,
    MptcpOption,
};

fn number() -> impl Strategy<Value = DataNumber> {
    prop_oneof![any::<u32>().prop_map(DataNumber::Short), any::<u64>().prop_map(DataNumber::Long)]
}

fn dss() -> impl Strategy<Value = Dss> {
    let small = prop_oneof![0_u32..5000, any::<u32>()];
    let mapping = (number(), small, any::<u16>(), any::<Option<u16>>())
        .prop_map(|(dsn, ssn, len, checksum)| DataMapping { dsn, ssn, len, checksum });
    (any::<bool>(), prop::option::of(number()), prop::option::of(mapping))
        .prop_map(|(data_fin, ack, mapping)| Dss { data_fin, ack, mapping })
}

fn option() -> impl Strategy<Value = MptcpOption> {
    let form = prop_oneof![
        Just(CapableForm::Syn),
        any::<u64>().prop_map(|key| CapableForm::SynAck { key }),
        (any::<u64>(), any::<u64>(), prop::option::of(any::<u16>())).prop_map(|(sender, receiver, len)| {
            let data = len.map(|len| FirstData { len, checksum: None });
            CapableForm::Ack { sender, receiver, data }
        }),
    ];
    prop_oneof![
        8 => dss().prop_map(MptcpOption::Dss),
        1 => (any::<u8>(), form).prop_map(|(flags, form)| MptcpOption::Capable(Capable { flags: CapableFlags(flags), form })),
        1 => any::<[u8; 20]>().prop_map(|hmac| MptcpOption::Join(Join::Ack { hmac })),
        1 => (any::<u8>(), any::<[u8; 4]>(), any::<u64>()).prop_map(|(address_id, address, hmac)| {
            MptcpOption::AddAddr(AddAddr { address_id, address: address.into(), port: None, hmac: Some(hmac) })
        }),
        1 => any::<u8>().prop_map(|id| MptcpOption::RemoveAddr(AddressIds::new(&[id]).expect("one"))),
        1 => any::<bool>().prop_map(|backup| MptcpOption::Prio { backup }),
        1 => any::<u64>().prop_map(|dsn| MptcpOption::Fail { dsn }),
        1 => any::<u64>().prop_map(|key| MptcpOption::FastClose { key }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forged_options_neither_panic_nor_go_on_for_ever(
        forged in prop::collection::vec((0_u64..60, option()), 1..12),
        checksum in any::<bool>(),
        octets in [0_u64..60_000, 0_u64..60_000],
    ) {
        let mut world = two_paths([Path::new(10, 10), Path::new(30, 5)], octets[0], octets[1]);
        for side in &mut world.setups {
            side.config.checksum = checksum;
            side.tcp.receive_buffer = 30_000;
            side.tcp.receive_autotuning = false;
            side.tcp.retries = 6;
        }
        let mut seen = 0;
        world.change = Box::new(move |_, header, payload: &mut Payload| {
            seen += 1;
            if let Some((_, option)) = forged.iter().find(|(at, _)| *at == seen) {
                header.options.sack = SackBlocks::EMPTY;
                let before = payload.len();
                header.options.push_mptcp(option);
                assert_eq!(payload.len(), before);
            }
            true
        });
        world.start();
        world.run_until(at(2000));
        for end in world.ends.iter().flatten() {
            prop_assert!(end.connection.readable() <= 30_000);
        }
    }
}
