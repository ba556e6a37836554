import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { printable } from '../../base/printable.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { type CommandIo, note } from './print.ts';

/** Asks on standard error, so that the answer to the command stays alone on standard output. Resolves to the line without its end. */
export async function askLine(io: CommandIo, question: string): Promise<string> {
  note(io, printable(question));
  return firstLine(createInterface({ input: io.stdin }));
}

/** As {@link askLine}, but what is typed is not shown. */
export async function askSecret(io: CommandIo, question: string): Promise<string> {
  note(io, printable(question));
  // With an output of its own, the terminal itself shows nothing.
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const line = await firstLine(createInterface({ input: io.stdin, output, terminal: true }));
  note(io, '\n');
  return line;
}

async function firstLine(lines: Interface): Promise<string> {
  let isInterrupted = false;
  // Where the terminal shows nothing, it also tells nobody of a Ctrl-C.
  lines.on('SIGINT', () => {
    isInterrupted = true;
    lines.close();
  });
  try {
    for await (const line of lines) return line;
    if (isInterrupted) throw new CommandError(exitCodes.interrupted, '');
    return '';
  } finally {
    lines.close();
  }
}
