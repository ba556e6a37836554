import type { FastifyInstance } from 'fastify';
import { sendTestMail } from '../../auth/send-test-mail.ts';
import { notFound } from '../../base/errors.ts';
import type { OpenInstances } from '../../instances/open-instances.ts';
import type { Mailer } from '../../mail/mailer.ts';
import { recordedMailsMax, type RecordedMail } from '../../mail/mail-record.ts';
import { listJson } from '../../lists/list-json.ts';
import { answer, answerNothing } from '../answer.ts';
import { bodyOf } from '../request-body.ts';
import { onInstanceAsSuperuser } from '../on-instance.ts';

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
