import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { RawConnection, rawRequest } from '../support/raw-http.ts';
import { superuserSdk } from '../support/sdk.ts';
import { startService, type TestAnswer, type TestService } from '../support/service.ts';

const records = '/api/collections/posts/records';

async function withPosts(t: TestContext): Promise<TestService> {
  const service = await startService(t);
  const body = {
    name: 'posts',
    listRule: '',
    viewRule: '',
    createRule: '@request.body.title != "forbidden" && @request.body.views != 13',
    updateRule: '',
    deleteRule: '',
    fields: [
      { name: 'title', type: 'text' },
      { name: 'views', type: 'number' },
      { name: 'published', type: 'bool' },
      { name: 'tags', type: 'select', maxSelect: 3, values: ['a', 'b', '1'] },
      { name: 'meta', type: 'json' },
    ],
  };
  const made = await service.request('/api/collections', { method: 'POST', token: true, body });
  assert.equal(made.status, 200, made.text);
  return service;
}

const boundary = '----form0123456789abcdef';
const end = `--${boundary}--\r\n`;

/** One part of a form. `more` follows the name in its header. */
function part(name: string, value: string, more = ''): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
}

interface SentForm {
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
  readonly token?: true | string;
  readonly headers?: Readonly<Record<string, string>>;
}

function sendForm(service: TestService, body: string, sent: SentForm = {}): Promise<TestAnswer> {
  const { path = records, method = 'POST', token, headers = {} } = sent;
  const type = sent.type ?? `multipart/form-data; boundary=${boundary}`;
  return service.request(path, {
    method,
    body,
    headers: { 'content-type': type, ...headers },
    ...(token === undefined ? {} : { token }),
  });
}

const urlencoded = 'application/x-www-form-urlencoded';

