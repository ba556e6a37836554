import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { digest } from '../../secrets/digest.ts';
import { instanceDocument } from './instance-document.ts';
import { serviceDocument } from './service-document.ts';

/** A document as it is sent. */
export interface Description {
  readonly json: string;
  readonly etag: string;
}

/** Makes each document once: that of the service, and that of an instance whenever its definitions have changed. */
export class Descriptions {
  readonly ofService: Description;
  readonly #service: ReturnType<typeof serviceDocument>;
  readonly #known = new WeakMap<Instance, Description & { readonly collections: readonly Collection[] }>();

  constructor(version: string) {
    this.#service = serviceDocument(version);
    this.ofService = describe(JSON.stringify(this.#service));
  }

  ofInstance(instance: Instance): Description {
    const collections = instance.collections.all();
    const known = this.#known.get(instance);
    // A definition is never changed but replaced: the same objects are the same definitions.
    if (
      known?.collections.length === collections.length &&
      known.collections.every((one, at) => one === collections[at])
    )
      return known;
    const made = describe(JSON.stringify(instanceDocument(this.#service, collections)));
    this.#known.set(instance, { ...made, collections });
    return made;
  }
}

/** The tag tells documents apart, whoever asks for them. */
export function describe(json: string): Description {
  return { json, etag: `"${digest(json)}"` };
}
