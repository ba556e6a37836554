import { bodyBytesMaxDefault, receive, type ReceiveOptions } from './receive.ts';
import type { AnyRecords } from './webhook-event.ts';

export type { ReceiveOptions } from './receive.ts';

export interface FastifyWebhookOptions<Records = AnyRecords> extends ReceiveOptions<Records> {
  /** The path of the route, like `/hook`. */
  readonly path: string;
}

/** What Fastify hands to a plugin, as far as it is needed. */
export interface FastifyServer {
  removeContentTypeParser(contentType: string): void;
  addContentTypeParser(
    contentType: string,
    options: { readonly parseAs: 'buffer'; readonly bodyLimit: number },
    parser: (request: unknown, body: Uint8Array, done: (error: null, body: Uint8Array) => void) => void,
  ): unknown;
  post(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => Promise<string>): unknown;
}

export interface FastifyRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

export interface FastifyReply {
  code(status: number): unknown;
  type(contentType: string): unknown;
}

/**
 * A plugin that receives webhooks in Fastify: `app.register(fastifyWebhooks, { path: '/hook', secret, onWebhook })`. Within the plugin
 * JSON stays bytes; the parsers of the other routes are untouched. What `onWebhook` throws is answered by Fastify with 500, which
 * makes Chancery send the webhook again.
 */
export async function fastifyWebhooks<Records = AnyRecords>(
  server: FastifyServer,
  { path, ...options }: FastifyWebhookOptions<Records>,
): Promise<void> {
  const bodyLimit = options.bodyBytesMax ?? bodyBytesMaxDefault;
  // The application may have a parser of its own, which a second one of the same type would clash with.
  server.removeContentTypeParser('application/json');
  server.addContentTypeParser('application/json', { parseAs: 'buffer', bodyLimit }, (_request, body, done) =>
    done(null, body),
  );
  server.post(path, async (request, reply) => {
    const readBody = async () => (request.body instanceof Uint8Array ? request.body : new Uint8Array());
    const { status, text } = await receive(options, { headers: request.headers, readBody });
    reply.code(status);
    reply.type('text/plain; charset=utf-8');
    return text;
  });
}
