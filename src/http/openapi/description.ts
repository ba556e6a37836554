import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { describe, type Description } from './describe.ts';
import { instanceDocument } from './instance-document.ts';
import { serviceDocument } from './service-document.ts';

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
