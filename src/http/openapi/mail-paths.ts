import type { Paths, Schema } from './document.ts';
import { listSchema } from './list-schema.ts';
import { objectSchema } from './object-schema.ts';
import { emptyAnswer, jsonAnswer, operation } from './operation.ts';
import { schemaReference } from './reference.ts';

/** Sending a test mail. */
export const mailPaths: Paths = {
  '/api/settings/test/email': {
    post: operation({
      id: 'testEmail',
      tag: 'settings',
      summary: 'Send a mail, to see whether and how it arrives',
      body: schemaReference('TestMail'),
      answers: { 204: emptyAnswer('The mail server has taken it; or there is none, while developing.') },
      isForSuperusers: true,
    }),
  },
  '/api/mails': {
    get: operation({
      id: 'listMails',
      tag: 'settings',
      summary: 'The last mails, the latest first: of a development server only (`--dev`)',
      parameters: ['Fields'],
      answers: { 200: jsonAnswer('The mails.', schemaReference('MailList')) },
      isForSuperusers: true,
    }),
  },
};

const text: Schema = { type: 'string' };

export const mailSchemas: Readonly<Record<string, Schema>> = {
  TestMail: objectSchema(
    {
      email: { type: 'string', format: 'email', description: 'Where it goes.' },
      template: { enum: ['verification', 'password-reset', 'email-change', 'otp', 'login-alert'] },
      collection: { type: 'string', description: 'Whose template it is; `_superusers` if left out.' },
    },
    ['collection'],
  ),
  Mail: objectSchema({
    created: text,
    from: objectSchema({ name: text, address: text }),
    to: text,
    subject: text,
    html: text,
    result: { enum: ['sent', 'kept', 'failed'], description: '`kept`: there is no server to send it to.' },
    reason: { type: 'string', description: 'Why it failed; empty if it did not.' },
  }),
  MailList: listSchema(schemaReference('Mail')),
};
