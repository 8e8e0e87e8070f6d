// One end of a WebRTC call. Who drives the page calls these functions and carries the descriptions between the ends.
"use strict";

const peer = new RTCPeerConnection({ iceServers: [] });
const tracks = new Map();
let sends;

// A track that nobody plays is not decoded.
peer.addEventListener("track", ({ track }) => {
  const player = document.createElement(track.kind);
  player.srcObject = new MediaStream([track]);
  player.muted = true;
  document.body.append(player);
  player.play();
  if (sends.records && track.kind === "audio") record(track);
});

/** Samples of what was heard since they were asked for last. */
let samples = [];
let rate;

async function record(track) {
  const reader = new MediaStreamTrackProcessor({ track }).readable.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const piece = new Float32Array(value.numberOfFrames);
    value.copyTo(piece, { planeIndex: 0, format: "f32-planar" });
    rate ??= value.sampleRate;
    samples.push(piece);
    value.close();
  }
}

/** The same as 16 bits, in base64, and their rate; no rate as long as nothing was heard. */
function heard() {
  const whole = Int16Array.from(samples.flatMap((piece) => [...piece]), (one) => Math.round(32767 * Math.max(-1, Math.min(1, one))));
  samples = [];
  let octets = "";
  for (const one of new Uint8Array(whole.buffer)) octets += String.fromCharCode(one);
  return { rate: rate ?? null, samples: btoa(octets) };
}

/** Opens the microphone and the camera. Also of an end that sends nothing: without a permission, a page is not told its addresses. */
async function prepare(asked) {
  sends = asked;
  const { width, height, fps } = sends.video ?? {};
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false },
    video: sends.video && { width: { exact: width }, height: { exact: height }, frameRate: { exact: fps } },
  });
  for (const track of stream.getTracks()) if (sends[track.kind]) tracks.set(track.kind, track);
}

async function offer() {
  for (const kind of ["audio", "video"]) {
    peer.addTransceiver(kind, { direction: tracks.has(kind) ? "sendrecv" : "recvonly" });
  }
  for (const transceiver of peer.getTransceivers()) {
    if (transceiver.receiver.track.kind === "video") transceiver.setCodecPreferences(codecs(sends.codec));
    await attach(transceiver);
  }
  await peer.setLocalDescription(await peer.createOffer());
  return described();
}

async function answer(offered) {
  await peer.setRemoteDescription(offered);
  for (const transceiver of peer.getTransceivers()) {
    transceiver.direction = tracks.has(transceiver.receiver.track.kind) ? "sendrecv" : "recvonly";
    await attach(transceiver);
  }
  await peer.setLocalDescription(await peer.createAnswer());
  await limit();
  return described();
}

async function answered(description) {
  await peer.setRemoteDescription(description);
  await limit();
}

async function attach({ sender, receiver }) {
  await sender.replaceTrack(tracks.get(receiver.track.kind) ?? null);
}

/** One codec of video, and retransmission. */
function codecs(name) {
  const known = RTCRtpReceiver.getCapabilities("video").codecs;
  const wanted = known.filter(({ mimeType }) => mimeType.toLowerCase() === `video/${name.toLowerCase()}`);
  if (!wanted.length) throw new Error(`this browser has no video codec ${name}`);
  return [...wanted, ...known.filter(({ mimeType }) => mimeType === "video/rtx")];
}

async function limit() {
  for (const { sender } of peer.getTransceivers()) {
    if (sender.track?.kind !== "video") continue;
    const parameters = sender.getParameters();
    parameters.encodings[0].maxBitrate = sends.video.maxBitrate;
    await sender.setParameters(parameters);
  }
}

/** The description with all addresses in it, so that it is all that the other end needs. */
async function described() {
  while (peer.iceGatheringState !== "complete") {
    await new Promise((done) => peer.addEventListener("icegatheringstatechange", done, { once: true }));
  }
  return peer.localDescription.toJSON();
}

const TYPES = ["candidate-pair", "inbound-rtp", "outbound-rtp", "media-source"];

/** What `getStats` tells. */
async function sample() {
  const all = [...(await peer.getStats()).values()];
  return {
    unix_ms: performance.timeOrigin + performance.now(),
    state: peer.connectionState,
    stats: all.filter(({ type }) => TYPES.includes(type)),
  };
}
