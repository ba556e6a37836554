import { mailTemplates, sendTestMail } from '../../auth/account-mail.ts';
import { notFound } from '../../base/errors.ts';
import { type RecordedMail, recordedMailsMax } from '../../mail/mailer.ts';
import { nothing, notStored } from '../answer.ts';
import { emptyAnswer, jsonAnswer } from '../schemas/operation.ts';
import { listSchema, objectSchema, type Schema, schemaReference } from '../schemas/schema.ts';
import { route } from '../route.ts';

const common = { tag: 'settings', isForSuperusers: true } as const;

/** Sending a test mail, and reading those of a development server, for superusers. */
export const mailRoutes = [
  route({
    ...common,
    method: 'POST',
    path: '/api/settings/test/email',
    id: 'testEmail',
    summary: 'Send a test email',
    body: schemaReference('TestMail'),
    answers: { 204: emptyAnswer('The mail server has taken it; or there is none, while developing.') },
    handle: async ({ services, instance, body }) => {
      await sendTestMail(instance, services.mailer, body);
      return nothing;
    },
  }),
  route({
    ...common,
    method: 'GET',
    path: '/api/mails',
    id: 'listMails',
    summary: 'List the last mails, latest first; only on a development server (`--dev`)',
    parameters: ['Fields'],
    answers: { 200: jsonAnswer('The mails.', schemaReference('MailList')) },
    handle: (context) => {
      const items = context.services.mailer.recorded(context.instance.id);
      if (items === undefined) throw notFound();
      const page = { items, page: 1, perPage: recordedMailsMax, totalItems: items.length, totalPages: 1 };
      return context.answerList(page, toJson, notStored);
    },
  }),
];

function toJson({ created, mail, result }: RecordedMail): string {
  const { sender, to, subject, html } = mail;
  const reason = result.kind === 'failed' ? result.reason : '';
  return JSON.stringify({ created, from: sender, to, subject, html, result: result.kind, reason });
}

const text: Schema = { type: 'string' };

export const mailSchemas: Readonly<Record<string, Schema>> = {
  TestMail: objectSchema(
    {
      email: { type: 'string', format: 'email', description: 'Where it goes.' },
      template: { type: 'string', enum: [...mailTemplates.keys()] },
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
    result: {
      type: 'string',
      enum: ['sent', 'kept', 'failed'],
      description: '`kept`: there is no server to send it to.',
    },
    reason: { type: 'string', description: 'Why it failed; empty if it did not.' },
  }),
  MailList: listSchema(schemaReference('Mail')),
};
