// Both engines: a mail is claimed under a condition.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AlertMails } from '../../src/deliveries/alert-mails.ts';
import { Janitor, rowByRow } from '../../src/dispatch/janitor.ts';
import type { WebhookInstanceLoan } from '../../src/endpoints/webhook-instance.ts';
import { alwaysSafe } from '../../src/events/log-horizon.ts';
import { sql } from '../../src/sql/sql.ts';
import { readDueTimes } from '../../src/start-due-work.ts';
import { type AlertStage, startAlertStage } from '../support/alert-stage.ts';
import { eventually } from '../support/eventually.ts';
import { answers } from '../support/held-sender.ts';
import type { SmtpSink } from '../support/smtp-sink.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

test('a mail that no server has accepted is due, whatever process or node finds it, and is sent once', async (t) => {
  const refusing = { is: true, count: 0 };
  const stage = await startAlertStage(t, { schedule: [] }, smtpOf(refusing));
  const { service, sender, sink, clock, addPosts, idle } = stage;
  sender.answer = answers.missing;
  await addPosts(1);
  await idle();
  await eventually('it is refused', () => refusing.count === 1);
  const upkeep = await service.withInstance('default', (instance) => readDueTimes(instance, 0));
  assert.equal(upkeep.upkeep, clock.now() + hour);
  refusing.is = false;
  // Whoever has stored it may still be sending it.
  await visit(stage);
  clock.move(hour);
  await Promise.all([visit(stage), visit(stage)]);
  await eventually('nothing is due', async () => (await mailsOf(stage)) === 0);
  await visit(stage);
  assert.deepEqual([refusing.count, sink.mails.length], [1, 1]);
  assert.equal((await sink.mail(0)).parsed.subject, 'Harbour & Co: a webhook could not be delivered');
});

test('a mail that no server has accepted for a day is dropped', async (t) => {
  const refusing = { is: true, count: 0 };
  const stage = await startAlertStage(t, { schedule: [] }, smtpOf(refusing));
  const { sender, clock, addPosts, idle } = stage;
  sender.answer = answers.missing;
  await addPosts(1);
  await idle();
  clock.move(day - minute);
  await visit(stage);
  await eventually('it is refused twice', () => refusing.count === 2);
  assert.equal(await mailsOf(stage), 1);
  clock.move(minute);
  await visit(stage);
  assert.deepEqual([await mailsOf(stage), refusing.count], [0, 2]);
});

/** A mail server that refuses mails as long as it is to. */
function smtpOf(refusing: { is: boolean; count: number }): Parameters<typeof SmtpSink.start>[1] {
  return {
    onMailFrom: (_, __, done) => {
      if (refusing.is) refusing.count += 1;
      done(refusing.is ? new Error('Try later.') : null);
    },
  };
}

/** Visits the instance as another process or node would. */
function visit({ service, mailer, clock }: AlertStage): Promise<void> {
  const { directory, instances } = service.app.data;
  const borrow = async (id: string): Promise<WebhookInstanceLoan | undefined> => {
    const entry = directory.find(id);
    return entry && (await instances.borrow(entry));
  };
  return new Janitor({
    instances: () => directory.all().map(({ id }) => id),
    borrow,
    owns: () => true,
    safeEnd: alwaysSafe,
    days: 0,
    retention: rowByRow,
    mails: new AlertMails({ mailer, borrow, logger }),
    wake: () => undefined,
    clock,
    logger,
  }).tidy();
}

/** How many mails are due. */
function mailsOf({ service }: AlertStage): Promise<number> {
  return service.withInstance('default', async ({ database }) => {
    const { names } = database;
    const rows = await database.tuples(
      sql`SELECT 1 FROM ${names.table('$instance_setting')} WHERE ${names.instance.condition} AND name LIKE 'alert mail %'`,
    );
    return rows.length;
  });
}
