import { Command } from 'commander';
import { type KeyScope, keyScopes } from '../../access/caller.ts';
import { version } from '../../app.ts';
import { fillPath } from '../../http/path-patterns.ts';
import { type SendToolRequest, ToolRefusal } from '../../mcp/call-tool.ts';
import { type Api, ApiRefusal, objectOf } from '../api/api.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';
import { CommandError } from '../terminal/command-error.ts';
import { isSet } from '../terminal/flags.ts';
import { type CommandIo, untilInterrupted } from '../terminal/print.ts';

/** `mcp` */
export function mcpCommand(io: CommandIo): Command {
  const command = new Command('mcp').description(
    'serve tools for agents over the Model Context Protocol, on standard input and output',
  );
  command.option('--write', 'add tools that change records and retry deliveries');
  addApiFlags(command);
  command.action(async () => {
    const mayWrite = isSet(command, 'write');
    const { serveMcpStreams } = await import('../../mcp/mcp-server.ts');
    await withApi(command, io, async (api) => {
      const access = { version, scopes: await scopesOf(api), mayWrite, send: sendBy(api) };
      await untilInterrupted(io, async (signal) => serveMcpStreams(access, { ...io, signal }));
    });
  });
  return command;
}

/** Returns the scopes of the API key; null for a caller without one. */
async function scopesOf(api: Api): Promise<readonly KeyScope[] | null> {
  try {
    const { scopes } = objectOf(await api.request('GET', '/api/keys/current'));
    return Array.isArray(scopes) ? keyScopes.filter((scope) => scopes.includes(scope)) : null;
  } catch (error) {
    // An invalid key is refused with 401, whatever the route.
    if (error instanceof ApiRefusal && error.status !== 401) return null;
    throw error;
  }
}

function sendBy(api: Api): SendToolRequest {
  return async ({ tool, params, query, body }) => {
    const path = fillPath(tool.path, (name) => encodeURIComponent(params[name] ?? ''));
    try {
      return (await api.request(tool.method, path, { query, body })).json;
    } catch (error) {
      // One that is unreachable may come back.
      if (error instanceof CommandError) throw new ToolRefusal(error.message, { cause: error });
      throw error;
    }
  };
}