describe('a form', () => {
  test('of the SDK creates and updates a record, as a plain object does', async (t) => {
    const service = await withPosts(t);
    const pb = await superuserSdk(service);
    const posts = pb.collection('posts');
    const form = new FormData();
    for (const [name, value] of [
      ['title', 'Grüße 🌍 & "quotes"\r\nand lines'],
      ['views', '-3.5'],
      ['published', 'true'],
      ['tags', 'a'],
      ['tags', '1'],
      ['meta', '{"deep":[1,null]}'],
    ] as const)
      form.append(name, value);
    const made = await posts.create(form);
    const { title, views, published, tags, meta } = made;
    assert.deepEqual(
      { title, views, published, tags, meta },
      {
        title: 'Grüße 🌍 & "quotes"\r\nand lines',
        views: -3.5,
        published: true,
        tags: ['a', '1'],
        meta: { deep: [1, null] },
      },
    );
    const change = new FormData();
    change.append('views+', '2');
    change.append('published', 'false');
    const updated = await posts.update(made.id, change);
    assert.deepEqual([updated['views'], updated['published'], updated['title']], [-1.5, false, title]);
    const plain = await posts.update(made.id, { views: 7 });
    assert.deepEqual([plain['views'], plain['published']], [7, false]);
    assert.equal((await posts.create(new FormData()))['title'], '');
  });

  test('that is URL-encoded, as curl -d sends it, is understood in the same way', async (t) => {
    const service = await withPosts(t);
    const body = 'title=a+b%26c%3D%C3%A4&views=12&published=true&tags=a&tags=b&meta=[1]&unknown=x&&';
    for (const type of [urlencoded, `${urlencoded}; charset=UTF-8`, 'Application/X-WWW-Form-URLencoded']) {
      const { status, json } = await sendForm(service, body, { type });
      assert.equal(status, 201);
      const { title, views, published, tags, meta } = json;
      assert.deepEqual(
        { title, views, published, tags, meta },
        { title: 'a b&c=ä', views: 12, published: true, tags: ['a', 'b'], meta: [1] },
      );
      const changed = await sendForm(service, 'title=c', {
        type,
        method: 'PATCH',
        path: `${records}/${json.id}`,
      });
      assert.deepEqual([changed.status, changed.json.title, changed.json.views], [200, 'c', 12]);
    }
  });

  test('says numbers and booleans only by their shortest text, and everything else stays a text', async (t) => {
    const service = await withPosts(t);
    const values: readonly (readonly [string, unknown])[] = [
      ['', ''],
      ['true', true],
      ['false', false],
      ['0', 0],
      ['-12.75', -12.75],
      ['9007199254740991', 9007199254740991],
      ['123456789012345678', '123456789012345678'],
      ...['007', '1.0', '+1', '1e3', '-', '.5', '1.2.3', '1-2', 'TRUE', 'null', ' 1', '٣'].map(
        (text) => [text, text] as const,
      ),
    ];
    for (const [text, value] of values) {
      const input = JSON.stringify({ sent: value });
      // An array keeps the members of a json field as they were inferred.
      const body = part('meta', text) + part('meta', text) + end;
      const { json } = await sendForm(service, body);
      assert.deepEqual(json.meta, [value, value], `${text} ${input}`);
      const title = await sendForm(service, part('title', text) + end);
      assert.equal(title.json.title, text);
    }
  });

  test('gives values of any type in @jsonPayload, of which later ones replace what came before', async (t) => {
    const service = await withPosts(t);
    const body =
      part('@jsonPayload', '{"title":"1","views":1}') +
      part('title', 'text') +
      part('meta', 'text') +
      part('@jsonPayload', '{"views":2,"meta":{"a":[]}}') +
      end;
    const { status, json } = await sendForm(service, body);
    assert.equal(status, 201);
    assert.deepEqual([json.title, json.views, json.meta], ['1', 2, { a: [] }]);
    const encoded = new URLSearchParams({ title: 'text', '@jsonPayload': '{"title":"2"}' });
    assert.equal((await sendForm(service, String(encoded), { type: urlencoded })).json.title, '2');
  });

  test('has the parameters of the query as fields, too, as a body of JSON has not', async (t) => {
    const service = await withPosts(t);
    const path = `${records}?title=query&views=3`;
    const multipart = await sendForm(service, part('published', 'true') + end, { path });
    const encoded = await sendForm(service, 'published=true', { path, type: urlencoded });
    for (const { json } of [multipart, encoded])
      assert.deepEqual([json.title, json.views, json.published], ['query', 3, true]);
    const plain = await service.request(path, { method: 'POST', body: { published: true } });
    assert.deepEqual([plain.json.title, plain.json.views, plain.json.published], ['', 0, true]);
  });

  test('is what a rule sees of the body, and what an idempotency key stands for', async (t) => {
    const service = await withPosts(t);
    for (const body of [part('title', 'forbidden') + end, part('views', '13') + end])
      assert.equal((await sendForm(service, body)).status, 400);
    const headers = { 'idempotency-key': 'once' };
    const first = await sendForm(service, part('title', 'a') + end, { headers });
    const other = `multipart/form-data; boundary=other`;
    const again = await sendForm(service, (part('title', 'a') + end).replaceAll(boundary, 'other'), {
      headers,
      type: other,
    });
    assert.deepEqual([again.status, again.json.id], [201, first.json.id]);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.equal((await sendForm(service, part('title', 'b') + end, { headers })).status, 422);
    assert.equal((await service.request(records)).json.totalItems, 1);
  });

  test('may hold its own boundary inside a value (H-84)', async (t) => {
    const service = await withPosts(t);
    const title = `--${boundary} and x--${boundary}--\r\n-${boundary}\n--${boundary}--\r\n--`;
    const { status, json } = await sendForm(service, part('title', `x${title}`) + end);
    assert.deepEqual([status, json.title], [201, `x${title}`]);
  });

  test('without a chosen file has an empty text in its place, and files are passed over where the collection takes none', async (t) => {
    const service = await withPosts(t);
    const none = '; filename=""\r\nContent-Type: application/octet-stream';
    const without = await sendForm(service, part('title', '', none) + part('views', '1') + end);
    assert.deepEqual([without.status, without.json.title, without.json.views], [201, '', 1]);
    const pb = await superuserSdk(service);
    const made = await pb.collection('posts').create({ title: 'a', photo: new File(['\xff'], 'a.bin') });
    assert.deepEqual([made['title'], made['photo']], ['a', undefined]);
  });
});

