/**
 * Receives webhooks where a request is a `Request`: Deno, Bun, Workers, Hono, and the route handlers of Next, SvelteKit or Astro.
 *
 *     export const POST = fetchHandler({ secret: () => process.env.WEBHOOK_SECRET ?? '', onWebhook });   // app/hook/route.ts of Next
 */
import { checkLength, readChunks, receive, type ReceiveOptions } from './receive.ts';
import type { AnyRecords } from './webhook-event.ts';

export type { ReceiveOptions } from './receive.ts';

/** Returns a function that answers a request. It throws what `onWebhook` throws, which these servers answer with 500. */
export function fetchHandler<Records = AnyRecords>(
  options: ReceiveOptions<Records>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const readBody = (bytesMax: number) => readRequest(request, bytesMax);
    const { status, text } = await receive(options, { headers: request.headers, readBody });
    return new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } });
  };
}

/** What a handler of Hono gets, as far as it is needed. */
export interface HonoContext {
  readonly req: { readonly raw: Request };
}

/** The same for Hono: `app.post('/hook', honoHandler({ secret, onWebhook }))`. */
export function honoHandler<Records = AnyRecords>(
  options: ReceiveOptions<Records>,
): (context: HonoContext) => Promise<Response> {
  const handle = fetchHandler(options);
  return (context) => handle(context.req.raw);
}

async function readRequest(request: Request, bytesMax: number): Promise<Uint8Array> {
  if (request.bodyUsed)
    throw new TypeError('The body was read before: receive webhooks before anything reads it.');
  checkLength(request.headers.get('content-length'), bytesMax);
  return request.body === null ? new Uint8Array() : readChunks(chunksOf(request.body), bytesMax);
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // Also where the reading ends early: the rest is not wanted.
    await reader.cancel();
  }
}
