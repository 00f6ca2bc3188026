/**
 * A2A agents in TypeScript and JavaScript: you write one function, Parley runs it for each message.
 *
 *     import { agent } from "parley";
 *
 *     agent(async (turn) => {
 *       const name = await turn.ask("What is your name?");
 *       return `Hello ${name.text}!`;
 *     }).serve();
 *
 * Start it with `parley serve --lines -- node hello.mjs`. What the function returns ends the task:
 * nothing completes it, a text or parts are the reply. Throw `Failed` or `Rejected` to end it with a
 * reason that the caller sees. Any other error fails the task; its text goes to the server's log
 * only, as does what you print. After a crash of the server the function runs again from the top, with
 * `attempt` one higher: answers come from the record, and a `step` that was done is not done again.
 */
export function agent(fn: (turn: Turn) => Promise<Content | void> | Content | void): Agent;

export interface Agent {
  /** Handles message after message until the server closes the input. */ serve(): Promise<void>;
}

/** A piece of content, as in version 1.0 of the protocol, but for its bytes. */
export type Part = ({ text: string } | { data: unknown } | { url: string } | { raw: Uint8Array }) & {
  mediaType?: string;
  filename?: string;
  metadata?: Record<string, unknown>;
};
export type Content = string | Part | (string | Part)[];
export type Metadata = Record<string, unknown>;

/** A message of the client: all of its text, its parts, and it as in version 1.0 of the protocol. */
export interface Message {
  text: string;
  parts: Part[];
  metadata: Metadata;
  raw: Record<string, any>;
}

/** One message and the means to answer it. After a cancel, each method throws Cancelled. */
export class Turn {
  private constructor();
  /** All text of the message: text parts, files of a text type, data as JSON. */ text: string;
  message: Message;
  /** The ids of the task and its context. */ task: string;
  context: string;
  /** 1, and one more with each run from the top. */ attempt: number;
  caller: { subject: string; tenant: string };
  /** Of the request that brought the message. */ metadata: Metadata;
  /** The skill that the message names, if it does. */ skill?: { id: string; arguments: unknown };
  /** The media types that the client takes; none: any. */ accepted: string[];
  /** The version of the protocol in which the task began. */ version: string;
  /** Headers for requests of your own. */ trace: Record<string, string>;
  /** The folders of files, with `files: true`. */ filesIn?: string;
  filesOut?: string;
  /** Aborts when the task is canceled, out of time, or the server stops. Hand it to what you call. */ signal: AbortSignal;
  /** Says how far the work is. */ status(content?: Content, metadata?: Metadata): void;
  /** Begins an artifact; nothing is sent until something is written. */
  artifact(name?: string, begin?: { description?: string; metadata?: Metadata }): Artifact;
  /** Asks the client; the answer comes after seconds or days. */ ask(question: Content): Promise<Message>;
  /** Asks the client for credentials; the answer is kept nowhere. */ authenticate(prompt: Content): Promise<Message>;
  /** Calls fn once per task; a later run gets the recorded result, a JSON value. If fn throws, nothing
   *  is recorded: call step with the same name again, or end the task. */
  step<T>(name: string, fn: () => Promise<T> | T): Promise<T>;
  /** Waits for so many milliseconds, until a cancel at most. */ sleep(ms: number): Promise<void>;
  /** The earlier tasks that the message refers to, or those of its context, newest first; 100 at most. */
  tasks(which: "references" | "siblings"): Promise<Record<string, any>[]>;
  /** Completes the task with a word about it. Return from the function afterwards. */
  complete(content?: Content, metadata?: Metadata): void;
}

/** Writes one artifact, each call a chunk. */
export interface Artifact {
  /** Appends a chunk. `last` says that none follows; `anew` has it take the place of what was written. */
  write(content: Content, o?: { last?: boolean; anew?: boolean }): void;
  /** Says that nothing follows, if the last chunk did not say so. */ close(): void;
  /** What a lost run left of this artifact; what is written now is appended. Call it first. */ resume(): Promise<Part[]>;
}

/** The turn is over. Let it pass; `finally` blocks run. */
export class Cancelled extends Error {}

/** Fails the task with a reason that the caller sees. */
export class Failed extends Error {
  constructor(reason?: Content, metadata?: Metadata);
}

/** Declines the task with a reason that the caller sees. */
export class Rejected extends Failed {}
