import {
  createRecordPosts,
  defaults,
  deleteRecordPosts,
  listRecordsPosts,
  signInWithPassword,
  viewRecordPosts,
} from './client/api';
import { account, finish, url } from './round-trip';

defaults.baseUrl = url;
const session = await signInWithPassword('_superusers', account);
if (session.status !== 200) throw new Error('expected to sign in');
defaults.headers = { Authorization: session.data.token };
const created = await createRecordPosts({ title: 'Hello', views: 7, kind: 'b' });
if (created.status !== 201) throw new Error('expected a record');
const { id } = created.data;
const list = await listRecordsPosts({ filter: `id='${id}'` });
const read = await viewRecordPosts(id);
const refused = await createRecordPosts({ title: '' });
await deleteRecordPosts(id);
const missing = await viewRecordPosts(id);
if (list.status !== 200 || read.status !== 200) throw new Error('expected the record');
if (refused.status !== 400 || missing.status !== 404) throw new Error('expected refusals');
finish({ list: list.data, read: read.data, refused: refused.data, missing: missing.data });
