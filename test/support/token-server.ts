import { Receiver, type ReceivedRequest, type ReceiverMode } from './receiver.ts';

export const tokenClient = { clientId: 'shop & co', clientSecret: 'canary: of a client+100%' };

/** An authorization server that gives a client tokens for its credentials (RFC 6749 section 4.4): `token-0001`, `token-0002` … */
export class TokenServer implements AsyncDisposable {
  readonly #receiver: Receiver;
  /** How it answers instead. */
  mode: ReceiverMode | undefined;
  /** What an answer has beside the token and its type, or in their place. */
  members: Readonly<Record<string, unknown>> = { expires_in: 3_600 };
  /** How many tokens it has given. */
  tokens = 0;

  private constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  static async open(): Promise<TokenServer> {
    const receiver = await Receiver.open({ onRequest: (request) => server.#onRequest(request) });
    const server = new TokenServer(receiver);
    return server;
  }

  get url(): string {
    return this.#receiver.urlAt('127.0.0.1', '/token');
  }

  get port(): number {
    return this.#receiver.port;
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#receiver.requests;
  }

  /** What an endpoint is given to get its tokens. */
  get credentials(): { tokenUrl: string; clientId: string; clientSecret: string } {
    return { tokenUrl: this.url, ...tokenClient };
  }

  waitForRequests(count: number): Promise<readonly ReceivedRequest[]> {
    return this.#receiver.waitForRequests(count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.close();
  }

  #onRequest(request: ReceivedRequest): void {
    this.#receiver.mode = this.mode ?? this.#answerTo(request);
  }

  #answerTo(request: ReceivedRequest): ReceiverMode {
    if (!isClient(request)) return json(401, { error: 'invalid_client' });
    if (new URLSearchParams(request.body.toString()).get('grant_type') !== 'client_credentials')
      return json(400, { error: 'unsupported_grant_type' });
    this.tokens += 1;
    const token = `token-${String(this.tokens).padStart(4, '0')}`;
    return json(200, { access_token: token, token_type: 'Bearer', ...this.members });
  }
}

export function json(status: number, body: unknown): ReceiverMode {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { kind: 'status', status, headers, body: JSON.stringify(body) };
}

/** Reads HTTP Basic as RFC 6749 section 2.3.1 has it: both halves are encoded as in a form. */
function isClient({ headers }: ReceivedRequest): boolean {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ');
  const halves = Buffer.from(encoded, 'base64').toString().split(':');
  const [id, secret] = halves.map((half) => new URLSearchParams(`half=${half}`).get('half'));
  return (
    scheme === 'Basic' &&
    halves.length === 2 &&
    id === tokenClient.clientId &&
    secret === tokenClient.clientSecret
  );
}
