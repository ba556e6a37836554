import assert from 'node:assert/strict';
import type { App } from '../../src/app.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { createOperatorKey, type OperatorScope } from '../../src/operator/operator-keys.ts';
import { openOperatorControl, type OperatorControl } from '../../src/operator/operator-control.ts';
import { logInto } from './log-into.ts';
import type { TestAnswer, TestRequest, TestService } from './service.ts';

/** The operator over the data of a service. */
export function operatorOf({ app }: { readonly app: Pick<App, 'data'> }): OperatorControl {
  const { home, directory, masterKey, dueClock } = app.data;
  const { policy, egress } = readConfig({ dev: true }, {});
  const sending = { policy, egress, clock: systemClock, logger: logInto([]) };
  const parts = { home, directory, masterKey, dueClock, ...sending };
  return openOperatorControl({ ...parts, auditDays: 0, deletedDays: 7, backupFolder: '', backupPlace: '' });
}

/** Makes an operator key and returns it. */
export async function makeOperatorKey(
  service: Pick<TestService, 'app'>,
  scopes: readonly OperatorScope[] = ['admin'],
  more: { readonly expires?: string } = {},
): Promise<{ readonly id: string; readonly key: string }> {
  const body = { name: 'test', scopes, ...more };
  const { operatorKey, key } = await createOperatorKey(operatorOf(service), body, 'operator');
  return { id: operatorKey.id, key };
}

/** Returns what makes requests to the routes of the operator with a key, and fails unless they are answered with this status. */
export function operatorCaller(
  service: Pick<TestService, 'request'>,
  key: string,
): (status: number, line: string, request?: TestRequest) => Promise<TestAnswer> {
  return async (status, line, request = {}) => {
    const [method = '', path = ''] = line.split(' ');
    const answer = await service.request(`/api/operator${path}`, {
      method,
      token: `Bearer ${key}`,
      ...request,
    });
    assert.equal(answer.status, status, `${line}: ${answer.status} ${answer.text}`);
    return answer;
  };
}
