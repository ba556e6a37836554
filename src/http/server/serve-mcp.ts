import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { build } from '../../base/build.ts';
import { AppError, notFound } from '../../base/errors.ts';
import { decodeUtf8, isJsonObject, parseJson } from '../../base/json.ts';
import { suspendedText } from '../../instances/instance-rows.ts';
import { BeingReplaced } from '../../instances/replacement-mark.ts';
import { type KeyScope, keyScopes } from '../../access/caller.ts';
import { messageBytesMax, type SendToolRequest, ToolRefusal } from '../../mcp/call-tool.ts';
import { peerAddress } from '../client-address.ts';
import type { InstanceHost } from '../host/instance-host.ts';
import { tooLarge } from '../read-body.ts';
import { queryOf } from '../request.ts';
import { HostCalls } from './host-calls.ts';
import { instanceRoutes } from './routes.ts';
import { commonHeaders } from './send-answer.ts';

/**
 * Serves `POST /api/mcp` of every instance to programs with an API key: tools for agents (mcp/tools.ts). Each message stands for itself. Each
 * call of a tool is a request to a route, with the headers and the address of the client: it is limited, decided and logged as one.
 */
export function serveMcp(app: FastifyInstance, host: InstanceHost): void {
  app.post('/api/mcp', async (request, reply) => {
    try {
      return await answer(request, reply, host);
    } finally {
      request.releaseBody?.();
    }
  });
  for (const method of ['GET', 'DELETE'] as const)
    app.route({
      method,
      url: '/api/mcp',
      exposeHeadRoute: false,
      // Streams and sessions, which a client may ask for and do without.
      handler: (_, reply) => {
        reply.header('allow', 'OPTIONS, POST');
        throw new AppError('method_not_allowed', 'Method not allowed.');
      },
    });
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  host: InstanceHost,
): Promise<FastifyReply> {
  const entry = request.instanceEntry;
  if (entry === null) throw notFound();
  if (entry.state === 'replacing') throw new BeingReplaced();
  if (entry.state === 'suspended') throw new AppError('forbidden', suspendedText);
  const { headers, raw, protocol, server } = request;
  const cause = {
    origin: `${protocol}://${request.host}`,
    peer: peerAddress(raw.socket),
    client: { headers: clientHeaders(headers), signal: raw.signal },
  };
  const calls = new HostCalls({ host, routes: instanceRoutes, cause, ledger: server.memory });
  const scopes = scopesOf(await calls.call(entry, { operation: 'getOwnApiKey' }));
  const message = messageOf(request);
  const send: SendToolRequest = async ({ tool, ...call }) => {
    try {
      return await calls.call(entry, { operation: tool.operation, ...call });
    } catch (error) {
      if (error instanceof AppError) throw new ToolRefusal(textOf(error));
      throw error;
    }
  };
  // Imported on demand: most services are used by no agent.
  const { answerMcpMessage } = await import('../../mcp/mcp-server.ts');
  const mayWrite = queryOf(request).get('write') === 'true';
  const answered = await answerMcpMessage(
    { version: build.version, scopes, mayWrite, send },
    new Request('http://localhost/api/mcp', { method: 'POST', headers: mcpHeaders(request) }),
    message,
  );
  reply.code(answered.status).headers({ ...commonHeaders(request), 'cache-control': 'no-store' });
  const type = answered.headers.get('content-type');
  if (type !== null) reply.header('content-type', type);
  return reply.send(await answered.text());
}

/** Without what is about the body of the message, or makes a request another one. */
function clientHeaders(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const sent = { ...headers };
  for (const name of Object.keys(sent)) if (/^(?:content|if|idempotency)-/.test(name)) delete sent[name];
  return sent;
}

/** An endpoint key shows its scopes as any other. */
function scopesOf(key: unknown): readonly KeyScope[] {
  const { scopes } = isJsonObject(key) ? key : {};
  return Array.isArray(scopes) ? keyScopes.filter((scope) => scopes.includes(scope)) : [];
}

/** Returns the message of a body. Throws bad_request, also for several at once, which the protocol no longer has. */
function messageOf({ body }: FastifyRequest): unknown {
  if (!Buffer.isBuffer(body)) throw new AppError('bad_request', 'Expected a JSON-RPC message.');
  if (body.length > messageBytesMax) throw tooLarge();
  const message = parseJson(decodeUtf8(body));
  if (!isJsonObject(message)) throw new AppError('bad_request', 'Expected one JSON-RPC message.');
  return message;
}

/** What the protocol says in headers. */
function mcpHeaders({ headers }: FastifyRequest): Headers {
  const sent = new Headers();
  for (const name of ['accept', 'content-type', 'mcp-protocol-version'])
    if (typeof headers[name] === 'string') sent.set(name, headers[name]);
  return sent;
}

function textOf({ message, details }: AppError): string {
  return Object.keys(details).length === 0 ? message : `${message} ${JSON.stringify(details)}`;
}
