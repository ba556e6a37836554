import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import { describe, type Description } from './describe.ts';
import { instanceDocument } from './instance-document.ts';
import { serviceDocument } from './service-document.ts';

type Known = WeakMap<Instance, Description & { readonly collections: readonly Collection[] }>;

/** Makes each document once: that of the service, and those of an instance whenever its definitions have changed. */
export class Descriptions {
  readonly ofService: Description;
  readonly #service: ReturnType<typeof serviceDocument>;
  readonly #whole: Known = new WeakMap();
  readonly #withoutSystem: Known = new WeakMap();

  constructor(version: string) {
    this.#service = serviceDocument(version);
    this.ofService = describe(JSON.stringify(this.#service));
  }

  /** `withSystem`: the collections of the service itself as well. */
  ofInstance(instance: Instance, { withSystem }: { readonly withSystem: boolean }): Description {
    const collections = instance.collections.all().filter(({ system }) => withSystem || !system);
    const documents = withSystem ? this.#whole : this.#withoutSystem;
    const known = documents.get(instance);
    // A definition is never changed but replaced: the same objects are the same definitions.
    if (
      known?.collections.length === collections.length &&
      known.collections.every((one, at) => one === collections[at])
    )
      return known;
    const made = describe(JSON.stringify(instanceDocument(this.#service, collections)));
    documents.set(instance, { ...made, collections });
    return made;
  }
}
