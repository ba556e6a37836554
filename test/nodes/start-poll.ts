import assert from 'node:assert/strict';
import type { App } from '../../src/app.ts';
import { systemClock } from '../../src/base/clock.ts';
import { WorkPoll } from '../../src/dispatch/nodes/work-poll.ts';
import { eventually } from '../support/eventually.ts';
import { FaultyDatabase } from '../support/faulty-database.ts';

/** Another node's look for work, of which the looks are counted. To be disposed of before the node closes the connections that it uses. */
export function startPoll(node: App, onPending: (id: string) => void = () => undefined) {
  const database = new FaultyDatabase(node.data.home.background);
  const logger = { debug: fail, info: fail, warn: fail, error: fail };
  const poll = new WorkPoll({ database, clock: systemClock, logger, onPending });
  poll.start();
  const looks = (): number => database.texts.filter((text) => text.includes('event_position_seq')).length;
  return {
    [Symbol.asyncDispose]: () => poll.stop(),
    poll,
    database,
    /** Resolves after so many more looks: a node that polls at the same pace has looked about as often. */
    looked: async (count: number): Promise<void> => {
      const from = looks();
      await eventually(`${count} looks`, () => looks() >= from + count);
    },
  };
}

function fail(message: string): void {
  assert.fail(message);
}
