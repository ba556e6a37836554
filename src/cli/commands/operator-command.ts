import { Command } from 'commander';
import { dataFlags } from '../../config/config-flags.ts';
import {
  createOperatorKey,
  listOperatorKeys,
  operatorScopes,
  revokeOperatorKey,
} from '../../operator/operator-keys.ts';
import { parseListQuery } from '../../query/list-query.ts';
import { withOperator } from '../api/with-operator.ts';
import { operatorEndpointCommand } from './operator-endpoint-command.ts';
import { operatorSchemaCommand } from './operator-schema-command.ts';
import { addFlags, flagsOf } from '../terminal/flags.ts';
import { type CommandIo, note, print } from '../terminal/print.ts';

/** `operator key create|list|revoke`, `operator endpoint create|list|test|delete`, `operator schema push` */
export function operatorCommand(io: CommandIo): Command {
  const command = new Command('operator').description('manage operator keys, endpoints and definitions');
  const key = command.command('key').description('manage the keys of the operator API, /api/operator/…');
  addCreate(key, io);
  addList(key, io);
  addRevoke(key, io);
  command.addCommand(operatorEndpointCommand(io));
  command.addCommand(operatorSchemaCommand(io));
  return command;
}

function addCreate(parent: Command, io: CommandIo): void {
  const command = parent
    .command('create')
    .description('create a key, and print it once; the first one turns the operator API on');
  command.argument('<name>', 'what it is for');
  command.option('--scopes <SCOPES>', `some of ${operatorScopes.join(',')}`, 'admin');
  command.option('--expires <DATE>', 'when it expires; never by default');
  addFlags(command, dataFlags);
  command.action(async (name: string) => {
    const { scopes, expires } = flagsOf(command);
    const body = {
      name,
      scopes: String(scopes)
        .split(',')
        .map((scope) => scope.trim()),
      ...(expires !== undefined && { expires }),
    };
    const { operatorKey, key } = await withOperator(command, io, (operator) =>
      createOperatorKey(operator, body, 'operator'),
    );
    note(io, `The key ${operatorKey.id} is shown only once:\n`);
    await print(io, `${key}\n`);
  });
}

function addList(parent: Command, io: CommandIo): void {
  const command = parent.command('list').description('list operator keys');
  addFlags(command, dataFlags);
  command.action(async () => {
    const query = parseListQuery(new URLSearchParams({ perPage: '1000', skipTotal: 'true' }));
    const { items } = await withOperator(command, io, (operator) => listOperatorKeys(operator, query));
    const lines = items.map(({ id, name, scopes, expires, lastUsed }) => {
      const end = expires === '' ? 'never expires' : `expires ${expires}`;
      const use = lastUsed === '' ? 'never used' : `used ${lastUsed}`;
      return `${[id, name, scopes.join(','), end, use].join('  ')}\n`;
    });
    await print(io, lines.join(''));
  });
}

function addRevoke(parent: Command, io: CommandIo): void {
  const command = parent.command('revoke').description('revoke a key, at once and on every node');
  command.argument('<id>');
  addFlags(command, dataFlags);
  command.action(async (id: string) => {
    await withOperator(command, io, (operator) => revokeOperatorKey(operator, id, 'operator'));
    await print(io, `Key ${id} revoked.\n`);
  });
}
