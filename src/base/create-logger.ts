import { pino } from 'pino';
import { printableLines } from './printable.ts';
import { LineOutput, type Logger, type LogMembers } from './logger.ts';

type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Shared by all loggers. It writes the remaining lines when the process ends. */
const output = new LineOutput(1);

/** Text lines for people, JSON lines for everything else. Errors come with their stack and cause. */
export function createLogger(config: { readonly logLevel: LogLevel }): Logger {
  const lines = pino(
    { level: config.logLevel, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    output,
  );
  const write = process.stdout.isTTY ? writeText : undefined;
  const at =
    (level: LogLevel) =>
    (message: string, members: LogMembers = {}) => {
      const { error, ...rest } = members;
      if (write !== undefined && lines.isLevelEnabled(level)) write(level, message, members);
      else lines[level](error === undefined ? rest : { ...rest, err: error }, message);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

function writeText(level: string, message: string, members: LogMembers): void {
  const texts = Object.entries(members).map(([name, value]) => {
    const text = value instanceof Error ? (value.stack ?? value.message) : String(value);
    return ` ${name}=${text}`;
  });
  const line = `${level === 'info' ? '' : `${level}: `}${message}${texts.join('')}`;
  process.stdout.write(`${printableLines(line)}\n`);
}

let waiting = '';

/** Writes a line to the standard output, together with the others of this turn of the event loop. */
export function writeSoon(line: string): void {
  if (waiting === '') setImmediate(writeWaiting);
  waiting += line;
}

function writeWaiting(): void {
  output.write(process.stdout.isTTY ? printableLines(waiting) : waiting);
  waiting = '';
}
