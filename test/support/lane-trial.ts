import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { AlertMails } from '../../src/deliveries/alert-mails.ts';
import { readOldestPending } from '../../src/deliveries/log/count-waiting.ts';
import { soleOwnership } from '../../src/deliveries/delivery.ts';
import { Dispatcher, type DispatcherOptions } from '../../src/dispatch/dispatcher.ts';
import { WorkPoll } from '../../src/dispatch/nodes/work-poll.ts';
import type { Wake } from '../../src/dispatch/lanes.ts';
import { testEndpoint } from '../../src/dispatch/test-endpoint.ts';
import type { Mailer } from '../../src/mail/mailer.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { answers, HeldSender, type SenderPort } from './held-sender.ts';
import { MovableClock } from './movable-clock.ts';
import { startWebhookService, type WebhookService } from './webhook-service.ts';

/** A service whose own dispatcher sends nothing, and dispatchers over its only instance with receivers that answer as they are told. */
export interface LaneTrial {
  readonly service: WebhookService;
  readonly clock: MovableClock;
  /** Whose answers they are. */
  readonly sender: HeldSender;
  readonly addPosts: (count: number) => Promise<void>;
  /** Waits until nothing is in flight and nothing more can be sent at this time, and returns how many requests were made so far. */
  readonly idle: () => Promise<number>;
  readonly wake: () => void;
  /** Goes to the time at which something may be sent next. */
  readonly untilNext: () => Promise<void>;
  /** Stops the dispatcher, and starts another one. */
  readonly restart: () => Promise<void>;
  /** Lets another owner have the instance for a while. */
  readonly passAround: () => void;
  /** Whether the instance is this dispatcher's. Nobody tells it of a change. */
  readonly setOwned: (isOwned: boolean) => void;
  /**
   * Waits until no look is under way, and returns false when the dispatcher wants to be woken at no time. Otherwise goes to that time and does
   * what its timer does. Fails when a lane stands still.
   */
  readonly tick: () => Promise<boolean>;
  /** Asks receivers that could not be reached whether they can be. */
  readonly shakeHands: () => void;
  /** Sends the test event to an endpoint. */
  readonly test: (endpointId: string) => Promise<void>;
  /** Looks for lanes that stand still, and returns how many have so far. */
  readonly sweep: () => number;
}

export async function startLaneTrial(
  t: TestContext,
  { clock = new MovableClock(), mailer }: { readonly clock?: MovableClock; readonly mailer?: Mailer } = {},
): Promise<LaneTrial> {
  const wrapSender = (real: SenderPort): SenderPort => new HeldSender(real);
  const service = await startWebhookService(t, { parts: { clock, wrapSender } });
  const [entry] = service.app.data.directory.all();
  assert.ok(entry);
  const sender = new HeldSender();
  sender.answer = answers.ok;
  let epoch = 1;
  let borrowed = 0;
  let isOwned = true;
  const borrowAtOnce: DispatcherOptions['borrowAtOnce'] = async () => {
    const loan = await service.app.data.instances.borrow(entry);
    borrowed += 1;
    const release = (): void => {
      borrowed -= 1;
      loan.release();
    };
    return { instance: loan.instance, release };
  };
  const ownership = { ...soleOwnership, owns: () => isOwned, epochOf: () => `${epoch}` };
  const poll = startPoll(t, { service, clock, onDue: (id, what) => dispatcher.wake(id, what) });
  const mails = mailer && new AlertMails({ mailer, borrow: borrowAtOnce, logger: silent });
  const options = { ...(mails && { mails }), sender, clock, ...(poll && { safeEnd: poll }) };
  const open = (): Dispatcher =>
    startDispatcher({ ...options, ownership, instances: () => [entry.id], borrowAtOnce });
  let dispatcher = open();
  // Events about endpoints are appended while deliveries are settled.
  service.app.data.wakeUp.onWakeUp((id, what) => dispatcher.wake(id, what));
  atEnd(t, () => dispatcher.stop(0));
  const trial: LaneTrial = {
    service,
    clock,
    sender,
    addPosts: async (count) => {
      await Promise.all(Array.from({ length: count }, () => service.addPost()));
    },
    wake: () => dispatcher.wake(entry.id),
    idle: async () => {
      trial.wake();
      await eventually('nothing more can be sent', async () => {
        // A look begins in the next turn, or after one that is running.
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        const oldest = await service.withInstance('default', ({ database }) => readOldestPending(database));
        const isDue = oldest !== undefined && (dispatcher.nextDue(entry.id) ?? 0) <= clock.now();
        return borrowed === 0 && !isDue;
      });
      return sender.given.length;
    },
    untilNext: async () => {
      await trial.idle();
      clock.move(Math.max(0, (dispatcher.nextDue(entry.id) ?? 0) - clock.now()));
    },
    restart: async () => {
      await dispatcher.stop(0);
      dispatcher = open();
    },
    passAround: () => void (epoch += 1),
    setOwned: (is) => void (isOwned = is),
    ...timerOf(() => dispatcher, entry.id, clock),
    test: async (endpointId) => {
      const parts = { dispatcher, borrow: () => service.app.data.instances.borrow(entry) };
      await service.withInstance('default', (instance) => testEndpoint(instance, endpointId, parts));
    },
  };
  return trial;
}

/** What the dispatcher does by its timers, without waiting for them. */
function timerOf(
  dispatcher: () => Dispatcher,
  instanceId: string,
  clock: MovableClock,
): Pick<LaneTrial, 'tick' | 'sweep' | 'shakeHands'> {
  const sweep = (): number => {
    dispatcher().sweep();
    return dispatcher().counts.stalled;
  };
  const tick = async (): Promise<boolean> => {
    do await nextTurn();
    while (dispatcher().isLooking);
    assert.equal(sweep(), 0, 'a lane stands still');
    const at = dispatcher().nextDue(instanceId);
    if (at === undefined) return false;
    clock.move(Math.max(0, at - clock.now()));
    dispatcher().wake(instanceId);
    return true;
  };
  return { tick, sweep, shakeHands: () => dispatcher().shakeHands() };
}

/** Where several transactions write the log, an event may appear behind later ones. */
function startPoll(
  t: TestContext,
  {
    service,
    clock,
    onDue,
  }: Pick<LaneTrial, 'service' | 'clock'> & { onDue: (id: string, what: Wake) => void },
): WorkPoll | undefined {
  const { background: database, control } = service.app.data.home;
  if (!control.names.isConcurrent) return undefined;
  // What is due later the lanes know by themselves, and also when they may send it.
  const onPending = (id: string, due: number, what: Wake): void => {
    if (due <= clock.now()) onDue(id, what);
  };
  const poll = new WorkPoll({ database, clock, logger: silent, onPending });
  atEnd(t, () => poll.stop());
  poll.start();
  return poll;
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function startDispatcher(options: Omit<DispatcherOptions, 'onForeign' | 'logger' | 'version'>): Dispatcher {
  const dispatcher = new Dispatcher({ ...options, onForeign: () => undefined, logger: silent, version: '0' });
  dispatcher.start();
  return dispatcher;
}
