import { ClientResponseError, type default as PocketBase } from 'pocketbase';

export const superuser = { email: 'root@example.com', password: 'correct horse' };
export const accounts = [
  { id: 'acc000000000001', name: 'Ann', email: 'ann@example.com', password: 'a long password' },
  { id: 'acc000000000002', name: 'Bob', email: 'bob@example.com', password: 'another password' },
] as const;

type Definition = Readonly<Record<string, unknown>>;

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Fills a new PocketBase by its API with every type of field, collection, rule and setting that its version has. */
export async function makeWorld(pb: PocketBase): Promise<void> {
  const members = await makeMembers(pb);
  const topics = await pb.collections.create({
    name: 'topics',
    type: 'base',
    listRule: '',
    viewRule: '',
    fields: [{ name: 'name', type: 'text', required: true, presentable: true }],
    indexes: ['CREATE UNIQUE INDEX `idx_topics_name` ON `topics` (`name` COLLATE NOCASE)'],
  });
  await pb.collections.update('topics', {
    fields: [
      ...topics['fields'],
      { name: 'parent', type: 'relation', collectionId: topics.id, maxSelect: 1, cascadeDelete: true },
    ],
  });
  const posts = await makePosts(pb, { members: members.id, topics: topics.id });
  await pb.collections.create({
    name: 'post_titles',
    type: 'view',
    viewQuery: `SELECT id, title FROM posts WHERE bool = true`,
    listRule: '',
  });
  await addRecords(pb, posts);
  await changeFields(pb);
  await changeSettings(pb);
}

async function makeMembers(pb: PocketBase): Promise<{ readonly id: string }> {
  const members = await pb.collections.create({
    name: 'members',
    type: 'auth',
    listRule: '@request.auth.id != ""',
    viewRule: 'id = @request.auth.id || @request.auth.name = "Ann"',
    createRule: '@request.body.email:isset = true && @request.body.verified:isset = false',
    updateRule: 'id = @request.auth.id',
    deleteRule: null,
    manageRule: '@request.auth.name = "Ann"',
    authRule: 'blocked = false',
    fields: [
      { name: 'name', type: 'text', max: 80 },
      { name: 'blocked', type: 'bool' },
      { name: 'nick', type: 'text', min: 2, pattern: '^[a-z]+$' },
    ],
    indexes: ["CREATE UNIQUE INDEX `idx_members_nick` ON `members` (`nick`) WHERE `nick` != ''"],
    passwordAuth: { enabled: true, identityFields: ['email', 'nick'] },
    authToken: { duration: 90_000 },
    passwordResetToken: { duration: 1_234 },
    otp: { enabled: true, duration: 240, length: 9 },
    mfa: { enabled: false, duration: 900 },
    verificationTemplate: { subject: 'Verify {APP_NAME}', body: '<p>{APP_URL}/verify/{TOKEN}</p>' },
  });
  for (const [at, { password, ...account }] of accounts.entries())
    await pb.collection('members').create({
      ...account,
      password,
      passwordConfirm: password,
      emailVisibility: at === 0,
      verified: at === 0,
      nick: ['annie', ''][at],
    });
  return members;
}

async function makePosts(
  pb: PocketBase,
  { members, topics }: { readonly members: string; readonly topics: string },
): Promise<boolean> {
  const fields: readonly Definition[] = [
    { name: 'title', type: 'text', required: true, min: 1, max: 200, pattern: '', presentable: true },
    { name: 'code', type: 'text', autogeneratePattern: '[a-z]{3}-[0-9]{4}', pattern: '^[a-z]{3}-[0-9]{4}$' },
    { name: 'hidden', type: 'text', hidden: true },
    { name: 'body', type: 'editor', maxSize: 100_000, convertURLs: true },
    { name: 'number', type: 'number', min: -10, max: 1_000_000 },
    { name: 'count', type: 'number', onlyInt: true },
    { name: 'bool', type: 'bool' },
    { name: 'email', type: 'email', exceptDomains: ['spam.example.com'] },
    { name: 'url', type: 'url', onlyDomains: ['example.com'] },
    { name: 'date', type: 'date', min: '2000-01-01 00:00:00.000Z' },
    { name: 'created', type: 'autodate', onCreate: true },
    { name: 'updated', type: 'autodate', onCreate: true, onUpdate: true },
    { name: 'stage', type: 'select', values: ['draft', 'live', 'with "quotes"'], maxSelect: 1 },
    { name: 'tags', type: 'select', values: ['a', 'b', 'c d'], maxSelect: 3 },
    { name: 'json', type: 'json', maxSize: 10_000 },
    { name: 'photo', type: 'file', maxSelect: 1, mimeTypes: ['image/png'], thumbs: ['100x100', '0x50f'] },
    { name: 'papers', type: 'file', maxSelect: 5, maxSize: 50_000, protected: true },
    { name: 'author', type: 'relation', collectionId: members, maxSelect: 1, required: true },
    { name: 'readers', type: 'relation', collectionId: members, maxSelect: 10, minSelect: 0 },
    { name: 'topic', type: 'relation', collectionId: topics, maxSelect: 1, cascadeDelete: true },
  ];
  const point = { name: 'place', type: 'geoPoint' };
  const near = 'geoDistance(place.lon, place.lat, 23.32, 42.7) < 5';
  const lower = 'title:lower != "no"';
  // Older versions have no points, and older ones no `:lower`.
  const forms = [
    { fields: [...fields, point], terms: [near, lower] },
    { fields, terms: [lower] },
    { fields, terms: [] },
  ];
  for (const form of forms)
    try {
      await pb.collections.create({
        name: 'posts',
        type: 'base',
        fields: form.fields,
        listRule: [
          'stage = "live"',
          'author = @request.auth.id',
          'readers.id ?= @request.auth.id',
          ...form.terms,
        ].join(' || '),
        viewRule: 'author.email != "" && (topic.name ~ "o" || @request.query.all = "1")',
        createRule: '@request.auth.id != "" && @request.body.author = @request.auth.id',
        updateRule:
          '@request.body.created:isset = false && @collection.members.name ?= "Ann" && date <= @now',
        deleteRule: 'author.posts_via_author.id ?= id && tags:length < 3 && tags:each != "x"',
        indexes: [
          'CREATE INDEX `idx_posts_stage` ON `posts` (`stage`, `date` DESC)',
          'CREATE UNIQUE INDEX idx_posts_code ON posts (code)',
        ],
      });
      return form.fields.includes(point);
    } catch (error) {
      if (!(error instanceof ClientResponseError) || error.status !== 400 || form === forms.at(-1))
        throw error;
    }
  return false;
}

