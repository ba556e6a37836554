import { Command } from 'commander';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { parseByteSize } from '../../base/parse-byte-size.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type Api, itemsOf, objectOf } from '../api/api.ts';
import { addInstance, instancePath } from '../api/instance-path.ts';
import { withOperatorApi } from '../api/with-api.ts';
import { isSet } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { showList } from '../terminal/show.ts';

/** `instance quota INSTANCE [NAME=VALUE…] [--none]` */
export function quotaCommand(io: CommandIo): Command {
  const command = new Command('quota').description('show or set the quotas of an instance');
  addInstance(command);
  command.argument('[quotas...]', 'as records=100000 fileBytes=5GiB; NAME= removes a quota');
  command.option('--none', 'remove all quotas first');
  command.action(async (instance: string, texts: readonly string[]) => {
    const change = { changes: Object.fromEntries(texts.map(toChange)), isReset: isSet(command, 'none') };
    const quotas = await withOperatorApi({ command, io }, async (api) => {
      if (texts.length > 0 || change.isReset) await changeQuotas(api, instance, change);
      return itemsOf(await api.request('GET', instancePath(instance, '/quotas')));
    });
    await showList(io, quotas, { columns: ['name', 'used', 'max'], isJson: isSet(command, 'json') });
  });
  return command;
}

interface QuotaChange {
  /** Undefined removes a quota. */
  readonly changes: Readonly<Record<string, number | undefined>>;
  readonly isReset: boolean;
}

async function changeQuotas(api: Api, instance: string, { changes, isReset }: QuotaChange): Promise<void> {
  const path = instancePath(instance);
  const { quotas } = objectOf(await api.request('GET', path));
  const before: JsonObject = !isReset && isJsonObject(quotas) ? quotas : {};
  // The JSON has no member for undefined.
  await api.request('PATCH', path, { body: { quotas: { ...before, ...changes } } });
}

function toChange(text: string): readonly [name: string, value: number | undefined] {
  const [, name = '', size = ''] = /^(\w+)=(.*)$/.exec(text) ?? [];
  const value = parseByteSize(size);
  if (name === '' || (size !== '' && value === undefined))
    throw new ConfigError(`A quota is NAME=NUMBER, as fileBytes=5GiB, not ${JSON.stringify(text)}.`);
  return [name, value];
}
