import type { Operations, Schemas } from './client/schema.ts';
import { account, finish, url } from './round-trip.ts';

let token = '';

/** A request whose body and answer have the types of the document. */
async function call<Name extends keyof Operations>(name: Name, parts: Parts<Name>): Promise<Answer<Name>> {
  const [method = '', pattern = ''] = name.split(' ');
  const path = pattern.replace(/\{(\w+)\}/g, (_, parameter: string) => parts.path[parameter] ?? '');
  const query = new URLSearchParams(parts.filter === undefined ? {} : { filter: parts.filter });
  const answer = await fetch(`${url}${path}?${query.toString()}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: token },
    ...(parts.body === undefined ? {} : { body: JSON.stringify(parts.body) }),
  });
  const text = await answer.text();
  const json = text === '' ? undefined : JSON.parse(text);
  return { answer: json, error: json };
}

interface Parts<Name extends keyof Operations> {
  readonly path: Readonly<Record<string, string>>;
  readonly filter?: string;
  readonly body?: Operations[Name]['body'];
}

interface Answer<Name extends keyof Operations> {
  readonly answer: Operations[Name]['answer'];
  readonly error: Schemas['ErrorBody'];
}

const records = '/api/collections/{collection}/records';
const session = await call('POST /api/collections/{collection}/auth-with-password', {
  path: { collection: '_superusers' },
  body: account,
});
token = session.answer.token;
const path = { collection: 'posts' };
const created = await call(`POST ${records}`, { path, body: { title: 'Hello', views: 7, kind: 'b' } });
const one = { path: { ...path, id: created.answer.id } };
const list = await call(`GET ${records}`, { path, filter: `id='${created.answer.id}'` });
const read = await call(`GET ${records}/{id}`, one);
const refused = await call(`POST ${records}`, { path, body: { title: '' } });
await call(`DELETE ${records}/{id}`, one);
const missing = await call(`GET ${records}/{id}`, one);
const { title, views, kind } = read.answer;
finish({
  list: list.answer,
  read: { title: String(title), views: Number(views), kind: String(kind) },
  refused: refused.error,
  missing: missing.error,
});
