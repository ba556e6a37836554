import { systemClock } from '../base/clock.ts';
import { AppError, QuotaExceeded, tooManyRequests } from '../base/errors.ts';
import type { Cidr } from '../base/ip-address.ts';
import { superusersName } from '../collections/collection.ts';
import type { InstanceEntry } from '../instances/instance-rows.ts';
import type { DiskShares } from '../instances/disk-shares.ts';
import type { LogShares } from '../instances/log-shares.ts';
import type { Instance } from '../instances/instance.ts';
import type { OpenInstances } from '../instances/open-instances.ts';
import { MailRequestGuard } from '../limits/mail-request-guard.ts';
import { clientKey, type Quota, RateLimiter, rateLimitHeaders } from '../limits/rate-limiter.ts';
import { DataRoom } from '../limits/data-room.ts';
import { InstanceRates } from '../limits/instance-rates.ts';
import { RequestTurns } from '../limits/request-turns.ts';
import { SignInGuard } from '../limits/sign-in-guard.ts';
import { type Caller, guest, portalOf } from '../access/caller.ts';
import { isInRanges, type Settings } from '../settings/settings.ts';
import { clientAddress, type ClientTraces } from './client-address.ts';
import type { InstanceRequest } from './instance-request.ts';
import { type LabelledRoute, rateLimitLabels } from './rate-limit-labels.ts';
import { ruleInput } from './rule-input.ts';

/** Longer identities are cut: a sign-in refuses more than 255 characters anyway. */
const identityLengthMax = 256;

export interface AdmissionOptions {
  readonly trustedProxies: readonly Cidr[];
  readonly instances: OpenInstances;
  /** Left out by a command. */
  readonly disk?: Pick<DiskShares, 'requireRoom'>;
  readonly log?: Pick<LogShares, 'requireRoom'>;
}

export interface CountedRequest {
  readonly instance: Instance;
  readonly caller: Caller;
  readonly request: InstanceRequest;
}

/** Whom a client tries to sign in as. */
export interface NamedAccount {
  readonly collection: string;
  /** As the client has sent it. */
  readonly identity: unknown;
  /** The id of the account that it stands for, as far as that is known. */
  readonly account?: string | undefined;
}

