import { Command } from 'commander';
import { ConfigError } from '../../config/config-error.ts';
import { itemsOf } from '../api/api.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';
import { isSet, numberOf, textOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { showList } from '../terminal/show.ts';

/** `endpoint keys` */
export function endpointKeys(io: CommandIo): Command {
  const command = new Command('keys').description(
    'show the public keys that verify webhooks of endpoints with --ed25519, or rotate them',
  );
  command.option('--rotate', 'make another key');
  command.option(
    '--overlap <SECONDS>',
    'with --rotate: how long the previous key also signs, a day by default',
  );
  addApiFlags(command);
  command.action(async () => {
    const isRotated = isSet(command, 'rotate');
    if (!isRotated && textOf(command, 'overlap') !== undefined)
      throw new ConfigError('--overlap is for --rotate: give both.');
    const overlapSeconds = numberOf(command, 'overlap', { min: 0, max: 604_800 });
    const path = '/api/webhooks/keys';
    const answer = await withApi(command, io, (api) =>
      isRotated
        ? api.request('POST', `${path}/rotate`, { body: { overlapSeconds } })
        : api.request('GET', path),
    );
    const columns = ['id', 'publicKey', 'created', 'until'];
    await showList(io, itemsOf(answer), { columns, isJson: isSet(command, 'json') });
  });
  return command;
}
