import type { Command } from 'commander';
import { operatorOf } from '../../open-operator.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { DataDirectory } from '../../open-data-directory.ts';
import type { OperatorControl } from '../../operator/operator-control.ts';
import { configOf } from '../terminal/flags.ts';
import type { CommandIo } from '../terminal/print.ts';
import { withDataDirectory } from './with-instance.ts';

/** Runs the work of a command on what the operator has. */
export function withOperator<Result>(
  command: Command,
  io: CommandIo,
  work: (operator: OperatorControl) => Promise<Result>,
): Promise<Result> {
  const config = configOf(command, io);
  const onData = async (data: DataDirectory): Promise<Result> => {
    // Only the server deletes old audit entries.
    const operator = operatorOf({ ...config, auditDays: 0 }, data, { clock: systemClock, logger: silent });
    try {
      return await work(operator);
    } finally {
      await operator.dispatcher.stop(0);
    }
  };
  return withDataDirectory(config, onData, 'fail');
}

const nothing = (): void => undefined;
const silent: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };
