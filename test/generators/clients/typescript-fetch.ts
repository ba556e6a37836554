import { AuthApi, Configuration, ErrorBodyFromJSON, RecordsApi, ResponseError } from './client';
import { account, finish, url } from './round-trip';

const session = await new AuthApi(new Configuration({ basePath: url })).signInWithPassword({
  collection: '_superusers',
  credentials: account,
});
const records = new RecordsApi(new Configuration({ basePath: url, apiKey: session.token }));
const { id } = await records.createRecordPosts({ postsCreate: { title: 'Hello', views: 7, kind: 'b' } });
const list = await records.listRecordsPosts({ filter: `id='${id}'` });
const read = await records.viewRecordPosts({ id });
const refused = await refusal(records.createRecordPosts({ postsCreate: { title: '' } }));
await records.deleteRecordPosts({ id });
const missing = await refusal(records.viewRecordPosts({ id }));
finish({ list, read, refused, missing });

async function refusal(answer: Promise<unknown>) {
  try {
    await answer;
  } catch (error) {
    if (error instanceof ResponseError) return ErrorBodyFromJSON(await error.response.json());
    throw error;
  }
  throw new Error('expected a refusal');
}
