import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { printable } from '../../base/printable.ts';
import { fromTimestamp } from '../../base/timestamp.ts';
import { ConfigError } from '../../config/config-error.ts';
import { recordEventKinds } from '../../events/event.ts';
import { readDate } from '../../base/read-date.ts';
import { nearestName } from '../../fields/field-error.ts';
import { checkSigningSecret, newSigningSecret } from '../../sending/signature.ts';
import { type Api, ApiRefusal, objectOf } from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { endpointIdOf } from '../webhooks/find-endpoint.ts';
import { isSet, textOf } from '../terminal/flags.ts';
import { type ReceivedEvent, subscribeToEvents } from '../webhooks/event-subscription.ts';
import { type CommandIo, note, print, printStyled, untilInterrupted } from '../terminal/print.ts';
import { colorsOf, jsonText } from '../terminal/show.ts';
import { addApiFlags, withApi } from '../api/with-api.ts';

/** `listen` */
export function listenCommand(io: CommandIo): Command {
  const command = new Command('listen').description(
    'show events as they happen, and forward them to a receiver on this machine',
  );
  command.option('--forward <URL>', 'post each event there, signed as a webhook');
  command.option('--endpoint <ENDPOINT>', 'id or name of an endpoint: sign as for it');
  command.option('--secret <SECRET>', 'sign with this secret; with --endpoint, verify with it');
  command.option('--secret-file <FILE>', 'file with the secret');
  command.option(
    '--events <KINDS>',
    `kinds of events, such as "${recordEventKinds.slice(0, 2).join(',')}"; all by default`,
  );
  command.option('--collections <NAMES>', 'only these collections, such as "posts,users"');
  command.option('--filter <FILTER>', 'only these records, such as "pages > 100"');
  command.option('--since <PLACE>', 'now, start, a date, or the cursor where an earlier run ended', 'now');
  addApiFlags(command);
  command.action(async () => {
    const options = await readOptions(command);
    const isJson = isSet(command, 'json');
    const tell = (text: string): void => note(io, `${printable(text)}\n`);
    const show = (event: ReceivedEvent): Promise<boolean> =>
      isJson ? print(io, `${jsonText(event)}\n`) : printStyled(io, lineOf(io, event));
    await untilInterrupted(io, (interrupt) =>
      withApi(command, io, async (api) => {
        const { endpoint: text } = options;
        const endpoint = text === undefined ? undefined : await endpointIdOf(api, text);
        const start = await startOf(api, { ...options, endpoint }, interrupt);
        tell(`Listening to ${api.place}. Ctrl-C ends it.`);
        if (options.isNewSecret) tell(`Signed with ${options.secret}, a secret for this run alone.`);
        const end = await subscribeToEvents(api, {
          ...options,
          endpoint,
          start,
          interrupt,
          show,
          note: tell,
        });
        tell(`Resume with --since ${end}`);
      }).catch((error: unknown) => {
        // Ended while it was still connecting.
        if (!interrupt.aborted) throw error;
      }),
    );
  });
  return command;
}

interface ListenOptions {
  readonly forward: string | undefined;
  readonly endpoint: string | undefined;
  readonly secret: string | undefined;
  /** Nobody knows the secret yet. */
  readonly isNewSecret: boolean;
  readonly since: string;
  readonly query: {
    readonly events: string | undefined;
    readonly collections: string | undefined;
    readonly filter: string | undefined;
  };
}

async function readOptions(command: Command): Promise<ListenOptions> {
  const [forward, endpoint] = [textOf(command, 'forward'), textOf(command, 'endpoint')];
  if (forward !== undefined && !['http:', 'https:'].includes(URL.parse(forward)?.protocol ?? ''))
    throw new ConfigError(
      `--forward must be a URL like http://127.0.0.1:3000/, not ${JSON.stringify(forward)}.`,
    );
  const secret = await readSecret(command);
  const isNewSecret = secret === undefined && endpoint === undefined && forward !== undefined;
  const events = textOf(command, 'events');
  for (const kind of events?.split(',') ?? []) requireKind(kind);
  return {
    forward,
    endpoint,
    secret: isNewSecret ? newSigningSecret() : secret,
    isNewSecret,
    since: textOf(command, 'since') ?? 'now',
    query: { events, collections: textOf(command, 'collections'), filter: textOf(command, 'filter') },
  };
}

function requireKind(kind: string): void {
  if (recordEventKinds.some((one) => one === kind)) return;
  const nearest = nearestName(kind, recordEventKinds);
  const hint =
    nearest === undefined ? `expected ${recordEventKinds.join(', ')}.` : `did you mean ${nearest}?`;
  throw new ConfigError(`--events: there is no event ${JSON.stringify(kind)}: ${hint}`);
}

async function readSecret(command: Command): Promise<string | undefined> {
  const [text, file] = [textOf(command, 'secret'), textOf(command, 'secret-file')];
  if (text !== undefined && file !== undefined)
    throw new ConfigError('--secret and --secret-file are the same thing: give one of them.');
  const secret = file === undefined ? text : (await readFile(file, 'utf8')).replace(/\r?\n$/, '');
  const problem = secret === undefined ? null : checkSigningSecret(secret);
  if (problem !== null) throw new ConfigError(`--secret: ${problem}`);
  return secret;
}

/** Later than all events: the log ends before it. */
const never = '9999-12-31 23:59:59.999Z';

/**
 * Returns where the feed is read from first, as the parameters of its request. Asks for the end of the log in any case: what the service
 * refuses is said before anything is shown.
 */
async function startOf(
  api: Api,
  { since, endpoint, query }: ListenOptions,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const atEnd = { ...query, since: never, perPage: 1, signed: endpoint };
  const answer = await api
    .request('GET', '/api/webhooks/feed', { query: atEnd, signal })
    .catch((error: unknown) => {
      if (!(error instanceof ApiRefusal) || error.status !== 404 || endpoint === undefined) throw error;
      throw new CommandError(exitCodes.refused, `There is no endpoint ${endpoint}.`, { cause: error });
    });
  if (since === 'now') return { cursor: String(objectOf(answer)['nextCursor']) };
  if (since === 'start') return {};
  const date = readDate(since) ?? '';
  return date === '' ? { cursor: since } : { since: new Date(fromTimestamp(date)).toISOString() };
}

/** Returns an event as a line: when, what, of which record, its id, and what became of it. */
function lineOf(io: CommandIo, event: ReceivedEvent): string {
  const { time, event: kind, collection, record, id, signature, forward } = event;
  const { dim, green, red, bold } = colorsOf(io);
  const parts = [
    dim(printable(time)),
    bold(printable(kind).padEnd('record.create'.length)),
    printable(`${collection}/${record}`),
    dim(printable(id)),
  ];
  if (signature !== null)
    parts.push(signature === 'ok' ? green('signature ok') : red(printable(`signature: ${signature}`)));
  if (forward !== null) {
    const isWell = forward.status !== null && forward.status >= 200 && forward.status < 300;
    const text = `→ ${forward.status ?? forward.error} in ${forward.ms} ms`;
    parts.push((isWell ? green : red)(printable(text)));
  }
  return `${parts.join('  ')}\n`;
}
