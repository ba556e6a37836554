import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createOperatorEndpoint } from '../../src/operator/operator-endpoints.ts';
import { accessCases } from '../support/access-cases.ts';
import { AccessStage, roles, type Role } from '../support/access-stage.ts';
import { Canaries } from '../support/canaries.ts';
import { noteAnswers } from '../support/note-answers.ts';
import { eventually } from '../support/eventually.ts';
import { makeCertificate } from '../support/certificate.ts';
import { makeKey } from '../support/make-key.ts';
import { operatorOf } from '../support/operator-stage.ts';
import { Receiver } from '../support/receiver.ts';

/** What nobody is ever shown. */
const secret = 'canary-of-secrets';
/** What only who makes the endpoint is shown, and who asks for it by name. */
const endpointSecret = 'canary-of-an-endpoint';
/** What only superusers see of records. */
const hidden = 'canary-of-hidden-fields';
/** What only its owner, managers and superusers see. */
const address = 'canary@hidden.example.com';

const questions = [
  '/api/collections/notes/records?fields=*,whisper',
  `/api/collections/notes/records?filter=${encodeURIComponent(`whisper = '${hidden}'`)}`,
  `/api/collections/notes/records?filter=${encodeURIComponent(`owner.whisper ~ '${hidden}'`)}`,
  '/api/collections/notes/records?sort=whisper',
  '/api/collections/notes/records?expand=owner,notes_via_owner',
  '/api/collections/users/records?fields=*,email,tokenKey,password',
  '/api/collections/users/records?filter=tokenKey~%27a%27',
  '/api/collections/users/records?filter=password~%27argon%27',
  `/api/collections/users/records?filter=${encodeURIComponent(`email = '${address}'`)}`,
  '/api/collections/users/records?sort=email',
  '/api/openapi.json',
];

test('no answer, event, delivery or log has a secret, and to nobody but superusers what is hidden', async (t) => {
  const stage = await AccessStage.start(t);
  await using receiver = await Receiver.open();
  await plant(stage, receiver.url);
  const told: { readonly role: Role; readonly where: string; readonly text: string }[] = [];
  // Of another instance one is a guest, as spec/access.json says.
  for (const role of roles.slice(0, roles.indexOf('userElsewhere'))) {
    for (const one of accessCases) {
      const [method = ''] = one.route.split(' ');
      const { path, body } = await one.request(stage);
      const answer = await stage.ask(role, method, { path, body });
      told.push({ role, where: `${method} ${path}`, text: answer.text });
    }
    for (const path of questions)
      told.push({ role, where: `GET ${path}`, text: (await stage.ask(role, 'GET', { path })).text });
  }
  // The last write before is told last: then all are.
  const last = await stage.note();
  await eventually('the last event is delivered', () =>
    bodiesOf(receiver).some((body) => body.includes(last)),
  );
  for (const { role, where, text } of told) {
    for (const canary of [secret, endpointSecret])
      assert.ok(!text.includes(canary), `${where} by ${role}: ${text}`);
    if (role === 'superuser') continue;
    assert.ok(!text.includes(hidden), `${where} by ${role}: ${text}`);
    assert.ok(role === 'manager' || !text.includes(address), `${where} by ${role}: ${text}`);
  }
  const isSeen = told.some(({ role, text }) => role === 'superuser' && text.includes(hidden));
  assert.ok(isSeen, 'what is hidden can be seen by those who may');
  const received = bodiesOf(receiver).join('\n');
  for (const canary of [secret, endpointSecret, hidden, address])
    assert.ok(!received.includes(canary), canary);
  assert.ok(!JSON.stringify(stage.service.log).includes('canary'));
});

