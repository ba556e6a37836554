import { ConfigError } from '../../config/config-error.ts';
import { askLine } from './ask.ts';
import { CommandError, exitCodes } from './command-error.ts';
import type { CommandIo } from './print.ts';

export interface Confirmation {
  /** What becomes of it, `deletes` where this is left out. */
  readonly verb?: 'deletes' | 'cancels';
  /** What is lost, as `all records of posts`. */
  readonly loss: string;
  /** What has to be typed. */
  readonly name: string;
  /** Where it is lost. */
  readonly place: string;
}

/**
 * Asks on a terminal for the name of what will be lost. Throws ConfigError where nobody can be asked, and CommandError for any other
 * answer. `isSure` is that of the flag `--yes`, with which nothing is asked.
 */
export async function confirm(
  io: CommandIo,
  { verb = 'deletes', loss, name, place }: Confirmation,
  isSure: boolean,
): Promise<void> {
  if (isSure) return;
  if (io.stdin.isTTY !== true)
    throw new ConfigError(`This ${verb} ${loss}. Cannot prompt without a terminal: give --yes to do it.`);
  const question = `This ${verb} ${loss} in ${place}. Type ${name} to confirm: `;
  if ((await askLine(io, question)) !== name)
    throw new CommandError(
      exitCodes.refused,
      `That is another name: nothing was ${verb === 'deletes' ? 'deleted' : 'cancelled'}.`,
    );
}
