import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { backupName } from '../../backups/backup-names.ts';
import type { NewTransfer } from '../../backups/job-store.ts';
import { systemClock } from '../../base/clock.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { requireSlug } from '../../instances/require-slug.ts';
import { unknownInstance } from '../../instances/instance-rows.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import { type Api, ApiRefusal, itemsOf, objectOf, Unreachable } from '../api/api.ts';
import { addInstance, addInstanceFlags, instancePath, showDone } from '../api/instance-path.ts';
import { findServiceUrl, withOperatorApi } from '../api/with-api.ts';
import { withDataDirectory } from '../api/with-instance.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import { durationText } from '../terminal/duration-text.ts';
import { configOf, isSet } from '../terminal/flags.ts';
import { type CommandIo, showLine } from '../terminal/print.ts';
import { type Column, showList } from '../terminal/show.ts';

/** `instance clone`, `instance backup` and `instance backups`: what takes as long as reading a whole instance. */
export function instanceJobCommands(io: CommandIo): readonly Command[] {
  return [cloneCommand(io), backupCommand(io), backupsCommand(io)];
}

function cloneCommand(io: CommandIo): Command {
  const command = new Command('clone').description('copy an instance, as it is now, into a new one');
  addInstance(command);
  command.argument('<new>', 'the slug of the copy, whose endpoints are paused');
  command.action(async (name: string, slug: string) => {
    requireSlug(slug);
    await run(command, io, {
      name,
      path: '/clone',
      body: { slug },
      here: { kind: 'clone', backup: slug, place: '' },
    });
    const item = await withOperatorApi({ command, io }, async (api) =>
      objectOf(await api.request('GET', instancePath(slug))),
    );
    const line = `Instance ${slug} cloned from ${name}, with the id ${String(item['id'])}. Its endpoints are paused.`;
    await showDone(command, io, { item, line });
  });
  return command;
}

function backupCommand(io: CommandIo): Command {
  const command = new Command('backup').description(
    'back up an instance where the schedule does, or where the instance keeps its own backups',
  );
  addInstance(command);
  command.action(async (name: string) => {
    const place = configOf(command, io).backups.schedule?.place ?? '';
    const here = { kind: 'backup', backup: backupName(name, systemClock.now()), place } as const;
    await run(command, io, { name, path: '/backups', here });
    const item = await withOperatorApi({ command, io }, async (api) =>
      objectOf(await api.request('GET', instancePath(name, '/backups'))),
    );
    const { backup } = isJsonObject(item['lastBackup']) ? item['lastBackup'] : {};
    await showDone(command, io, { item, line: `Backup ${String(backup)} of ${name} stored.` });
  });
  return command;
}

const columns: readonly Column[] = [
  'slug',
  { title: 'lastBackup', of: ({ lastBackup }) => endOf(lastBackup) },
  { title: 'lastVerification', of: ({ lastVerification }) => endOf(lastVerification) },
  { title: 'overdue', of: ({ isOverdue }) => (isOverdue === true ? 'overdue' : '') },
  { title: 'running', of: ({ running }) => (isJsonObject(running) ? running['kind'] : '') },
  { title: 'failure', of: ({ failure }) => (isJsonObject(failure) ? failure['message'] : '') },
];

function endOf(job: unknown): unknown {
  return isJsonObject(job) ? job['ended'] : '';
}

function backupsCommand(io: CommandIo): Command {
  const command = new Command('backups').description(
    'show the last backup of an instance, or of each, and whether it is overdue',
  );
  command.argument('[instance]', 'its slug or its id');
  addInstanceFlags(command);
  command.action(async (name: string | undefined) => {
    const items = await withOperatorApi({ command, io }, async (api) =>
      name === undefined
        ? itemsOf(await api.request('GET', '/api/operator/backups'))
        : [objectOf(await api.request('GET', instancePath(name, '/backups')))],
    );
    await showList(io, items, { columns, isJson: isSet(command, 'json') });
  });
  return command;
}

interface InstanceJob {
  readonly name: string;
  /** Of the request that starts it, below the instance. */
  readonly path: string;
  readonly body?: JsonObject;
  /** The same on data of this machine. */
  readonly here: Pick<NewTransfer, 'kind' | 'backup' | 'place'>;
}

/** Runs a job to its end, on the service or in this process. */
async function run(command: Command, io: CommandIo, job: InstanceJob): Promise<void> {
  try {
    if ((await findServiceUrl(command, io)) === undefined) await runHere(command, io, job);
    else await withOperatorApi({ command, io }, (api) => runThere(api, io, job));
  } finally {
    showLine(io, '');
  }
}

async function runHere(command: Command, io: CommandIo, { name, here }: InstanceJob): Promise<void> {
  const config = configOf(command, io);
  const work = async (data: DataDirectory): Promise<void> => {
    const { directory } = data;
    const instance = (directory.findBySlug(name) ?? directory.findShown(name))?.shownId;
    if (instance === undefined) throw unknownInstance(name);
    // Imported on demand: a server never needs it.
    const { runJobHere } = await import('../../jobs/run-job-here.ts');
    const onProgress = ({ what, count }: { readonly what: string; readonly count: number }): void =>
      showLine(io, `${what}: ${count}`);
    await runJobHere({ data, config, onProgress }, { instance, isAuto: false, ...here });
  };
  await withDataDirectory(config, work, 'fail');
}

const lookMs = 1_000;
/** The request that starts a job is answered at its end. Node waits for an answer as long. */
const answerMs = 240_000;

/** Waits for the answer; and where a proxy or Node itself ends the request before, until the job is over. */
async function runThere(api: Api, io: CommandIo, { name, path, body }: InstanceJob): Promise<void> {
  const startedMs = systemClock.now();
  const over = new AbortController();
  const progress = showElapsed(io, startedMs, over.signal);
  try {
    await api.request('POST', instancePath(name, path), { body, waitMs: answerMs });
  } catch (error) {
    if (!(error instanceof Unreachable) || systemClock.now() - startedMs < lookMs) throw error;
    await waitUntilOver(api, name, error);
  } finally {
    over.abort();
    await progress;
  }
}

async function showElapsed(io: CommandIo, startedMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
    const seconds = (systemClock.now() - startedMs) / 1_000;
    if (!signal.aborted) showLine(io, `Waiting for the service: ${durationText(seconds)}`);
  }
}

/** Follows the job of an instance after its request was cut off. Throws what it fails for, or `cutOff` where the service knows of none. */
async function waitUntilOver(api: Api, name: string, cutOff: Unreachable): Promise<void> {
  for (let isSeen = false; ; isSeen = true) {
    const { running, failure } = await jobsOf(api, name, cutOff);
    if (!isJsonObject(running)) {
      if (!isSeen) throw cutOff;
      if (!isJsonObject(failure)) return;
      throw new CommandError(exitCodes.refused, String(failure['message']));
    }
    await delay(lookMs);
  }
}

async function jobsOf(api: Api, name: string, cutOff: Unreachable): Promise<JsonObject> {
  try {
    return objectOf(await api.request('GET', instancePath(name, '/backups')));
  } catch (error) {
    // A key may start a job without the scope to read about it.
    if (error instanceof ApiRefusal && error.status === 403) throw cutOff;
    throw error;
  }
}
