import {
  createRecordPosts,
  deleteRecordPosts,
  listRecordsPosts,
  signInWithPassword,
  viewRecordPosts,
} from './client';
import { client } from './client/client.gen';
import { account, finish, required, url } from './round-trip';

client.setConfig({ baseUrl: url });
const { data: session } = await signInWithPassword({ path: { collection: '_superusers' }, body: account });
client.setConfig({ auth: required(session).token });
const { data: created } = await createRecordPosts({ body: { title: 'Hello', views: 7, kind: 'b' } });
const path = { id: required(created).id };
const { data: list } = await listRecordsPosts({ query: { filter: `id='${path.id}'` } });
const { data: read } = await viewRecordPosts({ path });
const { error: refused } = await createRecordPosts({ body: { title: '' } });
await deleteRecordPosts({ path });
const { error: missing } = await viewRecordPosts({ path });
finish({
  list: required(list),
  read: required(read),
  refused: required(refused),
  missing: required(missing),
});
