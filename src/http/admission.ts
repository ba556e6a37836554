import type { FastifyRequest } from 'fastify';
import { AppError } from '../base/errors.ts';
import type { Cidr } from '../base/cidr.ts';
import type { Instance } from '../instances/instance.ts';
import type { Caller } from '../rules/caller.ts';
import { isInRanges } from '../settings/is-in-ranges.ts';
import { clientAddress } from './client-address.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Asked before every operation. */
    admission: Admission;
  }
}

export interface AdmissionOptions {
  readonly trustedProxies: readonly Cidr[];
}

/** Who may come in, by where they come from. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  addressOf(instance: Instance, request: FastifyRequest<object>): Uint8Array {
    const settings = instance.settings.current.trustedProxy;
    return clientAddress(request.raw, { proxies: this.#options.trustedProxies, settings });
  }

  /** Throws forbidden. */
  admit(instance: Instance, caller: Caller, request: FastifyRequest<object>): void {
    if (caller.kind === 'superuser') this.requireSuperuserPlace(instance, request);
  }

  /** Where superusers come from, or want to. Throws forbidden. */
  requireSuperuserPlace(instance: Instance, request: FastifyRequest<object>): void {
    const { superuserIPs } = instance.settings.current;
    if (superuserIPs.length === 0 || isInRanges(this.addressOf(instance, request), superuserIPs)) return;
    throw new AppError('forbidden', 'You are not allowed to perform this request.');
  }
}
