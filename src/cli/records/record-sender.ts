import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../base/ids.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import {
  type Api,
  type ApiMethod,
  type ApiRequest,
  ApiRefusal,
  recordsPath,
  refusedValues,
  Unreachable,
} from '../api/api.ts';
import { CommandError, exitCodes } from '../terminal/command-error.ts';
import type { InputRow } from './record-rows.ts';

/** How often a batch is sent that a busy service has put off or not answered, and the first of the waits between. */
const triesMax = 6;
const retryMs = 250;

/** Records sent at a time where batches are not allowed. */
const parallelMax = 8;

export interface RecordSenderOptions {
  readonly api: Api;
  readonly collection: string;
  readonly isUpsert: boolean;
}

/** Sends the records of an import. One that is refused does not keep the others of its batch from being imported. */
export class RecordSender {
  readonly #options: RecordSenderOptions;
  #hasBatches = true;

  constructor(options: RecordSenderOptions) {
    this.#options = options;
  }

  /** Resolves to how many were imported; `refuse` is called with each of the others. Throws for what is no fault of a record. */
  async send(rows: readonly InputRow[], refuse: (row: InputRow, reason: string) => void): Promise<number> {
    if (rows.length === 0) return 0;
    if (!this.#hasBatches) return this.#sendSingly(rows, refuse);
    try {
      await this.sendBatch(rows);
      return rows.length;
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      const failed = failedRow(error, rows);
      if (failed !== undefined) {
        refuse(failed.row, failed.reason);
        // Those before it were good, and those behind it are not known yet.
        const before = await this.send(rows.slice(0, failed.index), refuse);
        return before + (await this.send(rows.slice(failed.index + 1), refuse));
      }
      if (error.status === 403 && !this.#options.isUpsert) {
        this.#hasBatches = false;
        return this.send(rows, refuse);
      }
      // Too large, or not done in time: what is left of it may be neither.
      if (![400, 413].includes(error.status)) throw error;
      const [only] = rows;
      if (rows.length === 1 && only !== undefined) {
        refuse(only, error.message);
        return 0;
      }
      const middle = Math.ceil(rows.length / 2);
      const before = await this.send(rows.slice(0, middle), refuse);
      return before + (await this.send(rows.slice(middle), refuse));
    }
  }

  /** Sends all of these or none. */
  async sendBatch(rows: readonly InputRow[]): Promise<void> {
    const { collection, isUpsert } = this.#options;
    const method = isUpsert ? 'PUT' : 'POST';
    const url = recordsPath(collection);
    const requests = rows.map(({ values }) => ({ method, url, body: bodyOf(values) }));
    await this.#request('POST', '/api/batch', { query: { fields: 'status' }, body: { requests } });
  }

  async #sendSingly(
    rows: readonly InputRow[],
    refuse: (row: InputRow, reason: string) => void,
  ): Promise<number> {
    let imported = 0;
    for (let at = 0; at < rows.length; at += parallelMax)
      await Promise.all(
        rows.slice(at, at + parallelMax).map(async (row) => {
          const isImported = await this.#sendOne(row, refuse);
          if (isImported) imported += 1;
        }),
      );
    return imported;
  }

  async #sendOne(row: InputRow, refuse: (row: InputRow, reason: string) => void): Promise<boolean> {
    try {
      const path = recordsPath(this.#options.collection);
      await this.#request('POST', path, { query: { fields: 'id' }, body: bodyOf(row.values) });
      return true;
    } catch (error) {
      if (!(error instanceof ApiRefusal) || ![400, 409, 413].includes(error.status)) throw error;
      refuse(row, reasonOf(error.details, error.message));
      return false;
    }
  }

  /** Repeats a request that was put off or not answered. The key keeps the service from doing it twice. */
  async #request(method: ApiMethod, path: string, options: ApiRequest): Promise<void> {
    const headers = { 'idempotency-key': newId() };
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#options.api.request(method, path, { ...options, headers });
        return;
      } catch (error) {
        const delayMs = delayOf(error, tries);
        if (delayMs === undefined) throw tries === 1 ? error : givenUp(error);
        await delay(delayMs);
      }
    }
  }
}

/** Returns when a request may be sent again after an error; undefined for never. */
function delayOf(error: unknown, tries: number): number | undefined {
  if (tries >= triesMax) return undefined;
  const isPutOff = error instanceof ApiRefusal && [429, 503].includes(error.status);
  if (!isPutOff && !(error instanceof Unreachable)) return undefined;
  const retryAfterMs = error instanceof ApiRefusal ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return Math.max(retryAfterMs, retryMs * 2 ** (tries - 1));
}

function givenUp(error: unknown): unknown {
  if (!(error instanceof Unreachable)) return error;
  const message = `${error.message} It is not known whether the records that were sent last are imported.`;
  return new CommandError(exitCodes.unavailable, message, { cause: error });
}

export interface FailedRow {
  readonly index: number;
  readonly row: InputRow;
  readonly reason: string;
}

/** Returns the row that a batch was refused for; undefined when it was not for one of them. */
export function failedRow({ details }: ApiRefusal, rows: readonly InputRow[]): FailedRow | undefined {
  const requests = isJsonObject(details['requests']) ? details['requests'] : {};
  const [entry] = Object.entries(requests).filter(([key]) => /^\d+$/.test(key));
  if (entry === undefined || !isJsonObject(entry[1])) return undefined;
  const index = Number(entry[0]);
  const row = rows[index];
  const { response } = entry[1];
  if (row === undefined || !isJsonObject(response)) return undefined;
  // The refusal of the collection itself, or of who asks, is one of all rows.
  if (![400, 409, 412, 413, 422].includes(Number(response['status']))) return undefined;
  const data = isJsonObject(response['data']) ? response['data'] : {};
  return { index, row, reason: reasonOf(data, String(response['message'])) };
}

/** Returns the refused values of a record in words, or else the message. */
function reasonOf(data: JsonObject, message: string): string {
  const values = refusedValues(data).map(({ name, message: why }) => `${name}: ${why}`);
  return values.length === 0 ? message : values.join(' ');
}

const ofAnswers: ReadonlySet<string> = new Set(['collectionId', 'collectionName', 'expand']);

/** What a record of a list has beside its fields is no part of one that is created. */
function bodyOf(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !ofAnswers.has(name)));
}
