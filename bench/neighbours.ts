import { setTimeout as sleep } from 'node:timers/promises';
import { accountAttacks } from './attacks/accounts.ts';
import { bodyAttacks } from './attacks/bodies.ts';
import { definitionAttacks } from './attacks/definitions.ts';
import { readAttacks } from './attacks/reads.ts';
import { realtimeAttacks } from './attacks/realtime.ts';
import { webhookAttacks } from './attacks/webhooks.ts';
import { writeAttacks } from './attacks/writes.ts';
import { type Attack, type AttackAnswers, type Attacks, runAttack, type Target } from './support/attack.ts';
import { startChild } from './support/child.ts';
import { fillTable } from './support/fill-table.ts';
import { type BenchOptions, hostThreadsOf } from './support/options.ts';
import { percentile } from './support/percentile.ts';
import { turnReceiver } from './support/receiver.ts';
import { report } from './support/report.ts';
import { sampleColumns } from './support/sample-record.ts';
import { startService } from './support/service.ts';
import { startVictim, type VictimTimes } from './support/victim.ts';

const quiet: Attacks = { quiet: { clients: 1, run: () => sleep(10) } };
const attacks: Attacks = {
  ...quiet,
  ...definitionAttacks,
  ...writeAttacks,
  ...readAttacks,
  ...bodyAttacks,
  ...accountAttacks,
  ...realtimeAttacks,
  ...webhookAttacks,
};
/** Between two lines: the work of an attack may go on after its requests have ended. */
const settleMs = 1_000;

/**
 * How long does a quiet instance wait while another one of the same process does its worst? A line for each attack, of `--seconds`
 * each; `--only TEXT` chooses those whose names contain the text. The kinds are `view`, `create`, `live` and `webhook`, in milliseconds:
 * p50, p99 and the longest.
 */
export async function neighbours(options: BenchOptions): Promise<void> {
  const { only = '' } = options;
  const chosen = Object.entries(attacks).filter(([name]) => name.includes(only));
  if (chosen.length === 0)
    throw new Error(`No attack has ${only} in its name: ${Object.keys(attacks).join(', ')}.`);
  for (const [name, attack] of chosen) await beside(name, attack, options);
}

/** Each attack has a service of its own: what one leaves behind would be measured with the next. */
async function beside(name: string, attack: Attack, options: BenchOptions): Promise<void> {
  const receiver = await startChild('bench/support/receiver-server.ts', ['0', '257']);
  // All clients of an attack have one address, which would be refused most of its connections.
  const perAddress = ['--realtime-connections-per-address', '1000'];
  const service = await startService(undefined, options, [...perAddress, ...hostThreadsOf(options)]);
  try {
    const { url, token, api, store } = service;
    await fillTable(store, 'bench', { count: options.rows, columns: sampleColumns });
    const victim = await startVictim(service);
    const target: Target = { url, token, api, store, receiver, rows: options.rows };
    await attack.prepare?.(target);
    await victim.begin();
    const signal = AbortSignal.timeout(options.seconds * 1_000);
    const answers = await runAttack(attack, target, signal);
    tell(name, { times: await victim.end(), answers }, options);
    await victim.stop();
    await turnReceiver(receiver, 'well');
    await attack.clear?.(target);
    await sleep(settleMs);
  } finally {
    await service.stop();
    await receiver.stop();
  }
}

interface Result {
  readonly times: VictimTimes;
  readonly answers: AttackAnswers;
}

function tell(name: string, { times, answers }: Result, options: BenchOptions): void {
  const { refused, ...kinds } = times;
  const lines = Object.entries(kinds).map(
    ([kind, all]) => [kind, [0.5, 0.99, 1].map((share) => percentile(all, share))] as const,
  );
  const texts = lines.map(([kind, figures]) => `${kind} ${figures.map((ms) => ms.toFixed(0)).join('/')}`);
  const answered = Object.entries(answers).map(([status, count]) => `${count} × ${status}`);
  report(
    {
      what: `beside ${name}`,
      figures: { ...Object.fromEntries(lines), refused, requests: Object.values(answers) },
      sentence: `${texts.join(', ')} ms; ${refused} refused; attack: ${answered.join(', ')}`,
    },
    options,
  );
}
