import { describe, type TestContext } from 'node:test';
import { runInProcess, type CommandOptions, type CommandResult } from './run-in-process.ts';
import { startService, type TestService, type TestServiceOptions } from './service.ts';
import { placeOfDirectory } from './start-command.ts';

/** Runs a command on what the test works with. */
export type Run = (args: readonly string[], options?: CommandOptions) => Promise<CommandResult>;

/** What a command works with: a service, or the data of one that was stopped. */
export interface CommandStage {
  readonly run: Run;
  /** Sends a request to the service, which is started again where it was stopped. */
  readonly ask: TestService['request'];
}

export interface StageOptions extends TestServiceOptions {
  /** Definitions of collections to begin with. */
  readonly collections?: readonly object[];
  /** What the service does before it is stopped, where it is. */
  readonly prepare?: (service: TestService) => Promise<void>;
}

export const posts = {
  name: 'posts',
  fields: [
    { name: 'title', type: 'text', required: true },
    { name: 'pages', type: 'number' },
    { name: 'isDraft', type: 'bool' },
    { name: 'tags', type: 'select', values: ['sea', 'land', 'air'], maxSelect: 3 },
    { name: 'meta', type: 'json' },
  ],
};

/** Declares the same tests for a service that runs elsewhere and for data of this machine: commands must do the same on both. */
export function describePlaces(
  name: string,
  declare: (start: (t: TestContext, options?: StageOptions) => Promise<CommandStage>) => void,
): void {
  describe(`${name}, on a service`, () => declare(startRemote));
  describe(`${name}, on data of this machine`, () => declare(startLocal));
}

async function startRemote(
  t: TestContext,
  { collections = [posts], prepare, ...options }: StageOptions = {},
): Promise<CommandStage> {
  const service = await startService(t, options);
  await makeCollections(service, collections);
  await prepare?.(service);
  return { run: remoteRun(service), ask: (path, asked) => service.request(path, asked) };
}

/** Returns what runs commands on a service, as its superuser. */
export function remoteRun({ url, superuser }: Pick<TestService, 'url' | 'superuser'>): Run {
  return (args, options) => runInProcess([...args, '--url', url, '--token', superuser.token], options);
}

async function startLocal(
  t: TestContext,
  { collections = [posts], prepare, ...options }: StageOptions = {},
): Promise<CommandStage> {
  const first = await startService(t, options);
  await makeCollections(first, collections);
  await prepare?.(first);
  await first.stop();
  let again: Promise<TestService> | undefined;
  return {
    run: await localRun(first.data),
    ask: async (path, asked) =>
      (await (again ??= startService(t, { ...options, data: first.data }))).request(path, asked),
  };
}

/** Returns what runs commands on the data of this directory, or of the database that stands for it. */
export async function localRun(data: string): Promise<Run> {
  const { flags, environment } = await placeOfDirectory(data);
  return (args, options) =>
    runInProcess([...args, ...flags], {
      ...options,
      environment: { ...environment, ...options?.environment },
    });
}

async function makeCollections(service: TestService, collections: readonly object[]): Promise<void> {
  for (const body of collections) {
    const { status, text } = await service.request('/api/collections', { method: 'POST', token: true, body });
    if (status !== 200) throw new Error(text);
  }
}
