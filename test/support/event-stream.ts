import assert from 'node:assert/strict';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';

export interface StreamMessage {
  readonly event: string;
  /** Parsed. Typed loosely: tests look into it. */
  readonly data: any; // oxlint-disable-line typescript/no-explicit-any
}

/** An open connection to /api/realtime, read byte by byte, so that nothing of a client library hides what is wrong. */
export class EventStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly clientId: string;
  /** Everything that came, as text. */
  text = '';
  isOver = false;
  readonly #response: IncomingMessage;

  private constructor(response: IncomingMessage, clientId: string) {
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    this.clientId = clientId;
  }

  /** Connects, and waits for the first message. */
  static async open(t: TestContext, url: string, headers: IncomingHttpHeaders = {}): Promise<EventStream> {
    const response = await connect(url, headers);
    assert.equal(response.statusCode, 200);
    const pieces: string[] = [];
    response.setEncoding('utf8');
    response.on('data', (piece: string) => pieces.push(piece));
    const first = await eventually('the first message', () => {
      const text = pieces.join('');
      return text.includes('\n\n') && text;
    });
    const [, clientId = ''] =
      /^id:([0-9A-Za-z]{40})\nevent:PB_CONNECT\ndata:\{"clientId":"\1"\}\n\n/.exec(first) ?? [];
    assert.notEqual(clientId, '', first);
    const stream = new EventStream(response, clientId);
    stream.text = pieces.join('');
    response.removeAllListeners('data');
    response.on('data', (piece: string) => (stream.text += piece));
    response.on('close', () => (stream.isOver = true));
    response.on('error', () => (stream.isOver = true));
    t.after(() => stream.close());
    return stream;
  }

  /** The messages after the first, as far as they came. Fails for anything that is not in the form of the contract. */
  get messages(): readonly StreamMessage[] {
    const frames = this.text.split('\n\n').slice(1, -1);
    return frames.flatMap((frame) => {
      if (frame === ':' || frame.startsWith('retry:')) return [];
      const [, id, event = '', data = ''] = /^id:(.+)\nevent:(.+)\ndata:(.+)$/.exec(frame) ?? [];
      assert.equal(id, this.clientId, frame);
      return [{ event, data: JSON.parse(data) }];
    });
  }

  /** Waits for so many messages, and returns them. Fails when there are more. */
  async received(count: number): Promise<readonly StreamMessage[]> {
    const messages = await eventually(
      `${count} messages`,
      () => this.messages.length >= count && this.messages,
    );
    assert.equal(messages.length, count, this.told.join());
    return messages;
  }

  /** Waits for a message. */
  async receivedWhere(isIt: (message: StreamMessage) => boolean): Promise<void> {
    await eventually('a message', () => this.messages.some(isIt));
  }

  /** What messages tell: `create 1`, by the action and the title of the record. */
  get told(): readonly string[] {
    return this.messages.map(({ data }) =>
      `${data.action} ${data.record?.title ?? data.record?.id ?? ''}`.trim(),
    );
  }

  close(): void {
    this.#response.destroy();
  }
}

function connect(url: string, headers: IncomingHttpHeaders): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/api/realtime`, { headers, agent: false }, resolve);
    asked.on('error', reject);
    asked.end();
  });
}
