import assert from 'node:assert/strict';
import { test } from 'node:test';
import { providerTable } from './provider-table.ts';
import { emailIn, type ProviderUser, readUser } from './read-user.ts';

type Shown = Pick<ProviderUser, 'id' | 'name' | 'username' | 'email' | 'avatarURL'>;

/** Answers in the form that each provider documents, and what is read of them. */
const answers: Readonly<
  Record<string, readonly [answer: object, shown: Partial<Shown>, isVerified: boolean]>
> = {
  apple: [{ sub: '1', email: 'a@b.co', email_verified: 'true' }, { id: '1', email: 'a@b.co' }, true],
  google: [
    { sub: '1', name: 'Ann', picture: 'https://p', email: 'a@b.co', email_verified: true },
    { id: '1', name: 'Ann', avatarURL: 'https://p', email: 'a@b.co' },
    true,
  ],
  microsoft: [
    { id: '1', displayName: 'Ann', mail: 'a@b.co' },
    { id: '1', name: 'Ann', email: 'a@b.co' },
    false,
  ],
  yandex: [
    {
      id: '1',
      real_name: 'Ann',
      login: 'ann',
      default_email: 'a@b.co',
      default_avatar_id: '1/2',
      is_avatar_empty: false,
    },
    {
      id: '1',
      name: 'Ann',
      username: 'ann',
      email: 'a@b.co',
      avatarURL: 'https://avatars.yandex.net/get-yapic/1%2F2/islands-200',
    },
    true,
  ],
  facebook: [
    { id: '1', name: 'Ann', email: 'a@b.co', picture: { data: { url: 'https://p' } } },
    { id: '1', name: 'Ann', email: 'a@b.co', avatarURL: 'https://p' },
    false,
  ],
  instagram2: [{ user_id: '1', username: 'ann' }, { id: '1', username: 'ann' }, false],
  github: [
    { id: 1, login: 'ann', name: 'Ann', avatar_url: 'https://p', email: 'public@b.co' },
    { id: '1', username: 'ann', name: 'Ann', avatarURL: 'https://p' },
    false,
  ],
  gitlab: [
    { id: 1, username: 'ann', name: 'Ann', email: 'a@b.co', confirmed_at: '2026-01-01T00:00:00Z' },
    { id: '1', username: 'ann', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  bitbucket: [
    { uuid: '{1}', username: 'ann', display_name: 'Ann', links: { avatar: { href: 'https://p' } } },
    { id: '{1}', username: 'ann', name: 'Ann', avatarURL: 'https://p' },
    false,
  ],
  gitee: [{ id: 1, login: 'ann', email: 'a@b.co' }, { id: '1', username: 'ann', email: 'a@b.co' }, false],
  gitea: [{ id: 1, login: 'ann', full_name: 'Ann' }, { id: '1', username: 'ann', name: 'Ann' }, false],
  discord: [
    { id: '1', username: 'ann', global_name: 'Ann', avatar: 'x', email: 'a@b.co', verified: true },
    {
      id: '1',
      username: 'ann',
      name: 'Ann',
      email: 'a@b.co',
      avatarURL: 'https://cdn.discordapp.com/avatars/1/x.png',
    },
    true,
  ],
  twitter: [
    { data: { id: '1', name: 'Ann', username: 'ann', confirmed_email: 'a@b.co' } },
    { id: '1', name: 'Ann', username: 'ann', email: 'a@b.co' },
    true,
  ],
  kakao: [
    {
      id: 1,
      properties: { nickname: 'ann', profile_image: 'https://p' },
      kakao_account: { email: 'a@b.co', is_email_valid: true, is_email_verified: false },
    },
    { id: '1', username: 'ann', avatarURL: 'https://p' },
    false,
  ],
  vk: [
    { response: [{ id: 1, first_name: 'Ann', last_name: 'Lee', screen_name: 'ann' }] },
    { id: '1', name: 'Ann Lee', username: 'ann', email: 'of@token.co' },
    false,
  ],
  linear: [
    { data: { viewer: { id: '1', name: 'Ann', displayName: 'ann', email: 'a@b.co' } } },
    { id: '1', name: 'Ann', username: 'ann', email: 'a@b.co' },
    true,
  ],
  notion: [
    { bot: { owner: { user: { id: '1', name: 'Ann', person: { email: 'a@b.co' } } } } },
    { id: '1', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  monday: [
    { data: { me: { id: '1', name: 'Ann', email: 'a@b.co', is_verified: true } } },
    { id: '1', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  lark: [{ data: { union_id: '1', name: 'Ann' } }, { id: '1', name: 'Ann' }, false],
  box: [{ id: '1', name: 'Ann', login: 'a@b.co' }, { id: '1', name: 'Ann', email: 'a@b.co' }, false],
  spotify: [
    { id: '1', display_name: 'Ann', images: [{ url: 'https://p' }], email: 'a@b.co' },
    { id: '1', name: 'Ann', avatarURL: 'https://p' },
    false,
  ],
  trakt: [
    { user: { username: 'ann', name: 'Ann', ids: { uuid: '1' } } },
    { id: '1', username: 'ann', name: 'Ann' },
    false,
  ],
  twitch: [
    { data: [{ id: '1', login: 'ann', display_name: 'Ann', email: 'a@b.co' }] },
    { id: '1', username: 'ann', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  patreon: [
    {
      data: {
        id: '1',
        attributes: { full_name: 'Ann', vanity: 'ann', email: 'a@b.co', is_email_verified: false },
      },
    },
    { id: '1', name: 'Ann', username: 'ann' },
    false,
  ],
  strava: [{ id: 1, firstname: 'Ann', lastname: 'Lee', username: null }, { id: '1', name: 'Ann Lee' }, false],
  wakatime: [
    { data: { id: '1', display_name: 'Ann', email: 'a@b.co', is_email_confirmed: true } },
    { id: '1', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  livechat: [
    { account_id: '1', name: 'Ann', email: 'a@b.co', email_verified: true },
    { id: '1', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  mailcow: [
    { id: '1', username: 'ann', full_name: 'Ann', email: 'a@b.co' },
    { id: '1', username: 'ann', name: 'Ann', email: 'a@b.co' },
    true,
  ],
  planningcenter: [{ data: { id: '1', attributes: { name: 'Ann' } } }, { id: '1', name: 'Ann' }, false],
  oidc: [
    { sub: '1', preferred_username: 'ann', email: 'a@b.co', email_verified: 0 },
    { id: '1', username: 'ann' },
    false,
  ],
};

test('the user of each provider is read from its answer, and the address counts as verified only where it says so', () => {
  const names = [...providerTable.keys()].filter((name) => !/^oidc\d/.test(name));
  assert.deepEqual(Object.keys(answers), names);
  for (const [name, [answer, shown, isVerified]] of Object.entries(answers)) {
    const paths = providerTable.get(name)?.user;
    assert.ok(paths !== undefined);
    const { raw, isEmailVerified, ...user } = readUser({ ...answer }, paths, { email: 'of@token.co' });
    const nobody = { id: '', name: '', username: '', email: '', avatarURL: '' };
    assert.deepEqual(user, { ...nobody, ...shown }, name);
    assert.deepEqual([isEmailVerified, raw], [isVerified, answer], name);
  }
});

test('of a list of addresses only one that is main and verified counts', () => {
  const list = [
    { email: 'a@b.co', primary: true, verified: false },
    { email: 'b@b.co', primary: false, verified: true },
  ];
  const emails = providerTable.get('github')?.emails;
  assert.ok(emails !== undefined);
  assert.equal(emailIn(list, emails), undefined);
  assert.equal(emailIn([...list, { email: 'c@b.co', primary: true, verified: true }], emails), 'c@b.co');
  for (const none of [{}, null, [null], [{ primary: true, verified: true }]])
    assert.equal(emailIn(none, emails), undefined);
});
