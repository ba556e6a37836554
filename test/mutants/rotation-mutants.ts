import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-rotation.test.ts'];

/** What the rotation of an endpoint's secret promises. */
export const rotationMutants: readonly Mutant[] = [
  {
    name: 'a secret before a rotation signs only while that overlaps',
    file: 'src/webhooks/endpoints/endpoint.ts',
    from: "const isOverlap = previousSecretUntil !== '' && nowMs < fromTimestamp(previousSecretUntil);",
    to: "const isOverlap = previousSecretUntil !== '' && nowMs > 0;",
    tests,
  },
  {
    name: 'while a rotation overlaps both secrets sign',
    file: 'src/webhooks/dispatcher.ts',
    from: 'secrets: signingSecrets(endpoint, clock.now()),',
    to: 'secrets: signingSecrets(endpoint, clock.now()).slice(0, 1),',
    tests,
  },
  {
    name: 'a rotation without an overlap has none',
    file: 'src/webhooks/endpoints/change-endpoint.ts',
    from: "previousSecretUntil: overlapMs === 0 ? '' : toTimestamp(",
    to: "previousSecretUntil: overlapMs < 0 ? '' : toTimestamp(3_600_000 + ",
    tests,
  },
  {
    name: 'a rotation is to another secret',
    file: 'src/webhooks/endpoints/endpoint.ts',
    from: '...(secret === existing.secret && {',
    to: '...(secret === existing.id && {',
    tests,
  },
  {
    name: 'a secret before a rotation outlives a start',
    file: 'src/webhooks/endpoints/endpoint-store.ts',
    from: "previousSecret: previous === '' ? '' : this.#sealer.open(previous, previousSecretPlace(id)),",
    to: "previousSecret: previous === '' ? '' : previousSecretPlace(id).purpose,",
    tests,
  },
];
