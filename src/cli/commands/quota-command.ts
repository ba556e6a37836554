import { Command } from 'commander';
import { parseByteSize } from '../../base/parse-byte-size.ts';
import { dataFlags } from '../../config/config-flags.ts';
import { ConfigError } from '../../config/config-error.ts';
import { unknownInstance } from '../../instances/instance-rows.ts';
import { type Quotas, requireQuotas } from '../../instances/quotas.ts';
import { type DataDirectory, onInstance } from '../../open-data-directory.ts';
import { withDataDirectory } from '../api/with-instance.ts';
import { addFlags, configOf, isSet } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';

/** `instance quota SLUG [NAME=VALUE…] [--none]` */
export function quotaCommand(io: CommandIo): Command {
  const command = new Command('quota').description('show or set what an instance may use');
  command
    .argument('<slug>')
    .argument('[quotas...]', 'as records=100000 fileBytes=5GiB; records= removes one');
  command.option('--none', 'remove all quotas that it has had');
  addFlags(command, dataFlags);
  command.action(async (slug: string, texts: readonly string[]) => {
    const change = { changes: texts.map(toChange), isReset: isSet(command, 'none') };
    const work = (data: DataDirectory): Promise<Quotas> => changeQuotas(data, slug, change);
    const quotas = await withDataDirectory(configOf(command, io), work, 'fail');
    const lines = Object.entries(quotas).map(([name, value]) => `${name}=${value}\n`);
    await print(io, lines.join(''));
  });
  return command;
}

interface QuotaChange {
  readonly changes: readonly (readonly [name: string, value: number | undefined])[];
  readonly isReset: boolean;
}

/** Returns the quotas after this change. */
async function changeQuotas(
  data: DataDirectory,
  slug: string,
  { changes, isReset }: QuotaChange,
): Promise<Quotas> {
  const entry = data.directory.findBySlug(slug);
  if (entry === undefined) throw unknownInstance(slug);
  if (changes.length === 0 && !isReset) return entry.quotas;
  const merged = { ...(isReset ? {} : entry.quotas), ...Object.fromEntries(changes) };
  const quotas = requireQuotas(
    Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)),
  );
  await data.directory.setQuotas(entry.id, quotas);
  await onInstance(data, entry, (instance) =>
    instance.database.write((tx) =>
      instance.audit.append(tx, 'operator', { action: 'instance.quota', details: { quotas } }),
    ),
  );
  return quotas;
}

function toChange(text: string): readonly [name: string, value: number | undefined] {
  const [, name = '', size = ''] = /^(\w+)=(.*)$/.exec(text) ?? [];
  const value = parseByteSize(size);
  if (name === '' || (size !== '' && value === undefined))
    throw new ConfigError(`A quota is NAME=NUMBER, as fileBytes=5GiB, and ${JSON.stringify(text)} is not.`);
  return [name, value];
}
