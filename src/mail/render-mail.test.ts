import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../settings/settings.ts';
import { renderMail } from './render-mail.ts';

const meta = { ...defaultSettings.meta, appName: 'A&B', appURL: 'https://a.example/' };
const fields: Readonly<Record<string, string>> = { name: '{TOKEN}<i>', long: 'x\u2028\r\n'.repeat(500) };

test('placeholders are filled in once, as text in the body and on one line in the subject', () => {
  const { subject, html } = renderMail(
    {
      subject: '{APP_NAME} {RECORD:name} {RECORD:long}',
      body: '<a href="{APP_URL}/{TOKEN}">{RECORD:name} {APP_NAME}</a>{OTP}{otp}{RECORD:}{RECORD:nope}',
    },
    { meta, token: 'a.b-c', field: (name) => fields[name] ?? '' },
  );
  assert.equal(html, '<a href="https://a.example/a.b-c">{TOKEN}&lt;i&gt; A&amp;B</a>{OTP}{otp}{RECORD:}');
  assert.match(subject, /^A&B \{TOKEN\}<i> x x x /);
  assert.equal(subject.length, 255);
  assert.doesNotMatch(subject, /[\r\n\u2028]/);
});
