import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { putFile } from './put-file.ts';
import { startService, type TestService, type TestServiceOptions } from './service.ts';

export interface ServedFiles {
  readonly service: TestService;
  readonly collectionId: string;
  /** Id of the record. */
  readonly id: string;
  /** Stores a file and names it in a field of the record, as an upload leaves it. */
  readonly put: (name: string, content: string | Uint8Array, field?: string) => Promise<void>;
  /** Asks for a file of the record: `a.txt?download=1`. */
  readonly get: (path: string, options?: RequestInit) => Promise<FileAnswer>;
}

export interface FileAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly text: string;
}

export interface ServedFileOptions extends TestServiceOptions {
  /** Options of the field `file`. */
  readonly field?: object;
  /** Members of the collection, such as rules. */
  readonly collection?: object;
}

/** A collection `docs` with the fields `file`, `more` of many files, and `safe`, which is protected; and one record, empty at first. */
export async function startServedFiles(
  t: TestContext,
  options: ServedFileOptions = {},
): Promise<ServedFiles> {
  const { field, collection, ...serviceOptions } = options;
  const service = await startService(t, serviceOptions);
  const fields = [
    { name: 'file', type: 'file', ...field },
    { name: 'more', type: 'file', maxSelect: 9 },
    { name: 'safe', type: 'file', protected: true },
    { name: 'owner', type: 'text' },
  ];
  const body = { name: 'docs', fields, ...collection };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  const record = await service.request('/api/collections/docs/records', {
    method: 'POST',
    token: true,
    body: {},
  });
  assert.equal(record.status, 201, record.text);
  const { id } = record.json;
  const collectionId = made.json.id;
  return {
    service,
    collectionId,
    id,
    put: (name, content, field = 'file') =>
      service.withInstance('default', (instance) =>
        putFile(instance, { collection: 'docs', record: id, field, name }, content),
      ),
    get: (path, init) => getFile(`${service.url}/api/files/docs/${id}/${path}`, init),
  };
}

/** Asks for a file, whose content is not read as JSON. */
export async function getFile(url: string, init?: RequestInit): Promise<FileAnswer> {
  const answer = await fetch(url, init);
  const bytes = Buffer.from(await answer.arrayBuffer());
  return { status: answer.status, headers: answer.headers, bytes, text: bytes.toString() };
}
