import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { addressBytes } from '../../src/base/ip-address.ts';

export type StubDnsAnswer =
  /** Addresses of both families; each question gets those of its own. With an empty list, the name exists without addresses. */
  | readonly string[]
  | { readonly cname: string; readonly addresses: readonly string[] }
  | 'no such name'
  | 'server failure'
  | 'silence';

/** A constant answer, or one that depends on how often this name and type were asked for before: 0, 1, 2 … */
export type StubDnsEntry = StubDnsAnswer | ((asked: number) => StubDnsAnswer);

export interface StubDnsQuestion {
  readonly name: string;
  readonly type: 'A' | 'AAAA' | 'other';
}

const TYPE_A = 1;
const TYPE_CNAME = 5;
const TYPE_AAAA = 28;
const CLASS_IN = 1;
const RESPONSE_FLAGS = 0x8180;
const SERVER_FAILURE = 2;
const NO_SUCH_NAME = 3;
const HEADER_LENGTH = 12;

/** A name server on loopback that knows only its table, so that no test uses an outside one. */
export class StubDns implements AsyncDisposable {
  readonly questions: StubDnsQuestion[] = [];
  readonly table: Map<string, StubDnsEntry>;
  readonly #socket: Socket = createSocket('udp4');

  constructor(table: Readonly<Record<string, StubDnsEntry>>) {
    this.table = new Map(Object.entries(table));
    this.#socket.on('message', (query, peer) => this.#onQuery(query, peer));
  }

  static async open(table: Readonly<Record<string, StubDnsEntry>>): Promise<StubDns> {
    const server = new StubDns(table);
    server.#socket.bind(0, '127.0.0.1');
    await once(server.#socket, 'listening');
    return server;
  }

  /** Its address in the resolver's form: `127.0.0.1:5353`. */
  get server(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #onQuery(query: Buffer, peer: RemoteInfo): void {
    const { name, end } = readName(query, HEADER_LENGTH);
    const type = query.readUInt16BE(end);
    const question: StubDnsQuestion = {
      name,
      type: type === TYPE_A ? 'A' : type === TYPE_AAAA ? 'AAAA' : 'other',
    };
    const asked = this.questions.filter((one) => one.name === name && one.type === question.type).length;
    this.questions.push(question);
    const entry = this.table.get(name) ?? 'no such name';
    const answer = typeof entry === 'function' ? entry(asked) : entry;
    if (answer === 'silence') return;
    this.#socket.send(toPacket(query.subarray(0, end + 4), type, answer), peer.port, peer.address);
  }
}

function toPacket(queryStart: Buffer, type: number, answer: Exclude<StubDnsAnswer, 'silence'>): Buffer {
  const packet = Buffer.from(queryStart);
  const records = typeof answer === 'string' ? [] : recordsOf(answer, type);
  const failure = answer === 'no such name' ? NO_SUCH_NAME : answer === 'server failure' ? SERVER_FAILURE : 0;
  packet.writeUInt16BE(RESPONSE_FLAGS | failure, 2);
  packet.writeUInt16BE(1, 4);
  packet.writeUInt16BE(records.length, 6);
  packet.writeUInt16BE(0, 8);
  packet.writeUInt16BE(0, 10);
  return Buffer.concat([packet, ...records]);
}

function recordsOf(answer: Exclude<StubDnsAnswer, string>, type: number): Buffer[] {
  const isAlias = 'cname' in answer;
  // A pointer to the question's own name, which stands right after the header.
  const owner = isAlias ? nameBytes(answer.cname) : Buffer.from([0xc0, HEADER_LENGTH]);
  const length = type === TYPE_A ? 4 : 16;
  const records = (isAlias ? answer.addresses : answer)
    .map((address) => addressBytes(address) ?? new Uint8Array(0))
    .filter((bytes) => bytes.length === length && (type === TYPE_A || type === TYPE_AAAA))
    .map((bytes) => record(owner, type, bytes));
  if (!isAlias) return records;
  return [record(Buffer.from([0xc0, HEADER_LENGTH]), TYPE_CNAME, nameBytes(answer.cname)), ...records];
}

/** Encodes a record with a time to live of 0, so that it is not cached. */
function record(owner: Buffer, type: number, content: Uint8Array): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(CLASS_IN, 2);
  fixed.writeUInt16BE(content.length, 8);
  return Buffer.concat([owner, fixed, content]);
}

function nameBytes(name: string): Buffer {
  const labels = name
    .split('.')
    .map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`, 'latin1'));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function readName(packet: Buffer, start: number): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = packet.readUInt8(at); length > 0; length = packet.readUInt8(at)) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  // Resolvers may randomise the case of letters, and compare it with the answer's (DNS 0x20). It never changes the name.
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
