import type { ReceiverMode } from '../../support/receiver.ts';
import type { Random } from '../random.ts';

/** What a receiver does for how long. The last step lasts until it is told otherwise, or the first follows it again. */
export interface ReceiverScript {
  readonly name: string;
  readonly steps: readonly { readonly mode: ReceiverMode; readonly forMs: number }[];
  readonly isRepeated: boolean;
  /** Its endpoint is given an https URL, and finds no TLS there. */
  readonly isWithoutTls?: boolean;
}

const ok: ReceiverMode = { kind: 'ok' };

/** Receivers that do this from the beginning of a round for a while, or until its end. */
const hostileModes: Readonly<Record<string, ReceiverMode>> = {
  hangs: { kind: 'never answers' },
  drips: { kind: 'drip', intervalMs: 50 },
  'fails with 500': { kind: 'status', status: 500 },
  'asks to wait': { kind: 'status', status: 429, headers: { 'retry-after': '1' } },
  'is gone': { kind: 'status', status: 410 },
  'knows nothing': { kind: 'status', status: 404 },
  'resets connections': { kind: 'reset on accept' },
  'resets requests': { kind: 'reset after request' },
  'closes connections': { kind: 'close after request' },
  'answers half': { kind: 'half response' },
  'speaks no HTTP': { kind: 'garbage' },
  'sends huge headers': { kind: 'huge headers' },
};

export const scriptNames = [
  'is well',
  'is slow',
  'sends huge answers',
  'flaps',
  'flaps by resets',
  'has no TLS',
  ...Object.keys(hostileModes),
] as const;

const hostileMsMin = 1_000;
const hostileMsMax = 6_000;
const foreverShare = 0.3;

export function makeScript(name: string, random: Random): ReceiverScript {
  const flapMs = random.integer(200, 1_000);
  switch (name) {
    case 'is well':
      return constant(name, ok);
    case 'is slow':
      return constant(name, { kind: 'slow', delayMs: random.integer(50, 400) });
    case 'sends huge answers':
      return constant(name, { kind: 'endless body' });
    case 'flaps':
      return flapping(name, { kind: 'status', status: 503 }, flapMs);
    case 'flaps by resets':
      return flapping(name, { kind: 'reset after request' }, flapMs);
    case 'has no TLS':
      return { ...constant(name, ok), isWithoutTls: true };
    default: {
      const mode = hostileModes[name];
      if (mode === undefined) throw new Error(`no receiver ${name}`);
      if (random.unit() < foreverShare) return constant(name, mode);
      const steps = [
        { mode, forMs: random.integer(hostileMsMin, hostileMsMax) },
        { mode: ok, forMs: 0 },
      ];
      return { name, steps, isRepeated: false };
    }
  }
}

function constant(name: string, mode: ReceiverMode): ReceiverScript {
  return { name, steps: [{ mode, forMs: 0 }], isRepeated: false };
}

function flapping(name: string, mode: ReceiverMode, forMs: number): ReceiverScript {
  return {
    name,
    steps: [
      { mode: ok, forMs },
      { mode, forMs },
    ],
    isRepeated: true,
  };
}

/** What a sender sees of an answer; after `cut` it may send the same attempt once more, as the connection was used before. */
export type AnswerKind = 'success' | 'failure' | 'cut';

export function answerOf(mode: ReceiverMode): AnswerKind {
  switch (mode.kind) {
    case 'ok':
      return 'success';
    case 'status':
    case 'slow':
    case 'endless body':
      return (mode.status ?? 200) < 300 ? 'success' : 'failure';
    case 'reset after request':
    case 'close after request':
      return 'cut';
    default:
      return 'failure';
  }
}
