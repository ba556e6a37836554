import { checkLength, readChunks, receive, type ReceiveOptions } from './receive.ts';
import type { AnyRecords } from './webhook-event.ts';

export type { ReceiveOptions } from './receive.ts';

/** What Express, Connect and Node's own server hand to a handler, as far as it is needed. */
export interface ExpressRequest extends AsyncIterable<Uint8Array | string> {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** What `express.raw` or another parser has left. */
  readonly body?: unknown;
  /** The bytes as some platforms keep them beside the body that they have parsed. */
  readonly rawBody?: unknown;
}

export interface ExpressResponse {
  statusCode: number;
  setHeader(name: string, value: string): unknown;
  end(text: string): unknown;
}

/**
 * Receives webhooks in Express: `app.post('/hook', expressHandler({ secret, onWebhook }))`. Mount it before `express.json()`, which
 * keeps no bytes to verify; after `express.raw({ type: 'application/json' })` it takes what that has read. What `onWebhook` throws
 * goes to `next`, whose answer of 500 makes Chancery send the webhook again.
 */
export function expressHandler<Records = AnyRecords>(
  options: ReceiveOptions<Records>,
): (request: ExpressRequest, response: ExpressResponse, next: (error: unknown) => void) => Promise<void> {
  return async (request, response, next) => {
    try {
      const readBody = (bytesMax: number) => readRequest(request, bytesMax);
      const { status, text } = await receive(options, { headers: request.headers, readBody });
      response.statusCode = status;
      response.setHeader('content-type', 'text/plain; charset=utf-8');
      response.end(text);
    } catch (error) {
      next(error);
    }
  };
}

async function readRequest(request: ExpressRequest, bytesMax: number): Promise<Uint8Array | string> {
  checkLength(request.headers['content-length'], bytesMax);
  const { body, rawBody } = request;
  for (const read of [rawBody, body]) if (read instanceof Uint8Array || typeof read === 'string') return read;
  if (body === undefined) return readChunks(request, bytesMax);
  throw new TypeError(
    'The body was parsed before its signature was checked: mount the handler before express.json(), or express.raw() before it.',
  );
}
