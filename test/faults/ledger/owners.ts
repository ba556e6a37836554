import { randomBytes } from 'node:crypto';
import { eventually } from '../../support/eventually.ts';
import type { Random } from '../random.ts';
import type { Outcome } from '../workload.ts';
import type { EndpointWishes } from './endpoint-wishes.ts';

/** When something was asked for and answered, by the run's process in milliseconds. */
export interface Asked {
  readonly startMs: number;
  readonly endMs: number;
  readonly outcome: Outcome;
}

/** All that was asked for one endpoint. */
export interface EndpointStory {
  /** Undefined when its creation was not answered. */
  readonly id: string | undefined;
  readonly created: Asked;
  deleted: Asked | undefined;
  /** What its owner was told last; `unknown` once a change was not answered. */
  status: 'active' | 'paused' | 'unknown';
  /** Whether somebody asked to skip what waited. */
  isSkipped: boolean;
  /** Whether its receiver may answer that it is gone, which pauses it. */
  readonly mayPauseItself: boolean;
  /** Where it leads to once all is well, if that is elsewhere. */
  readonly healedUrl: string | undefined;
  readonly wishes: EndpointWishes;
}

export interface SpareEndpoint {
  readonly body: object;
  readonly wishes: EndpointWishes;
}

export interface OwnersOptions {
  /** Of the instance; undefined while no server is there. */
  readonly url: () => string | undefined;
  /** An API key. */
  readonly key: string;
  readonly random: Random;
  /** By the names of their receivers. */
  readonly endpoints: Map<string, EndpointStory>;
  /** Endpoints that are created during the run, by the names of their receivers. */
  readonly spare: Map<string, SpareEndpoint>;
  /** Lets a receiver take another secret. */
  readonly addSecret: (receiver: string, secret: string) => Promise<void>;
}

const pauseMsMin = 50;
const pauseMsMax = 400;
const answerMsMax = 30_000;
/** Of one instance in one round: without endpoints there is nothing to see. */
const deletionsMax = 2;

interface Answer extends Asked {
  readonly status: number;
  readonly body: unknown;
}

/** The owner of an instance, who pauses, resumes, skips, deletes, rotates, backfills, retries and cancels at random while servers die. */
export class Owner {
  /** Ids of deliveries that were to be cancelled. */
  readonly cancelled = new Set<string>();
  readonly counts: Record<string, number> = {};
  readonly violations: string[] = [];
  readonly #options: OwnersOptions;
  #isOver = false;
  #working: Promise<void> = Promise.resolve();

  constructor(options: OwnersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#working = this.#work();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  /** Gives every endpoint a receiver that is well, and resumes half of what is paused, or everything and at once. */
  async heal({ isResumed }: { readonly isResumed: boolean }): Promise<void> {
    for (const story of this.#there()) {
      const { healedUrl, id } = story;
      if (healedUrl !== undefined)
        await this.#insist(() => this.#ask('PATCH', `endpoints/${id}`, { url: healedUrl }));
      const isPaused = story.status !== 'active' || story.mayPauseItself;
      const mayStay = isPaused && this.#options.random.unit() < 0.5;
      if (mayStay) await this.#insist(() => this.#move(story, 'pause'));
      else if (isPaused || isResumed) {
        await this.#insist(() => this.#move(story, 'pause'));
        await this.#insist(() => this.#move(story, 'drain'));
      }
    }
  }

  async #work(): Promise<void> {
    const { random } = this.#options;
    while (!this.#isOver) {
      await new Promise((resolve) => setTimeout(resolve, random.integer(pauseMsMin, pauseMsMax)));
      // Drawn even if nobody is there to be asked, so that the same seed makes the same choices.
      const [share, place] = [random.unit(), random.unit()];
      if (!this.#isOver && this.#options.url() !== undefined) await this.#act(share, place);
    }
  }

  #there(): readonly EndpointStory[] {
    return [...this.#options.endpoints.values()].filter(
      ({ id, deleted }) => id !== undefined && deleted === undefined,
    );
  }

