import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { App } from '../../src/app.ts';
import { eventually } from '../support/eventually.ts';
import { getFile } from '../support/served-files.ts';
import { S3StandIn } from '../support/s3-stand-in.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { NodeGroup, posts } from './node-group.ts';

interface Nodes {
  readonly group: NodeGroup;
  readonly a: App;
  readonly b: App;
}

/** Two nodes and a collection of documents with a file. */
async function startNodes(t: TestContext, flags: { readonly files?: string } = {}): Promise<Nodes> {
  const group = await NodeGroup.open(t);
  const [a, b] = [await group.start(group.postgres, flags), await group.start(group.postgres, flags)];
  await group.signIn(a);
  await group.get(a, 'POST /api/collections', {
    ...posts,
    name: 'docs',
    fields: [{ name: 'file', type: 'file' }],
  });
  return { group, a, b };
}

/** Uploads through one node, and returns the path of the file. */
async function upload({ url }: App, content: string): Promise<string> {
  const body = new FormData();
  body.set('file', new File([content], 'a.txt'));
  const answer = await fetch(`${url}/api/collections/docs/records`, { method: 'POST', body });
  assert.equal(answer.status, 201);
  // A record of the collection above.
  const { id, file } = (await answer.json()) as { readonly id: string; readonly file: string };
  return `/api/files/docs/${id}/${file}`;
}

test('a file that one node has taken is served by the other from a folder that both share, and gone for both', async (t) => {
  const { group, a, b } = await startNodes(t, { files: temporaryFolder(t) });
  const path = await upload(a, 'hello');
  assert.equal((await getFile(b.url + path)).text, 'hello');
  await group.get(b, `DELETE /api/collections/docs/records/${path.split('/')[4]}`);
  for (const { url } of [a, b]) assert.equal((await getFile(url + path)).status, 404);
  assert.deepEqual(group.log, []);
});

test('a file in S3 is served by every node, once each has heard of it', async (t) => {
  await using remote = await S3StandIn.open();
  const { group, a, b } = await startNodes(t);
  const onDisk = await upload(a, 'on the disk of a');
  assert.equal((await getFile(b.url + onDisk)).status, 404);
  await group.get(a, 'PATCH /api/settings', { s3: remote.settings });
  const path = await upload(a, 'hello');
  await eventually('the other node reads it', async () => (await getFile(b.url + path)).text === 'hello');
  const other = await upload(b, 'from b');
  assert.equal((await getFile(a.url + other)).text, 'from b');
  assert.equal(remote.keys.length, 2);
});
