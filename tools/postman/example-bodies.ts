const password = 'a long password';

/** Bodies that say more than one made from a schema would, by the id of the operation. A test holds them to their schemas. */
export const exampleBodies: Readonly<Record<string, object>> = {
  createRecord: { title: 'Hello', views: 1 },
  createRecordByAlias: { title: 'Hello', views: 1 },
  updateRecord: { title: 'Hello again', 'views+': 1 },
  updateRecordByAlias: { title: 'Hello again', 'views+': 1 },
  batch: {
    requests: [
      { method: 'POST', url: '/api/collections/posts/records', body: { title: 'One' } },
      { method: 'PATCH', url: '/api/collections/posts/records/RECORD_ID', body: { title: 'Two' } },
    ],
  },
  createCollection: {
    name: 'posts',
    listRule: '',
    viewRule: '',
    fields: [
      { name: 'title', type: 'text', required: true },
      { name: 'views', type: 'number' },
    ],
  },
  updateCollection: { createRule: "@request.auth.id != ''" },
  importCollections: {
    collections: [{ name: 'posts', fields: [{ name: 'title', type: 'text' }] }],
    deleteMissing: false,
  },
  setSubscriptions: { clientId: 'CLIENT_ID', subscriptions: ['posts/*'] },
  signInWithPassword: { identity: 'root@example.com', password },
  signInWithOtp: { otpId: 'OTP_ID', password: '12345678' },
  impersonate: { duration: 3600 },
  setUp: { token: 'TOKEN', email: 'root@example.com', password, passwordConfirm: password },
  confirmVerification: { token: 'TOKEN' },
  confirmPasswordReset: { token: 'TOKEN', password, passwordConfirm: password },
  confirmEmailChange: { token: 'TOKEN', password },
  createEndpoint: {
    url: 'https://example.com/hook',
    description: 'Orders for the warehouse',
    collections: ['posts'],
    events: ['record.create', 'record.update'],
  },
  checkEndpoint: { url: 'https://example.com/hook', collections: ['posts'], schedule: [5, 60, 600] },
  updateEndpoint: { description: 'Orders for both warehouses' },
  resumeEndpoint: { backlog: 'drain' },
  replayEndpoint: { scope: 'failed', since: '2026-11-20 09:00:00.000Z', dryRun: true },
  backfillEndpoint: { collection: 'posts', filter: 'views > 0', dryRun: true },
  putConsumer: { since: '2026-11-20 09:00:00.000Z' },
  createBackup: { name: 'before-the-import.zip' },
  createApiKey: { name: 'The warehouse', scopes: ['records:read'], collections: ['posts'] },
  updateSettings: { meta: { appName: 'Acme' } },
  testS3: { filesystem: 'storage' },
  checkFilter: { filter: "title ~ 'Hello' && views > 0" },
  testRule: { rule: 'listRule', caller: 'guest' },
  testEmail: { email: 'ann@example.com', template: 'verification' },
};

/** Values of parameters, by name; the collection is the one that is made above. */
export const parameterValues: Readonly<Record<string, string>> = {
  collection: 'posts',
  filter: "title ~ 'Hello' && views > 0",
  sort: '-created',
  expand: 'author',
  fields: 'id,title',
  page: '1',
  perPage: '30',
};
