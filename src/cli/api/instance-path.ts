import type { Command } from 'commander';
import type { JsonObject } from '../../base/json.ts';
import { deletedDaysFlag } from '../../config/config-flags.ts';
import { addFlags, isSet } from '../terminal/flags.ts';
import { type CommandIo, print } from '../terminal/print.ts';
import { showItem } from '../terminal/show.ts';
import { addApiFlags } from './with-api.ts';

export const instancesPath = '/api/operator/instances';

/** Returns the path of an instance, or of what is below it. */
export function instancePath(name: string, below = ''): string {
  return `${instancesPath}/${encodeURIComponent(name)}${below}`;
}

/** Adds the argument and the flags of a command on one instance. */
export function addInstance(command: Command): void {
  command.argument('<instance>', 'its slug or its id');
  addInstanceFlags(command);
}

/** Until when a deleted instance can be restored is said by the answer, on data of this machine by a flag. */
export function addInstanceFlags(command: Command): void {
  addApiFlags(command);
  addFlags(command, [deletedDaysFlag]);
}

/** Prints what was done: a line, or the instance as JSON. */
export async function showDone(
  command: Command,
  io: CommandIo,
  { item, line }: { readonly item: JsonObject; readonly line: string },
): Promise<void> {
  if (isSet(command, 'json')) await showItem(io, item, { isJson: true });
  else await print(io, `${line}\n`);
}
