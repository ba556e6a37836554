import type { Mutant } from './mutant.ts';

const proxyTests = ['src/sending/webhook-proxy.test.ts'];

/** What the operator's proxy gets of requests to receivers, and what it may not do. */
export const egressMutants: readonly Mutant[] = [
  {
    name: 'a proxy gets the checked address and no name',
    file: 'src/network/guarded-connect.ts',
    from: 'return openTunnel(guard.proxy, address, {',
    to: 'return openTunnel(guard.proxy, target.host, {',
    tests: proxyTests,
  },
  {
    name: 'a proxy is used where one is set',
    file: 'src/network/guarded-connect.ts',
    from: 'if (guard.proxy !== undefined)',
    to: 'if (guard.proxy === null)',
    tests: proxyTests,
  },
  {
    name: 'a proxy does not answer in the name of a receiver',
    file: 'src/network/proxy-tunnel.ts',
    from: 'return answer.length === end + 4',
    to: 'return answer.length >= end + 4',
    tests: proxyTests,
  },
  {
    name: "the operator's webhooks go through the proxy",
    file: 'src/operator/operator-control.ts',
    from: 'openSender({ policy, egress, clock, logger })',
    to: 'openSender({ policy, clock, logger })',
    tests: ['test/api/webhook-egress.test.ts'],
  },
  {
    name: 'no endpoint is disabled while the proxy fails',
    file: 'src/deliveries/lane.ts',
    from: "result.kind === 'proxy' ? context.now : this.#stored.since",
    to: "result.cause === '' ? context.now : this.#stored.since",
    tests: ['src/deliveries/lane.test.ts'],
  },
];
