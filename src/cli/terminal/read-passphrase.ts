import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf } from '../../open-data-directory.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { flagsOf } from './flags.ts';

/** A shorter one is soon guessed by whoever has the archive. */
const lengthMin = 12;

export function addPassphraseFlag(command: Command, description: string): void {
  command.option('--passphrase-file <FILE>', description);
}

/** Returns the passphrase in the file of `--passphrase-file`, without the end of its line; undefined without the option. */
export async function readPassphrase(command: Command): Promise<string | undefined> {
  const path = flagsOf(command)['passphrase-file'];
  if (typeof path !== 'string') return undefined;
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(exitCodes.io, `The passphrase cannot be read: ${messageOf(error)}.`, {
      cause: error,
    });
  });
  const passphrase = text.replace(/\r?\n$/, '');
  if (passphrase.trim().length < lengthMin)
    throw new CommandError(exitCodes.usage, `A passphrase has at least ${lengthMin} characters.`);
  return passphrase;
}
