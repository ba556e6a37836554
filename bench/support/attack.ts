import type { Api } from './superuser-api.ts';
import type { Child } from './child.ts';
import type { Store } from './store.ts';

/** The loud instance, as an attack sees it. */
export interface Target {
  readonly url: string;
  /** Of its superuser. */
  readonly token: string;
  readonly api: Api;
  readonly store: Store;
  /** Takes webhooks: at `/hook` of 127.0.0.1, and of 127.0.1.0 to 127.0.1.255 at the same port. */
  readonly receiver: Child;
  /** Records in the collection `bench`. */
  readonly rows: number;
}

/** What a client of an attack is given. */
export interface Attacker extends Target {
  /** Sends a request, as the superuser unless `headers` say otherwise; resolves with the answer's body. Never rejects. */
  readonly ask: (path: string, request?: AttackRequest) => Promise<string>;
  /** Ends the attack. */
  readonly signal: AbortSignal;
  /** A number that no other call has got. */
  readonly next: () => number;
}

export interface AttackRequest {
  readonly method?: string;
  readonly body?: string | FormData;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether a guest asks. */
  readonly isGuest?: boolean;
}

/** What one tenant does, again and again by `clients` at once, until the time is over. */
export interface Attack {
  readonly clients: number;
  /** Done once before, while nothing is measured. */
  readonly prepare?: (target: Target) => Promise<unknown>;
  readonly run: (attacker: Attacker) => Promise<unknown>;
  /** Done once after. */
  readonly clear?: (target: Target) => Promise<unknown>;
}

export type Attacks = Readonly<Record<string, Attack>>;

/** How the answers of an attack begin: their status, or `error`; and how many there were of each. */
export type AttackAnswers = Readonly<Record<string, number>>;

/** Attacks until `signal` is aborted. */
export async function runAttack(attack: Attack, target: Target, signal: AbortSignal): Promise<AttackAnswers> {
  const answers: Record<string, number> = {};
  const attacker: Attacker = {
    ...target,
    signal,
    next,
    ask: async (path, request = {}) => {
      const { status, text } = await send(target, { path, request, signal });
      answers[status] = (answers[status] ?? 0) + 1;
      return text;
    },
  };
  const client = async (): Promise<void> => {
    while (!signal.aborted) {
      await attack.run(attacker);
      // An attack that does not wait for anything would never see the end.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  await Promise.all(Array.from({ length: attack.clients }, client));
  return answers;
}

interface Sending {
  readonly path: string;
  readonly request: AttackRequest;
  readonly signal: AbortSignal;
}

async function send(
  { url, token }: Target,
  { path, request, signal }: Sending,
): Promise<{ readonly status: string; readonly text: string }> {
  const { body, isGuest = false } = request;
  const headers = {
    ...(isGuest ? {} : { authorization: token }),
    ...(typeof body === 'string' ? { 'content-type': 'application/json' } : {}),
    ...request.headers,
  };
  const method = request.method ?? (body === undefined ? 'GET' : 'POST');
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers,
      signal,
      ...(body === undefined ? {} : { body }),
    });
    return { status: String(response.status), text: await response.text() };
  } catch {
    return { status: signal.aborted ? 'ended' : 'error', text: '' };
  }
}

let count = Date.now() % 1_000_000_000;

function next(): number {
  count += 1;
  return count;
}
