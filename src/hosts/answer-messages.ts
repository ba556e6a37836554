import { pipeline, type Readable } from 'node:stream';
import { MessageChannel, type Transferable } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import type { Answer } from '../http/answer.ts';
import { sendTexts } from '../http/send-texts.ts';
import { StreamConnection } from '../http/stream-connection.ts';
import type { AnswerMessage, HeadMessage } from './host-messages.ts';
import type { MessageRequest } from './message-request.ts';
import { PortWriter } from './port-streams.ts';

export interface SentAnswer {
  readonly message: AnswerMessage['answer'];
  readonly transferred: readonly Transferable[];
}

/** Turns the answer of a route into a message. What is long goes over a port of its own, at the pace of the client. */
export function toAnswerMessage(request: MessageRequest, answer: Answer): SentAnswer {
  const { status, headers, json, texts, byteLength, content, open } = answer;
  if (texts !== undefined && byteLength !== undefined)
    return longText(request, { ...answer, texts, byteLength });
  const head = { status, headers };
  if (content !== undefined) return ofContent(head, content);
  if (open === undefined || request.method === 'HEAD')
    return { message: { kind: 'text', json: json ?? texts?.[0], ...head }, transferred: [] };
  const { port1, port2: port } = new MessageChannel();
  const writer = new PortWriter(port1);
  writer.once('close', open(new PortConnection(writer)));
  return { message: { kind: 'open', port, ...head }, transferred: [port] };
}

function longText(
  request: MessageRequest,
  {
    status,
    headers,
    texts,
    byteLength: length,
  }: Answer & { readonly texts: readonly string[]; readonly byteLength: number },
): SentAnswer {
  const typed = { ...headers, 'content-type': 'application/json; charset=utf-8' };
  const head = { kind: 'stream', length, isFile: false, status, headers: typed } as const;
  if (request.method === 'HEAD') {
    request.release();
    return { message: { ...head, port: undefined }, transferred: [] };
  }
  const { answerMemory: memory } = request;
  assert(memory !== undefined, 'a long answer has its memory');
  const { port1, port2: port } = new MessageChannel();
  // Not awaited: nothing else waits for the client to read. It holds its memory until then.
  void sendTexts(new PortWriter(port1), texts.toReversed(), {
    memory,
    byteLength: length,
  });
  return { message: { ...head, port }, transferred: [port] };
}

function ofContent(
  head: HeadMessage,
  { length, body, isFile: isStored }: NonNullable<Answer['content']>,
): SentAnswer {
  const isFile = isStored === true;
  if (body instanceof Uint8Array) {
    // A copy of exactly these bytes: they may be a part of a larger buffer.
    const bytes = new Uint8Array(body);
    return { message: { kind: 'bytes', bytes, isFile, ...head }, transferred: [bytes.buffer] };
  }
  const common = { kind: 'stream' as const, length, isFile, ...head };
  if (body === undefined) return { message: { ...common, port: undefined }, transferred: [] };
  const { port1, port2: port } = new MessageChannel();
  pass(body, new PortWriter(port1));
  return { message: { ...common, port }, transferred: [port] };
}

/** A file that breaks off, or a client that goes away, ends both. */
function pass(body: Readable, writer: PortWriter): void {
  pipeline(body, writer, () => undefined);
}

/** A realtime client, whose connection the front holds: what that has not taken is unsent as well. */
class PortConnection extends StreamConnection {
  readonly #writer: PortWriter;

  constructor(writer: PortWriter) {
    super(writer);
    this.#writer = writer;
  }

  override get unsentBytes(): number {
    return this.#writer.unsentBytes;
  }
}
