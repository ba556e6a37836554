import { Command } from 'commander';
import { keyScopes } from '../../access/caller.ts';
import { addListOptions, listQuery } from '../api/list-options.ts';
import { itemsOf, objectOf } from '../api/api.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { type Column, showJson, showList } from '../terminal/show.ts';

/** `key create|list|revoke` */
export function keyCommand(io: CommandIo): Command {
  const command = new Command('key').description('manage the API keys of an instance');
  addCreate(command, io);
  addList(command, io);
  addRevoke(command, io);
  return command;
}

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent.command('create').description('create an API key, and print it once');
  command.argument('<name>', 'what it is for');
  command.requiredOption('--scopes <SCOPES>', `some of ${keyScopes.join(',')}`);
  command.option('--collections <NAMES>', 'limit it to the records of these collections');
  command.option('--endpoints <IDS>', 'limit it to these endpoints');
  command.option('--expires <DATE>', 'when it expires; never by default');
  addApiFlags(command);
  command.action(async (name: string) => {
    const expires = textOf(command, 'expires');
    const body = {
      name,
      scopes: listOf(textOf(command, 'scopes')),
      collections: listOf(textOf(command, 'collections')),
      endpoints: listOf(textOf(command, 'endpoints')),
      ...(expires !== undefined && { expires }),
    };
    const created = objectOf(await withApi(command, io, (api) => api.request('POST', '/api/keys', { body })));
    if (isSet(command, 'json')) {
      await showJson(io, created);
      return;
    }
    note(io, `The key ${String(created['id'])} is shown only once:\n`);
    await print(io, `${String(created['key'])}\n`);
  });
}

/** Null is no restriction. */
function listOf(text: string | undefined): readonly string[] | null {
  return text === undefined ? null : text.split(',').map((part) => part.trim());
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list API keys');
  addListOptions(command, { filter: "name ~ 'import'", sort: '-created' });
  addApiFlags(command);
  command.action(async () => {
    const query = listQuery(command, []);
    const answer = await withApi(command, io, (api) => api.request('GET', '/api/keys', { query }));
    await showList(io, itemsOf(answer), { columns, isJson: isSet(command, 'json') });
  });
}

function addRevoke(parent: Command, io: CommandIo): void {
  const command = parent.command('revoke').description('revoke an API key, at once and on every node');
  command.argument('<id>');
  addApiFlags(command);
  command.action(async (id: string) => {
    const path = `/api/keys/${encodeURIComponent(id)}`;
    await withApi(command, io, (api) => api.request('DELETE', path));
    await print(io, `Key ${id} revoked.\n`);
  });
}

const columns: readonly Column[] = [
  { title: 'id', of: ({ id }) => id, width: 20 },
  { title: 'name', of: ({ name }) => name, width: 24 },
  { title: 'scopes', of: ({ scopes }) => scopes, width: 40 },
  { title: 'expires', of: ({ expires }) => expires, width: 24 },
  { title: 'lastUsed', of: ({ lastUsed }) => lastUsed, width: 24 },
];