test('a secret that is told is found, wherever it was told', async (t) => {
  const { service } = await AccessStage.start(t);
  const { app } = service;
  const body = { smtp: { password: 'a planted "password"' } };
  await service.request('/api/settings', { method: 'PATCH', token: true, body });
  const headers = { 'X-Api-Key': 'a planted header' };
  const client = { clientId: 'shop', clientSecret: 'a planted client' };
  const oauth2 = { tokenUrl: 'https://example.com/token', ...client };
  const { cert: certificate, key: clientKey } = makeCertificate({ names: ['client'] });
  const clientCertificate = { certificate, key: clientKey };
  const endpoint = { url: 'https://example.com/hook', headers, oauth2, clientCertificate };
  await service.request('/api/webhooks/endpoints', { method: 'POST', token: true, body: endpoint });
  const told = [
    ['GET /a', 'the key 0001020304', '0001020304'],
    ['GET /b', '{"hash":"$argon2id$v=19$m=19456"}', ''],
    ['GET /e', 'x-api-key: a planted header', ''],
    ['GET /f', 'the a planted client', ''],
    ['GET /g', `a key: ${clientKey}`, ''],
    ['GET /c', '{"text":"has a planted \\"password\\" in it"}', ''],
  ] as const;
  for (const [where, text, masterKey] of told) {
    const canaries = new Canaries();
    canaries.note('GET /fine', 'nothing');
    await canaries.search(app, [], 'another key');
    canaries.note(where, text);
    await assert.rejects(canaries.search(app, [], masterKey), new RegExp(`^AssertionError.*${where}`));
  }
  const { key } = await makeKey(service, ['admin']);
  const canaries = new Canaries();
  canaries.note('POST /api/keys', `{"key":"${key}"}`);
  await canaries.search(app, [], '');
  canaries.note('GET /d', key);
  await assert.rejects(canaries.search(app, [], ''), /GET \/d tells an API key/);
  const ofOperator = { url: 'https://example.com/hook', secret: 'a planted secret', status: 'paused' };
  await createOperatorEndpoint(operatorOf(service), ofOperator, 'operator');
  const shown = new Canaries();
  shown.note('POST /api/operator/endpoints', '{"secret":"a planted secret"}');
  await shown.search(app, [], '');
  shown.note('GET /api/operator/endpoints', '{"secret":"a planted secret"}');
  await assert.rejects(
    shown.search(app, [], ''),
    /GET \/api\/operator\/endpoints tells the secret of an endpoint/,
  );
  const log = [{ message: 'x', members: { error: new Error('it was: a planted "password"') } }];
  await assert.rejects(new Canaries().search(app, log, ''), /the log of the service/);
});

/** Everywhere where an instance keeps a secret. */
async function plant(stage: AccessStage, url: string): Promise<void> {
  const fields = [
    { name: 'title', type: 'text' },
    { name: 'owner', type: 'relation', collectionId: '_pb_users_auth_' },
    { name: 'cover', type: 'file' },
    { name: 'letter', type: 'file', protected: true },
    { name: 'whisper', type: 'text', hidden: true },
    { name: 'pin', type: 'password' },
  ];
  await stage.make('/api/collections/notes', { fields }, 'PATCH');
  const users = await stage.service.request('/api/collections/users', { token: true });
  const whispering = [...users.json.fields, { name: 'whisper', type: 'text', hidden: true }];
  await stage.make('/api/collections/users', { listRule: '', viewRule: '', fields: whispering }, 'PATCH');
  const more = { name: 'members', type: 'auth', fileToken: { secret: secret.repeat(3) } };
  await stage.make('/api/collections', more);
  const note = { title: 'a', owner: stage.userId, whisper: hidden, pin: secret };
  await stage.make('/api/collections/notes/records', note);
  const account = { email: address, whisper: hidden, password: secret, passwordConfirm: secret };
  await stage.make('/api/collections/users/records', account);
  const code = {
    collectionRef: '_pb_users_auth_',
    recordRef: stage.userId,
    password: secret,
    sentTo: hidden,
  };
  await stage.make('/api/collections/_otps/records', code);
  const settings = { smtp: { password: secret }, s3: { secret }, backups: { s3: { secret } } };
  await stage.make('/api/settings', settings, 'PATCH');
  await stage.make('/api/webhooks/endpoints', {
    url,
    secret: endpointSecret,
    headers: { Authorization: secret },
  });
  const oauth2 = { tokenUrl: url, clientId: 'shop', clientSecret: secret };
  await stage.make('/api/webhooks/endpoints', { url, oauth2 });
}

function bodiesOf(receiver: Receiver): readonly string[] {
  return receiver.requests.map(({ body }) => body.toString());
}

test('what is answered is noted, though it was asked for over a bare socket', async (t) => {
  const server = createServer((_, response) => {
    response.write('in two ');
    response.end('parts');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const noted: string[] = [];
  noteAnswers(t, address.port, (where, text) => noted.push(`${where}: ${text}`));
  const socket = connect(address.port, '127.0.0.1');
  socket.end('GET /here?and=there HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n').resume();
  await once(socket, 'close');
  assert.deepEqual(noted, ['GET /here: in two parts']);
});
