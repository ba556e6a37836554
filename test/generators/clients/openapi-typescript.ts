import createClient from 'openapi-fetch';
import type { paths } from './client/schema';
import { account, finish, required, url } from './round-trip';

const client = createClient<paths>({ baseUrl: url });
const path = '/api/collections/posts/records';
const { data: session } = await client.POST('/api/collections/{collection}/auth-with-password', {
  params: { path: { collection: '_superusers' } },
  body: account,
});
client.use({
  onRequest: ({ request }) => request.headers.set('Authorization', required(session).token),
});
const { data: created } = await client.POST(path, { body: { title: 'Hello', views: 7, kind: 'b' } });
const { id } = required(created);
const { data: list } = await client.GET(path, { params: { query: { filter: `id='${id}'` } } });
const one = { params: { path: { id } } };
const { data: read } = await client.GET(`${path}/{id}`, one);
const { error: refused } = await client.POST(path, { body: { title: '' } });
await client.DELETE(`${path}/{id}`, one);
const { error: missing } = await client.GET(`${path}/{id}`, one);
finish({
  list: required(list),
  read: required(read),
  refused: required(refused),
  missing: required(missing),
});
