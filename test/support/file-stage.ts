import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { AppParts } from '../../src/app.ts';
import { sql } from '../../src/sql/sql.ts';
import { eventually } from './eventually.ts';
import { startService, type TestAnswer, type TestService } from './service.ts';

/** Far more than the sweeper takes. */
export const settledMsMax = 20_000;

const boundary = '----form0123456789abcdef';

/** A part of a form, or a part that is a file. */
export type FormPart = readonly [name: string, value: string | Uint8Array, fileName?: string];

/** Returns the bytes of a form with these parts. */
export function formOf(parts: readonly FormPart[]): Buffer {
  const pieces = parts.flatMap(([name, value, fileName]) => {
    const file = fileName === undefined ? '' : `; filename="${fileName}"`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(value), Buffer.from('\r\n')];
  });
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

export const formType = `multipart/form-data; boundary=${boundary}`;

/** A service with the collection `docs`, which has the fields `title`, `photo` (one file) and `papers` (three). */
export class FileStage {
  readonly service: TestService;

  private constructor(service: TestService) {
    this.service = service;
  }

  static async start(t: TestContext, parts: AppParts = {}): Promise<FileStage> {
    const service = await startService(t, { parts });
    const stage = new FileStage(service);
    await stage.collection('docs', {});
    return stage;
  }

  async collection(name: string, more: object): Promise<TestAnswer> {
    const rules = { listRule: '', viewRule: '', createRule: '', updateRule: '', deleteRule: '' };
    const fields = [
      { name: 'title', type: 'text' },
      { name: 'photo', type: 'file', maxSize: 1_000 },
      { name: 'papers', type: 'file', maxSelect: 3, maxSize: 200_000 },
    ];
    const body = { name, ...rules, fields, ...more };
    const made = await this.service.request('/api/collections', { method: 'POST', token: true, body });
    assert.equal(made.status, 200, made.text);
    return made;
  }

  /** Sends a form to a path below `/api`. */
  async send(
    path: string,
    parts: readonly FormPart[],
    {
      method = 'POST',
      token,
      headers = {},
    }: { method?: string; token?: true | string; headers?: object } = {},
  ): Promise<TestAnswer> {
    const authorization = token === true ? this.service.superuser.token : token;
    const answer = await fetch(`${this.service.url}/api${path}`, {
      method,
      body: new Uint8Array(formOf(parts)),
      headers: { 'content-type': formType, ...(authorization && { authorization }), ...headers },
    });
    const text = await answer.text();
    const json: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: answer.status, headers: answer.headers, text, json };
  }

  create(parts: readonly FormPart[], options?: Parameters<FileStage['send']>[2]): Promise<TestAnswer> {
    return this.send('/collections/docs/records', parts, options);
  }

  update(id: string, parts: readonly FormPart[]): Promise<TestAnswer> {
    return this.send(`/collections/docs/records/${id}`, parts, { method: 'PATCH' });
  }

  /** The bytes of a stored file of a record of `docs`. */
  async content(id: string, name: string): Promise<Buffer> {
    const folder = await this.#folder();
    const collection = this.service.withInstance('default', ({ collections }) =>
      Promise.resolve(collections.get('docs').id),
    );
    return readFile(join(folder, 'storage', await collection, id, name));
  }

  /** The names of all files in the store, sorted. */
  stored(): Promise<readonly string[]> {
    return this.service.withInstance('default', async ({ files }) => {
      const names: string[] = [];
      for await (const { key } of files.store.list()) names.push(key.slice(key.lastIndexOf('/') + 1));
      return names.toSorted();
    });
  }

  /** The names that all records of `docs` have together, sorted. */
  async named(collection = 'docs'): Promise<readonly string[]> {
    const { json } = await this.service.request(`/api/collections/${collection}/records?perPage=1000`, {
      token: true,
    });
    // The records of the API.
    const items = json.items as readonly { readonly photo: string; readonly papers: readonly string[] }[];
    const names = items.flatMap(({ photo, papers }) => [photo, ...papers]);
    return names.filter((name) => name !== '').toSorted();
  }

  /** The files in the folder for uploads. */
  async uploading(): Promise<readonly string[]> {
    return readdir(join(await this.#folder(), 'uploads')).catch(() => []);
  }

  async #folder(): Promise<string> {
    const id = await this.service.withInstance('default', (instance) => Promise.resolve(instance.id));
    return join(this.service.data, 'instances', id);
  }

  /** The keys that are noted for removal. */
  noted(): Promise<readonly string[]> {
    return this.service.withInstance('default', async ({ database }) => {
      const { names } = database;
      const rows = await database.tuples(
        sql`SELECT key FROM ${names.table('$file_removal')} WHERE ${names.instance.condition} ORDER BY key`,
      );
      return rows.map(([key]) => String(key));
    });
  }

  /** Waits until the store has what records name and nothing else, and nothing is left to be removed. */
  async settled(collection = 'docs'): Promise<void> {
    const check = async (): Promise<true> => {
      assert.deepEqual(await this.noted(), []);
      assert.deepEqual(await this.stored(), await this.named(collection));
      assert.deepEqual(await this.uploading(), []);
      return true;
    };
    await eventually('only files of records are left', check, settledMsMax);
  }
}
