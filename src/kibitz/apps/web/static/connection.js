// The connection to the server: requests with answers, topics that are pushed, and coming back after a loss.

const SLOWEST = 4000; // milliseconds between two attempts
const SILENCE = 5000; // after which a page that wakes up takes its connection for lost
const MOST_EARLY = 8;
export const SHARED = JSON.parse(document.body.dataset.shared); // with the server
const ONCE = new Set(["annotate", "addgames"]); // requests that are not sent again
const SPOKEN = new Set(["comment", "mistake", "annotate", "itemhint", "answer", "profile", "coach"]); // answered in words

/** JSON of a request; a text that was cut within a letter would make all of it unreadable. */
const packed = (request) => JSON.stringify(request, (_, value) => (typeof value === "string" ? value.toWellFormed() : value));

class Connection extends EventTarget {
  #socket = null;
  #number = 0;
  #open = new Map(); // requests without an answer
  #topics = new Map();
  #early = new Map(); // the newest of each topic that nobody listens to yet: its name may be on the way
  #pause = 250;
  #timer = 0;
  state = "connecting";
  language = ""; // of words, as the person chose it; else that of the server

  start() {
    this.#connect();
    addEventListener("online", () => this.#hurry());
    document.addEventListener("visibilitychange", () => !document.hidden && this.#check());
  }

  #connect() {
    const protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${protocol}//${location.host}/socket`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#pause = 250;
      this.#set("open");
      for (const [number, one] of this.#open) socket.send(packed({ id: number, ...one.request }));
      this.dispatchEvent(new Event("open"));
    };
    socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    socket.onclose = () => socket === this.#socket && this.#lost();
  }

  #lost() {
    this.#set("lost");
    for (const [number, one] of this.#open) {
      if (!ONCE.has(one.request.do)) continue;
      this.#open.delete(number);
      one.reject(new Error("The connection was lost; please start that again."));
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), this.#pause);
    this.#pause = Math.min(SLOWEST, 2 * this.#pause);
  }

  #hurry() {
    if (this.state === "open") return;
    clearTimeout(this.#timer);
    this.#pause = 250;
    if (this.#socket.readyState === WebSocket.CLOSED) this.#connect();
  }

  /** After sleep a socket may seem open that is not. */
  async #check() {
    if (this.state !== "open") return this.#hurry();
    const socket = this.#socket;
    const timer = setTimeout(() => {
      if (socket !== this.#socket) return;
      socket.onclose = null;
      socket.close();
      this.#lost();
    }, SILENCE);
    await this.ask("position", { place: {} }).catch(() => {});
    clearTimeout(timer);
  }

  #set(state) {
    this.state = state;
    this.dispatchEvent(new Event("state"));
  }

  #take(message) {
    if (message.id != null) {
      const one = this.#open.get(message.id);
      this.#open.delete(message.id);
      if (one) "error" in message ? one.reject(new Error(message.error)) : one.resolve(message.ok);
    } else if (message.topic) {
      const hear = this.#topics.get(message.topic);
      if (hear) return void hear(message);
      this.#early.delete(message.topic);
      this.#early.set(message.topic, message);
      if (this.#early.size > MOST_EARLY) this.#early.delete(this.#early.keys().next().value);
    }
  }

  /** Ask the server; fails with its sentence. A request waits for the connection. */
  ask(name, fields = {}) {
    const number = ++this.#number;
    const spoken = this.language && SPOKEN.has(name) ? { language: this.language } : {};
    const request = { do: name, ...fields, ...spoken };
    const size = new Blob([packed(request)]).size;
    if (size > SHARED.longest) return Promise.reject(new Error(`This is too long to send (${(size / 1e6).toFixed(1)} MB, at most ${SHARED.longest / 1e6} MB). Put the file into a folder that kibitz web is started with, and open it by "Files".`));
    return new Promise((resolve, reject) => {
      this.#open.set(number, { request, resolve, reject });
      if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(packed({ id: number, ...request }));
    });
  }

  listen(topic, hear) {
    this.#topics.set(topic, hear);
    const early = this.#early.get(topic);
    this.#early.delete(topic);
    if (early) hear(early);
  }

  forget(topic) {
    this.#topics.delete(topic);
  }
}

export const connection = new Connection();
export const ask = (name, fields) => connection.ask(name, fields);
