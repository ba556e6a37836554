import type { Mutant } from './mutant.ts';

const tests = ['test/api/webhook-audit.test.ts'];

/** What the audit log tells of those who send webhooks by hand. */
export const auditMutants: readonly Mutant[] = [
  {
    name: 'who sends a delivery again is logged',
    file: 'src/deliveries/log/delivery-log.ts',
    from: "to: 'pending', cause: '', now });\n    await note?.(tx);",
    to: "to: 'pending', cause: '', now });",
    tests,
  },
  {
    name: 'who begins a replay is logged',
    file: 'src/deliveries/endpoints/request-replay.ts',
    from: "await saving.onRequest?.(tx, { action: 'endpoint.replay', target: id, details });",
    to: '',
    tests,
  },
];