async function addRecords(pb: PocketBase, hasPoints: boolean): Promise<void> {
  const root = await pb.collection('topics').create({ name: 'Root' });
  const leaf = await pb.collection('topics').create({ name: 'Lëaf 日本', parent: root.id });
  const [ann, bob] = accounts;
  const posts = pb.collection('posts');
  const full = await posts.create({
    title: 'Everything: <b>\'"\\ \n end',
    hidden: 'secret text',
    body: '<p>Hello <a href="/x">you</a></p>',
    number: -1.5,
    count: 9_007_199_254_740_991,
    bool: true,
    email: 'a@example.org',
    url: 'https://example.com/?a=b#c',
    date: '2024-02-29 12:34:56.789Z',
    stage: 'with "quotes"',
    tags: ['c d', 'a'],
    json: { text: 'é', list: [1, null, { deep: true }], number: 1e21 },
    photo: new File([png], 'Phöto 1.png', { type: 'image/png' }),
    papers: [new File(['one'], 'one.txt'), new File(['two'], 'zwei.tar.gz')],
    author: ann.id,
    readers: [bob.id, ann.id],
    topic: leaf.id,
    ...(hasPoints && { place: { lon: 23.3219, lat: 42.6977 } }),
  });
  await posts.update(full.id, { title: 'Everything, changed', 'papers+': new File(['three'], 'three.md') });
  await posts.create({ title: 'Least', author: bob.id });
  for (const json of ['text', 5, false, null, [], '"quoted"', ''])
    await posts.create({ title: `json ${JSON.stringify(json)}`, author: bob.id, json, stage: 'live' });
}

/** Renames fields and changes how many values they keep: their columns hold older forms. */
async function changeFields(pb: PocketBase): Promise<void> {
  const { fields } = await pb.collections.getOne('posts');
  const changes: Readonly<Record<string, Definition>> = {
    tags: { maxSelect: 1 },
    stage: { maxSelect: 2 },
    readers: { maxSelect: 1 },
    author: { maxSelect: 4 },
    hidden: { name: 'concealed' },
    papers: { name: 'documents' },
  };
  const changed = fields.map((field) => ({ ...field, ...changes[field.name] }));
  await pb.collections.update('posts', { fields: changed.filter(({ name }) => name !== 'count') });
  const [ann] = accounts;
  const { id } = await pb.collections.getOne('members');
  await pb.collection('_externalAuths').create({
    collectionRef: id,
    recordRef: ann.id,
    provider: 'google',
    providerId: '1234',
  });
  await pb.collections.update('topics', { name: 'subjects' });
}

async function changeSettings(pb: PocketBase): Promise<void> {
  await pb.settings.update({
    meta: {
      appName: 'Harbour',
      appURL: 'https://harbour.example.com',
      senderName: 'Post',
      senderAddress: 'post@example.com',
    },
    smtp: {
      enabled: false,
      host: 'smtp.example.org',
      port: 2525,
      username: 'post',
      password: 'secret',
      tls: true,
    },
    backups: { cron: '0 3 * * 1', cronMaxKeep: 5 },
    batch: { enabled: true, maxRequests: 40 },
    logs: { maxDays: 9, minLevel: 4, logAuthId: true },
    trustedProxy: { headers: ['X-Real-IP'], useLeftmostIP: true },
    rateLimits: {
      enabled: true,
      rules: [{ label: '*:auth', audience: '@guest', duration: 2, maxRequests: 900 }],
    },
  });
}
