import type { Collection } from '../../collections/collection.ts';
import type { Instance } from '../../instances/instance.ts';
import type { Route } from '../route.ts';
import { instanceDocument } from './instance-document.ts';
import { describe, type Description } from '../schemas/schema.ts';
import { serviceDocument } from './service-document.ts';

type Known = WeakMap<Instance, Description & { readonly collections: readonly Collection[] }>;

/** Makes and caches the service's document, and those of each instance until its definitions change. */
export class Descriptions {
  readonly ofService: Description;
  readonly #service: ReturnType<typeof serviceDocument>;
  readonly #whole: Known = new WeakMap();
  readonly #withoutSystem: Known = new WeakMap();

  constructor(version: string, routes: readonly Route[]) {
    this.#service = serviceDocument(version, routes);
    this.ofService = describe(JSON.stringify(this.#service));
  }

  /** `withSystem` includes the system collections. */
  ofInstance(instance: Instance, { withSystem }: { readonly withSystem: boolean }): Description {
    const collections = instance.collections.all().filter(({ system }) => withSystem || !system);
    const documents = withSystem ? this.#whole : this.#withoutSystem;
    const cached = documents.get(instance);
    // Definitions are immutable: identical objects are identical definitions.
    if (
      cached?.collections.length === collections.length &&
      cached.collections.every((one, at) => one === collections[at])
    )
      return cached;
    const description = describe(JSON.stringify(instanceDocument(this.#service, collections)));
    documents.set(instance, { ...description, collections });
    return description;
  }
}
