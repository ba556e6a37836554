import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-rotation.test.ts'];
const payloadTests = ['test/api/webhook-payloads.test.ts'];
const filterTests = ['test/api/webhook-filters.test.ts'];
const causeTests = ['test/api/webhook-causes.test.ts'];

/** What the rotation of an endpoint's secret promises, and what its payload. */
export const endpointMutants: readonly Mutant[] = [
  {
    name: 'secret headers go to no other server than the one for which they were given',
    file: 'src/endpoints/endpoint.ts',
    from: "if (ofHeaders !== undefined) errors['headers'] ??= ofHeaders;",
    to: '',
    tests: ['test/api/webhook-endpoint-checks.test.ts'],
  },
  {
    name: 'a secret before a rotation signs only while that overlaps',
    file: 'src/endpoints/endpoint.ts',
    from: "const isOverlap = previousSecretUntil !== '' && nowMs < fromTimestamp(previousSecretUntil);",
    to: "const isOverlap = previousSecretUntil !== '' && nowMs > 0;",
    tests,
  },
  {
    name: 'while a rotation overlaps both secrets sign',
    file: 'src/deliveries/deliveries.ts',
    from: 'secrets: signingSecrets(endpoint, nowMs),',
    to: 'secrets: signingSecrets(endpoint, nowMs).slice(0, 1),',
    tests,
  },
  {
    name: 'a rotation without an overlap has none',
    file: 'src/deliveries/endpoints/change-endpoint.ts',
    from: "previousSecretUntil: overlapMs === 0 ? '' : toTimestamp(",
    to: "previousSecretUntil: overlapMs < 0 ? '' : toTimestamp(3_600_000 + ",
    tests,
  },
  {
    name: 'a rotation is to another secret',
    file: 'src/endpoints/endpoint.ts',
    from: '...(secret === existing.secret && {',
    to: '...(secret === existing.id && {',
    tests,
  },
  {
    name: 'a secret before a rotation outlives a start',
    file: 'src/endpoints/endpoint-store.ts',
    from: "previousSecret: previous === '' ? '' : this.#sealer.open(previous, previousSecretPlace(id)),",
    to: "previousSecret: previous === '' ? '' : previousSecretPlace(id).purpose,",
    tests,
  },
  {
    name: 'an endpoint gets no fields but those it asks for',
    file: 'src/deliveries/deliveries.ts',
    from: "payload === 'full' && fields.length === 0",
    to: "payload === 'full'",
    tests: payloadTests,
  },
  {
    name: 'the feed shapes a body as a request has it',
    file: 'src/deliveries/log/feed-items.ts',
    from: 'return { payload, body: request.body, headers',
    to: 'return { payload, body: row.body, headers',
    tests: payloadTests,
  },
  {
    name: 'no header of an owner is taken for one of CloudEvents',
    file: 'src/sending/signature.ts',
    from: "(request.cloudEvent !== undefined && name.startsWith('ce-'))",
    to: 'false',
    tests: payloadTests,
  },
  {
    name: 'a chain of webhooks ends after eight',
    file: 'src/records/note-change.ts',
    from: 'if (hops > hopsMax)',
    to: 'if (false)',
    tests: causeTests,
  },
  {
    name: 'a webhook names no hidden field as changed',
    file: 'src/records/note-change.ts',
    from: 'isHidden || isSecret || field.type',
    to: 'isSecret || field.type',
    tests: causeTests,
  },
  {
    name: 'the values before an update are those that the endpoint has asked for',
    file: 'src/deliveries/deliveries.ts',
    from: 'shape(context?.previous ?? {})',
    to: '(context?.previous ?? {})',
    tests: causeTests,
  },
  {
    name: 'an endpoint with a filter is told only of what meets it',
    file: 'src/deliveries/fan-out.ts',
    from: 'return isNamed || !hasConditions(endpoint)',
    to: 'return isNamed || event.recipients !== undefined || !hasConditions(endpoint)',
    tests: filterTests,
  },
  {
    name: 'an owner is told only of what it may view',
    file: 'src/endpoints/endpoint-conditions.ts',
    from: "const isOwners = owner === '' ? always :",
    to: "const isOwners = owner !== '' ? always :",
    tests: filterTests,
  },
  {
    name: 'an owner that is gone is told nothing',
    file: 'src/endpoints/endpoint-conditions.ts',
    from: "if (rule === '') return exists;",
    to: "if (rule === '') return always;",
    tests: filterTests,
  },
  {
    name: 'the filter of an owner asks nothing of the state before',
    file: 'src/query/record-scope.ts',
    from: "|| scope === 'listed') return undefined;",
    to: ') return undefined;',
    tests: filterTests,
  },
  {
    name: 'a filter that fits the definitions no more pauses its endpoint',
    file: 'src/deliveries/endpoints/forget-collection.ts',
    from: 'if (problem === undefined || isStopped(endpoint)) continue;',
    to: 'continue;',
    tests: filterTests,
  },
  {
    name: 'an endpoint whose filter cannot be asked is told of everything',
    file: 'src/endpoints/endpoint-conditions.ts',
    from: 'return isBroken ? isOwners : undefined;',
    to: 'return undefined;',
    tests: filterTests,
  },
  {
    name: 'an endpoint with conditions is sent nothing again that it was not told of',
    file: 'src/deliveries/replays/replays.ts',
    from: ' || hasConditions(endpoint);',
    to: ';',
    tests: filterTests,
  },
  {
    name: 'an owner sees no address that an account hides',
    file: 'src/deliveries/deliveries.ts',
    from: "&& !(isAddressHidden && name === 'email')",
    to: '',
    tests: filterTests,
  },
];
