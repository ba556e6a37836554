import { Command } from 'commander';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { addListOptions, listQuery } from '../api/list-options.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';
import { type Column, showJson, showList } from '../terminal/show.ts';
import { endpointIdOf } from '../webhooks/find-endpoint.ts';

const path = '/api/webhooks/portal-links';

/** `portal link|list|delete` */
export function portalCommand(io: CommandIo): Command {
  const command = new Command('portal').description('open a portal with some endpoints to a customer');
  addLink(command, io);
  addList(command, io);
  addDelete(command, io);
  return command;
}

function addLink(parent: Command, io: CommandIo): void {
  const command = parent.command('link').description('create a link that signs in to a portal once');
  command.argument('[endpoints...]', 'their ids or their names');
  command.option('--owner <COLLECTION/ID>', 'the endpoints of this account instead, now and later');
  command.option('--read-only', 'make it read-only');
  command.option('--expires <DATE>', 'when it expires; in an hour by default, in seven days at most');
  addApiFlags(command);
  command.action(async (endpoints: readonly string[]) => {
    const owner = textOf(command, 'owner');
    if ((endpoints.length === 0) === (owner === undefined))
      throw new ConfigError('Either endpoints or --owner is required.');
    const expires = textOf(command, 'expires');
    const body = {
      ...(owner !== undefined && { owner }),
      ...(expires !== undefined && { expires }),
      ...(isSet(command, 'read-only') && { scopes: ['webhooks:read'] }),
    };
    const answer = await withApi(command, io, async (api) => {
      const ids = await idsOf(api, endpoints);
      return api.request('POST', path, { body: { ...body, ...(ids.length > 0 && { endpoints: ids }) } });
    });
    const link = objectOf(answer);
    if (isSet(command, 'json')) return showJson(io, link);
    await print(io, `${String(link['url'])}\n`);
    note(io, `It can be opened once, until ${String(link['expires'])}.`);
  });
}

async function idsOf(api: Api, endpoints: readonly string[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const text of endpoints) ids.push(await endpointIdOf(api, text));
  return ids;
}

const columns: readonly Column[] = [
  'id',
  { title: 'for', of: ({ endpoints, owner }) => (Array.isArray(endpoints) ? endpoints.join() : owner) },
  { title: 'may', of: ({ scopes }) => [scopes].flat().join().replaceAll('webhooks:', '') },
  'opened',
  'expires',
  'ends',
];

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list active links and sessions');
  addListOptions(command, { filter: "opened != ''", sort: '-created' });
  addApiFlags(command);
  command.action(async () => {
    const answer = await withApi(command, io, (api) =>
      api.request('GET', path, { query: listQuery(command) }),
    );
    await showList(io, itemsOf(answer), { columns, isJson: isSet(command, 'json') });
  });
}

function addDelete(parent: Command, io: CommandIo): void {
  const command = parent.command('delete').description('delete a link and end its session');
  command.argument('<link>', 'its id');
  addApiFlags(command);
  command.action(async (id: string) => {
    await withApi(command, io, (api) => api.request('DELETE', `${path}/${encodeURIComponent(id)}`));
    if (!isSet(command, 'json')) await print(io, `Portal link ${id} deleted.\n`);
  });
}