describe('forms on other routes', () => {
  test('sign an account in, whose password may be digits', async (t) => {
    const service = await startService(t);
    const account = { email: 'ann@example.com', password: '1234567890', passwordConfirm: '1234567890' };
    const form = String(new URLSearchParams(account));
    const users = '/api/collections/users';
    const made = await sendForm(service, form, { path: `${users}/records`, type: urlencoded });
    assert.equal(made.status, 201, made.text);
    const path = `${users}/auth-with-password`;
    const asText = `identity=ann%40example.com&password=1234567890`;
    const encoded = await sendForm(service, asText, { path, type: urlencoded });
    assert.equal(encoded.status, 200, encoded.text);
    const multipart = part('identity', account.email) + part('password', account.password) + end;
    const signedIn = await sendForm(service, multipart, { path });
    assert.equal(signedIn.json.record.email, account.email);
    const change = { oldPassword: '1234567890', password: '12345678', passwordConfirm: '12345678' };
    const changed = await sendForm(service, String(new URLSearchParams(change)), {
      path: `${users}/records/${made.json.id}`,
      method: 'PATCH',
      type: urlencoded,
      token: signedIn.json.token,
    });
    assert.equal(changed.status, 200, changed.text);
    const wrong = await sendForm(service, asText, { path, type: urlencoded });
    assert.equal(wrong.status, 400);
    const asked = { path: `${users}/request-verification`, type: urlencoded };
    assert.equal((await sendForm(service, 'email=2024', asked)).json.data.email.code, 'validation_is_email');
  });

  test('change collections, settings, endpoints and keys', async (t) => {
    const service = await startService(t);
    const token = true;
    const fields = JSON.stringify({ fields: [{ name: 'title', type: 'text' }] });
    const collection = part('name', 'posts') + part('type', 'base') + part('@jsonPayload', fields) + end;
    const made = await sendForm(service, collection, { path: '/api/collections', token });
    assert.equal(made.status, 200, made.text);
    const path = '/api/collections/posts';
    const renamed = await sendForm(service, 'name=books', { path, method: 'PATCH', type: urlencoded, token });
    assert.equal(renamed.json.name, 'books');
    const settings = part('@jsonPayload', '{"meta":{"appName":"Forms"}}') + end;
    const set = await sendForm(service, settings, { path: '/api/settings', method: 'PATCH', token });
    assert.equal(set.json.meta.appName, 'Forms');
    const endpoint = `url=${encodeURIComponent('http://127.0.0.1:9/')}&events=record.create&events=record.delete`;
    const told = await sendForm(service, endpoint, {
      path: '/api/webhooks/endpoints',
      type: urlencoded,
      token,
    });
    assert.deepEqual([told.status, told.json.events], [201, ['record.create', 'record.delete']], told.text);
    const key = 'name=2024&scopes=records:read&scopes=records:write';
    const issued = await sendForm(service, key, { path: '/api/keys', type: urlencoded, token });
    assert.deepEqual([issued.status, issued.json.name], [201, '2024'], issued.text);
    assert.equal((await sendForm(service, key, { path: '/api/keys', type: urlencoded })).status, 401);
  });
});

