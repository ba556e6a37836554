import { hashSync } from 'bcryptjs';
import type { TestContext } from 'node:test';
import {
  makePocketbaseDirectory,
  sourceAccounts,
  sourceDates,
  sourceId,
  sourceUser,
  type SourceTable,
} from './pocketbase-directory.ts';

/** The password of all accounts of the source. */
export const password = 'correct horse';
const hash = hashSync(password, 4);
const created = '2024-03-04 05:06:07.890Z';
const updated = '2024-03-05 05:06:07.890Z';
export const ann = sourceUser('annaannaannaann', 'ann@example.com', hash);
export const ben = {
  ...sourceUser('benbenbenbenben', 'ben@example.com', hash),
  emailVisibility: 0,
  verified: 0,
};
export const superuser = sourceUser('superusersuperu', 'super@example.com', hash);

export const blogPosts: SourceTable = {
  id: 'pbc_1125843985',
  name: 'posts',
  fields: [
    sourceId,
    { id: 'text1', name: 'title', type: 'text', required: true, presentable: true },
    { id: 'number1', name: 'views', type: 'number' },
    { id: 'bool1', name: 'isDraft', type: 'bool' },
    { id: 'select1', name: 'tags', type: 'select', values: ['a', 'b', 'c'], maxSelect: 2 },
    { id: 'select2', name: 'state', type: 'select', values: ['open', 'closed'], maxSelect: 1 },
    { id: 'relation1', name: 'author', type: 'relation', collectionId: '_pb_users_auth_', maxSelect: 1 },
    { id: 'relation2', name: 'related', type: 'relation', collectionId: 'pbc_1125843985', maxSelect: 9 },
    { id: 'file1', name: 'cover', type: 'file', maxSelect: 1 },
    { id: 'json1', name: 'data', type: 'json' },
    { id: 'geo1', name: 'place', type: 'geoPoint' },
    { id: 'date1', name: 'due', type: 'date' },
    ...sourceDates,
  ],
  indexes: ['CREATE UNIQUE INDEX `idx_title` ON `posts` (`title`)'],
  more: {
    listRule: 'isDraft = false || author = @request.auth.id',
    viewRule: '',
    updateRule: '@request.auth.id != "" && author.verified = true',
  },
  rows: [
    blogRow('post00000000002', {
      title: 'Second',
      due: '2024-05-06 07:08:09.012Z',
      related: '["post00000000001"]',
    }),
    blogRow('post00000000001', {
      title: 'First',
      views: 12,
      isDraft: 1,
      tags: '["a","c"]',
      state: 'open',
      author: 'annaannaannaann',
      cover: 'cover_abc.png',
      data: '{ "b": 1,\n "a": [1.0, "é"] }',
      place: '{"lon":12.5,"lat":41.9}',
    }),
  ],
};

export function blogRow(id: string, values: Readonly<Record<string, string | number | null>>) {
  return { id, ...values, created, updated };
}

const links: SourceTable = {
  id: 'pbc_2281828961',
  name: '_externalAuths',
  system: true,
  fields: ['collectionRef', 'recordRef', 'provider', 'providerId']
    .map((name): Record<string, unknown> => ({
      id: `text${name}`,
      name,
      type: 'text',
      system: true,
      required: true,
    }))
    .toSpliced(0, 0, sourceId)
    .concat(sourceDates),
  rows: [
    blogRow('link00000000001', {
      collectionRef: '_pb_users_auth_',
      recordRef: 'annaannaannaann',
      provider: 'google',
      providerId: '42',
    }),
  ],
};

/** Makes a small source with something of everything. */
export function makeBlogDirectory(t: TestContext): string {
  return makePocketbaseDirectory(t, {
    tables: [...sourceAccounts([ann, ben], [superuser]), blogPosts, links],
    settings: JSON.stringify({ meta: { appName: 'Blog' }, smtp: { password: 'secret' }, unknown: 1 }),
    files: {
      'pbc_1125843985/post00000000001/cover_abc.png': 'picture',
      'pbc_1125843985/post00000000001/cover_abc.png.attrs': '{"user.content_type":"image/png"}',
      'pbc_1125843985/post00000000001/thumbs_cover_abc.png/100x100_cover_abc.png': 'thumb',
      'pbc_1125843985/post00000000001/orphan.png': 'of nobody',
    },
  });
}
