import type { TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { Mailer } from '../../src/mail/mailer.ts';
import { loopbackRanges } from '../../src/network/address-guard.ts';
import { answers } from './held-sender.ts';
import { type LaneTrial, startLaneTrial } from './lane-trial.ts';
import { SmtpSink } from './smtp-sink.ts';
import type { Json } from './webhook-service.ts';

export interface AlertStage extends LaneTrial {
  readonly sink: SmtpSink;
  readonly mailer: Mailer;
  /** Id of the endpoint that fails; another one is told of it. */
  readonly id: string;
  readonly listener: string;
  /** Lets time pass, with all that happens meanwhile. */
  readonly passMs: (ms: number) => Promise<void>;
}

export const alertContact = 'on-call@example.com';

const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export async function startAlertStage(
  t: TestContext,
  settings: Json = {},
  smtp?: Parameters<typeof SmtpSink.start>[1],
): Promise<AlertStage> {
  const policy = { allowHttp: true, allowed: loopbackRanges };
  const mailer = new Mailer({ policy, clock: systemClock, logger, isDevelopment: false });
  t.after(() => mailer.stop(0));
  const trial = await startLaneTrial(t, { mailer });
  const { service, clock, sender } = trial;
  const sink = await SmtpSink.start(t, smtp);
  await sink.serve(service);
  await service.call('PATCH', '/api/settings', {
    body: { meta: { appName: 'Harbour & Co', appURL: 'https://harbour.example.com' } },
  });
  const url = 'https://shop.example.com/hook?key=hidden';
  const { id } = await service.addEndpoint({
    url,
    contact: alertContact,
    description: 'The <shop>',
    ...settings,
  });
  const events = ['endpoint.failing', 'endpoint.disabled', 'endpoint.recovered', 'delivery.exhausted'];
  const { id: listener } = await service.addEndpoint({ url: 'https://ops.example.com/', events });
  sender.answerOf.set(listener, answers.ok);
  const passMs = async (ms: number): Promise<void> => {
    const end = clock.now() + ms;
    while (clock.now() < end) {
      const before = clock.now();
      await trial.untilNext();
      // Nothing is due.
      if (clock.now() === before) clock.move(end - before);
      await trial.idle();
    }
  };
  return { ...trial, sink, mailer, id, listener, passMs };
}