test('H-70 on every route a form that is none, or too much of one, gets a 400 and leaves nothing', async (t) => {
  const service = await withPosts(t);
  const good = part('title', 'a');
  const header = (text: string): string => `--${boundary}\r\n${text}\r\n\r\na\r\n`;
  const named = 'Content-Disposition: form-data; name="title"';
  const inner = `--y\r\nContent-Disposition: form-data; name="title"\r\n\r\na\r\n--y--`;
  const bodies: readonly (readonly [string, RegExp, string?])[] = [
    ['x', /not valid multipart/],
    [good, /not valid multipart/],
    [good.slice(0, 80), /not valid multipart/],
    [`${good}--${boundary}-`, /not valid multipart/],
    [good.replaceAll('\r\n', '\n') + end, /not valid multipart/],
    [header('X: 1') + end, /one name/],
    [header('Content-Disposition: form-data') + end, /one name/],
    [header('Content-Disposition: attachment; name="title"') + end, /one name/],
    [header('Content-Disposition: form-data; name="title') + end, /one name/],
    [header(`${named}; name="views"`) + end, /one name/],
    [header(`${named}\r\n${named}`) + end, /one name/],
    [`--${boundary}\r\n${named}\r\n--${boundary}--\r\n`, /no complete header/],
    [`--${boundary}x\r\n${named}\r\n\r\na\r\n${end}`, /one name/],
    [part('x', '').repeat(10_000) + good + end, /at most 1000 fields/],
    [part('x', '').repeat(1_000) + good + end, /at most 1000 fields/],
    [header(`${named}\r\nX: ${'a'.repeat(1_000_000)}`) + end, /at most 4096 bytes/],
    [header(`X: ${'a'.repeat(1_000_000)}\r\n${named}`) + end, /at most 4096 bytes/],
    [header(`${'X: a\r\n'.repeat(20)}${named}`) + end, /at most 4096 bytes/],
    [part('a'.repeat(1_000_000), '') + good + end, /at most 4096 bytes|one name/],
    [part('title', inner, '\r\nContent-Type: multipart/mixed; boundary=y') + end, /must not be a form/],
    [part('title', 'YQ==', '\r\nContent-Transfer-Encoding: base64') + end, /must not be encoded/],
    [part('title', 'a\0') + end, /U\+0000/],
    [part('@jsonPayload', '[]') + end, /JSON object/],
    [part('@jsonPayload', '{"title":') + end, /not valid JSON/],
    [part('@jsonPayload', '{"title":"a","title":"b"}') + end, /repeated/],
    [part('@jsonPayload', '{"meta":"\\u0000"}') + end, /U\+0000/],
    [part('@jsonPayload', `{"meta":[${'1,'.repeat(600_000)}1]}`).repeat(2) + end, /values/],
    [good + end, /one boundary/, 'multipart/form-data'],
    [good + end, /one boundary/, 'multipart/form-data; boundary='],
    [good + end, /one boundary/, `multipart/form-data; boundary=${boundary}; boundary=x`],
    [good + end, /one boundary/, `multipart/form-data; boundary=${'x'.repeat(71)}`],
    [good + end, /not valid multipart/, `multipart/form-data; boundary=x${boundary}`],
    ['title=%', /percent-encoded/, urlencoded],
    ['title=%C3', /percent-encoded/, urlencoded],
    ['title=%00', /U\+0000/, urlencoded],
    ['title=a\0', /U\+0000/, urlencoded],
    ['title=a&'.repeat(10_000), /at most 1000 fields/, urlencoded],
    ['@jsonPayload=1', /JSON object/, urlencoded],
  ];
  for (const [body, message, type = `multipart/form-data; boundary=${boundary}`] of bodies) {
    for (const path of [records, '/api/batch', '/api/collections/users/auth-with-password']) {
      const { status, json, text } = await sendForm(service, body, { path, type });
      assert.equal(status, 400, `${path} ${type} ${body.slice(0, 300)} ${text}`);
      assert.deepEqual(json, { data: {}, message: json.message, status: 400 });
      assert.match(json.message, message, `${path} ${type} ${body.slice(0, 300)}`);
    }
  }
  for (const charset of ['utf-16', 'iso-8859-1']) {
    const types = [
      `${urlencoded}; charset=${charset}`,
      `multipart/form-data; boundary=x; charset=${charset}`,
    ];
    for (const type of types) assert.equal((await sendForm(service, 'title=a', { type })).status, 415);
    const inPart = part('title', 'a', `\r\nContent-Type: text/plain; charset=${charset}`) + end;
    assert.equal((await sendForm(service, inPart)).status, 415);
  }
  assert.equal((await service.request(records)).json.totalItems, 0);
});

