// A game as a link that holds it: its PGN, packed, in the part of the address that no server is sent.

const LONGEST = 1e6; // bytes of a PGN that a link may hold
const PIECE = 8192; // bytes that become text at a time

async function bytesOf(stream, most = Infinity) {
  const reader = stream.getReader(), pieces = [];
  let size = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    size += next.value.length;
    if (size > most) {
      reader.cancel();
      throw new Error("The game in this link is too long.");
    }
    pieces.push(next.value);
  }
  return new Uint8Array(await new Blob(pieces).arrayBuffer());
}

export async function linkOf(pgn) {
  const bytes = await bytesOf(new Blob([pgn]).stream().pipeThrough(new CompressionStream("deflate-raw")));
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return `${location.origin}/#game/${btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The PGN that a link holds; refuses what is none. */
export async function gameOf(address) {
  try {
    const text = atob(address.split("/")[1].replaceAll("-", "+").replaceAll("_", "/"));
    const packed = new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))]);
    return new TextDecoder().decode(await bytesOf(packed.stream().pipeThrough(new DecompressionStream("deflate-raw")), LONGEST));
  } catch (error) {
    throw new Error(error.message.startsWith("The game") ? error.message : "This link holds no whole game: was it cut?");
  }
}
