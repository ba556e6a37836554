import type { Collection, Field } from '../../api/client.ts';

export const operationNames = ['list', 'view', 'create', 'update', 'delete', 'realtime'] as const;
export type OperationName = (typeof operationNames)[number];

export const languageNames = ['curl', 'js', 'fetch', 'python'] as const;
export type Language = (typeof languageNames)[number];

/** What is typed for an operation. */
export interface OperationInput {
  readonly id: string;
  readonly filter: string;
  readonly sort: string;
  readonly body: string;
}

/** One request of the records API. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the URL of the API, with its query. */
  readonly path: string;
  readonly body: string | undefined;
}

export function toRequest(collection: string, operation: OperationName, input: OperationInput): Request {
  const base = `/api/collections/${collection}/records`;
  const one = `${base}/${input.id === '' ? 'RECORD_ID' : encodeURIComponent(input.id)}`;
  switch (operation) {
    case 'list':
      return { method: 'GET', path: `${base}${queryOf(input)}`, body: undefined };
    case 'view':
      return { method: 'GET', path: one, body: undefined };
    case 'create':
      return { method: 'POST', path: base, body: input.body };
    case 'update':
      return { method: 'PATCH', path: one, body: input.body };
    case 'delete':
      return { method: 'DELETE', path: one, body: undefined };
    default:
      return { method: 'GET', path: '/api/realtime', body: undefined };
  }
}

function queryOf({ filter, sort }: OperationInput): string {
  const query = new URLSearchParams({
    perPage: '20',
    ...(filter !== '' && { filter }),
    ...(sort !== '' && { sort }),
  });
  return `?${query.toString().replaceAll('+', '%20')}`;
}

/** A body that the collection takes, with a value for each field that people fill in. */
export function exampleBody(collection: Collection, isPartial: boolean): string {
  const fields = collection.fields.filter(
    ({ name, type }) => name !== 'id' && name !== 'tokenKey' && type !== 'autodate' && type !== 'file',
  );
  const wanted = isPartial ? fields.filter(({ system }) => !system).slice(0, 1) : fields;
  const members = wanted.flatMap((field) => {
    if (field.type === 'password')
      return [
        [field.name, 'a long password'],
        ...(field.name === 'password' ? [['passwordConfirm', 'a long password']] : []),
      ];
    return [[field.name, exampleOf(field)]];
  });
  return JSON.stringify(Object.fromEntries(members), null, 2);
}

function exampleOf(field: Field): unknown {
  switch (field.type) {
    case 'number':
      return field.min ?? 1;
    case 'bool':
      return true;
    case 'email':
      return 'ann@example.com';
    case 'url':
      return 'https://example.com/';
    case 'date':
      return '2026-01-02 03:04:05.000Z';
    case 'select':
      return field.maxSelect > 1 ? field.values.slice(0, 1) : (field.values[0] ?? '');
    case 'relation':
      return field.maxSelect > 1 ? [] : '';
    case 'json':
      return {};
    case 'geoPoint':
      return { lon: 0, lat: 0 };
    default:
      return field.name;
  }
}
