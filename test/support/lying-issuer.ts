import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type ReceivedRequest, Receiver, type ReceiverMode } from './receiver.ts';
import { json } from './token-server.ts';

/** Keys of an issuer, and of somebody else. */
const [own, foreign] = [0, 1].map(() => generateKeyPairSync('rsa', { modulusLength: 2_048 }));

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

export interface TokenLie {
  /** Claims in place of those of a good token; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  /** By which key it is signed; `public` signs with the public key as if it were shared. */
  readonly by?: 'own' | 'foreign' | 'public' | 'nobody';
}

/** Undefined for a good answer. */
type AnswerOf = (request: ReceivedRequest) => ReceiverMode | undefined;

/** An issuer on a loopback port that lies as it is told to. Its codes are good for anybody. */
export class LyingIssuer implements AsyncDisposable {
  readonly #receiver: Receiver;
  readonly #clientId: string;
  /** The answer of a path, in place of a good one. */
  modes: Readonly<Record<string, ReceiverMode | AnswerOf>> = {};
  lie: TokenLie = {};
  nonce: string | undefined;
  user: Json = { sub: 'ann', email: 'ann@example.com', email_verified: true };

  private constructor(receiver: Receiver, clientId: string) {
    this.#receiver = receiver;
    this.#clientId = clientId;
  }

  static async open(clientId: string): Promise<LyingIssuer> {
    const receiver = await Receiver.open({
      onRequest: (request) => {
        const [name = ''] = request.path.split('?');
        const mode = issuer.modes[name];
        const answer = typeof mode === 'function' ? mode(request) : mode;
        receiver.mode = answer ?? json(200, issuer.#answerTo(name));
      },
    });
    const issuer = new LyingIssuer(receiver, clientId);
    return issuer;
  }

  get url(): string {
    return this.#receiver.urlAt('127.0.0.1', '');
  }

  get paths(): readonly string[] {
    return this.#receiver.requests.map(({ path }) => path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#receiver.close();
  }

  #answerTo(path: string): object {
    const { url } = this;
    if (path === '/.well-known/openid-configuration')
      return {
        issuer: url,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        userinfo_endpoint: `${url}/user`,
        jwks_uri: `${url}/keys`,
        id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
      };
    if (path === '/keys') return { keys: [{ ...publicJwk(own), kid: 'one', alg: 'RS256', use: 'sig' }] };
    if (path === '/token')
      return { access_token: 'access', token_type: 'Bearer', expires_in: 60, id_token: this.#idToken() };
    return this.user;
  }

  #idToken(): string {
    const { claims = {}, alg = 'RS256', by = 'own' } = this.lie;
    const now = Math.floor(Date.now() / 1_000);
    const { sub } = this.user;
    const good = { iss: this.url, aud: this.#clientId, sub, iat: now, exp: now + 600, nonce: this.nonce };
    const signed = [
      { alg, kid: 'one', typ: 'JWT' },
      { ...good, ...claims },
    ]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${signed}.${signatureOf(signed, by)}`;
  }
}

function signatureOf(text: string, by: TokenLie['by']): string {
  if (by === 'nobody') return '';
  if (by === 'public') {
    const pem = createPublicKey(keyOf(own)).export({ type: 'spki', format: 'pem' });
    return createHmac('sha256', pem).update(text).digest('base64url');
  }
  return sign('sha256', Buffer.from(text), keyOf(by === 'foreign' ? foreign : own)).toString('base64url');
}

function keyOf(pair: { readonly privateKey: KeyObject } | undefined): KeyObject {
  if (pair === undefined) throw new Error('there are two pairs of keys');
  return pair.privateKey;
}

function publicJwk(pair: { readonly privateKey: KeyObject } | undefined): object {
  return createPublicKey(keyOf(pair)).export({ format: 'jwk' });
}
