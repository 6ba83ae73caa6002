// Animated GIF of what picture.js draws: frames of pixels become indexes of one palette, and of each frame only what changed is written.

const BITS = 7; // of a palette's index
const COLORS = 2 ** BITS - 1; // one index more says that a pixel stays as it was
const STAYS = COLORS;
const MOST_CODES = 4096; // of a GIF's dictionary
const BLOCK = 255;

/** The most frequent colours of some frames (each RGBA, as Uint32Array). */
export function paletteOf(frames) {
  const counts = new Map();
  for (const frame of frames) for (const color of frame) counts.set(color, (counts.get(color) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a).slice(0, COLORS).map(([color]) => color);
}

const channels = (color) => [color & 255, (color >> 8) & 255, (color >> 16) & 255];

/** Gives the index of a colour's nearest in a palette. */
function finder(palette) {
  const parts = palette.map(channels), known = new Map(palette.map((color, index) => [color, index]));
  return (color) => {
    if (known.has(color)) return known.get(color);
    const [red, green, blue] = channels(color);
    const distances = parts.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
    const nearest = distances.indexOf(Math.min(...distances));
    known.set(color, nearest);
    return nearest;
  };
}

/** LZW: indexes as codes of growing width, the lowest bits first. */
function packed(indexes) {
  const clear = 2 ** BITS, end = clear + 1, bytes = [];
  let codes = new Map(), next = end + 1, width = BITS + 1, buffer = 0, filled = 0;
  const put = (code) => {
    buffer |= code << filled;
    for (filled += width; filled >= 8; filled -= 8, buffer >>>= 8) bytes.push(buffer & 255);
  };
  put(clear);
  let prefix = indexes[0];
  for (let at = 1; at < indexes.length; at++) {
    const key = (prefix << BITS) | indexes[at], code = codes.get(key);
    if (code !== undefined) {
      prefix = code;
      continue;
    }
    put(prefix);
    prefix = indexes[at];
    if (next === MOST_CODES) {
      put(clear);
      [codes, next, width] = [new Map(), end + 1, BITS + 1];
    } else {
      if (next === 1 << width) width++;
      codes.set(key, next++);
    }
  }
  put(prefix);
  put(end);
  if (filled) bytes.push(buffer & 255);
  return bytes;
}

/** Cut bytes into blocks that begin with their length, and end them. */
function blocks(bytes) {
  const parts = [];
  for (let at = 0; at < bytes.length; at += BLOCK) {
    const part = bytes.slice(at, at + BLOCK);
    parts.push(part.length, ...part);
  }
  return [...parts, 0];
}

const word = (number) => [number & 255, number >> 8];

/** Writes frames one after the other; `palette` is that of all, `size` the pixels of a side. */
export class Gif {
  #pieces = [];
  #before = null;

  constructor(size, palette) {
    this.size = size;
    this.index = finder(palette);
    const table = [...palette, ...Array(2 ** BITS - palette.length).fill(0)].flatMap(channels);
    const forever = [0x21, 0xff, 11, ...new TextEncoder().encode("NETSCAPE2.0"), 3, 1, ...word(0), 0];
    this.#write([...new TextEncoder().encode("GIF89a"), ...word(size), ...word(size), 0x80 | (BITS - 1) | 0x70, 0, 0, ...table, ...forever]);
  }

  #write(bytes) {
    this.#pieces.push(Uint8Array.from(bytes));
  }

  /** Add a frame (RGBA, as Uint32Array) that is shown for so many seconds. */
  add(pixels, seconds) {
    const now = this.#indexed(pixels), [left, top, width, height] = this.#changed(now);
    const shown = [];
    for (let y = top; y < top + height; y++) {
      for (let at = y * this.size + left, end = at + width; at < end; at++) shown.push(this.#before?.[at] === now[at] ? STAYS : now[at]);
    }
    this.#before = now;
    const stays = 0x04 | 0x01; // the frame before is left where this one says nothing
    this.#write([0x21, 0xf9, 4, stays, ...word(Math.round(100 * seconds)), STAYS, 0]);
    this.#write([0x2c, ...word(left), ...word(top), ...word(width), ...word(height), 0, BITS]);
    this.#write(blocks(packed(shown)));
  }

  /** Indexes of the palette; neighbours are mostly alike. */
  #indexed(pixels) {
    const indexes = new Uint8Array(pixels.length);
    let color = -1, index = 0;
    for (let at = 0; at < pixels.length; at++) {
      if (pixels[at] !== color) (color = pixels[at], index = this.index(color));
      indexes[at] = index;
    }
    return indexes;
  }

  /** The box of what a frame changes: left, top, width, height; a pixel at least. */
  #changed(now) {
    if (!this.#before) return [0, 0, this.size, this.size];
    let [left, top, right, bottom] = [this.size, this.size, 0, 0];
    for (let at = 0; at < now.length; at++) {
      if (now[at] === this.#before[at]) continue;
      const x = at % this.size, y = Math.floor(at / this.size);
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x), Math.max(bottom, y)];
    }
    return left > right ? [0, 0, 1, 1] : [left, top, right - left + 1, bottom - top + 1];
  }

  /** The file. */
  blob() {
    return new Blob([...this.#pieces, Uint8Array.of(0x3b)], { type: "image/gif" });
  }
}