test('H-55 a form that is not UTF-8 is refused instead of repaired, in names and in values', async (t) => {
  const service = await withPosts(t);
  const form = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const bodies: readonly (readonly [Buffer, Readonly<Record<string, string>>])[] = [
    [Buffer.from(part('title', 'ÿ') + end, 'latin1'), form],
    [Buffer.from(part('ÿ', 'a') + end, 'latin1'), form],
    [Buffer.from('title=ÿ', 'latin1'), { 'content-type': urlencoded }],
  ];
  for (const [body, headers] of bodies) {
    const answer = await fetch(service.url + records, {
      method: 'POST',
      body: new Uint8Array(body),
      headers,
    });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /not valid UTF-8/);
  }
  assert.equal((await service.request(records)).json.totalItems, 0);
});

test('H-71 H-48 names that are odd are unknown fields, and pollute nothing', async (t) => {
  const service = await withPosts(t);
  const names = ['__proto__', 'constructor', 'toString', '%22', '\\"', '%0D%0Atitle', 'é', 'a;b=c', ''];
  const odd = names.map((name) => part(name, 'x')).join('');
  const multipart = await sendForm(service, odd + part('title', 'a') + end);
  assert.deepEqual([multipart.status, multipart.json.title], [201, 'a'], multipart.text);
  const text = new URLSearchParams([...names.map((name) => [name, 'x']), ['title', 'a']]);
  const encoded = await sendForm(service, String(text), { type: urlencoded });
  assert.deepEqual([encoded.status, encoded.json.title], [201, 'a'], encoded.text);
  // Looked up by a name of our own, which nothing but pollution could give a value.
  assert.equal(Reflect.get({}, 'title'), undefined);
  const broken = part('a\r\nX-Injected: 1', 'x') + part('title', 'a') + end;
  assert.equal((await sendForm(service, broken)).status, 400);
  const both = part('title', 'a') + part('title', 'x', '; filename="a.txt"') + end;
  const taken = await sendForm(service, both);
  assert.deepEqual([taken.status, taken.json.title], [201, 'a'], taken.text);
  const elsewhere = await sendForm(service, both, { path: '/api/collections/users/auth-with-password' });
  assert.deepEqual(
    [elsewhere.status, elsewhere.json.message],
    [400, 'Files are not taken here: "title" is one.'],
  );
  const starred = part('title', 'a') + part('title', 'x', "; filename*=UTF-8''a.txt") + end;
  assert.equal((await sendForm(service, starred)).json.title, 'a');
});

test('what a request asks of comes before what is wrong with its form, and a form that is too large before both', async (t) => {
  const service = await withPosts(t);
  assert.equal((await sendForm(service, 'x', { path: '/api/records/nowhere' })).status, 404);
  assert.equal((await sendForm(service, 'x', { path: '/api/nowhere' })).status, 404);
  assert.equal((await sendForm(service, 'x', { path: '/api/collections' })).status, 401);
  const key = `ck_${'a'.repeat(43)}`;
  assert.equal((await sendForm(service, 'x', { token: key })).status, 401);
  const large = part('title', 'a'.repeat(32 * 1024 * 1024)) + end;
  assert.equal((await sendForm(service, large)).status, 413);
  const under = part('meta', 'a'.repeat(8 * 1024 * 1024)) + end;
  assert.equal((await sendForm(service, under)).json.data.meta.code, 'validation_json_size_limit');
});

test('a client that stops in the middle of its form leaves nothing, and the service goes on', async (t) => {
  const service = await withPosts(t);
  const half = part('title', 'a') + part('meta', 'x'.repeat(200_000)).slice(0, 100_000);
  for (const type of [`multipart/form-data; boundary=${boundary}`, urlencoded]) {
    const connection = RawConnection.open(t, service.url);
    connection.send(
      rawRequest(`POST ${records}`, { 'Content-Type': type, 'Content-Length': '300000' }) + half,
    );
    connection.socket.end();
    await connection.waitForEnd();
  }
  assert.equal((await service.request(records)).json.totalItems, 0);
  assert.equal((await sendForm(service, part('title', 'a') + end)).status, 201);
});