  async #act(share: number, place: number): Promise<void> {
    const there = this.#there();
    const paused = there.filter(({ status }) => status !== 'active');
    const any = there[Math.floor(place * there.length)];
    const resting = paused[Math.floor(place * paused.length)] ?? any;
    if (any === undefined || resting === undefined) return;
    if (share < 0.2) await this.#move(any, 'pause');
    else if (share < 0.48) await this.#move(resting, 'drain');
    else if (share < 0.54) await this.#move(resting, 'skip');
    else if (share < 0.57) await this.#delete(any);
    else if (share < 0.62) await this.#create();
    else if (share < 0.66) await this.#rotate(any);
    else if (share < 0.69) await this.#backfill(any);
    else await this.#changeDelivery(share < 0.88 ? 'retry' : 'cancel', { share, place });
  }

  async #move(story: EndpointStory, to: 'pause' | 'drain' | 'skip'): Promise<Answer> {
    if (to === 'skip') story.isSkipped = true;
    const [path, body] = to === 'pause' ? ['pause', {}] : ['resume', { backlog: to }];
    const answer = await this.#ask('POST', `endpoints/${story.id}/${path}`, body);
    if (answer.outcome === 'acknowledged') story.status = to === 'pause' ? 'paused' : 'active';
    else story.status = 'unknown';
    this.#count(to, answer);
    return answer;
  }

  async #delete(story: EndpointStory): Promise<void> {
    const deletions = this.#options.endpoints.values().filter(({ deleted }) => deleted !== undefined);
    if ([...deletions].length >= deletionsMax) return;
    const startMs = performance.now();
    // Known before the answer: nobody else may touch it meanwhile.
    story.deleted = { startMs, endMs: Number.POSITIVE_INFINITY, outcome: 'unknown' };
    const answer = await this.#ask('DELETE', `endpoints/${story.id}`);
    story.deleted = answer;
    this.#count('delete', answer);
  }

  /** Gives an endpoint another secret, which its receiver takes beforehand. */
  async #rotate(story: EndpointStory): Promise<void> {
    const [receiver] = [...this.#options.endpoints].find(([, one]) => one === story) ?? [''];
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    await this.#options.addSecret(receiver, secret);
    const body = { secret, overlapSeconds: this.#options.random.pick([0, 1, 600]) };
    this.#count('rotate', await this.#ask('POST', `endpoints/${story.id}/secret/rotate`, body));
  }

  async #backfill(story: EndpointStory): Promise<void> {
    this.#count(
      'backfill',
      await this.#ask('POST', `endpoints/${story.id}/backfill`, { collection: 'posts' }),
    );
  }

  async #create(): Promise<void> {
    const [spare] = this.#options.spare;
    if (spare === undefined) return;
    const [receiver, { body, wishes }] = spare;
    this.#options.spare.delete(receiver);
    const answer = await this.#ask('POST', 'endpoints', body);
    this.#count('create', answer);
    // The answer of the route.
    const { id } = answer.body as { readonly id?: string };
    this.#options.endpoints.set(receiver, {
      id: answer.outcome === 'acknowledged' ? id : undefined,
      created: answer,
      deleted: undefined,
      status: answer.outcome === 'acknowledged' ? 'active' : 'unknown',
      isSkipped: false,
      mayPauseItself: false,
      healedUrl: undefined,
      wishes,
    });
  }

  async #changeDelivery(
    what: 'retry' | 'cancel',
    { share, place }: { readonly share: number; readonly place: number },
  ): Promise<void> {
    const status = what === 'cancel' ? 'pending' : share < 0.75 ? 'exhausted' : '';
    const filter = status === '' ? '' : `&filter=${encodeURIComponent(`status = '${status}'`)}`;
    const list = await this.#ask('GET', `deliveries?perPage=50&skipTotal=1&sort=-created${filter}`);
    // The list contract of http-api.md.
    const { items = [] } = list.body as { readonly items?: readonly { readonly id: string }[] };
    const id = items[Math.floor(place * items.length)]?.id;
    if (id === undefined) return;
    if (what === 'cancel') this.cancelled.add(id);
    this.#count(what, await this.#ask('POST', `deliveries/${id}/${what}`, {}));
  }

  #count(what: string, { outcome, status }: Answer): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    // 404 and 409: the endpoint or delivery is no more as it was when it was chosen.
    if (outcome === 'refused' && status !== 404 && status !== 409)
      this.violations.push(`${what} was refused with ${status}`);
  }

  async #insist(ask: () => Promise<Answer>): Promise<void> {
    await eventually('an owner is heard', async () => (await ask()).outcome !== 'unknown');
  }

  async #ask(method: string, path: string, body?: object): Promise<Answer> {
    const startMs = performance.now();
    const { status, body: answered } = await this.#fetch(method, path, body);
    const isUnknown = status === 0 || status >= 500;
    const outcome = isUnknown ? 'unknown' : status < 300 ? 'acknowledged' : 'refused';
    return { startMs, endMs: performance.now(), outcome, status, body: answered };
  }

  async #fetch(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const headers = { authorization: `Bearer ${this.#options.key}`, 'content-type': 'application/json' };
    const url = `${this.#options.url()}/api/webhooks/${path}`;
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const response = await fetch(url, {
        method,
        headers,
        ...content,
        signal: AbortSignal.timeout(answerMsMax),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? {} : JSON.parse(text) };
    } catch {
      return { status: 0, body: {} };
    }
  }
}
