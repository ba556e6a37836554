import {
  createRecordPosts,
  deleteRecordPosts,
  listRecordsPosts,
  signInWithPassword,
  viewRecordPosts,
} from './client/api';
import { account, finish } from './round-trip';

// Where a body may also be a form, its clients leave the type of the body to the caller.
const json = { 'Content-Type': 'application/json' };
const session = await signInWithPassword('_superusers', account, undefined, { headers: json });
if (session.status !== 200) throw new Error('expected to sign in');
const options = { headers: { ...json, Authorization: session.data.token } };
const created = await createRecordPosts({ title: 'Hello', views: 7, kind: 'b' }, undefined, options);
if (created.status !== 201) throw new Error('expected a record');
const { id } = created.data;
const list = await listRecordsPosts({ filter: `id='${id}'` }, options);
const read = await viewRecordPosts(id, undefined, options);
const refused = await createRecordPosts({ title: '' }, undefined, options);
await deleteRecordPosts(id, options);
const missing = await viewRecordPosts(id, undefined, options);
if (list.status !== 200 || read.status !== 200) throw new Error('expected the record');
if (refused.status !== 400 || missing.status !== 404) throw new Error('expected refusals');
finish({ list: list.data, read: read.data, refused: refused.data, missing: missing.data });