/** Decides which requests are let in, by the client's address and by how often it asks. */
export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limiter = new RateLimiter();
  readonly #signIns = new SignInGuard();
  readonly #mails = new MailRequestGuard();
  readonly #rates = new InstanceRates();
  readonly #dataRoom = new DataRoom(systemClock);
  readonly #turns = new RequestTurns(systemClock);
  /** The requests that have a turn now. */
  readonly #inTurn = new WeakSet<InstanceRequest>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  addressOf({ settings }: Instance, request: ClientTraces): Uint8Array {
    return this.addressUnder(settings.current, request);
  }

  /** As {@link addressOf}, before it is known whether the instance is open: its settings say which headers proxies write. */
  addressBefore(entry: InstanceEntry | null, request: ClientTraces): Uint8Array {
    const loan = entry === null ? undefined : this.#options.instances.borrowOpen(entry.id);
    if (loan === undefined) return request.peer;
    loan.release();
    return this.addressOf(loan.instance, request);
  }

  /** As {@link addressOf}, but under these settings instead of those in force. */
  addressUnder({ trustedProxy: settings }: Settings, request: ClientTraces): Uint8Array {
    return clientAddress(request, { proxies: this.#options.trustedProxies, settings });
  }

  /** Counts a request against the quotas of its instance. Throws too_many_requests. A promise only where there are such quotas. */
  admitInstance(instance: Instance, request: InstanceRequest): Promise<void> | undefined {
    const { requestsPerSecond, writesPerSecond } = request.entry.quotas;
    if (requestsPerSecond === undefined && writesPerSecond === undefined) return undefined;
    return this.#admitRates(instance, request);
  }

  async #admitRates(instance: Instance, request: InstanceRequest): Promise<void> {
    const isWrite = request.method !== 'GET' && request.method !== 'HEAD';
    for (const name of ['requestsPerSecond', 'writesPerSecond'] as const) {
      const max = request.entry.quotas[name];
      if (max === undefined || (name === 'writesPerSecond' && !isWrite)) continue;
      const quota = await this.#rates.count(instance, name, max);
      request.report.rateLimitHeaders = rateLimitHeaders(quota);
      if (quota.isExceeded)
        throw new QuotaExceeded(name, { code: 'too_many_requests', retryAfter: quota.resetSeconds });
    }
  }

  /** Throws quota_full where the instance is above its share of a disk that is low, or of a log that is full. Deletes are what makes room. */
  requireDiskRoom({ entry, method }: InstanceRequest, what: 'data' | 'files'): void {
    if (method === 'DELETE') return;
    this.#options.disk?.requireRoom(entry.id, what);
    if (what === 'data') this.#options.log?.requireRoom(entry.id);
  }

  /** Throws QuotaExceeded where a write finds no room in the data of its instance, as far as that is known before it. */
  async requireDataRoom(instance: Instance, request: InstanceRequest): Promise<void> {
    const { entry, method, bodyBytes } = request;
    const { dataBytes } = entry.quotas;
    if (dataBytes !== undefined && method !== 'DELETE')
      await this.#dataRoom.admit(instance, dataBytes, bodyBytes);
  }

  /** Runs the operation of a request when it is the turn of its instance. Throws unavailable. */
  inTurn<Result>(instance: Instance, request: InstanceRequest, work: () => Promise<Result>): Promise<Result> {
    const { concurrentRequests } = request.entry.quotas;
    if (this.#turns.isFree(instance.id, concurrentRequests)) return work();
    const { signal } = request;
    const share = { instance: instance.id, address: clientKey(this.addressOf(instance, request)), signal };
    return this.#turns.run(share, concurrentRequests, () => {
      this.#inTurn.add(request);
      return work().finally(() => this.#inTurn.delete(request));
    });
  }

  /** Runs a wait of an operation for what other requests hold: they have its turn meanwhile. */
  outsideTurn<Result>(
    instance: Instance,
    request: InstanceRequest,
    wait: () => Promise<Result>,
  ): Promise<Result> {
    return this.#inTurn.has(request) ? this.#turns.outside(instance.id, wait) : wait();
  }

  /** Throws forbidden, too_many_requests. Returns a promise only where the count is shared with other nodes. */
  admit(route: LabelledRoute, { instance, caller, request }: CountedRequest): Promise<void> | undefined {
    // The operator is at no address.
    if (caller.kind === 'superuser' && caller.isOperator !== true && isUnlimited(caller))
      this.requireSuperuserPlace(instance, request);
    if (isUnlimited(caller) || !instance.settings.current.rateLimits.enabled) return undefined;
    const labels = rateLimitLabels(route, request, instance.collections);
    const quota = this.count({ instance, caller, request }, labels);
    if (quota instanceof Promise) return quota.then((count) => applyQuota(count, request));
    applyQuota(quota, request);
    return undefined;
  }

  /** Counts a request under one of these labels; undefined where it is not limited. Returns a promise in the same case as `admit`. */
  count(
    { instance, caller, request }: CountedRequest,
    labels: readonly string[],
  ): Quota | Promise<Quota> | undefined {
    const { enabled, rules, excludedIPs } = instance.settings.current.rateLimits;
    if (!enabled || isUnlimited(caller)) return undefined;
    const address = this.addressOf(instance, request);
    if (isInRanges(address, excludedIPs)) return undefined;
    const isGuest = caller.kind === 'guest';
    return this.#limiter.count(rules, { instance, address, labels, isGuest });
  }

  /** Throws forbidden when the settings do not let superusers act or sign in from the client's address. */
  requireSuperuserPlace(instance: Instance, request: ClientTraces): void {
    const { superuserIPs } = instance.settings.current;
    if (superuserIPs.length === 0 || isInRanges(this.addressOf(instance, request), superuserIPs)) return;
    throw new AppError('forbidden', 'You are not allowed to perform this request.');
  }

  /** As {@link requireSuperuserPlace}, when this collection is that of the superusers; else does nothing. */
  requirePlaceOf(instance: Instance, collection: string, request: ClientTraces): void {
    if (instance.collections.find(collection)?.name === superusersName)
      this.requireSuperuserPlace(instance, request);
  }

  /** Counts a request for a mail to an address, whether or not an account has that. Throws too_many_requests. */
  async admitMail({ instance, caller, request }: CountedRequest, to: unknown): Promise<void> {
    if (caller.kind === 'superuser') return;
    await this.#mails.count(instance, {
      client: this.addressOf(instance, request),
      to: instance.sealer.fingerprint(typeof to === 'string' ? cut(to) : ''),
    });
  }

  /** Runs a sign-in, unless too many were wrong. Throws forbidden, too_many_requests, and what the sign-in throws. */
  async signIn<Result>(
    { instance, request }: Omit<CountedRequest, 'caller'>,
    { collection: name, identity, account }: NamedAccount,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const collection = instance.collections.find(name);
    // Such a request costs no password hash and belongs to no account, so no guard is needed.
    if (collection?.type !== 'auth' || typeof identity !== 'string') return run();
    let isAdmitted = false;
    const runOnce = (): Promise<Result> => {
      isAdmitted = true;
      return run();
    };
    // A keyed hash: of fixed length however long the identity is, and useless to an attacker who reads the memory.
    const identityKey = instance.sealer.fingerprint(`${collection.id}|${cut(identity)}`);
    const accounts = account === undefined ? [identityKey] : [identityKey, `${collection.id}/${account}`];
    const address = this.addressOf(instance, request);
    const attempt = { instance, accounts, address };
    try {
      if (collection.name === superusersName) this.requireSuperuserPlace(instance, request);
      return await this.#signIns.run(attempt, runOnce);
    } catch (error) {
      // The sign-in audits its own errors, with the account.
      if (!isAdmitted && error instanceof AppError)
        this.#auditRefusal({ instance, request }, collection.id, error);
      throw error;
    }
  }

  #auditRefusal(
    { instance, request }: Omit<CountedRequest, 'caller'>,
    collection: string,
    { code }: AppError,
  ): void {
    const reason = code === 'too_many_requests' ? 'too many' : 'place';
    const entry = { action: 'sign-in', outcome: 'refused', collection, details: { reason } } as const;
    const addressOf = (): Uint8Array => this.addressOf(instance, request);
    instance.audit.note(ruleInput(request, { caller: guest, addressOf }), entry);
  }
}

function cut(identity: string): string {
  return identity.slice(0, identityLengthMax).toLowerCase();
}

/** Whether the caller is a superuser or acts for one. The session of a portal is somebody else's, like an account. */
function isUnlimited(caller: Caller): boolean {
  return caller.kind === 'superuser' && portalOf(caller) === undefined;
}

/** Throws too_many_requests. */
function applyQuota(quota: Quota | undefined, { report }: InstanceRequest): void {
  if (quota === undefined) return;
  report.rateLimitHeaders = rateLimitHeaders(quota);
  if (quota.isExceeded) throw tooManyRequests(quota.resetSeconds);
}
