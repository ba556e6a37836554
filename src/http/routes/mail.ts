import type { FastifyInstance } from 'fastify';
import { sendTestMail } from '../../auth/account-mail.ts';
import { notFound } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import { type Mailer, type RecordedMail, recordedMailsMax } from '../../mail/mailer.ts';
import { listJson } from '../../query/run-list.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../body.ts';
import { emptyAnswer, jsonAnswer, operation } from '../openapi/operation.ts';
import { listSchema, objectSchema, type Paths, type Schema, schemaReference } from '../openapi/schema.ts';
import { onInstanceAsSuperuser } from '../route.ts';

export interface MailRoutesOptions {
  readonly instances: OpenInstances;
  readonly mailer: Mailer;
}

/** Sending a test mail, for superusers. */
export function mailRoutes(app: FastifyInstance, { instances, mailer }: MailRoutesOptions): void {
  app.post(
    '/api/settings/test/email',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      await sendTestMail(instance, mailer, bodyOf(request));
      return answerNothing(request, reply);
    }),
  );

  app.get(
    '/api/mails',
    onInstanceAsSuperuser(instances, async ({ instance }, request, reply) => {
      const mails = mailer.recorded(instance.id);
      if (mails === undefined) throw notFound();
      const page = { page: 1, perPage: recordedMailsMax, totalItems: mails.length, totalPages: 1 };
      const headers = { 'cache-control': 'no-store' };
      return answer(request, reply, { json: listJson(page, mails.map(toJson)), isList: true, headers });
    }),
  );
}

function toJson({ created, mail, result }: RecordedMail): string {
  const { sender, to, subject, html } = mail;
  const reason = result.kind === 'failed' ? result.reason : '';
  return JSON.stringify({ created, from: sender, to, subject, html, result: result.kind, reason });
}

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
