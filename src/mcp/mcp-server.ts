import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type Tool as ListedTool,
} from '@modelcontextprotocol/sdk/types.js';
import type { Readable, Writable } from 'node:stream';
import type { KeyScope } from '../access/caller.ts';
import { callTool, messageBytesMax, type SendToolRequest, ToolRefusal } from './call-tool.ts';
import { type Tool, tools, type ToolValue } from './tools.ts';

export interface McpAccess {
  readonly version: string;
  /** The scopes of the API key; null where no key restricts the caller. */
  readonly scopes: readonly KeyScope[] | null;
  readonly mayWrite: boolean;
  readonly send: SendToolRequest;
}

const instructions =
  'Chancery keeps records in collections and sends a signed webhook for each change. Find names with list_collections first. ' +
  'To find out why a webhook did not arrive, find its event with list_events, then call explain_event.';

/** Answers one message of a client that speaks the protocol over HTTP. Nothing is kept between two messages. */
export async function answerMcpMessage(
  access: McpAccess,
  request: Request,
  message: unknown,
): Promise<Response> {
  const server = mcpServer(access);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

export interface McpStreams {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Ends the conversation. */
  readonly signal: AbortSignal;
}

/** Speaks the protocol over two streams until the client closes its own. */
export async function serveMcpStreams(
  access: McpAccess,
  { stdin, stdout, signal }: McpStreams,
): Promise<void> {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const server = mcpServer(access);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
  server.server.onclose = resolve;
  const close = (): void => void server.close();
  stdin.once('end', close);
  signal.addEventListener('abort', close);
  await server.connect(new StdioServerTransport(stdin, stdout, { maxBufferSize: messageBytesMax }));
  await closed;
}

function mcpServer({ version, scopes, mayWrite, send }: McpAccess): McpServer {
  const service = new McpServer({ name: 'chancery', version }, { capabilities: { tools: {} }, instructions });
  const offered = tools.filter(
    ({ scope, writes }) =>
      (writes !== true || mayWrite) &&
      (scopes === null || scopes.includes(scope) || scopes.includes('admin')),
  );
  service.server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offered.map(describeTool) }));
  service.server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = offered.find(({ name }) => name === params.name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, absence(params.name, mayWrite));
    return resultOf(callTool(tool, params.arguments ?? {}, send));
  });
  return service;
}

function absence(name: string, mayWrite: boolean): string {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) return `There is no tool ${name}.`;
  if (tool.writes === true && !mayWrite) return `${name} changes data, which is not allowed here.`;
  return `The API key needs the scope ${tool.scope} for ${name}.`;
}

/** A rejected request is a result that the model can read, and try again after. */
async function resultOf(answer: Promise<string>): Promise<CallToolResult> {
  try {
    return { content: [{ type: 'text', text: await answer }] };
  } catch (error) {
    if (!(error instanceof ToolRefusal)) throw error;
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

function describeTool({ name, description, values, writes = false, method }: Tool): ListedTool {
  const required = Object.keys(values).filter((key) => values[key]?.isRequired === true);
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, schemaOf(value)])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    },
    annotations: { readOnlyHint: !writes, destructiveHint: method === 'DELETE', openWorldHint: false },
  };
}

function schemaOf({ type, description, max }: ToolValue): object {
  return {
    type,
    description,
    ...(type === 'integer' && { minimum: 1 }),
    ...(max !== undefined && { maximum: max }),
  };
}
