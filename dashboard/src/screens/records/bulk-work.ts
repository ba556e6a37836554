import { client, Failure, orFailure, type RecordModel } from '../../api/client.ts';
import { call } from '../../api/client.ts';

/** Which records an action is for: these, or all that a filter selects. */
export type Target =
  | { readonly kind: 'ids'; readonly ids: readonly string[] }
  | { readonly kind: 'all'; readonly filter: string; readonly sort: string };

export interface Progress {
  readonly done: number;
  readonly failed: readonly Problem[];
}

/** Why one record, or one line of a file, was left as it was. */
export interface Problem {
  readonly subject: string;
  readonly message: string;
}

export interface WorkOptions {
  readonly collection: string;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

const pageMax = 500;
const batchMax = 50;

/** Yields records page by page, however many there are. Throws when the signal says so. */
export async function* readPages(
  { collection, signal }: Pick<WorkOptions, 'collection' | 'signal'>,
  target: Target,
  fields = '',
): AsyncGenerator<readonly RecordModel[]> {
  if (target.kind === 'ids') {
    for (let start = 0; start < target.ids.length; start += batchMax) {
      const filter = target.ids
        .slice(start, start + batchMax)
        .map((one) => client.filter('id = {:one}', { one }))
        .join(' || ');
      const query = { filter, perPage: batchMax, skipTotal: true, ...(fields !== '' && { fields }) };
      yield (await call('GET /api/collections/{collection}/records', { path: { collection }, query, signal }))
        .items;
    }
    return;
  }
  const { filter, sort } = target;
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = {
      cursor,
      perPage: pageMax,
      sort: sort === '' ? '-@rowid' : sort,
      ...(filter !== '' && { filter }),
      ...(fields !== '' && { fields }),
    };
    const answer: { readonly items: readonly RecordModel[]; readonly nextCursor?: string | null } =
      await call('GET /api/collections/{collection}/records', { path: { collection }, query, signal });
    yield answer.items;
    cursor = answer.nextCursor ?? null;
  }
}

/** One change of many. */
export interface Step {
  readonly subject: string;
  readonly kind: 'create' | 'update' | 'delete';
  readonly id?: string;
  readonly body?: Readonly<Record<string, unknown>>;
}

/**
 * Does steps in batches. A batch that is refused is done again step by step, so that one bad record does not keep the others from being
 * changed, and each has its own reason.
 */
export async function doSteps(
  steps: AsyncIterable<readonly Step[]>,
  { collection, signal, onProgress }: WorkOptions,
): Promise<Progress> {
  let progress: Progress = { done: 0, failed: [] };
  for await (const many of steps) {
    for (let start = 0; start < many.length; start += batchMax) {
      signal.throwIfAborted();
      const some = many.slice(start, start + batchMax);
      const failed = await doBatch(collection, some);
      progress = {
        done: progress.done + some.length - failed.length,
        failed: [...progress.failed, ...failed],
      };
      onProgress(progress);
    }
  }
  return progress;
}

async function doBatch(collection: string, steps: readonly Step[]): Promise<readonly Problem[]> {
  const batch = client.createBatch();
  const records = batch.collection(collection);
  for (const { kind, id = '', body = {} } of steps) {
    if (kind === 'create') records.create({ ...body });
    else if (kind === 'update') records.update(id, { ...body });
    else records.delete(id);
  }
  try {
    await orFailure(batch.send());
    return [];
  } catch (error) {
    // What is not about these records would be the same for each of them.
    if (!(error instanceof Failure) || error.status !== 400) throw error;
  }
  const problems: Problem[] = [];
  for (const step of steps) {
    const message = await doStep(collection, step);
    if (message !== undefined) problems.push({ subject: step.subject, message });
  }
  return problems;
}

async function doStep(collection: string, { kind, id = '', body = {} }: Step): Promise<string | undefined> {
  const records = client.collection(collection);
  try {
    if (kind === 'create') await orFailure(records.create({ ...body }));
    else if (kind === 'update') await orFailure(records.update(id, { ...body }));
    else await orFailure(records.delete(id));
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure) || error.status >= 500 || error.status === 0) throw error;
    const fields = [...error.fields].map(([name, message]) => `${name}: ${message}`);
    return fields.length === 0 ? error.message : fields.join(' ');
  }
}

/**
 * The records of a target as steps. The ids are read before the first step, as steps change what the filter selects; a hundred thousand
 * of them are two megabytes.
 */
export async function* stepsFor(
  options: Pick<WorkOptions, 'collection' | 'signal'>,
  target: Target,
  toStep: (id: string) => Step,
): AsyncGenerator<readonly Step[]> {
  if (target.kind === 'ids') {
    yield target.ids.map(toStep);
    return;
  }
  const ids: string[] = [];
  for await (const page of readPages(options, target, 'id')) ids.push(...page.map(({ id }) => id));
  yield ids.map(toStep);
}
