import { createHash, createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { S3Settings } from '../../src/settings/settings.ts';

interface StoredObject {
  readonly bytes: Buffer;
  readonly type: string;
  readonly modified: Date;
}

/** What the store does to a request in place of answering it. */
export type S3Fault =
  | { readonly kind: 'status'; readonly status: number; readonly code?: string }
  | { readonly kind: 'cut' }
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Stores or sends half of the bytes, and says so. */
  | { readonly kind: 'error in 200' }
  /** Sends other bytes than it has. */
  | { readonly kind: 'other bytes' };

export interface S3Request {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/** Keys of a page, so that listings have several. */
const pageLength = 3;
const skewMsMax = 15 * 60_000;

/**
 * A store that speaks the protocol of S3, in memory. It computes the signature and the digest of each request from what came over the
 * wire, by the specification and not by the code that it tests, and refuses any other.
 */
export class S3StandIn {
  readonly bucket = 'files';
  readonly accessKey = 'access-key';
  readonly secret = 'canary-of-the-store';
  readonly objects = new Map<string, StoredObject>();
  /** Parts of files that are not complete, by the id of their upload. */
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** All requests whose signature was right. */
  readonly requests: S3Request[] = [];
  /** Asked for each of them. */
  faultOf: (request: S3Request) => S3Fault | undefined = () => undefined;
  refusedCount = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async open(): Promise<S3StandIn> {
    const store = new S3StandIn();
    store.#server.listen(0, '127.0.0.1');
    await once(store.#server, 'listening');
    return store;
  }

  /** What an instance is told to use it. */
  get settings(): S3Settings {
    return {
      enabled: true,
      bucket: this.bucket,
      region: 'eu-north-7',
      endpoint: `http://localhost:${this.port}`,
      accessKey: this.accessKey,
      secret: this.secret,
      forcePathStyle: true,
    };
  }

  get port(): number {
    // A server that listens on a port has such an address.
    return (this.#server.address() as AddressInfo).port;
  }

  get keys(): readonly string[] {
    return [...this.objects.keys()].toSorted();
  }

  text(key: string): string | undefined {
    return this.objects.get(key)?.bytes.toString();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const body = await buffer(request);
      const url = new URL(request.url ?? '', `http://${request.headers.host}`);
      const problem = this.#problemOf(request, url, body);
      if (problem !== undefined) {
        this.refusedCount += 1;
        return refuse(response, 403, problem);
      }
      const inPath = url.hostname.startsWith(`${this.bucket}.`)
        ? url.pathname
        : url.pathname.slice(this.bucket.length + 1);
      if (
        inPath === url.pathname.slice(this.bucket.length + 1) &&
        !url.pathname.startsWith(`/${this.bucket}`)
      )
        return refuse(response, 404, 'NoSuchBucket');
      const key = decodeURIComponent(inPath.slice(1));
      const asked = { method: request.method ?? '', key, query: url.searchParams };
      this.requests.push(asked);
      const fault = this.faultOf(asked);
      if (fault?.kind === 'hang') return;
      if (fault?.kind === 'cut') return void request.socket.destroy();
      if (fault?.kind === 'status') return refuse(response, fault.status, fault.code ?? 'InternalError');
      if (fault?.kind === 'error in 200') return refuse(response, 200, 'InternalError');
      this.#answer(asked, { request, response, body, isOther: fault?.kind === 'other bytes' });
    } catch (error) {
      response.destroy();
      if (!request.destroyed) throw error;
    }
  }

  /** Signature Version 4, as its specification has it. */
  #problemOf(request: IncomingMessage, url: URL, body: Buffer): string | undefined {
    const { headers } = request;
    const form =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/;
    const [, accessKey, day = '', region, names = '', signature] =
      form.exec(headers.authorization ?? '') ?? [];
    if (accessKey !== this.accessKey || region !== this.settings.region) return 'InvalidAccessKeyId';
    const signed = names.split(';');
    if (!signed.includes('host') || !signed.includes('x-amz-date')) return 'AccessDenied';
    const date = String(headers['x-amz-date']);
    const atMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    if (!date.startsWith(day) || !(Math.abs(atMs - Date.now()) < skewMsMax)) return 'RequestTimeTooSkewed';
    const digest = String(headers['x-amz-content-sha256']);
    if (digest !== sha256(body)) return 'XAmzContentSHA256Mismatch';
    const query = [...url.searchParams]
      .map(([name, value]) => `${encode(name)}=${encode(value)}`)
      .toSorted()
      .join('&');
    const canonical = [
      request.method,
      url.pathname
        .split('/')
        .map((part) => encode(decodeURIComponent(part)))
        .join('/'),
      query,
      ...signed.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/\s+/g, ' ')}`),
      '',
      names,
      digest,
    ].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const toSign = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n');
    let key: Uint8Array = Buffer.from(`AWS4${this.secret}`);
    for (const part of [day, region, 's3', 'aws4_request']) key = hmac(key, part);
    return hmac(key, toSign).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch';
  }

  #answer(asked: S3Request, exchange: Exchange): void {
    const { method, key, query } = asked;
    const { request, response, body } = exchange;
    if (key === '') return this.#list(query, response);
    const uploadId = query.get('uploadId');
    if (method === 'POST' && query.has('uploads')) {
      const id = randomBytes(8).toString('hex');
      this.uploads.set(id, new Map());
      return send(
        response,
        `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
      );
    }
    if (uploadId !== null) return this.#part(asked, uploadId, exchange);
    if (method === 'PUT') {
      this.#store(key, body, String(request.headers['content-type']));
      response.setHeader('etag', `"${sha256(body)}"`);
      return void response.end();
    }
    if (method === 'DELETE') {
      this.objects.delete(key);
      return void response.writeHead(204).end();
    }
    this.#read(key, exchange);
  }

  #part({ method, key, query }: S3Request, uploadId: string, { response, body }: Exchange): void {
    const parts = this.uploads.get(uploadId);
    if (parts === undefined) return refuse(response, 404, 'NoSuchUpload');
    if (method === 'PUT') {
      parts.set(Number(query.get('partNumber')), body);
      response.setHeader('etag', `"${sha256(body)}"`);
      return void response.end();
    }
    this.uploads.delete(uploadId);
    if (method === 'DELETE') return void response.writeHead(204).end();
    const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"(\w+)"<\/ETag>/g)];
    const whole = named.map(([, number, tag]) => {
      const part = parts.get(Number(number));
      return part !== undefined && sha256(part) === tag ? part : undefined;
    });
    if (named.length !== parts.size || whole.includes(undefined)) return refuse(response, 400, 'InvalidPart');
    this.#store(key, Buffer.concat(whole.filter((part) => part !== undefined)), 'in parts');
    send(response, '<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>');
  }

  #store(key: string, bytes: Buffer, type: string): void {
    this.objects.set(key, { bytes, type, modified: new Date() });
  }

  #read(key: string, { request, response, isOther }: Exchange): void {
    const found = this.objects.get(key);
    if (found === undefined) return refuse(response, 404, 'NoSuchKey');
    const bytes = isOther ? Buffer.alloc(found.bytes.length, '?') : found.bytes;
    const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const part = first === undefined ? bytes : bytes.subarray(Number(first), Number(last) + 1);
    response.writeHead(first === undefined ? 200 : 206, {
      'content-type': found.type,
      'content-length': part.length,
      'last-modified': found.modified.toUTCString(),
    });
    response.end(request.method === 'HEAD' ? undefined : part);
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    if (query.get('list-type') !== '2') return refuse(response, 400, 'InvalidArgument');
    const after = query.get('continuation-token') ?? '';
    const matching = this.keys.filter((key) => key.startsWith(query.get('prefix') ?? '') && key > after);
    const page = matching.slice(0, pageLength);
    const contents = page.map(
      (key) =>
        `<Contents><Key>${encodeURIComponent(key)}</Key><Size>${this.objects.get(key)?.bytes.length}</Size></Contents>`,
    );
    const isTruncated = matching.length > page.length;
    const next = isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : '';
    send(
      response,
      `<?xml version="1.0"?><ListBucketResult><EncodingType>url</EncodingType><IsTruncated>${isTruncated}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
    );
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Buffer;
  readonly isOther: boolean;
}

function send(response: ServerResponse, xml: string): void {
  response.setHeader('content-type', 'application/xml');
  response.end(xml);
}

function refuse(response: ServerResponse, status: number, code: string): void {
  response.statusCode = status;
  send(response, `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`);
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
